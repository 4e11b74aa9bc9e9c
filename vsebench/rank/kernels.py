"""Compiled: the canonical inner product, and counting of scores above thresholds.

Counting: a pair of a query and a relevant item has a canonical score and two thresholds around it. A score above
``high`` is certainly above the canonical score, one below ``low`` certainly below it; what is between them is open and
listed, for the caller to compare canonical scores. Queries are the rows of a tile; the caller transposes tiles if the
columns are the queries.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

LANES = 32  # partial sums of the canonical product; enough to keep the vector units of a core busy
# Scores of a row compared with a threshold in one loop; its constant trip count allows vectorisation.
SPAN_ITEMS = 128
TRANSPOSE_SIDE = 32  # rows and columns transposed at a time


@nb.njit(nogil=True)
def dot64(x, y, lane):
    """Canonical inner product of two float32 rows, float64; ``lane`` (LANES,) float64 is scratch."""
    n = x.shape[0]
    stop = n - n % LANES
    lane[:] = 0
    for k in range(0, stop, LANES):
        a, b = x[k : k + LANES], y[k : k + LANES]
        for j in range(LANES):
            lane[j] += np.float64(a[j]) * np.float64(b[j])
    rest = 0.0
    for k in range(stop, n):
        rest += np.float64(x[k]) * np.float64(y[k])
    for width in (16, 8, 4, 2, 1):
        for j in range(width):
            lane[j] += lane[j + width]
    return lane[0] + rest


@nb.njit(nogil=True)
def pair_dots(x, y, rows, cols, row_scale, col_scale, out):
    """Canonical scores of given pairs; ``out`` (pair,) float64 is filled."""
    lane = np.empty(LANES)
    for p in range(rows.shape[0]):
        out[p] = dot64(x[rows[p]], y[cols[p]], lane) * (row_scale[rows[p]] * col_scale[cols[p]])


@nb.njit(nogil=True)
def _row_span(strip, high, low):
    """The numbers of scores, among SPAN, that are certainly above and that are not certainly below."""
    over = np.int32(0)
    possible = np.int32(0)
    for c in range(SPAN_ITEMS):
        over = np.int32(over + np.int32(strip[c] > high))
        possible = np.int32(possible + np.int32(strip[c] >= low))
    return over, possible


@nb.njit(nogil=True)
def count(tile, q0, g0, at, indptr, item, high, low, first, last, above, before, after, pair, other):
    """Add the counts of the pairs of the queries of a tile, and list what its scores leave open.

    Args:
        tile: (query, item) scores of queries from ``q0`` and items of the gallery from ``g0`` on.
        at: (3,) int64, the row, the pair and the column to begin with; changed to those to go on with, when the list is
            full. A row of -1 means the beginning.
        indptr: (query + 1,) int64, the pairs of each query.
        item, high, low: (pair,) index in the gallery, and thresholds of the dtype of the tile.
        first, last: (query,) int64, the candidates of a query are the items ``first:last``.
        above, before, after: (pair,) int32; increased by the numbers of candidates that score higher, and, where tiles
            are canonical (``high`` is ``low``), of those that tie at a lower and at a higher index.
        pair, other: (n,) int64, n at least SPAN; filled with open pairs, and the items to compare them with.

    Returns:
        How many are open; the tile is finished if ``at[0]`` is the number of its rows.
    """
    width, n, most = tile.shape[1], np.int64(0), len(pair) - SPAN_ITEMS
    for r in range(max(at[0], 0), tile.shape[0]):
        q = r + q0
        a, b = max(first[q] - g0, 0), min(last[q] - g0, width)
        resumed = r == at[0]
        row = tile[r]
        for p in range(at[1] if resumed else indptr[q], indptr[q + 1]):
            hi, lo, column = high[p], low[p], item[p] - g0
            total = np.int64(0)
            for s in range(at[2] if resumed and p == at[1] else a, b, SPAN_ITEMS):
                if n > most:
                    above[p] += total
                    at[0], at[1], at[2] = r, p, s
                    return n
                e = min(s + SPAN_ITEMS, b)
                if e - s == SPAN_ITEMS:
                    over, possible = _row_span(row[s:e], hi, lo)
                else:
                    over, possible = 0, 0
                    for c in range(s, e):
                        over += row[c] > hi
                        possible += row[c] >= lo
                total += over
                if possible - over == (s <= column < e):
                    continue
                for c in range(s, e):
                    if row[c] >= lo and not row[c] > hi and c != column:
                        if hi == lo:
                            side = before if c < column else after
                            side[p] += 1
                        else:
                            pair[n] = p
                            other[n] = c + g0
                            n += 1
            above[p] += total
    at[0] = tile.shape[0]
    return n


@nb.njit(nogil=True)
def transpose(tile, first, last, out):
    """The columns ``first:last`` of a tile as the rows of ``out``, in squares that fit the cache."""
    for r in range(0, tile.shape[0], TRANSPOSE_SIDE):
        for c in range(first, last, TRANSPOSE_SIDE):
            for j in range(c, min(c + TRANSPOSE_SIDE, last)):
                for i in range(r, min(r + TRANSPOSE_SIDE, tile.shape[0])):
                    out[j - first, i] = tile[i, j]
