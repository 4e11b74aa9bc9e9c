"""The engine ``dask``: shards as tasks of a Dask scheduler, of its own on this machine or a running one.

A task that a worker does not finish is computed by another one. A worker on which a task fails, for want of memory or
by its GPU, is started again, and is tried no more after ``FAILURES`` of them; errors about the input, and about what is
not installed on a worker, end the work. Workers of one machine take its devices in turn (``rank.own_device``).
Every finished shard is written to a file here, before the next ones are waited for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import pkgutil
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..errors import (
    DeviceFault,
    LowMemory,
    MissingPackage,
    VsebenchError,
    WorkersLost,
    count_of,
    first_line,
    printable,
)
from ..memory import require
from ..numeric.parallel import default_threads
from ..options import command_line, spell
from ..rank.own_device import begin_worker
from . import shard_files
from .options import Options
from .shards import Arrays, Job, Shard, Used, used_for
from .shards import compute as compute_shard

WORKERS = 2  # processes on this machine
WORKER_BYTES = 100 << 20  # of one that has no input yet
CONNECT = 10.0  # seconds to reach a scheduler
PATIENCE = 60.0  # seconds without any worker
POLL = 2.0  # seconds after which it is checked that there are workers
FAILURES = 2  # after which a worker gets no more shards
ATTEMPTS = 4  # of a shard
RESTART = 30.0  # seconds for a worker to start again
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # its default port may be taken
_INSTALL = "pip install 'vsebench[dask]'"
_ADDRESS = "start one (dask scheduler), and give its address, such as tcp://10.0.0.1:8786"


def check_installed() -> None:
    """Raises MissingPackage where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingPackage(f"{spell('engine', 'dask')} needs distributed", fix=_INSTALL)


def _continue() -> str:
    return f"the same command with {spell('resume', True)} continues with the shards that are finished"


