"""Compiled: radix sort of rows of float32 numbers, and positions replaced by the items there."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from . import compiled as nb

BINS = 2048  # of a digit: three digits of 11 bits
MASK = np.uint32(BINS - 1)
SIGN_BIT = np.uint32(1 << 31)
MINUS_ZERO = SIGN_BIT


@nb.njit(nogil=True)
def _reversed(x):
    """A number's bits as an integer that descends while the number ascends; its own inverse."""
    return x if x & SIGN_BIT else x ^ np.uint32(0x7FFFFFFF)


@nb.njit(nogil=True)
def _starts(count):
    """Replace the number of keys of every digit (BINS,) by the number of keys with a lower one."""
    at = np.int32(0)
    for d in range(BINS):
        n = count[d]
        count[d] = at
        at += n


@nb.njit(nogil=True)
def radix(bits, count, places, ordered):
    """Fill ``places`` int32 and ``ordered`` uint32 (row, width) with positions and numbers in descending order.

    ``bits`` (row, width) uint32 are those of float32 numbers without NaN, of which a row has ``count[row]``, and so are
    those of ``ordered``. Equal numbers keep their order. -0 is sorted as 0 and becomes 0.
    """
    width = bits.shape[1]
    key, other = np.empty(width, np.uint32), np.empty(width, np.uint32)
    item = np.empty(width, np.int32)
    low, middle, high = np.empty(BINS, np.int32), np.empty(BINS, np.int32), np.empty(BINS, np.int32)
    for q in range(bits.shape[0]):
        n, place, out = count[q], places[q], ordered[q]
        low[:] = 0
        middle[:] = 0
        high[:] = 0
        for j in range(n):
            x = bits[q, j]
            x = _reversed(np.uint32(0) if x == MINUS_ZERO else x)
            key[j] = x
            low[x & MASK] += np.int32(1)
            middle[(x >> np.uint32(11)) & MASK] += np.int32(1)
            high[x >> np.uint32(22)] += np.int32(1)
        _starts(low)
        _starts(middle)
        _starts(high)
        for j in range(n):
            x = key[j]
            d = x & MASK
            at = np.uint32(low[d])
            low[d] += np.int32(1)
            other[at] = x
            place[at] = np.int32(j)
        for j in range(n):
            x = other[j]
            d = (x >> np.uint32(11)) & MASK
            at = np.uint32(middle[d])
            middle[d] += np.int32(1)
            key[at] = x
            item[at] = place[j]
        for j in range(n):
            x = key[j]
            d = x >> np.uint32(22)
            at = np.uint32(high[d])
            high[d] += np.int32(1)
            place[at] = item[j]
            out[at] = _reversed(x)


@nb.njit(nogil=True)
def pick(items, places, count):
    """Replace the first ``count`` places of every row by the items there: ``items[q, places[q, i]]``."""
    for q in range(places.shape[0]):
        for i in range(count[q]):
            places[q, i] = items[q, np.uint32(places[q, i])]
