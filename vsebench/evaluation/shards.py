"""Shards: an evaluation in pieces that other processes compute, from the same files.

A shard is a range of complete rows of a scorer, the ``forward`` or the ``backward`` one. What it gives is complete for
these rows, and added up for the columns: integer counts, and integer sums of influences, which join with the same bits
in any order. Shards depend on the size of the input alone, so that a run can be continued on other machines.

::

    here:       plan -> Job, shards                        arrays of all shards -> observed, fill -> the values
    elsewhere:         Job -> prepare -> compute(shard) -> arrays

A ``Job`` names files, never arrays: every process reads them, makes the plan and corrects scores again, and refuses to
compute when a file or the plan is not the same as here. It keeps what it has read for the next shards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..arrays import is_path
from ..errors import BadInput, UsageError, WorkersLost
from ..files.regular import expanded, sha256_of
from ..files.store import fingerprint
from ..graded.engine import Outs, blocks, checked
from ..graded.influence import Out
from ..graded.rankings import Together, together
from ..log import logged, note
from ..numeric.parallel import default_threads, in_turn
from ..options import of_command, spell
from ..rank import backends
from ..rank.count import Counter, Scan, count, make_counters
from ..rank.order import REFERENCE, Order, scores_of, top_lists
from ..rank.scorers import Range, Scorer, System
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains, Spec
from ..relevance.sources import located
from ..types import DIRECTIONS, Both, Direction, Observation, Tops, Which, sides_of
from . import corrections, depths, second_stage, system
from .assemble import signature
from .inputs import Input
from .plan import Plan, make_plan
from .request import Request

LAYOUT = 8  # of the arrays of a shard
WORKERS = 2  # processes on this machine
SCORES = 1 << 24  # scores of a shard, about; COCO 5K has 8 a pass
MOST = {"count": 128, "lists": 4096, "graded": 4096}  # shards a pass; every one has counts of all columns

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
        """Of its file."""
        return "-".join(map(str, (*self[:3], *self.rows)))


def shards_of(plan: Plan, data: Input) -> list[Shard]:
    """The shards of an evaluation."""
    assert data.system is not None
    sides, shapes = sides_of(plan.directions), [scorer.shape for scorer in data.system.both]
    scans = ((0,) if data.system.own is None else sides) if any(plan.targets) else ()
    found = [shard for side in scans for shard in cut("count", side, 0, shapes[side])]
    found += [shard for side in sides if plan.depth for shard in cut("lists", side, 0, shapes[side])]
    for number, (first, *_) in enumerate(rankings_of(plan)):
        found += cut("graded", first.side, number, (len(first.queries), len(first.gallery)))
    return found


def cut(kind: str, side: Which, number: int, shape: tuple[int, int]) -> list[Shard]:
    """All rows of (row, column) scores in shards."""
    n, columns = shape
    parts = max(1, min(n, MOST[kind], -(-n * columns // SCORES)))
    return [Shard(kind, side, number, (n * i // parts, n * (i + 1) // parts)) for i in range(parts)]


def rankings_of(plan: Plan) -> list[Together]:
    """The rankings of graded metrics that share their gains, always in the same order."""
    expected, influence = plan.request.ties == EXPECTED, plan.request.resampling is not None
    sides = sides_of(plan.directions)
    return together(checked(plan.split, plan.graded, plan.gains, sides, expected, influence))


@dataclass(frozen=True)
class Job:
    """What another process needs to compute shards."""

    request: Request  # what is evaluated and how, with absolute paths
    files: Mapping[Path, str]  # the SHA-256 of all input files
    key: str  # of the evaluation: the same for the same contents of files, plan and version
    version: str = __version__  # of vsebench
    command: bool = False  # messages name options as the command line does


def make_job(data: Input, plan: Plan) -> Job:
    """The job of an evaluation whose input is read and planned here; raises as ``elsewhere``."""
    request = elsewhere(plan.request)
    if request.scheduler is None and request.threads is None:  # the workers share the cores of this machine
        request = replace(request, threads=max(1, default_threads() // (request.workers or WORKERS)))
    files = hashed(request.files)
    return Job(request, files, key_of(files, data, plan), command=of_command())


def hashed(paths: Iterable[Path]) -> dict[Path, str]:
    """The SHA-256 of files, and of those in folders."""
    files = (file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
    return {file: sha256_of(file) for file in files if file.is_file()}


def elsewhere(request: Request) -> Request:
    """The request as other processes read it, with absolute paths; raises UsageError for what is in memory."""
    names = ("images", "texts", "scores", "fuse", "rerank", "gains", "judgements", "captions")
    named = {name: _absolute(name, getattr(request, name)) for name in names}
    if not isinstance(request.split, str):
        _absolute("split", request.split)
    part, correction = request.part, request.correction
    return replace(
        request, **named, progress=None, part=part and part._replace(file=_absolute("only", part.file)),
        correction=correction and correction._replace(bank=_absolute("normalise", correction.bank)),
    )  # fmt: skip


def _absolute(name: str, given: Any) -> Any:
    """A path, or the paths in a list or a mapping, made absolute; raises UsageError for anything else."""
    if isinstance(given, Mapping):
        return {key: _absolute(name, x) for key, x in given.items()}
    if isinstance(given, (list, tuple)) and name != "captions":  # a list of these is in memory
        return [_absolute(name, x) for x in given]
    if isinstance(given, Spec) and given.values is None:
        return located(given)[0]
    if given is not None and not is_path(given):
        fix = f"write it to a file and give the path (a split: its name), or leave out {spell('engine', 'dask')}"
        raise UsageError(f"{spell('engine', 'dask')} reads files, and {name} is in memory", fix=fix)
    return None if given is None else expanded(given).absolute()


def key_of(files: Mapping[Path, str], data: Input, plan: Plan) -> str:
    """A hash of all that decides the values."""
    request = plan.request
    decided = (
        signature(plan, data, None), *plan.single, plan.directions, plan.depth, request.resampling is not None,
        request.rerank_depth, request.weight, request.image_key, request.text_key, request.scores_key,
    )  # fmt: skip
    return fingerprint(__version__, LAYOUT, *files.values(), *map(str, decided))


class Used(NamedTuple):
    """What a process ranked with."""

    backend: str  # as ``backends.chosen`` names it
    device: str  # its GPU in words, empty without one
    notes: tuple[str, ...]  # about metrics that it does not rank


_lock = threading.Lock()
_kept: dict[tuple[Any, ...], tuple[Used, Callable[[Shard], Arrays]]] = {}  # of this process: the last job


def compute(job: Job, shard: Shard) -> tuple[Used, Arrays]:
    """What ranked a shard, and its arrays, in a process that has nothing but the job; one at a time.

    Raises:
        VsebenchError: what is wrong with the input or the installation; the same at a second attempt.
    """
    same = job.key, job.version, *job.files, job.request.threads, job.request.backend  # each task has a copy of its job
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
        WorkersLost: this is another version.
        BadInput: a file, or the plan, is another one here.
        UsageError, MissingPackage: this machine does not have the back-end or the device that is named.
    """
    if job.version != __version__:
        what = f"this is vsebench {__version__}, and {job.version} where the evaluation was started"
        raise WorkersLost(what, where=spell("engine", "dask"), fix="install the same version on all machines")
    for path, known in job.files.items():
        _refuse_other(path, known)
    data = system.read(job.request)
    plan = make_plan(data, job.request)
    if job.request.correction is not None:
        data = corrections.apply(data, plan)
    if key_of(job.files, data, plan) != job.key:
        what = "metrics, judgements, captions or gains are others than where the evaluation was started"
        fix = "install the same packages and data (vsebench doctor) and set the same VSEBENCH_CACHE on all machines"
        raise BadInput(what, where=next(iter(job.files)), fix=fix)
    with logged() as log:
        ranker, needed = depths.route(plan, data)
        if needed is not None and ranker.lists is not None:
            dask = spell("engine", "dask")
            note(f"{dask}: numpy ranked metrics of binary judgements, not {ranker.lists.name}")
            ranker = replace(ranker, lists=None)
    name = backends.chosen(plan.backend)[0]
    used = Used(name, backends.about_device(name).get("device", ""), tuple(log.notes))
    assert data.system is not None
    threads = job.request.threads or default_threads()
    rows, columns = (make_counters(*one, threads) for one in zip(data.system.both, plan.targets, strict=True))
    return used, partial(_arrays_of, data, plan, ranker, threads, (rows, columns), rankings_of(plan))


