"""Shards as tasks of a Dask scheduler: attempts, failures, and pieces that a worker combines.

A task that a worker does not finish is computed by another one. A worker on which a task fails, for want of memory or
by its GPU, is started again, and ended after ``FAILURES`` of them; errors about the input, and about what is
not installed on a worker, end the work. Workers of one machine take its devices in turn (``rank.own_device``).

The arrays of pieces stay on the workers until a worker has combined those of a shard; they are computed again when a
worker is lost that has some.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import DeviceFault, LowMemory, MissingPackage, VsebenchError, WorkersLost, count_of, first_line
from ..options import command_line, spell
from ..rank.own_device import begin_worker
from . import cuts, shards
from .cuts import Shard
from .shards import Arrays, Job, Sample, Used

PATIENCE = 60.0  # seconds without any worker
POLL = 2.0  # seconds after which it is checked that there are workers
FAILURES = 2  # after which a worker gets no more shards
ATTEMPTS = 4  # of a shard
RESTART = 30.0  # seconds for a worker to start again
PAUSE = 3.0  # seconds that it begins nothing after a failure, in which it is started again or ended
WAITING = 256  # tasks that the scheduler has at least, and two a worker
SECONDS = 60.0  # that a piece takes
PIECES = 4  # at least, a worker
SMALL = 1 << 28  # scores of shards that are never cut into pieces
UNKNOWN = 1 << 30  # scores of a piece where the speed of a worker is not known
INSTALL = "pip install 'vsebench[dask]'"


_failed = -PAUSE  # when a task failed in this process


def continued() -> str:
    """How an evaluation goes on that has ended."""
    return f"the same command with {spell('resume', True)} continues with the shards that are finished"


class Failed(Exception):
    """What a worker could not compute, for a reason that is the worker's.

    Args:
        worker: its name, which it keeps when it starts again.
        address: where it was.
        error: in words, as errors of torch are not always the same in another process.
    """

    def __init__(self, worker: str, address: str, error: str):
        super().__init__(worker, address, error)
        self.worker, self.address, self.error = worker, address, error


class Done(NamedTuple):
    """What workers have computed.

    Attributes:
        used: what they ranked with, by their names.
        arrays: of a shard or a piece.
    """

    used: dict[str, Used]
    arrays: Arrays


def attempt(job: Job, shard: Shard, parts: Sequence[tuple[Shard, Done]] | None = None) -> Done:
    """A shard or a piece, computed on a worker; with ``parts``, combined from those of its pieces.

    Raises:
        Failed: the worker cannot, and another one may.
        VsebenchError: no worker can, as for errors of the input.
    """
    with _on_worker(job) as name:
        if parts is None:
            arrays, used = shards.compute(job, shard), {name: shards.used_for(job)}
        else:
            arrays = shards.combine(job, shard, [(piece, done.arrays) for piece, done in parts])
            used = {name: one for _, done in parts for name, one in done.used.items()}
        return Done(used, arrays)


def sample(job: Job, shard: Shard) -> Sample:
    """What pieces of a shard take on a worker; raises as ``attempt``."""
    with _on_worker(job):
        return shards.sampled(job, shard)


@contextmanager
def _on_worker(job: Job) -> Iterator[str]:
    """Work on a worker, whose name is given; raises as ``attempt``."""
    from distributed import get_worker

    global _failed
    worker = get_worker()
    begin_worker()
    time.sleep(max(0.0, _failed + PAUSE - time.monotonic()))
    try:
        with command_line() if job.command else nullcontext():
            yield str(worker.name)
        return
    except VsebenchError as error:
        if not isinstance(error, (DeviceFault, LowMemory)):
            raise
        said = error.what
    except Exception as error:  # of the memory, of a device or of a driver: another worker may be well
        said = words(error)
    _failed = time.monotonic()
    raise Failed(str(worker.name), worker.address, said)


def workers_of(client: Any) -> dict[str, str]:
    """The names of the workers by address; raises WorkersLost where the scheduler has ended."""
    try:
        found = client.scheduler_info(n_workers=-1)["workers"]
    except (KeyError, OSError, TimeoutError) as error:  # without a scheduler the information is empty
        raise _no_scheduler() from error
    return {address: str(worker["name"]) for address, worker in found.items()}


@dataclass
class _Failures:
    """How often workers, by name, and tasks have failed."""

    of_worker: Counter[str] = field(default_factory=Counter)
    of_task: Counter[Any] = field(default_factory=Counter)

    def add(self, client: Any, task: Task, failed: Failed) -> None:
        """A worker on which a task has failed is started again, and ended after ``FAILURES``.

        A task may be done by every worker: where it is restricted to some, it waits for ever for one that has another
        address since.

        Raises:
            WorkersLost: every worker has failed ``FAILURES`` times, or the task ``ATTEMPTS`` times.
        """
        self.of_worker[failed.worker] += 1
        self.of_task[task.key] += 1
        well = [name for name in workers_of(client).values() if self.of_worker[name] < FAILURES]
        with suppress(Exception):  # without a nanny, or ended since: its next failure ends it
            if self.of_worker[failed.worker] < FAILURES:
                client.restart_workers([failed.address], timeout=RESTART, raise_for_error=False)
            else:
                client.retire_workers([failed.address], close_workers=True)
        if not well or self.of_task[task.key] >= ATTEMPTS:
            tried = f"shard {task.shard.name} failed {count_of(self.of_task[task.key], 'time')}"
            what = tried if well else f"every worker failed {FAILURES} times"
            raise lost(f"{what}, at last on worker {failed.worker}: {failed.error}", continued())


@dataclass(eq=False)
class _Begun:
    """A shard in work.

    Attributes:
        shard: what is to be returned.
        pieces: what it consists of; itself alone, or blocks of a scan.
        finished: the futures of pieces, whose arrays are on workers.
    """

    shard: Shard
    pieces: list[Shard]
    finished: dict[Shard, Any] = field(default_factory=dict)

    def tasks(self) -> list[Task]:
        """Of all pieces."""
        return [Task(self, piece) for piece in self.pieces]

    def next(self) -> list[Task]:
        """What is to be done when a piece has been finished: that all are combined, or nothing yet."""
        return [Task(self, None)] if len(self.finished) == len(self.pieces) else []

    def lost(self) -> list[Task]:
        """The pieces that could not be computed again when the worker was lost that had them."""
        again = [piece for piece, future in self.finished.items() if future.status == "error"]
        for piece in again:
            del self.finished[piece]
        return [Task(self, piece) for piece in again]


@dataclass(frozen=True, eq=False)
class Task:
    """A piece of a shard that is to be computed; without a piece those of the shard are combined."""

    begun: _Begun
    piece: Shard | None

    @property
    def shard(self) -> Shard:
        """What it is a part of."""
        return self.begun.shard

    @property
    def key(self) -> tuple[Shard, Shard | None]:
        """Equal for attempts of one task."""
        return self.shard, self.piece

    @property
    def last(self) -> bool:
        """Whether its arrays are those of the shard."""
        return self.piece is None or len(self.begun.pieces) == 1

    def submit(self, client: Any, job: Job) -> Any:
        """Its future."""
        begun = self.begun
        parts = None if self.piece else [(piece, begun.finished[piece]) for piece in begun.pieces]
        # Before further pieces, so that the workers do not keep the arrays of many shards.
        first = {} if self.piece else {"priority": 1}
        return client.submit(attempt, job, self.piece or begun.shard, parts, pure=False, **first)


def results(client: Any, job: Job, waiting: Sequence[Shard]) -> Iterator[tuple[Shard, Done]]:
    """The results of shards, in the order in which they are finished.

    Raises:
        WorkersLost, MissingPackage, BadInput, UsageError: as ``dask_engine.compute``.
    """
    scores = piece_scores(waiting, len(workers_of(client)), lambda shard: _speed(client, job, shard))
    left, failures = list(reversed(waiting)), _Failures()
    pending: dict[Any, Task] = {}
    last = time.monotonic()
    while left or pending:
        most = max(WAITING, 2 * len(workers_of(client))) if left else 0
        while left and len(pending) < most:
            shard = left.pop()
            begun = _Begun(shard, cuts.pieces(shard, scores) if shard.kind == "scan" and scores else [shard])
            pending |= {task.submit(client, job): task for task in begun.tasks()}
        done, last = _finished(client, list(pending), last)
        for future in done:
            task = pending.pop(future)
            found = _outcome(future, task.shard, fetched=task.last)
            if isinstance(found, Failed):
                failures.add(client, task, found)
                again = (task.begun.lost() if task.piece is None else []) or [task]
                pending |= {each.submit(client, job): each for each in again}
            elif task.last:
                yield task.shard, found
            else:
                assert task.piece is not None
                task.begun.finished[task.piece] = future
                pending |= {each.submit(client, job): each for each in task.begun.next()}


def piece_scores(waiting: Sequence[Shard], workers: int, speed: Callable[[Shard], float | None]) -> int | None:
    """How many scores of a scan a worker computes in ``SECONDS``, or fewer where there are many workers.

    Args:
        waiting: the shards.
        workers: how many there are.
        speed: scores a second of a shard, None where it is not known; not called for small shards.

    Returns:
        None where the shards are so small that they are not cut.
    """
    scans = [shard for shard in waiting if shard.kind == "scan"]
    if max((shard.scores for shard in scans), default=0) <= SMALL:
        return None
    found = speed(scans[0])
    each = sum(shard.scores for shard in scans) // (PIECES * max(1, workers))
    return max(cuts.SCORES, min(UNKNOWN if found is None else int(SECONDS * found), each))


def _speed(client: Any, job: Job, shard: Shard) -> float | None:
    """Scores a second of a worker, or None."""
    with suppress(VsebenchError):  # of this worker, or of the input: the shards will say it
        return sampled(client, job, shard).speed
    return None


def sampled(client: Any, job: Job, shard: Shard) -> Sample:
    """``shards.sampled`` on a worker.

    Raises:
        WorkersLost: the worker fails.
        VsebenchError: as ``shards.sampled``.
    """
    future, last = client.submit(sample, job, shard, pure=False), time.monotonic()
    done: list[Any] = []
    while not done:
        done, last = _finished(client, [future], last)
    found: Sample | Failed = _outcome(future, shard)
    if isinstance(found, Failed):
        raise lost(f"worker {found.worker} could not compute a piece: {found.error}", "see its log")
    return found


def _finished(client: Any, futures: list[Any], last: float) -> tuple[list[Any], float]:
    """The futures that are finished, none where that takes longer; and when there was a worker at last."""
    from distributed import TimeoutError as Late
    from distributed import wait
    from distributed.comm import CommClosedError

    try:
        with client.as_current():
            return list(wait(futures, timeout=POLL, return_when="FIRST_COMPLETED").done), time.monotonic()
    except Late:
        if workers_of(client):
            return [], time.monotonic()
        if time.monotonic() - last > PATIENCE:
            raise no_workers() from None
        return [], last
    except (CancelledError, CommClosedError) as error:
        raise _no_scheduler() from error
    except Exception as error:
        raise _ended(error) from error


def _outcome(future: Any, shard: Shard, fetched: bool = True) -> Any:
    """The result of a task (None unless ``fetched``), or what failed on a worker; raises what ends the work."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        if not fetched and future.status == "finished":
            return None
        return future.result()
    except Failed as failed:
        return failed
    except VsebenchError:
        raise
    except KilledWorker as error:
        what = f"workers ended {error.allowed_failures + 1} times in the work on shard {shard.name}"
        fix = f"see their logs; where they ran out of memory, give them more or fewer {spell('threads')}; {continued()}"
        raise lost(what, fix) from error
    except ImportError as error:
        what = f"a worker does not import what it needs: {words(error)}"
        raise MissingPackage(what, where=spell("engine", "dask"), fix=f"on all machines: {INSTALL}") from error
    except (CancelledError, CommClosedError) as error:
        raise _no_scheduler() from error
    except Exception as error:
        raise _ended(error) from error


def no_workers() -> WorkersLost:
    """The error of a scheduler without workers."""
    what = f"the scheduler has had no worker for {PATIENCE:.0f} seconds"
    return lost(what, f"start workers (dask worker ADDRESS); {continued()}")


def _no_scheduler() -> WorkersLost:
    return lost("the scheduler has ended, or cannot be reached any more", f"start it again; {continued()}")


def _ended(error: Exception) -> WorkersLost:
    return lost("the work was ended", f"see the logs of scheduler and workers; {continued()}", error)


def lost(what: str, fix: str, error: Exception | None = None) -> WorkersLost:
    """The error of work that cannot go on, with what another package says of it."""
    said = "" if error is None else f": {words(error)}"
    return WorkersLost(what + said, where=spell("engine", "dask"), fix=fix)


def words(error: BaseException) -> str:
    """The first line of a message, with the name of the error."""
    name, said = type(error).__name__, first_line(error)
    return said if said == name else f"{name}: {said}"
