"""Top-k selection from tiles of scores, in canonical order.

Queries whose complete gallery is in a tile are ranked at once (``full_order``). Every other query has a buffer of
candidates that can be among its best k: those with a score within twice the error bound of the k-th best so far. At the
end they are sorted by score; only near-ties are scored in float64.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..numeric.parallel import in_turn
from ..types import Direction, Float, Int, TopK
from . import full_order
from .full_order import ErrorBound
from .kernels import ADDED, collect, shorten
from .scorers import Dot, Scorer

TOGETHER = 256  # queries to whose lists a tile is added together
PAIRS = 1 << 20  # candidates of lists that are sorted, or scored, together


def _capacity(k: int, gallery: int) -> int:
    return min(2 * k + 128, gallery + ADDED)  # at least ``ADDED`` places are free after candidates are removed


def buffer_bytes(k: int, gallery: int, itemsize: int) -> int:
    """Memory of the buffer of one query, for scores of ``itemsize`` bytes."""
    return _capacity(min(k, gallery), gallery) * (itemsize + 4)


class Selector:
    """The top lists of one direction.

    Args:
        scorer: scores of all images with all captions.
        direction: side of the queries.
        k: list length, clipped to the gallery.
        rounded: whether tiles are float64 products rounded to float32, see ``full_order``.

    Raises:
        UsageError: k is below 1.
    """

    def __init__(self, scorer: Scorer, direction: Direction, k: int, rounded: bool = False):
        if k < 1:
            raise UsageError(f"list depth {k} is below 1", fix="give a depth of at least 1")
        self.scorer, self.direction = scorer, direction
        n_query, self.gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
        self.k = min(k, self.gallery)
        self.items = np.empty((n_query, self.k), np.int64)
        capacity = _capacity(self.k, self.gallery)
        self.value = np.empty((n_query, capacity), scorer.dtype)  # pages that are not written take no memory
        self.index = np.empty((n_query, capacity), np.int32)
        self.fill = np.zeros(n_query, np.int64)
        self.floor = np.full(n_query, -np.inf, scorer.dtype)
        self.bound, largest = _bound(scorer, direction, n_query, rounded)
        # Errors of the k-th best and of a candidate can have opposite signs.
        self.slack = 2 * (self.bound.rate * largest + self.bound.base)
        self._locks = [threading.Lock() for _ in range(0, n_query, TOGETHER)]  # tiles of other threads have the queries

    def add(self, tile: npt.NDArray[Any], r0: int, c0: int) -> None:
        """Add one tile (image rows, caption columns) whose first row and column are given."""
        view, q0, g0 = (tile, r0, c0) if self.direction == "i2t" else (tile.T, c0, r0)
        n = len(view)
        for place in range(q0 // TOGETHER, -(-(q0 + n) // TOGETHER)):
            a, b = max(place * TOGETHER, q0), min((place + 1) * TOGETHER, q0 + n)
            rows = (
                view[a - q0 : b - q0] if self.direction == "i2t" else np.ascontiguousarray(tile[:, a - q0 : b - q0].T)
            )
            if rows.shape[1] == self.gallery:
                with np.errstate(over="ignore"):
                    values = rows.astype(np.float32, copy=False)
                self._list(slice(a, b), full_order.best_of(values, self.k, self.bound.take(np.arange(a, b))), rows)
                continue
            with self._locks[place]:
                self._collect(slice(a, b), rows, g0)

    def _collect(self, queries: slice, rows: npt.NDArray[Any], g0: int) -> None:
        """Add what can be among the k best, from (query, item) scores of items from ``g0`` on, to the buffers."""
        done = np.zeros(len(rows), np.int64)
        value, index, fill, floor = (x[queries] for x in (self.value, self.index, self.fill, self.floor))
        while True:
            collect(rows, g0, done, value, index, fill, floor)
            full = np.flatnonzero(done < rows.shape[1])
            if not len(full):
                return
            # Sorting and selecting by numpy: its functions are vectorised and need not be compiled.
            scores = value[full]
            scores[np.arange(scores.shape[1]) >= fill[full, None]] = -np.inf
            last = scores.shape[1] - self.k
            limit = np.partition(scores, last, axis=1)[:, last] - self.slack[queries][full]
            floor[full] = np.nextafter(limit.astype(floor.dtype), floor.dtype.type(-np.inf))
            shorten(full, value, index, fill, floor)
            for q in full[fill[full] > value.shape[1] * 3 // 4].tolist():
                # So many near-ties that the buffer would be full again at once: only the k best of them remain.
                item = index[q, : fill[q]].astype(np.int64)
                best = np.lexsort((item, -self._exact(np.full(len(item), queries.start + q), item)))[: self.k]
                value[q, : self.k], index[q, : self.k], fill[q] = value[q, best], index[q, best], self.k

    def _exact(self, query: Int, item: Int) -> Float:
        return self.scorer.pairs(*((query, item) if self.direction == "i2t" else (item, query)), 1)

    def _list(self, queries: slice, found: Any, rows: npt.NDArray[Any] | None = None) -> None:
        """List the k best of some queries; ``found`` and ``rows`` are those of ``full_order.canonical_order``."""
        which = np.arange(queries.start, queries.stop)
        bound = self.bound.take(which)
        order = full_order.canonical_order(self.scorer, self.direction, found, which, self.k, bound, None, rows)
        self.items[queries] = order.items

    def finish(self, threads: int) -> TopK:
        """The top lists, after the last tile."""
        from ..numeric.sort import order
        from ..numeric.sort_kernels import pick

        def conclude(queries: slice) -> None:
            count = self.fill[queries]
            with np.errstate(over="ignore"):  # what exceeds float32 becomes infinite: near-ties
                places, ordered = order(self.value[queries].astype(np.float32, copy=False), count)
            pick(self.index[queries], places, count)
            self._list(queries, (places, ordered, count))

        n = len(self.fill)
        step = max(1, min(-(-n // threads), PAIRS // self.value.shape[1]))
        blocks = [slice(a, min(a + step, n)) for a in range(0, n, step) if self.fill[a : a + step].any()]
        in_turn(blocks, lambda _: conclude, threads, None)
        return TopK(self.items, scores_of(self.scorer, self.direction, threads))


def _bound(scorer: Scorer, direction: Direction, n: int, rounded: bool) -> tuple[ErrorBound, Float]:
    """The bound on the errors of the tiles, and (query,) the largest score possible."""
    queries = np.arange(n)
    if not isinstance(scorer, Dot):
        return ErrorBound(0.0, np.zeros(n), full_order.BEST), np.zeros(n)
    bound_of = full_order.float64_bound if rounded else full_order.float32_bound
    return bound_of(scorer, direction, queries), full_order.largest_score(scorer, direction, queries)


def scores_of(scorer: Scorer, direction: Direction, threads: int) -> Callable[[Int], Float]:
    """What makes the (query, k) canonical scores of lists, (query, k) indices of items of every query."""

    def scores(items: Int) -> Float:
        found, step = np.empty(items.shape), max(1, PAIRS // max(items.shape[1], 1))

        def score(start: int) -> None:
            some = items[start : start + step]
            queries = np.repeat(np.arange(start, start + len(some)), some.shape[1])
            found[start : start + step] = full_order.exact_scores(scorer, direction, queries, some.ravel()).reshape(
                some.shape
            )

        in_turn(range(0, len(items), step), lambda _: score, threads, None)
        return found

    return scores
