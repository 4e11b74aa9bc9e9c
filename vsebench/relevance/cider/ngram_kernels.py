"""Compiled kernels for n-grams: numbering and counting them, and looking up those of another list.

An n-gram is a number. Words keep their own numbers; a longer n-gram gets the next free number when the pair of (the
n-gram without its last word, its last word) occurs for the first time, so one hash table of pairs serves all lengths.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ...numeric import compiled as nb

MIX = np.uint64(0x9E3779B97F4A7C15)
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@nb.njit(nogil=True, cache=True, inline="always")
def _slot(keys, shift, key):
    """Where ``key`` is or would be in an open-addressed table of 2**(64 - shift) keys."""
    mask = np.uint64(keys.shape[0] - 1)
    at = (key * MIX) >> shift
    while keys[at] != key and keys[at] != EMPTY:
        at = (at + np.uint64(1)) & mask
    return at


@nb.njit(nogil=True, cache=True, inline="always")
def _sort(values, n):
    """Sort ``values[:n]`` ascending, by Shell sort: it compiles far faster than numpy's sort."""
    stride = n // 2
    while stride > 0:
        for j in range(stride, n):
            value, at = values[j], j
            while at >= stride and values[at - stride] > value:
                values[at] = values[at - stride]
                at -= stride
            values[at] = value
        stride = 1 if stride == 2 else stride * 5 // 11


@nb.njit(nogil=True, cache=True)
def count_grams(word, start, n_words, keys, values, shift, parent, last, order, pointer, gram, count):
    """Distinct n-grams (n = 1 to 4) of every caption, ascending, with their number of occurrences.

    Fills the hash table (``keys``, ``values``), ``parent``, ``last`` and ``order`` (n - 1) of every n-gram, and
    the compressed rows ``pointer``, ``gram``, ``count`` of the captions. Returns the numbers of n-grams and of entries.
    """
    used, at = n_words, 0
    for g in range(n_words):
        parent[g], last[g], order[g] = -1, g, 0
    for c in range(start.shape[0] - 1):
        pointer[c] = at
        first, stop = start[c], start[c + 1]
        found = np.empty(4 * (stop - first), np.int32)
        size = 0
        for p in range(first, stop):
            prefix = np.int64(word[p])
            found[size] = prefix
            size += 1
            for n in range(1, min(4, stop - p)):
                key = np.uint64(prefix) * np.uint64(n_words) + np.uint64(word[p + n])
                slot = _slot(keys, shift, key)
                if keys[slot] == EMPTY:
                    keys[slot], values[slot] = key, used
                    parent[used], last[used], order[used] = prefix, word[p + n], n
                    used += 1
                prefix = np.int64(values[slot])
                found[size] = prefix
                size += 1
        _sort(found, size)
        for k in range(size):
            g = found[k]
            if at > pointer[c] and gram[at - 1] == g:
                count[at - 1] += 1
            else:
                gram[at], count[at] = g, 1
                at += 1
    pointer[start.shape[0] - 1] = at
    return used, at


@nb.njit(nogil=True, cache=True)
def find_grams(keys, values, shift, n_words, parent, last, to):
    """Look up n-grams of another list, given by parent and last word; fills ``to`` (n-gram,) int32, -1 for none.

    ``parent`` is -1 for a word and else a smaller number; ``last`` is the number of the last word in this table, or -1.
    """
    for g in range(parent.shape[0]):
        to[g] = -1
        if parent[g] < 0:
            to[g] = last[g]
        elif to[parent[g]] >= 0 and last[g] >= 0:
            slot = _slot(keys, shift, np.uint64(to[parent[g]]) * np.uint64(n_words) + np.uint64(last[g]))
            if keys[slot] != EMPTY:
                to[g] = values[slot]
