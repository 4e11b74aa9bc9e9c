"""Everything that is compiled: the canonical product, rank counting along rows and columns, top-k selection.

One file, because the compiler's cache is keyed by the file of a function and not by the files of what it inlines.

Counting: a float32 score above ``high`` is certainly above the pair's exact score, one below ``low`` certainly
below it; what falls between is compared in float64. Tiles have images as rows and captions as columns; pairs
of image queries are counted along rows, pairs of caption queries along columns.
"""

from __future__ import annotations

import numba as nb
import numpy as np

LANES = 32  # partial sums of the canonical product; enough to keep the vector units of a core busy
STRIP = 128  # columns looked at together; a constant trip count is what lets the compiler vectorise the loop
ROWS = 4  # image rows compared with the same thresholds at once, so that bounds and counts are loaded once
SPAN = 128  # columns of a row whose largest score is known, so that what lies below a threshold is passed over
PIECE = 32  # columns looked at again when a strip holds an uncertain score


@nb.njit(nogil=True, cache=True, inline="always")
def dot64(x, y, lane):
    """Canonical inner product of two float32 rows, float64; ``lane`` (LANES,) float64 is scratch."""
    n = x.shape[0]
    stop = n - n % LANES
    lane[:] = 0
    for k in range(0, stop, LANES):
        a, b = x[k : k + LANES], y[k : k + LANES]
        for j in range(LANES):
            lane[j] += np.float64(a[j]) * np.float64(b[j])
    rest = 0.0
    for k in range(stop, n):
        rest += np.float64(x[k]) * np.float64(y[k])
    for width in (16, 8, 4, 2, 1):
        for j in range(width):
            lane[j] += lane[j + width]
    return lane[0] + rest


@nb.njit(nogil=True, cache=True)
def pair_dots(x, y, rows, cols, row_scale, col_scale, out):
    """Canonical scores of given pairs; ``out`` (pair,) float64 is filled."""
    lane = np.empty(LANES)
    for p in range(rows.shape[0]):
        out[p] = dot64(x[rows[p]], y[cols[p]], lane) * row_scale[rows[p]] * col_scale[cols[p]]


@nb.njit(nogil=True, cache=True)
def norms64(x, out):
    """Euclidean length of every row in float64."""
    lane = np.empty(LANES)
    for r in range(x.shape[0]):
        out[r] = np.sqrt(dot64(x[r], x[r], lane))


