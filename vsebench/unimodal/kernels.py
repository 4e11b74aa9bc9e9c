"""Compiled: squared distances in one fixed order of summation, overlaps of masks.

The difference of two float32 numbers is rounded at most once in float64 and the order of summation is fixed, so
neither block size nor number of threads changes a digit, and equal vectors have equal distances.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

LANES = 32  # partial sums, enough to keep the vector units of a core busy
STRIP = 256  # columns with distances summed together, within the cache of a core


@nb.njit(nogil=True, inline="always")
def _squared(x, y):
    """Squared Euclidean distance of two rows, float64."""
    n = x.shape[0]
    stop = n - n % LANES
    lane = np.zeros(LANES)
    for k in range(0, stop, LANES):
        a, b = x[k : k + LANES], y[k : k + LANES]
        for j in range(LANES):
            d = np.float64(a[j]) - np.float64(b[j])
            lane[j] += d * d
    rest = 0.0
    for k in range(stop, n):
        d = np.float64(x[k]) - np.float64(y[k])
        rest += d * d
    for width in (16, 8, 4, 2, 1):
        for j in range(width):
            lane[j] += lane[j + width]
    return lane[0] + rest


@nb.njit(nogil=True)
def pair_squares(x, y, rows, cols, out):
    """Squared distances of given pairs of float32 rows; ``out`` (pair,) float64 is filled."""
    for p in range(rows.shape[0]):
        out[p] = _squared(x[rows[p]], y[cols[p]])


@nb.njit(nogil=True)
def label_distances(queries, columns, out):
    """Euclidean distances of label vectors.

    Args:
        queries: (block, dim) float64.
        columns: (dim, gallery) float64, labels of the gallery, one a column.
        out: (block, gallery) float64, filled.
    """
    dim, n = columns.shape
    total = np.empty(STRIP)
    for start in range(0, n, STRIP):
        width = min(STRIP, n - start)
        for r in range(queries.shape[0]):
            total[:] = 0.0
            for k in range(dim):
                value = queries[r, k]
                strip = columns[k, start : start + width]
                for c in range(width):
                    d = strip[c] - value
                    total[c] += d * d
            for c in range(width):
                out[r, start + c] = np.sqrt(total[c])


@nb.njit(nogil=True, inline="always")
def _ones(word):
    """Number of bits set in a 64-bit word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@nb.njit(nogil=True)
def _common(a, b):
    """Number of bits set in both of two bit sets."""
    total = np.uint64(0)
    for w in range(a.shape[0]):
        total += _ones(a[w] & b[w])
    return np.int64(total)


@nb.njit(nogil=True)
def mask_distances(queries, gallery, start, classes, bits, size, valid, partial, out):
    """1 - mIoU of label maps: the mean over the classes that occur in either of intersection over union.

    Args:
        queries: (block,) items.
        gallery: (gallery,) items.
        start: (item + 1,) where the classes of an item begin.
        classes: (occurrence,) class numbers, ascending inside an item.
        bits: (occurrence, word) uint64, the pixels of the class.
        size: (occurrence,) int64, their number.
        valid: (item, word) uint64, the pixels that have a label.
        partial: (item,) bool, some pixel has none. Pixels without a label in either item are left out for both.
        out: (block, gallery) float64, filled; NaN for two maps that share no class and no labelled pixel.
    """
    for r in range(queries.shape[0]):
        a = queries[r]
        for c in range(gallery.shape[0]):
            b = gallery[c]
            cut = partial[a] or partial[b]
            i, j = start[a], start[b]
            total = 0.0
            union_classes = 0
            while i < start[a + 1] or j < start[b + 1]:
                left = i < start[a + 1] and (j >= start[b + 1] or classes[i] <= classes[j])
                right = j < start[b + 1] and (i >= start[a + 1] or classes[j] <= classes[i])
                in_a, in_b, both = 0, 0, 0
                if left:
                    in_a = _common(bits[i], valid[b]) if cut else size[i]
                if right:
                    in_b = _common(bits[j], valid[a]) if cut else size[j]
                if left and right:
                    both = _common(bits[i], bits[j])
                union = in_a + in_b - both
                if union > 0:
                    union_classes += 1
                    total += both / union
                i += left
                j += right
            out[r, c] = 1.0 - total / union_classes if union_classes > 0 else np.nan
