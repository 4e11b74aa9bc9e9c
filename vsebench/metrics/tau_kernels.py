"""Compiled: concordant and discordant pairs at several depths of a ranking, in one walk through its gains.

Items come in the order of their gains, smallest first, and each is entered into a set of bits at its place in the
ranking. Before that the set is asked how many of those entered so far stand above: they have a smaller gain and a
better score, so they disagree. Counters tell what stands before a word in three levels, several counters in an
integer, so entering an item is a few additions, and a question a few looks and one population count. The answer is
noted at the place of the item, and every depth is a sum from the top.

Items of equal gain all ask before one of them is entered. Gains are often zero: where the smallest gain is common,
items that have it stay out of the walk, and whatever is above an item and not in the walk has a smaller gain.
"""

from __future__ import annotations

import numba as nb
import numpy as np

WORDS = 128  # of a chunk: four parts of eight groups of four words
PLACES = np.uint32(64 * WORDS)
GROUPS = 32  # of a chunk
BEHIND = np.uint64(0x0001000100010000)  # adds one to the last three of four counters
LONG_RUN = 64  # in longer runs of equal scores not every pair is looked at
CONCORD, TIES_SCORE, TIES_GAIN, KINDS_SCORE, KINDS_GAIN = range(5)


@nb.njit(nogil=True, cache=True, inline="always")
def _count_bits(v):
    """Number of bits set in a word."""
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
    v = (v & np.uint64(0x3333333333333333)) + ((v >> np.uint64(2)) & np.uint64(0x3333333333333333))
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint32((v * np.uint64(0x0101010101010101)) >> np.uint64(56))


@nb.njit(nogil=True, cache=True, inline="always")
def _above(place, top, bits, groups, words):
    """How many entered items of its chunk stand above a place; ``top`` are the counters of the parts of the chunk."""
    w = place >> np.uint32(6)
    inside = bits[w] & ((np.uint64(1) << np.uint64(place & np.uint32(63))) - np.uint64(1))
    part = np.uint32((top >> np.uint64(((w >> np.uint32(5)) & np.uint32(3)) << np.uint32(4))) & np.uint64(0xFFFF))
    return np.uint32(part + np.uint32(groups[w >> np.uint32(2)]) + np.uint32(words[w]) + _count_bits(inside))


@nb.njit(nogil=True, cache=True, inline="always")
def _enter(place, top, bits, groups, words, behind):
    """Enter an item; returns the counters of the parts of its chunk.

    Other counters of 16 bits are seen as integers of 64 here; ``behind`` (8, 2) is what a group adds to its part.
    """
    w = place >> np.uint32(6)
    bits[w] |= np.uint64(1) << np.uint64(place & np.uint32(63))
    words[w >> np.uint32(2)] += BEHIND << np.uint64((w & np.uint32(3)) << np.uint32(4))
    g, p = (w >> np.uint32(2)) & np.uint32(7), w >> np.uint32(5)
    groups[p << np.uint32(1)] += behind[g, 0]
    groups[(p << np.uint32(1)) + np.uint32(1)] += behind[g, 1]
    return top + (BEHIND << np.uint64((p & np.uint32(3)) << np.uint32(4)))


@nb.njit(nogil=True, cache=True)
def _walk(place, gains, kept, chunks, bits, groups, words, behind, less, same):
    """The walk where places fit one chunk.

    Args:
        place, gains: (kept,) the items, largest gain first.
        kept: how many.
        chunks: (1, 2) uint64: what stands before the chunk, zero, and the counters of its parts.
        bits, groups, words: the set and its counters.
        behind: see ``_enter``.
        less, same: uint32 by place, filled: the place plus how many items above have a smaller gain, how many an equal
            one; ``same`` is zero before.
    """
    bits[:] = np.uint64(0)
    groups[:] = np.uint16(0)
    words[:] = np.uint16(0)
    groups_of, words_of = groups.view(np.uint64), words.view(np.uint64)
    top = np.uint64(0)
    i = kept - 1
    while i >= 0:
        value = gains[i]
        j = i - 1
        if j < 0 or gains[j] != value:
            p = np.uint32(place[i])
            less[p] = p + _above(p, top, bits, groups, words)
            top = _enter(p, top, bits, groups_of, words_of, behind)
            i = j
            continue
        while j >= 0 and gains[j] == value:
            j -= 1
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            less[p] = p + _above(p, top, bits, groups, words)
        for m in range(j + 1, i + 1):
            top = _enter(np.uint32(place[m]), top, bits, groups_of, words_of, behind)
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            same[p] = p + _above(p, top, bits, groups, words) - less[p]
        i = j
    chunks[0, 0] = np.uint64(0)
    chunks[0, 1] = top


