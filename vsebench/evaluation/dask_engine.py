"""The engine ``dask``: shards are tasks of a Dask scheduler, one of its own on this machine or a running one.

Dask handles workers that end and tasks that fail: it computes their shards again, ``RETRIES`` times where a task
has failed. Errors about the input, and about what is not installed on a worker, are the same at every attempt and end
the work. Every finished shard is written to a file here, before the next ones are waited for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import signal
import socket
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ..errors import DeviceFault, LowMemory, MissingPackage, VsebenchError, WorkersLost, first_line
from ..memory import require
from ..options import command_line, spell
from . import cuts, shards
from .cuts import Shard
from .request import Request
from .shards import WORKERS, Job, Used

INSTALL = "pip install 'vsebench[dask]'"
WORKER_BYTES = 100 << 20  # of one that has no input yet
CONNECT = 10.0  # seconds to reach a scheduler
PATIENCE = 60.0  # seconds until there is a worker
RETRIES = 3  # of a shard whose task has failed
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # its default port may be taken
_ADDRESS = "start one (dask scheduler), and give its address, such as tcp://10.0.0.1:8786"

Done = tuple[str, Used, cuts.Arrays]  # the name of a worker, what it ranked with, and the arrays of a shard


def check_installed() -> None:
    """Raises MissingPackage where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingPackage(f"{spell('engine', 'dask')} needs distributed", fix=INSTALL)


def compute(job: Job, pieces: Sequence[Shard], folder: Path, request: Request) -> tuple[int, list[Used]]:
    """Compute every shard that has no file in a folder, and write it there.

    Args:
        job: the evaluation.
        pieces: all shards.
        folder: of the files, with those that are finished.
        request: the scheduler or the number of workers; ``progress`` is called with (shards done, shards in all).

    Returns:
        How many were finished before, and what every worker has ranked the others with.

    Raises:
        WorkersLost: no scheduler answers, there are no workers or some of another version, or a shard fails in every
            attempt.
        MissingPackage: a worker has no vsebench.
        BadInput, UsageError, ...: of a worker that cannot evaluate the input.
    """
    waiting = [shard for shard in pieces if not cuts.is_finished(folder, shard)]
    done, used = len(pieces) - len(waiting), dict[str, Used]()
    if not waiting:
        return done, []
    try:
        with _client(request) as client:
            _check_workers(client)
            for shard, (worker, its, arrays) in results(client, job, waiting):
                used[worker] = its
                cuts.write(folder, shard, arrays)
                done += 1
                if request.progress:
                    request.progress(done, len(pieces))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_continued()}") from None
    return len(pieces) - len(waiting), list(used.values())


def results(client: Any, job: Job, waiting: Sequence[Shard]) -> Iterator[tuple[Shard, Done]]:
    """Every shard with what a worker has computed of it, in the order in which they are finished; raises as above."""
    from distributed import as_completed
    from distributed.comm import CommClosedError

    pending = dict(zip(client.map(attempt, waiting, job=job, retries=RETRIES, pure=False), waiting, strict=True))
    for future in as_completed(list(pending), loop=client.loop):
        shard = pending.pop(future)
        try:
            found = future.result()
        except (CancelledError, CommClosedError) as error:
            fix = f"start it again; {_continued()}"
            raise _lost("the scheduler has ended, or cannot be reached any more", fix) from error
        except Exception as error:  # KilledWorker, where workers have ended
            fix = f"see the log of that worker and leave it out, or give it memory or fewer threads; {_continued()}"
            raise _lost(f"shard {shard.name} failed in every attempt", fix, error) from error
        if isinstance(found, VsebenchError):
            raise found
        yield shard, found


def attempt(shard: Shard, job: Job) -> Done | VsebenchError:
    """A shard, computed on a worker; or the error that every attempt would have, as that of a wrong input.

    Raises:
        WorkersLost: this worker cannot, for want of memory or by its device, and another one may.
    """
    from distributed import get_worker

    name = str(get_worker().name)
    try:
        with command_line() if job.command else nullcontext():
            return name, *shards.compute(job, shard)
    except Exception as error:  # errors of torch are not always the same in another process
        what = f"on worker {name} ({socket.gethostname()}): {_words(error)}"
        if not isinstance(error, VsebenchError) or isinstance(error, (DeviceFault, LowMemory)):
            raise WorkersLost(what) from None
        error.what, error.where = what, error.where or spell("engine", "dask")
        return error


@contextmanager
def _client(request: Request) -> Iterator[Any]:
    """A client of the scheduler that is named, or of one with workers on this machine."""
    from distributed import Client, LocalCluster
    from distributed.utils import silence_logging_cmgr
    from distributed.versions import VersionMismatchWarning

    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", VersionMismatchWarning)  # what matters is checked (_check_workers)
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # what fails is said in one error
        where: Any = request.scheduler
        if where is not None:
            _check_scheduler(where)
        else:
            workers = request.workers or WORKERS
            require(workers * WORKER_BYTES, where=spell("workers", workers), fix=f"give fewer {spell('workers')}")
            try:
                with _without_interrupts():
                    where = stack.enter_context(
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
        yield stack.enter_context(Client(where, timeout=CONNECT, set_as_default=False))


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
    """Ask for the identity of what answers at an address: a client would wait for ever for that of another server."""
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
        what = f"the scheduler has had no worker for {PATIENCE:.0f} seconds"
        raise _lost(what, f"start workers (dask worker ADDRESS); {_continued()}") from error
    found = client.get_versions(packages=["vsebench"])
    own = found["client"]["packages"]["vsebench"]
    for worker, facts in found["workers"].items():
        version = facts["packages"]["vsebench"]
        if version is None and own is not None:
            fix = f"on its machine: {INSTALL}"
            raise MissingPackage(f"the worker {worker} has no vsebench", where=spell("engine", "dask"), fix=fix)
        if version != own:
            what = f"the worker {worker} has vsebench {version}, and this is {own}"
            raise _lost(what, "install the same version on all machines")


def _continued() -> str:
    """How an evaluation goes on that has ended."""
    return f"the same command with {spell('resume', True)} continues with the shards that are finished"


def _lost(what: str, fix: str, error: Exception | None = None) -> WorkersLost:
    """The error of work that cannot go on, with what another package says of it."""
    said = "" if error is None else f": {_words(error)}"
    return WorkersLost(what + said, where=spell("engine", "dask"), fix=fix)


def _words(error: BaseException) -> str:
    """What an error says, with the name of one that is not ours."""
    name, said = type(error).__name__, first_line(error)
    return error.what if isinstance(error, VsebenchError) else said if said == name else f"{name}: {said}"