def _refuse_other(path: Path, known: str) -> None:
    fix = "put it at the same path on all machines, best on a file system that they share"
    try:
        found = sha256_of(path)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=path, fix=fix) from None
    if found != known:
        raise BadInput("has another content than where the evaluation was started", where=path, fix=fix)


def _arrays_of(
    data: Input, plan: Plan, ranker: backends.Ranker, threads: int, counters: Both[Sequence[Counter]],
    rankings: Sequence[Together], shard: Shard,
) -> Arrays:  # fmt: skip
    assert data.system is not None
    scorer = data.system.both[shard.side]
    if shard.kind == "count":
        served = counters if data.system.own is None else (counters[shard.side], ())
        return counted(ranker.scan, scorer, served, threads, shard.rows)
    if shard.kind == "lists":
        assert plan.depth is not None
        own = scorer.take(slice(*shard.rows), slice(None))
        top = top_lists(own, plan.depth, threads=threads, by=ranker.lists)
        return [top.items, top.tied]
    shared, new = rankings[shard.number], None
    if second := data.second.get(DIRECTIONS[shard.side]):
        index = shared[0].queries[slice(*shard.rows)]
        new = second_stage.part(scorer, second, plan.request.weight, (int(index[0]), int(index[-1]) + 1), threads)
    return measured(shared, scorer, plan.gains, threads, shard.rows, ranker.order or REFERENCE, new)


