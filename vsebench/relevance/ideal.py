"""The ideal lists: the items with the largest gains for every query, which graded metrics divide by."""

from __future__ import annotations

import numpy as np

from ..errors import UsageError
from ..numeric.parallel import default_threads, one_blas_thread, spread
from ..types import Direction, Float, Int, TopK, Vectors
from .gains import Gains, Progress

BLOCK_BYTES = 8 << 20  # of the rows that a thread holds at a time
MANY = 12  # sort whole rows when more than one in so many items is wanted


def top(
    gains: Gains, direction: Direction, k: int, threads: int | None = None, progress: Progress | None = None
) -> TopK:
    """The ``k`` items with the largest gains for every query, largest first, ties to the lower index.

    Args:
        gains: rows are asked for block by block, by several threads.
        direction: which side asks.
        k: list length, at least 1, clipped to the gallery.
        threads: how many; ``default_threads()`` when None. The lists do not depend on it.
        progress: told the share of the queries that is done.

    Returns:
        Items (query, k) int64 and their gains (query, k) float64.

    Raises:
        UsageError: k is below 1.
    """
    if k < 1:
        raise UsageError(f"list depth {k} is below 1", fix="ask for at least one item")
    queries, gallery = gains.shape if direction == "i2t" else gains.shape[::-1]
    k = min(k, gallery)
    items, scores = np.empty((queries, k), np.int64), np.empty((queries, k))
    height = max(1, BLOCK_BYTES // (4 * max(gallery, 1)))
    done = [0] * queries if progress else []

    def work(start: int, stop: int, part: int) -> None:
        for first in range(start, stop, height):
            last = min(first + height, stop)
            top_of(gains.rows(direction, first, last), items[first:last], scores[first:last])
            if progress:
                done[part] += last - first
                progress(sum(done) / queries)

    with one_blas_thread():
        spread(work, queries, default_threads() if threads is None else threads)
    return TopK(items, scores)


def top_of(values: Vectors, items: Int, scores: Float) -> None:
    """The largest of every row, as many as ``items`` and ``scores`` (row, k) are wide; both are filled.

    Args:
        values: (row, gallery) float32 without NaN.
        items: (row, k) int64.
        scores: (row, k) float64.
    """
    from .ideal_kernels import top_few, top_many

    values = np.ascontiguousarray(values, np.float32)
    k = items.shape[1]
    kernel = top_few if k * MANY < values.shape[1] else top_many
    kernel(values, values.view(np.uint32), k, items, scores)
