"""Measuring graded metrics: for blocks of queries, their canonical order, the gains in that order, values.

Every thread takes blocks of queries, orders their galleries and measures them at once. Nothing is kept but one value a
query and metric. A value depends on its own query alone, and influences are sums of integers: other processes can
measure ranges of queries; their arrays join (``Out.join``) with the same bits for any ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..metrics.declare import Metric
from ..metrics.expected import expected_values
from ..metrics.values import values
from ..numeric.parallel import Progress, default_threads, in_turn
from ..rank.order import REFERENCE, Order, listed
from ..rank.scorers import Scorer, System
from ..rank.tops import order_of
from ..relevance.gains import Gains
from ..types import Both, Float, Int, Tops, Which
from . import influence
from .influence import Block, Out
from .rankings import Group, Ranking, Together, together

MAX_BLOCK_SCORES, MIN_BLOCK_SCORES = 1 << 21, 1 << 19  # scores of a block of queries
MAX_SCORES = 8 << 20  # of the blocks of all threads
MAX_BLOCK_QUERIES = 2048

Range = tuple[int, int]  # of the queries of the first ranking
Outs = Mapping[Ranking, Out]


def run(
    ranked: System | Mapping[Which, Tops],
    rankings: Sequence[Ranking],
    gains: Mapping[str, Gains],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    block: int | None = None,
    order: Order | None = None,
    new: Both[Tops | None] = (None, None),
) -> Found:
    """Measure graded metrics, in canonical order (ties to the lower index) or over all orders of ties.

    Args:
        ranked: scores of all rows with all columns; or retrieved lists of all queries of a side, of distinct items, as
            long as the rankings are deep.
        rankings: of ``rankings.plan``: queries, galleries and metrics.
        gains: by view, for every view of the metrics.
        threads: how many; never changes a result.
        progress: called with (blocks done, blocks in all).
        block: queries of a block; never changes a result.
        order: of another back-end, see ``rank.backends``.
        new: of every side, the order of the first items of every query after re-ranking.

    Raises:
        BadInput: gains outside what a metric allows.
    """
    out, threads = {r: Out(r) for r in rankings}, threads or default_threads()
    work: list[Callable[[], None]] = []
    for joined in together(rankings):
        side = joined[0].side
        of_side = ranked.both[side] if isinstance(ranked, System) else ranked[side]
        work += blocks(joined, of_side, gains, out, threads, order or REFERENCE, new[side], block)
    in_turn(work, lambda _: lambda each: each(), threads, progress)
    return collect(rankings, out)


def blocks(
    rankings: Together,
    ranked: Scorer | Tops,
    gains: Mapping[str, Gains],
    out: Outs,
    threads: int,
    order: Order,
    new: Tops | None = None,
    block: int | None = None,
    queries: Range | None = None,
) -> list[Callable[[], None]]:
    """What orders and measures a block of queries, for each block.

    Args:
        rankings: of ``rankings.together``.
        ranked: scores, or the lists, of all queries with the complete gallery.
        gains, order, block: as for ``run``.
        out: the measurements are written to these.
        threads: number of threads that take these blocks.
        new: the order of the first items after re-ranking, for all queries or for the range; or None.
        queries: a range of the queries of the first ranking, None for all of them.
    """
    first = rankings[0]
    piece = min(max(1, block_scores(threads) // len(first.gallery)), MAX_BLOCK_QUERIES)
    most = block or piece
    if isinstance(ranked, Tops):
        lists = {ranking: candidates_of(ranking, ranked) for ranking in rankings}
    else:
        first_scores = ranked.take(first.queries, first.gallery)
        most = block or max(piece, order.together(len(first.gallery), first.depth))
    begin, end = queries or (0, len(first.queries))

    def measured(a: int, b: int) -> None:
        some = begin + a, begin + b
        tops = (
            of_lists(lists, first, some)
            if isinstance(ranked, Tops)
            else ordered(rankings, first_scores, some, order, new)
        )
        for c, d in ranges(b - a, piece):
            larger: Mapping[str, Block] = {}
            for ranking, top in tops.items():
                part = ranking.within(first, begin + a + c, begin + a + d)
                if part.start < part.stop:
                    start = ranking.within(first, *some).start
                    rows = top.rows(slice(part.start - start, part.stop - start))
                    found = measure(ranking, gains, rows, part.start, out[ranking], larger)
                    larger = larger or found

    return [partial(measured, a, b) for a, b in ranges(end - begin, most, threads if block is None else 1)]


def ordered(rankings: Together, scorer: Scorer, queries: Range, order: Order, new: Tops | None) -> dict[Ranking, Tops]:
    """The order of a range of queries of the first ranking, by the given scores, and of the same queries in others."""
    first, found = rankings[0], dict[Ranking, Tops]()
    for ranking in rankings:
        queries_of_ranking = ranking.queries[ranking.within(first, *queries)]
        places, depth = np.searchsorted(first.queries, queries_of_ranking), ranking.depth
        same = len(ranking.gallery) == len(first.gallery)
        if not len(queries_of_ranking):
            continue
        if found and same and first.depth >= depth:
            rows, known = places - queries[0], found[first]
            found[ranking] = Tops.of(known.items[rows, :depth], known.tied[rows, :depth], known.gallery)
            continue
        columns = None if same else np.searchsorted(first.gallery, ranking.gallery)
        own_tops = listed(scorer, places, depth, first.among, order, columns)
        if not first.among.everything:
            own_tops = _order(own_tops, np.arange(len(places)), depth)
        found[ranking] = own_tops if new is None else order_of(own_tops, new, queries_of_ranking, ranking.gallery)
    return found


def ranges(n: int, most: int, multiple: int = 1) -> Sequence[Range]:
    """Consecutive ranges of ``n`` items, at most ``most`` long, about equal; their number a multiple if possible."""
    parts = -(-n // most)
    parts = min(n, -(-parts // multiple) * multiple)
    return list(itertools.pairwise(n * i // parts for i in range(parts + 1))) if n else []


def block_scores(threads: int) -> int:
    """How many scores a block has, so that the blocks of all threads stay within a fixed memory."""
    return min(max(MAX_SCORES // threads, MIN_BLOCK_SCORES), MAX_BLOCK_SCORES)


def of_lists(lists: Mapping[Ranking, Tops], first: Ranking, queries: Range) -> dict[Ranking, Tops]:
    """The same from retrieved lists, which have the candidates of each ranking."""
    some = {ranking: ranking.queries[ranking.within(first, *queries)] for ranking in lists}
    return {
        ranking: _order(lists_of_ranking, some[ranking], ranking.depth) for ranking, lists_of_ranking in lists.items()
    }


def candidates_of(ranking: Ranking, lists: Tops) -> Tops:
    """Lists of all queries with the candidates of a ranking alone, as positions in its gallery."""
    position = np.full(lists.gallery, -1)
    position[ranking.gallery] = np.arange(len(ranking.gallery))
    found = lists.keep(position[lists.entries] >= 0)
    return replace(found, entries=position[found.entries], gallery=len(ranking.gallery))


def _order(lists: Tops, queries: Int, depth: int) -> Tops:
    """The lists of some queries, (query,) int64, with ``depth`` items each: shorter lists are padded with -1."""
    inside = np.arange(depth) < lists.depth[queries][:, None]
    at = (lists.start[queries][:, None] + np.arange(depth))[inside]
    items, tied = np.full(inside.shape, -1, np.int32), np.zeros(inside.shape, np.bool_)
    items[inside] = lists.entries[at]
    if lists.ties is not None:
        tied[inside] = lists.ties[at]
    return Tops.of(items, tied, lists.gallery)


Blocks = dict[str, Block]
Found = dict[tuple[Metric, Which], "GradedValues"]


@dataclass(frozen=True, eq=False)
class GradedValues:
    """The values of one graded metric of the queries of one side, averaged per fold, then over folds.

    Attributes:
        values: (query,) float64, NaN if the metric is undefined.
        rankings: of these queries, one after the other: one ranking, or one per fold.
        influence: (2, image) float64 of the images of the split as candidates on the mean, see ``influence``; or None.
    """

    values: Float
    rankings: tuple[Ranking, ...]
    influence: Float | None = None

    @property
    def index(self) -> Int:
        """(query,) int64 indices of the split's images or captions."""
        return np.concatenate([r.queries for r in self.rankings])

    @property
    def gallery(self) -> int:
        """Size of the smallest gallery; a k beyond it was cut there."""
        return min(len(r.gallery) for r in self.rankings)

    @property
    def undefined(self) -> int:
        """How many queries have no value."""
        return int(np.isnan(self.values).sum())

    @property
    def mean(self) -> float:
        """Mean over the queries that have a value, or over folds (that have such queries) of that; else NaN."""
        each = np.split(self.values, np.cumsum([len(r.queries) for r in self.rankings[:-1]]))
        means = [known.mean() for values in each if len(known := values[~np.isnan(values)])]
        return float(np.mean(means)) if means else float("nan")


