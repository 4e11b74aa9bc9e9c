"""Engines: which processes compute the scores and the values of an evaluation. No engine changes a value.

``local`` is this process, with threads. ``dask`` computes shards as tasks of a Dask scheduler, by default one on this
machine or a running one. Dask computes the shards of workers that end and of tasks that fail again. Errors about the
input, and about what is not installed on a worker, are the same at every attempt and end the work. Every finished shard
is written to a file here, so that a run that was ended can be continued.

A shard is a range of complete rows of a scorer, ``forward`` or ``backward``. What it gives is complete for these rows,
and added up for the columns: integer counts, and integer sums of influences, which join with the same bits in any
order. Shards depend on the size of the input alone. A ``Job`` names files, never arrays: every process reads them,
makes the plan and corrects scores again, and refuses to compute if a file or the plan is not the same as here::

    here:       plan -> Job, shards                         arrays of all shards -> observed, values
    elsewhere:         Job -> prepare -> computed(shard) -> arrays
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import shutil
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import __version__, errors
from ..errors import BadInput, DeviceFault, DiskError, LowMemory, VsebenchError, WorkersLost, first_line
from ..files import store
from ..files.atomic import locked, make_folder, write_atomically
from ..files.regular import cache_dir, sha256_of
from ..files.store import fingerprint
from ..graded.engine import Found, Outs, blocks, collect, run
from ..graded.influence import Out
from ..graded.rankings import Together, together
from ..log import logged, note
from ..memory import require
from ..numeric.parallel import default_threads, in_turn
from ..options import command_line, of_command, spell
from ..rank import backends
from ..rank.count import Counter, Scan, count, make_counters, observe
from ..rank.order import REFERENCE, Order, scores_of, top_lists
from ..rank.scorers import Range, Scorer, System
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains
from ..types import BOTH, DIRECTIONS, UNRANKED, Both, Direction, Observation, Tops, Which, sides_of
from . import assemble, corrections, second_stage, system
from .assemble import signature
from .inputs import Input
from .plan import Plan, make_plan, target_of
from .request import Request

SHARD_FORMAT = 9  # raised when the arrays of a shard change
WORKERS = 2  # processes on this machine
SHARD_SCORES = 1 << 24  # scores of a shard, about; COCO 5K has 8 a pass
MAX_SHARDS = {"count": 128, "lists": 4096, "graded": 4096}  # shards a pass; every one has counts of all columns

Arrays = list[npt.NDArray[Any]]
Given = Sequence[tuple["Shard", Callable[[], Arrays]]]  # what reads the arrays of a shard that is finished


class Shard(NamedTuple):
    """A piece of the work: complete rows of ``forward`` (side 0) or of ``backward`` (side 1)."""

    kind: str  # ``count``, ``lists`` or ``graded``
    side: Which
    number: int  # of the rankings that share their gains; 0 for other kinds
    rows: Range  # for graded metrics, queries of the first of these rankings

    @property
    def name(self) -> str:
        """The name of its file."""
        return "-".join(map(str, (*self[:3], *self.rows)))


def shards_of(plan: Plan, data: Input) -> list[Shard]:
    """The shards of an evaluation."""
    assert data.system is not None
    sides, shapes = sides_of(plan.directions), [scorer.shape for scorer in data.system.both]
    scans = ((0,) if data.system.separate is None else sides) if any(plan.targets) else ()
    found = [shard for side in scans for shard in cut("count", side, 0, shapes[side])]
    found += [shard for side in sides if plan.depth for shard in cut("lists", side, 0, shapes[side])]
    for number, (first, *_) in enumerate(together(plan.rankings)):
        found += cut("graded", first.side, number, (len(first.queries), len(first.gallery)))
    return found


def cut(kind: str, side: Which, number: int, shape: tuple[int, int]) -> list[Shard]:
    """All rows of (row, column) scores in shards."""
    n, columns = shape
    parts = max(1, min(n, MAX_SHARDS[kind], -(-n * columns // SHARD_SCORES)))
    return [Shard(kind, side, number, (n * i // parts, n * (i + 1) // parts)) for i in range(parts)]


@dataclass(frozen=True)
class Job:
    """What another process needs to compute shards."""

    request: Request  # what is evaluated and how, with absolute paths
    files: Mapping[Path, str]  # the SHA-256 of all input files
    key: str  # of the evaluation: the same for the same contents of files, plan and version
    command: bool = False  # messages name options as the command line does


def make_job(data: Input, plan: Plan) -> Job:
    """The job of an evaluation that was read and planned in this process."""
    request = replace(plan.request, progress=None)
    if request.scheduler is None and request.threads is None:  # the workers share the cores of this machine
        request = replace(request, threads=max(1, default_threads() // (request.workers or WORKERS)))
    files = hashed(request.files)
    return Job(request, files, key_of(files, data, plan), command=of_command())


def hashed(paths: Iterable[Path]) -> dict[Path, str]:
    """The SHA-256 of files, and of those in folders."""
    files = (file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
    return {file: sha256_of(file) for file in files if file.is_file()}


def key_of(files: Mapping[Path, str], data: Input, plan: Plan) -> str:
    """A hash of all that decides the values."""
    request = plan.request
    decided = (
        signature(plan, data, None), *plan.single, plan.directions, plan.depth, request.resampling is not None,
        request.rerank_depth, request.weight, request.image_key, request.text_key, request.scores_key,
    )  # fmt: skip
    return fingerprint(__version__, SHARD_FORMAT, *files.values(), *map(str, decided))


class Used(NamedTuple):
    """What a process ranked with."""

    backend: str  # a name from ``backends.chosen``
    device: str  # its GPU in words, empty without one
    notes: tuple[str, ...]  # about metrics that it does not rank


_lock = threading.Lock()
_kept: dict[tuple[Any, ...], tuple[Used, Callable[[Shard], Arrays]]] = {}  # of this process: the last job


def computed(job: Job, shard: Shard) -> tuple[Used, Arrays]:
    """What ranked a shard, and its arrays, in a process that has nothing but the job; one at a time.

    Raises:
        VsebenchError: what is wrong with the input or the installation; the same at a second attempt.
    """
    same = job.key, *job.files, job.request.threads, job.request.backend  # each task has a copy of its job
    with _lock:
        if same not in _kept:
            _kept.clear()  # before the next input needs its memory
            _kept[same] = prepare(job)
        used, arrays_of = _kept[same]
        return used, arrays_of(shard)


def prepare(job: Job) -> tuple[Used, Callable[[Shard], Arrays]]:
    """Read and plan as ``vsebench.evaluate`` does, and give what ranks and computes the arrays of a shard.

    What lists only the top of rankings orders graded metrics alone.

    Raises:
        BadInput: a file, or the plan, is another one here.
        UsageError, MissingPackage: this machine does not have the requested back-end or device.
    """
    for path, known in job.files.items():
        fix = "put it at the same path on all machines, such as on a shared file system"
        try:
            if sha256_of(path) != known:
                raise BadInput("differs from the file on the machine that started the evaluation", where=path, fix=fix)
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}", where=path, fix=fix) from None
    data = system.read(job.request)
    plan = make_plan(data, job.request)
    if job.request.correction is not None:
        data = corrections.apply(data, plan)
    if key_of(job.files, data, plan) != job.key:
        what = "metrics, judgements, captions or gains differ from the machine that started the evaluation"
        fix = "install the same packages and data (vsebench doctor) and set the same VSEBENCH_CACHE on all machines"
        raise BadInput(what, where=next(iter(job.files)), fix=fix)
    with logged() as log:
        ranker, needed = route(plan, data, job.request.backend)
        if needed is not None and ranker.lists is not None:
            dask = spell("engine", "dask")
            note(f"{dask}: numpy ranked metrics of binary judgements, not {ranker.lists.name}")
            ranker = replace(ranker, lists=None)
    name = backends.chosen(job.request.backend)[0]
    used = Used(name, backends.about_device(name).get("device", ""), tuple(log.notes))
    assert data.system is not None
    threads = job.request.threads or default_threads()
    rows, columns = (make_counters(*one, threads) for one in zip(data.system.both, plan.targets, strict=True))
    return used, partial(_arrays_of, data, plan, ranker, threads, (rows, columns), together(plan.rankings))


def _arrays_of(
    data: Input, plan: Plan, ranker: backends.Ranker, threads: int, counters: Both[Sequence[Counter]],
    rankings: Sequence[Together], shard: Shard,
) -> Arrays:  # fmt: skip
    assert data.system is not None
    scorer = data.system.both[shard.side]
    if shard.kind == "count":
        served = counters if data.system.separate is None else (counters[shard.side], ())
        return counted(ranker.scan, scorer, served, threads, shard.rows)
    if shard.kind == "lists":
        assert plan.depth is not None
        block = scorer.take(slice(*shard.rows), slice(None))
        among = data.candidates[shard.side].take(slice(*shard.rows), slice(None))
        top = top_lists(block, plan.depth, threads=threads, by=ranker.lists, among=among)
        assert top.ties is not None  # scores have an order
        return [top.start, top.entries, top.ties]
    shared, new = rankings[shard.number], None
    if second := data.second.get(DIRECTIONS[shard.side]):
        index = shared[0].queries[slice(*shard.rows)]
        new = second_stage.part(scorer, second, plan.request.weight, (int(index[0]), int(index[-1]) + 1), threads)
    return measured(shared, scorer, plan.gains, threads, shard.rows, ranker.order or REFERENCE, new)


def counted(scan: Scan, scorer: Scorer, counters: Both[Sequence[Counter]], threads: int, rows: Range) -> Arrays:
    """The counts of some rows as queries, and of all columns as queries among these rows; counters do not change."""
    row_counters, column_counters = ([one.fresh() for one in some] for some in counters)
    scan(scorer, row_counters, column_counters, threads, part=rows)
    return [array for one, pairs in kept_of(row_counters, column_counters, rows) for array in one.arrays(pairs)]


def kept_of(rows: Iterable[Counter], columns: Iterable[Counter], part: Range) -> list[tuple[Counter, slice]]:
    """The counters of a pass, each with the slice of pairs that a shard counts."""
    of_rows = [(one, slice(*one.pairs.indptr[list(part)].tolist())) for one in rows]
    return of_rows + [(one, slice(None)) for one in columns]


def measured(
    shared: Together, scorer: Scorer, gains: Mapping[str, Gains], threads: int, queries: Range,
    order: Order = REFERENCE, new: Tops | None = None,
) -> Arrays:  # fmt: skip
    """What is measured of some queries of rankings that share their gains; arguments as of ``graded.engine.blocks``."""
    out = {ranking: Out(ranking) for ranking in shared}
    work = blocks(shared, scorer, gains, out, threads, order, new, queries=queries)
    in_turn(work, lambda _: lambda each: each(), threads, None)
    return [array for one, some in kept_by(shared, out, queries) for array in one.arrays(some)]


def kept_by(shared: Together, out: Outs, queries: Range) -> list[tuple[Counter | Out, slice]]:
    """What is measured of rankings, and which of their queries are in a shard."""
    return [(out[ranking], ranking.within(shared[0], *queries)) for ranking in shared]


def join(kept: Iterable[tuple[Counter | Out, slice]], arrays: Arrays) -> None:
    """Add the arrays of a shard to the counters or measurements of this process."""
    given = iter(arrays)
    for one, some in kept:
        one.join(some, given)


def observed(plan: Plan, given: Given, system: System) -> dict[Direction, Observation]:
    """The ranks and the lists of all shards, equal to ``rank.observe``."""
    threads = plan.request.threads or default_threads()

    def scan(scorer: Scorer, rows: Sequence[Counter], columns: Sequence[Counter], *_: Any, **__: Any) -> None:
        side = 0 if scorer is system.forward else 1
        for shard, read in given:
            if (shard.kind, shard.side) == ("count", side):
                join(kept_of(rows, columns, shard.rows), read())

    ranks = count(system, plan.targets, ties=plan.request.ties, threads=threads, scan=scan, dense=None)
    found: dict[Direction, Observation] = {}
    for side in sides_of(plan.directions):
        scorer, top = system.both[side], None
        if own := [read() for shard, read in given if (shard.kind, shard.side) == ("lists", side)]:
            top = Tops.joined(
                [Tops(start, items, tied, scorer.shape[1]) for start, items, tied in own], scores_of(scorer, threads)
            )
        found[DIRECTIONS[side]] = Observation(ranks[side], top)
    return found


def values(plan: Plan, given: Given, *_: Any, **__: Any) -> Found:
    """The values of graded metrics of all shards, equal to ``graded.engine.run``."""
    out, shared = {ranking: Out(ranking) for ranking in plan.rankings}, together(plan.rankings)
    for shard, read in given:
        if shard.kind == "graded":
            join(kept_by(shared[shard.number], out, shard.rows), read())
    return collect(plan.rankings, out)


def route(plan: Plan, data: Input, backend: str) -> tuple[backends.Ranker, Both[int] | None]:
    """What ranks, and how deep its lists have to be to read ranks from them; no depths if ranks are counted."""
    ranker = backends.ranker(backend)
    lists = ranker.lists
    if lists is None or lists.deepest is None:
        return ranker, None
    if not data.of_vectors:
        what = "scores are given" if data.lists is None else "retrieved lists are given"
        note("" if data.index else f"{what}, and {lists.name} searches vectors: it was not used")
        return replace(ranker, order=None, lists=None), None
    if not all(among.everything for among in data.candidates):
        note(f"numpy ranked: {lists.name} lists the top of all items, not of the candidates", weight="detail")
        return backends.ranker("numpy"), None
    most, needed = [lists.deepest(n) for n in plan.split.shape[::-1]], binary(plan)
    counted = any(k > deepest for k, deepest in zip(needed, most, strict=True))
    lost = ["metrics of binary judgements"] * counted
    lost += ["deep graded metrics"] * any(r.depth > lists.deepest(len(r.gallery)) for r in plan.rankings)
    lost += ["intra-modal retrieval"] * bool(plan.intra)
    if lost:
        note(f"numpy ranked {', '.join(lost)}: {lists.name} lists only the first {max(most):,} items", weight="detail")
    return (replace(ranker, lists=None), None) if counted else (ranker, needed)


def binary(plan: Plan) -> Both[int]:
    """How many first items of images, and of captions, metrics of judgements and kept lists read.

    ``UNRANKED`` for complete rankings, also within folds.
    """
    found = [*plan.depths]
    for side, target in [(d, target) for d in BOTH for target in plan.targets[d]]:
        complete = not target.candidates.everything or plan.request.ties == EXPECTED
        for m in (m for m in plan.single if not m.family.of_lists and target_of(m) == target.view):
            k = int(target.relevance.size.max(initial=1)) if m.family.depth == "R" else m.k or 1
            k = UNRANKED if complete or m.family.depth not in ("k", "R") else min(k, plan.split.shape[1 - side])
            found[side] = max(found[side], k)
    return found[0], found[1]


WORKER_BYTES = 100 << 20  # of one that has no input yet
CONNECT_SECONDS = 10.0  # seconds to reach a scheduler
WORKER_WAIT_SECONDS = 60.0  # seconds until there is a worker
RETRIES = 3  # of a failed shard
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # its default port may be taken
_ADDRESS = "start one (dask scheduler), and give its address, such as tcp://10.0.0.1:8786"


class Engine(NamedTuple):
    """What an evaluation gets its ranks and values from."""

    observe: Callable[[System], dict[Direction, Observation]]  # ranks of relevant items, and the top lists to keep
    measure: Callable[..., Found]  # graded metrics of a system or of lists, and the orders after re-ranking (``new``)
    facts: Mapping[str, Any]  # for the provenance: what other processes ranked with


@contextmanager
def start(data: Input, plan: Plan, backend: str) -> Iterator[Engine]:
    """The engine of the plan; what other processes compute is finished when the block begins.

    Raises:
        MissingPackage, WorkersLost, BadInput, DiskError: as ``compute`` and ``opened``.
    """
    request = plan.request
    if request.engine == "local" or data.system is None:
        if request.engine != "local":
            lists = "lists of a saved index" if data.index else "retrieved lists"
            what = f"{lists} have no scores to compute, and were evaluated in one process"
            note(f"{spell('engine', request.engine)}: {what}", weight="detail")
        ranker, needed = route(plan, data, backend)

        def here(system: System) -> dict[Direction, Observation]:
            found = observe(
                system, plan.targets, ties=request.ties, threads=request.threads, depth=plan.depths,
                progress=request.progress, scan=ranker.scan, order=ranker.lists, needed=needed,
                among=data.candidates,
            )  # fmt: skip
            return {d: one for d, one in zip(DIRECTIONS, found, strict=True) if d in plan.directions}

        threads, progress = request.threads, request.progress
        found = partial(
            run, rankings=plan.rankings, gains=plan.gains, threads=threads, progress=progress, order=ranker.order
        )
        yield Engine(here, found, {})
        return
    if importlib.util.find_spec("distributed") is None:
        raise errors.MissingPackage(f"{spell('engine', 'dask')} needs distributed", fix=errors.install("dask"))
    job, pieces = make_job(data, plan), shards_of(plan, data)
    with opened(job.key, request.resume) as folder:
        kept, used = compute(job, pieces, folder, request)
        if request.resume:
            note(f"{spell('resume', True)}: {kept} of {len(pieces)} shards were already finished", weight="detail")
        note(*(sentence for one in used for sentence in one.notes), weight="detail")
        facts = assemble.of_workers(backend, [(one.backend, one.device) for one in used])
        given = [(shard, partial(read, folder / shard.name)) for shard in pieces]
        yield Engine(partial(observed, plan, given), partial(values, plan, given), facts)


@contextmanager
def opened(key: str, resume: bool) -> Iterator[Path]:
    """The folder of an evaluation, in the user's cache; removed when the block ends without an error.

    Args:
        key: of the evaluation, hexadecimal digits.
        resume: keep the shards that are there already, of a run that was ended; otherwise they are removed first.

    Raises:
        DiskError: the cache cannot be written, or another process has the same evaluation in work.
    """
    folder = cache_dir() / "shards" / key[:32]
    make_folder(folder.parent)
    with locked(folder.with_suffix(".lock"), "the same evaluation is running"):
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


def write(path: Path, arrays: Arrays) -> None:
    """Write the arrays of a shard; raises DiskError if the cache cannot be written, or no space is left."""
    with write_atomically(path, parents=True) as stream:
        np.savez(stream, *arrays)


def read(path: Path) -> Arrays:
    """The arrays of a shard that is finished; raises DiskError if its file has been changed or removed since."""
    arrays = store.read_arrays(path)
    if arrays is None:
        fix = f"do not change the cache during an evaluation; {spell('resume', True)} continues with the other shards"
        raise DiskError("was changed or deleted during the evaluation", where=path, fix=fix)
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
        BadInput, UsageError, ...: of a worker that cannot evaluate the input.
    """
    waiting = [shard for shard in pieces if store.read_arrays(folder / shard.name) is None]
    kept, used = len(pieces) - len(waiting), dict[str, Used]()
    if not waiting:
        return kept, []
    from distributed import as_completed
    from distributed.comm import CommClosedError

    try:
        with _client(request) as client:
            _check_workers(client)
            pending = dict(  # Dask forgets what nothing else refers to
                zip(client.map(attempt, waiting, job=job, retries=RETRIES, pure=False), waiting, strict=True)
            )
            for done, future in enumerate(as_completed(list(pending), loop=client.loop), kept + 1):
                shard = pending.pop(future)
                try:
                    found: tuple[str, Used, Arrays] | VsebenchError = future.result()
                except (CancelledError, CommClosedError) as error:
                    fix = f"start the scheduler again; {_continued()}"
                    raise _lost("the scheduler has stopped or is unreachable", fix) from error
                except Exception as error:  # KilledWorker, if workers have ended
                    fix = "read the log of that worker; remove the worker, or give it more memory or fewer threads"
                    what = f"shard {shard.name} failed in every attempt"
                    raise _lost(what, f"{fix}; {_continued()}", error) from error
                if isinstance(found, VsebenchError):
                    raise found
                worker, used[worker], arrays = found
                write(folder / shard.name, arrays)
                if request.progress:
                    request.progress(done, len(pieces))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_continued()}") from None
    return kept, list(used.values())


