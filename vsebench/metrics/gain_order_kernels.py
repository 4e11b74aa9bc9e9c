"""Compiled: the smallest gain of every query, and the gains above it."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb


@nb.njit(nogil=True)
def smallest(gains, count, least):
    """Fill ``least`` (query,) with the smallest gain of every query; return the number of gains equal to it.

    ``gains`` is (query, depth) float32 without NaN; a query has ``count[query]`` of them.
    """
    equal = 0
    for q in range(gains.shape[0]):
        row, n, limit = gains[q], count[q], np.float32(np.inf)
        for j in range(n):
            limit = row[j] if row[j] < limit else limit
        for j in range(n):
            equal += row[j] == limit
        least[q] = limit
    return equal


@nb.njit(nogil=True)
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
