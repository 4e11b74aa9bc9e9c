"""The work in pieces: a task takes a block of queries from its scores to the values of its graded metrics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..rank import order as ordering
from ..rank import rerank
from ..rank.order import Order
from ..rank.scorers import Scorer
from ..relevance.gains import Gains
from ..types import Int, Tops
from .measure import Out, measure
from .rankings import Ranking, SharedScores, Subset

MOST_SCORES, LEAST_SCORES = 1 << 21, 1 << 19  # of a tile
ALL_TILES = 8 << 20  # scores of the tiles of all threads together
MOST_QUERIES = 2048

Outs = Mapping[Ranking, Out]
OrderWithin = Callable[[Subset, int], Tops]  # of some queries of a block, up to a depth


class Task(Protocol):
    """One block of queries."""

    def run(self, gains: Mapping[str, Gains], out: Outs) -> None:
        """Write the values of the block."""


@dataclass(frozen=True, eq=False)
class RowsTask:
    """Queries ``start:stop`` of rankings, from scores with their complete gallery."""

    shared: SharedScores
    scorer: Scorer
    start: int
    stop: int
    new: Tops | None = None

    def run(self, gains: Mapping[str, Gains], out: Outs) -> None:
        """Score, rank and measure."""
        first, queries = self.shared.first, np.arange(self.start, self.stop)
        rows, bound = ordering.rows(self.scorer, first.direction, queries, first.depth)

        def order(within: Subset, depth: int) -> Tops:
            return ordering.order_rows(
                self.scorer, first.direction, within.take(rows), bound.take(within.rows), self.start + within.rows,
                depth, within.columns,
            )  # fmt: skip

        _measure(self.shared, self.start, self.stop, order, gains, out, self.new)


@dataclass(frozen=True, eq=False)
class OrderTask:
    """Queries ``start:stop`` of rankings, in the order that another back-end makes of them.

    They are ordered together, and measured ``piece`` at a time.
    """

    shared: SharedScores
    scorer: Scorer
    start: int
    stop: int
    order_of: Order
    piece: int
    new: Tops | None = None

    def run(self, gains: Mapping[str, Gains], out: Outs) -> None:
        """Rank and measure."""
        direction = self.shared.first.direction

        def order(within: Subset, depth: int) -> Tops:
            return self.order_of.of(self.scorer, direction, self.start + within.rows, depth, within.columns)

        _measure(self.shared, self.start, self.stop, order, gains, out, self.new, self.piece)


def _measure(
    shared: SharedScores,
    start: int,
    stop: int,
    first_stage: OrderWithin,
    gains: Mapping[str, Gains],
    out: Outs,
    new: Tops | None,
    piece: int | None = None,
) -> None:
    """Measure the queries ``start:stop``, all at once or ``piece`` at a time.

    ``first_stage`` gives the order of some of them up to a depth.
    """
    first = shared.first

    def order_of(within: Subset, depth: int) -> Tops:
        found = first_stage(within, depth)
        if new is None:
            return found
        gallery = first.gallery if within.columns is None else first.gallery[within.columns]
        return rerank.order_of(found, new, first.queries[start + within.rows], gallery)

    order = order_of(Subset(start, np.arange(stop - start), None), first.depth)
    others: list[tuple[Ranking, Int, Tops]] = []  # with the rows of the queries
    for ranking in shared.rankings[1:]:
        subset = shared.subset(ranking, start, stop)
        if not len(subset.rows):
            continue
        if subset.columns is None and first.depth >= ranking.depth:
            items, tied = order.items[subset.rows, : ranking.depth], order.tied[subset.rows, : ranking.depth]
            own = Tops.of(items, tied, order.gallery)
        else:
            own = order_of(subset, ranking.depth)
        others.append((ranking, subset.rows, own))
    for a, b in ranges(stop - start, piece or stop - start):
        blocks = measure(first, gains, order.rows(slice(a, b)), start + a, out[first])
        for ranking, rows, own in others:
            i, j = np.searchsorted(rows, (a, b))
            if i < j:
                subset = shared.subset(ranking, start + a, start + b)
                measure(ranking, gains, own.rows(slice(i, j)), subset.start, out[ranking], (blocks, subset))


def ranges(n: int, most: int, multiple: int = 1) -> Sequence[tuple[int, int]]:
    """Consecutive ranges of ``n`` items, at most ``most`` long, about equal; their number a multiple if possible."""
    parts = -(-n // most)
    parts = min(n, -(-parts // multiple) * multiple)
    return list(itertools.pairwise(n * i // parts for i in range(parts + 1))) if n else []


def tile_scores(threads: int) -> int:
    """How many scores a tile has, so that the tiles of all threads stay within a fixed memory."""
    return min(max(ALL_TILES // threads, LEAST_SCORES), MOST_SCORES)


def row_tasks(
    shared: SharedScores,
    scorer: Scorer,
    threads: int,
    block: int | None,
    order_of: Order | None = None,
    queries: tuple[int, int] | None = None,
    new: Tops | None = None,
) -> list[Task]:
    """Tasks for all queries of rankings, or for a range of them.

    Args:
        shared: the rankings.
        scorer: the scores of their images and captions.
        threads: how many will run the tasks.
        block: the number of queries of a task, None for a default.
        order_of: of another back-end, see ``rank.backends``.
        queries: positions of the first query and of the one behind the last in the first ranking.
        new: the order of the first items of every query after re-ranking, or None.
    """
    ranking = shared.first
    most = min(max(1, tile_scores(threads) // len(ranking.gallery)), MOST_QUERIES)
    together = most if order_of is None else max(most, order_of.together(len(ranking.gallery), ranking.depth))
    begin, end = queries or (0, len(ranking.queries))
    edges = [(begin + a, begin + b) for a, b in ranges(end - begin, block or together, threads if block is None else 1)]
    if order_of is not None:
        return [OrderTask(shared, scorer, start, stop, order_of, most, new) for start, stop in edges]
    return [RowsTask(shared, scorer, start, stop, new) for start, stop in edges]
