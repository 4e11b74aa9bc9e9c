"""The engine ``dask``: shards as tasks of a Dask scheduler, of its own on this machine or a running one.

A task that a worker does not finish is computed by another one; what raises an error in a task is tried again, errors
about the input excepted. Every finished shard is written to a file here, before the next ones are waited for.
"""

from __future__ import annotations

import importlib.util
import logging
import pkgutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import MissingPackage, VsebenchError, WorkersLost
from ..numeric.parallel import default_threads
from . import shard_files
from .options import Options
from .shards import Job, Shard
from .shards import compute as compute_shard

WORKERS = 2  # processes on this machine
CONNECT = 10.0  # seconds to reach a scheduler
PATIENCE = 60.0  # seconds without any worker
POLL = 2.0  # seconds between two looks at the workers
RETRIES = 2  # of a task that raises an error
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # its default port may be taken
_INSTALL = "pip install 'vsebench[dask]'"
_GUARD = "in a script, call it below `if __name__ == '__main__':`; else give fewer --workers, or free memory"
_ADDRESS = "start one (dask scheduler), and give its address, such as tcp://10.0.0.1:8786"
_CONTINUE = "the same command with --resume continues with the shards that are finished"


def check_installed() -> None:
    """Raises MissingPackage where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingPackage("--engine dask needs distributed", fix=_INSTALL)


def compute(job: Job, shards: Sequence[Shard], folder: Path, options: Options) -> int:
    """Compute every shard that has no file in a folder, and write it there.

    Args:
        job: the evaluation.
        shards: its pieces.
        folder: of the files, with those that are finished.
        options: the scheduler or the number of workers; ``progress`` is called with (shards done, shards in all).

    Returns:
        How many were finished before.

    Raises:
        WorkersLost: no scheduler answers, there are no workers, or they end again and again.
        MissingPackage: a worker has no vsebench.
        BadInput, UsageError, ...: of a worker that cannot evaluate the input.
    """
    waiting = [shard for shard in shards if shard_files.read(_path(folder, shard)) is None]
    kept = len(shards) - len(waiting)
    done = kept

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
                for shard, arrays in _results(client, job, waiting):
                    finished(shard, arrays)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {_CONTINUE}") from None
    return kept


def _path(folder: Path, shard: Shard) -> Path:
    return folder / f"{shard.name}.npz"


@contextmanager
def _client(options: Options) -> Iterator[Any]:
    """A client of the scheduler that is named, or of one with workers on this machine."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        if options.scheduler is None:
            try:
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=options.workers or WORKERS, threads_per_worker=1, processes=True,
                        scheduler_kwargs=_NO_PAGE, silence_logs=logging.CRITICAL,
                    )
                )  # fmt: skip
            except (OSError, RuntimeError, TimeoutError) as error:
                raise _failed("the workers do not start", error, _GUARD) from error
            yield stack.enter_context(Client(cluster, set_as_default=False))
            return
        try:
            client = Client(options.scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise _failed(f"no scheduler answers at '{options.scheduler}'", error, _ADDRESS) from error
        yield stack.enter_context(client)


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
            raise MissingPackage(what, where="--engine dask", fix=f"on its machine: {_INSTALL}")
        if version != __version__:
            what = f"the worker {worker} has vsebench {_words(version)}, and this is {__version__}"
            raise WorkersLost(what, where="--engine dask", fix="install the same version on all machines")


def _no_workers() -> WorkersLost:
    what = f"the scheduler has had no worker for {PATIENCE:.0f} seconds"
    return WorkersLost(what, where="--engine dask", fix=f"start workers (dask worker ADDRESS); {_CONTINUE}")


def _results(client: Any, job: Job, shards: Sequence[Shard]) -> Iterator[tuple[Shard, Any]]:
    """The arrays of shards, in the order in which they are finished."""
    from distributed import TimeoutError as Late
    from distributed import wait

    pending = {client.submit(compute_shard, job, s, pure=False, retries=RETRIES): s for s in shards}
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
        except Exception as error:
            raise _lost(error) from error
        last = time.monotonic()
        for future in done:
            shard = pending.pop(future)
            yield shard, _arrays(future, shard)
            future.release()


def _arrays(future: Any, shard: Shard) -> Any:
    """The arrays of a finished shard; raises the error of the worker, or that it is lost."""
    from distributed.scheduler import KilledWorker

    try:
        arrays = future.result()
    except KilledWorker as error:
        what = f"workers ended {error.allowed_failures + 1} times in the work on shard {shard.name}"
        fix = f"see their logs; where they ran out of memory, give them more or fewer --threads; {_CONTINUE}"
        raise WorkersLost(what, where="--engine dask", fix=fix) from error
    except ImportError as error:
        what = f"a worker does not import what it needs: {_words(error)}"
        raise MissingPackage(what, where="--engine dask", fix=f"on all machines: {_INSTALL}") from error
    except MemoryError as error:
        what = f"a worker has not enough memory for shard {shard.name}"
        raise WorkersLost(what, where="--engine dask", fix=f"give workers more memory; {_CONTINUE}") from error
    except Exception as error:
        raise _lost(error) from error
    if isinstance(arrays, VsebenchError):
        raise arrays
    return arrays


def _lost(error: Exception) -> WorkersLost:
    return _failed("the work was ended", error, f"see the logs of scheduler and workers; {_CONTINUE}")


def _failed(what: str, error: Exception, fix: str) -> WorkersLost:
    return WorkersLost(f"{what}: {_words(error)}", where="--engine dask", fix=fix)


def _words(error: object) -> str:
    """The first line of a message, with the name of the error."""
    name = f"{type(error).__name__}: " if isinstance(error, BaseException) else ""
    return name + (str(error).strip().splitlines() or [""])[0][:200]
