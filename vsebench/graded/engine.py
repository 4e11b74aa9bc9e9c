"""Measuring graded metrics: for blocks of queries, their canonical order, the gains in that order, values.

Every thread takes blocks of queries, orders their galleries and measures them at once. Nothing is kept but one value a
query and metric. A value depends on its own query alone, and influences are sums of integers: other processes can
measure ranges of queries (``part``), whose arrays join (``join``) with the same bits whatever the ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..metrics.declare import Metric
from ..numeric.parallel import Progress, default_threads, in_turn
from ..rank import rerank
from ..rank.order import REFERENCE, Order
from ..rank.scorers import Scorer
from ..relevance.gains import Gains
from ..types import DIRECTIONS, Direction, Split, Tops
from .block import Block
from .measure import Found, Out, collect, make_room, measure
from .rankings import Ranking, Together, plan, together

MOST_SCORES, LEAST_SCORES = 1 << 21, 1 << 19  # of a block of queries that is measured
ALL_SCORES = 8 << 20  # of the blocks of all threads together
MOST_QUERIES = 2048

Range = tuple[int, int]  # of the queries of the first ranking
Arrays = dict[str, npt.NDArray[Any]]
Outs = Mapping[Ranking, Out]
Fill = Callable[[Sequence[Together], Outs], None]


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
    order: Order | None = None,
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
        order: of another back-end, see ``rank.backends``.
        fill: writes the values, which other processes have measured (``part``), instead of measuring here.
        new: by direction, the order of the first items of every query after re-ranking.

    Raises:
        UsageError: a metric of binary judgements, a view without gains, gains or scores of another size, or folds
            that the split does not have.
        BadInput: gains outside what a metric allows.
    """
    rankings = checked(split, metrics, gains, directions, expected, influence)
    if scorer.shape != (len(split.image_ids), len(split.caption_ids)):
        raise UsageError(f"scores of shape {scorer.shape} for a split of {_shape(split)}")
    out, parts = {r: make_room(r) for r in rankings}, together(rankings)
    if fill is not None:
        fill(parts, out)
        return collect(rankings, out)
    threads = threads or default_threads()
    work = [
        part
        for own in parts
        for part in blocks(own, scorer, threads, order or REFERENCE, (new or {}).get(own[0].direction), block)
    ]
    in_turn(work, lambda _: lambda part: part.measure(gains, out), threads, progress)
    return collect(rankings, out)


def part(
    rankings: Together,
    scorer: Scorer,
    gains: Mapping[str, Gains],
    queries: Range,
    threads: int,
    order: Order | None = None,
    new: Tops | None = None,
) -> Arrays:
    """The values of some queries of rankings that share their gains.

    Args:
        rankings: of ``rankings.together``.
        scorer: scores of all images with all captions of the split.
        gains: by view.
        queries: the range.
        threads: number of threads.
        order: of another back-end, see ``rank.backends``.
        new: the order of the first items of these queries after re-ranking, or None.

    Returns:
        For the first ranking ``values0``: (metric, query) float64, and where images are left out ``place0`` and
        ``sums0``: (entry,) int64, ``too_large0``: (metric,) bool (``Influence.nonzero``); likewise for the others.
    """
    out = {ranking: make_room(ranking) for ranking in rankings}
    work = blocks(rankings, scorer, threads, order or REFERENCE, new, queries=queries)
    in_turn(work, lambda _: lambda part: part.measure(gains, out), threads, None)
    found: Arrays = {}
    for i, ranking in enumerate(rankings):
        own = ranking.within(rankings[0], *queries)
        found[f"values{i}"] = np.stack([out[ranking].values[m][own] for m in ranking.metrics])
        influence = out[ranking].influence
        if influence is not None:
            found[f"place{i}"], found[f"sums{i}"], found[f"too_large{i}"] = influence.nonzero()
    return found


def join(rankings: Together, out: Outs, queries: Range, arrays: Arrays) -> None:
    """Write what ``part`` made of some queries to the values and influences of all queries."""
    for i, ranking in enumerate(rankings):
        own = ranking.within(rankings[0], *queries)
        for m, values in zip(ranking.metrics, arrays[f"values{i}"], strict=True):
            out[ranking].values[m][own] = values
        influence = out[ranking].influence
        if influence is not None:
            influence.join(arrays[f"place{i}"], arrays[f"sums{i}"], arrays[f"too_large{i}"])


