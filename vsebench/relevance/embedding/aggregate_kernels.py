"""Kernels of caption-to-caption cosines made into image-to-caption gains.

One file, because the compiler's cache is keyed by the file of a function and not by the files of what it inlines.
"""

from __future__ import annotations

import numba as nb
import numpy as np

MAX, MEAN, FIRST = 0, 1, 2  # as in aggregate.AGGREGATES
IN, ONE, OUT = 0, 1, 2  # as in aggregate.OWN
# A product of equal unit vectors misses 1 by some roundings; distinct sentences stay clear of it.
CERTAIN = np.float32(1.0 - 2.0**-18)
LANES = 16


@nb.njit(nogil=True, cache=True, inline="always")
def _settled(value):
    """A cosine between -1 and 1, exactly 1 (or -1) for vectors that are equal (or opposite) up to rounding."""
    if value >= CERTAIN:
        return np.float32(1.0)
    if value <= -CERTAIN:
        return np.float32(-1.0)
    return value


@nb.njit(nogil=True, cache=True, inline="always")
def _raise(line, row):
    """Each entry of ``line`` becomes at least that of ``row``."""
    # Not max(): its care for NaN keeps the compiler from using vector instructions.
    for k in range(len(line)):
        line[k] = row[k] if row[k] > line[k] else line[k]


@nb.njit(nogil=True, cache=True)
def fold(product, r0, c0, first, a, b, c, d, by_caption, best, out):
    """Raise the gains of images ``a:b`` with captions ``c:d`` to the best of one tile of cosines.

    ``product`` (reference, candidate) float32 holds references from ``r0`` and captions from ``c0``; the
    references of image i are ``first[i]:first[i + 1]``. ``out`` is (caption, image) when ``by_caption``, else
    (image, caption), counted from ``c`` and ``a``. ``best`` (images of a tile, candidate) float32 is scratch.
    """
    height, width = product.shape
    # The images that have a reference in this tile.
    low = max(a, np.searchsorted(first, r0, side="right") - 1)
    high = min(b, np.searchsorted(first, r0 + height, side="left"))
    left, right = max(c - c0, 0), min(d - c0, width)
    if low >= high or left >= right:
        return
    for i in range(low, high):
        start, stop = max(first[i] - r0, 0), min(first[i + 1] - r0, height)
        line = best[i - low]
        line[:] = np.float32(-2.0)
        for r in range(start, stop):
            _raise(line, product[r])
        if start < stop:
            for k in range(width):
                line[k] = _settled(line[k])
    if by_caption:
        for k in range(left, right):
            row = out[k + c0 - c]
            for i in range(low, high):
                value = best[i - low, k]
                row[i - a] = value if value > row[i - a] else row[i - a]
    else:
        for i in range(low, high):
            _raise(out[i - a, left + c0 - c : right + c0 - c], best[i - low, left:right])


@nb.njit(nogil=True, cache=True)
def pluck(product, r0, c0, first, pair, image, caption, out):
    """Raise the gains of some pairs to the best of one tile of cosines.

    ``pair`` (n,) says which of the pairs ``image`` (pair,) and ``caption`` (pair,) have references in the tile;
    ``out`` (pair,) float32.
    """
    for p in pair:
        start = max(first[image[p]] - r0, 0)
        stop = min(first[image[p] + 1] - r0, product.shape[0])
        k = caption[p] - c0
        value = np.float32(-2.0)
        for r in range(start, stop):
            value = max(value, product[r, k])
        if start < stop:
            out[p] = max(out[p], _settled(value))


@nb.njit(nogil=True, cache=True, inline="always")
def _dot(x, y):
    """Inner product of float32 rows in float64, in one fixed order; the length is a multiple of LANES."""
    lane = np.zeros(LANES)
    for k in range(0, x.shape[0], LANES):
        a, b = x[k : k + LANES], y[k : k + LANES]
        for j in range(LANES):
            lane[j] += np.float64(a[j]) * np.float64(b[j])
    for width in (8, 4, 2, 1):
        for j in range(width):
            lane[j] += lane[j + width]
    return lane[0]


@nb.njit(nogil=True, cache=True)
def own_gains(vectors, blank, members, first, how, own, out):
    """The gain of every caption with its own image, (caption,) float32.

    ``vectors`` (caption, dim) float32 of unit length, or zeros where ``blank``; the captions of image i are
    ``members[first[i] : first[i + 1]]``, ascending.
    """
    for i in range(first.shape[0] - 1):
        start, stop = first[i], first[i + 1]
        for p in range(start, stop):
            j = members[p]
            if own == ONE:
                out[j] = 1.0
                continue
            if how == MAX and own == IN and not blank[j]:
                out[j] = 1.0
                continue
            total, most, seen = 0.0, -2.0, 0
            for q in range(start, stop):
                if q == p and own == OUT:
                    continue
                m = members[q]
                value = _dot(vectors[m], vectors[j])
                if m == j and not blank[j]:
                    value = 1.0
                total += value
                most = max(most, value)
                seen += 1
                if how == FIRST:
                    break
            if seen == 0:
                out[j] = 0.0
            elif how == MEAN:
                out[j] = _settled(np.float32(total / seen))
            else:
                out[j] = _settled(np.float32(most))
