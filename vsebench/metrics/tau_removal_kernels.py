"""Compiled: the pairs that Kendall's tau counts, without the items of one group (an image), for every group.

With the number of items above and below that have a smaller or a larger gain, an item takes part in so many concordant
and discordant pairs. The items above come from a Fenwick tree over the levels of gain, filled along the ranking; those
below from the totals. Items of equal scores are looked up together, before and after all of them are added.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb
from .gain_order import CONCORD, DISTINCT_GAINS, DISTINCT_SCORES, TIES_GAIN, TIES_SCORE


@nb.njit(nogil=True, cache=True)
def _levels(place, gains, listed, n, level):
    """Fill ``level`` (n,) with 0 for the smallest gain, 1 for the next; return how many there are."""
    level[:n] = -1
    last, inside = -1, 0
    number = 0
    for i in range(listed - 1, -1, -1):  # ascending gains
        p = place[i]
        if p >= n:
            continue
        if last < 0 or gains[i] != gains[last]:
            number += 1
        last = i
        inside += 1
        level[p] = number - 1
    if inside < n:  # items that are not listed have the smallest gain
        for p in range(n):
            level[p] += 1
        number += 1
    return number


@nb.njit(nogil=True, cache=True)
def _below(tree, level):
    """How many added items have a level below this one."""
    total = 0
    i = level
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@nb.njit(nogil=True, cache=True)
def _concord(level, tied, n, number, tree, smaller, at_level, out):
    """Fill ``out`` (n,) with the concordant less discordant pairs of every item.

    ``tree`` (number + 1,) and ``at_level`` (number,) are zero before; ``smaller`` (number + 1,) is how many items of
    all have a smaller level.
    """
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and tied[stop]:
            stop += 1
        for i in range(start, stop):
            x = level[i]
            less = _below(tree, x)
            out[i] = (start - less - at_level[x]) - less  # above with a larger gain agree, with a smaller one do not
        for i in range(start, stop):
            at_level[level[i]] += 1
            j = level[i] + 1
            while j <= number:
                tree[j] += 1
                j += j & -j
        for i in range(start, stop):
            x = level[i]
            less = _below(tree, x)
            more = stop - less - at_level[x]
            out[i] += (smaller[x] - less) - (n - smaller[x + 1] - more)
        start = stop


@nb.njit(nogil=True, cache=True)
def leave_out(place, gains, listed, tied, count, group, room, last, row, which, size, out):
    """Counts of pairs without the items of a group; returns how many rows are filled.

    Args:
        place, gains, listed: the order of gains, see ``tau_kernels.count_pairs``.
        tied: (query, depth) bool, the score is that of the item before.
        count: (query,) int64 number of items of a query that count, at most depth.
        group: (query, depth) int64, at least 0.
        room: (8, depth + 2) int64, overwritten.
        last: (groups,) int64, -1; and so it is in the end.
        row, which, size: (pair,) int64, filled: the query, the group and the number of items without it.
        out: (pair, 5) int64, filled, see ``tau.pair_counts``.
    """
    level, concord, run, before, runs = room[0], room[1], room[2], room[3], room[4]
    tree, smaller, at_level = room[5], room[6], room[7]
    pair = 0
    for q in range(place.shape[0]):
        n = count[q]
        number = _levels(place[q], gains[q], listed[q], n, level)
        at_level[: number + 1] = 0
        tree[: number + 1] = 0
        for i in range(n):
            at_level[level[i]] += 1
        smaller[0] = 0
        ties_gain = 0
        for x in range(number):
            smaller[x + 1] = smaller[x] + at_level[x]
            ties_gain += at_level[x] * (at_level[x] - 1) // 2
        at_level[:number] = 0
        _concord(level, tied[q], n, number, tree, smaller, at_level, concord)
        total = 0
        number_runs, ties_score = 0, 0
        for i in range(n):
            total += concord[i]
            if i == 0 or not tied[q, i]:  # lengths of the runs of equal scores
                runs[number_runs] = 0
                number_runs += 1
            run[i] = number_runs - 1
            ties_score += runs[number_runs - 1]
            runs[number_runs - 1] += 1
        total //= 2
        for i in range(n):
            x = group[q, i]
            before[i] = last[x]  # the item of the same group before
            last[x] = i
        for i in range(n):
            x = group[q, i]
            if last[x] != i:
                continue  # a group is handled at its last item
            last[x] = -1
            lost, lost_score, lost_gain, own = 0, 0, 0, 0
            levels, scores = np.int64(0), np.int64(0)  # that no other item has
            a = i
            while a >= 0:
                own += 1
                lost += concord[a]
                lost_score += runs[run[a]] - 1
                lost_gain += at_level[level[a]] - 1
                same_level, same_run, b = 1, 1, before[a]
                while b >= 0:
                    # pairs inside the group were counted from both of its items
                    if run[a] == run[b]:
                        lost_score -= 1
                        same_run += 1
                    elif level[b] > level[a]:
                        lost -= 1
                    elif level[b] < level[a]:
                        lost += 1
                    if level[a] == level[b]:
                        lost_gain -= 1
                        same_level += 1
                    b = before[b]
                # the first of a level, seen from its last item, has all of them before it
                levels += np.int64(same_level == at_level[level[a]])
                scores += np.int64(same_run == runs[run[a]])
                a = before[a]
            row[pair], which[pair], size[pair] = q, x, n - own
            out[pair, CONCORD] = total - lost
            out[pair, TIES_SCORE] = ties_score - lost_score
            out[pair, TIES_GAIN] = ties_gain - lost_gain
            out[pair, DISTINCT_SCORES] = number_runs - scores
            out[pair, DISTINCT_GAINS] = number - levels
            pair += 1
    return pair
