"""From the order of a block of queries to the values of its graded metrics, and to the influence of the images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics.declare import Metric
from ..metrics.expected import expected_values
from ..metrics.values import values
from ..relevance.gains import Gains
from ..types import Direction, Float, Int, Tops
from . import influence
from .block import Block
from .influence import Out
from .rankings import Group, Ranking

Blocks = dict[str, Block]
Found = dict[tuple[Metric, Direction], "GradedValues"]


@dataclass(frozen=True, eq=False)
class GradedValues:
    """The values of one graded metric in one direction, averaged per fold, then over folds.

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
    """The values of a metric in one direction, those of several folds one after the other."""
    parts: dict[tuple[Metric, Direction], list[Ranking]] = {}
    for ranking in rankings:
        for m in ranking.metrics:
            parts.setdefault((m, ranking.direction), []).append(ranking)
    found: Found = {}
    for (m, direction), own in parts.items():
        each = [out[r].values[m] for r in own]
        joined = each[0] if len(each) == 1 else np.concatenate(each)
        found[m, direction] = GradedValues(joined, tuple(own), _influence(m, [out[r] for r in own]))
    return found


def _influence(m: Metric, each: Sequence[Out]) -> Float | None:
    """(2, image) float64 influence on the mean over folds, whose images are different ones."""
    known = [found for out in each if (found := out.influence(m)) is not None]
    if not known:
        return None
    # seven digits are more than enough, and take half the room in a report
    return np.asarray((np.sum(known, axis=0) / len(each)).astype(np.float32), np.float64)
