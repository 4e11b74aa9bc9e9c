"""Compiled: numbers packed with their positions into integer keys, and the order of numbers from sorted keys.

Scores are distributed symmetrically about their mean, so their integers are linear in the number. Gains are at least
zero and spread over orders of magnitude, so their integers are about linear in the logarithm.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from . import compiled as nb

CODE_BITS = 24  # of 64: a float32 has no more digits
LANES = 16  # partial results of a sum or a limit, which let the compiler vectorise
WIDE = np.float32(3.5)  # standard deviations about the mean that get most of the integers
SKIP = 4  # the limits of a long row are estimated from one number in so many
MOST = np.float32(3e38)
ZERO = np.float32(0)
MOST_MOVES = 8  # times the length of a row


@nb.njit(nogil=True, cache=True)
def _limits(v, n):
    """Approximate finite minimum and maximum of ``v[:n]``, and the limits of the range that most numbers are in."""
    low = np.full(LANES, np.inf, np.float32)
    high = np.full(LANES, -np.inf, np.float32)
    total = np.zeros(LANES, np.float32)
    squares = np.zeros(LANES, np.float32)
    origin = v[n // 2] if abs(v[n // 2]) < MOST else np.float32(0)
    sampled = 0
    for s in range(0, n, LANES * (SKIP if n > SKIP * SKIP * LANES else 1)):
        part = v[min(s, max(n - LANES, 0)) : n]
        sampled += min(LANES, n)
        for j in range(min(LANES, n)):
            x = part[j] if abs(part[j]) < MOST else origin
            low[j] = min(low[j], x)
            high[j] = max(high[j], x)
            total[j] += x - origin
            squares[j] += (x - origin) * (x - origin)
    lowest, highest = low.min(), high.max()
    mean, square = total.sum() / np.float32(sampled), squares.sum() / np.float32(sampled)
    spread = WIDE * np.sqrt(max(square - mean * mean, np.float32(0)))
    mean += origin
    return lowest, highest, max(mean - spread, lowest), min(mean + spread, highest)


@nb.njit(nogil=True, cache=True)
def _rate(codes, width):
    """Integers per unit of a range of this width; 0 for a range that is empty or beyond float32."""
    if not (width > np.float32(1e-30) and width < np.float32(1e30)):
        return np.float32(0)
    return np.float32(codes - 1) / width


@nb.njit(nogil=True, cache=True)
def _by_digits(v, n, low, high, bits, codes, key):
    """Keys linear in the bit patterns of numbers, about in their logarithms; negative numbers get the lowest code."""
    kind = key.dtype.type
    shift = kind(bits)
    pattern = v.view(np.int32)
    limits = np.array([low, high], np.float32).view(np.int32)
    least, most = np.int32(limits[0] & np.int32(0x7FFFFFFF)), limits[1]
    drop = np.int32(0)
    while np.int32(most - least) >> drop >= codes:
        drop += np.int32(1)
    top = np.int32(codes - 1)
    for j in range(n):
        code = np.int32(min(max(pattern[j], least), most) - least) >> drop
        key[j] = kind(kind(np.int32(top - code)) << shift) | kind(j)


@nb.njit(nogil=True, cache=True)
def _by_size(v, n, low, high, start, end, bits, codes, key):
    """Keys linear in the numbers from ``start`` to ``end``, with fewer integers outside this range."""
    kind = key.dtype.type
    shift = kind(bits)
    tail = np.int32(codes // np.int32(16))
    bulk = np.int32(codes - np.int32(2) * tail)
    first, last, final, most = np.float32(tail), np.float32(tail + bulk), np.float32(tail - 1), np.float32(bulk - 1)
    below, inside, above = _rate(tail, start - low), _rate(bulk, end - start), _rate(tail, high - end)
    if not end - start < MOST:
        below, inside, above, low, high, start, end = ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO
    top = np.int32(codes - 1)
    # The three ranges have disjoint integers, so the mapping is monotonic.
    for j in range(n):
        x = v[j]
        under = min((x - low) * below, final)
        under = under if under > ZERO else ZERO
        over = (x - end) * above
        over = last + (over if over < final else final)
        code = first + min((x - start) * inside, most)
        code = under if x < start else code
        code = over if x > end else code
        key[j] = kind(kind(np.int32(top - np.int32(code))) << shift) | kind(j)


@nb.njit(nogil=True, cache=True)
def pack(values, count, bits, keys):
    """Pack numbers and their positions into keys that ascend while the numbers descend.

    Args:
        values: (row, width) float32 without NaN; a row has ``count[row]`` numbers.
        bits: lower bits of a key, which are the position.
        keys: (row, width) of an unsigned type, filled; behind the numbers with the largest key.
    """
    codes = np.int32(1) << np.int32(min(8 * keys.itemsize - bits, CODE_BITS))
    for q in range(values.shape[0]):
        v, key, n = values[q], keys[q], count[q]
        for j in range(n, keys.shape[1]):
            key[j] = ~keys.dtype.type(0)
        if n == 0:
            continue
        low, high, start, end = _limits(v, n)
        if low >= 0:
            _by_digits(v, n, low, high, bits, codes, key)
        else:
            _by_size(v, n, low, high, start, end, bits, codes, key)


@nb.njit(nogil=True, cache=True)
def unpack(values, count, bits, keys, places, ordered):
    """Fill ``places`` int32 and ``ordered`` float32 (row, width) with the positions and numbers in descending order.

    The sorted keys are nearly in this order; the rest is an insertion sort of the numbers. A row that would take more
    than ``MOST_MOVES`` moves a number is left out: its first place is -1.
    """
    mask = keys.dtype.type((np.int64(1) << bits) - 1)
    for q in range(values.shape[0]):
        v, key, place, out, n = values[q], keys[q], places[q], ordered[q], count[q]
        left = MOST_MOVES * n
        last = np.float32(np.inf)
        for j in range(n):
            at = np.uint32(key[j] & mask)
            x = v[at]
            if x <= last:
                place[j] = np.int32(at)
                out[j] = x
                last = x
                continue
            i = j
            while i > 0 and out[i - 1] < x:
                place[i] = place[i - 1]
                out[i] = out[i - 1]
                i -= 1
            place[i] = np.int32(at)
            out[i] = x
            left -= j - i
            if left < 0:
                place[0] = -1
                break


@nb.njit(nogil=True, cache=True)
def pick(items, places, count):
    """Replace the first ``count`` places of every row by the items there: ``items[q, places[q, i]]``."""
    for q in range(places.shape[0]):
        for i in range(count[q]):
            places[q, i] = items[q, np.uint32(places[q, i])]