def measure(
    ranking: Ranking, gains: Mapping[str, Gains], order: Tops, start: int, out: Out, larger: Mapping[str, Block]
) -> Blocks:
    """Write the values of a ranking's metrics for the queries from position ``start`` on; returns the blocks by view.

    Args:
        ranking, gains: the input; out: the results.
        order: the top of every ranking, as deep as the ranking needs, in positions of its gallery.
        larger: blocks by view that contain these queries and their gallery, so that gains are made once.

    Raises:
        BadInput: a gain is outside what a metric allows.
    """
    stop = start + len(order.items)
    by_view: dict[str, list[Group]] = {}
    for group in ranking.groups:
        by_view.setdefault(group.view, []).append(group)
    blocks: Blocks = {}
    for view, groups in by_view.items():
        block = blocks[view] = Block(ranking, gains[view], start, stop, groups, larger.get(view))
        for without in (False, True):
            chosen = [g for g in groups if g.without_ground_truth == without]
            if chosen:
                _write(block, chosen, order, out)
    return blocks


def _write(block: Block, groups: list[Group], order: Tops, out: Out) -> None:
    """Values of groups that all leave the ground truth out, or all keep it."""
    view, without = groups[0].view, groups[0].without_ground_truth
    influenced = [g for g in block.ranking.influenced if (g.view, g.without_ground_truth) == (view, without)]
    spare = block.ranking.spare * any(not g.of_tau for g in influenced)
    found = block.retrieved(
        order.cut(max(g.depth for g in groups) + spare),
        max(g.ideal for g in groups) + spare * any(g.ideal for g in groups),
        without,
        any(g.reads_gains for g in groups),
    )
    for group in groups:
        ranking = block.graded_ranking(found.cut(group.depth), group)
        columns = (expected_values if block.ranking.expected else values)(group.metrics, ranking)
        for i, m in enumerate(group.metrics):
            out.values[m][block.start : block.stop] = columns[:, i]
    if influenced:
        influence.measure(block, found, influenced, out)


def collect(rankings: Sequence[Ranking], out: Mapping[Ranking, Out]) -> Found:
    """The values of a metric of one side, fold after fold."""
    parts: dict[tuple[Metric, Which], list[Ranking]] = {}
    for ranking in rankings:
        for m in ranking.metrics:
            parts.setdefault((m, ranking.side), []).append(ranking)
    found: Found = {}
    for (m, side), same_side in parts.items():
        each = [out[r].values[m] for r in same_side]
        joined = each[0] if len(each) == 1 else np.concatenate(each)
        found[m, side] = GradedValues(joined, tuple(same_side), _influence(m, [out[r] for r in same_side]))
    return found


def _influence(m: Metric, each: Sequence[Out]) -> Float | None:
    """(2, image) float64 influence on the mean over folds, which share no images."""
    known = [found for out in each if (found := out.influence(m)) is not None]
    if not known:
        return None
    # seven digits are more than enough, and take half the room in a report
    return np.asarray((np.sum(known, axis=0) / len(each)).astype(np.float32), np.float64)
