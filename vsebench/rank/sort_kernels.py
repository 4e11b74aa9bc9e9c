"""Compiled: which scores can be among the best, near-ties found and settled, gains gathered in that order.

Where neighbours in the order of float32 scores are closer than twice the error of such a score their order is open.
Such runs are listed, scored in float64 by the caller, and settled.
"""

from __future__ import annotations

import numba as nb
import numpy as np

LONG_RUN = 48  # runs up to this length are settled by insertion
STRIP = 256  # numbers looked at together; a constant trip count is what lets the compiler vectorise
PIECE = 32  # the same where some will be found
FEW = 64  # up to this depth the best are collected, beyond it selected and sorted
SAMPLE = 256  # scores of a row that tell where its k-th best is
PAIRS = 32  # neighbours looked at together
REACH = 2.01  # two scores may err in opposite directions; the rest is for rounding the limit itself


@nb.njit(nogil=True, cache=True, inline="always")
def _any_over(strip, least):
    over = np.int32(0)
    for j in range(STRIP):
        over = np.int32(over + np.int32(strip[j] > least))
    return over


@nb.njit(nogil=True, cache=True)
def _best(row, best, place):
    """Collect the largest numbers of a row, descending, ties to the lower position; as many as ``best`` holds."""
    k = best.shape[0]
    n = row.shape[0]
    held = 0
    for s in range(0, n, STRIP):
        e = min(s + STRIP, n)
        if held == k and e - s == STRIP and _any_over(row[s:e], best[k - 1]) == 0:
            continue
        for j in range(s, e):
            v = row[j]
            if held == k and not v > best[k - 1]:
                continue
            i = min(held, k - 1)
            while i > 0 and best[i - 1] < v:
                best[i] = best[i - 1]
                place[i] = place[i - 1]
                i -= 1
            best[i] = v
            place[i] = j
            held = min(held + 1, k)


@nb.njit(nogil=True, cache=True, inline="always")
def _any_reaches(piece, least):
    over = np.int32(0)
    for j in range(PIECE):
        over = np.int32(over + np.int32(piece[j] >= least))
    return over


@nb.njit(nogil=True, cache=True, inline="always")
def _below(score, rate, base):
    """One step below what a score can stand for."""
    least = np.nextafter(np.float32(score - np.float32(REACH) * (rate * abs(score) + base)), np.float32(-np.inf))
    return least if np.isfinite(least) else np.float32(-np.inf)


@nb.njit(nogil=True, cache=True)
def _over(value, least, few, item, score):
    """List the scores above a limit, of which there may be ``few``, by index; returns how many."""
    n = value.shape[0]
    kept = 0
    few = few and least > -np.inf
    for s in range(0, n, PIECE):
        e = min(s + PIECE, n)
        if few and e - s == PIECE and _any_reaches(value[s:e], least) == 0:
            continue
        for j in range(s, e):
            # Written in any case and kept by counting: which way it goes cannot be foreseen.
            item[kept] = j
            score[kept] = value[j]
            kept += value[j] >= least
    return kept


@nb.njit(nogil=True, cache=True)
def _count(value, limit):
    """How many numbers reach a limit."""
    found = np.int32(0)
    for j in range(value.shape[0]):
        found = np.int32(found + np.int32(value[j] >= limit))
    return found