@dataclass(frozen=True, eq=False)
class Work:
    """Queries ``start:stop`` of the first of some rankings, which are ordered together and measured in pieces.

    Attributes:
        rankings: those of ``rankings.together``.
        scorer: scores of the images and captions of the first.
        start, stop: the queries.
        order: what orders galleries.
        piece: how many queries are measured at a time.
        new: the order of the first items after re-ranking, or None.
    """

    rankings: Together
    scorer: Scorer
    start: int
    stop: int
    order: Order
    piece: int
    new: Tops | None

    def measure(self, gains: Mapping[str, Gains], out: Outs) -> None:
        """Order the galleries and write the values."""
        first = self.rankings[0]
        parts: list[tuple[Ranking, slice, Tops]] = []
        for ranking in self.rankings:
            own = ranking.within(first, self.start, self.stop)
            if own.start < own.stop:
                parts.append((ranking, own, self._order(ranking, own, parts[0][2] if parts else None)))
        for a, b in ranges(self.stop - self.start, self.piece):
            larger: Mapping[str, Block] = {}
            for ranking, own, tops in parts:
                some = ranking.within(first, self.start + a, self.start + b)
                if some.start < some.stop:
                    rows = tops.rows(slice(some.start - own.start, some.stop - own.start))
                    found = measure(ranking, gains, rows, some.start, out[ranking], larger)
                    larger = larger or found

    def _order(self, ranking: Ranking, own: slice, known: Tops | None) -> Tops:
        """The order of some queries of a ranking; ``known`` is that of the first ranking."""
        first, queries = self.rankings[0], ranking.queries[own]
        places = np.searchsorted(first.queries, queries)
        gallery = None if len(ranking.gallery) == len(first.gallery) else ranking.gallery
        if known is not None and gallery is None and first.depth >= ranking.depth:
            rows = places - self.start
            return Tops.of(known.items[rows, : ranking.depth], known.tied[rows, : ranking.depth], known.gallery)
        columns = None if gallery is None else np.searchsorted(first.gallery, gallery)
        found = self.order.of(self.scorer, ranking.direction, places, ranking.depth, columns)
        return found if self.new is None else rerank.order_of(found, self.new, queries, ranking.gallery)


def blocks(
    rankings: Together,
    scorer: Scorer,
    threads: int,
    order: Order,
    new: Tops | None = None,
    block: int | None = None,
    queries: Range | None = None,
) -> list[Work]:
    """The work in blocks of queries.

    Args:
        rankings, scorer, threads, order, new: as for ``part``; ``new`` is of all queries, or of those of the range.
        block: the number of queries of a block, None for a default.
        queries: a range of the queries of the first ranking, None for all of them.
    """
    first, own = rankings[0], scorer.take(rankings[0].images, rankings[0].captions)
    piece = min(max(1, tile_scores(threads) // len(first.gallery)), MOST_QUERIES)
    most = block or max(piece, order.together(len(first.gallery), first.depth))
    begin, end = queries or (0, len(first.queries))
    parts = ranges(end - begin, most, threads if block is None else 1)
    return [Work(rankings, own, begin + a, begin + b, order, piece, new) for a, b in parts]


def ranges(n: int, most: int, multiple: int = 1) -> Sequence[Range]:
    """Consecutive ranges of ``n`` items, at most ``most`` long, about equal; their number a multiple if possible."""
    parts = -(-n // most)
    parts = min(n, -(-parts // multiple) * multiple)
    return list(itertools.pairwise(n * i // parts for i in range(parts + 1))) if n else []


def tile_scores(threads: int) -> int:
    """How many scores a block has, so that the blocks of all threads stay within a fixed memory."""
    return min(max(ALL_SCORES // threads, LEAST_SCORES), MOST_SCORES)


def _shape(split: Split) -> str:
    return f"{len(split.image_ids):,} images and {len(split.caption_ids):,} captions"


def checked(
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    directions: Sequence[Direction],
    expected: bool = False,
    influence: bool = False,
) -> list[Ranking]:
    """The rankings that some metrics need, see ``rankings.plan``.

    Raises:
        UsageError: as ``plan``, and for a view without gains, or gains of another size.
    """
    rankings = plan(metrics, split, directions, expected, influence)
    for view in dict.fromkeys(m.view for ranking in rankings for m in ranking.metrics):
        if view not in gains:
            raise UsageError(f"no gains for view '{view}'", fix=f"give them, or leave out {view}:...")
        if gains[view].shape != (len(split.image_ids), len(split.caption_ids)):
            raise UsageError(f"gains '{view}' of shape {gains[view].shape} for a split of {_shape(split)}")
    return rankings
