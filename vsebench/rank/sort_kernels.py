"""Compiled: rows of scores put in order, near-ties found and settled, gains gathered in that order.

A score and its gallery index are packed into one 64-bit key, best first when keys ascend: the float32 score,
made an integer that falls as the score rises, above the index. Two passes of a radix sort order the upper 24
bits of the score, an insertion the rest; unequal keys leave nothing to chance, so equal scores stand by index.

Where neighbours are closer than twice the error of a float32 score their order is open. Such runs are listed,
scored in float64 by the caller, and settled.
"""

from __future__ import annotations

import numba as nb
import numpy as np

DIGIT = 12  # bits of a radix pass
BINS = 1 << DIGIT
LONG_RUN = 48  # runs up to this length are settled by insertion
STRIP = 256  # numbers looked at together; a constant trip count is what lets the compiler vectorise
PATIENCE = 8  # moves an item that the insertion may take before a full sort takes over
FEW = 64  # up to this depth the best are collected, beyond it selected and sorted
SAMPLE = 512  # scores of a row that tell where its k-th best is
REACH = 2.01  # two scores may err in opposite directions; the rest is for rounding the limit itself


@nb.njit(nogil=True, cache=True, inline="always")
def _falling(bits):
    """A float32 bit pattern as an integer that falls as the number rises."""
    u = np.uint32(bits)
    if u >> np.uint32(31):
        return u
    return np.uint32(u ^ np.uint32(0x7FFFFFFF))


@nb.njit(nogil=True, cache=True)
def _pack(value, packed):
    """Keys of one row of float32 scores."""
    bits = value.view(np.uint32)
    for j in range(bits.shape[0]):
        packed[j] = (np.uint64(_falling(bits[j])) << np.uint64(32)) | np.uint64(j)


@nb.njit(nogil=True, cache=True)
def _radix(a, b, n, low, high):
    """Sort ``a[:n]``; ``b`` is scratch of the same length, ``low`` and ``high`` of BINS counters."""
    low[:] = 0
    high[:] = 0
    mask = np.uint64(BINS - 1)
    for j in range(n):
        u = a[j]
        low[(u >> np.uint64(40)) & mask] += np.uint32(1)
        high[u >> np.uint64(52)] += np.uint32(1)
    s = np.uint32(0)
    t = np.uint32(0)
    for i in range(BINS):
        x = low[i]
        low[i] = s
        s += x
        y = high[i]
        high[i] = t
        t += y
    for j in range(n):
        u = a[j]
        p = (u >> np.uint64(40)) & mask
        d = low[p]
        low[p] = d + np.uint32(1)
        b[d] = u
    for j in range(n):
        u = b[j]
        p = u >> np.uint64(52)
        d = high[p]
        high[p] = d + np.uint32(1)
        a[d] = u
    left = PATIENCE * n
    for j in range(1, n):
        u = a[j]
        if a[j - 1] > u:
            i = j - 1
            while i >= 0 and a[i] > u:
                a[i + 1] = a[i]
                i -= 1
            a[i + 1] = u
            left -= j - i
            if left < 0:
                a[:n] = np.sort(a[:n])
                return


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


@nb.njit(nogil=True, cache=True)
def _few(value, packed, best, place, rate, base):
    """Put the keys of what could be among the few best into ``packed``, by index; returns how many."""
    _best(value, best, place)
    last = best[best.shape[0] - 1]
    # One step below the limit, because strips are asked for what is above it.
    least = np.nextafter(np.float32(last - np.float32(REACH) * (rate * abs(last) + base)), np.float32(-np.inf))
    if not np.isfinite(least):
        least = np.float32(-np.inf)
    bits = value.view(np.uint32)
    n = value.shape[0]
    kept = 0
    for s in range(0, n, STRIP):
        e = min(s + STRIP, n)
        if e - s == STRIP and _any_over(value[s:e], least) == 0:
            continue
        for j in range(s, e):
            if value[j] >= least:
                packed[kept] = (np.uint64(_falling(bits[j])) << np.uint64(32)) | np.uint64(j)
                kept += 1
    return kept


