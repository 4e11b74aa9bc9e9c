"""Compiled: the smallest gain and what is above it, and items in the order of their gains looked up elsewhere."""

from __future__ import annotations

import numba as nb
import numpy as np

STRIP = 256  # numbers looked at together; a constant trip count is what lets the compiler vectorise


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
        zeros = 0  # most often what the smallest are: then one look is enough
        for s in range(0, stop, STRIP):
            strip = row[s : s + STRIP]
            for j in range(STRIP):
                lane[j] = min(lane[j], strip[j])
            zeros += _at_most(strip, np.float32(0))
        limit = lane.min()
        for j in range(stop, n):
            limit = min(limit, row[j])
        least[q] = limit
        if limit == 0:
            common += zeros
        else:
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
def places(items, kept, order, out):
    """Fill ``out`` (query, width) int32 with where ``items`` (query, width) stand in ``order`` (query, gallery)."""
    where = np.zeros(order.shape[1], np.uint32)  # should an item be listed twice, all places stay inside
    for q in range(order.shape[0]):
        listed, item, place = order[q], items[q], out[q]
        for i in range(listed.shape[0]):
            where[np.uint32(listed[i])] = i
        for i in range(kept[q]):
            place[i] = where[np.uint32(item[i])]


@nb.njit(nogil=True, cache=True)
def top(items, gains, kept, rows, least, out, best):
    """Fill ``out`` and ``best`` (query, k) with the items of largest gain and these gains, ties to the lower position.

    ``items`` and ``gains`` (query, width) are the ``kept[query]`` items whose gains are above ``least[query]``, largest
    first, ``rows`` (query, gallery) the gains of all.
    """
    k = out.shape[1]
    for q in range(out.shape[0]):
        n = min(kept[q], k)
        out[q, :n] = items[q, :n]
        best[q, :n] = gains[q, :n]
        j = 0
        for i in range(n, k):
            while rows[q, j] > least[q]:
                j += 1
            out[q, i] = j
            best[q, i] = rows[q, j]
            j += 1
