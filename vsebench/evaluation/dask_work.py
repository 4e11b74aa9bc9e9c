"""Shards as tasks of a Dask scheduler: attempts and failures.

A task that a worker does not finish is computed by another one. A worker on which a task fails, for want of memory or
by its GPU, is started again, and ended after ``FAILURES`` of them; errors about the input, and about what is
not installed on a worker, end the work.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import DeviceFault, LowMemory, MissingPackage, VsebenchError, WorkersLost, count_of, first_line
from ..options import command_line, spell
from . import shards
from .cuts import Shard
from .shard_files import Arrays
from .shards import Job, Used

PATIENCE = 60.0  # seconds without any worker
POLL = 2.0  # seconds after which it is checked that there are workers
FAILURES = 2  # after which a worker gets no more shards
ATTEMPTS = 4  # of a shard
RESTART = 30.0  # seconds for a worker to start again
PAUSE = 3.0  # seconds that it begins nothing after a failure, in which it is started again or ended
WAITING = 256  # tasks that the scheduler has at least, and two a worker
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
    """What a worker has computed.

    Attributes:
        worker: its name.
        used: what it ranked with.
        arrays: of the shard.
    """

    worker: str
    used: Used
    arrays: Arrays


def attempt(job: Job, shard: Shard) -> Done:
    """A shard, computed on a worker.

    Raises:
        Failed: the worker cannot, and another one may.
        VsebenchError: no worker can, as for errors of the input.
    """
    from distributed import get_worker

    global _failed
    worker = get_worker()
    time.sleep(max(0.0, _failed + PAUSE - time.monotonic()))
    try:
        with command_line() if job.command else nullcontext():
            return Done(str(worker.name), *shards.compute(job, shard))
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
    """How often workers, by name, and shards have failed."""

    of_worker: Counter[str] = field(default_factory=Counter)
    of_shard: Counter[Shard] = field(default_factory=Counter)

    def add(self, client: Any, shard: Shard, failed: Failed) -> None:
        """A worker on which a shard has failed is started again, and ended after ``FAILURES``.

        A shard may be computed by every worker: where it is restricted to some, it waits for ever for one that has
        another address since.

        Raises:
            WorkersLost: every worker has failed ``FAILURES`` times, or the shard ``ATTEMPTS`` times.
        """
        self.of_worker[failed.worker] += 1
        self.of_shard[shard] += 1
        well = [name for name in workers_of(client).values() if self.of_worker[name] < FAILURES]
        with suppress(Exception):  # without a nanny, or ended since: its next failure ends it
            if self.of_worker[failed.worker] < FAILURES:
                client.restart_workers([failed.address], timeout=RESTART, raise_for_error=False)
            else:
                client.retire_workers([failed.address], close_workers=True)
        if not well or self.of_shard[shard] >= ATTEMPTS:
            tried = f"shard {shard.name} failed {count_of(self.of_shard[shard], 'time')}"
            what = tried if well else f"every worker failed {FAILURES} times"
            raise lost(f"{what}, at last on worker {failed.worker}: {failed.error}", continued())


def results(client: Any, job: Job, waiting: Sequence[Shard]) -> Iterator[tuple[Shard, Done]]:
    """The results of shards, in the order in which they are finished.

    Raises:
        WorkersLost, MissingPackage, BadInput, UsageError: as ``dask_engine.compute``.
    """
    left, failures = list(reversed(waiting)), _Failures()
    pending: dict[Any, Shard] = {}
    last = time.monotonic()

    def submit(shard: Shard) -> None:
        pending[client.submit(attempt, job, shard, pure=False)] = shard

    while left or pending:
        most = max(WAITING, 2 * len(workers_of(client))) if left else 0
        while left and len(pending) < most:
            submit(left.pop())
        done, last = _finished(client, list(pending), last)
        for future in done:
            shard = pending.pop(future)
            found = _outcome(future, shard)
            if isinstance(found, Failed):
                failures.add(client, shard, found)
                submit(shard)
            else:
                yield shard, found


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


def _outcome(future: Any, shard: Shard) -> Done | Failed:
    """The result of a task, or what failed on a worker; raises what ends the work."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        found: Done = future.result()
        return found
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
