"""The largest numbers of a row, ties to the lower index: among candidates when few are wanted, else by sorting all."""

from __future__ import annotations

import numba as nb
import numpy as np

LOW = np.uint64(0xFFFFFFFF)
SIGN, ALL, ZERO = np.uint32(0x80000000), np.uint32(0xFFFFFFFF), np.uint32(0)
SAMPLE = 256  # values of a row that the threshold for candidates is estimated from
DIGIT = 11  # bits sorted by in one pass


@nb.njit(nogil=True, cache=True, inline="always")
def _rising(bits):
    """The bits of a float32 as a uint32 that orders like the number; -0.0 is 0.0."""
    if bits == SIGN:
        bits = ZERO
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
        a, b, c = key[low], key[(low + high) // 2], key[high]
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


@nb.njit(nogil=True, cache=True, inline="always")
def _sort_falling(key, n):
    """Sort ``key[:n]``, largest first, by insertion with falling strides: it compiles far faster than numpy's sort."""
    stride = n // 2
    while stride > 0:
        for j in range(stride, n):
            value, at = key[j], j
            while at >= stride and key[at - stride] < value:
                key[at] = key[at - stride]
                at -= stride
            key[at] = value
        stride = 1 if stride == 2 else stride * 5 // 11


@nb.njit(nogil=True, cache=True)
def top_few(values, bits, k, items, scores):
    """The ``k`` largest of every row; ``items`` and ``scores`` (row, k) are filled, largest first.

    A sample gives a number that somewhat more than k values reach, and the others are passed over. Should fewer reach
    it, all values are candidates.
    """
    n = values.shape[1]
    size = min(n, SAMPLE)
    expected = size * k / n
    rank = min(size, int(expected + 3.0 * np.sqrt(expected)) + 2)
    key, place = np.empty(n, np.uint64), np.empty(n + 1, np.int32)
    for r in range(values.shape[0]):
        row, row_bits = values[r], bits[r]
        for s in range(size):
            key[s] = _key(row_bits[s * n // size], s)
        _largest_first(key, size, rank)
        least = key[0]
        for s in range(1, rank):
            least = min(least, key[s])
        floor = row[np.int64(LOW - (least & LOW)) * n // size]
        found = 0
        for j in range(n):  # without a branch, which no processor could predict
            place[found] = j
            found += row[j] >= floor
        if found < k:
            found = n
            for j in range(n):
                place[j] = j
        for m in range(found):
            key[m] = _key(row_bits[place[m]], place[m])
        _largest_first(key, found, k)
        _sort_falling(key, k)
        for m in range(k):
            items[r, m] = np.int64(LOW - (key[m] & LOW))
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
