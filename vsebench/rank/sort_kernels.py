"""Compiled: candidates for the k best scores, runs of near-ties and their order, gains gathered in that order.

The order of neighbours by float32 score is uncertain if they are closer than twice the error of a score. Such runs
are listed, scored in float64 by the caller, and sorted by these scores.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb

MAX_INSERTION_RUN = 48  # longest run sorted by insertion
STRIP_SCORES = 256  # compared in one loop; a constant trip count lets the compiler vectorise it
SHORT_STRIP_SCORES = 32  # the same if some scores are expected above the limit
INSERTION_DEPTH = 64  # up to this depth the best are collected by insertion, beyond it selected and sorted
SAMPLED_SCORES = 256  # scores of a row from which its k-th best is estimated
NEIGHBOURS = 32  # compared in one loop
ERROR_FACTOR = 2.01  # the errors of two scores can have opposite signs; the rest covers rounding of the limit


@nb.njit(nogil=True)
def _count_above(strip, least):
    over = np.int32(0)
    for j in range(STRIP_SCORES):
        over = np.int32(over + np.int32(strip[j] > least))
    return over


@nb.njit(nogil=True)
def _best(row, best, place):
    """Fill ``best`` with the largest numbers of a row, descending, ties to the lower position."""
    k = best.shape[0]
    n = row.shape[0]
    filled = 0
    for s in range(0, n, STRIP_SCORES):
        e = min(s + STRIP_SCORES, n)
        if filled == k and e - s == STRIP_SCORES and _count_above(row[s:e], best[k - 1]) == 0:
            continue
        for j in range(s, e):
            v = row[j]
            if filled == k and not v > best[k - 1]:
                continue
            i = min(filled, k - 1)
            while i > 0 and best[i - 1] < v:
                best[i] = best[i - 1]
                place[i] = place[i - 1]
                i -= 1
            best[i] = v
            place[i] = j
            filled = min(filled + 1, k)


@nb.njit(nogil=True)
def _count_reaching(piece, least):
    over = np.int32(0)
    for j in range(SHORT_STRIP_SCORES):
        over = np.int32(over + np.int32(piece[j] >= least))
    return over


@nb.njit(nogil=True)
def candidates(values, least, few, items, scores, count):
    """List the items with scores that reach a limit, by index.

    Args:
        values: (query, gallery) float32 scores.
        least: (query,) float32 limits.
        few: most scores are below them.
        items, scores: (query, gallery) int32 and float32; the first ``count[query]`` of a row are filled.
        count: (query,) int64, filled.
    """
    n = values.shape[1]
    for q in range(values.shape[0]):
        value, limit, item, score = values[q], least[q], items[q], scores[q]
        skip = few and limit > -np.inf
        kept = np.int64(0)
        for s in range(0, n, SHORT_STRIP_SCORES):
            e = min(s + SHORT_STRIP_SCORES, n)
            if skip and e - s == SHORT_STRIP_SCORES and _count_reaching(value[s:e], limit) == 0:
                continue
            for j in range(s, e):
                # Always written and kept by counting: a branch would be mispredicted.
                item[kept] = j
                score[kept] = value[j]
                kept += np.int64(value[j] >= limit)
        count[q] = kept


@nb.njit(nogil=True)
def _any_uncertain(ahead, behind, rate, twice):
    """Whether the order of any of PAIRS_PER_LOOP neighbours is uncertain."""
    apart = np.int32(0)
    for j in range(NEIGHBOURS):
        x, y = ahead[j], behind[j]
        apart = np.int32(apart + np.int32(x - y > rate * (abs(x) + abs(y)) + twice))
    return apart < NEIGHBOURS


@nb.njit(nogil=True)
def find_runs(ordered, count, k, rate, base, runs):
    """List the runs of neighbours in uncertain order.

    Args:
        ordered: (query, width) float32 scores, best first.
        count: (query,) number of scores of a query.
        k: depth. The last run continues below it while scores there can be among the k best.
        rate, base: the error of a score s is at most ``rate * |s| + base[query]``; ``base`` is (query,) float32.
        runs: (run, 3) int32, filled: query, first index, and last index plus one.

    Returns:
        The number of runs, and the number of their members.
    """
    found = 0
    members = 0
    for q in range(ordered.shape[0]):
        score = ordered[q]
        m = count[q]
        first = 0
        twice = np.float32(2) * base[q]
        i = 1
        while i <= m:
            # A run ends before a gap in front of index i, and at the end of the list.
            apart = 0
            if i + NEIGHBOURS <= m and not _any_uncertain(
                score[i - 1 : i - 1 + NEIGHBOURS], score[i : i + NEIGHBOURS], rate, twice
            ):
                apart = NEIGHBOURS
            elif i == m or score[i - 1] - score[i] > rate * (abs(score[i]) + abs(score[i - 1])) + twice:
                apart = 1
            elif i >= k and score[k - 1] - score[i] > rate * (abs(score[i]) + abs(score[k - 1])) + twice:
                apart = 1  # behind the k best for certain, although near-ties lead from one to the next
            if apart:
                if i - first > 1:
                    runs[found, 0] = q
                    runs[found, 1] = first
                    runs[found, 2] = i
                    found += 1
                    members += i - first
                first = i + apart - 1
                if first >= k:
                    break
            i += max(apart, 1)
    return found, members


@nb.njit(nogil=True)
def _sort_run(item, score):
    """Sort one run by score descending, then index ascending, by insertion."""
    for j in range(1, item.shape[0]):
        s, g = score[j], item[j]
        i = j - 1
        while i >= 0 and (score[i] < s or (score[i] == s and item[i] > g)):
            score[i + 1] = score[i]
            item[i + 1] = item[i]
            i -= 1
        score[i + 1] = s
        item[i + 1] = g


@nb.njit(nogil=True)
def sort_runs(items, runs, exact, k, tied):
    """Sort every run by canonical score, then index; those longer than ``MAX_INSERTION_RUN`` have to be sorted before.

    Args:
        items: (query, width) int32, best first by float32 scores, reordered in place.
        runs: (run, 3) int32 from ``find_runs``.
        exact: (pair,) float64 canonical scores, run by run; sorted in the same way.
        k: depth to which ties are marked.
        tied: (query, k) bool, set if the item before has the same canonical score.
    """
    at = 0
    for r in range(runs.shape[0]):
        q, first, last = runs[r, 0], runs[r, 1], runs[r, 2]
        score = exact[at : at + last - first]
        if last - first <= MAX_INSERTION_RUN:
            _sort_run(items[q, first:last], score)
        for p in range(first + 1, min(last, k)):
            tied[q, p] = score[p - first] == score[p - first - 1]
        at += last - first


@nb.njit(nogil=True)
def gather(rows, items, out):
    """out[q, i] = rows[q, items[q, i]]."""
    for q in range(items.shape[0]):
        for i in range(items.shape[1]):
            out[q, i] = rows[q, np.uint32(items[q, i])]


@nb.njit(nogil=True)
def leave_out(items, tied, gains, query_image, gallery_image, out, out_tied, out_gains):
    """Copy every list without the items of the query's own image; outputs beyond the copied items are unchanged.

    Args:
        items, tied, gains: (query, depth) of the lists.
        query_image, gallery_image: (query,) and (gallery,) int64, the image that an item is, or was written for.
        out, out_tied, out_gains: (query, depth), filled. Items remain tied when the items between them are removed.
    """
    for q in range(items.shape[0]):
        n = 0
        same = True
        for i in range(items.shape[1]):
            same = same and tied[q, i]
            if gallery_image[np.uint32(items[q, i])] == query_image[q]:
                continue
            out[q, n] = items[q, i]
            out_tied[q, n] = same and n > 0
            out_gains[q, n] = gains[q, i]
            same = True
            n += 1


@nb.njit(nogil=True)
def largest(rows, k, out):
    """Positions of the k largest of every row, descending, ties to the lower position; k is small.

    ``rows`` is (query, gallery) of any float type, ``out`` (query, k) int32.
    """
    best = np.empty(k, rows.dtype)
    for q in range(rows.shape[0]):
        _best(rows[q], best, out[q])
