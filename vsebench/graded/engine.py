"""Measuring graded metrics: scores, their exact order, the gains in that order, values.

Every thread takes blocks of queries, scores them with a single-threaded BLAS and measures them at once. Nothing is
kept but one value a query and metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..metrics.declare import Metric
from ..numeric.parallel import Progress, default_threads, in_turn
from ..options import spell
from ..rank.order import Order
from ..rank.scorers import Scorer
from ..relevance.gains import Gains
from ..types import DIRECTIONS, Direction, Float, Int, Split, Tops
from .measure import Out, make_room, measure
from .rankings import Ranking, SharedScores, deepest_rank, plan, share_scores
from .tasks import Outs, Task, row_tasks, tile_scores

Found = dict[tuple[Metric, Direction], "GradedValues"]
Fill = Callable[[Sequence[SharedScores], Outs], None]


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of some rankings of one direction, shared by the metrics that read them.

    Attributes:
        direction: ``i2t`` or ``t2i``.
        index: (query,) int64 indices of the split's images or captions.
        fold: (query,) int64 fold of every query, or None.
        gallery: size of the smallest gallery; a k beyond it was cut there.
    """

    direction: Direction
    index: Int
    fold: Int | None
    gallery: int


@dataclass(frozen=True, eq=False)
class GradedValues:
    """The values of one graded metric in one direction, averaged per fold, then over folds.

    Attributes:
        values: (query,) float64, NaN where the metric is undefined.
        queries: the queries.
        influence: (2, image) float64 of the images of the split as candidates on the mean, see ``influence``; or None.
    """

    values: Float
    queries: Queries
    influence: Float | None = None

    @property
    def undefined(self) -> int:
        """How many queries have no value."""
        return int(np.isnan(self.values).sum())

    @property
    def mean(self) -> float:
        """Mean over the queries that have a value, or over folds (that have such queries) of that; else NaN."""
        known = ~np.isnan(self.values)
        fold = np.zeros(len(known), np.int64) if self.queries.fold is None else self.queries.fold
        means = [self.values[known & (fold == f)].mean() for f in np.unique(fold[known])]
        return float(np.mean(means)) if means else float("nan")


def run(
    scorer: Scorer,
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    directions: Sequence[Direction] = DIRECTIONS,
    *,
    expected: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    block: int | None = None,
    influence: bool = False,
    order_of: Order | None = None,
    fill: Fill | None = None,
    new: Mapping[Direction, Tops] | None = None,
) -> Found:
    """Measure graded metrics from scores, in canonical order (ties to the lower index) or over all orders of ties.

    Args:
        scorer: scores of all images with all captions of the split.
        split: the items, the image of every caption, the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        directions: sides of the queries.
        expected: values are means over all orders of the items with equal scores, from complete rankings.
        threads: how many; never changes a result.
        progress: called with (blocks done, blocks in all).
        block: queries of a block; never changes a result.
        influence: also compute the influence of the images as candidates, which intervals need.
        order_of: of another back-end, see ``rank.backends``.
        fill: writes the values, which other processes have measured (``part``), instead of measuring here.
        new: by direction, the order of the first items of every query after re-ranking.

    Raises:
        UsageError: a metric of binary judgements, a view without gains, gains or scores of another size, or folds
            that the split does not have.
        BadInput: gains outside what a metric allows.
    """
    rankings = _rankings(split, metrics, gains, directions, expected, influence)
    if scorer.shape != (len(split.image_ids), len(split.caption_ids)):
        raise UsageError(f"scores of shape {scorer.shape} for a split of {_shape(split)}")
    out = {r: make_room(r) for r in rankings}
    if fill is not None:
        fill(share_scores(rankings), out)
        return _collect(rankings, out)
    threads = threads or default_threads()
    scorers = {shared: scorer.take(shared.first.images, shared.first.captions) for shared in share_scores(rankings)}
    after = new or {}
    tasks = [
        task
        for shared, own in scorers.items()
        for task in row_tasks(shared, own, threads, block, order_of, new=after.get(shared.first.direction))
    ]
    do(tasks, gains, out, threads, progress)
    return _collect(rankings, out)


def shared_rankings(
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    directions: Sequence[Direction],
    expected: bool,
    influence: bool,
) -> list[SharedScores]:
    """The rankings that ``run`` makes, those that share their scores together, always in the same order."""
    return share_scores(_rankings(split, metrics, gains, directions, expected, influence))


def do(
    tasks: Sequence[Task],
    gains: Mapping[str, Gains],
    out: Outs,
    threads: int,
    progress: Progress | None = None,
) -> None:
    """Run tasks in threads."""
    in_turn(tasks, lambda _: lambda task: task.run(gains, out), threads, progress)