@nb.njit(nogil=True, cache=True)
def _count(value, limit):
    """How many numbers reach a limit."""
    found = np.int32(0)
    for j in range(value.shape[0]):
        found = np.int32(found + np.int32(value[j] >= limit))
    return found


@nb.njit(nogil=True, cache=True)
def _select(value, packed, k, rate, base):
    """Put the keys of what could be among the k best into ``packed``, by index; returns how many."""
    n = value.shape[0]
    step = max(n // SAMPLE, 1)
    sample = np.sort(value[::step].copy())
    size = sample.shape[0]
    share = k / n
    margin = int(2 * np.sqrt(size * share * (1 - share))) + 1
    # The k-th best score is about here; go down until it is certainly above.
    at = size - int(share * size)
    least = np.float32(-np.inf)
    while at > 0:
        at -= margin
        if at <= 0:
            break
        if _count(value, sample[at]) >= k:
            least = np.float32(sample[at] - np.float32(REACH) * (rate * abs(sample[at]) + base))
            break
    if not np.isfinite(least):
        least = np.float32(-np.inf)
    bits = value.view(np.uint32)
    kept = 0
    for j in range(n):
        packed[kept] = (np.uint64(_falling(bits[j])) << np.uint64(32)) | np.uint64(j)
        kept += value[j] >= least
    return kept


@nb.njit(nogil=True, cache=True)
def sort_rows(tile, k, rate, base, items, runs):
    """Order every row of a tile, as deep as its k best need.

    Args:
        tile: (query, gallery) float32 or float64 scores.
        k: how deep, at most the size of the gallery.
        rate, base: a score s may err by ``rate * |s| + base[query]``; ``base`` is (query,) float32.
        items: (query, gallery) int32, filled with gallery indices, best first, at least k.
        runs: (run, 3) int32, filled: query, first and one behind the last place of every run of neighbours
            that could change places. A run may go on below k, as far as anything there could rise above k.

    Returns:
        The number of runs, and the number of their members.
    """
    n = tile.shape[1]
    packed = np.empty(n, np.uint64)
    other = np.empty(n, np.uint64)
    low = np.empty(BINS, np.uint32)
    high = np.empty(BINS, np.uint32)
    value = np.empty(n, np.float32)
    few = np.empty(min(k, FEW), np.float32)
    place = np.empty(min(k, FEW), np.int32)
    found = 0
    members = 0
    for q in range(tile.shape[0]):
        row = tile[q]
        for j in range(n):
            value[j] = np.float32(row[j]) + np.float32(0)  # -0 becomes 0
        m = n
        if k <= FEW and 4 * k < n:
            m = _few(value, packed, few, place, rate, base[q])
        elif 2 * k < n:
            m = _select(value, packed, k, rate, base[q])
        else:
            _pack(value, packed)
        if m <= 2 * FEW:
            packed[:m].sort()
        else:
            _radix(packed, other, m, low, high)
        top = np.uint32(packed[0])
        items[q, 0] = np.int32(top)
        last = value[top]
        first = 0
        twice = np.float32(2) * base[q]
        for i in range(1, m):
            item = np.uint32(packed[i])
            v = value[item]
            if last - v > rate * (abs(v) + abs(last)) + twice:
                if i - first > 1:
                    runs[found, 0] = q
                    runs[found, 1] = first
                    runs[found, 2] = i
                    found += 1
                    members += i - first
                first = i
                if i >= k:
                    break
            items[q, i] = np.int32(item)
            last = v
        if first < k and m - first > 1:  # the last run reaches the end
            runs[found, 0] = q
            runs[found, 1] = first
            runs[found, 2] = m
            found += 1
            members += m - first
    return found, members


@nb.njit(nogil=True, cache=True)
def run_members(items, runs, rows, cols):
    """List query and item of the members of the runs, run after run."""
    at = 0
    for r in range(runs.shape[0]):
        q = runs[r, 0]
        for i in range(runs[r, 1], runs[r, 2]):
            rows[at] = q
            cols[at] = items[q, i]
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
        items: (query, gallery) int32 from ``sort_rows``, put in order in place.
        runs: (run, 3) int32 from ``sort_rows``.
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
def leave_out(items, tied, own, owner, out, out_tied):
    """Drop items of the query's own owner from every list; what follows moves up, the rest of ``out`` stays.

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
