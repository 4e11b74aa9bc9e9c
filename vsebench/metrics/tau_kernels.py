"""Compiled: concordant and discordant pairs at several depths of a ranking, in one walk down the list.

Items come in the order of their scores. Each is entered into a set of bits at its place among the gains, and
before that the set is asked how many entered items have a smaller gain and how many the same. A counter a word
keeps what stands before the word, so a question is one counter and one population count, and entering an item
adds a row of a table, ones behind its word, to the counters - a loop of constant length, which the compiler turns
into a few vector additions. The sums so far are those of the list cut there, so every depth is a look at the
running sums.

Gains are often zero, and the smallest gain needs no place: before an item that has it none is smaller, and as many
are the same as have been seen. Where it is common, only what is above it is sorted and entered.
"""

from __future__ import annotations

import numba as nb
import numpy as np

WORDS = 96  # words of a chunk, 6,144 places; constant, and too many to unroll: then the compiler vectorises the loop
BITS = np.uint32(64 * WORDS)
TIED = np.uint32(1 << 31)  # marks a place whose gain is not the only one of its size
PLACE = np.uint32((1 << 31) - 1)
LEAST = np.uint32((1 << 32) - 1)  # instead of a place: the gain is the smallest and common
LONG_RUN = 64  # in longer runs of equal scores not every pair is looked at
STRIP = 256  # numbers looked at together; a constant trip count is what lets the compiler vectorise
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
    least = np.uint32(0)
    for i in range(n):
        p = place[i]
        if p == LEAST:
            less[i] = np.uint32(0)
            same[i] = least
            least = np.uint32(least + np.uint32(1))
            continue
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
        less[i] = np.uint32(least + below)
        same[i] = equal
        _enter(bits, before, behind, own)