@nb.njit(nogil=True, cache=True)
def _reached(value, k, best, place):
    """A score that at least k of a row reach, and not many more; ``best`` and ``place`` (FEW,) are scratch."""
    n = value.shape[0]
    step = max(n // SAMPLE, 1)
    sample = value[::step].copy()
    size = sample.shape[0]
    share = k / n
    margin = int(2 * np.sqrt(size * share * (1 - share))) + 1
    # The k-th best score is about here; go down until it is certainly above.
    down = int(share * size) + margin
    if down <= best.shape[0]:
        _best(sample, best[:down], place[:down])
        if _count(value, best[down - 1]) >= k:
            return best[down - 1]
        down += margin
    sample.sort()
    while down < size and _count(value, sample[size - down]) < k:
        down += margin
    return sample[size - down] if down < size else np.float32(-np.inf)


@nb.njit(nogil=True, cache=True)
def candidates(values, k, rate, base, items, scores, count):
    """List what could be among the k best of every row, by index.

    ``values`` is (query, gallery) float32, a score s of which may err by ``rate * |s| + base[query]``; ``items`` int32
    and ``scores`` float32 (query, gallery) are filled as far as ``count`` (query,) says.
    """
    best = np.empty(min(k, FEW), np.float32)
    place = np.empty(min(k, FEW), np.int32)
    few = k * 32 < values.shape[1]
    for q in range(values.shape[0]):
        if k <= FEW:
            _best(values[q], best, place)
            limit = best[best.shape[0] - 1]
        else:
            limit = _reached(values[q], k, best, place)
        count[q] = _over(values[q], _below(limit, rate, base[q]), few, items[q], scores[q])


@nb.njit(nogil=True, cache=True, inline="always")
def _any_close(ahead, behind, rate, twice):
    """Whether neighbours among PAIRS could change places."""
    apart = np.int32(0)
    for j in range(PAIRS):
        x, y = ahead[j], behind[j]
        apart = np.int32(apart + np.int32(x - y > rate * (abs(x) + abs(y)) + twice))
    return apart < PAIRS


@nb.njit(nogil=True, cache=True)
def find_runs(ordered, count, k, rate, base, runs):
    """List the neighbours that could change places.

    Args:
        ordered: (query, width) float32 scores, best first.
        count: (query,) how many a query has.
        k: how deep. A run may go on below, as far as anything there could rise above k.
        rate, base: a score s may err by ``rate * |s| + base[query]``; ``base`` is (query,) float32.
        runs: (run, 3) int32, filled: query, first and one behind the last place.

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
            # A gap in front of place i ends the run before it, as does the end.
            apart = 0
            if i + PAIRS <= m and not _any_close(score[i - 1 : i - 1 + PAIRS], score[i : i + PAIRS], rate, twice):
                apart = PAIRS
            elif i == m or score[i - 1] - score[i] > rate * (abs(score[i]) + abs(score[i - 1])) + twice:
                apart = 1
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


@nb.njit(nogil=True, cache=True)
def run_members(items, ordered, runs, rows, cols, seen):
    """List query, item and score of the members of the runs, run after run."""
    at = 0
    for r in range(runs.shape[0]):
        q = runs[r, 0]
        for i in range(runs[r, 1], runs[r, 2]):
            rows[at] = q
            cols[at] = items[q, i]
            seen[at] = ordered[q, i]
            at += 1


@nb.njit(nogil=True, cache=True)
def _settle_run(item, score):
    """Put one run in order: score descending, then index ascending."""
    n = item.shape[0]
    if n > LONG_RUN:
        by_index = np.argsort(item)
        order = by_index[np.argsort(-score[by_index], kind="mergesort")]
        item[:] = item[order]
        score[:] = score[order]
        return
    for j in range(1, n):
        s, g = score[j], item[j]
        i = j - 1
        while i >= 0 and (score[i] < s or (score[i] == s and item[i] > g)):
            score[i + 1] = score[i]
            item[i + 1] = item[i]
            i -= 1
        score[i + 1] = s
        item[i + 1] = g


@nb.njit(nogil=True, cache=True)
def settle(items, runs, exact, k, tied):
    """Put every run in its canonical order.

    Args:
        items: (query, width) int32, best first by float32 scores, put in order in place.
        runs: (run, 3) int32 from ``find_runs``.
        exact: (pair,) float64 canonical scores, as listed by ``run_members``; put in the same order.
        k: how deep ties are marked.
        tied: (query, k) bool, set where the canonical score is that of the item before.
    """
    at = 0
    for r in range(runs.shape[0]):
        q, first, last = runs[r, 0], runs[r, 1], runs[r, 2]
        score = exact[at : at + last - first]
        _settle_run(items[q, first:last], score)
        for p in range(first + 1, min(last, k)):
            tied[q, p] = score[p - first] == score[p - first - 1]
        at += last - first


@nb.njit(nogil=True, cache=True)
def gather(rows, items, out):
    """out[q, i] = rows[q, items[q, i]]."""
    for q in range(items.shape[0]):
        for i in range(items.shape[1]):
            out[q, i] = rows[q, np.uint32(items[q, i])]


@nb.njit(nogil=True, cache=True)
def leave_out(items, tied, gains, own, owner, out, out_tied, out_gains):
    """Drop items of the query's own owner from every list; what follows moves up, the rest of the outputs stays.

    ``own`` is (query,), ``owner`` (gallery,). A tie holds across what has been dropped between its members.
    """
    for q in range(items.shape[0]):
        n = 0
        chain = True
        for i in range(items.shape[1]):
            chain = chain and tied[q, i]
            if owner[np.uint32(items[q, i])] == own[q]:
                continue
            out[q, n] = items[q, i]
            out_tied[q, n] = chain and n > 0
            out_gains[q, n] = gains[q, i]
            chain = True
            n += 1


@nb.njit(nogil=True, cache=True)
def largest(rows, k, out):
    """Positions of the k largest of every row, descending, ties to the lower position; k is small.

    ``rows`` is (query, gallery) of any float type, ``out`` (query, k) int32.
    """
    best = np.empty(k, rows.dtype)
    for q in range(rows.shape[0]):
        _best(rows[q], best, out[q])
