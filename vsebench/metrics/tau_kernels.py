"""Compiled: of every item of a ranking how many items above it have a larger, a smaller or the same gain.

Items are processed in ascending order of gain, and each is added to a bit set at its place in the ranking (the rank,
counted from 0). Items that were added before and rank above have a smaller gain. Their number comes from counters in
four levels (chunks, parts, groups and words of the set, several counters in an integer), so adding an item takes a few
additions and counting a few loads and one population count. The counts are stored at the place of the item; what
Kendall's tau needs is summed up from them, for the first k items (``tau.pair_counts``) and for all but those of a group
(``tau.without_groups``).

Items of equal gain are all counted before one of them is added, and once more after that. Above an item are only those
above the first item of its score. Gains are often zero: if the smallest gain is common, items with it are not
listed (``GainOrder``), and every item above that is not listed has a smaller gain.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

CHUNK_WORDS = 128  # words per chunk: four parts of eight groups of four words
CHUNK_PLACES = np.uint32(64 * CHUNK_WORDS)
CHUNK_GROUPS = 32  # groups per chunk
LAST_THREE = np.uint64(0x0001000100010000)  # adds one to the last three of four counters


@nb.njit(nogil=True)
def _above(place, chunks, bits, groups, words):
    """The number of added items above a place."""
    w = place >> np.uint32(6)
    v = bits[w] & ((np.uint64(1) << np.uint64(place & np.uint32(63))) - np.uint64(1))
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))  # the number of bits that are set
    v = (v & np.uint64(0x3333333333333333)) + ((v >> np.uint64(2)) & np.uint64(0x3333333333333333))
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    inside = (v * np.uint64(0x0101010101010101)) >> np.uint64(56)
    c = place // CHUNK_PLACES
    part = (chunks[c, 1] >> np.uint64(((w >> np.uint32(5)) & np.uint32(3)) << np.uint32(4))) & np.uint64(0xFFFF)
    return np.uint32(chunks[c, 0] + part + inside) + np.uint32(groups[w >> np.uint32(2)]) + np.uint32(words[w])


@nb.njit(nogil=True)
def _add(place, chunks, bits, groups, words, behind):
    """Add an item to its chunk.

    Counters of parts, groups and words have 16 bits and are updated four at a time as integers of 64; ``behind`` (8, 2)
    are the increments of the counters of a part for an item of each group.
    """
    w = place >> np.uint32(6)
    bits[w] |= np.uint64(1) << np.uint64(place & np.uint32(63))
    words[w >> np.uint32(2)] += LAST_THREE << np.uint64((w & np.uint32(3)) << np.uint32(4))
    g, p = (w >> np.uint32(2)) & np.uint32(7), w >> np.uint32(5)
    groups[p << np.uint32(1)] += behind[g, 0]
    groups[(p << np.uint32(1)) + np.uint32(1)] += behind[g, 1]
    c = place // CHUNK_PLACES
    chunks[c, 1] += LAST_THREE << np.uint64((p & np.uint32(3)) << np.uint32(4))


@nb.njit(nogil=True)
def above(
    place,
    gains,
    listed,
    tied,
    count,
    chunks,
    bits,
    groups,
    words,
    groups_of,
    words_of,
    behind,
    begin,
    counts,
    net,
    same,
):
    """Compare the gain of every item with the gains of the items above it.

    Args:
        place: (query, width) int32 places in the ranking, 0 for the best score, of the listed items, largest gain
            first.
        gains: (query, width) float32 their gains. All other items of a query have one gain, smaller than these.
        listed: (query,) int64, number of listed items.
        tied: (query, depth) bool, the item before has the same score.
        count: (query,) int64, number of items of a query, at most depth.
        chunks: (chunk, 2) uint64, the number of items before each chunk, and the counters of its parts.
        bits: (chunk * CHUNK_WORDS,) uint64, the set.
        groups, words: (chunk * CHUNK_GROUPS,) and (chunk * CHUNK_WORDS,) uint16, its counters.
        groups_of, words_of: the same counters, four in a uint64.
        behind: (8, 2) uint64, see ``_add``.
        begin: (depth,) uint32, the place of the first item with the score of an item.
        counts: (3, depth) int32: of the listed items above all with the score of an item, those with a smaller gain
            and those with its gain; and of those above it, the ones with a smaller gain.
        net: (query, depth) int32, filled by place: of the items with a better score, those with a larger gain less
            those with a smaller one; 0 behind the last item.
        same: (query, depth) int32, filled by place: items above, also of the same score, with the gain of an item.
    """
    less, equal, upper = counts[0], counts[1], counts[2]
    for q in range(place.shape[0]):
        row, gain, n, i = place[q], gains[q], count[q], listed[q] - 1
        out, alike = net[q], same[q]
        chunks[:] = np.uint64(0)
        bits[:] = np.uint64(0)
        groups[:] = np.uint16(0)
        words[:] = np.uint16(0)
        start = np.uint32(0)
        for r in range(n):
            start = start if tied[q, r] else np.uint32(r)
            begin[r] = start
        out[n:] = 0
        alike[:n] = -1
        less[:n] = 0
        equal[:n] = 0
        alike[n:] = 0
        while i >= 0:
            j = i - 1
            while j >= 0 and gain[j] == gain[i]:
                j -= 1
            for turn in range(2):  # before and after the items of this gain are added
                for m in range(j + 1, i + 1):
                    p = np.uint32(row[m])
                    b = begin[p]
                    found = np.int32(_above(b, chunks, bits, groups, words))
                    inside = found if b == p else np.int32(_above(p, chunks, bits, groups, words))
                    if turn == 0:
                        less[p], upper[p] = found, inside
                    else:
                        equal[p], alike[p] = found - less[p], inside - upper[p]
                if turn == 1:
                    break
                for m in range(j + 1, i + 1):
                    p = np.uint32(row[m])
                    _add(p, chunks, bits, groups_of, words_of, behind)
                    for c in range(np.int64(p // CHUNK_PLACES) + 1, chunks.shape[0]):
                        chunks[c, 0] += np.uint64(1)
                if i - j == 1:
                    p = np.uint32(row[i])
                    equal[p], alike[p] = 0, 0
                    break
            i = j
        known, before = np.int32(0), np.int32(0)  # listed items so far, and those above all of this score
        for r in range(n):
            b, inside = np.int32(begin[r]), np.int32(alike[r] >= 0)
            before = known if b == r else before
            # an item that is not listed has no smaller gain above it
            out[r] = before + inside * (before - b - equal[r] - 2 * less[r])
            alike[r] += (np.int32(1) - inside) * (np.int32(r + 1) - known)
            known += inside
