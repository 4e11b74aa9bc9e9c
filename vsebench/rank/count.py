"""Rank counting: how many candidates score above each relevant pair, while the score tile is in cache.

A float32 score above ``high`` is certainly above the pair's exact score, one below ``low`` certainly below
it; what falls between is compared in float64. Tiles have images as rows and captions as columns; pairs
of image queries are counted along rows, pairs of caption queries along columns.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .exact import dot64

STRIP = 256  # columns looked at together; a constant trip count is what lets the compiler vectorise the loop
PIECE = 32  # columns looked at again when a strip holds an uncertain score


@nb.njit(nogil=True, cache=True, inline="always")
def _row_strip(strip, high, low):
    """How many of STRIP scores are certainly above, and how many are not certainly below."""
    over = np.int32(0)
    maybe = np.int32(0)
    for c in range(STRIP):
        over = np.int32(over + np.int32(strip[c] > high))
        maybe = np.int32(maybe + np.int32(strip[c] >= low))
    return over, maybe


@nb.njit(nogil=True, cache=True, inline="always")
def _row_piece(piece, high, low):
    """How many of PIECE scores are uncertain."""
    unsure = np.int32(0)
    for c in range(PIECE):
        unsure = np.int32(unsure + np.int32(np.int32(piece[c] >= low) - np.int32(piece[c] > high)))
    return unsure


@nb.njit(nogil=True, cache=True, inline="always")
def _column_strip(strip, high, low, over):
    """Add to ``over`` where certainly above; return how many scores are uncertain."""
    unsure = np.int32(0)
    for c in range(STRIP):
        more = np.int32(strip[c] > high[c])
        over[c] = np.int32(over[c] + more)
        unsure = np.int32(unsure + np.int32(np.int32(strip[c] >= low[c]) - more))
    return unsure


@nb.njit(nogil=True, cache=True, inline="always")
def _column_piece(piece, high, low):
    """How many of PIECE scores are uncertain, each against its own bounds."""
    unsure = np.int32(0)
    for c in range(PIECE):
        unsure = np.int32(unsure + np.int32(np.int32(piece[c] >= low[c]) - np.int32(piece[c] > high[c])))
    return unsure


@nb.njit(nogil=True, cache=True, inline="always")
def _exact(tile, x, y, row_scale, col_scale, r, c, r0, c0):
    # A score matrix has no vectors: its own entries are the canonical scores.
    if x.shape[1] == 0:
        return np.float64(tile[r - r0, c - c0])
    return dot64(x[r], y[c]) * row_scale[r] * col_scale[c]


@nb.njit(nogil=True, cache=True)
def count_rows(
    tile, r0, c0, start, stop, indptr, item, exact, high, low, first, last,
    x, y, row_scale, col_scale, above, before, after,
):  # fmt: skip
    """Add the counts of image-query pairs for tile rows ``start:stop``.

    ``indptr`` (row + 1,) delimits the pairs of each row; ``item`` their caption, ``exact`` the canonical
    score, ``high``/``low`` the certain bounds; candidates of row r are captions ``first[r]:last[r]``.
    ``above``, ``before``, ``after`` (pair,) grow by the numbers of candidates that score higher, tie with a
    lower index, and tie with a higher index.
    """
    width = tile.shape[1]
    for r in range(start, stop):
        a = max(first[r + r0] - c0, 0)
        b = min(last[r + r0] - c0, width)
        if a >= b:
            continue
        row = tile[r]
        for p in range(indptr[r + r0], indptr[r + r0 + 1]):
            hi, lo, score, own = high[p], low[p], exact[p], item[p]
            total = 0
            for s in range(a, b, STRIP):
                e = min(s + STRIP, b)
                if e - s == STRIP:
                    over, maybe = _row_strip(row[s:e], hi, lo)
                else:
                    over, maybe = 0, 0
                    for c in range(s, e):
                        over += row[c] > hi
                        maybe += row[c] >= lo
                total += over
                unsure = maybe - over
                if s + c0 <= own < e + c0:
                    unsure -= 1
                if unsure == 0:
                    continue
                for f in range(s, e, PIECE):
                    g = min(f + PIECE, e)
                    if g - f == PIECE and _row_piece(row[f:g], hi, lo) == 0:
                        continue
                    for c in range(f, g):
                        if row[c] >= lo and not row[c] > hi and c + c0 != own:
                            value = _exact(tile, x, y, row_scale, col_scale, r + r0, c + c0, r0, c0)
                            if value > score:
                                total += 1
                            elif value == score:
                                if c + c0 < own:
                                    before[p] += 1
                                else:
                                    after[p] += 1
            above[p] += total


@nb.njit(nogil=True, cache=True)
def _sweep(
    values, s0, s1, pair, col, high, low, over, r, tile, r0, c0, item, exact,
    x, y, row_scale, col_scale, before, after,
):  # fmt: skip
    """Compare one image row with thresholds ``s0:s1``: ``values`` are its scores at their captions."""
    for s in range(s0, s1, STRIP):
        e = min(s + STRIP, s1)
        if e - s == STRIP:
            unsure = _column_strip(values[s:e], high[s:e], low[s:e], over[s:e])
        else:
            unsure = 0
            for k in range(s, e):
                over[k] += values[k] > high[k]
                unsure += values[k] >= low[k] and not values[k] > high[k]
        if unsure == 0:
            continue
        for f in range(s, e, PIECE):
            g = min(f + PIECE, e)
            if g - f == PIECE and _column_piece(values[f:g], high[f:g], low[f:g]) == 0:
                continue
            for k in range(f, g):
                if values[k] >= low[k] and not values[k] > high[k]:
                    p = pair[k]
                    if item[p] == r + r0:
                        continue
                    value = _exact(tile, x, y, row_scale, col_scale, r + r0, col[k] + c0, r0, c0)
                    if value > exact[p]:
                        over[k] += 1
                    elif value == exact[p]:
                        if r + r0 < item[p]:
                            before[p] += 1
                        else:
                            after[p] += 1


@nb.njit(nogil=True, cache=True)
def count_columns(
    tile, r0, c0, start, stop, lead, lead_col, lead_high, lead_low, extra, extra_col, extra_high, extra_low,
    item, exact, first, last, x, y, row_scale, col_scale, above, before, after,
):  # fmt: skip
    """Add the counts of caption-query pairs for tile rows ``start:stop``.

    Every caption's first pair (``lead`` (width,), -1 for none) is compared with the row as it lies in memory;
    the pairs beyond the first (``extra`` with their tile column ``extra_col``, ascending, -1 for padding) with
    scores gathered from it. Candidates of caption column c are images whose row r has ``first[r] <= c < last[r]``.
    ``above``, ``before``, ``after`` (pair,) belong to this thread alone.
    """
    width = tile.shape[1]
    lead_over = np.zeros(width, np.int32)
    extra_over = np.zeros(len(extra), np.int32)
    gathered = np.empty(len(extra), tile.dtype)
    for r in range(start, stop):
        a = max(first[r + r0] - c0, 0)
        b = min(last[r + r0] - c0, width)
        if a >= b:
            continue
        row = tile[r]
        _sweep(
            row, a, b, lead, lead_col, lead_high, lead_low, lead_over, r, tile, r0, c0, item, exact,
            x, y, row_scale, col_scale, before, after,
        )  # fmt: skip
        ea, eb = np.searchsorted(extra_col, a), np.searchsorted(extra_col, b)
        for k in range(ea, eb):
            gathered[k] = row[extra_col[k]]
        _sweep(
            gathered, ea, eb, extra, extra_col, extra_high, extra_low, extra_over, r, tile, r0, c0, item, exact,
            x, y, row_scale, col_scale, before, after,
        )  # fmt: skip
    for c in range(width):
        if lead[c] >= 0:
            above[lead[c]] += lead_over[c]
    for k in range(len(extra)):
        if extra[k] >= 0:
            above[extra[k]] += extra_over[k]
