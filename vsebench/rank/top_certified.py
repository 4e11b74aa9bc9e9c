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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..types import Bool, Float, Int, Vectors
from .faiss_index import MOST_ITEMS, FlatIndex
from .full_order import parts_of

MARGIN = 16  # candidates beyond k that are listed at first
FAST = 100  # deepest lists made on a processor: the heaps of FAISS take longer than all scores from about 200 on


@dataclass(frozen=True, eq=False)
class Tops:
    """The k best candidates of some queries, and those that tie with the last of them.

    Attributes:
        queries: (query,) int64, ascending.
        start: (query + 1,) int64; the entries of query i are ``start[i]:start[i + 1]``, at least k.
        positions: (entry,) int64 among the candidates of the index; of every query by canonical score descending, then
            the lower position.
        scores: (entry,) float64 canonical scores.
    """

    queries: Int
    start: Int
    positions: Int
    scores: Float

    @property
    def row(self) -> Int:
        """(entry,) int64 position of the query in ``queries``."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.start))

    def first(self, k: int) -> Int:
        """(query, k) int64: which entries are the k best."""
        return np.asarray(self.start[:-1, None] + np.arange(k))


def deepest(gallery: int, gpu: bool) -> int:
    """The largest depth of lists from an index of a gallery, on a GPU or on the processor."""
    most = gallery if gallery <= MOST_ITEMS else MOST_ITEMS - MARGIN
    return most if gpu else min(most, FAST)


def tops(index: FlatIndex, queries: Int, k: int) -> Iterator[Tops]:
    """The k best of some queries, each query in one of the parts.

    Args:
        index: of the gallery.
        queries: (query,) int64 indices, ascending.
        k: from 1 to the number of candidates.
    """
    most, width = min(MOST_ITEMS, index.size), min(k + MARGIN, index.size)
    left, apart = queries, queries[:0]
    while len(left) and width <= most:
        scores, found = index.search(left, width)
        least = _least(scores[:, k - 1], index.error[left])
        complete = ((scores[:, -1] < least) | (width == index.size)) & np.isfinite(least)
        row, column = np.nonzero((scores >= least[:, None]) & complete[:, None])
        positions, values = found[row, column], scores[row, column]
        exact = index.pairs(left[row], positions)
        # Where an index rounds more than float32 does, or lists too little, its lists certify nothing.
        wrong = np.bincount(row, (positions < 0) | ~(np.abs(values - exact) <= index.error[left[row]]), len(left)) > 0
        apart = np.concatenate([apart, left[wrong]])
        yield _sorted(left, complete & ~wrong, row, positions, exact, k)
        left = left[~complete]
        if width == most:
            break
        width = min(2 * width, most)
    for some in parts_of(np.sort(np.concatenate([left, apart])), index.size):
        scores = index.rows(some)
        kth = np.partition(scores, index.size - k, axis=1)[:, index.size - k]
        row, positions = np.nonzero(scores >= _least(kth, index.error[some])[:, None])
        exact = index.pairs(some[row], positions)
        yield _sorted(some, np.ones(len(some), np.bool_), row, positions, exact, k)


def _sorted(queries: Int, chosen: Bool, row: Int, positions: Int, exact: Float, k: int) -> Tops:
    """The k best of the chosen queries, of all candidates that can be among them.

    Args:
        queries: (query,) int64 indices.
        chosen: (query,) which of them.
        row: (candidate,) int64 position in ``queries``, ascending.
        positions, exact: (candidate,) position in the gallery and canonical score.
        k: depth of the lists.
    """
    kept = chosen[row]
    row, positions, exact = (np.cumsum(chosen) - 1)[row[kept]], positions[kept], exact[kept]
    order = np.lexsort((positions, -exact, row))
    positions, exact = positions[order], exact[order]
    first = np.searchsorted(row, np.arange(chosen.sum() + 1))
    among = exact >= exact[first[:-1] + k - 1][row]
    return Tops(queries[chosen], np.searchsorted(row[among], np.arange(len(first))), positions[among], exact[among])


def _least(kth: Vectors, error: Float) -> Float:
    """(query,) the least float32 score of a candidate that can be among the k best."""
    return np.asarray(kth.astype(np.float64) - 2 * error)
