"""Pearson, Spearman and Kendall of the same points under many weightings, in one pass over the points.

A bootstrap sample is the points with integer weights: how often each was drawn. ``LANES`` samples are computed together
in the last axis, so that every step of the pass is one vector operation. The points are sorted by x, so that ties of x
are adjacent; y is replaced by its rank among the distinct values, and a Fenwick tree over these ranks counts the
points before the current one.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as numba

LANES = 16


@numba.njit(nogil=True, cache=True)
def correlations(group, level, x, y, cluster, counts, levels, kendall, out):
    """Correlations of the same points under ``LANES`` weightings; NaN where a column is constant.

    Args:
        group: (point,) int32 rank of x among its distinct values, ascending.
        level: (point,) int32 rank of y among its distinct values.
        x, y: (point,) float64 values, best centred.
        cluster: (point,) int32 index of the row of ``counts`` with the weights of a point.
        counts: (cluster, LANES) int32 weights.
        levels: number of distinct y.
        kendall: 0 for none, 1 for tau-b, 2 for tau-c.
        out: (3, LANES) float64 for Pearson, Spearman, Kendall.
    """
    n = len(group)
    seen = np.zeros((levels, LANES), np.int32)  # weight of every y
    total = np.zeros(LANES, np.int64)
    sums = np.zeros((5, LANES))
    for i in range(n):
        w = counts[cluster[i]]
        xi, yi, row = x[i], y[i], seen[level[i]]
        for b in range(LANES):
            v = w[b]
            row[b] += v
            total[b] += v
            sums[0, b] += v * xi
            sums[1, b] += v * yi
            sums[2, b] += v * (xi * xi)
            sums[3, b] += v * (yi * yi)
            sums[4, b] += v * (xi * yi)
    ranks, tied, distinct = _midranks(seen, total)
    tree = np.zeros((levels + 1, LANES), np.int32)
    passed = np.zeros((levels, LANES), np.int32)
    before = np.zeros(LANES, np.int64)
    tied_x = np.zeros(LANES, np.int64)
    distinct_x = np.zeros(LANES, np.int64)
    surplus = np.zeros(LANES, np.int64)  # concordant less discordant pairs
    rank_xx, rank_xy = np.zeros(LANES), np.zeros(LANES)
    weight = np.zeros(LANES, np.int64)
    moment = np.zeros(LANES)
    below = np.zeros(LANES, np.int32)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and group[stop] == group[start]:
            stop += 1
        weight[:] = 0
        moment[:] = 0.0
        for i in range(start, stop):
            w, at = counts[cluster[i]], ranks[level[i]]
            for b in range(LANES):
                weight[b] += w[b]
                moment[b] += w[b] * at[b]
            if kendall:
                below[:] = 0
                node = level[i]
                while node > 0:
                    part = tree[node]
                    for b in range(LANES):
                        below[b] += part[b]
                    node -= node & -node
                same = passed[level[i]]
                for b in range(LANES):
                    # less - greater, where greater = before - less - same
                    surplus[b] += w[b] * (2 * np.int64(below[b]) + same[b] - before[b])
        for b in range(LANES):
            c = weight[b]
            middle = before[b] + 0.5 * (c - total[b])  # midrank less its mean
            rank_xx[b] += c * middle * middle
            rank_xy[b] += moment[b] * middle
            tied_x[b] += c * (c - 1) // 2
            distinct_x[b] += c > 0
            before[b] += c
        if kendall:
            for i in range(start, stop):
                w, same = counts[cluster[i]], passed[level[i]]
                for b in range(LANES):
                    same[b] += w[b]
                node = level[i] + 1
                while node <= levels:
                    part = tree[node]
                    for b in range(LANES):
                        part[b] += w[b]
                    node += node & -node
        start = stop
    for b in range(LANES):
        out[:, b] = np.nan
        if distinct_x[b] < 2 or distinct[b] < 2:
            continue
        size = np.float64(total[b])
        var_x = sums[2, b] - sums[0, b] * sums[0, b] / size
        var_y = sums[3, b] - sums[1, b] * sums[1, b] / size
        if var_x > 0 and var_y > 0:
            out[0, b] = (sums[4, b] - sums[0, b] * sums[1, b] / size) / np.sqrt(var_x) / np.sqrt(var_y)
        rank_yy = 0.0
        for k in range(levels):
            rank_yy += seen[k, b] * ranks[k, b] * ranks[k, b]
        out[1, b] = rank_xy[b] / np.sqrt(rank_xx[b]) / np.sqrt(rank_yy)
        pairs = total[b] * (total[b] - 1) // 2
        if kendall == 1:
            left, right = np.float64(pairs - tied_x[b]), np.float64(pairs - tied[b])
            out[2, b] = surplus[b] / np.sqrt(left) / np.sqrt(right)
        elif kendall == 2:
            classes = min(distinct_x[b], distinct[b])
            out[2, b] = 2 * surplus[b] / (size * size * (classes - 1) / classes)


@numba.njit(nogil=True, cache=True)
def _midranks(seen, total):
    """Of every y its midrank less the mean midrank; tied pairs and distinct values, by lane."""
    levels = len(seen)
    ranks = np.zeros((levels, LANES))
    before = np.zeros(LANES, np.int64)
    tied = np.zeros(LANES, np.int64)
    distinct = np.zeros(LANES, np.int64)
    for k in range(levels):
        for b in range(LANES):
            c = np.int64(seen[k, b])
            ranks[k, b] = before[b] + 0.5 * (c - total[b])
            tied[b] += c * (c - 1) // 2
            distinct[b] += c > 0
            before[b] += c
    return ranks, tied, distinct