@nb.njit(nogil=True, cache=True)
def _peaks(row, a, b, lane, out):
    """The largest score of every SPAN of ``row[a:b]``; ``lane`` (PIECE,) is scratch. Scores are finite."""
    for i in range((b - a) // SPAN):
        span = row[a + i * SPAN : a + (i + 1) * SPAN]
        for j in range(PIECE):
            lane[j] = max(max(span[j], span[j + PIECE]), max(span[j + 2 * PIECE], span[j + 3 * PIECE]))
        width = PIECE // 2
        while width:
            for j in range(width):
                lane[j] = max(lane[j], lane[j + width])
            width //= 2
        out[i] = lane[0]


@nb.njit(nogil=True, cache=True, inline="always")
def _row_span(strip, high, low):
    """How many of SPAN scores are certainly above, and how many are not certainly below."""
    over = np.int32(0)
    maybe = np.int32(0)
    for c in range(SPAN):
        over = np.int32(over + np.int32(strip[c] > high))
        maybe = np.int32(maybe + np.int32(strip[c] >= low))
    return over, maybe


@nb.njit(nogil=True, cache=True, inline="always")
def _row_piece(piece, high, low):
    """How many of PIECE scores are uncertain."""
    unsure = np.int32(0)
    for c in range(PIECE):
        unsure = np.int32(unsure + np.int32(np.int32(piece[c] >= low) - np.int32(piece[c] > high)))
    return unsure


@nb.njit(nogil=True, cache=True, inline="always")
def _column_strip(block, s, high, low, over):
    """Add to ``over`` where scores of the four rows are certainly above; return how many scores are uncertain."""
    one, two, three, four = block[0, s:], block[1, s:], block[2, s:], block[3, s:]
    unsure = np.int32(0)
    for c in range(STRIP):
        h, m = high[c], low[c]
        more = np.int32(np.int32(one[c] > h) + np.int32(two[c] > h) + np.int32(three[c] > h) + np.int32(four[c] > h))
        most = np.int32(
            np.int32(one[c] >= m) + np.int32(two[c] >= m) + np.int32(three[c] >= m) + np.int32(four[c] >= m)
        )
        over[c] = np.int32(over[c] + more)
        unsure = np.int32(unsure + np.int32(most - more))
    return unsure


@nb.njit(nogil=True, cache=True, inline="always")
def _column_piece(piece, high, low):
    """How many of PIECE scores are uncertain, each against its own bounds."""
    unsure = np.int32(0)
    for c in range(PIECE):
        unsure = np.int32(unsure + np.int32(np.int32(piece[c] >= low[c]) - np.int32(piece[c] > high[c])))
    return unsure


@nb.njit(nogil=True, cache=True, inline="always")
def _exact(tile, x, y, row_scale, col_scale, r, c, r0, c0, sums):
    # A score matrix has no vectors: its own entries are the canonical scores.
    if x.shape[1] == 0:
        return np.float64(tile[r - r0, c - c0])
    return dot64(x[r], y[c], sums) * row_scale[r] * col_scale[c]


@nb.njit(nogil=True, cache=True)
def count_rows(
    tile, r0, c0, start, stop, indptr, item, exact, high, low, first, last,
    x, y, row_scale, col_scale, above, before, after,
):  # fmt: skip
    """Add the counts of image-query pairs for tile rows ``start:stop``.

    ``indptr`` (row + 1,) delimits the pairs of each row; ``item`` their caption, ``exact`` the canonical
    score, ``high``/``low`` the certain bounds; candidates of row r are captions ``first[r]:last[r]``.
    ``above``, ``before``, ``after`` (pair,) grow by the numbers of candidates that score higher, tie with a
    lower index, and tie with a higher index.
    """
    width = tile.shape[1]
    peak, lane, sums = np.empty(width // SPAN + 1, tile.dtype), np.empty(PIECE, tile.dtype), np.empty(LANES)
    for r in range(start, stop):
        a, b = max(first[r + r0] - c0, 0), min(last[r + r0] - c0, width)
        if a >= b or indptr[r + r0] == indptr[r + r0 + 1]:
            continue
        row = tile[r]
        _peaks(row, a, b, lane, peak)
        for p in range(indptr[r + r0], indptr[r + r0 + 1]):
            hi, lo, score, own = high[p], low[p], exact[p], item[p]
            total = 0
            for s in range(a, b, SPAN):
                e = min(s + SPAN, b)
                if e - s == SPAN:
                    if peak[(s - a) // SPAN] < lo:
                        continue
                    over, maybe = _row_span(row[s:e], hi, lo)
                else:
                    over, maybe = 0, 0
                    for c in range(s, e):
                        over += row[c] > hi
                        maybe += row[c] >= lo
                total += over
                unsure = maybe - over
                if s + c0 <= own < e + c0:
                    unsure -= 1
                if unsure == 0:
                    continue
                for f in range(s, e, PIECE):
                    g = min(f + PIECE, e)
                    if g - f == PIECE and _row_piece(row[f:g], hi, lo) == 0:
                        continue
                    for c in range(f, g):
                        if row[c] >= lo and not row[c] > hi and c + c0 != own:
                            value = _exact(tile, x, y, row_scale, col_scale, r + r0, c + c0, r0, c0, sums)
                            if value > score:
                                total += 1
                            elif value == score:
                                side = before if c + c0 < own else after
                                side[p] += 1
            above[p] += total


@nb.njit(nogil=True, cache=True)
def _sweep(
    block, n, s0, s1, pair, col, high, low, over, r, tile, r0, c0, item, exact,
    x, y, row_scale, col_scale, before, after, sums,
):  # fmt: skip
    """Compare ``n`` image rows from ``r`` on with thresholds ``s0:s1``: ``block`` (row, threshold) are their scores."""
    for s in range(s0, s1, STRIP):
        e = min(s + STRIP, s1)
        whole = e - s == STRIP and n == ROWS
        if whole and _column_strip(block, s, high[s:e], low[s:e], over[s:e]) == 0:
            continue
        for i in range(n):
            values = block[i]
            for f in range(s, e, PIECE):
                g = min(f + PIECE, e)
                if whole and g - f == PIECE and _column_piece(values[f:g], high[f:g], low[f:g]) == 0:
                    continue
                for k in range(f, g):
                    if values[k] > high[k]:
                        if not whole:
                            over[k] += 1
                    elif values[k] >= low[k]:
                        p = pair[k]
                        if item[p] == r + i + r0:
                            continue
                        value = _exact(tile, x, y, row_scale, col_scale, r + i + r0, col[k] + c0, r0, c0, sums)
                        if value > exact[p]:
                            over[k] += 1
                        elif value == exact[p]:
                            side = before if r + i + r0 < item[p] else after
                            side[p] += 1


@nb.njit(nogil=True, cache=True)
def count_columns(
    tile, r0, c0, start, stop, lead, lead_col, lead_high, lead_low, extra, extra_col, extra_high, extra_low,
    item, exact, first, last, x, y, row_scale, col_scale, above, before, after,
):  # fmt: skip
    """Add the counts of caption-query pairs for tile rows ``start:stop``.

    Every caption's first pair (``lead`` (width,), -1 for none) is compared with the rows as they lie in memory;
    the pairs beyond the first (``extra`` with their tile column ``extra_col``, ascending, -1 for padding) with
    scores gathered from them. Candidates of caption column c are images whose row r has ``first[r] <= c < last[r]``.
    ``above``, ``before``, ``after`` (pair,) belong to this thread alone.
    """
    width = tile.shape[1]
    lead_over, extra_over = np.zeros(width, np.int32), np.zeros(len(extra), np.int32)
    gathered, sums = np.empty((ROWS, len(extra)), tile.dtype), np.empty(LANES)
    r = start
    while r < stop:
        a, b = max(first[r + r0] - c0, 0), min(last[r + r0] - c0, width)
        n = 1
        while n < ROWS and r + n < stop and first[r + n + r0] == first[r + r0] and last[r + n + r0] == last[r + r0]:
            n += 1
        if a < b:
            block = tile[r : r + n]
            _sweep(
                block, n, a, b, lead, lead_col, lead_high, lead_low, lead_over, r, tile, r0, c0, item, exact,
                x, y, row_scale, col_scale, before, after, sums,
            )  # fmt: skip
            ea, eb = np.searchsorted(extra_col, a), np.searchsorted(extra_col, b)
            # Rows beyond n repeat the last one and are not looked at.
            one, two, three, four = block[0], block[min(1, n - 1)], block[min(2, n - 1)], block[n - 1]
            for k in range(ea, eb):
                c = extra_col[k]
                gathered[0, k], gathered[1, k], gathered[2, k], gathered[3, k] = one[c], two[c], three[c], four[c]
            _sweep(
                gathered, n, ea, eb, extra, extra_col, extra_high, extra_low, extra_over, r, tile, r0, c0, item, exact,
                x, y, row_scale, col_scale, before, after, sums,
            )  # fmt: skip
        r += n
    for pair, over in ((lead, lead_over), (extra, extra_over)):
        for k in range(len(pair)):
            if pair[k] >= 0:
                above[pair[k]] += over[k]


@nb.njit(nogil=True, cache=True)
def _best(score, index, k):
    """Positions of the k best by score descending, then index ascending."""
    by_index = np.argsort(index)
    order = np.argsort(-score[by_index], kind="mergesort")
    return by_index[order[:k]]


@nb.njit(nogil=True, cache=True)
def _canonical(x, y, row_scale, col_scale, value, index, n, query, by_row):
    """Canonical scores of the n buffered candidates of a query."""
    out, lane = np.empty(n), np.empty(LANES)
    for i in range(n):
        if x.shape[1] == 0:
            out[i] = np.float64(value[i])
        else:
            r, c = (query, index[i]) if by_row else (index[i], query)
            out[i] = dot64(x[r], y[c], lane) * row_scale[r] * col_scale[c]
    return out


@nb.njit(nogil=True, cache=True)
def _shrink(x, y, row_scale, col_scale, value, index, n, k, slack, query, by_row):
    """Drop what cannot be among the k best; returns how many stay and the new floor."""
    kth = np.partition(value[:n].copy(), n - k)[n - k]
    # In the tile's dtype, rounded down.
    limit = np.full(1, np.float64(kth) - slack).astype(value.dtype)
    lowest = np.full(1, -np.inf).astype(value.dtype)
    floor = np.nextafter(limit, lowest)[0]
    kept = 0
    for i in range(n):
        if value[i] >= floor:
            value[kept] = value[i]
            index[kept] = index[i]
            kept += 1
    if kept > n - n // 4:
        # So many near-ties that the buffer would fill again at once: decide between them now.
        chosen = _best(_canonical(x, y, row_scale, col_scale, value, index, kept, query, by_row), index[:kept], k)
        keep_value, keep_index = value[chosen].copy(), index[chosen].copy()
        value[:k] = keep_value
        index[:k] = keep_index
        kept = k
    return kept, floor


@nb.njit(nogil=True, cache=True)
def _any_above(strip, floor):
    hits = np.int32(0)
    for c in range(STRIP):
        hits = np.int32(hits + np.int32(strip[c] >= floor[c]))
    return hits


@nb.njit(nogil=True, cache=True)
def collect(tile, q0, g0, start, stop, by_row, x, y, row_scale, col_scale, value, index, fill, floor, slack, k):
    """Offer a tile (query rows by gallery columns, as a view) to queries ``start:stop`` of the tile.

    ``q0`` and ``g0`` are the tile's first query and gallery index.
    """
    capacity = value.shape[1]
    width = tile.shape[1]
    limit = np.empty(STRIP, tile.dtype)
    for r in range(start, stop):
        q = r + q0
        row = np.ascontiguousarray(tile[r])
        for s in range(0, width, STRIP):
            e = min(s + STRIP, width)
            if e - s == STRIP:
                limit[:] = floor[q]
                if _any_above(row[s:e], limit) == 0:
                    continue
            for c in range(s, e):
                if row[c] >= floor[q]:
                    if fill[q] == capacity:
                        fill[q], floor[q] = _shrink(
                            x, y, row_scale, col_scale, value[q], index[q], capacity, k, slack[q], q, by_row
                        )
                        if row[c] < floor[q]:
                            continue
                    value[q, fill[q]] = row[c]
                    index[q, fill[q]] = c + g0
                    fill[q] += 1


@nb.njit(nogil=True, cache=True)
def conclude(start, stop, by_row, x, y, row_scale, col_scale, value, index, fill, k, items, scores):
    """Score the survivors of queries ``start:stop`` canonically and write their sorted best k."""
    for q in range(start, stop):
        n = fill[q]
        exact = _canonical(x, y, row_scale, col_scale, value[q], index[q], n, q, by_row)
        chosen = _best(exact, index[q, :n], k)
        for i in range(k):
            items[q, i] = index[q, chosen[i]]
            scores[q, i] = exact[chosen[i]]