@nb.njit(nogil=True, cache=True, inline="always")
def _above_all(place, chunks, bits, groups, words):
    """How many entered items stand above a place."""
    c = place // PLACES
    return np.uint32(np.uint32(chunks[c, 0]) + _above(place, chunks[c, 1], bits, groups, words))


@nb.njit(nogil=True, cache=True, inline="always")
def _enter_all(place, chunks, bits, groups, words, behind):
    c = place // PLACES
    chunks[c, 1] = _enter(place, chunks[c, 1], bits, groups, words, behind)
    for k in range(np.int64(c) + 1, chunks.shape[0]):
        chunks[k, 0] += np.uint64(1)


@nb.njit(nogil=True, cache=True)
def _walk_wide(place, gains, kept, chunks, bits, groups, words, behind, less, same):
    """The walk for any number of places: every row of ``chunks`` tells what stands before a chunk, too."""
    chunks[:] = np.uint64(0)
    bits[:] = np.uint64(0)
    groups[:] = np.uint16(0)
    words[:] = np.uint16(0)
    groups_of, words_of = groups.view(np.uint64), words.view(np.uint64)
    i = kept - 1
    while i >= 0:
        value = gains[i]
        j = i - 1
        if j < 0 or gains[j] != value:
            p = np.uint32(place[i])
            less[p] = p + _above_all(p, chunks, bits, groups, words)
            _enter_all(p, chunks, bits, groups_of, words_of, behind)
            i = j
            continue
        while j >= 0 and gains[j] == value:
            j -= 1
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            less[p] = p + _above_all(p, chunks, bits, groups, words)
        for m in range(j + 1, i + 1):
            _enter_all(np.uint32(place[m]), chunks, bits, groups_of, words_of, behind)
        for m in range(j + 1, i + 1):
            p = np.uint32(place[m])
            same[p] = p + _above_all(p, chunks, bits, groups, words) - less[p]
        i = j


@nb.njit(nogil=True, cache=True)
def _runs(place, gains, kept, tied, n, begin, fill, own, own_gains):
    """Deal the items of the walk out to their runs of equal scores, in the order of their gains.

    Filled by place: ``begin``, where its run begins; by the beginning of a run: ``fill``, where its items end; from
    the beginning of a run on: ``own`` int32 and ``own_gains``, its items, by place within the run, and their gains.
    """
    first = 0
    for i in range(n):
        if not tied[i]:
            first = i
        begin[i] = first
        fill[i] = i
    for i in range(kept):
        p = np.uint32(place[i])
        r = begin[p]
        own[fill[r]] = np.int32(p) - np.int32(r)
        own_gains[fill[r]] = gains[i]
        fill[r] += 1


@nb.njit(nogil=True, cache=True)
def _agree(place, gains, kept, tied, n, chunks, bits, groups, words, behind, out):
    """What the pairs of equal scores that end at a place have added to the concordant; ``out`` (n,) is filled."""
    begin, fill = np.empty(n, np.int64), np.empty(n, np.int64)
    own, own_gains = np.empty(n, np.int32), np.empty(n, np.float32)
    _runs(place, gains, kept, tied, n, begin, fill, own, own_gains)
    at = np.full(n, -np.inf, np.float32)  # only the smallest gain has no place in the walk
    for i in range(kept):
        at[np.uint32(place[i])] = gains[i]
    less, same, walks = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.bool_)
    i = 0
    while i < n:
        j = i + 1
        while j < n and tied[j]:
            j += 1
        size = j - i
        if size > LONG_RUN:
            # A run is a small list of its own: the walk through it counts without looking at every pair.
            m = fill[i] - i
            same[:size] = np.uint32(0)
            walks[:size] = False
            _walk_wide(own[i : i + m], own_gains[i : i + m], m, chunks, bits, groups, words, behind, less, same)
            for k in range(i, i + m):
                walks[np.uint32(own[k])] = True
            before = 0  # items of the walk
            for k in range(size):
                if walks[k]:
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
    """Sums of both, and how many of ``same`` are not zero."""
    smaller = np.int64(0)
    equal = np.int64(0)
    again = np.int32(0)
    for i in range(less.shape[0]):
        smaller += np.int64(less[i])
        equal += np.int64(same[i])
        again += np.int32(same[i] > 0)
    return smaller, equal, np.int64(again)


