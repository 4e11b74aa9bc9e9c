"""Compiled: the smallest gain of every query, and the gains above it."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

STRIP = 256  # gains compared in one loop; a constant trip count lets the compiler vectorise it


@nb.njit(nogil=True, cache=True, inline="always")
def _at_most(strip, limit):
    found = np.int32(0)
    for j in range(STRIP):
        found = np.int32(found + np.int32(strip[j] <= limit))
    return found


@nb.njit(nogil=True, cache=True)
def smallest(gains, count, least):
    """Fill ``least`` (query,) with the smallest gain of every query; return the number of gains equal to it.

    ``gains`` is (query, depth) float32, of which a query has ``count[query]``.
    """
    lane = np.empty(STRIP, np.float32)
    equal = 0
    for q in range(gains.shape[0]):
        row, n = gains[q], count[q]
        stop = n - n % STRIP
        lane[:] = np.inf
        zeros = 0  # the smallest gain is mostly 0: then one pass is enough
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
            equal += zeros
        else:
            for s in range(0, stop, STRIP):
                equal += _at_most(row[s : s + STRIP], limit)
        for j in range(stop, n):
            equal += row[j] <= limit
    return equal


@nb.njit(nogil=True, cache=True)
def above(gains, count, least, item, gain, listed):
    """List the gains above ``least`` (query,) with their indices; fill ``listed`` (query,) with their number.

    ``item`` int32 and ``gain`` float32 (query, depth) are filled in ascending order of the index.
    """
    for q in range(gains.shape[0]):
        row, limit = gains[q], least[q]
        n = 0
        for j in range(count[q]):
            item[q, n] = j
            gain[q, n] = row[j]
            n += row[j] > limit
        listed[q] = n
