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
    lists: Mapping[Direction, Tops],
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    influence: bool = False,
) -> Found:
    """Measure graded metrics from retrieved lists.

    Args:
        lists: by direction those of all queries, of distinct items.
        split: the items, the image of every caption, the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        influence: also compute the influence of the images as candidates, where all lists are deep enough for the next
            candidates.

    Raises:
        BadInput: a list is too short for a metric; both lengths and the query are named.
        UsageError: as ``run``.
    """
    rankings = _rankings(split, metrics, gains, tuple(lists), influence=influence)
    if influence:  # the next candidates of every list are needed
        each = [candidates_of(r, lists[r.direction]).depth[r.queries] for r in rankings]
        rankings = [
            r if (known >= r.depth).all() else replace(r, influence=False)
            for r, known in zip(rankings, each, strict=True)
        ]
    out = {r: make_room(r) for r in rankings}
    for ranking in rankings:
        own = candidates_of(ranking, lists[ranking.direction])
        _refuse_short(ranking, own.depth[ranking.queries])
        step = max(1, tile_scores(1) // len(ranking.gallery))  # ideal gains need complete rows of gains
        for start in range(0, len(ranking.queries), step):
            queries = ranking.queries[start : start + step]
            measure(ranking, gains, _order(own, queries, ranking.depth), start, out[ranking])
    return _collect(rankings, out)


def candidates_of(ranking: Ranking, lists: Tops) -> Tops:
    """Lists of all queries with the candidates of a ranking alone, as positions in its gallery."""
    position = np.full(lists.gallery, -1)
    position[ranking.gallery] = np.arange(len(ranking.gallery))
    found = lists.keep(position[lists.entries] >= 0)
    return replace(found, entries=position[found.entries], gallery=len(ranking.gallery))


def _order(lists: Tops, queries: Int, depth: int) -> Tops:
    """The lists of some queries, (query,) int64, with ``depth`` items each: shorter ones end in the first item."""
    place, known = np.arange(depth), lists.depth[queries][:, None]
    at = np.where(place < known, lists.start[queries][:, None] + place, 0)
    entries, ties = (np.append(x, 0) for x in (lists.entries, np.zeros(0) if lists.ties is None else lists.ties))
    tied = np.zeros(at.shape, np.bool_) if lists.ties is None else ties[at] != 0
    return Tops.of(np.where(place < known, entries[at], 0).astype(np.int32), tied & (place < known), lists.gallery)


def _refuse_short(ranking: Ranking, known: Int) -> None:
    for m in ranking.metrics:
        needed = deepest_rank(m, ranking)
        lacking = np.flatnonzero(known < needed)
        if len(lacking):
            query, has = int(ranking.queries[lacking[0]]), int(known[lacking[0]])
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
