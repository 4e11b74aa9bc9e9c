"""Top-k selection while the score tiles stream by, in canonical order.

Every query keeps a buffer of float32 candidates that could still be among its best k: those within twice
the error bound of its k-th best so far. At the end the survivors are scored in float64 and sorted by
score descending, then lower index.
"""

from __future__ import annotations

import threading
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..parallel import spread
from ..types import Direction, TopK
from .count import STRIP
from .exact import dot64
from .scorers import Scorer


@nb.njit(nogil=True, cache=True)
def _best(score, index, k):
    """Positions of the k best by score descending, then index ascending."""
    by_index = np.argsort(index)
    order = np.argsort(-score[by_index], kind="mergesort")
    return by_index[order[:k]]


@nb.njit(nogil=True, cache=True)
def _canonical(x, y, row_scale, col_scale, value, index, n, query, by_row):
    """Canonical scores of the n buffered candidates of a query."""
    out = np.empty(n)
    for i in range(n):
        if x.shape[1] == 0:
            out[i] = np.float64(value[i])
        else:
            r, c = (query, index[i]) if by_row else (index[i], query)
            out[i] = dot64(x[r], y[c]) * row_scale[r] * col_scale[c]
    return out


@nb.njit(nogil=True, cache=True)
def _shrink(x, y, row_scale, col_scale, value, index, n, k, slack, query, by_row):
    """Drop what cannot be among the k best; returns how many stay and the new floor."""
    kth = np.partition(value[:n].copy(), n - k)[n - k]
    limit = np.full(1, np.float64(kth) - slack).astype(value.dtype)  # in the tile's dtype, rounded down
    floor = np.nextafter(limit[0], limit[0] - np.abs(limit[0]) - 1)
    kept = 0
    for i in range(n):
        if value[i] >= floor:
            value[kept] = value[i]
            index[kept] = index[i]
            kept += 1
    if kept > n - n // 4:
        # So many near-ties that the buffer would fill again at once: decide between them now.
        chosen = _best(_canonical(x, y, row_scale, col_scale, value, index, kept, query, by_row), index[:kept], k)
        keep_value, keep_index = value[chosen].copy(), index[chosen].copy()
        value[:k] = keep_value
        index[:k] = keep_index
        kept = k
    return kept, floor


@nb.njit(nogil=True, cache=True)
def _any_above(strip, floor):
    hits = np.int32(0)
    for c in range(STRIP):
        hits = np.int32(hits + np.int32(strip[c] >= floor[c]))
    return hits


@nb.njit(nogil=True, cache=True)
def collect(tile, q0, g0, start, stop, by_row, x, y, row_scale, col_scale, value, index, fill, floor, slack, k):
    """Offer a tile (query rows by gallery columns, as a view) to queries ``start:stop`` of the tile.

    ``q0`` and ``g0`` are the tile's first query and gallery index.
    """
    capacity = value.shape[1]
    width = tile.shape[1]
    limit = np.empty(STRIP, tile.dtype)
    for r in range(start, stop):
        q = r + q0
        row = np.ascontiguousarray(tile[r])
        for s in range(0, width, STRIP):
            e = min(s + STRIP, width)
            if e - s == STRIP:
                limit[:] = floor[q]
                if _any_above(row[s:e], limit) == 0:
                    continue
            for c in range(s, e):
                if row[c] >= floor[q]:
                    if fill[q] == capacity:
                        fill[q], floor[q] = _shrink(
                            x, y, row_scale, col_scale, value[q], index[q], capacity, k, slack[q], q, by_row
                        )
                        if row[c] < floor[q]:
                            continue
                    value[q, fill[q]] = row[c]
                    index[q, fill[q]] = c + g0
                    fill[q] += 1


@nb.njit(nogil=True, cache=True)
def conclude(start, stop, by_row, x, y, row_scale, col_scale, value, index, fill, k, items, scores):
    """Score the survivors of queries ``start:stop`` canonically and write their sorted best k."""
    for q in range(start, stop):
        n = fill[q]
        exact = _canonical(x, y, row_scale, col_scale, value[q], index[q], n, q, by_row)
        chosen = _best(exact, index[q, :n], k)
        for i in range(k):
            items[q, i] = index[q, chosen[i]]
            scores[q, i] = exact[chosen[i]]


class Selector:
    """The top lists of one direction.

    Args:
        scorer: where the tiles come from.
        direction: which side asks.
        k: list length, clipped to the gallery.

    Raises:
        UsageError: k is below 1.
    """

    def __init__(self, scorer: Scorer, direction: Direction, k: int):
        if k < 1:
            raise UsageError(f"list depth {k} is below 1", fix="ask for at least one item")
        self.scorer, self.direction, self._lock = scorer, direction, threading.Lock()
        self.by_row = direction == "i2t"
        n_query, n_gallery = scorer.shape if self.by_row else scorer.shape[::-1]
        self.k = min(k, n_gallery)
        capacity = min(2 * self.k + 128, n_gallery)
        self.value = np.empty((n_query, capacity), scorer.dtype)
        self.index = np.empty((n_query, capacity), np.int32)
        self.fill = np.zeros(n_query, np.int64)
        self.floor = np.full(n_query, -np.inf, scorer.dtype)
        error = scorer.error()[0 if self.by_row else 1]
        self.slack = 2 * error  # the k-th best and a candidate may err in opposite directions

    def see(self, tile: npt.NDArray[Any], r0: int, c0: int) -> None:
        """Look at one tile (image rows, caption columns) whose first row and column are given."""
        view, q0, g0 = (tile, r0, c0) if self.by_row else (tile.T, c0, r0)
        with self._lock:  # tiles of other threads hold the same queries
            collect(
                view, q0, g0, 0, len(view), self.by_row, *self.scorer.exact_arguments,
                self.value, self.index, self.fill, self.floor, self.slack, self.k,
            )  # fmt: skip

    def finish(self, threads: int) -> TopK:
        """The lists, after the last tile."""
        n = len(self.fill)
        items, scores = np.empty((n, self.k), np.int64), np.empty((n, self.k))

        def work(start: int, stop: int, _part: int) -> None:
            conclude(
                start, stop, self.by_row, *self.scorer.exact_arguments,
                self.value, self.index, self.fill, self.k, items, scores,
            )  # fmt: skip

        spread(work, n, threads)
        return TopK(items, scores)
