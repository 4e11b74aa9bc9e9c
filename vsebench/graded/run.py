"""The pass of graded relevance: scores, their exact order, gains in that order, values - a block of queries at a time.

Every thread makes the scores of its own blocks with a BLAS of one thread and looks at them while they are warm.
Nothing is kept but one value a query and metric, and, where one product serves both directions, what can be among
the best of every image (``graded_shared``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BadInput, UsageError
from ..metrics.declare import Metric
from ..numeric.parallel import default_threads, in_threads
from ..rank import full_order
from ..rank.order import check_ties
from ..rank.scorers import Scorer
from ..rank.stream import Look
from ..relevance.gains import Gains
from ..types import DIRECTIONS, Direction, Float, Int, Split, TopK
from . import shared_product as graded_shared
from . import tasks as graded_work
from .block import measure
from .plan import Bundle, Job, bundles, deep, plan
from .shared_product import Pair
from .tasks import PART, Work, blocks, restrict

Progress = Callable[[int, int], None]
Found = dict[tuple[Metric, Direction], "GradedValues"]


@dataclass(frozen=True, eq=False)
class GradedValues:
    """The values of one graded metric in one direction.

    Attributes:
        values: (query,) float64, NaN where the metric is undefined.
        queries: (query,) int64 indices of the split's images or captions.
        fold: (query,) int64 fold of every query, or None; values are averaged per fold, then over folds.
        gallery: how many candidates the smallest gallery has; a k beyond it was cut there.
    """

    values: Float
    queries: Int
    fold: Int | None
    gallery: int

    @property
    def undefined(self) -> int:
        """How many queries have no value."""
        return int(np.isnan(self.values).sum())

    @property
    def mean(self) -> float:
        """Mean over the queries that have a value, or over folds (that have such queries) of that; else NaN."""
        known = ~np.isnan(self.values)
        fold = np.zeros(len(known), np.int64) if self.fold is None else self.fold
        means = [self.values[known & (fold == f)].mean() for f in np.unique(fold[known])]
        return float(np.mean(means)) if means else float("nan")


def run(
    scorer: Scorer,
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    directions: Sequence[Direction] = DIRECTIONS,
    *,
    ties: str = "index",
    threads: int | None = None,
    progress: Progress | None = None,
    block: int | None = None,
    lists: Mapping[Direction, TopK] | None = None,
    also: Look | None = None,
) -> Found:
    """Measure graded metrics from scores.

    Args:
        scorer: scores of all images with all captions.
        split: who belongs to whom; the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        directions: which side asks.
        ties: accepted for its name only: rankings of graded metrics are canonical, and tau knows ties as ties.
        threads: how many; never changes a result.
        progress: called with (blocks done, blocks in all).
        block: queries of a block (captions, where one product serves both directions); never changes a result.
        lists: top lists of the same scores, if there are any (``rank.observe``); metrics that look no deeper are
            measured from them, which saves a product and changes no value.
        also: shown every score once, as tiles (see ``rank.observe.Watch``), if ``passes_all`` says so.

    Raises:
        UsageError: a metric of binary relevance, a view without gains, gains or scores of another size, or folds
            that the split does not have.
        BadInput: gains outside what a metric allows.
    """
    check_ties(ties)
    jobs = _prepare(split, metrics, gains, directions)
    if scorer.shape != (len(split.image_ids), len(split.caption_ids)):
        raise UsageError(f"scores of shape {scorer.shape} for a split of {_shape(split)}")
    if also and lists:
        raise UsageError("top lists leave out scores that 'also' has to see")
    threads = threads or default_threads()
    jobs, listed = _share(jobs, lists or {})
    asked = bundles(jobs)
    # Only one of them: a split of a single fold has two arenas of all images and captions.
    shown = next((b for b in asked if _shows_all(b.jobs[0])), None)
    shared = graded_shared.pairs(scorer, asked, restrict, threads, block)
    paired = {id(b) for pair in shared for b in (pair.asked, pair.images)}
    first = [Work(pair.asked, pair, *edge) for pair in shared for edge in pair.edges]
    then: list[Work] = []
    itemsize = np.dtype(scorer.dtype).itemsize
    for bundle in (b for b in asked if id(b) not in paired):
        source = restrict(scorer, bundle.jobs[0].arena)
        then += [Work(bundle, source, *edge) for edge in blocks(bundle.jobs[0], threads, block, itemsize)]
    then += [Work(Bundle((job,)), top, *edge) for job, top in listed for edge in blocks(job, threads, block)]
    kept = [Work(pair.images, pair, *edge) for pair in shared for edge in graded_work.lists(pair, block)]
    then += [work for pair in shared for work in _unlisted(pair, pair.listed, None, threads, block)]
    total = len(first) + len(then) + len(kept)
    jobs = [*jobs, *(job for job, _ in listed)]
    values = _empty(jobs)
    done = 0

    def turn(work: Sequence[Work]) -> None:
        waiting = iter(work)
        lock, end = threading.Lock(), threading.Event()

        def look(part: int) -> None:
            nonlocal done
            buffer = np.empty(max(item.scores for item in work), scorer.dtype)
            show = (lambda tile, r0, c0: also(tile, r0, c0, part)) if also else None
            while not end.is_set():
                with lock:
                    item = next(waiting, None)
                if item is None:
                    return
                # What a pair has shown once is not shown again, should its images need a product after all.
                again = id(item.bundle) in paired and not isinstance(item.source, Pair)
                item.do(gains, buffer, values, show if item.images is shown and not again else None)
                with lock:
                    done += 1
                    if progress:
                        progress(done, total)

        if work:
            in_threads(look, min(threads, len(work)), end)

    turn(first)
    for pair in (p for p in shared if not p.finish()):
        pair.forget()
        kept = [item for item in kept if item.source is not pair]
        then += _unlisted(pair, 0, pair.listed, threads, block)
    total = done + len(then) + len(kept)
    turn(kept)
    for pair in shared:
        pair.forget()
    turn(then)
    return _collect(jobs, values)


def _unlisted(pair: Pair, start: int, stop: int | None, threads: int, block: int | None) -> list[Work]:
    """Images of a pair that are ranked from scores of their own."""
    edges = blocks(pair.images.jobs[0], threads, block, start=start, stop=stop)
    return [Work(pair.images, pair.source, *edge) for edge in edges]


def passes_all(split: Split, metrics: Sequence[Metric], directions: Sequence[Direction]) -> bool:
    """Whether ``run`` (without lists) will come by the scores of all images with all captions."""
    return any(_shows_all(job) for job in plan(metrics, split, directions))


def _shows_all(job: Job) -> bool:
    return job.arena.direction == "i2t" and job.arena.whole


def from_lists(
    lists: Mapping[Direction, Mapping[int, Int]],
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    tied: Mapping[Direction, Mapping[int, Int]] | None = None,
) -> Found:
    """Measure graded metrics from retrieved lists.

    Args:
        lists: direction -> query index -> (length,) distinct gallery indices, best first.
        split: who belongs to whom; the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        tied: direction -> query index -> places of its list (from 0) with the score of the place before.

    Raises:
        BadInput: a list is too short for a metric; both lengths and the query are named.
        UsageError: as ``run``.
    """
    jobs = _prepare(split, metrics, gains, tuple(lists))
    values = _empty(jobs)
    for job in jobs:
        local = np.full(len(split.caption_ids if job.arena.direction == "i2t" else split.image_ids), -1)
        local[job.arena.gallery] = np.arange(len(job.arena.gallery))
        held, ties = lists[job.arena.direction], (tied or {}).get(job.arena.direction, {})
        step = max(1, PART // len(job.arena.gallery))  # ideals need whole rows of gains
        for start in range(0, len(job.arena.queries), step):
            asked = job.arena.queries[start : start + step]
            items = np.zeros((len(asked), job.depth), np.int32)
            equal = np.zeros(items.shape, np.bool_)
            known = np.zeros(len(asked), np.int64)
            for i, query in enumerate(asked.tolist()):
                found = local[held.get(query, np.empty(0, np.int64))]
                inside = np.flatnonzero(found >= 0)[: job.depth]
                found = found[inside]
                items[i, : len(found)] = found
                if query in ties and len(inside):
                    # A tie holds across what does not compete.
                    steps = np.ones(inside[-1] + 1, np.int64)
                    steps[ties[query][ties[query] <= inside[-1]]] = 0
                    equal[i, 1 : len(found)] = np.diff(np.cumsum(steps)[inside]) == 0
                known[i] = len(found)
            _refuse_short(job, known, asked)
            measure(job, gains, full_order.Order(items, equal), start, values[id(job)])
    return _collect(jobs, values)


def _shape(split: Split) -> str:
    return f"{len(split.image_ids):,} images and {len(split.caption_ids):,} captions"


def _prepare(
    split: Split, metrics: Sequence[Metric], gains: Mapping[str, Gains], directions: Sequence[Direction]
) -> list[Job]:
    jobs = plan(metrics, split, directions)
    for view in dict.fromkeys(m.view for job in jobs for m in job.metrics):
        if view not in gains:
            raise UsageError(f"no gains for view '{view}'", fix=f"give them, or leave out {view}:...")
        if gains[view].shape != (len(split.image_ids), len(split.caption_ids)):
            raise UsageError(f"gains '{view}' of shape {gains[view].shape} for a split of {_shape(split)}")
    return jobs


def _empty(jobs: Sequence[Job]) -> dict[int, dict[Metric, Float]]:
    return {id(job): {m: np.full(len(job.arena.queries), np.nan) for m in job.metrics} for job in jobs}


def _share(jobs: Sequence[Job], lists: Mapping[Direction, TopK]) -> tuple[list[Job], list[tuple[Job, TopK]]]:
    """The jobs for scores, and those for lists that are there already."""
    scored: list[Job] = []
    listed: list[tuple[Job, TopK]] = []
    for job in jobs:
        arena, top = job.arena, lists.get(job.arena.direction)
        shallow = [m for m in job.metrics if top is not None and arena.whole and deep(m, arena) <= top.items.shape[1]]
        deeper = [m for m in job.metrics if m not in shallow]
        if top is not None and shallow:
            listed.append((Job(arena, tuple(shallow)), top))
        if deeper:
            scored.append(Job(arena, tuple(deeper)))
    return scored, listed


def _refuse_short(job: Job, known: Int, queries: Int) -> None:
    for m in job.metrics:
        needed = deep(m, job.arena)
        lacking = np.flatnonzero(known < needed)
        if len(lacking):
            query, has = int(queries[lacking[0]]), int(known[lacking[0]])
            raise BadInput(
                f"the lists are too short for {m} ({job.arena.direction}): query {query} has {has:,} usable items "
                f"and {needed:,} are needed",
                fix="store longer lists, or leave the metric out (--short-lists miss is for binary relevance)",
            )


def _collect(jobs: Sequence[Job], values: Mapping[int, Mapping[Metric, Float]]) -> Found:
    """Values of all arenas of a metric and direction, one after the other."""
    parts: dict[tuple[Metric, Direction], list[Job]] = {}
    for job in jobs:
        for m in job.metrics:
            parts.setdefault((m, job.arena.direction), []).append(job)
    found: Found = {}
    asked: dict[tuple[int, ...], tuple[Int, Int | None]] = {}  # the same arrays for the metrics of the same jobs
    for key, own in parts.items():
        ids = tuple(map(id, own))
        if ids not in asked:
            folds = [np.full(len(j.arena.queries), j.arena.fold) for j in own if j.arena.fold is not None]
            asked[ids] = np.concatenate([j.arena.queries for j in own]), np.concatenate(folds) if folds else None
        each = [values[id(j)][key[0]] for j in own]
        found[key] = GradedValues(
            each[0] if len(each) == 1 else np.concatenate(each),
            *asked[ids],
            min(len(j.arena.gallery) for j in own),
        )
    return found
