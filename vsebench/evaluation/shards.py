"""Shards: an evaluation in pieces that other processes compute, from the same files.

::

    here:       plan -> Job, shards                        arrays of all shards -> scan, fill -> the values
    elsewhere:         Job -> prepare -> compute(shard) -> arrays

``cuts`` says what the shards are; their results join with the same bits in any order. A ``Job`` names files, never
arrays: every process reads them and makes the plan again, and refuses to compute when a file or the plan is not the
same as here. It keeps what it has read, with the lengths of the vectors, for the next shards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..errors import BadInput, MissingPackage, UsageError
from ..files.store import fingerprint
from ..graded import part_of_queries as graded_part
from ..graded.engine import Fill
from ..graded.rankings import SharedScores
from ..graded.tasks import Outs, restrict
from ..log import logged
from ..numeric.parallel import default_threads
from ..options import of_command, spell
from ..rank import backends
from ..rank import part_of_scan as scan_part
from ..rank.observe import Counter, Depths, Scan, make_counters
from ..rank.observe import Request as Targets
from ..rank.ties import EXPECTED
from ..types import Direction, Relevance, SameFold, Split, is_path
from . import corrections, cuts, provenance, second_stage, system
from . import depths as backend_depths
from .cuts import Shard, rankings_of
from .inputs import System
from .plan import Plan, make_plan
from .request import Request, leaves
from .shard_files import Arrays

LAYOUT = 3  # of the arrays of a shard

Read = Callable[[Shard], Arrays]  # the arrays of a finished shard


class File(NamedTuple):
    """An input file: absolute path, size in bytes, time of the last change in ns, and SHA-256."""

    path: str
    size: int
    written: int
    sha256: str


@dataclass(frozen=True)
class Job:
    """What another process needs to compute shards.

    Attributes:
        request: what is evaluated and how, with absolute paths.
        files: all input files.
        backend: what ranks, resolved where it does: ``auto`` and ``torch:cuda`` take the device of each process.
        plan: ``identity`` of the plan.
        key: of the evaluation: the same for the same contents of files, plan and version.
        version: of vsebench.
        command: messages name options as the command line does.
    """

    request: Request
    files: tuple[File, ...]
    backend: str
    plan: str
    key: str
    version: str = __version__
    command: bool = False


def source_of(request: Request) -> Request:
    """What other processes evaluate: the request with absolute paths, as they read and rank it.

    Raises:
        UsageError: something is in memory, where they cannot read it.
    """
    captions = request.captions is not None and not is_path(request.captions)
    named = {name: getattr(request, name) for name in ("images", "texts", "scores", "fuse", "rerank")}
    each = {name: [f for x in leaves(given) for f in leaves(x)] for name, given in named.items()}
    memory = [name for name, files in each.items() if not all(map(is_path, files))]
    memory += ["gains"] * any(spec.values is not None for spec in request.gains.values()) + ["captions"] * captions
    memory += ["judgements"] * any(spec.path is None for specs in request.judgements.values() for spec in specs)
    if isinstance(request.split, Split) or memory:
        memory.append("split")
        fix = f"write it to a file and give the path (a split: its name), or leave out {spell('engine', 'dask')}"
        raise UsageError(f"{spell('engine', 'dask')} reads files, and {memory[0]} is in memory", fix=fix)
    gains = {
        view: replace(spec, argument=str(_absolute(spec.argument))) if spec.path and spec.path.is_file() else spec
        for view, spec in request.gains.items()
    }
    own = {
        name: [replace(spec, argument=str(_absolute(spec.argument))) for spec in specs]
        for name, specs in request.judgements.items()
    }
    part, correction = request.part, request.correction
    if correction is not None:
        correction = replace(correction, bank=_absolute(correction.bank))
    return replace(
        request, **{name: _absolute(x) for name, x in named.items()}, captions=_absolute(request.captions),
        gains=gains, judgements=own, part=part and part._replace(file=_absolute(part.file)), correction=correction,
        engine="local", scheduler=None, workers=None, resume=False, progress=None, backend=backends.AUTO,
    )  # fmt: skip


def _absolute(given: Any) -> Any:
    """The path that is given, or all that are, with the folder."""
    if isinstance(given, Mapping):
        return {key: _absolute(x) for key, x in given.items()}
    if isinstance(given, list):
        return [_absolute(x) for x in given]
    return None if given is None else Path(given).expanduser().absolute()


def make_job(source: Request, data: System, plan: Plan) -> Job:
    """The job of an evaluation whose input is read and planned here."""
    files = tuple(map(_describe, _regular(source.files)))
    decided = identity(data, plan)
    contents = [f.sha256 for f in files]
    keys = [str(key) for key in (source.image_key, source.text_key, source.scores_key)]
    key = fingerprint(__version__, LAYOUT, cuts.SCORES, contents, keys, decided)
    return Job(source, files, plan.request.backend, decided, key, command=of_command())


def _regular(paths: Sequence[Path]) -> Iterator[Path]:
    """The files of some paths, also those in folders of shards; anything else is left out."""
    for path in paths:
        yield from (file for file in ([*sorted(path.glob("*/*"))] if path.is_dir() else [path]) if file.is_file())


def _describe(path: Path) -> File:
    found = path.stat()
    return File(str(path), found.st_size, found.st_mtime_ns, provenance.describe(path)["sha256"])


def identity(data: System, plan: Plan) -> str:
    """A hash of all that decides the values, besides the contents of the files."""
    split, rows = plan.split, [b"" if r is None else np.ascontiguousarray(r).tobytes() for r in data.rows]
    parts: list[Any] = [
        data.score,
        *rows,
        _ids(split.image_ids),
        _ids(split.caption_ids),
        b"" if split.image_of is None else split.image_of.tobytes(),
    ]
    parts += [b"" if split.fold is None else split.fold.tobytes(), list(split.captions or ())]
    parts += [[str(m) for m in plan.single], list(plan.directions), str(plan.depth), str(plan.request.ties == EXPECTED)]
    parts += [str(plan.request.resampling is not None), dict(data.stages)]
    parts += [f"{d} {s.depth} {s.reach} {s.weight}" for d, s in data.second.items()]
    for request in plan.requests:
        judged: Relevance = request.relevance
        parts += [request.view, judged.direction, str(isinstance(request.candidates, SameFold))]
        parts += [judged.queries.tobytes(), judged.indptr.tobytes(), judged.items.tobytes(), judged.without.tobytes()]
    for view, gains in plan.gains.items():
        parts += [view, gains.name, {str(k): str(v) for k, v in gains.settings.items()}]
    return fingerprint(*parts)


def _ids(ids: npt.NDArray[Any]) -> bytes:
    return str(ids.dtype).encode() + ids.tobytes()


@dataclass(frozen=True, eq=False)
class Prepared:
    """The input and the plan of a job, read and made once a process."""

    job: Job
    data: System
    plan: Plan

    @cached_property
    def counters(self) -> dict[Direction, list[Counter]]:
        """Of the relevant pairs, by the first direction of every scan."""
        return {
            served[0]: make_counters(scorer, asked(self.plan, served), self.threads)
            for scorer, served in self.data.passes(self.plan.directions)
        }

    def scan(self, direction: Direction) -> tuple[Sequence[Counter], Depths]:
        """What is counted, and how deep the lists are, in the scan of which a direction is the first."""
        served = next(served for _, served in self.data.passes(self.plan.directions) if served[0] == direction)
        return self.counters[direction], depths(self.plan, served)

    @cached_property
    def rankings(self) -> dict[Direction, list[SharedScores]]:
        """Of graded metrics."""
        return rankings_of(self.plan)

    @cached_property
    def ranked(self) -> tuple[backends.Ranker, Used]:
        """The functions of the back-end; what lists only the top of rankings orders graded metrics alone.

        Raises:
            UsageError, MissingPackage: this machine does not have the back-end or the device that is named.
        """
        try:
            ranker, name = backends.ranker(self.job.backend), backends.chosen(self.job.backend)[0]
        except (UsageError, MissingPackage) as error:
            fix = f"on its machine: {error.fix}; with the back-end auto every worker takes what it has"
            raise type(error)(f"a worker on {host()}: {error.what}", where=spell("engine", "dask"), fix=fix) from error
        with logged() as log:
            routed, _ = backend_depths.route(self.plan, self.data, ranker)
        if routed.listed:
            dask = spell("engine", "dask")
            log.notes.append(f"{dask}: numpy ranked metrics of binary judgements, not {routed.listed.name}")
        return routed, Used(name, backends.about_device(name).get("device", ""), tuple(log.notes))

    @property
    def threads(self) -> int:
        """Of a shard."""
        return self.job.request.threads or default_threads()


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


def asked(plan: Plan, directions: Sequence[Direction]) -> list[Targets]:
    """What is counted in a scan that serves some directions."""
    return [r for r in plan.requests if r.relevance.direction in directions]


def depths(plan: Plan, directions: Sequence[Direction]) -> Depths:
    """How many items of every ranking of some directions are listed."""
    return {} if plan.depth is None else dict.fromkeys(directions, plan.depth)


_lock = threading.Lock()
_kept: list[Prepared] = []  # of this process: the last job


def compute(job: Job, shard: Shard) -> tuple[Used, Arrays]:
    """What ranked a shard, and its arrays, in a process that has nothing but the job; one at a time.

    Raises:
        VsebenchError: what is wrong with the input or the installation; the same at a second attempt.
    """
    with _lock:
        prepared = _prepare(job)
        return prepared.ranked[1], compute_prepared(prepared, shard)


def _prepare(job: Job) -> Prepared:
    if job.version != __version__:
        what = f"a worker on {host()} has vsebench {__version__}, and this is {job.version}"
        raise UsageError(what, where=spell("engine", "dask"), fix="install the same version on all machines")
    if _kept and _same(_kept[0].job, job):
        return _kept[0]
    _kept.clear()  # before the next input needs its memory
    for file in job.files:
        _refuse_other(file)
    _kept.append(prepare(job))
    return _kept[0]


def _same(one: Job, other: Job) -> bool:
    """Whether what is read and planned for two jobs is the same; each task has a copy of its job."""
    return all(getattr(one, name) == getattr(other, name) for name in ("key", "files", "request", "backend"))


def prepare(job: Job) -> Prepared:
    """Read and plan as ``vsebench.evaluate`` does.

    Raises:
        BadInput: the plan is another one here.
    """
    data = system.read(job.request)
    plan, data = make_plan(data, job.request), corrections.apply(data, job.request)
    if identity(data, plan) != job.plan:
        what = f"metrics, judgements, captions or gains are others on {host()} than where the evaluation was started"
        fix = "install the same packages and data (vsebench doctor) and set the same VSEBENCH_CACHE on all machines"
        raise BadInput(what, where=job.files[0].path, fix=fix)
    return Prepared(job, data, plan)


def _refuse_other(file: File) -> None:
    path, fix = Path(file.path), "put it at the same path on all machines, best on a file system that they share"
    try:
        found = path.stat()
    except OSError as error:
        raise BadInput(f"a worker on {host()} cannot read it: {error.strerror}", where=path, fix=fix) from None
    if found.st_size != file.size:
        what = f"has {found.st_size:,} bytes on {host()} and {file.size:,} where the evaluation was started"
        raise BadInput(what, where=path, fix=fix)
    if found.st_mtime_ns != file.written and provenance.describe(path)["sha256"] != file.sha256:
        raise BadInput(f"has another content on {host()} than where the evaluation was started", where=path, fix=fix)


def host() -> str:
    """The name of this machine."""
    import socket

    return socket.gethostname()


def compute_prepared(prepared: Prepared, shard: Shard) -> Arrays:
    """The arrays of a shard."""
    data, plan, ranker, threads = prepared.data, prepared.plan, prepared.ranked[0], prepared.threads
    scorer = data.scorers[shard.direction]
    if shard.kind == "scan":
        return scan_part.count(ranker.scan, scorer, *prepared.scan(shard.direction), threads, shard.block)
    shared = prepared.rankings[shard.direction][shard.number]
    new = None
    if second := data.second.get(shard.direction):
        index = shared.first.queries[slice(*shard.rows)]
        new = second_stage.part(scorer, second, (int(index[0]), int(index[-1]) + 1), threads)
    own = restrict(scorer, shared.first)
    return graded_part.measure(shared, own, plan.gains, shard.rows, threads, ranker.order, new)


def scan_of(finished: Sequence[Shard], read: Read, direction: Direction) -> Scan:
    """The scan that the finished shards are together, of which ``direction`` is the first."""
    own = [s for s in finished if s.kind == "scan" and s.direction == direction]
    return scan_part.joined((s.block, read(s)) for s in own)


def fill_of(finished: Sequence[Shard], read: Read) -> Fill:
    """Writes the values of graded metrics."""

    def fill(rankings: Sequence[SharedScores], out: Outs) -> None:
        for s in finished:
            own = [shared for shared in rankings if shared.first.direction == s.direction]
            if s.kind == "graded" and own:
                graded_part.add(own[s.number], out, s.rows, read(s))

    return fill