def attempt(shard: Shard, job: Job) -> tuple[str, Used, Arrays] | VsebenchError:
    """The worker and what it has computed; or an error that every attempt would raise, such as wrong input.

    Raises:
        WorkersLost: this worker lacks memory or its device failed; another one may succeed.
    """
    from distributed import get_worker

    name = str(get_worker().name)
    try:
        with command_line() if job.command else nullcontext():
            return name, *computed(job, shard)
    except Exception as error:  # errors of torch are not always the same in another process
        what = f"on worker {name} ({socket.gethostname()}): {_words(error)}"
        if not isinstance(error, VsebenchError) or isinstance(error, (DeviceFault, LowMemory)):
            raise WorkersLost(what) from None
        error.what, error.where = what, error.where or spell("engine", "dask")
        return error


@contextmanager
def _client(request: Request) -> Iterator[Any]:
    """A client of the given scheduler, or of a new one with workers on this machine."""
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
        yield stack.enter_context(Client(where, timeout=CONNECT_SECONDS, set_as_default=False))


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
    """Ask the server at an address for its identity: a client would wait forever for a server of another kind."""
    from distributed.core import rpc

    async def identity() -> Any:
        async with rpc(address, timeout=CONNECT_SECONDS) as scheduler:
            return (await asyncio.wait_for(scheduler.identity(), CONNECT_SECONDS))["type"]

    try:
        with ThreadPoolExecutor(1) as thread:  # the calling thread may already run a loop, as in a notebook
            found = thread.submit(asyncio.run, identity()).result()
    except Exception as error:  # what answers may be anything
        raise _lost(f"no scheduler answers at '{address}'", _ADDRESS, error) from None
    if found != "Scheduler":
        raise _lost(f"'{address}' is a {found}, not a scheduler", _ADDRESS)