@nb.njit(nogil=True, cache=True)
def _smaller_wide(place, first, after, n, bits, before, behind, chunks, less, same):
    """The same for any n: places in chunks, each with bits and counters of its own, and a counter a chunk."""
    bits[:] = np.uint64(0)
    before[:] = np.uint16(0)
    chunks[:] = np.uint32(0)
    least = np.uint32(0)
    for i in range(n):
        p = place[i]
        if p == LEAST:
            less[i] = np.uint32(0)
            same[i] = least
            least = np.uint32(least + np.uint32(1))
            continue
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
        less[i] = np.uint32(least + below)
        same[i] = equal
        c = np.uint32(own // BITS)
        _enter(bits[c], before[c], behind, np.uint32(own - c * BITS))
        for j in range(np.int64(c) + 1, chunks.shape[0]):
            chunks[j] += np.uint32(1)


@nb.njit(nogil=True, cache=True, inline="always")
def _at_most(strip, limit):
    found = np.int32(0)
    for j in range(STRIP):
        found = np.int32(found + np.int32(strip[j] <= limit))
    return found


@nb.njit(nogil=True, cache=True)
def smallest(gains, count, least):
    """Fill ``least`` (query,) with the smallest gain of every query; returns how many gains there are of that size.

    ``gains`` is (query, depth) float32, of which a query has ``count[query]``.
    """
    lane = np.empty(STRIP, np.float32)
    common = 0
    for q in range(gains.shape[0]):
        row, n = gains[q], count[q]
        stop = n - n % STRIP
        lane[:] = np.inf
        for s in range(0, stop, STRIP):
            strip = row[s : s + STRIP]
            for j in range(STRIP):
                lane[j] = min(lane[j], strip[j])
        limit = lane.min()
        for j in range(stop, n):
            limit = min(limit, row[j])
        least[q] = limit
        for s in range(0, stop, STRIP):
            common += _at_most(row[s : s + STRIP], limit)
        for j in range(stop, n):
            common += row[j] <= limit
    return common


@nb.njit(nogil=True, cache=True)
def above(gains, count, least, item, gain, kept):
    """List the gains above the smallest, with their position; ``kept`` (query,) are filled with how many."""
    for q in range(gains.shape[0]):
        row, limit = gains[q], least[q]
        n = 0
        for j in range(count[q]):
            item[q, n] = j
            gain[q, n] = row[j]
            n += row[j] > limit
        kept[q] = n


@nb.njit(nogil=True, cache=True)
def _places(ordered, rank, kept, place, first, after):
    """Where each of ``kept`` gains stands from the smallest of them.

    ``ordered`` are the gains, falling, and ``rank`` what stands there. ``place`` is filled with a place of its own for
    every gain, TIED added if another gain is equal; ``first`` and ``after``, looked up by place, with the limits of
    ties.
    """
    start = kept - 1
    last = np.float32(np.nan)
    for i in range(kept - 1, -1, -1):
        at = np.uint32(rank[i])
        value = ordered[i]
        own = np.uint32(kept - 1 - i)
        if value != last:
            if start - i > 1:
                after[kept - 1 - start : own] = own
            start = i
            last = value
            place[at] = own
            continue
        begin = np.uint32(kept - 1 - start)
        if start - i == 1:
            place[np.uint32(rank[start])] |= TIED
            first[begin] = begin
        place[at] = np.uint32(own | TIED)
        first[own] = begin
    if start > 0:
        after[kept - 1 - start : kept] = np.uint32(kept)


@nb.njit(nogil=True, cache=True, inline="always")
def _standing(place, first):
    """A number that rises with the gain and is the same for equal gains."""
    if place == LEAST:
        return np.int64(-1)
    return np.int64(place if place <= PLACE else first[place & PLACE])


@nb.njit(nogil=True, cache=True)
def _agree(place, first, after, tied, n, wide, bits, before, behind, chunks, less, same, out):
    """What the pairs of equal scores that end at an item have added to the concordant; ``out`` (n,) is filled.

    ``wide`` says that places need more than one chunk; ``less`` and ``same`` are scratch.
    """
    i = 0
    while i < n:
        j = i + 1
        while j < n and tied[j]:
            j += 1
        size = j - i
        if size > LONG_RUN:
            # A run is a small list of its own: the walk down it counts without looking at every pair.
            if wide:
                _smaller_wide(place[i:j], first, after, size, bits, before, behind, chunks, less, same)
            else:
                _smaller(place[i:j], first, after, size, bits[0], before[0], behind, less, same)
            for m in range(size):
                out[i + m] = np.int64(m) - np.int64(same[m]) - 2 * np.int64(less[m])
        else:
            for m in range(i, j):
                own = _standing(place[m], first)
                out[m] = 0
                for k in range(i, m):
                    other = _standing(place[k], first)
                    out[m] += np.int64(other > own) - np.int64(other < own)
        i = j


@nb.njit(nogil=True, cache=True)
def _untie(agree, tied, start, stop, run):
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
        concord += agree[i]
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
def _sum_up(agree, tied, less, same, ks, n, out):
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
            agreed, pairs, run = _untie(agree, tied, start, stop, run)
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
def count_pairs(item, rank, ordered, kept, tied, count, ks, out):
    """What Kendall's tau is made of, for every query and depth.

    Args:
        item: (query, depth) int32 which of a query's gains have a place, the others being the smallest, in the order
            of the scores, best score first; or (query, 0) for all of them.
        rank: (query, depth) int32 positions in ``item``, largest gain first.
        ordered: (query, depth) float32 these gains.
        kept: (query,) int64, how many gains of a query have a place.
        tied: (query, depth) bool, the score is that of the item before.
        count: (query,) int64, how many items a query has, at most depth.
        ks: (ks,) int64, ascending, from 1; a k beyond a query's items means all of them.
        out: (query, ks, 5) int64, filled: concordant less discordant pairs, pairs tied in score, pairs tied in
            gain, distinct scores, distinct gains.
    """
    width = count.max()
    chunk = width // np.int64(BITS) + 1
    place = np.empty(width, np.uint32)
    own = np.empty(width, np.uint32)
    first = np.empty(width, np.uint32)
    after = np.empty(width, np.uint32)
    less = np.empty(width, np.uint32)
    same = np.empty(width, np.uint32)
    run_less = np.empty(width, np.uint32)
    run_same = np.empty(width, np.uint32)
    agree = np.empty(width, np.int64)
    bits = np.empty((chunk, WORDS), np.uint64)
    before = np.empty((chunk, WORDS), np.uint16)
    chunks = np.empty(chunk, np.uint32)
    behind = np.zeros((WORDS, WORDS), np.uint16)
    for w in range(WORDS):
        behind[w, w + 1 :] = 1
    for q in range(rank.shape[0]):
        n = count[q]
        if item.shape[1]:
            _places(ordered[q], rank[q], kept[q], own, first, after)
            place[:n] = LEAST
            for i in range(kept[q]):
                place[np.uint32(item[q, i])] = own[i]
        else:
            _places(ordered[q], rank[q], n, place, first, after)
        wide = kept[q] // np.int64(BITS) > 0
        if wide:
            _smaller_wide(place, first, after, n, bits, before, behind, chunks, less, same)
        else:
            _smaller(place, first, after, n, bits[0], before[0], behind, less, same)
        if tied[q, :n].any():
            _agree(place, first, after, tied[q], n, wide, bits, before, behind, chunks, run_less, run_same, agree)
        _sum_up(agree, tied[q], less, same, ks, n, out[q])
