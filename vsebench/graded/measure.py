"""From the order of a block of queries to the values of its graded metrics, and to the influence of the images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..metrics.declare import Metric
from ..metrics.expected import expected_values
from ..metrics.values import values
from ..relevance.gains import Gains
from ..types import Float, Tops
from . import influence
from .block import Block
from .influence import Influence
from .rankings import Group, Ranking, Subset

Blocks = dict[str, Block]


@dataclass(frozen=True, eq=False)
class Out:
    """What is measured of a ranking.

    Attributes:
        values: metric -> (query,) float64, NaN where it is undefined.
        influence: of the images as candidates, or None.
    """

    values: Mapping[Metric, Float]
    influence: Influence | None


def make_room(ranking: Ranking) -> Out:
    """Room for the values of all queries of a ranking, and for influences where it asks for them."""
    values = {m: np.full(len(ranking.queries), np.nan) for m in ranking.metrics}
    return Out(values, Influence(ranking) if ranking.influence else None)


def measure(
    ranking: Ranking,
    gains: Mapping[str, Gains],
    order: Tops,
    start: int,
    out: Out,
    within: tuple[Blocks, Subset] | None = None,
) -> Blocks:
    """Write the values of a ranking's metrics for the queries from ``start`` on.

    Args:
        ranking: queries, gallery and metrics.
        gains: by view.
        order: the top of every ranking, as deep as the ranking needs, in positions of its gallery.
        start: position of the first query in the ranking.
        out: from ``make_room``.
        within: blocks of another ranking, and the rows and columns of this one in them, so that gains are made once.

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
        larger = (within[0][view], within[1]) if within and view in within[0] else None
        block = blocks[view] = Block(ranking, gains[view], start, stop, groups, larger)
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
    if out.influence is not None and influenced:
        influence.measure(block, found, influenced, out.values, out.influence)