@nb.njit(nogil=True, cache=True)
def _sum_up(less, same, entered, ks, n, out):
    """Fill ``out`` (ks, 5) for one query without equal scores; ``entered`` (ks,) items of the walk are above a k."""
    smaller = np.int64(0)
    equal = np.int64(0)
    again = np.int64(0)
    start = 0
    for i in range(ks.shape[0]):
        k, m = min(ks[i], n), entered[i]
        more = _sums(less[start:k], same[start:k])
        smaller, equal, again = smaller + more[0], equal + more[1], again + more[2]
        start = k
        left = k - m  # have the smallest gain
        ties = equal + left * (left - 1) // 2
        # ``less`` has the place for what is above and not in the walk: of that, what is in it was counted, too.
        discordant = smaller - m * (m - 1) // 2
        out[i, CONCORD] = k * (k - 1) // 2 - 2 * discordant - ties
        out[i, TIES_SCORE] = 0
        out[i, TIES_GAIN] = ties
        out[i, KINDS_SCORE] = k
        out[i, KINDS_GAIN] = m - again + np.int64(left > 0)


@nb.njit(nogil=True, cache=True)
def _untie(agree, tied, ks, n, out):
    """Take pairs of equal scores, of which ``agree`` (n,) tells what they added, out of ``out`` (ks, 5)."""
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
        out[i, KINDS_SCORE] -= again


@nb.njit(nogil=True, cache=True)
def count_pairs(place, gains, kept, tied, some, count, ks, out):
    """What Kendall's tau is made of, for every query and depth.

    Args:
        place: (query, width) int32 places in the ranking, 0 the best score, of the items in the walk, largest gain
            first.
        gains: (query, width) float32 their gains. All other items of a query have one gain, smaller than these.
        kept: (query,) int64, how many items of a query are in the walk.
        tied: (query, depth) bool, the score is that of the item before.
        some: (query,) bool, some score is.
        count: (query,) int64, how many items a query has, at most depth.
        ks: (ks,) int64, ascending, from 1; a k beyond a query's items means all of them.
        out: (query, ks, 5) int64, filled: concordant less discordant pairs, pairs tied in score, pairs tied in
            gain, distinct scores, distinct gains.
    """
    width = count.max()
    chunk = (width - 1) // np.int64(PLACES) + 1
    less, same = np.empty(width, np.uint32), np.empty(width, np.uint32)
    agree, entered = np.empty(width, np.int64), np.empty(ks.shape[0], np.int64)
    chunks = np.empty((chunk, 2), np.uint64)
    bits = np.empty(chunk * WORDS, np.uint64)
    groups, words = np.empty(chunk * GROUPS, np.uint16), np.empty(chunk * WORDS, np.uint16)
    behind = np.zeros((8, 8), np.uint16)
    for g in range(8):
        behind[g, g + 1 :] = 1
    later = behind.view(np.uint64)
    for q in range(place.shape[0]):
        n, m = count[q], kept[q]
        same[:n] = np.uint32(0)
        if m < n:
            less[:n] = np.uint32(0)
        if chunk == 1:
            _walk(place[q], gains[q], m, chunks, bits, groups, words, later, less, same)
        else:
            _walk_wide(place[q], gains[q], m, chunks, bits, groups, words, later, less, same)
        for i in range(ks.shape[0]):
            inside = ks[i] < n and m < n
            entered[i] = _above_all(np.uint32(ks[i]), chunks, bits, groups, words) if inside else min(ks[i], m)
        _sum_up(less, same, entered, ks, n, out[q])
        if some[q]:
            _agree(place[q], gains[q], m, tied[q], n, chunks, bits, groups, words, later, agree)
            _untie(agree, tied[q], ks, n, out[q])
