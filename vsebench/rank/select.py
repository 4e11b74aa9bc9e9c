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
from ..types import Direction, TopK
from .kernels import collect, conclude
from .scorers import Scorer


def _capacity(k: int, gallery: int) -> int:
    return min(2 * k + 128, gallery)


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

        def work(start: int, stop: int, _part: int) -> None:
            conclude(
                start, stop, self.by_row, *self.scorer.exact_arguments,
                self.value, self.index, self.fill, self.k, items, scores,
            )  # fmt: skip

        spread(work, n, threads)
        return TopK(items, scores)
