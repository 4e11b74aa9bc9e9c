"""Engines: which processes compute the scores and the values of an evaluation. No engine changes a value.

``local`` is this process, with threads. ``dask`` computes shards (``shards``) as tasks of a Dask scheduler, one of its
own on this machine or a running one, and joins them here. Dask handles workers that end and tasks that fail: it
computes their shards again, ``RETRIES`` times where a task has failed. Errors about the input, and about what is not
installed on a worker, are the same at every attempt and end the work. Every finished shard is written to a file here,
before the next ones are waited for, so that a run that was ended can be continued.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import shutil
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DeviceFault, DiskError, LowMemory, MissingPackage, VsebenchError, WorkersLost, first_line
from ..files import store
from ..files.atomic import locked, make_folder, write_atomically
from ..files.regular import cache_dir
from ..graded.engine import Fill
from ..log import note
from ..memory import require
from ..options import command_line, spell
from ..rank.count import observe
from ..rank.order import Order
from ..rank.scorers import System
from ..types import DIRECTIONS, Direction, Observation
from . import assemble, depths, shards
from .inputs import Input
from .plan import Plan
from .request import Request
from .shards import WORKERS, Arrays, Job, Shard, Used

INSTALL = "pip install 'vsebench[dask]'"
WORKER_BYTES = 100 << 20  # of one that has no input yet
CONNECT = 10.0  # seconds to reach a scheduler
PATIENCE = 60.0  # seconds until there is a worker
RETRIES = 3  # of a shard whose task has failed
KEPT = 30  # days that the shards of a run are kept which was ended and is not continued
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # its default port may be taken
_ADDRESS = "start one (dask scheduler), and give its address, such as tcp://10.0.0.1:8786"


class Engine(NamedTuple):
    """What an evaluation gets its ranks and values from."""

    observe: Callable[[System], dict[Direction, Observation]]  # ranks of relevant items, and the top lists to keep
    order: Order | None  # of galleries for graded metrics, see ``rank.backends``
    fill: Fill | None  # writes values of graded metrics that are computed elsewhere
    facts: Mapping[str, Any]  # for the provenance: what other processes ranked with


@contextmanager
def start(data: Input, plan: Plan) -> Iterator[Engine]:
    """The engine of the plan; what other processes compute is finished when the block begins.

    Raises:
        MissingPackage, WorkersLost, BadInput, DiskError: as ``compute`` and ``opened``.
    """
    request = plan.request
    if plan.engine == "local":
        ranker, needed = depths.route(plan, data)

        def here(system: System) -> dict[Direction, Observation]:
            found = observe(
                system, plan.targets, ties=request.ties, threads=request.threads, depth=plan.depths,
                progress=request.progress, scan=ranker.scan, order=ranker.lists, needed=needed,
            )  # fmt: skip
            return {d: one for d, one in zip(DIRECTIONS, found, strict=True) if d in plan.directions}

        yield Engine(here, ranker.order, None, {})
        return
    if importlib.util.find_spec("distributed") is None:
        raise MissingPackage(f"{spell('engine', 'dask')} needs distributed", fix=INSTALL)
    job, pieces = shards.make_job(data, plan), shards.shards_of(plan, data)
    with opened(job.key, request.resume) as folder:
        kept, used = compute(job, pieces, folder, request)
        if request.resume:
            note(f"{spell('resume', True)}: {kept} of {len(pieces)} shards were finished before", weight="detail")
        note(*(sentence for one in used for sentence in one.notes), weight="detail")
        facts = assemble.of_workers(plan.backend, [(one.backend, one.device) for one in used])
        given = [(shard, partial(read, folder / shard.name)) for shard in pieces]
        yield Engine(partial(shards.observed, plan, given), None, partial(shards.fill, given), facts)


@contextmanager
def opened(key: str, resume: bool) -> Iterator[Path]:
    """The folder of an evaluation, in the user's cache; removed when the block ends without an error.

    Folders of other evaluations that have not changed for ``KEPT`` days are removed.

    Args:
        key: of the evaluation, hexadecimal digits.
        resume: keep the shards that are there already, of a run that was ended; otherwise they are removed first.

    Raises:
        DiskError: the cache cannot be written, or another process has the same evaluation in work.
    """
    folder = cache_dir() / "shards" / key[:32]
    make_folder(folder.parent)
    with locked(folder.with_suffix(".lock"), "the same evaluation is in work"):
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        for other in folder.parent.iterdir():
            with suppress(OSError):  # another process has removed it
                if other != folder and time.time() - other.stat().st_mtime > KEPT * 86_400:
                    shutil.rmtree(other, ignore_errors=True)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


def write(path: Path, arrays: Arrays) -> None:
    """Write the arrays of a shard; raises DiskError where the cache cannot be written, or no space is left."""
    with write_atomically(path, parents=True) as stream:
        np.savez(stream, *arrays)


def read(path: Path) -> Arrays:
    """The arrays of a shard that is finished; raises DiskError where its file has been changed or removed since."""
    arrays = store.read_arrays(path)
    if arrays is None:
        fix = f"leave the cache alone while an evaluation runs; {spell('resume', True)} continues with the other shards"
        raise DiskError("was changed or removed before it was read back", where=path, fix=fix)
    return list(arrays.values())


def compute(job: Job, pieces: Sequence[Shard], folder: Path, request: Request) -> tuple[int, list[Used]]:
    """Compute every shard that has no file in a folder, and write it there, in the order in which they are finished.

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
    waiting = [shard for shard in pieces if store.read_arrays(folder / shard.name) is None]
    kept, used = len(pieces) - len(waiting), dict[str, Used]()
    if not waiting:
        return kept, []
    from distributed import as_completed

    try:
        with _client(request) as client:
            _check_workers(client)
            pending = dict(  # Dask forgets what nothing else refers to
                zip(client.map(attempt, waiting, job=job, retries=RETRIES, pure=False), waiting, strict=True)
            )
            for done, future in enumerate(as_completed(list(pending), loop=client.loop), kept + 1):
                shard = pending.pop(future)
                worker, used[worker], arrays = _result(future, shard)
                write(folder / shard.name, arrays)
                if request.progress:
                    request.progress(done, len(pieces))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_continued()}") from None
    return kept, list(used.values())


def _result(future: Any, shard: Shard) -> tuple[str, Used, Arrays]:
    """What a worker has computed of a shard; raises as above."""
    from distributed.comm import CommClosedError

    try:
        found: tuple[str, Used, Arrays] | VsebenchError = future.result()
    except (CancelledError, CommClosedError) as error:
        fix = f"start it again; {_continued()}"
        raise _lost("the scheduler has ended, or cannot be reached any more", fix) from error
    except Exception as error:  # KilledWorker, where workers have ended
        fix = f"see the log of that worker and leave it out, or give it memory or fewer threads; {_continued()}"
        raise _lost(f"shard {shard.name} failed in every attempt", fix, error) from error
    if isinstance(found, VsebenchError):
        raise found
    return found


def attempt(shard: Shard, job: Job) -> tuple[str, Used, Arrays] | VsebenchError:
    """The worker and what it has computed; or the error that every attempt would have, as that of a wrong input.

    Raises:
        WorkersLost: this worker lacks memory or its device failed; another one may succeed.
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
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # one error says what failed
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
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
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
