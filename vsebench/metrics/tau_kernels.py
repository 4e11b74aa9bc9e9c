"""Compiled: concordant and discordant pairs at several depths of a ranking, in one walk down the list.

Items come in the order of their scores. Each is entered into a set of bits at its place among the gains, and
before that the set is asked how many entered items have a smaller gain and how many the same. A counter a word
keeps what stands before the word, so a question is one counter and one population count, and entering an item
adds a row of a table, ones behind its word, to the counters - a loop of constant length, which the compiler turns
into a few vector additions. The sums so far are those of the list cut there, so every depth is a look at the
running sums.
"""

from __future__ import annotations

import numba as nb
import numpy as np

WORDS = 96  # words of a chunk, 6,144 places; constant, and too many to unroll: then the compiler vectorises the loop
BITS = np.uint32(64 * WORDS)
BINS = 1 << 12  # of a radix pass
PATIENCE = 8  # moves an item that the insertion may take before a full sort takes over
TIED = np.uint32(1 << 31)  # marks a place whose gain is not the only one of its size
PLACE = np.uint32((1 << 31) - 1)
CONCORD, TIES_SCORE, TIES_GAIN, KINDS_SCORE, KINDS_GAIN = range(5)


@nb.njit(nogil=True, cache=True, inline="always")
def _count_bits(v):
    """Number of bits set in a word."""
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
    v = (v & np.uint64(0x3333333333333333)) + ((v >> np.uint64(2)) & np.uint64(0x3333333333333333))
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint32((v * np.uint64(0x0101010101010101)) >> np.uint64(56))


@nb.njit(nogil=True, cache=True, inline="always")
def _entered(bits, before, place):
    """How many entered items stand before a place of the chunk."""
    w = place >> np.uint32(6)
    inside = bits[w] & ((np.uint64(1) << np.uint64(place & np.uint32(63))) - np.uint64(1))
    return np.uint32(np.uint32(before[w]) + _count_bits(inside))


@nb.njit(nogil=True, cache=True, inline="always")
def _enter(bits, before, behind, place):
    """Enter an item at its place of the chunk; ``behind`` (WORDS, WORDS) has ones behind the diagonal."""
    w = place >> np.uint32(6)
    bits[w] |= np.uint64(1) << np.uint64(place & np.uint32(63))
    ones = behind[w]
    for j in range(WORDS):
        before[j] = np.uint16(before[j] + ones[j])


@nb.njit(nogil=True, cache=True)
def _smaller(place, first, after, n, bits, before, behind, less, same):
    """How many items before each have a smaller gain (``less``), and how many the same; n places fit one chunk."""
    bits[:] = np.uint64(0)
    before[:] = np.uint16(0)
    for i in range(n):
        p = place[i]
        own = np.uint32(p & PLACE)
        low = own
        up = own
        if p > PLACE:
            low = first[own]
            up = after[own]
        below = _entered(bits, before, low)
        equal = np.uint32(0)
        if p > PLACE:
            equal = np.uint32(_entered(bits, before, up) - below)
        less[i] = below
        same[i] = equal
        _enter(bits, before, behind, own)


