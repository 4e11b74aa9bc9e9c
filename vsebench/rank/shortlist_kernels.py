"""Compiled: the scores of a tile that can be among the best of their rows, packed row by row."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

MOST = np.int32((1 << 24) - 1)  # above the origin


@nb.njit(nogil=True, cache=True)
def keep(tile, left, width, limit, shift, origin, shifted, bits, code, start, out):
    """List the scores of every row that are at least its limit, each packed into an integer with its column.

    A score minus the shift of its row is positive, so bit patterns are in the order of the numbers. The upper 24 bits
    of the integer are the difference of the pattern and the origin, without its last bit; the lower 8 are the column.

    Args:
        tile: (row, column) float32, of which ``width`` columns from ``left`` on are used, at most 256.
        limit, shift: (row,) float32.
        origin: (row,) int32, the bits of the limit minus the shift.
        shifted, bits, code: (256,) float32, its bits as int32, and uint32; overwritten. Made here, they would take
            0.4 s more to compile.
        start: (row + 1,) int64, filled; row r is packed in ``out[start[r]:start[r + 1]]``.
        out: uint32, filled; one longer than the number of scores of the tile.
    """
    n = 0
    start[0] = 0
    for r in range(limit.shape[0]):
        row, least, offset, first = tile[r, left : left + width], limit[r], shift[r], origin[r]
        for c in range(width):
            shifted[c] = row[c] - offset
        for c in range(width):
            above = np.int32(bits[c] - first) >> np.int32(1)
            code[c] = (np.uint32(above if above < MOST else MOST) << np.uint32(8)) | np.uint32(c)
        # Always written and kept by advancing n: a branch would be mispredicted.
        for c in range(width):
            out[n] = code[c]
            n += row[c] >= least
        start[r + 1] = n


@nb.njit(nogil=True, cache=True)
def append(start, kept, base, shift, origin, rows, items, scores, patterns, count):
    """Append the kept scores of some rows to their lists.

    Args:
        start, kept, shift, origin: from ``keep``.
        base: added to the columns.
        rows: (list,) int64, the rows.
        items, scores: (list, width) int32 and float32, filled from ``count`` on.
        patterns: the bits of ``scores`` as int32.
        count: (list,) int64, lengths of the lists; increased.
    """
    for i in range(rows.shape[0]):
        r, n = rows[i], count[i]
        packed = kept[start[r] : start[r + 1]]
        item, score = items[i, n : n + packed.shape[0]], scores[i, n : n + packed.shape[0]]
        bits, first, offset = patterns[i, n : n + packed.shape[0]], origin[r], shift[r]
        for j in range(packed.shape[0]):
            item[j] = np.int32(packed[j] & np.uint32(255)) + base
            bits[j] = first + (np.int32(packed[j] >> np.uint32(8)) << np.int32(1)) + np.int32(1)
        for j in range(packed.shape[0]):
            score[j] += offset
        count[i] = n + packed.shape[0]


@nb.njit(nogil=True, cache=True)
def count_over(start, kept, shift, origin, limit, some, bits, count):
    """Add to ``count`` (row,) the number of kept scores of every row that are at least ``limit`` (row,).

    ``some`` (256,) float32 and ``bits``, its bits as int32, are overwritten.
    """
    for r in range(limit.shape[0]):
        packed = kept[start[r] : start[r + 1]]
        for j in range(packed.shape[0]):
            bits[j] = origin[r] + (np.int32(packed[j] >> np.uint32(8)) << np.int32(1)) + np.int32(1)
        n = 0
        for j in range(packed.shape[0]):
            n += some[j] + shift[r] >= limit[r]
        count[r] += n
