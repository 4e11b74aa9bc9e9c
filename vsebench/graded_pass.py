"""The pass of graded relevance: scores, their exact order, gains in that order, values - a block of queries at a time.

Every thread makes the scores of its own blocks with a BLAS of one thread and looks at them while they are warm.
Nothing is kept but one value a query and metric.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import graded_shared
from .errors import BadInput, UsageError
from .graded_block import measure
from .graded_plan import Arena, Bundle, Job, bundles, deep, plan
from .graded_shared import Pair
from .metrics.declare import Metric
from .parallel import default_threads, in_threads
from .rank import whole
from .rank.order import check_ties
from .rank.scorers import Dot, Matrix, Scorer
from .rank.stream import Look
from .relevance.gains import Gains
from .types import DIRECTIONS, Direction, Float, Int, Split, TopK

TILE_BYTES = 64 << 20  # of the scores of all threads together
TILE_QUERIES = 2048
PART = 1_000_000  # scores that are looked at together
SHARED_BYTES = 20 << 20  # of scores that serve both directions
LISTED = 4  # parts of images that are measured from lists together
SHOWN = 5120  # captions of a tile that is shown to others

Progress = Callable[[int, int], None]
Work = tuple[Bundle, Scorer | TopK | Pair, int, int]
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
        block: queries of a block; never changes a result.
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
    shared = graded_shared.pairs(scorer, asked, restrict)
    first: list[Work] = []
    then: list[Work] = []
    for pair in shared:
        first += [(pair.asked, pair, *edge) for edge in _columns(pair, threads, block)]
        size = block or max(1, LISTED * PART // len(pair.images.jobs[0].arena.gallery))
        then += [(pair.images, pair, *edge) for edge in _blocks(pair.images.jobs[0], threads, size)]
    paired = {id(b) for pair in shared for b in (pair.asked, pair.images)}
    itemsize = np.dtype(scorer.dtype).itemsize
    for bundle in (b for b in asked if id(b) not in paired):
        source = restrict(scorer, bundle.jobs[0].arena)
        then += [(bundle, source, *edge) for edge in _blocks(bundle.jobs[0], threads, block, itemsize)]
    then += [(Bundle((job,)), top, *edge) for job, top in listed for edge in _blocks(job, threads, block)]
    jobs = [*jobs, *(job for job, _ in listed)]
    values = _empty(jobs)
    done = 0

    def turn(work: Sequence[Work]) -> None:
        waiting = iter(work)
        lock, end = threading.Lock(), threading.Event()

        def look(part: int) -> None:
            nonlocal done
            buffer = np.empty(max(map(_scores, work)), scorer.dtype)
            show = (lambda tile, r0, c0: also(tile, r0, c0, part)) if also else None
            while not end.is_set():
                with lock:
                    item = next(waiting, None)
                if item is None:
                    return
                images = item[1].images if isinstance(item[1], Pair) else item[0]
                _look(*item, gains, buffer, values, show if images is shown else None)
                with lock:
                    done += 1
                    if progress:
                        progress(done, len(first) + len(then))

        if work:
            in_threads(look, min(threads, len(work)), end)

    turn(first)
    for pair in shared:
        for kept in pair.lists:
            kept.finish()
    turn(then)
    return _collect(jobs, values)


def passes_all(split: Split, metrics: Sequence[Metric], directions: Sequence[Direction]) -> bool:
    """Whether ``run`` (without lists) will come by the scores of all images with all captions, image by image."""
    return any(_shows_all(job) for job in plan(metrics, split, directions))


def _shows_all(job: Job) -> bool:
    return job.arena.direction == "i2t" and job.arena.whole


def from_lists(
    lists: Mapping[Direction, Mapping[int, Int]],
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
) -> Found:
    """Measure graded metrics from retrieved lists.

    Args:
        lists: direction -> query index -> (length,) distinct gallery indices, best first.
        split: who belongs to whom; the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.

    Raises:
        BadInput: a list is too short for a metric; both lengths and the query are named.
        UsageError: as ``run``.
    """
    jobs = _prepare(split, metrics, gains, tuple(lists))
    values = _empty(jobs)
    for job in jobs:
        local = np.full(len(split.caption_ids if job.arena.direction == "i2t" else split.image_ids), -1)
        local[job.arena.gallery] = np.arange(len(job.arena.gallery))
        held = lists[job.arena.direction]
        step = max(1, PART // len(job.arena.gallery))  # ideals need whole rows of gains
        for start in range(0, len(job.arena.queries), step):
            asked = job.arena.queries[start : start + step]
            items = np.zeros((len(asked), job.depth), np.int32)
            known = np.zeros(len(asked), np.int64)
            for i, query in enumerate(asked.tolist()):
                found = local[held.get(query, np.empty(0, np.int64))]
                found = found[found >= 0][: job.depth]
                items[i, : len(found)] = found
                known[i] = len(found)
            _refuse_short(job, known, asked)
            measure(job, gains, whole.Order(items, np.zeros(items.shape, np.bool_)), start, values[id(job)])
    return _collect(jobs, values)


def restrict(scorer: Scorer, arena: Arena) -> Scorer:
    """The scores of an arena's images with its captions; vectors are copied only where they do not lie in a row."""
    if len(arena.images) == scorer.shape[0] and len(arena.captions) == scorer.shape[1]:
        return scorer
    if isinstance(scorer, Dot):
        return Dot(_pick(scorer.images, arena.images), _pick(scorer.captions, arena.captions), scorer.cosine)
    if isinstance(scorer, Matrix):
        images = arena.images if scorer.image_order is None else scorer.image_order[arena.images]
        captions = arena.captions if scorer.caption_order is None else scorer.caption_order[arena.captions]
        return Matrix(scorer.scores, images, captions, scorer.name)
    raise UsageError(f"a scorer of type {type(scorer).__name__} cannot be restricted to folds or first captions")


