"""Compiled: rows of numbers in descending order.

A number is mapped to an integer, linear in the bits of its distance from the smallest of the row, so about in the
logarithm of this distance: gains are at least zero and spread over orders of magnitude, and most scores are in the
upper half of their range. Integers are sorted by radix, their two digits one after the other, and numbers with equal
integers by insertion.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from . import compiled as nb

SAMPLE = 1024  # numbers of a row, about, from which its range is estimated
SCORE_BITS, GAIN_BITS = 3, 5  # of the exponent: distances below 1/256, or 2^-32, of the range get the same integer
ABOVE = 1 << 22  # integers are left for numbers up to 1.5 times the range
MOST = np.float32(3e38)
MOST_MOVES = 8  # times the length of a row


@nb.njit(nogil=True, cache=True)
def sort_rows(values, count, digit, tally, distance, pattern, keys, other, places, ordered):
    """Fill ``places`` int32 and ``ordered`` float32 (row, width) with positions and numbers in descending order.

    A row that would take more than ``MOST_MOVES`` moves a number is left out: its first place is -1.

    Args:
        values: (row, width) float32 without NaN; a row has ``count[row]`` numbers.
        digit: bits of half of an integer.
        tally: (2, 2 ** digit) uint32, overwritten, as are the following.
        distance, pattern: (width + 1,) float32, and its bits as int32.
        keys, other: (width,) uint64; an integer in the upper, the position in the lower half.
    """
    half, top, mask = np.uint64(32), np.int32((1 << 2 * digit) - 1), np.uint32((1 << digit) - 1)
    low_tally, high_tally = tally[0], tally[1]
    for q in range(values.shape[0]):
        v, n, place, out = values[q], count[q], places[q], ordered[q]
        low, high = MOST, -MOST
        for j in range(0, n, 1 + n // SAMPLE):
            if v[j] < low and v[j] > -MOST:
                low = v[j]
            if v[j] > high and v[j] < MOST:
                high = v[j]
        if high < low:  # no finite number
            low = high = np.float32(0)
        for j in range(n):
            distance[j] = v[j] - low
        distance[n] = high - low
        drop = np.int32(23 + (SCORE_BITS if low < 0 else GAIN_BITS) - 2 * digit)
        last = np.int32(pattern[n] + ABOVE)
        first = np.int32(last - (top << drop))
        if first < 0:  # 0 and -0 get the same integer
            first = np.int32(0)
        for j in range(low_tally.shape[0]):
            low_tally[j] = high_tally[j] = 0
        for j in range(n):
            x = pattern[j]
            x = first if x < first else last if x > last else x
            code = np.uint32(top - (np.int32(x - first) >> drop))
            keys[j] = (np.uint64(code) << half) | np.uint64(j)
            low_tally[code & mask] += 1
            high_tally[code >> np.uint32(digit)] += 1
        before = after = 0
        for j in range(low_tally.shape[0]):  # from numbers of keys to the place of the first
            before, low_tally[j] = before + low_tally[j], before
            after, high_tally[j] = after + high_tally[j], after
        for j in range(n):
            at = np.uint32(keys[j] >> half) & mask
            other[low_tally[at]] = keys[j]
            low_tally[at] += 1
        for j in range(n):
            at = np.uint32(other[j] >> (half + np.uint64(digit)))
            keys[high_tally[at]] = other[j]
            high_tally[at] += 1
        left, least = MOST_MOVES * n, np.float32(np.inf)
        for j in range(n):
            at = np.uint32(keys[j])
            i, x = j, v[at]
            if x > least:
                while i > 0 and out[i - 1] < x:
                    place[i], out[i] = place[i - 1], out[i - 1]
                    i -= 1
                left -= j - i
                if left < 0:
                    place[0] = -1
                    break
            else:
                least = x
            place[i], out[i] = np.int32(at), x


@nb.njit(nogil=True, cache=True)
def pick(items, places, count):
    """Replace the first ``count`` places of every row by the items there: ``items[q, places[q, i]]``."""
    for q in range(places.shape[0]):
        for i in range(count[q]):
            places[q, i] = items[q, np.uint32(places[q, i])]
