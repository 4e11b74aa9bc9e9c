"""Top-k selection from tiles of scores, in canonical order.

Every query has a buffer of candidates that can be among its best k: those with a float32 score within twice the error
bound of the k-th best so far. At the end they are scored in float64 and sorted by score descending, then lower index.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..numeric.parallel import spread
from ..types import Direction, Float, Int, TopK
from .kernels import PIECE, collect, conclude, keep_possible
from .scorers import Scorer

TOGETHER = 1 << 20  # candidates that are scored together


def _capacity(k: int, gallery: int) -> int:
    return min(2 * k + 128, gallery + PIECE)  # at least ``PIECE`` places are free after candidates are removed


def buffer_bytes(k: int, gallery: int, itemsize: int) -> int:
    """Memory of the buffer of one query, for scores of ``itemsize`` bytes."""
    return _capacity(min(k, gallery), gallery) * (itemsize + 4)


class Selector:
    """The top lists of one direction.

    Args:
        scorer: scores of all images with all captions.
        direction: side of the queries.
        k: list length, clipped to the gallery.

    Raises:
        UsageError: k is below 1.
    """

    def __init__(self, scorer: Scorer, direction: Direction, k: int):
        if k < 1:
            raise UsageError(f"list depth {k} is below 1", fix="give a depth of at least 1")
        self.scorer, self.direction, self._lock = scorer, direction, threading.Lock()
        self.by_row = direction == "i2t"
        n_query, n_gallery = scorer.shape if self.by_row else scorer.shape[::-1]
        self.k = min(k, n_gallery)
        capacity = _capacity(self.k, n_gallery)
        self.value = np.empty((n_query, capacity), scorer.dtype)
        self.index = np.empty((n_query, capacity), np.int32)
        self.fill = np.zeros(n_query, np.int64)
        self.floor = np.full(n_query, -np.inf, scorer.dtype)
        error = scorer.error()[0 if self.by_row else 1]
        self.slack = 2 * error  # errors of the k-th best and of a candidate can have opposite signs

    def add(self, tile: npt.NDArray[Any], r0: int, c0: int) -> None:
        """Add one tile (image rows, caption columns) whose first row and column are given."""
        view, q0, g0 = (tile, r0, c0) if self.by_row else (tile.T, c0, r0)
        with self._lock:  # tiles of other threads have the same queries
            collect(
                view, q0, g0, 0, len(view), self.by_row, *self.scorer.exact_arguments,
                self.value, self.index, self.fill, self.floor, self.slack, self.k,
            )  # fmt: skip

    def finish(self, threads: int) -> TopK:
        """The top lists, after the last tile."""
        n = len(self.fill)
        items, scores = np.empty((n, self.k), np.int64), np.empty((n, self.k))

        def shorten(start: int, stop: int, _part: int) -> None:
            keep_possible(start, stop, self.value, self.index, self.fill, self.slack, self.k)

        spread(shorten, n, threads)
        step = max(1, TOGETHER // self.value.shape[1])
        for first in range(0, n, step):
            some = slice(first, min(first + step, n))
            fill, index = self.fill[some], self.index[some]
            exact, offset = self._exact(first, fill, index, threads), np.cumsum(fill) - fill

            def work(
                start: int, stop: int, _part: int, given: Any = (exact, offset, index, fill), at: Any = some
            ) -> None:
                conclude(start, stop, *given, self.k, items[at], scores[at])

            spread(work, len(fill), threads)
        return TopK(items, scores)

    def _exact(self, first: int, fill: Int, index: npt.NDArray[np.int32], threads: int) -> Float:
        """(candidate,) canonical scores of the candidates of the queries from ``first`` on."""
        query = np.repeat(np.arange(first, first + len(fill)), fill)
        item = index[np.arange(index.shape[1]) < fill[:, None]].astype(np.int64)
        # One item after the other: loading vectors from anywhere takes more time than multiplying them.
        turn = np.argsort(item, kind="stable")
        rows, cols = (query[turn], item[turn]) if self.by_row else (item[turn], query[turn])
        exact = np.empty(len(turn))
        exact[turn] = self.scorer.pairs(rows, cols, threads)
        return exact