def _check_workers(client: Any) -> None:
    """Wait for a worker, and check that all that there are have this version of vsebench."""
    from distributed import TimeoutError as Late

    try:
        client.wait_for_workers(1, timeout=WORKER_WAIT_SECONDS)
    except Late as error:
        what = f"the scheduler has had no worker for {WORKER_WAIT_SECONDS:.0f} seconds"
        raise _lost(what, f"start workers (dask worker ADDRESS); {_continued()}") from error
    found = client.get_versions(packages=["vsebench"])
    client_version = found["client"]["packages"]["vsebench"]
    for worker, facts in found["workers"].items():
        version = facts["packages"]["vsebench"]
        if version != client_version:
            what = f"the worker {worker} has {'no vsebench' if version is None else f'vsebench {version}'}"
            raise _lost(
                f"{what}, but this is {client_version}",
                f"install the same version on all machines ({errors.install('dask')})",
            )


def _continued() -> str:
    """How an evaluation goes on that has ended."""
    return f"the same command with {spell('resume', True)} continues with the shards that are finished"


def _lost(what: str, fix: str, error: Exception | None = None) -> WorkersLost:
    """The error of work that cannot go on, with what another package says of it."""
    detail = "" if error is None else f": {_words(error)}"
    return WorkersLost(what + detail, where=spell("engine", "dask"), fix=fix)


def _words(error: BaseException) -> str:
    """What an error says, with the name of one that is not ours."""
    name, first = type(error).__name__, first_line(error)
    return error.what if isinstance(error, VsebenchError) else first if first == name else f"{name}: {first}"
