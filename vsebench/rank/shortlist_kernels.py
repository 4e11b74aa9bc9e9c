"""Compiled: the scores of a tile that can be among the best of their rows, packed row by row."""

from __future__ import annotations

import numba as nb
import numpy as np

MOST = np.int32((1 << 24) - 1)  # above the origin


@nb.njit(nogil=True, cache=True)
def keep(tile, limit, shift, origin, start, out):
    """List the scores of every row that are at least its limit, each in an integer with the column it stands in.

    A score less the shift of its row is more than zero, so its bits are in the order of the numbers: what they are
    above the origin is kept without the last of them, in the upper 24 bits; the column in the lower 8.

    Args:
        tile: (row, column) float32, at most 256 columns.
        limit, shift: (row,) float32.
        origin: (row,) int32, the bits of the limit less the shift.
        start: (row + 1,) int64, filled: what is kept of row r is ``out[start[r]:start[r + 1]]``.
        out: uint32, filled; room for every score of the tile and one more.
    """
    wide = tile.shape[1]
    less = np.empty(wide, np.float32)
    bits = less.view(np.int32)
    code = np.empty(wide, np.uint32)
    n = 0
    start[0] = 0
    for r in range(limit.shape[0]):
        row, least, away, first = tile[r], limit[r], shift[r], origin[r]
        for c in range(wide):
            less[c] = row[c] - away
        for c in range(wide):
            above = min(np.int32(bits[c] - first) >> np.int32(1), MOST)
            code[c] = (np.uint32(above) << np.uint32(8)) | np.uint32(c)
        # Written in any case and kept by advancing n: a branch would be mispredicted.
        for c in range(wide):
            out[n] = code[c]
            n += row[c] >= least
        start[r + 1] = n


@nb.njit(nogil=True, cache=True)
def append(start, kept, base, shift, origin, rows, items, scores, count):
    """Add what is kept of some rows to their lists.

    Args:
        start, kept, shift, origin: from ``keep``.
        base: added to the columns.
        rows: (list,) int64, which rows.
        items, scores: (list, width) int32 and float32, filled from ``count`` on.
        count: (list,) int64, how long the lists are; grows.
    """
    for i in range(rows.shape[0]):
        r, n = rows[i], count[i]
        own = kept[start[r] : start[r + 1]]
        item, score = items[i, n : n + own.shape[0]], scores[i, n : n + own.shape[0]]
        bits = score.view(np.int32)
        first, away = origin[r], shift[r]
        for j in range(own.shape[0]):
            item[j] = np.int32(own[j] & np.uint32(255)) + base
            bits[j] = first + (np.int32(own[j] >> np.uint32(8)) << np.int32(1)) + np.int32(1)
        for j in range(own.shape[0]):
            score[j] += away
        count[i] = n + own.shape[0]


@nb.njit(nogil=True, cache=True)
def count_over(start, kept, shift, origin, limit, count):
    """Add to ``count`` (row,) how many of the scores kept of every row are at least ``limit`` (row,)."""
    some = np.empty(256, np.float32)
    bits = some.view(np.int32)
    for r in range(limit.shape[0]):
        own = kept[start[r] : start[r + 1]]
        for j in range(own.shape[0]):
            bits[j] = origin[r] + (np.int32(own[j] >> np.uint32(8)) << np.int32(1)) + np.int32(1)
        n = 0
        for j in range(own.shape[0]):
            n += some[j] + shift[r] >= limit[r]
        count[r] += n
