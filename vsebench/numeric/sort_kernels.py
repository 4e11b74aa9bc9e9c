"""Compiled: numbers packed with their positions into integer keys, and sorted keys unpacked and settled.

Scores are spread about their mean like a bell, so their integers are linear in the number. Gains are zero or more
and spread over orders of magnitude, so theirs are linear in the logarithm, more or less.
"""

from __future__ import annotations

import numba as nb
import numpy as np

CODE_BITS = 24  # of 64: a float32 has no more digits
LANES = 16  # partial results of a sum or a limit; what lets the compiler vectorise
WIDE = np.float32(3.5)  # standard deviations about the mean that get most of the integers
SKIP = 4  # a long row is known by one number in so many
MOST = np.float32(3e38)
ZERO = np.float32(0)
PATIENCE = 8  # moves that settling a row may take, times its length, before a full sort takes over


@nb.njit(nogil=True, cache=True)
def _limits(v, n):
    """About the smallest and largest of ``v[:n]`` that is finite, and where the bulk of it begins and ends."""
    low = np.full(LANES, np.inf, np.float32)
    high = np.full(LANES, -np.inf, np.float32)
    total = np.zeros(LANES, np.float32)
    squares = np.zeros(LANES, np.float32)
    origin = v[n // 2] if abs(v[n // 2]) < MOST else np.float32(0)
    seen = 0
    for s in range(0, n, LANES * (SKIP if n > SKIP * SKIP * LANES else 1)):
        part = v[min(s, max(n - LANES, 0)) : n]
        seen += min(LANES, n)
        for j in range(min(LANES, n)):
            x = part[j] if abs(part[j]) < MOST else origin
            low[j] = min(low[j], x)
            high[j] = max(high[j], x)
            total[j] += x - origin
            squares[j] += (x - origin) * (x - origin)
    lowest, highest = low.min(), high.max()
    mean, square = total.sum() / np.float32(seen), squares.sum() / np.float32(seen)
    spread = WIDE * np.sqrt(max(square - mean * mean, np.float32(0)))
    mean += origin
    return lowest, highest, max(mean - spread, lowest), min(mean + spread, highest)


@nb.njit(nogil=True, cache=True, inline="always")
def _rate(codes, width):
    """Integers a unit of a piece of this width, none for a piece that is empty or beyond float32."""
    if not (width > np.float32(1e-30) and width < np.float32(1e30)):
        return np.float32(0)
    return np.float32(codes - 1) / width


@nb.njit(nogil=True, cache=True)
def _by_digits(v, n, low, high, bits, codes, key):
    """Keys of numbers of which hardly one is negative, linear in their bit patterns: about in their logarithms."""
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
    """Keys linear in the numbers from ``start`` to ``end``, and coarser outside."""
    kind = key.dtype.type
    shift = kind(bits)
    tail = np.int32(codes // np.int32(16))
    bulk = np.int32(codes - np.int32(2) * tail)
    first, last, final, most = np.float32(tail), np.float32(tail + bulk), np.float32(tail - 1), np.float32(bulk - 1)
    below, inside, above = _rate(tail, start - low), _rate(bulk, end - start), _rate(tail, high - end)
    if not end - start < MOST:
        below, inside, above, low, high, start, end = ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO
    top = np.int32(codes - 1)
    # Every piece rises within integers of its own, so the whole rises.
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
    """Fill ``keys`` (row, width) of an unsigned type: order-keeping integers above, positions in the ``bits`` below.

    ``values`` is (row, width) float32, infinite or not but no NaN, of which a row has ``count[row]``; keys behind
    them are the largest there are. Keys rise as the numbers fall.
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
def settle(values, count, bits, keys, places, ordered):
    """From sorted keys to the order of the numbers themselves.

    ``places`` int32 and ``ordered`` float32 (row, width) are filled with positions and numbers.
    """
    mask = keys.dtype.type((np.int64(1) << bits) - 1)
    for q in range(values.shape[0]):
        v, key, place, out, n = values[q], keys[q], places[q], ordered[q], count[q]
        left = PATIENCE * n
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
                place[:n] = np.argsort(-v[:n], kind="mergesort")
                for m in range(n):
                    out[m] = v[place[m]]
                break


@nb.njit(nogil=True, cache=True)
def pick(items, places, count):
    """Replace places by what stands there: ``items[q, places[q, i]]``, as far as ``count`` says."""
    for q in range(places.shape[0]):
        for i in range(count[q]):
            places[q, i] = items[q, np.uint32(places[q, i])]
