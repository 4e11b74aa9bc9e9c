"""Compiled kernels that aggregate cosines of captions over the captions of an image.

They are in one file because numba's cache is keyed by the file of a function, not by the files of inlined functions.
"""

from __future__ import annotations

import numpy as np

from ...numeric import compiled as nb

MAX, MEAN, FIRST = 0, 1, 2  # indices in kinds.sentence.AGGREGATES
IN, ONE, OUT = 0, 1, 2  # indices in kinds.sentence.OWN
# The product of equal unit vectors differs from 1 by rounding; those of distinct sentences differ by more than this.
CERTAIN = np.float32(1.0 - 2.0**-18)
LANES = 16


@nb.njit(nogil=True, cache=True, inline="always")
def _exact_one(value):
    """A cosine within [-1, 1], exactly 1 (or -1) where vectors are equal (or opposite) up to rounding."""
    if value >= CERTAIN:
        return np.float32(1.0)
    if value <= -CERTAIN:
        return np.float32(-1.0)
    return value


@nb.njit(nogil=True, cache=True, inline="always")
def _maximum(line, row):
    """Elementwise maximum of ``line`` and ``row``, into ``line``."""
    # max() handles NaN, which prevents vector instructions.
    for k in range(len(line)):
        line[k] = row[k] if row[k] > line[k] else line[k]


@nb.njit(nogil=True, cache=True)
def fold_tile(product, r0, c0, first, a, b, c, d, by_caption, best, out):
    """Update the maxima of images ``a:b`` with captions ``c:d`` by one tile of cosines.

    ``product`` (reference, candidate) float32 has the references from ``r0`` on and the captions from ``c0`` on; the
    references of image i are ``first[i]:first[i + 1]``. ``out`` is (caption, image) if ``by_caption``, else
    (image, caption), its first caption ``c`` and its first image ``a``. ``best`` (images of a tile, candidate)
    float32 is work space.
    """
    height, width = product.shape
    # The images with a reference in this tile.
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
            _maximum(line, product[r])
        if start < stop:
            for k in range(width):
                line[k] = _exact_one(line[k])
    if by_caption:
        for k in range(left, right):
            row = out[k + c0 - c]
            for i in range(low, high):
                value = best[i - low, k]
                row[i - a] = value if value > row[i - a] else row[i - a]
    else:
        for i in range(low, high):
            _maximum(out[i - a, left + c0 - c : right + c0 - c], best[i - low, left:right])


@nb.njit(nogil=True, cache=True)
def fold_pairs(product, r0, c0, first, pair, image, caption, out):
    """Update the maxima of some pairs by one tile of cosines.

    ``pair`` (n,) are the indices of the pairs, among ``image`` (pair,) and ``caption`` (pair,), with references in
    the tile; ``out`` (pair,) float32.
    """
    for p in pair:
        start = max(first[image[p]] - r0, 0)
        stop = min(first[image[p] + 1] - r0, product.shape[0])
        k = caption[p] - c0
        value = np.float32(-2.0)
        for r in range(start, stop):
            value = max(value, product[r, k])
        if start < stop:
            out[p] = max(out[p], _exact_one(value))


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
def own_gains(vectors, zero, members, first, how, own, out):
    """The gain of every caption with its own image, (caption,) float32.

    ``vectors`` (caption, dim) float32 have unit norm, or are zero where ``zero``; the captions of image i are
    ``members[first[i] : first[i + 1]]``, ascending. ``how`` and ``own`` are MAX, MEAN or FIRST and IN, ONE or OUT.
    """
    for i in range(first.shape[0] - 1):
        start, stop = first[i], first[i + 1]
        for p in range(start, stop):
            j = members[p]
            if own == ONE:
                out[j] = 1.0
                continue
            if how == MAX and own == IN and not zero[j]:
                out[j] = 1.0
                continue
            total, most, seen = 0.0, -2.0, 0
            for q in range(start, stop):
                if q == p and own == OUT:
                    continue
                m = members[q]
                value = _dot(vectors[m], vectors[j])
                if m == j and not zero[j]:
                    value = 1.0
                total += value
                most = max(most, value)
                seen += 1
                if how == FIRST:
                    break
            if seen == 0:
                out[j] = 0.0
            elif how == MEAN:
                out[j] = _exact_one(np.float32(total / seen))
            else:
                out[j] = _exact_one(np.float32(most))
