"""Measuring graded metrics: for blocks of queries, their canonical order, the gains in that order, values.

Every thread takes blocks of queries, orders their galleries and measures them at once. Nothing is kept but one value a
query and metric. A value depends on its own query alone, and influences are sums of integers: other processes can
measure ranges of queries, whose arrays join (``Out.join``) with the same bits whatever the ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..metrics.declare import Metric
from ..metrics.expected import expected_values
from ..metrics.values import values
from ..numeric.parallel import Progress, default_threads, in_turn
from ..options import spell
from ..rank.count import check_candidates
from ..rank.order import REFERENCE, Order, listed
from ..rank.scorers import Scorer, System
from ..rank.tops import order_of
from ..relevance.gains import Gains
from ..types import BOTH, EVERYTHING, Both, Candidates, Float, Int, TestSet, Tops, Which
from . import influence
from .influence import Block, Out
from .rankings import Group, Ranking, Together, deepest_rank, plan, together

MOST_SCORES, LEAST_SCORES = 1 << 21, 1 << 19  # of a block of queries that is measured
ALL_SCORES = 8 << 20  # of the blocks of all threads together
MOST_QUERIES = 2048

Range = tuple[int, int]  # of the queries of the first ranking
Outs = Mapping[Ranking, Out]
Fill = Callable[[Sequence[Together], Outs], None]


def run(
    system: System,
    test: TestSet,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    sides: Sequence[Which] = BOTH,
    *,
    expected: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    block: int | None = None,
    influence: bool = False,
    order: Order | None = None,
    fill: Fill | None = None,
    new: Both[Tops | None] = (None, None),
    candidates: Both[Candidates] = (EVERYTHING, EVERYTHING),
) -> Found:
    """Measure graded metrics from scores, in canonical order (ties to the lower index) or over all orders of ties.

    Args:
        system: scores of all images with all captions of the split, in both directions.
        test: the items, the image of every caption, the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        sides: of the queries.
        expected: values are means over all orders of the items with equal scores, from complete rankings.
        threads: how many; never changes a result.
        progress: called with (blocks done, blocks in all).
        block: queries of a block; never changes a result.
        influence: also compute the influence of the images as candidates, which intervals need; only where all items
            are candidates.
        order: of another back-end, see ``rank.backends``.
        fill: writes the values, which other processes have measured (``Out.arrays``), instead of measuring here.
        new: of every side, the order of the first items of every query after re-ranking.
        candidates: of the rows and of the columns as queries; nothing else is retrieved, ideal or pseudo-positive.

    Raises:
        UsageError: a metric of binary judgements, a view without gains, gains, scores or candidates of another size,
            or folds that the split does not have.
        BadInput: gains outside what a metric allows.
    """
    rankings = checked(test, metrics, gains, sides, expected, influence, candidates)
    if system.forward.shape != test.shape:
        raise UsageError(f"scores of shape {system.forward.shape} for a split of {test.counts}")
    out, parts = {r: Out(r) for r in rankings}, together(rankings)
    if fill is not None:
        fill(parts, out)
        return collect(rankings, out)
    threads = threads or default_threads()
    work = [
        each
        for own in parts
        for side in (own[0].side,)
        for each in blocks(own, system.both[side], gains, out, threads, order or REFERENCE, new[side], block)
    ]
    in_turn(work, lambda _: lambda each: each(), threads, progress)
    return collect(rankings, out)


def blocks(
    rankings: Together,
    scorer: Scorer,
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
        scorer: scores of all queries with the complete gallery.
        gains: by view.
        out: what is measured is written to these.
        threads: number of threads that take these blocks.
        order: of a back-end, see ``rank.backends``.
        new: the order of the first items after re-ranking, of all queries or of those of the range; or None.
        block: the number of queries of a block, None for a default.
        queries: a range of the queries of the first ranking, None for all of them.
    """
    first, own = rankings[0], scorer.take(rankings[0].queries, rankings[0].gallery)
    piece = min(max(1, block_scores(threads) // len(first.gallery)), MOST_QUERIES)
    most = block or max(piece, order.together(len(first.gallery), first.depth))
    begin, end = queries or (0, len(first.queries))

    def measured(a: int, b: int) -> None:
        tops = ordered(rankings, own, (begin + a, begin + b), order, new)
        for c, d in ranges(b - a, piece):
            larger: Mapping[str, Block] = {}
            for ranking, top in tops.items():
                some = ranking.within(first, begin + a + c, begin + a + d)
                if some.start < some.stop:
                    start = ranking.within(first, begin + a, begin + b).start
                    rows = top.rows(slice(some.start - start, some.stop - start))
                    found = measure(ranking, gains, rows, some.start, out[ranking], larger)
                    larger = larger or found

    return [partial(measured, a, b) for a, b in ranges(end - begin, most, threads if block is None else 1)]


def ordered(rankings: Together, scorer: Scorer, queries: Range, order: Order, new: Tops | None) -> dict[Ranking, Tops]:
    """The order of a range of queries of the first ranking, and of those among them that the others have.

    Args:
        rankings, order, new: as for ``blocks``.
        scorer: scores of the queries and the gallery of the first ranking.
        queries: the range.
    """
    first, found = rankings[0], dict[Ranking, Tops]()
    for ranking in rankings:
        own = ranking.queries[ranking.within(first, *queries)]
        places, depth = np.searchsorted(first.queries, own), ranking.depth
        same = len(ranking.gallery) == len(first.gallery)
        if not len(own):
            continue
        if found and same and first.depth >= depth:
            rows, known = places - queries[0], found[first]
            found[ranking] = Tops.of(known.items[rows, :depth], known.tied[rows, :depth], known.gallery)
            continue
        columns = None if same else np.searchsorted(first.gallery, ranking.gallery)
        own_tops = listed(scorer, places, depth, first.among, order, columns)
        if not first.among.everything:
            own_tops = _order(own_tops, np.arange(len(places)), depth)
        found[ranking] = own_tops if new is None else order_of(own_tops, new, own, ranking.gallery)
    return found


def ranges(n: int, most: int, multiple: int = 1) -> Sequence[Range]:
    """Consecutive ranges of ``n`` items, at most ``most`` long, about equal; their number a multiple if possible."""
    parts = -(-n // most)
    parts = min(n, -(-parts // multiple) * multiple)
    return list(itertools.pairwise(n * i // parts for i in range(parts + 1))) if n else []


def block_scores(threads: int) -> int:
    """How many scores a block has, so that the blocks of all threads stay within a fixed memory."""
    return min(max(ALL_SCORES // threads, LEAST_SCORES), MOST_SCORES)


def checked(
    test: TestSet,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    sides: Sequence[Which] = BOTH,
    expected: bool = False,
    influence: bool = False,
    candidates: Both[Candidates] = (EVERYTHING, EVERYTHING),
) -> list[Ranking]:
    """The rankings that some metrics need, see ``rankings.plan``.

    Raises:
        UsageError: as ``plan``, and for a view without gains, or gains or candidates of another size.
    """
    check_candidates(candidates[0], "the rows", *test.shape)
    check_candidates(candidates[1], "the columns", *test.shape[::-1])
    rankings = plan(metrics, test, sides, expected, influence, candidates)
    for view in dict.fromkeys(m.view for ranking in rankings for m in ranking.metrics):
        if view not in gains:
            raise UsageError(f"no gains for view '{view}'", fix=f"give them, or leave out {view}:...")
        if gains[view].shape != test.shape:
            raise UsageError(f"gains '{view}' of shape {gains[view].shape} for a split of {test.counts}")
    return rankings


def from_lists(
    lists: Mapping[Which, Tops],
    test: TestSet,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    influence: bool = False,
) -> Found:
    """Measure graded metrics from retrieved lists.

    Args:
        lists: by side those of all queries, of distinct items.
        test: the items, the image of every caption, the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        influence: also compute the influence of the images as candidates, where all lists are deep enough for the next
            candidates.

    Raises:
        BadInput: a list is too short for a metric; both lengths and the query are named.
        UsageError: as ``engine.run``.
    """
    rankings = checked(test, metrics, gains, tuple(lists), influence=influence)
    if influence:  # the next candidates of every list are needed
        each = [candidates_of(r, lists[r.side]).depth[r.queries] for r in rankings]
        rankings = [
            r if (known >= r.depth).all() else replace(r, influence=False)
            for r, known in zip(rankings, each, strict=True)
        ]
    out = {r: Out(r) for r in rankings}
    for ranking in rankings:
        own = candidates_of(ranking, lists[ranking.side])
        _refuse_short(ranking, own.depth[ranking.queries])
        step = max(1, block_scores(1) // len(ranking.gallery))  # ideal gains need complete rows of gains
        for start in range(0, len(ranking.queries), step):
            queries = ranking.queries[start : start + step]
            measure(ranking, gains, _order(own, queries, ranking.depth), start, out[ranking], {})
    return collect(rankings, out)


def candidates_of(ranking: Ranking, lists: Tops) -> Tops:
    """Lists of all queries with the candidates of a ranking alone, as positions in its gallery."""
    position = np.full(lists.gallery, -1)
    position[ranking.gallery] = np.arange(len(ranking.gallery))
    found = lists.keep(position[lists.entries] >= 0)
    return replace(found, entries=position[found.entries], gallery=len(ranking.gallery))


def _order(lists: Tops, queries: Int, depth: int) -> Tops:
    """The lists of some queries, (query,) int64, with ``depth`` items each: shorter lists are padded with item 0."""
    inside = np.arange(depth) < lists.depth[queries][:, None]
    at = (lists.start[queries][:, None] + np.arange(depth))[inside]
    items, tied = np.zeros(inside.shape, np.int32), np.zeros(inside.shape, np.bool_)
    items[inside] = lists.entries[at]
    if lists.ties is not None:
        tied[inside] = lists.ties[at]
    return Tops.of(items, tied, lists.gallery)


def _refuse_short(ranking: Ranking, known: Int) -> None:
    for m in ranking.metrics:
        needed = deepest_rank(m, ranking)
        lacking = np.flatnonzero(known < needed)
        if len(lacking):
            query, has = int(ranking.queries[lacking[0]]), int(known[lacking[0]])
            raise BadInput(
                f"the lists are too short for {m}: query {query} has "
                f"{count_of(has, 'usable item')} and {needed:,} are needed",
                fix=f"store longer lists, or leave it out ({spell('short_lists', 'miss')} is for binary judgements)",
            )


Blocks = dict[str, Block]
Found = dict[tuple[Metric, Which], "GradedValues"]


@dataclass(frozen=True, eq=False)
class GradedValues:
    """The values of one graded metric of the queries of one side, averaged per fold, then over folds.

    Attributes:
        values: (query,) float64, NaN where the metric is undefined.
        rankings: whose queries they are, one after the other: one ranking, or one a fold.
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
    ranking: Ranking,
    gains: Mapping[str, Gains],
    order: Tops,
    start: int,
    out: Out,
    larger: Mapping[str, Block],
) -> Blocks:
    """Write the values of a ranking's metrics for the queries from ``start`` on.

    Args:
        ranking: queries, gallery and metrics.
        gains: by view.
        order: the top of every ranking, as deep as the ranking needs, in positions of its gallery.
        start: position of the first query in the ranking.
        out: of the ranking.
        larger: blocks by view that contain these queries and their gallery, so that gains are made once.

    Returns:
        The blocks by view, for other rankings.

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
    """The values of a metric of one side, those of several folds one after the other."""
    parts: dict[tuple[Metric, Which], list[Ranking]] = {}
    for ranking in rankings:
        for m in ranking.metrics:
            parts.setdefault((m, ranking.side), []).append(ranking)
    found: Found = {}
    for (m, side), own in parts.items():
        each = [out[r].values[m] for r in own]
        joined = each[0] if len(each) == 1 else np.concatenate(each)
        found[m, side] = GradedValues(joined, tuple(own), _influence(m, [out[r] for r in own]))
    return found


def _influence(m: Metric, each: Sequence[Out]) -> Float | None:
    """(2, image) float64 influence on the mean over folds, whose images are different ones."""
    known = [found for out in each if (found := out.influence(m)) is not None]
    if not known:
        return None
    # seven digits are more than enough, and take half the room in a report
    return np.asarray((np.sum(known, axis=0) / len(each)).astype(np.float32), np.float64)
