"""The canonical top of rankings from the float32 lists of an index, each certified to be complete.

An index lists the candidates with the largest float32 scores. These are within a bound ``e`` of the canonical scores
(``exact``), so where ``f`` is the k-th largest float32 score

- the k-th largest canonical score is at least ``f - e``, and
- a candidate with such a canonical score, or a larger one, has a float32 score of at least ``f - 2 e``.

A list that reaches below ``f - 2 e`` therefore has every candidate that is among the k best, with all that tie with the
last of them. Other queries are searched again with lists twice as long, and those that need longer lists than an index
has (``MOST_ITEMS``) are scored with all candidates. The candidates are then scored canonically and sorted.
"""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np

from ..types import Direction, Float, Int, Tops, Vectors
from .faiss_index import MOST_ITEMS, FlatIndex, Gpu, first_gpu
from .order import parts_of
from .scorers import Dot, Scorer

MARGIN = 16  # candidates beyond k that are listed at first
FAST = 100  # deepest lists made on a processor: the heaps of FAISS take longer than all scores from about 200 on
QUERIES = 512  # whose lists are searched together
SEARCHED, SCORES = 128, 4 << 20  # queries ordered together: FAISS multiplies fewer than 100 one by one, 6 x slower
KEPT = 6  # indexes: a block of queries has the complete gallery, one or two folds, the first captions of these

Key = tuple[Scorer, Direction, bytes | None]


def deepest(gallery: int, gpu: bool) -> int:
    """The largest depth of lists from an index of a gallery, on a GPU or on the processor."""
    most = gallery if gallery <= MOST_ITEMS else MOST_ITEMS - MARGIN
    return most if gpu else min(most, FAST)


def certified(index: FlatIndex, queries: Int, k: int) -> Tops:
    """The k best of some queries, and the items that tie with the last of them.

    Args:
        index: of the gallery.
        queries: (query,) int64 indices, ascending.
        k: from 1 to the number of candidates.
    """
    most, width = min(MOST_ITEMS, index.size), min(k + MARGIN, index.size)
    left = np.arange(len(queries))
    apart = left[:0]
    found: list[tuple[Int, Int, Float]] = []  # which query, position and canonical score of what can be among its best
    while len(left) and width <= most:
        scores, items = index.search(queries[left], width)
        error = index.error[queries[left]]
        least = _least(scores[:, k - 1], error)
        complete = ((scores[:, -1] < least) | (width == index.size)) & np.isfinite(least)
        row, column = np.nonzero((scores >= least[:, None]) & complete[:, None])
        positions, values = items[row, column], scores[row, column]
        exact = index.pairs(queries[left[row]], positions)
        # Where an index rounds more than float32 does, or lists too little, its lists certify nothing.
        wrong = np.bincount(row, (positions < 0) | ~(np.abs(values - exact) <= error[row]), len(left)) > 0
        good = ~wrong[row]
        found.append((left[row[good]], positions[good], exact[good]))
        apart, left = np.concatenate([apart, left[wrong]]), left[~complete]
        if width == most:
            break
        width = min(2 * width, most)
    for some in parts_of(np.sort(np.concatenate([left, apart])), index.size):
        scores = index.rows(queries[some])
        kth = np.partition(scores, index.size - k, axis=1)[:, index.size - k]
        row, positions = np.nonzero(scores >= _least(kth, index.error[queries[some]])[:, None])
        found.append((some[row], positions, index.pairs(queries[some[row]], positions)))
    row, positions, exact = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((positions, -exact, row))
    row, positions, exact = row[order], positions[order], exact[order]
    first = np.searchsorted(row, np.arange(len(queries)))
    among = exact >= exact[first + k - 1][row]
    row, positions, exact = row[among], positions[among], exact[among]
    ties = np.zeros(len(row), np.bool_)
    ties[1:] = (np.diff(row) == 0) & (np.diff(exact) == 0)
    start, items = np.searchsorted(row, np.arange(len(queries) + 1)), positions.astype(np.int32)
    return Tops(start, items, ties, index.size, exact, int(queries[0]))


def _least(kth: Vectors, error: Float) -> Float:
    """(query,) the least float32 score of a candidate that can be among the k best."""
    return np.asarray(kth.astype(np.float64) - 2 * error)


def together(gallery: int, k: int) -> int:
    """How many queries are ordered together, see ``order.Order``."""
    return max(1, min(SEARCHED, SCORES // gallery))


class Indexes:
    """The indexes of one evaluation, each made when it is first needed; the ``KEPT`` that were used last are kept.

    Args:
        driver: whether the driver of a GPU is loaded. All indexes are then on the first GPU that FAISS can use.
    """

    def __init__(self, driver: bool = False) -> None:
        self.driver = driver
        self._made: dict[Key, FlatIndex] = {}
        self._lock = threading.Lock()

    def of(self, scorer: Dot, direction: Direction, gallery: Int | None = None) -> FlatIndex:
        """The index of the gallery of a direction; arguments as of ``FlatIndex``."""
        key = scorer, direction, None if gallery is None else gallery.tobytes()
        with self._lock:
            found = self._made.pop(key, None)
            if found is None:
                while len(self._made) >= KEPT:  # before the next one needs their memory
                    del self._made[next(iter(self._made))]
                found = FlatIndex(scorer, direction, gallery, self._gpu)
            self._made[key] = found  # behind the others
            return found

    @cached_property
    def _gpu(self) -> Gpu | None:
        return first_gpu(self.driver)

    def order_of(self, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None) -> Tops:
        """The k best of some queries, as ``order.order``; k is at most ``deepest`` of the gallery."""
        return self.with_ties(scorer, direction, queries, k, gallery).cut(k)

    def with_ties(self, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None) -> Tops:
        """As ``order_of``, with the items that tie with the last one."""
        assert isinstance(scorer, Dot)
        return certified(self.of(scorer, direction, gallery), queries, k)