def _pick(vectors: Any, rows: Int) -> Any:
    first, last = int(rows[0]), int(rows[-1]) + 1
    return vectors[first:last] if last - first == len(rows) else vectors[rows]


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


def _blocks(job: Job, threads: int, size: int | None, itemsize: int = 4) -> list[tuple[int, int]]:
    """Ranges of queries whose scores fit the memory of a thread, all about equally long."""
    n, gallery = len(job.arena.queries), len(job.arena.gallery)
    limit = size or max(1, min(TILE_BYTES // threads // (itemsize * gallery), TILE_QUERIES))
    parts = -(-n // limit)
    if size is None:
        parts = min(n, -(-parts // threads) * threads)
    edges = [n * i // parts for i in range(parts + 1)]
    return list(itertools.pairwise(edges))


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


def _columns(pair: Pair, threads: int, size: int | None) -> list[tuple[int, int]]:
    """Ranges of captions, all about equally long, the scores of which fit the memory of a thread."""
    n_image, n_caption = pair.source.shape
    limit = size or max(1, SHARED_BYTES // threads // (4 * n_image))
    parts = -(-n_caption // limit)
    edges = [n_caption * i // parts for i in range(parts + 1)]
    return list(itertools.pairwise(edges))


def _scores(work: Work) -> int:
    """How many scores a piece of work makes."""
    bundle, source, start, stop = work
    made = not isinstance(source, TopK) and not (isinstance(source, Pair) and bundle is source.images)
    return (stop - start) * len(bundle.jobs[0].arena.gallery) if made else 0


def _look(
    bundle: Bundle,
    source: Scorer | TopK | Pair,
    start: int,
    stop: int,
    gains: Mapping[str, Gains],
    buffer: Any,
    values: Mapping[int, Mapping[Metric, Float]],
    also: Callable[[Any, int, int], None] | None,
) -> None:
    """One block of queries."""
    first, *others = bundle.jobs
    if isinstance(source, TopK):
        for a in range(start, stop, max(1, PART // first.depth)):
            part = slice(a, min(a + max(1, PART // first.depth), stop))
            items, scores = source.items[part, : first.depth], source.scores[part, : first.depth]
            tied = np.zeros(items.shape, np.bool_)
            tied[:, 1:] = scores[:, 1:] == scores[:, :-1]
            measure(first, gains, whole.Order(items.astype(np.int32), tied), a, values[id(first)])
        return
    step = max(1, PART // len(first.arena.gallery))
    edges = [(a, min(a + step, stop)) for a in range(start, stop, step)]
    if isinstance(source, Pair) and bundle is source.images:
        for a, b in edges:
            orders = [kept.order(a, b) for kept in source.lists]
            blocks = measure(first, gains, orders[0], a, values[id(first)])
            for job, own in zip(others, orders[1:], strict=True):
                measure(job, gains, own, a, values[id(job)], (blocks, bundle.part(job, a, b)))
        return
    direction = first.arena.direction
    if isinstance(source, Pair):
        from .rank import shortlist_kernels

        tile = whole.columns_of(source.source, start, stop, buffer)
        if also:
            also(tile, 0, start)
        for kept in source.lists:
            kept.see(tile, start)
        doubt = whole.measure(source.source, direction, tile.T, start)
        for a, b in edges:
            rows = np.empty((b - a, len(tile)), np.float32)
            shortlist_kernels.turn(tile, a - start, b - start, rows)
            _rank(bundle, source.source, rows, a, doubt.take(np.arange(a, b) - start), gains, values)
        return
    tile = whole.rows_of(source, direction, start, stop, buffer)
    if also:
        for c in range(0, tile.shape[1], SHOWN):
            also(np.ascontiguousarray(tile[:, c : c + SHOWN]), start, c)
    doubt = whole.measure(source, direction, tile, start)
    for a, b in edges:
        _rank(bundle, source, tile[a - start : b - start], a, doubt.take(np.arange(a, b) - start), gains, values)


def _rank(
    bundle: Bundle,
    source: Scorer,
    rows: Any,
    start: int,
    doubt: whole.Doubt,
    gains: Mapping[str, Gains],
    values: Mapping[int, Mapping[Metric, Float]],
) -> None:
    """The queries from ``start`` on, of which ``rows`` are the scores."""
    first, *others = bundle.jobs
    direction = first.arena.direction
    asked = np.arange(start, start + len(rows))
    order = whole.order_rows(source, direction, rows, asked, first.depth, doubt)
    blocks = measure(first, gains, order, start, values[id(first)])
    for job in others:
        part_of = bundle.part(job, start, start + len(rows))
        if not len(part_of.rows):
            continue
        if part_of.columns is None and first.depth >= job.depth:
            own = whole.Order(order.items[part_of.rows], order.tied[part_of.rows]).cut(job.depth)
        else:
            own = whole.order_rows(
                source, direction, part_of.take(rows), asked[part_of.rows], job.depth,
                doubt.take(part_of.rows), part_of.columns,
            )  # fmt: skip
        measure(job, gains, own, part_of.start, values[id(job)], (blocks, part_of))


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
    for key, own in parts.items():
        folds = [np.full(len(j.arena.queries), j.arena.fold) for j in own if j.arena.fold is not None]
        found[key] = GradedValues(
            np.concatenate([values[id(j)][key[0]] for j in own]),
            np.concatenate([j.arena.queries for j in own]),
            np.concatenate(folds) if folds else None,
            min(len(j.arena.gallery) for j in own),
        )
    return found
