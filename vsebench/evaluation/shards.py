"""Shards: an evaluation in pieces that other processes compute, from the same files.

::

    here:       plan -> Job, shards                        arrays of all shards -> observe, fill -> the values
    elsewhere:         Job -> prepare -> compute(shard) -> arrays

``cuts`` says what the shards are; their results join with the same bits in any order. A ``Job`` names files, never
arrays: every process reads them and makes the plan again, and refuses to compute when a file or the plan is not the
same as here. It keeps what it has read, with the lengths of the vectors, for the next shards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..errors import BadInput, UsageError, WorkersLost
from ..files.regular import expanded, sha256_of
from ..files.store import fingerprint
from ..graded import engine as graded
from ..graded.engine import Fill, Outs
from ..graded.rankings import Together
from ..log import logged, note
from ..numeric.parallel import default_threads
from ..options import of_command, spell
from ..rank import backends
from ..rank.count import Block, Counter, count, count_block, joined, make_counters
from ..rank.order import scores_of, top_lists
from ..rank.scorers import Scorer, System
from ..relevance.gains import Spec
from ..types import DIRECTIONS, Both, Direction, Observation, Side, Split, Tops, is_path, sides_of
from . import corrections, cuts, second_stage, system
from . import depths as backend_depths
from .assemble import signature
from .cuts import Arrays, Shard, rankings_of
from .inputs import Input
from .plan import Plan, make_plan
from .request import Request

LAYOUT = 7  # of the arrays of a shard
WORKERS = 2  # processes on this machine

Read = Callable[[Shard], Arrays]  # the arrays of a finished shard


@dataclass(frozen=True)
class Job:
    """What another process needs to compute shards.

    Attributes:
        request: what is evaluated and how, with absolute paths.
        backend: of the plan here.
        files: the SHA-256 of all input files, by path.
        plan: ``identity`` of the plan.
        key: of the evaluation: the same for the same contents of files, plan and version.
        version: of vsebench.
        command: messages name options as the command line does.
    """

    request: Request
    backend: str
    files: Mapping[Path, str]
    plan: str
    key: str
    version: str = __version__
    command: bool = False


def elsewhere(request: Request) -> Request:
    """The request as other processes read it, with absolute paths.

    Raises:
        UsageError: something is in memory, where they cannot read it.
    """
    named: dict[str, Any] = {
        name: _absolute(name, getattr(request, name)) for name in ("images", "texts", "scores", "fuse", "rerank")
    }
    own = {name: [_spec("judgements", spec) for spec in specs] for name, specs in request.judgements.items()}
    gains = {view: _spec("gains", spec) for view, spec in request.gains.items()}
    if not is_path(request.captions or ""):
        raise _in_memory("captions")
    if isinstance(request.split, Split):
        raise _in_memory("split")
    part, correction = request.part, request.correction
    return replace(
        request, **named, gains=gains, judgements=own, captions=_absolute("captions", request.captions),
        part=part and part._replace(file=_absolute("only", part.file)),
        correction=correction and replace(correction, bank=_absolute("normalise", correction.bank)), progress=None,
    )  # fmt: skip


def _absolute(name: str, given: Any) -> Any:
    """The path that an argument is, or all that it has, with their folders; raises UsageError for anything else."""
    if isinstance(given, Mapping):
        return {key: _absolute(name, x) for key, x in given.items()}
    if isinstance(given, (list, tuple)):
        return [_absolute(name, x) for x in given]
    if given is not None and not is_path(given):
        raise _in_memory(name)
    return None if given is None else expanded(given).absolute()


def _spec(name: str, spec: Spec) -> Spec:
    if spec.values is not None:
        raise _in_memory(name)
    return replace(spec, argument=str(spec.path.absolute())) if spec.path and spec.path.is_file() else spec


def _in_memory(name: str) -> UsageError:
    fix = f"write it to a file and give the path (a split: its name), or leave out {spell('engine', 'dask')}"
    return UsageError(f"{spell('engine', 'dask')} reads files, and {name} is in memory", fix=fix)


def make_job(data: Input, plan: Plan) -> Job:
    """The job of an evaluation whose input is read and planned here; raises as ``elsewhere``."""
    request = elsewhere(plan.request)
    if request.scheduler is None and request.threads is None:  # the workers share the cores of this machine
        request = replace(request, threads=max(1, default_threads() // (request.workers or WORKERS)))
    files = {file: sha256_of(file) for path in request.files for file in _regular(path)}
    decided = identity(data, plan)
    key = fingerprint(__version__, LAYOUT, cuts.SCORES, list(files.values()), decided)
    return Job(request, plan.backend, files, decided, key, command=of_command())


def _regular(path: Path) -> list[Path]:
    """A file, or those in a folder of shards; anything else is left out."""
    return [file for file in (sorted(path.glob("*/*")) if path.is_dir() else [path]) if file.is_file()]


def identity(data: Input, plan: Plan) -> str:
    """A hash of all that decides the values, besides the contents of the files."""
    request = plan.request
    decided = (
        signature(plan, data, None), *map(str, plan.single), plan.directions, plan.depth,
        request.resampling is not None, request.rerank_depth, request.weight,
        request.image_key, request.text_key, request.scores_key,
    )  # fmt: skip
    return fingerprint(*map(str, decided))


class Used(NamedTuple):
    """What a process ranked with.

    Attributes:
        backend: as ``backends.chosen`` names it.
        device: its GPU in words, empty without one.
        notes: about metrics that it does not rank.
    """

    backend: str
    device: str
    notes: tuple[str, ...]


_lock = threading.Lock()
_kept: dict[tuple[Any, ...], tuple[Used, Callable[[Shard], Arrays]]] = {}  # of this process: the last job


def compute(job: Job, shard: Shard) -> tuple[Used, Arrays]:
    """What ranked a shard, and its arrays, in a process that has nothing but the job; one at a time.

    Raises:
        VsebenchError: what is wrong with the input or the installation; the same at a second attempt.
    """
    same = job.key, job.version, *job.files, job.request.threads, job.backend  # each task has a copy of its job
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
    if identity(data, plan) != job.plan:
        what = "metrics, judgements, captions or gains are others than where the evaluation was started"
        fix = "install the same packages and data (vsebench doctor) and set the same VSEBENCH_CACHE on all machines"
        raise BadInput(what, where=next(iter(job.files)), fix=fix)
    threads, backend = job.request.threads or default_threads(), job.backend
    with logged() as log:
        ranker, needed = backends.ranker(backend), None
        if ranker.lists is not None and ranker.lists.deepest is not None:
            ranker, needed = backend_depths.route(plan, data, ranker)
        if needed is not None and ranker.lists is not None:
            dask = spell("engine", "dask")
            note(f"{dask}: numpy ranked metrics of binary judgements, not {ranker.lists.name}")
            ranker = replace(ranker, lists=None)
    name = backends.chosen(backend)[0]
    used = Used(name, backends.about_device(name).get("device", ""), tuple(log.notes))
    assert data.system is not None
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
    rankings: Mapping[Side, Sequence[Together]], shard: Shard,
) -> Arrays:  # fmt: skip
    assert data.system is not None
    scorer = data.system.both[shard.side]
    if shard.kind == "scan":
        served = counters if data.system.own is None else (counters[shard.side], ())
        return count_block(ranker.scan, scorer, served, threads, shard.block)
    if shard.kind == "lists":
        assert plan.depth is not None
        own = scorer.take(slice(*shard.rows), slice(None))
        top = top_lists(own, plan.depth, threads=threads, by=ranker.lists)
        return {"items": top.items, "tied": top.tied}
    shared = rankings[shard.side][shard.number]
    new = None
    if second := data.second.get(DIRECTIONS[shard.side]):
        index = shared[0].queries[slice(*shard.rows)]
        new = second_stage.part(scorer, second, (int(index[0]), int(index[-1]) + 1), threads)
    return graded.part(shared, scorer, plan.gains, shard.rows, threads, ranker.order, new)


def observe(plan: Plan, finished: Sequence[Shard], read: Read, system: System) -> dict[Direction, Observation]:
    """The ranks and the lists of all shards, those of ``rank.observe``."""
    threads = plan.request.threads or default_threads()

    def parts(scorer: Scorer) -> Iterator[tuple[Block, Arrays]]:
        side = 0 if scorer is system.forward else 1
        return ((s.block, read(s)) for s in finished if s.kind == "scan" and s.side == side)

    ranks = count(system, plan.targets, ties=plan.request.ties, threads=threads, scan=joined(parts), dense=None)
    found: dict[Direction, Observation] = {}
    for side in sides_of(plan.directions):
        top = None
        if plan.depth:
            own = [read(s) for s in sorted(finished) if s.kind == "lists" and s.side == side]
            items, tied = (np.concatenate([arrays[name] for arrays in own]) for name in ("items", "tied"))
            scorer = system.both[side]
            top = Tops.of(items, tied, scorer.shape[1], scores_of(scorer, threads))
        found[DIRECTIONS[side]] = Observation(ranks[side], top)
    return found


def fill_of(finished: Sequence[Shard], read: Read) -> Fill:
    """Writes the values of graded metrics."""

    def fill(rankings: Sequence[Together], out: Outs) -> None:
        for s in finished:
            own = [shared for shared in rankings if shared[0].side == s.side]
            if s.kind == "graded" and own:
                graded.join(own[s.number], out, s.rows, read(s))

    return fill
