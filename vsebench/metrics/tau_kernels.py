"""Compiled: concordant and discordant pairs at several depths of a ranking, in one pass over its gains.

Items are processed in ascending order of gain, and each is added to a bit set at its place in the ranking (the rank,
counted from 0). Items that were added before and rank above have a smaller gain and a better score: these pairs are
discordant. Their number comes from counters in three levels (chunks, groups and words of the set, several counters in
an integer), so adding an item takes a few additions and counting a few loads and one population count. The count is
stored at the place of the item, and the result at a depth is a sum over the places above it.

Items of equal gain are all counted before one of them is added. Gains are often zero: where the smallest gain is
common, items that have it are not listed (``GainOrder``), and every item above that is not listed has a smaller gain.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

WORDS = 128  # of a chunk: four parts of eight groups of four words
PLACES = np.uint32(64 * WORDS)
GROUPS = 32  # of a chunk
BEHIND = np.uint64(0x0001000100010000)  # adds one to the last three of four counters
LONG_RUN = 64  # up to this length all pairs of a run of equal scores are compared
CONCORD, TIES_SCORE, TIES_GAIN, DISTINCT_SCORES, DISTINCT_GAINS = range(5)


@nb.njit(nogil=True, cache=True)
def _count_bits(v):
    """Number of bits set in a word."""
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
    v = (v & np.uint64(0x3333333333333333)) + ((v >> np.uint64(2)) & np.uint64(0x3333333333333333))
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint32((v * np.uint64(0x0101010101010101)) >> np.uint64(56))


@nb.njit(nogil=True, cache=True)
def _above(place, top, bits, groups, words):
    """The number of added items of a chunk above a place; ``top`` are the counters of the parts of the chunk."""
    w = place >> np.uint32(6)
    inside = bits[w] & ((np.uint64(1) << np.uint64(place & np.uint32(63))) - np.uint64(1))
    part = np.uint32((top >> np.uint64(((w >> np.uint32(5)) & np.uint32(3)) << np.uint32(4))) & np.uint64(0xFFFF))
    return np.uint32(part + np.uint32(groups[w >> np.uint32(2)]) + np.uint32(words[w]) + _count_bits(inside))


@nb.njit(nogil=True, cache=True)
def _add(place, top, bits, groups, words, behind):
    """Add an item; return the counters of the parts of its chunk.

    Other counters have 16 bits and are updated four at a time as integers of 64; ``behind`` (8, 2) are the increments
    of the counters of a part for an item of each group.
    """
    w = place >> np.uint32(6)
    bits[w] |= np.uint64(1) << np.uint64(place & np.uint32(63))
    words[w >> np.uint32(2)] += BEHIND << np.uint64((w & np.uint32(3)) << np.uint32(4))
    g, p = (w >> np.uint32(2)) & np.uint32(7), w >> np.uint32(5)
    groups[p << np.uint32(1)] += behind[g, 0]
    groups[(p << np.uint32(1)) + np.uint32(1)] += behind[g, 1]
    return top + (BEHIND << np.uint64((p & np.uint32(3)) << np.uint32(4)))


@nb.njit(nogil=True, cache=True)
def _count_chunk(place, gains, listed, chunks, bits, groups, words, behind, less, same):
    """Count the discordant pairs of a query whose places fit one chunk.

    Args:
        place, gains: (listed,) the items, largest gain first.
        listed: number of items.
        chunks: (1, 2) uint64: the number of items before the chunk, zero, and the counters of its parts.
        bits, groups, words: the set and its counters.
        behind: see ``_add``.
        less, same: uint32 by place, filled: the place plus the number of items above with a smaller gain, and the
            number with an equal one; ``same`` is zero before.
    """
    bits[:] = np.uint64(0)
    groups[:] = np.uint16(0)
    words[:] = np.uint16(0)
    groups_of, words_of = groups.view(np.uint64), words.view(np.uint64)
    top = np.uint64(0)
    i = listed - 1
    while i >= 0:
        value = gains[i]
        j = i - 1
        if j < 0 or gains[j] != value:
            p = np.uint32(place[i])
            less[p] = p + _above(p, top, bits, groups, words)
            top = _add(p, top, bits, groups_of, words_of, behind)
            i = j
            continue
        while j >= 0 and gains[j] == value:
            j -= 1
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            less[p] = p + _above(p, top, bits, groups, words)
        for m in range(j + 1, i + 1):
            top = _add(np.uint32(place[m]), top, bits, groups_of, words_of, behind)
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            same[p] = p + _above(p, top, bits, groups, words) - less[p]
        i = j
    chunks[0, 0] = np.uint64(0)
    chunks[0, 1] = top


@nb.njit(nogil=True, cache=True)
def _above_any(place, chunks, bits, groups, words):
    """The number of added items above a place."""
    c = place // PLACES
    return np.uint32(np.uint32(chunks[c, 0]) + _above(place, chunks[c, 1], bits, groups, words))


@nb.njit(nogil=True, cache=True)
def _add_any(place, chunks, bits, groups, words, behind):
    c = place // PLACES
    chunks[c, 1] = _add(place, chunks[c, 1], bits, groups, words, behind)
    for k in range(np.int64(c) + 1, chunks.shape[0]):
        chunks[k, 0] += np.uint64(1)


@nb.njit(nogil=True, cache=True)
def _count_chunks(place, gains, listed, chunks, bits, groups, words, behind, less, same):
    """As ``_count_chunk`` for any number of places; ``chunks`` (chunk, 2) also count the items before each chunk."""
    chunks[:] = np.uint64(0)
    bits[:] = np.uint64(0)
    groups[:] = np.uint16(0)
    words[:] = np.uint16(0)
    groups_of, words_of = groups.view(np.uint64), words.view(np.uint64)
    i = listed - 1
    while i >= 0:
        value = gains[i]
        j = i - 1
        if j < 0 or gains[j] != value:
            p = np.uint32(place[i])
            less[p] = p + _above_any(p, chunks, bits, groups, words)
            _add_any(p, chunks, bits, groups_of, words_of, behind)
            i = j
            continue
        while j >= 0 and gains[j] == value:
            j -= 1
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            less[p] = p + _above_any(p, chunks, bits, groups, words)
        for m in range(j + 1, i + 1):
            _add_any(np.uint32(place[m]), chunks, bits, groups_of, words_of, behind)
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            same[p] = p + _above_any(p, chunks, bits, groups, words) - less[p]
        i = j


@nb.njit(nogil=True, cache=True)
def _runs(place, gains, listed, tied, n, begin, fill, own, own_gains):
    """Group the listed items by run of equal scores, in the order of their gains.

    Filled by place: ``begin``, where its run begins; by the beginning of a run: ``fill``, where its items end; from
    the beginning of a run on: ``own`` int32 and ``own_gains``, its items, by place within the run, and their gains.
    """
    first = 0
    for i in range(n):
        if not tied[i]:
            first = i
        begin[i] = first
        fill[i] = i
    for i in range(listed):
        p = np.uint32(place[i])
        r = begin[p]
        own[fill[r]] = np.int32(p) - np.int32(r)
        own_gains[fill[r]] = gains[i]
        fill[r] += 1


@nb.njit(nogil=True, cache=True)
def _within_runs(place, gains, listed, tied, n, chunks, bits, groups, words, behind, out):
    """Fill ``out`` (n,) with the concordant less discordant pairs of each place with places above of equal score."""
    begin, fill = np.empty(n, np.int64), np.empty(n, np.int64)
    own, own_gains = np.empty(n, np.int32), np.empty(n, np.float32)
    _runs(place, gains, listed, tied, n, begin, fill, own, own_gains)
    at = np.full(n, -np.inf, np.float32)  # only items with the smallest gain are not listed
    for i in range(listed):
        at[np.uint32(place[i])] = gains[i]
    less, same, is_listed = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.bool_)
    i = 0
    while i < n:
        j = i + 1
        while j < n and tied[j]:
            j += 1
        size = j - i
        if size > LONG_RUN:
            # A long run is counted like a list of its own, without comparing all pairs.
            m = fill[i] - i
            same[:size] = np.uint32(0)
            is_listed[:size] = False
            _count_chunks(own[i : i + m], own_gains[i : i + m], m, chunks, bits, groups, words, behind, less, same)
            for k in range(i, i + m):
                is_listed[np.uint32(own[k])] = True
            before = 0  # listed items
            for k in range(size):
                if is_listed[k]:
                    out[i + k] = k - np.int64(same[k]) - 2 * (np.int64(less[k]) - before)
                    before += 1
                else:
                    out[i + k] = before
        else:
            for m in range(i, j):
                out[m] = 0
                for k in range(i, m):
                    out[m] += np.int64(at[k] > at[m]) - np.int64(at[k] < at[m])
        i = j


@nb.njit(nogil=True, cache=True)
def _sums(less, same):
    """Sums of both, and the number of ``same`` that are not zero."""
    smaller = np.int64(0)
    equal = np.int64(0)
    again = np.int32(0)
    for i in range(less.shape[0]):
        smaller += np.int64(less[i])
        equal += np.int64(same[i])
        again += np.int32(same[i] > 0)
    return smaller, equal, np.int64(again)


@nb.njit(nogil=True, cache=True)
def _sum_up(less, same, above, ks, n, out):
    """Fill ``out`` (ks, 5) for one query as if no scores were equal; ``above`` (ks,) listed items are in the top k."""
    smaller = np.int64(0)
    equal = np.int64(0)
    again = np.int64(0)
    start = 0
    for i in range(ks.shape[0]):
        k, m = min(ks[i], n), above[i]
        more = _sums(less[start:k], same[start:k])
        smaller, equal, again = smaller + more[0], equal + more[1], again + more[2]
        start = k
        left = k - m  # have the smallest gain
        ties = equal + left * (left - 1) // 2
        # ``less`` includes the place, to count items above that are not listed; that counts the listed ones, too.
        discordant = smaller - m * (m - 1) // 2
        out[i, CONCORD] = k * (k - 1) // 2 - 2 * discordant - ties
        out[i, TIES_SCORE] = 0
        out[i, TIES_GAIN] = ties
        out[i, DISTINCT_SCORES] = k
        out[i, DISTINCT_GAINS] = m - again + np.int64(left > 0)


@nb.njit(nogil=True, cache=True)
def _remove_ties(agree, tied, ks, n, out):
    """Remove pairs of equal scores from ``out`` (ks, 5); ``agree`` (n,) is what they added, from ``_within_runs``."""
    added = np.int64(0)
    ties = np.int64(0)
    again = np.int64(0)
    run = 0
    start = 0
    for i in range(ks.shape[0]):
        for j in range(start, min(ks[i], n)):
            if not tied[j]:
                run = j
                continue
            ties += j - run
            added += agree[j]
            again += 1
        start = max(start, min(ks[i], n))
        out[i, CONCORD] -= added
        out[i, TIES_SCORE] = ties
        out[i, DISTINCT_SCORES] -= again


@nb.njit(nogil=True, cache=True)
def count_pairs(place, gains, listed, tied, any_tied, count, ks, out):
    """The counts of pairs that Kendall's tau is computed from, for every query and depth.

    Args:
        place: (query, width) int32 places in the ranking, 0 for the best score, of the listed items, largest gain
            first.
        gains: (query, width) float32 their gains. All other items of a query have one gain, smaller than these.
        listed: (query,) int64, number of listed items.
        tied: (query, depth) bool, the score is that of the item before.
        any_tied: (query,) bool, whether any score is.
        count: (query,) int64, number of items of a query, at most depth.
        ks: (ks,) int64, ascending, from 1; a k beyond the number of items means all of them.
        out: (query, ks, 5) int64, filled: concordant less discordant pairs, pairs tied in score, pairs tied in
            gain, distinct scores, distinct gains.
    """
    width = count.max()
    chunk = (width - 1) // np.int64(PLACES) + 1
    less, same = np.empty(width, np.uint32), np.empty(width, np.uint32)
    agree, above = np.empty(width, np.int64), np.empty(ks.shape[0], np.int64)
    chunks = np.empty((chunk, 2), np.uint64)
    bits = np.empty(chunk * WORDS, np.uint64)
    groups, words = np.empty(chunk * GROUPS, np.uint16), np.empty(chunk * WORDS, np.uint16)
    behind = np.zeros((8, 8), np.uint16)
    for g in range(8):
        behind[g, g + 1 :] = 1
    later = behind.view(np.uint64)
    for q in range(place.shape[0]):
        n, m = count[q], listed[q]
        same[:n] = np.uint32(0)
        if m < n:
            less[:n] = np.uint32(0)
        if chunk == 1:
            _count_chunk(place[q], gains[q], m, chunks, bits, groups, words, later, less, same)
        else:
            _count_chunks(place[q], gains[q], m, chunks, bits, groups, words, later, less, same)
        for i in range(ks.shape[0]):
            inside = ks[i] < n and m < n
            above[i] = _above_any(np.uint32(ks[i]), chunks, bits, groups, words) if inside else min(ks[i], m)
        _sum_up(less, same, above, ks, n, out[q])
        if any_tied[q]:
            _within_runs(place[q], gains[q], m, tied[q], n, chunks, bits, groups, words, later, agree)
            _remove_ties(agree, tied[q], ks, n, out[q])
