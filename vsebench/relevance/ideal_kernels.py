"""The largest numbers of a row, ties to the lower index: by a buffer when few are wanted, else by sorting all."""

from __future__ import annotations

import numba as nb
import numpy as np

STRIP = 64  # values compared together; a constant trip count is what lets the compiler vectorise the loop
LOW = np.uint64(0xFFFFFFFF)
SIGN, ALL = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)
DIGIT = 11  # bits sorted by in one pass


@nb.njit(nogil=True, cache=True, inline="always")
def _rising(bits):
    """The bits of a float32 as a uint32 that orders like the number."""
    return bits ^ (ALL if bits & SIGN else SIGN)


@nb.njit(nogil=True, cache=True, inline="always")
def _key(bits, index):
    """Larger for a larger number, and among equal ones for a lower index."""
    return (np.uint64(_rising(bits)) << np.uint64(32)) | (LOW - np.uint64(index))


@nb.njit(nogil=True, cache=True)
def _largest_first(key, n, k):
    """Move the ``k`` largest of ``key[:n]``, which are distinct, to the front."""
    low, high = 0, n - 1
    while low < high:
        middle = (low + high) // 2
        a, b, c = key[low], key[middle], key[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[i] > pivot:
                i += 1
            while key[j] < pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@nb.njit(nogil=True, cache=True)
def top_few(values, bits, k, items, scores):
    """The ``k`` largest of every row; ``items`` and ``scores`` (row, k) are filled, largest first.

    A buffer keeps what could still be among them: at first everything, later what exceeds the k-th largest so far.
    An equal number further on has a higher index than k others, so it never could.
    """
    n = values.shape[1]
    room = min(n, 4 * k + STRIP)
    key = np.empty(room + STRIP, np.uint64)
    for r in range(values.shape[0]):
        row, row_bits = values[r], bits[r]
        fill, floor = 0, np.float32(-np.inf)
        first = 0
        while first < n:
            stop = min(n, first + STRIP)
            hits = np.int32(STRIP)
            if stop - first == STRIP:
                strip = row[first:stop]
                hits = np.int32(0)
                for j in range(STRIP):
                    hits = np.int32(hits + np.int32(strip[j] > floor))
            if hits or fill < k:
                for j in range(first, stop):
                    if row[j] > floor or fill < k:
                        key[fill] = _key(row_bits[j], j)
                        fill += 1
                if fill > room:
                    _largest_first(key, fill, k)
                    fill = k
                    least = key[0]
                    for m in range(1, k):
                        least = min(least, key[m])
                    floor = row[np.int64(LOW - (least & LOW))]
            first = stop
        _largest_first(key, fill, k)
        best = np.sort(key[:k])
        for m in range(k):
            items[r, m] = np.int64(LOW - (best[k - 1 - m] & LOW))
            scores[r, m] = row[items[r, m]]


@nb.njit(nogil=True, cache=True)
def top_many(values, bits, k, items, scores):
    """The same by sorting every row by digits of its bits, in three passes that keep the order of equal ones."""
    n, size = values.shape[1], 1 << DIGIT
    mask = np.uint32(size - 1)
    key, other = np.empty(n, np.uint32), np.empty(n, np.uint32)
    index, moved = np.empty(n, np.int32), np.empty(n, np.int32)
    count = np.empty((3, size), np.int64)
    for r in range(values.shape[0]):
        count[:] = 0
        for j in range(n):
            x = np.uint32(_rising(bits[r, j]) ^ ALL)
            key[j], index[j] = x, j
            for d in range(3):
                count[d, (x >> np.uint32(d * DIGIT)) & mask] += 1
        for d in range(3):
            at = 0
            for b in range(size):
                count[d, b], at = at, at + count[d, b]
            for j in range(n):
                b = (key[j] >> np.uint32(d * DIGIT)) & mask
                to = count[d, b]
                count[d, b] += 1
                other[to], moved[to] = key[j], index[j]
            key, other = other, key
            index, moved = moved, index
        for m in range(k):
            items[r, m] = index[m]
            scores[r, m] = values[r, index[m]]
