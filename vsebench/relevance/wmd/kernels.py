"""Compiled kernels of the word mover's distance: the transport problem of two bags, and lower bounds of its cost."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ...numeric import compiled as nb


@nb.njit(nogil=True)
def _euclidean(x, y):
    """Euclidean distance of two float64 vectors, summed in a fixed order."""
    lane = np.zeros(8)
    stop = x.shape[0] - x.shape[0] % 8
    for k in range(0, stop, 8):
        a, b = x[k : k + 8], y[k : k + 8]
        for j in range(8):
            lane[j] += (a[j] - b[j]) * (a[j] - b[j])
    rest = 0.0
    for k in range(stop, x.shape[0]):
        rest += (x[k] - y[k]) * (x[k] - y[k])
    for width in (4, 2, 1):
        for j in range(width):
            lane[j] += lane[j + width]
    return np.sqrt(lane[0] + rest)


@nb.njit(nogil=True)
def reduce_pair(a, b, start, word, mass, total, vectors, left, right, cost):
    """The transport problem of two bags without the mass that they share.

    Bag i has the words ``word[start[i] : start[i + 1]]``, ascending, each ``mass`` times, ``total[i]`` in all. Fills
    ``left`` and ``right`` with the masses to move from a to b, in units of 1 / (total[a] total[b]), and ``cost`` (flat)
    with the distances of their words. Returns the numbers of words on either side, and the relaxed distance, a lower
    bound: the larger of the two costs when every word on one side is moved to the nearest on the other.
    """
    m, n = 0, 0
    i, j = start[a], start[b]
    from_a = np.empty(start[a + 1] - i, np.int64)
    from_b = np.empty(start[b + 1] - j, np.int64)
    while i < start[a + 1] or j < start[b + 1]:
        more_a, more_b = i < start[a + 1], j < start[b + 1]
        in_a = more_a and (not more_b or word[i] <= word[j])
        in_b = more_b and (not more_a or word[j] <= word[i])
        # Integers, so the difference is exact.
        rest = (mass[i] * total[b] if in_a else 0.0) - (mass[j] * total[a] if in_b else 0.0)
        if rest > 0:
            left[m] = rest
            from_a[m] = word[i]
            m += 1
        elif rest < 0:
            right[n] = -rest
            from_b[n] = word[j]
            n += 1
        if in_a:
            i += 1
        if in_b:
            j += 1
    to_right, to_left = 0.0, 0.0
    for p in range(m):
        least = np.inf
        for q in range(n):
            value = _euclidean(vectors[from_a[p]], vectors[from_b[q]])
            cost[p * n + q] = value
            least = min(least, value)
        to_right += left[p] * least
    for q in range(n):
        least = np.inf
        for p in range(m):
            least = min(least, cost[p * n + q])
        to_left += right[q] * least
    return m, n, max(to_right, to_left) / (total[a] * total[b])


@nb.njit(nogil=True)
def relaxed_to_all(bag, table, start, word, mass, total, out):
    """Relaxed distances of one bag to every bag; fills ``out`` (bag,), infinite for empty bags.

    ``table`` (word of the bag, word) float64 are the distances of its words to all words; with them every entry of
    another bag costs one lookup a word (Atasu et al., Linear-Complexity Relaxed Word Mover's Distance, 2017).
    """
    n = table.shape[0]
    nearest = np.empty(table.shape[1])
    for w in range(table.shape[1]):
        least = np.inf
        for p in range(n):
            least = min(least, table[p, w])
        nearest[w] = least
    for other in range(start.shape[0] - 1):
        first, last = start[other], start[other + 1]
        if first == last or n == 0:
            out[other] = np.inf
            continue
        back = 0.0
        for e in range(first, last):
            back += mass[e] * nearest[word[e]]
        forth = 0.0
        for p in range(n):
            least = np.inf
            for e in range(first, last):
                least = min(least, table[p, word[e]])
            forth += mass[start[bag] + p] * least
        out[other] = max(back / total[other], forth / total[bag])
