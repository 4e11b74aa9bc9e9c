"""Compiled: concordant and discordant pairs at several depths of a ranking, in one pass over its gains.

Items are processed in ascending order of gain, and each is added to a bit set at its place in the ranking (the rank,
counted from 0). Items that were added before and rank above have a smaller gain and a better score: these pairs are
discordant. Their number comes from counters in four levels (chunks, parts, groups and words of the set, several
counters in an integer), so adding an item takes a few additions and counting a few loads and one population count. The
count is stored at the place of the item, and the result at a depth is a sum over the places above it.

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
LESS, SAME, AGAIN, LISTED = range(4)


@nb.njit(nogil=True, cache=True)
def _above(place, chunks, bits, groups, words):
    """The number of added items above a place."""
    w = place >> np.uint32(6)
    v = bits[w] & ((np.uint64(1) << np.uint64(place & np.uint32(63))) - np.uint64(1))
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))  # the number of bits that are set
    v = (v & np.uint64(0x3333333333333333)) + ((v >> np.uint64(2)) & np.uint64(0x3333333333333333))
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    inside = (v * np.uint64(0x0101010101010101)) >> np.uint64(56)
    c = place // PLACES
    part = (chunks[c, 1] >> np.uint64(((w >> np.uint32(5)) & np.uint32(3)) << np.uint32(4))) & np.uint64(0xFFFF)
    return np.uint32(chunks[c, 0] + part + inside) + np.uint32(groups[w >> np.uint32(2)]) + np.uint32(words[w])


@nb.njit(nogil=True, cache=True)
def _add(place, chunks, bits, groups, words, behind):
    """Add an item to its chunk.

    Counters of parts, groups and words have 16 bits and are updated four at a time as integers of 64; ``behind`` (8, 2)
    are the increments of the counters of a part for an item of each group.
    """
    w = place >> np.uint32(6)
    bits[w] |= np.uint64(1) << np.uint64(place & np.uint32(63))
    words[w >> np.uint32(2)] += BEHIND << np.uint64((w & np.uint32(3)) << np.uint32(4))
    g, p = (w >> np.uint32(2)) & np.uint32(7), w >> np.uint32(5)
    groups[p << np.uint32(1)] += behind[g, 0]
    groups[(p << np.uint32(1)) + np.uint32(1)] += behind[g, 1]
    c = place // PLACES
    chunks[c, 1] += BEHIND << np.uint64((p & np.uint32(3)) << np.uint32(4))


@nb.njit(nogil=True, cache=True)
def count_pairs(
    place, gains, listed, count, ks, chunks, bits, groups, words, groups_of, words_of, behind, less, same, out
):
    """What the pairs of gains are counted from, for every query and depth.

    Args:
        place: (query, width) int32 places in the ranking, 0 for the best score, of the listed items, largest gain
            first.
        gains: (query, width) float32 their gains. All other items of a query have one gain, smaller than these.
        listed: (query,) int64, number of listed items.
        count: (query,) int64, number of items of a query.
        ks: (ks,) int64, ascending, from 1; a k beyond the number of items means all of them.
        chunks: (chunk, 2) uint64, the number of items before each chunk, and the counters of its parts.
        bits, groups, words: (chunk * WORDS,) uint64, (chunk * GROUPS,) uint16 and (chunk * WORDS,) uint16, the set and
            its counters.
        groups_of, words_of: the same counters, four in a uint64.
        behind: (8, 2) uint64, see ``_add``.
        less, same: (depth,) uint32, by place.
        out: (query, ks, 4) int64, filled with sums over the listed items of the top k: of the place plus the number of
            listed items above with a smaller gain; of the number of listed items above with an equal gain; of those for
            which there is one; and of the items themselves.
    """
    for q in range(place.shape[0]):
        row, gain, n, i = place[q], gains[q], count[q], listed[q] - 1
        less[:n] = np.uint32(0)
        same[:n] = np.uint32(0)
        chunks[:] = np.uint64(0)
        bits[:] = np.uint64(0)
        groups[:] = np.uint16(0)
        words[:] = np.uint16(0)
        while i >= 0:
            j = i - 1
            while j >= 0 and gain[j] == gain[i]:
                j -= 1
            if i - j == 1:  # as below, for one item
                p = np.uint32(row[i])
                less[p] = p + _above(p, chunks, bits, groups, words)
                _add(p, chunks, bits, groups_of, words_of, behind)
                for c in range(np.int64(p // PLACES) + 1, chunks.shape[0]):
                    chunks[c, 0] += np.uint64(1)
                i = j
                continue
            for m in range(j + 1, i + 1):
                p = np.uint32(row[m])
                less[p] = p + _above(p, chunks, bits, groups, words)
            for m in range(j + 1, i + 1):
                p = np.uint32(row[m])
                _add(p, chunks, bits, groups_of, words_of, behind)
                for c in range(np.int64(p // PLACES) + 1, chunks.shape[0]):
                    chunks[c, 0] += np.uint64(1)
            for m in range(j + 1, i + 1):
                p = np.uint32(row[m])
                same[p] = p + _above(p, chunks, bits, groups, words) - less[p]
            i = j
        start, smaller, equal, again = 0, np.int64(0), np.int64(0), np.int64(0)
        for i in range(ks.shape[0]):
            k = min(ks[i], n)
            for r in range(start, k):
                smaller += np.int64(less[r])
                equal += np.int64(same[r])
                again += np.int64(same[r] > 0)
            start = k
            out[q, i, LESS] = smaller
            out[q, i, SAME] = equal
            out[q, i, AGAIN] = again
            out[q, i, LISTED] = _above(np.uint32(k), chunks, bits, groups, words) if k < n else listed[q]


@nb.njit(nogil=True, cache=True)
def compare_runs(gains, tied, count, ks, out):
    """Compare the gains of all items of equal scores.

    Args:
        gains: (query, depth) float32 by place.
        tied: (query, depth) bool, the score is that of the item before; the first item's is not.
        count: (query,) int64, number of items of a query.
        ks: (ks,) int64, ascending.
        out: (query, ks, 3) int64, filled for the top k: concordant less discordant pairs as if the place decided; all
            pairs; items whose score is that of the item before.
    """
    for q in range(gains.shape[0]):
        gain, n = gains[q], count[q]
        start, done = np.int64(0), np.int64(0)
        agree, pairs, items = np.int64(0), np.int64(0), np.int64(0)
        for i in range(ks.shape[0]):
            k = min(ks[i], n)
            for p in range(done, k):
                if not tied[q, p]:
                    start = np.int64(p)
                    continue
                own, more, less = gain[p], np.int32(0), np.int32(0)
                for r in range(start, p):
                    more += np.int32(gain[r] > own)
                    less += np.int32(gain[r] < own)
                agree += np.int64(more) - np.int64(less)
                pairs += p - start
                items += np.int64(1)
            done = k
            out[q, i, 0] = agree
            out[q, i, 1] = pairs
            out[q, i, 2] = items
