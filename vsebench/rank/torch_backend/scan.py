"""One pass over tiles of scores on the device: ``count.scan_tiles`` as tensor code.

A tile is cut into spans of ``SPAN_ITEMS`` candidates. Only spans with a largest score that is not certainly below a
threshold are compared with it. Scores between the two thresholds of a pair are compared by canonical score, on the
processor.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import torch

from ...numeric.parallel import Progress, in_turn
from ...numeric.torch_support import device_faults, within_memory
from ...types import Int
from ..count import Array, Counter, corners, scan_tiles
from ..scorers import Dot, Range, Scorer
from .settings import TILE_SCORES, exact
from .vectors import Resident, Tensor, host, resident, tensor

SPAN_ITEMS = 64  # candidates per span
MAX_TILE_ROWS = 1 << 13  # of a tile that could hold more scores than all columns


def scan(
    device: torch.device,
    scorer: Scorer,
    rows: Sequence[Counter],
    columns: Sequence[Counter],
    threads: int,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    part: Range | None = None,
) -> None:
    """Add to the counts of counters; see ``count.scan_tiles``, which counts given scores.

    Args:
        device: of the computation; one thread for a CUDA device.

    Raises:
        DeviceMemory: the device has too little memory.
        DeviceFault: its products are less precise than float32.
    """
    if not isinstance(scorer, Dot):
        return scan_tiles(scorer, rows, columns, threads, tile_shape, progress, part)
    first, end = part or (0, scorer.shape[0])

    def work(share: int) -> list[Array]:
        with device_faults(device):
            vectors = resident(scorer, device)
            sides = [
                [PairCounter(one, vectors, TILE_SCORES[device.type] // share) for one in counters]
                for counters in (rows, columns)
            ]
        height, width = tile_shape or _tile_shape((end - first, scorer.shape[1]), TILE_SCORES[device.type])
        height = max(1, min(height, end - first) // share)

        def count(corner: tuple[int, int]) -> None:
            r, c = corner
            with exact(device), device_faults(device):
                tile = vectors.product(slice(r, min(r + height, end)), slice(c, c + width), torch.float32)
                for counters, scores, q0, g0 in ((sides[0], tile, r, c), (sides[1], tile.t(), c, r)):
                    if counters:
                        spans, maxima = _spans(scores)
                        for one in counters:
                            one.count(scores, spans, maxima, q0, g0)

        at_once = threads if device.type == "cpu" else 1
        in_turn(corners((first, end), scorer.shape[1], height, width), lambda _: count, at_once, progress)
        with device_faults(device):
            vectors.check()
            return [one.found() for counters in sides for one in counters]

    for counter, found in zip((*rows, *columns), within_memory(device, work), strict=True):
        counter.counts[:, 0] += found
    return None


def _tile_shape(shape: tuple[int, int], scores: int) -> tuple[int, int]:
    """(row, column) size of a tile of so many scores."""
    height = min(shape[0], max(MAX_TILE_ROWS, scores // shape[1]))
    return height, min(shape[1], max(1, scores // height))


def _spans(scores: Tensor) -> tuple[Tensor, Tensor]:
    """(query, span, SPAN_CANDIDATES) scores, padded with minus infinity, and (query, span) the largest of each span."""
    width = scores.shape[1]
    if width % SPAN_ITEMS:
        padded = scores.new_empty((len(scores), -(-width // SPAN_ITEMS) * SPAN_ITEMS))
        padded[:, :width], padded[:, width:] = scores, -torch.inf
    else:
        padded = scores.contiguous()
    spans = padded.unflatten(1, (-1, SPAN_ITEMS))
    return spans, spans.amax(2)


class PairCounter:
    """The counts of one ``count.Counter``, on the device.

    Args:
        counter: the pairs.
        vectors: the vectors.
        most: scores that are compared together.
    """

    def __init__(self, counter: Counter, vectors: Resident, most: int):
        self.counter, self.vectors, self.most, pairs = counter, vectors, most, counter.pairs
        self.query, self.item, self.high, self.low, self.first, self.last = (
            tensor(a, vectors.device) for a in (pairs.query, pairs.item, pairs.high, pairs.low, pairs.first, pairs.last)
        )
        self.above = torch.zeros(len(pairs.query), dtype=torch.int64, device=vectors.device)
        self.resolved = np.zeros((3, len(pairs.query)), np.int64)
        self.lock = threading.Lock()

    def count(self, scores: Tensor, spans: Tensor, maxima: Tensor, q0: int, g0: int) -> None:
        """Count (query, item) scores, starting at a query and an item, with the spans and maxima of ``_spans``."""
        begin, end = self.counter.pairs.indptr[[q0, q0 + len(scores)]].tolist()
        if begin == end:
            return
        row = self.query[begin:end] - q0
        self._check(scores, row, slice(begin, end), g0)
        possible = maxima[row] >= self.low[begin:end, None]
        if self.counter.folds:
            possible &= self._in_fold(self.query[begin:end], g0, spans.shape[1])
        pairs, places = possible.nonzero(as_tuple=True)
        each, step = spans.flatten(0, 1), max(1, self.most // SPAN_ITEMS)
        for a in range(0, len(pairs), step):
            p, s = pairs[a : a + step], places[a : a + step]
            self._compare(each.index_select(0, row[p] * spans.shape[1] + s), p + begin, s * SPAN_ITEMS + g0)

    def _check(self, scores: Tensor, row: Tensor, pairs: slice, g0: int) -> None:
        """Compare the scores of the pairs themselves, those that are in the tile, with their canonical scores."""
        place = self.item[pairs] - g0
        here = (place >= 0) & (place < scores.shape[1])
        pair_scores = scores[row, place.clamp(0, scores.shape[1] - 1)]
        self.vectors.compare(~here | ((pair_scores >= self.low[pairs]) & (pair_scores <= self.high[pairs])))

    def _compare(self, values: Tensor, pair: Tensor, start: Tensor) -> None:
        """Count scores (span, SPAN_CANDIDATES) of the candidates from ``start`` (span,) on, for ``pair`` (span,)."""
        if self.counter.folds:
            item = start[:, None] + torch.arange(SPAN_ITEMS, device=start.device)
            values.masked_fill_(~self._candidates(self.query[pair, None], item), -torch.inf)
        high, low = self.high[pair, None], self.low[pair, None]
        flag = torch.empty_like(values)  # a number: on a processor torch compares to bools in three times the time
        above = torch.gt(values, high, out=flag).sum(1)
        with self.lock:
            self.above.index_add_(0, pair, above.long())
        # Spans with scores between the thresholds, as the item's own; none in most tiles.
        some = (torch.ge(values, low, out=flag).sum(1) != above).nonzero()[:, 0]
        if not len(some):
            return
        row, place = ((values[some] >= low[some]) & (values[some] <= high[some])).nonzero(as_tuple=True)
        row = some[row]
        other = start[row] + place != self.item[pair[row]]
        row, place = row[other], place[other]
        if not len(row):
            return
        with self.lock:
            self._compare_exactly(host(pair[row]), host(start[row] + place), host(values[row, place]))

    def _compare_exactly(self, pair: Int, item: Int, fast: Array) -> None:
        """Compare the canonical scores of uncertain items with those of the pairs; ``fast`` are those of the tile."""
        pairs, value = self.counter.pairs, self.counter.resolve(pair, item, self.resolved)
        allowed = (pairs.high[pair].astype(np.float64) - pairs.low[pair]) / 2
        self.vectors.compare(tensor(np.abs(fast - value) <= allowed, self.vectors.device))

    def _in_fold(self, queries: Tensor, g0: int, spans: int) -> Tensor:
        """(query, span) whether a span of the candidates from ``g0`` on may have one in the fold of the query."""
        start = torch.arange(spans, device=queries.device) * SPAN_ITEMS + g0
        return (start < self.last[queries, None]) & (start + SPAN_ITEMS > self.first[queries, None])

    def _candidates(self, query: Tensor, item: Tensor) -> Tensor:
        """(span, SPAN_CANDIDATES) whether an item is in the fold of a query; padding is beyond the last item."""
        return (self.first[query] <= item) & (item < self.last[query])

    def found(self) -> Array:
        """(3, pair) int32 the counts of all tiles."""
        found: Array = self.resolved.astype(np.int32)
        found[0] += host(self.above.int())
        return found
