"""Counting the candidates above relevant pairs, as ``kernels.count_rows`` and ``count_columns`` do.

A tile is cut into spans of ``SPAN`` candidates. The largest score of every span says which spans have a score that is
not certainly below a threshold; only these are compared with it. Scores between the two thresholds of a pair are
compared by canonical score, on the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ...types import Direction, Int
from ..count import Array, Counter
from ..order import exact_scores
from .settings import Sizes
from .vectors import Resident, Tensor, host, tensor

SPAN = 64  # candidates of a span


@dataclass(frozen=True, eq=False)
class Tile:
    """Scores of some images with some captions.

    Attributes:
        scores: (image, caption) scores; padded to complete spans with minus infinity.
        rows, columns: (first, last + 1) images and captions.
    """

    scores: Tensor
    rows: tuple[int, int]
    columns: tuple[int, int]

    def spans(self, direction: Direction) -> tuple[Tensor, Tensor]:
        """(query, span, candidate) scores, and (query, span) the largest score of each span."""
        return self._of_images if direction == "i2t" else self._of_captions

    def sides(self, direction: Direction) -> tuple[tuple[int, int], tuple[int, int]]:
        """(first, last + 1) queries and candidates."""
        return (self.rows, self.columns) if direction == "i2t" else (self.columns, self.rows)

    @cached_property
    def _of_images(self) -> tuple[Tensor, Tensor]:
        return _with_maxima(self.scores)

    @cached_property
    def _of_captions(self) -> tuple[Tensor, Tensor]:
        return _with_maxima(self.scores.t().contiguous())  # spans are picked one by one: each has to be in one place


def _with_maxima(scores: Tensor) -> tuple[Tensor, Tensor]:
    spans = scores.unflatten(1, (-1, SPAN))
    return spans, spans.amax(2)


class PairCounter:
    """The counts of one ``count.Counter``, on the device.

    Args:
        counter: the pairs; which ``found`` does not change.
        of: the vectors, None where the tiles have the canonical scores.
        device: where the tiles are.
        threads: how many count at once.
        sizes: of the device.
    """

    def __init__(self, counter: Counter, of: Resident | None, device: torch.device, threads: int, sizes: Sizes):
        self.counter, self.of, self.spans, pairs = counter, of, sizes.spans, counter.pairs
        self.query, self.item, self.high, self.low = (
            tensor(a, device) for a in (pairs.query, pairs.item, pairs.high, pairs.low)
        )
        self.first, self.last = (tensor(a, device) for a in (pairs.first, pairs.last))
        self.total = torch.zeros((threads, len(pairs.query)), dtype=torch.int64, device=device)
        self.settled = np.zeros((3, threads, len(pairs.query)), np.int64)

    def count(self, tile: Tile, part: int) -> None:
        """Count one tile; ``part`` is the row of counts of the calling thread."""
        direction = self.counter.direction
        (q0, q1), (g0, g1) = tile.sides(direction)
        begin, end = self.counter.pairs.indptr[[q0, q1]].tolist()
        if begin == end:
            return
        scores, maxima = tile.spans(direction)
        row = self.query[begin:end] - q0
        self._check(scores.flatten(1)[:, : g1 - g0], row, begin, end, g0)
        possible = maxima[row] >= self.low[begin:end, None]
        if self.counter.fold is not None:
            possible &= self._in_fold(self.query[begin:end], g0, scores.shape[1])
        pairs, spans = possible.nonzero(as_tuple=True)
        every = scores.flatten(0, 1)
        for a in range(0, len(pairs), self.spans):
            p, s = pairs[a : a + self.spans], spans[a : a + self.spans]
            self._compare(every.index_select(0, row[p] * scores.shape[1] + s), p + begin, s * SPAN + g0, part)

    def _check(self, scores: Tensor, row: Tensor, begin: int, end: int, g0: int) -> None:
        """Compare the scores of the pairs themselves, those that are in the tile, with their canonical scores."""
        if self.of is None:
            return
        place = self.item[begin:end] - g0
        here = (place >= 0) & (place < scores.shape[1])
        own = scores[row, place.clamp(0, scores.shape[1] - 1)]
        self.of.compare(~here | ((own >= self.low[begin:end]) & (own <= self.high[begin:end])))

    def _compare(self, values: Tensor, pair: Tensor, start: Tensor, part: int) -> None:
        """Count ``values`` (span, SPAN), scores of the candidates from ``start`` (span,) on, for ``pair`` (span,)."""
        above, high, low = self.total[part], self.high[pair, None], self.low[pair, None]
        if self.counter.fold is not None:
            values = values.masked_fill(~self._candidates(pair, start), -torch.inf)
        flag = torch.empty_like(values)  # a number: on a processor torch compares to bools in three times the time
        count = torch.gt(values, high, out=flag).sum(1)
        above.index_add_(0, pair, count.long())
        # Spans with scores between the thresholds, as the item's own.
        some = (torch.ge(values, low, out=flag).sum(1) != count).nonzero()[:, 0]
        row, place = ((values[some] >= low[some]) & (values[some] <= high[some])).nonzero(as_tuple=True)
        span = some[row]
        other = start[span] + place != self.item[pair[span]]
        span, place = span[other], place[other]
        if not len(span):
            return
        pair, item = pair[span], start[span] + place
        self._settle(host(pair), host(item), host(values[span, place]), part)

    def _settle(self, pair: Int, item: Int, fast: Array, part: int) -> None:
        """Compare the canonical scores of uncertain items with those of the pairs; ``fast`` are those of the tile."""
        pairs = self.counter.pairs
        value = exact_scores(self.counter.scorer, self.counter.direction, pairs.query[pair], item)
        if self.of is not None:
            allowed = (pairs.high[pair].astype(np.float64) - pairs.low[pair]) / 2
            self.of.compare(tensor(np.abs(fast - value) <= allowed, self.query.device))
        equal, lower = value == pairs.exact[pair], item < pairs.item[pair]
        for counts, chosen in zip(
            self.settled, (value > pairs.exact[pair], equal & lower, equal & ~lower), strict=True
        ):
            np.add.at(counts[part], pair[chosen], 1)

    def _in_fold(self, queries: Tensor, g0: int, spans: int) -> Tensor:
        """(query, span) whether a span of the candidates from ``g0`` on may have one in the fold of the query."""
        start = torch.arange(spans, device=queries.device) * SPAN + g0
        if self.counter.direction == "i2t":
            return (start < self.last[queries, None]) & (start + SPAN > self.first[queries, None])
        image = (start[:, None] + torch.arange(SPAN, device=queries.device)).clamp(max=len(self.first) - 1)
        first, last = self.first[image].amin(1), self.last[image].amax(1)
        return (first <= queries[:, None]) & (queries[:, None] < last)

    def _candidates(self, pair: Tensor, start: Tensor) -> Tensor:
        """(span, SPAN) whether an item is in the fold of the query."""
        item = start[:, None] + torch.arange(SPAN, device=start.device)
        if self.counter.direction == "i2t":
            image, caption = self.query[pair, None], item
        else:
            image, caption = item.clamp(max=len(self.first) - 1), self.query[pair, None]
        return (self.first[image] <= caption) & (caption < self.last[image])

    def found(self) -> Array:
        """(3, pair) int32 the counts of all tiles."""
        found: Array = self.settled.sum(1).astype(np.int32)
        found[0] += host(self.total.sum(0).int())
        return found