def compute(job: Job, shards: Sequence[Shard], folder: Path, options: Options) -> tuple[int, list[Used]]:
    """Compute every shard that has no file in a folder, and write it there.

    Args:
        job: the evaluation.
        shards: its pieces.
        folder: of the files, with those that are finished.
        options: the scheduler or the number of workers; ``progress`` is called with (shards done, shards in all).

    Returns:
        How many were finished before, and what every worker has ranked the others with.

    Raises:
        WorkersLost: no scheduler answers, there are no workers, or they end again and again.
        MissingPackage: a worker has no vsebench.
        BadInput, UsageError, ...: of a worker that cannot evaluate the input.
    """
    waiting = [shard for shard in shards if shard_files.read(_path(folder, shard)) is None]
    kept = len(shards) - len(waiting)
    done, used = kept, dict[str, Used]()

    def finished(shard: Shard, arrays: Any) -> None:
        nonlocal done
        shard_files.write(_path(folder, shard), arrays)
        done += 1
        if options.progress:
            options.progress(done, len(shards))

    if options.scheduler is None and options.threads is None:
        threads = max(1, default_threads() // (options.workers or WORKERS))
        job = replace(job, options=replace(job.options, threads=threads))
    if waiting:
        try:
            with _client(options) as client:
                _check_workers(client)
                for shard, result in _results(client, job, waiting):
                    finished(shard, result.arrays)
                    if result.used is not None:
                        used[result.worker] = result.used
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {_continue()}") from None
    return kept, list(used.values())


def _path(folder: Path, shard: Shard) -> Path:
    return folder / f"{shard.name}.npz"


@contextmanager
def _client(options: Options) -> Iterator[Any]:
    """A client of the scheduler that is named, or of one with workers on this machine."""
    from distributed import Client, LocalCluster
    from distributed.versions import VersionMismatchWarning

    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", VersionMismatchWarning)  # what matters is checked (_check_workers)
        stack.enter_context(_without_log())
        if options.scheduler is None:
            workers = options.workers or WORKERS
            require(workers * WORKER_BYTES, where=spell("workers", workers), fix=f"give fewer {spell('workers')}")
            try:
                with _without_interrupts():
                    cluster = stack.enter_context(
                        LocalCluster(
                            n_workers=workers, threads_per_worker=1, processes=True,
                            scheduler_kwargs=_NO_PAGE, silence_logs=logging.CRITICAL,
                            memory_limit=0,  # Dask counts pages of mapped files, and would end workers for them
                        )
                    )  # fmt: skip
            except (OSError, RuntimeError, TimeoutError) as error:
                guard = "in a script, call it below `if __name__ == '__main__':`"
                fix = f"{guard}; else give fewer {spell('workers')}, or free memory"
                raise _lost("the workers do not start", fix, error) from error
            yield stack.enter_context(Client(cluster, set_as_default=False))
            return
        _check_scheduler(options.scheduler)
        try:
            client = Client(options.scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise _lost(f"no scheduler answers at '{options.scheduler}'", _ADDRESS, error) from error
        yield stack.enter_context(client)


@contextmanager
def _without_log() -> Iterator[None]:
    """Nothing of Dask's log on stderr: what fails is said in one error."""
    loggers = [logging.getLogger(n) for n in logging.root.manager.loggerDict if n.partition(".")[0] == "distributed"]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """An interrupt from the keyboard has no effect in the block, nor ever in the processes that are started in it.

    Every process of the terminal gets it: workers that it ends would be started again, and a cluster that is not
    complete cannot be closed. The command ends its workers itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _check_scheduler(address: str) -> None:
    """Ask for the identity of what answers at an address: a client waits for long, and ends with a traceback."""
    from distributed.core import rpc

    async def identity() -> Any:
        async with rpc(address, timeout=CONNECT) as scheduler:
            return (await asyncio.wait_for(scheduler.identity(), CONNECT))["type"]

    try:
        with ThreadPoolExecutor(1) as thread:  # the calling one may have a loop of its own, as in a notebook
            found = thread.submit(asyncio.run, identity()).result()
    except Exception as error:  # what answers may be anything
        raise _lost(f"no scheduler answers at '{address}'", _ADDRESS, error) from None
    if found != "Scheduler":
        raise _lost(f"what answers at '{address}' is a {found}, no scheduler", _ADDRESS)


def _check_workers(client: Any) -> None:
    """Wait for a worker, and check that all that there are have this version of vsebench."""
    from distributed import TimeoutError as Late

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except Late as error:
        raise _no_workers() from error
    found = client.run(pkgutil.resolve_name, "vsebench:__version__", on_error="return")
    for worker, version in found.items():
        if isinstance(version, ImportError):
            what = f"the worker {worker} does not import vsebench: {_words(version)}"
            raise MissingPackage(what, where=spell("engine", "dask"), fix=f"on its machine: {_INSTALL}")
        if version != __version__:
            what = f"the worker {worker} has vsebench {printable(str(version)[:200])}, and this is {__version__}"
            raise _lost(what, "install the same version on all machines")


def _no_workers() -> WorkersLost:
    what = f"the scheduler has had no worker for {PATIENCE:.0f} seconds"
    return _lost(what, f"start workers (dask worker ADDRESS); {_continue()}")


class Failed(NamedTuple):
    """A shard that a worker could not compute, for a reason that is the worker's.

    Attributes:
        worker: its name, which it keeps when it starts again.
        address: where it was.
        error: in words, as errors of torch are not always the same in another process.
    """

    worker: str
    address: str
    error: str


class Done(NamedTuple):
    """A shard that a worker has computed.

    Attributes:
        worker: its name.
        used: what it ranked with, where that is known.
        arrays: of the shard.
    """

    worker: str
    used: Used | None
    arrays: Arrays


def attempt(job: Job, shard: Shard) -> Done | VsebenchError | Failed:
    """The arrays of a shard, an error about the input, or what failed on this worker."""
    from distributed import get_worker

    worker = get_worker()
    begin_worker()
    try:
        with command_line() if job.command else nullcontext():
            found = compute_shard(job, shard)
        if not isinstance(found, VsebenchError):
            return Done(str(worker.name), used_for(job), found)
        # A limit that the job states is the same on every worker.
        if not isinstance(found, DeviceFault | LowMemory) or (isinstance(found, LowMemory) and job.options.budget):
            return found
        words = found.what
    except Exception as error:  # of the memory, of a device or of a driver: another worker may be well
        words = _words(error)
    return Failed(str(worker.name), worker.address, words)


@dataclass
class _Failures:
    """What failed, and the workers that get the next attempt."""

    of_worker: Counter[str] = field(default_factory=Counter)
    of_shard: Counter[Shard] = field(default_factory=Counter)

    def workers(self, client: Any, shard: Shard, failed: Failed) -> list[str]:
        """The addresses of workers that may compute a shard that has failed; the worker is started again.

        Raises:
            WorkersLost: every worker has failed ``FAILURES`` times, or the shard ``ATTEMPTS`` times.
        """
        self.of_worker[failed.worker] += 1
        self.of_shard[shard] += 1
        with suppress(Exception):  # without a nanny, or ended since: its next failure excludes it
            client.restart_workers([failed.address], timeout=RESTART, raise_for_error=False)
        known = {address: str(w["name"]) for address, w in client.scheduler_info()["workers"].items()}
        well = [address for address, name in known.items() if self.of_worker[name] < FAILURES]
        if not well or self.of_shard[shard] >= ATTEMPTS:
            tried = f"shard {shard.name} failed {count_of(self.of_shard[shard], 'time')}"
            what = tried if well else f"every worker failed {FAILURES} times"
            raise _lost(f"{what}, at last on worker {failed.worker}: {failed.error}", _continue())
        return [address for address in well if known[address] != failed.worker] or well


def _results(client: Any, job: Job, shards: Sequence[Shard]) -> Iterator[tuple[Shard, Done]]:
    """The results of shards, in the order in which they are finished."""
    from distributed import TimeoutError as Late
    from distributed import wait
    from distributed.comm import CommClosedError

    pending, failures = {client.submit(attempt, job, s, pure=False): s for s in shards}, _Failures()
    last = time.monotonic()
    while pending:
        try:
            with client.as_current():
                done = wait(list(pending), timeout=POLL, return_when="FIRST_COMPLETED").done
        except Late:
            if client.scheduler_info()["workers"]:
                last = time.monotonic()
            elif time.monotonic() - last > PATIENCE:
                raise _no_workers() from None
            continue
        except (CancelledError, CommClosedError) as error:
            raise _no_scheduler() from error
        except Exception as error:
            raise _ended(error) from error
        last = time.monotonic()
        for future in done:
            shard = pending.pop(future)
            found = _result(future, shard)
            future.release()
            if isinstance(found, Failed):
                workers = failures.workers(client, shard, found)
                pending[client.submit(attempt, job, shard, pure=False, workers=workers)] = shard
            else:
                yield shard, found


def _result(future: Any, shard: Shard) -> Any:
    """What the worker returned for a shard; raises the error of the worker, or that it is lost."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        result = future.result()
    except KilledWorker as error:
        what = f"workers ended {error.allowed_failures + 1} times in the work on shard {shard.name}"
        fix = f"see their logs; where they ran out of memory, give them more or fewer {spell('threads')}; {_continue()}"
        raise _lost(what, fix) from error
    except ImportError as error:
        what = f"a worker does not import what it needs: {_words(error)}"
        raise MissingPackage(what, where=spell("engine", "dask"), fix=f"on all machines: {_INSTALL}") from error
    except (CancelledError, CommClosedError) as error:
        raise _no_scheduler() from error
    except Exception as error:
        raise _ended(error) from error
    if isinstance(result, VsebenchError):
        raise result
    return result


def _no_scheduler() -> WorkersLost:
    return _lost("the scheduler has ended, or cannot be reached any more", f"start it again; {_continue()}")


def _ended(error: Exception) -> WorkersLost:
    return _lost("the work was ended", f"see the logs of scheduler and workers; {_continue()}", error)


def _lost(what: str, fix: str, error: Exception | None = None) -> WorkersLost:
    said = "" if error is None else f": {_words(error)}"
    return WorkersLost(what + said, where=spell("engine", "dask"), fix=fix)


def _words(error: BaseException) -> str:
    """The first line of a message, with the name of the error."""
    name, said = type(error).__name__, first_line(error)
    return said if said == name else f"{name}: {said}"
