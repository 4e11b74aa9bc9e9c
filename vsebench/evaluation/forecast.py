"""What an evaluation with ``engine="dask"`` will take: its shards and pieces, the bytes that move, and hours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..arguments import check
from ..data.unchanged import unchanged
from ..errors import UsageError, count_of
from ..numeric.parallel import default_threads
from ..options import spell
from ..report.forecast import Forecast, Pass
from ..types import Direction
from . import corrections, cuts, dask_engine, dask_work, inputs, run, shards, system
from .cuts import Shard
from .inputs import Input
from .options import Given, Options
from .plan import Plan, check_names, make_plan
from .shards import Job, Sample

COUNTS = 12  # bytes of a relevant pair: three counts
ENTRY = 16  # bytes of an item of a list


def forecast(images: Any = None, texts: Any = None, **options: Any) -> Forecast:
    """The plan of an evaluation with ``engine="dask"``, without the evaluation: ``vsebench eval --dry-run``.

    The input is read and checked, and some pieces are computed, on a worker of a scheduler that is named, else in this
    process, to know how fast they are. What is not in it: the time to read the input, and intervals.

    Args:
        images, texts, options: as for ``evaluate``; ``engine`` is ``dask``.

    Returns:
        Shards, pieces, scores, bytes of results and worker hours of every pass over the scores.

    Raises:
        UsageError, BadInput, MissingPackage, WorkersLost: as ``evaluate``.

    >>> import numpy as np, vsebench as vb
    >>> images = np.random.default_rng(0).standard_normal((200, 8)).astype(np.float32)
    >>> np.savez("e.npz", image_embeddings=images, text_embeddings=np.repeat(images, 5, axis=0))
    >>> plan = vb.forecast("e.npz", workers=1, metrics="recall")
    >>> plan.workers, plan.passes[0].what, plan.passes[0].scores
    (1, 'ranks and lists, both directions', 200000)
    """
    arguments = check(run.evaluate, (images, texts), {"engine": "dask", **options})
    arguments.apply_defaults()
    given, how = inputs.normal(Given.of(arguments.arguments), Options.of(arguments.arguments))
    if how.engine == "local":
        raise UsageError(f"a plan is made of the work of {spell('engine', 'dask')}", fix="add it")
    if given.run is not None:
        raise UsageError("retrieved lists have no scores to compute, and so no plan", fix=f"leave out {spell('run')}")
    if how.resume:
        raise UsageError(f"a plan is of all shards, without {spell('resume', True)}", fix="leave it out")
    inputs.check(given, how)
    check_names(how, given.split)
    source = shards.source_of(given, how)
    with unchanged(inputs.paths_of(given, how)):
        data, how = system.read(given, how)
        plan, data = corrections.apply(make_plan(data, how), data, how)
        job, every = shards.make_job(source, data, plan, how), cuts.shards_of(plan, data)
        samples, workers, machine = _samples(job, [own[0] for own in _passes(every)], how)
    fast = next((s.speed for shard, s in samples.items() if shard.kind == "scan"), None)
    scores = dask_work.piece_scores(every, workers, lambda _: fast)
    passes = tuple(_of_pass(own, samples[own[0]], scores, plan, data) for own in _passes(every))
    notes = [] if how.scheduler or workers >= (how.workers or 0) else [
        f"{how.workers} workers have no more cores than {workers} on this machine: times are of so many"
    ]  # fmt: skip
    read = sum(file.size for file in job.files)
    return Forecast(plan.split.name, passes, workers, machine, read, (*plan.notes, *notes))


def _passes(every: Sequence[Shard]) -> list[list[Shard]]:
    """The shards of every pass over the scores."""
    found: dict[Any, list[Shard]] = {}
    for shard in every:
        found.setdefault((shard.kind, shard.direction, shard.number), []).append(shard)
    return list(found.values())


def _samples(job: Job, firsts: Sequence[Shard], options: Options) -> tuple[dict[Shard, Sample], int, str]:
    """What pieces of some shards take, the number of workers that have cores, and where it was measured."""
    if options.scheduler is None:
        job = dask_engine.shared(job, options)
        threads = job.options.threads or 1
        workers = min(options.workers or dask_engine.WORKERS, max(1, default_threads() // threads))
        found = {shard: shards.sampled(job, shard) for shard in firsts}
        return found, workers, f"this machine with {count_of(threads, 'thread')}"
    with dask_engine.connected(options) as client:
        names = dask_work.workers_of(client)
        found = {shard: dask_work.sampled(client, job, shard) for shard in firsts}
    return found, len(names), "workers"


def _of_pass(own: Sequence[Shard], sample: Sample, scores: int | None, plan: Plan, data: Input) -> Pass:
    first, total = own[0], sum(shard.scores for shard in own)
    seconds = total / sample.speed
    if first.kind == "graded":
        returned = int(sample.row * sum(shard.rows[1] - shard.rows[0] for shard in own))
        return Pass(f"graded metrics, {first.direction}", len(own), len(own), total, returned, seconds)
    served = next(served for _, served in data.passes(plan.directions) if served[0] == first.direction)
    pieces = sum(len(cuts.pieces(shard, scores)) for shard in own) if scores else len(own)
    what = f"ranks and lists, {'both directions' if len(served) > 1 else first.direction}"
    return Pass(what, len(own), pieces, total, sum(_returned(own, plan, served)), seconds)


def _returned(own: Sequence[Shard], plan: Plan, served: Sequence[Direction]) -> Iterator[int]:
    """Bytes of counts and lists that shards of a scan return, by direction and view."""
    for direction in served:
        sides = {shard.block.sides(direction) for shard in own}
        repeated = len({gallery for _, gallery in sides})  # of every query: once for each range of candidates
        yield from (COUNTS * repeated * len(r.relevance.items) for r in shards.asked(plan, [direction]))
        if plan.depth:
            yield sum(ENTRY * (b - a) * min(plan.depth, d - c) for (a, b), (c, d) in sides)
