"""Compiled: what of a tile can be among the best of its rows, kept one row after the other."""

from __future__ import annotations

import numba as nb
import numpy as np

SIDE = 16  # rows and columns turned together, a cache line each


@nb.njit(nogil=True, cache=True)
def keep(tile, limit, start, score, where):
    """List the scores of every row that are at least its limit.

    Args:
        tile: (row, column) float32, at most 256 columns.
        limit: (row,) float32.
        start: (row + 1,) int64, filled: what is kept of row r is ``score[start[r]:start[r + 1]]``.
        score: float32, filled; room for every score of the tile and one more.
        where: uint8, filled with the columns; as long.
    """
    n = 0
    start[0] = 0
    for r in range(tile.shape[0]):
        row, least = tile[r], limit[r]
        # Written always and kept by moving on: no branch to be guessed wrong.
        for c in range(row.shape[0]):
            score[n] = row[c]
            where[n] = np.uint8(c)
            n += row[c] >= least
        start[r + 1] = n


@nb.njit(nogil=True, cache=True)
def append(start, score, where, base, rows, items, scores, count):
    """Add what is kept of some rows to their lists.

    Args:
        start, score, where: from ``keep``.
        base: added to ``where``.
        rows: (list,) int64, which rows.
        items, scores: (list, width) int32 and float32, filled from ``count`` on.
        count: (list,) int64, how long the lists are; grows.
    """
    for i in range(rows.shape[0]):
        r, n = rows[i], count[i]
        for j in range(start[r], start[r + 1]):
            items[i, n] = np.int32(where[j]) + base
            scores[i, n] = score[j]
            n += 1
        count[i] = n


@nb.njit(nogil=True, cache=True)
def count_over(start, score, limit, count):
    """Add to ``count`` (row,) how many of the scores kept of every row are at least ``limit`` (row,)."""
    for r in range(limit.shape[0]):
        least = limit[r]
        n = 0
        for j in range(start[r], start[r + 1]):
            n += score[j] >= least
        count[r] += n


@nb.njit(nogil=True, cache=True)
def turn(tile, a, b, out):
    """``out`` (b - a, row) becomes the columns ``a:b`` of ``tile`` (row, column) as rows."""
    n = tile.shape[0]
    for r0 in range(0, n, SIDE):
        for c0 in range(a, b, SIDE):
            # Loops of constant length for whole squares: the compiler vectorises them.
            if r0 + SIDE <= n and c0 + SIDE <= b:
                for c in range(SIDE):
                    turned = out[c0 - a + c, r0 : r0 + SIDE]
                    for r in range(SIDE):
                        turned[r] = tile[r0 + r, c0 + c]
            else:
                for c in range(c0, min(c0 + SIDE, b)):
                    for r in range(r0, min(r0 + SIDE, n)):
                        out[c - a, r] = tile[r, c]