def counted(scan: Scan, scorer: Scorer, counters: Both[Sequence[Counter]], threads: int, rows: Range) -> Arrays:
    """The counts of some rows as queries, and of all columns as queries among these rows; counters do not change."""
    own, others = ([one.fresh() for one in some] for some in counters)
    scan(scorer, own, others, threads, part=rows)
    return [array for one, pairs in kept_of(own, others, rows) for array in one.arrays(pairs)]


def kept_of(rows: Iterable[Counter], columns: Iterable[Counter], part: Range) -> list[tuple[Counter, slice]]:
    """The counters of a pass, and of which of their pairs a shard has counts."""
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


def kept_by(shared: Together, out: Outs, queries: Range) -> list[tuple[Out, slice]]:
    """What is measured of rankings, and which of their queries are in a shard."""
    return [(out[ranking], ranking.within(shared[0], *queries)) for ranking in shared]


def join(kept: Iterable[tuple[Counter | Out, slice]], arrays: Arrays) -> None:
    """Add the arrays of a shard to what is counted or measured here, of some of its pairs or queries."""
    given = iter(arrays)
    for one, some in kept:
        one.join(some, given)


def observed(plan: Plan, given: Given, system: System) -> dict[Direction, Observation]:
    """The ranks and the lists of all shards, those of ``rank.observe``."""
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
            items, tied = map(np.concatenate, zip(*own, strict=True))
            top = Tops.of(items, tied, scorer.shape[1], scores_of(scorer, threads))
        found[DIRECTIONS[side]] = Observation(ranks[side], top)
    return found


def fill(given: Given, rankings: Sequence[Together], out: Outs) -> None:
    """Write the values of graded metrics (``graded.engine.Fill``)."""
    for shard, read in given:
        if shard.kind == "graded":
            join(kept_by(rankings[shard.number], out, shard.rows), read())
