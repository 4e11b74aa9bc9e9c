"""The engine ``dask``: shards are computed by the workers of a Dask scheduler, of its own on this machine or a running
one (``dask_work``).

Every finished shard is written to a file here, before the next ones are waited for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import pkgutil
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import MissingPackage, printable
from ..memory import require
from ..numeric.parallel import default_threads
from ..options import spell
from . import dask_work, shard_files
from .cuts import Shard
from .dask_work import INSTALL, lost, words
from .options import Options
from .shards import Job, Used

WORKERS = 2  # processes on this machine
WORKER_BYTES = 100 << 20  # of one that has no input yet
CONNECT = 10.0  # seconds to reach a scheduler
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # its default port may be taken
_ADDRESS = "start one (dask scheduler), and give its address, such as tcp://10.0.0.1:8786"


def check_installed() -> None:
    """Raises MissingPackage where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingPackage(f"{spell('engine', 'dask')} needs distributed", fix=INSTALL)


def compute(job: Job, shards: Sequence[Shard], folder: Path, options: Options) -> tuple[int, list[Used]]:
    """Compute every shard that has no file in a folder, and write it there.

    Args:
        job: the evaluation.
        shards: all of its work.
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

    if waiting:
        try:
            with _client(options) as client:
                _check_workers(client)
                for shard, found in dask_work.results(client, _shared(job, options), waiting):
                    finished(shard, found.arrays)
                    used[found.worker] = found.used
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {dask_work.continued()}") from None
    return kept, list(used.values())


def _shared(job: Job, options: Options) -> Job:
    """The job of workers that share the cores of this machine."""
    if options.scheduler is not None or options.threads is not None:
        return job
    threads = max(1, default_threads() // (options.workers or WORKERS))
    return replace(job, options=replace(job.options, threads=threads))


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
                raise lost("the workers do not start", fix, error) from error
            yield stack.enter_context(Client(cluster, set_as_default=False))
            return
        _check_scheduler(options.scheduler)
        try:
            client = Client(options.scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise lost(f"no scheduler answers at '{options.scheduler}'", _ADDRESS, error) from error
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
        raise lost(f"no scheduler answers at '{address}'", _ADDRESS, error) from None
    if found != "Scheduler":
        raise lost(f"what answers at '{address}' is a {found}, no scheduler", _ADDRESS)


def _check_workers(client: Any) -> None:
    """Wait for a worker, and check that all that there are have this version of vsebench."""
    from distributed import TimeoutError as Late

    try:
        client.wait_for_workers(1, timeout=dask_work.PATIENCE)
    except Late as error:
        raise dask_work.no_workers() from error
    found = client.run(pkgutil.resolve_name, "vsebench:__version__", on_error="return")
    for worker, version in found.items():
        if isinstance(version, ImportError):
            what = f"the worker {worker} does not import vsebench: {words(version)}"
            raise MissingPackage(what, where=spell("engine", "dask"), fix=f"on its machine: {INSTALL}")
        if version != __version__:
            what = f"the worker {worker} has vsebench {printable(str(version)[:200])}, and this is {__version__}"
            raise lost(what, "install the same version on all machines")
