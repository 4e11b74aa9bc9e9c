"""Compiled: the canonical inner product, and counting of scores above thresholds.

They share one file because the compiler caches a function by its file, not by the files of the functions it inlines.

Counting: a pair of a query and a relevant item has a canonical score ``exact`` and two thresholds around it. A float32
score above ``high`` is certainly above ``exact``, one below ``low`` certainly below it; scores between them are
uncertain and compared in float64. The rows of a tile are images, its columns captions; pairs of image queries are
counted along rows, pairs of caption queries along columns.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

LANES = 32  # partial sums of the canonical product; enough to keep the vector units of a core busy
STRIP = 128  # columns compared in one loop; a constant trip count lets the compiler vectorise it
ROWS = 4  # image rows compared with the same thresholds at once, so that bounds and counts are loaded once
SPAN = 128  # columns of a row that are compared with a threshold in one loop
PIECE = 32  # columns compared again when a strip has an uncertain score


@nb.njit(nogil=True, cache=True)
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


@nb.njit(nogil=True, cache=True)
def pair_dots(x, y, rows, cols, row_scale, col_scale, out):
    """Canonical scores of given pairs; ``out`` (pair,) float64 is filled."""
    lane = np.empty(LANES)
    for p in range(rows.shape[0]):
        out[p] = dot64(x[rows[p]], y[cols[p]], lane) * (row_scale[rows[p]] * col_scale[cols[p]])


@nb.njit(nogil=True, cache=True)
def _row_span(strip, high, low):
    """The numbers of scores, among SPAN, that are certainly above and that are not certainly below."""
    over = np.int32(0)
    possible = np.int32(0)
    for c in range(SPAN):
        over = np.int32(over + np.int32(strip[c] > high))
        possible = np.int32(possible + np.int32(strip[c] >= low))
    return over, possible


@nb.njit(nogil=True, cache=True)
def _column_strip(block, s, high, low, over):
    """Add to ``over`` the scores of four rows that are certainly above; return the number of uncertain scores."""
    one, two, three, four = block[0, s:], block[1, s:], block[2, s:], block[3, s:]
    uncertain = np.int32(0)
    for c in range(STRIP):
        h, m = high[c], low[c]
        more = np.int32(np.int32(one[c] > h) + np.int32(two[c] > h) + np.int32(three[c] > h) + np.int32(four[c] > h))
        most = np.int32(
            np.int32(one[c] >= m) + np.int32(two[c] >= m) + np.int32(three[c] >= m) + np.int32(four[c] >= m)
        )
        over[c] = np.int32(over[c] + more)
        uncertain = np.int32(uncertain + np.int32(most - more))
    return uncertain


@nb.njit(nogil=True, cache=True)
def _column_piece(piece, high, low):
    """The number of uncertain scores among PIECE, each with its own thresholds."""
    uncertain = np.int32(0)
    for c in range(PIECE):
        uncertain = np.int32(uncertain + np.int32(np.int32(piece[c] >= low[c]) - np.int32(piece[c] > high[c])))
    return uncertain


@nb.njit(nogil=True, cache=True)
def _exact(tile, x, y, row_scale, col_scale, r, c, r0, c0, sums):
    # A score matrix has no vectors: its own entries are the canonical scores.
    if x.shape[1] == 0:
        return np.float64(tile[r - r0, c - c0])
    return dot64(x[r], y[c], sums) * (row_scale[r] * col_scale[c])


@nb.njit(nogil=True, cache=True)
def count_rows(
    tile, r0, c0, indptr, item, exact, high, low, first, last,
    x, y, row_scale, col_scale, above, before, after,
):  # fmt: skip
    """Add the counts of the pairs of image queries over the rows of a tile.

    Args:
        tile: (image, caption) scores of images from ``r0`` and captions from ``c0`` on.
        indptr: (image + 1,) int64, the pairs of each image.
        item, exact, high, low: (pair,) caption, canonical score and thresholds.
        first, last: (image,) int64, the candidates of image r are captions ``first[r]:last[r]``.
        x, y, row_scale, col_scale: what a canonical score is computed from (``Scorer.exact_arguments``).
        above, before, after: (pair,) int32; increased by the numbers of candidates that score higher, tie at a lower
            index, and tie at a higher index.
    """
    width = tile.shape[1]
    sums = np.empty(LANES)
    for r in range(tile.shape[0]):
        a, b = max(first[r + r0] - c0, 0), min(last[r + r0] - c0, width)
        if a >= b or indptr[r + r0] == indptr[r + r0 + 1]:
            continue
        row = tile[r]
        for p in range(indptr[r + r0], indptr[r + r0 + 1]):
            hi, lo, score, own = high[p], low[p], exact[p], item[p]
            total = 0
            for s in range(a, b, SPAN):
                e = min(s + SPAN, b)
                if e - s == SPAN:
                    over, possible = _row_span(row[s:e], hi, lo)
                else:
                    over, possible = 0, 0
                    for c in range(s, e):
                        over += row[c] > hi
                        possible += row[c] >= lo
                total += over
                uncertain = possible - over
                if s + c0 <= own < e + c0:
                    uncertain -= 1
                if uncertain == 0:
                    continue
                for c in range(s, e):
                    if row[c] >= lo and not row[c] > hi and c + c0 != own:
                        value = _exact(tile, x, y, row_scale, col_scale, r + r0, c + c0, r0, c0, sums)
                        if value > score:
                            total += 1
                        elif value == score:
                            side = before if c + c0 < own else after
                            side[p] += 1
            above[p] += total


@nb.njit(nogil=True, cache=True)
def _compare_rows(
    block, n, s0, s1, col, high, low, above, r, tile, r0, c0, item, exact,
    x, y, row_scale, col_scale, before, after, sums,
):  # fmt: skip
    """Compare the scores ``block`` (row, pair) of ``n`` image rows from ``r`` on with thresholds ``s0:s1``."""
    for s in range(s0, s1, STRIP):
        e = min(s + STRIP, s1)
        full = e - s == STRIP and n == ROWS
        if full and _column_strip(block, s, high[s:e], low[s:e], above[s:e]) == 0:
            continue
        for i in range(n):
            values = block[i]
            for f in range(s, e, PIECE):
                g = min(f + PIECE, e)
                if full and g - f == PIECE and _column_piece(values[f:g], high[f:g], low[f:g]) == 0:
                    continue
                for p in range(f, g):
                    if values[p] > high[p]:
                        if not full:
                            above[p] += 1
                    elif values[p] >= low[p]:
                        if item[p] == r + i + r0:
                            continue
                        value = _exact(tile, x, y, row_scale, col_scale, r + i + r0, col[p] + c0, r0, c0, sums)
                        if value > exact[p]:
                            above[p] += 1
                        elif value == exact[p]:
                            side = before if r + i + r0 < item[p] else after
                            side[p] += 1


@nb.njit(nogil=True, cache=True)
def count_columns(
    tile, r0, c0, col, start, high, low, item, exact, first, last,
    x, y, row_scale, col_scale, above, before, after,
):  # fmt: skip
    """Add the counts of the pairs of caption queries over the rows of a tile.

    Args:
        col: (pair,) uint32 the column of every pair, ascending; those from column c on begin at ``start[c]``.
        high, low: (pair,) thresholds. With ``col`` and ``above`` they are padded to complete strips.
        item, exact: (pair,) image and canonical score.
        first, last: (image,) int64, image r is a candidate of captions ``first[r]:last[r]``.
        above, before, after: (pair,) int32, increased as by ``count_rows``; not shared with other threads.
    """
    width = tile.shape[1]
    gathered, sums = np.empty((ROWS, len(col)), tile.dtype), np.empty(LANES)
    r = np.int64(0)  # a literal is a type of its own, for which functions are compiled again
    while r < tile.shape[0]:
        a, b = max(first[r + r0] - c0, 0), min(last[r + r0] - c0, width)
        n = 1
        most = min(ROWS, tile.shape[0] - r)
        while n < most and first[r + n + r0] == first[r + r0] and last[r + n + r0] == last[r + r0]:
            n += 1
        if a < b:
            for i in range(n):
                row = tile[r + i]
                for p in range(start[a], start[b]):
                    gathered[i, p] = row[col[p]]
            _compare_rows(
                gathered, n, start[a], start[b], col, high, low, above, r, tile, r0, c0, item, exact,
                x, y, row_scale, col_scale, before, after, sums,
            )  # fmt: skip
        r += n