def from_lists(
    lists: Mapping[Direction, Mapping[int, Int]],
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    tied: Mapping[Direction, Mapping[int, Int]] | None = None,
    influence: bool = False,
) -> Found:
    """Measure graded metrics from retrieved lists.

    Args:
        lists: direction -> query index -> (length,) distinct gallery indices, best first.
        split: the items, the image of every caption, the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        tied: direction -> query index -> indices of its list (from 0) with the score of the item before.
        influence: also compute the influence of the images as candidates, where all lists are deep enough for the next
            candidates.

    Raises:
        BadInput: a list is too short for a metric; both lengths and the query are named.
        UsageError: as ``run``.
    """
    rankings = _rankings(split, metrics, gains, tuple(lists), influence=influence)
    if influence:  # the next candidates of every list are needed
        deep = {r: bool((usable(r, lists[r.direction]) >= r.depth).all()) for r in rankings}
        rankings = [r if deep[r] else replace(r, influence=False) for r in rankings]
    out = {r: make_room(r) for r in rankings}
    for ranking in rankings:
        position = _positions(ranking)
        ties = (tied or {}).get(ranking.direction, {})
        step = max(1, tile_scores(1) // len(ranking.gallery))  # ideal gains need complete rows of gains
        for start in range(0, len(ranking.queries), step):
            queries = ranking.queries[start : start + step]
            order, known = _order(lists[ranking.direction], ties, queries, position, ranking.depth)
            _refuse_short(ranking, known, queries)
            measure(ranking, gains, order, start, out[ranking])
    return _collect(rankings, out)


def _positions(ranking: Ranking) -> Int:
    """(item,) int64 gallery position of every item of the split, -1 for those that are no candidates."""
    split = ranking.split
    position = np.full(len(split.caption_ids if ranking.direction == "i2t" else split.image_ids), -1)
    position[ranking.gallery] = np.arange(len(ranking.gallery))
    return position


def usable(ranking: Ranking, lists: Mapping[int, Int]) -> Int:
    """(query,) int64, how many candidates the list of every query of a ranking holds."""
    position, none = _positions(ranking), np.empty(0, np.int64)
    found = (np.count_nonzero(position[lists.get(q, none)] >= 0) for q in ranking.queries.tolist())
    return np.fromiter(found, np.int64, len(ranking.queries))


def _order(
    lists: Mapping[int, Int], ties: Mapping[int, Int], queries: Int, position: Int, depth: int
) -> tuple[Tops, Int]:
    """The order of some queries in positions of their gallery, and (query,) how many candidates each list has.

    Args:
        lists, ties: of one direction, as for ``from_lists``.
        queries: (query,) int64.
        position: gallery position of every item of the split, -1 for those that are no candidates.
        depth: of the order.
    """
    items = np.zeros((len(queries), depth), np.int32)
    equal = np.zeros(items.shape, np.bool_)
    known = np.zeros(len(queries), np.int64)
    for i, query in enumerate(queries.tolist()):
        found = position[lists.get(query, np.empty(0, np.int64))]
        inside = np.flatnonzero(found >= 0)[:depth]
        found = found[inside]
        items[i, : len(found)] = found
        if query in ties and len(inside):
            # Two candidates are tied when every item between them has the score of the one before it.
            steps = np.ones(inside[-1] + 1, np.int64)
            steps[ties[query][ties[query] <= inside[-1]]] = 0
            equal[i, 1 : len(found)] = np.diff(np.cumsum(steps)[inside]) == 0
        known[i] = len(found)
    return Tops.of(items, equal, len(position)), known


def _refuse_short(ranking: Ranking, known: Int, queries: Int) -> None:
    for m in ranking.metrics:
        needed = deepest_rank(m, ranking)
        lacking = np.flatnonzero(known < needed)
        if len(lacking):
            query, has = int(queries[lacking[0]]), int(known[lacking[0]])
            raise BadInput(
                f"the lists are too short for {m} ({ranking.direction}): query {query} has "
                f"{count_of(has, 'usable item')} and {needed:,} are needed",
                fix=f"store longer lists, or leave it out ({spell('short_lists', 'miss')} is for binary judgements)",
            )


def _shape(split: Split) -> str:
    return f"{len(split.image_ids):,} images and {len(split.caption_ids):,} captions"


def _rankings(
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    directions: Sequence[Direction],
    expected: bool = False,
    influence: bool = False,
) -> list[Ranking]:
    """The rankings to make, once every view has gains of the split's size."""
    rankings = plan(metrics, split, directions, expected, influence)
    for view in dict.fromkeys(m.view for ranking in rankings for m in ranking.metrics):
        if view not in gains:
            raise UsageError(f"no gains for view '{view}'", fix=f"give them, or leave out {view}:...")
        if gains[view].shape != (len(split.image_ids), len(split.caption_ids)):
            raise UsageError(f"gains '{view}' of shape {gains[view].shape} for a split of {_shape(split)}")
    return rankings


def _collect(rankings: Sequence[Ranking], out: Outs) -> Found:
    """The values of a metric in one direction, those of several folds one after the other."""
    parts: dict[tuple[Metric, Direction], list[Ranking]] = {}
    for ranking in rankings:
        for m in ranking.metrics:
            parts.setdefault((m, ranking.direction), []).append(ranking)
    found: Found = {}
    queries: dict[tuple[Ranking, ...], Queries] = {}
    for (m, direction), own in parts.items():
        if tuple(own) not in queries:
            folds = [np.full(len(r.queries), r.fold) for r in own if r.fold is not None]
            queries[tuple(own)] = Queries(
                direction,
                np.concatenate([r.queries for r in own]),
                np.concatenate(folds) if folds else None,
                min(len(r.gallery) for r in own),
            )
        each = [out[r].values[m] for r in own]
        joined = each[0] if len(each) == 1 else np.concatenate(each)
        found[m, direction] = GradedValues(joined, queries[tuple(own)], _influence(m, [out[r] for r in own]))
    return found


def _influence(m: Metric, each: Sequence[Out]) -> Float | None:
    """(2, image) float64 influence on the mean over folds, whose images are different ones."""
    of_folds = [out.influence.of(m, out.values[m]) for out in each if out.influence is not None]
    known = [influence for influence in of_folds if influence is not None]
    if not known:
        return None
    # seven digits are more than enough, and take half the room in a report
    return np.asarray((np.sum(known, axis=0) / len(each)).astype(np.float32), np.float64)