@nb.njit(nogil=True, cache=True)
def _smaller_wide(place, first, after, n, bits, before, behind, chunks, less, same):
    """The same for any n: places in chunks, each with bits and counters of its own, and a counter a chunk."""
    bits[:] = np.uint64(0)
    before[:] = np.uint16(0)
    chunks[:] = np.uint32(0)
    for i in range(n):
        p = place[i]
        own = np.uint32(p & PLACE)
        low = own
        up = own
        if p > PLACE:
            low = first[own]
            up = after[own]
        c = np.uint32(low // BITS)
        below = np.uint32(chunks[c] + _entered(bits[c], before[c], np.uint32(low - c * BITS)))
        equal = np.uint32(0)
        if p > PLACE:
            c = np.uint32(up // BITS)
            equal = np.uint32(chunks[c] + _entered(bits[c], before[c], np.uint32(up - c * BITS)) - below)
        less[i] = below
        same[i] = equal
        c = np.uint32(own // BITS)
        _enter(bits[c], before[c], behind, np.uint32(own - c * BITS))
        for j in range(np.int64(c) + 1, chunks.shape[0]):
            chunks[j] += np.uint32(1)


@nb.njit(nogil=True, cache=True, inline="always")
def _rising(bits):
    """A float32 bit pattern as an integer that rises with the number."""
    u = np.uint32(bits)
    if u >> np.uint32(31):
        return np.uint32(~u)
    return np.uint32(u ^ np.uint32(0x80000000))


@nb.njit(nogil=True, cache=True)
def _sort(a, b, n, low, high):
    """Sort ``a[:n]``, distinct keys: two radix passes over the upper 24 bits, an insertion for the rest.

    ``b`` is scratch of the same length, ``low`` and ``high`` of BINS counters.
    """
    low[:] = 0
    high[:] = 0
    mask = np.uint64(BINS - 1)
    for j in range(n):
        u = a[j]
        low[(u >> np.uint64(40)) & mask] += np.uint32(1)
        high[u >> np.uint64(52)] += np.uint32(1)
    s = np.uint32(0)
    t = np.uint32(0)
    for i in range(BINS):
        x = low[i]
        low[i] = s
        s += x
        y = high[i]
        high[i] = t
        t += y
    for j in range(n):
        u = a[j]
        p = (u >> np.uint64(40)) & mask
        d = low[p]
        low[p] = d + np.uint32(1)
        b[d] = u
    for j in range(n):
        u = b[j]
        p = u >> np.uint64(52)
        d = high[p]
        high[p] = d + np.uint32(1)
        a[d] = u
    left = PATIENCE * n
    for j in range(1, n):
        u = a[j]
        if a[j - 1] > u:
            i = j - 1
            while i >= 0 and a[i] > u:
                a[i + 1] = a[i]
                i -= 1
            a[i + 1] = u
            left -= j - i
            if left < 0:
                a[:n] = np.sort(a[:n])
                return


@nb.njit(nogil=True, cache=True)
def _places(key, n, a, b, low, high, place, first, after):
    """Where each of n gains stands from the smallest.

    ``place`` is filled with a place of its own for every gain, TIED added if another gain is equal; ``first`` and
    ``after``, looked up by place, with the limits of such ties.
    """
    bits = key.view(np.uint32)
    for j in range(n):
        a[j] = (np.uint64(_rising(bits[j])) << np.uint64(32)) | np.uint64(j)
    _sort(a, b, n, low, high)
    half = np.uint64(32)
    i = 0
    while i < n:
        u = a[i] >> half
        j = i + 1
        if j == n or (a[j] >> half) != u:
            place[np.uint32(a[i])] = np.uint32(i)
        else:
            while j < n and (a[j] >> half) == u:
                j += 1
            for m in range(i, j):
                place[np.uint32(a[m])] = np.uint32(m) | TIED
                first[m] = np.uint32(i)
                after[m] = np.uint32(j)
        i = j


@nb.njit(nogil=True, cache=True)
def _untie(place, first, tied, start, stop, run):
    """What pairs of equal scores with the later one in ``start:stop`` add to the concordant, and how many they are.

    ``run`` is where the run of equal scores that holds ``start`` begins; where that of ``stop - 1`` begins is the
    third value returned.
    """
    concord = np.int64(0)
    ties = np.int64(0)
    for i in range(start, stop):
        if not tied[i]:
            run = i
            continue
        ties += i - run
        own = place[i] if place[i] <= PLACE else first[place[i] & PLACE]
        for j in range(run, i):
            other = place[j] if place[j] <= PLACE else first[place[j] & PLACE]
            concord += np.int64(other > own) - np.int64(other < own)
    return concord, ties, run


@nb.njit(nogil=True, cache=True)
def _sums(less, same, tied):
    """Sums of ``less`` and ``same``, and how many are zero in ``same`` and true in ``tied``."""
    smaller = np.int64(0)
    equal = np.int64(0)
    kinds = np.int64(0)
    again = np.int64(0)
    for i in range(less.shape[0]):
        smaller += np.int64(less[i])
        equal += np.int64(same[i])
        kinds += np.int64(same[i] == 0)
        again += np.int64(tied[i])
    return smaller, equal, kinds, again


@nb.njit(nogil=True, cache=True)
def _sum_up(place, first, tied, less, same, ks, n, out):
    """Fill ``out`` (ks, 5) for one query."""
    concord = np.int64(0)
    ties_score = np.int64(0)
    ties_gain = np.int64(0)
    kinds_score = np.int64(0)
    kinds_gain = np.int64(0)
    run = 0
    start = 0
    for k in range(ks.shape[0]):
        stop = min(ks[k], n)
        smaller, equal, kinds, again = _sums(less[start:stop], same[start:stop], tied[start:stop])
        # Item i stands behind i others: those with a smaller gain disagree, those with a larger one agree.
        concord += (stop * (stop - 1) - start * (start - 1)) // 2 - 2 * smaller - equal
        ties_gain += equal
        kinds_gain += kinds
        kinds_score += stop - start - again
        if again:
            # Pairs of equal scores do neither: take them out again.
            agreed, pairs, run = _untie(place, first, tied, start, stop, run)
            concord -= agreed
            ties_score += pairs
        elif stop > start:
            run = stop - 1
        start = stop
        out[k, CONCORD] = concord
        out[k, TIES_SCORE] = ties_score
        out[k, TIES_GAIN] = ties_gain
        out[k, KINDS_SCORE] = kinds_score
        out[k, KINDS_GAIN] = kinds_gain


@nb.njit(nogil=True, cache=True)
def count_pairs(gains, tied, count, ks, out):
    """What Kendall's tau is made of, for every query and depth.

    Args:
        gains: (query, depth) float32, in the order of the scores, best score first.
        tied: (query, depth) bool, the score is that of the item before.
        count: (query,) int64, how many items a query has, at most depth.
        ks: (ks,) int64, ascending, from 1; a k beyond a query's items means all of them.
        out: (query, ks, 5) int64, filled: concordant less discordant pairs, pairs tied in score, pairs tied in
            gain, distinct scores, distinct gains.
    """
    width = min(gains.shape[1], ks[ks.shape[0] - 1])
    chunk = width // np.int64(BITS) + 1
    key = np.empty(width, np.float32)
    a = np.empty(width, np.uint64)
    b = np.empty(width, np.uint64)
    low = np.empty(BINS, np.uint32)
    high = np.empty(BINS, np.uint32)
    place = np.empty(width, np.uint32)
    first = np.empty(width, np.uint32)
    after = np.empty(width, np.uint32)
    less = np.empty(width, np.uint32)
    same = np.empty(width, np.uint32)
    bits = np.empty((chunk, WORDS), np.uint64)
    before = np.empty((chunk, WORDS), np.uint16)
    chunks = np.empty(chunk, np.uint32)
    behind = np.zeros((WORDS, WORDS), np.uint16)
    for w in range(WORDS):
        behind[w, w + 1 :] = 1
    for q in range(gains.shape[0]):
        n = min(count[q], width)
        for j in range(n):
            key[j] = gains[q, j] + np.float32(0)  # -0 becomes 0
        _places(key, n, a, b, low, high, place, first, after)
        if chunk == 1:
            _smaller(place, first, after, n, bits[0], before[0], behind, less, same)
        else:
            _smaller_wide(place, first, after, n, bits, before, behind, chunks, less, same)
        _sum_up(place, first, tied[q], less, same, ks, n, out[q])
