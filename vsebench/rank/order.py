"""The canonical order of galleries, or of their top k, for some queries at a time.

Items are ordered by canonical float64 scores, ties to the lower index. Scores are computed faster and rounded to
float32, with a proven bound on their error, and sorted; near-ties, which the bound leaves open, are scored
canonically, pair by pair. Where the scores come from depends on how many near-ties are expected:

- the top of a gallery (``is_deep``): a float32 product. Its error is at most ``scorers.product_bound``, 2.3e-5 for
  unit vectors of 384 numbers whatever the BLAS, and the best of a gallery are mostly further apart.
- deeper: a float64 product, rounded to float32. Its error is the rounding, 2^-24 of the score. In a complete
  order nearly all neighbours are closer than the bound of a float32 product, although its actual error is 1e-7. Some
  number about their mean is subtracted from the scores of a query before they are rounded, which does not change
  their order, so that scores that are nearly equal remain distinct.

If more than one score in ``MIN_SCORES_PER_NEAR_TIE`` is a near-tie, as for vectors that are nearly equal, float64
products replace the float32 ones: a pair in such a product takes a tenth of the time of one scored by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..memory import require
from ..numeric.parallel import Progress, in_turn
from ..types import EVERYTHING, Candidates, Float, Int, Tops, Vectors
from .scorers import UNIT_ROUNDOFF, Scorer, Some
from .tops import is_candidate

FLOAT32_PRODUCTS, FLOAT64_OR_GIVEN = 0, 1  # scores are float32 products; rounded and centred float64 products, or given
MAX_SORTED_DEPTH = 64  # float32 products are sorted up to this depth
MIN_SCORES_PER_NEAR_TIE = 16  # with more near-ties (or deeper lists), float64 products are computed
BLOCK_SCORES = 1 << 20  # scores of complete galleries in memory
TILE_QUERIES, TILE_ITEMS = 512, 4096  # shape of a float32 product if only the top is read
GROUP_QUERIES = 256  # lists that are updated together
SPARE_ITEMS = 128  # a query keeps up to 2 k + SPARE_ITEMS items; then all but the best k are removed
MAX_KEPT_PER_K = 16  # near-ties are resolved if a query keeps more items than this many times k
WIDE_ITEMS = 512  # items converted to float64 at a time
BATCH_PAIRS = 1 << 18  # pairs scored at a time
ENTRY_BYTES = 24  # memory for a list entry
MAX_LIST_BYTES = 512 << 20  # lists are made from tiles if the items kept by all queries fit
BOUND_MARGIN = 1 + 1e-5  # for the rounding of the bounds, which are compared in float32
UNDERFLOW_MARGIN = 1e-37  # covers what float32 loses below its normal range

Array = npt.NDArray[Any]
Items = npt.NDArray[np.int32]
Found = tuple[Items, Vectors, Int]  # (query, width) items and their scores, and (query,) the number of them


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """Bound on the error of scores that were rounded to float32: ``rate * |s| + base[query]`` for a score s of a query.

    Attributes:
        rate: relative part.
        base: (query,) float64 absolute part.
        precision: what the scores are: ``FLOAT32_PRODUCTS`` or ``FLOAT64_OR_GIVEN``.
    """

    rate: float
    base: Float
    precision: int


@dataclass(frozen=True)
class Order:
    """What orders galleries: ``order``, or another back-end.

    Attributes:
        compute: arguments as of ``order``.
        together: for the size of a gallery and the depth, how many queries it best orders together.
        deepest: where ranks are read from its lists, the largest depth at which they are, for the size of a gallery;
            ``compute`` then gives the items that tie with the last one too.
        name: of such lists, as in "a FAISS index".
    """

    compute: Callable[[Scorer, Int, int, Int | None], Tops]
    together: Callable[[int, int], int] = lambda gallery, k: 1
    deepest: Callable[[int], int] | None = None
    name: str = ""


def is_deep(scorer: Scorer, k: int, gallery: int) -> bool:
    """Whether so many of the items of a gallery are best ordered by float64 products."""
    return not scorer.canonical and k > max(MAX_SORTED_DEPTH, gallery // MIN_SCORES_PER_NEAR_TIE)


def queries_together(gallery: int, k: int) -> int:
    """How many queries ``order`` best orders together."""
    return (
        max(1, BLOCK_SCORES // gallery)
        if k > max(MAX_SORTED_DEPTH, gallery // MIN_SCORES_PER_NEAR_TIE)
        else TILE_QUERIES
    )


def order(scorer: Scorer, queries: Int, k: int, gallery: Int | None = None) -> Tops:
    """The k best of some queries, in canonical order; the reference of other back-ends.

    Args:
        scorer: the scores; queries are rows.
        queries: (query,) int64 indices of the queries, ascending.
        k: depth of the order, at most the size of the gallery.
        gallery: (gallery,) int64 indices of the candidates, ascending; the complete gallery if None. The order is in
            positions among these.
    """
    n = size_of(scorer, gallery)
    if is_deep(scorer, k, n) or scorer.canonical:
        return complete_order(scorer, queries, k, gallery)
    best, step = Best(scorer, queries, k, gallery), max(TILE_ITEMS, MIN_SCORES_PER_NEAR_TIE * k)
    for start in range(0, n, step):
        some = slice(start, min(start + step, n)) if gallery is None else gallery[start : start + step]
        best.add(_tile(scorer, queries, some, min(step, n - start)), start)
    return best.finish()


class Best:
    """The k best of some queries, from float32 scores with parts of the gallery, which threads add in any order.

    Attributes:
        seen: how many items have been added.
    """

    def __init__(self, scorer: Scorer, queries: Int, k: int, gallery: Int | None = None):
        self.scorer, self.queries, self.k, self.gallery = scorer, queries, k, gallery
        self.bound, self.seen = float32_bound(scorer, queries), 0
        self._parts: list[Found] = []  # what can be among the k best so far
        self._least: Vectors | None = None  # the least score of such an item, once there are k
        self._final: Tops | None = None  # the order, computed early if near-ties fill the memory
        self._lock = threading.Lock()

    def add(self, tile: Array, start: int) -> None:
        """Add (query, item) scores of items from position ``start`` on."""
        with self._lock:
            if self._final is not None:
                self.seen += tile.shape[1]
                return
        items, scores, count, least = candidates(tile, min(self.k, tile.shape[1]), self.bound, self._least)
        part = _trimmed((items, scores, count))
        part[0][...] += np.int32(start)
        with self._lock:
            self.seen += tile.shape[1]
            if self._final is not None:
                return
            if not self._parts and tile.shape[1] >= self.k:
                self._least = least
            self._parts.append(part)
            if sum(one[0].shape[1] for one in self._parts) > 2 * self.k + SPARE_ITEMS:
                held, self._least = _joined(self._parts, self.k, self.bound)
                self._parts = [held]
                if held[0].shape[1] > MAX_KEPT_PER_K * (self.k + SPARE_ITEMS):
                    self._final, self._parts = complete_order(self.scorer, self.queries, self.k, self.gallery), []

    def finish(self) -> Tops:
        """The order of what has been added, which is the gallery."""
        if self._final is not None:
            return self._final
        found = _sorted(*_joined(self._parts, self.k, self.bound)[0])
        return resolve_near_ties(self.scorer, found, self.queries, self.k, self.bound, self.gallery)


class Lists:
    """The top lists of the rows of a scorer, from the tiles in which relevant items are counted.

    They save a product for each direction: more than half of the time of an evaluation of COCO 5K that keeps lists.

    Args:
        scorer: the vectors.
        k: depth, clipped to the gallery.
        size: queries of a tile.
    """

    def __init__(self, scorer: Scorer, k: int, size: int):
        queries, self.gallery = scorer.shape
        self.scorer, self.k = scorer, min(k, self.gallery)
        ends = np.minimum(np.arange(0, queries, size) + size, queries).tolist()
        edges = [
            (a, min(a + GROUP_QUERIES, end))
            for end in ends
            for a in range((end - 1) // size * size, end, GROUP_QUERIES)
        ]
        self.parts = {a: Best(scorer, np.arange(a, b), self.k) for a, b in edges}

    def add(self, tile: Array, q0: int, g0: int, part: int) -> None:
        """Add (query, item) scores, starting at a query and an item."""
        for a in range(0, len(tile), GROUP_QUERIES):
            self.parts[q0 + a].add(tile[a : a + GROUP_QUERIES], g0)

    @staticmethod
    def fit(scorer: Scorer, k: int) -> bool:
        """Whether lists are best made so: from float32 scores, in little memory."""
        queries, gallery = scorer.shape
        shallow = not (scorer.canonical or is_deep(scorer, k, gallery))
        return shallow and k > 0 and queries * (2 * k + SPARE_ITEMS) * 8 <= MAX_LIST_BYTES

    @property
    def complete(self) -> bool:
        """Whether all tiles have been added."""
        return all(part.seen == self.gallery for part in self.parts.values())

    def finish(self, threads: int) -> Tops:
        """The lists, after the last tile."""
        found: dict[int, Tops] = {}

        def work(a: int) -> None:
            found[a] = self.parts.pop(a).finish()

        in_turn(list(self.parts), lambda _: work, threads, None)
        return Tops.joined([found[a] for a in sorted(found)], scores_of(self.scorer, threads))


def _tile(scorer: Scorer, queries: Int, items: Some, n: int) -> Array:
    """(query, item) scores of some queries with ``n`` items."""
    near = int(queries[-1]) - int(queries[0]) + 1 == len(queries)
    rows = slice(int(queries[0]), int(queries[-1]) + 1) if near else queries
    return scorer.tile(rows, items, np.empty((len(queries), n), scorer.dtype))


def float32_bound(scorer: Scorer, queries: Int) -> ErrorBound:
    """The bound of float32 products of some queries with any items, by any BLAS."""
    return ErrorBound(0.0, BOUND_MARGIN * scorer.error[queries], FLOAT32_PRODUCTS)


def float64_bound(scorer: Scorer, queries: Int) -> ErrorBound:
    """The bound of float64 products of some queries with any items, by any BLAS, rounded to float32.

    Rounding adds 2^-24 of the number that is rounded.
    """
    return ErrorBound(
        BOUND_MARGIN * UNIT_ROUNDOFF, BOUND_MARGIN * (scorer.wide_error[queries] + UNDERFLOW_MARGIN), FLOAT64_OR_GIVEN
    )


def float64_rows(scorer: Scorer, queries: Int, gallery: Int | None) -> tuple[Vectors, ErrorBound]:
    """(query, gallery) float64 products of some queries and items, centred and rounded to float32, and the bound."""
    n, step = size_of(scorer, gallery), WIDE_ITEMS
    values, centre = np.empty((len(queries), n), np.float32), np.zeros((len(queries), 1))
    for a in range(0, n, step):
        items = slice(a, a + step) if gallery is None else gallery[a : a + step]
        part = scorer.tile(queries, items, wide=True)
        centre = part.mean(axis=1, keepdims=True) if a == 0 else centre
        np.subtract(part, centre, out=values[:, a : a + step])
    return values, float64_bound(scorer, queries)


def complete_order(scorer: Scorer, queries: Int, k: int, gallery: Int | None) -> Tops:
    """The k best of some queries, as ``order``, from float64 products or given scores of all candidates."""
    n, parts = size_of(scorer, gallery), list[Tops]()
    for some in parts_of(queries, n):
        given = None
        if not scorer.canonical:
            values, bound = float64_rows(scorer, some, gallery)
        else:
            given = _tile(scorer, some, slice(None) if gallery is None else gallery, n)
            bound = ErrorBound(0.0, np.zeros(len(some)), FLOAT64_OR_GIVEN)
            with np.errstate(over="ignore"):  # what exceeds float32 becomes infinite: near-ties of the given scores
                values = given.astype(np.float32, copy=False)
        found = best_of(values, k, bound)
        parts.append(resolve_near_ties(scorer, found, some, k, bound, gallery, given))
    return Tops.joined(parts)


def resolve_near_ties(
    scorer: Scorer,
    found: Found,
    queries: Int,
    k: int,
    bound: ErrorBound,
    gallery: Int | None,
    tile: Array | None = None,
) -> Tops:
    """The k best of some queries in canonical order, from their order by float32 scores.

    If near-ties are so many that a float64 product is faster, the order comes from that product.

    Args:
        scorer, queries, k, gallery: as for ``order``.
        found: positions in the gallery of all items that can be among the k best, best first, and their float32
            scores. The positions are reordered in place.
        bound: of the errors of these scores.
        tile: the given scores, if the scorer is a matrix.
    """
    from . import sort_kernels

    places, ordered, count = found
    n_gallery = size_of(scorer, gallery)
    room = np.empty((len(places) * (places.shape[1] // 2), 3), np.int32)  # pages that are not written take no memory
    n, members = sort_kernels.find_runs(ordered, count, k, *_in_float32(bound), room)
    if bound.precision < FLOAT64_OR_GIVEN and MIN_SCORES_PER_NEAR_TIE * members > len(places) * n_gallery:
        return complete_order(scorer, queries, k, gallery)
    runs = room[:n]
    size = runs[:, 2] - runs[:, 1]
    ends = np.cumsum(size)
    rows = np.repeat(runs[:, 0], size)
    cols = places[rows, np.arange(members) - np.repeat(ends - runs[:, 2], size)].astype(np.int64)
    if tile is not None:
        exact = tile[rows, cols].astype(np.float64)
    else:
        exact = exact_scores(scorer, queries[rows], cols if gallery is None else gallery[cols])
    tied = np.zeros((len(places), k), np.bool_)
    for r in np.flatnonzero(size > sort_kernels.MAX_INSERTION_RUN).tolist():
        q, first, last = runs[r]
        members = slice(ends[r] - size[r], ends[r])
        turn = np.lexsort((places[q, first:last], -exact[members]))
        places[q, first:last], exact[members] = places[q, first:last][turn], exact[members][turn]
    sort_kernels.sort_runs(places, runs, exact, k, tied)
    return Tops.of(np.ascontiguousarray(places[:, :k]), tied, n_gallery)


def listed(
    scorer: Scorer, queries: Int, k: int, among: Candidates = EVERYTHING, by: Order | None = None,
    gallery: Int | None = None,
) -> Tops:  # fmt: skip
    """The k best candidates of some queries, in canonical order; shorter lists if a query has fewer.

    Galleries are ordered deep enough to leave out items that are not candidates. Allowed items are scored pair by pair.

    Args:
        scorer, queries, k, gallery: as for ``order``.
        among: of the queries and the items of the scorer.
        by: of another back-end.
    """
    n = size_of(scorer, gallery)
    if among.allowed is None:
        most = 0 if among.excluded is None else int(np.diff(among.excluded.indptr)[queries].max(initial=0))
        found = (by or REFERENCE).compute(scorer, queries, min(k + most, n) if among.fold is None else n, gallery)
        items = found.entries if gallery is None else gallery[found.entries]
        return found if among.everything else found.keep(is_candidate(among, queries[found.row], items)).cut(k)
    width = int(np.diff(among.allowed.indptr)[queries].max(initial=0)) * (BLOCK_SCORES // BATCH_PAIRS)
    return Tops.joined([_allowed_items(scorer, some, among, gallery).cut(k) for some in parts_of(queries, width)])


def _allowed_items(scorer: Scorer, queries: Int, among: Candidates, gallery: Int | None) -> Tops:
    """All allowed items of some queries in canonical order."""
    assert among.allowed is not None
    allowed, n = among.allowed[queries], size_of(scorer, gallery)
    row, item = np.repeat(np.arange(len(queries)), np.diff(allowed.indptr)), allowed.indices.astype(np.int64)
    kept = is_candidate(replace(among, allowed=None), queries[row], item)
    if gallery is not None:
        kept &= np.isin(item, gallery)
    row, item = row[kept], item[kept]
    score = exact_scores(scorer, queries[row], item)
    turn = np.lexsort((-score, row))  # stable: items ascend in every row
    row, item, score = row[turn], item[turn], score[turn]
    tied = np.zeros(len(row), np.bool_)
    tied[1:] = (score[1:] == score[:-1]) & (row[1:] == row[:-1])
    items = item if gallery is None else np.searchsorted(gallery, item)
    return Tops(np.searchsorted(row, np.arange(len(queries) + 1)), items.astype(np.int32), tied, n, score)


def top_lists(
    scorer: Scorer, k: int, *, threads: int, by: Order | None = None,
    progress: Progress | None = None, among: Candidates = EVERYTHING,
) -> Tops:  # fmt: skip
    """The k best of every query, in canonical order.

    Scores come from the back-end, or are computed when they are read.

    Args:
        scorer: the scores.
        k: depth, clipped to the gallery.
        threads: how many; never changes a result.
        by: of another back-end.
        progress: called with (blocks done, blocks in all).
        among: the candidates; a list is shorter than k if a query has fewer.

    Raises:
        UsageError: k is below 1.
        BadInput: the lists need more memory than is free.
    """
    if k < 1:
        raise UsageError(f"list depth {k} is below 1", fix="give a depth of at least 1")
    queries, gallery = scorer.shape
    by, k = by or REFERENCE, min(k, gallery)
    require(queries * k * ENTRY_BYTES + threads * BLOCK_SCORES * ENTRY_BYTES)
    step, found = max(1, min(by.together(gallery, k), -(-queries // threads))), dict[int, Tops]()

    def work(start: int) -> None:
        found[start] = listed(scorer, np.arange(start, min(start + step, queries)), k, among, by)

    in_turn(range(0, queries, step), lambda _: work, threads, progress)
    return Tops.joined([found[a] for a in sorted(found)], scores_of(scorer, threads))


def scores_of(scorer: Scorer, threads: int) -> Callable[[Tops], Float]:
    """What makes the (entry,) canonical scores of lists."""

    def scores(lists: Tops) -> Float:
        found = np.empty(len(lists.entries))

        def score(start: int) -> None:
            part = slice(start, min(start + BATCH_PAIRS, len(found)))
            row = np.searchsorted(lists.start, np.arange(part.start, part.stop), side="right") - 1
            found[part] = exact_scores(scorer, lists.first + row, lists.entries[part].astype(np.int64))

        in_turn(range(0, len(found), BATCH_PAIRS), lambda _: score, threads, None)
        return found

    return scores


def largest(rows: Array, k: int) -> Items:
    """(query, k) int32 positions of the k largest numbers of every row, descending, ties to the lower position.

    Args:
        rows: (query, gallery) float32, without NaN.
        k: from 1 to the size of the gallery.
    """
    from . import sort_kernels

    if k <= sort_kernels.INSERTION_DEPTH:
        out = np.empty((len(rows), k), np.int32)
        sort_kernels.largest(rows, k, out)
        return out
    items, _, _ = best_of(rows, k, ErrorBound(0.0, np.zeros(len(rows)), FLOAT64_OR_GIVEN))
    return np.ascontiguousarray(items[:, :k])


def best_of(values: Vectors, k: int, bound: ErrorBound) -> Found:
    """All items that can be among the k best of every row, best first."""
    if 2 * k >= values.shape[1]:
        from ..numeric.elementary import order as sorted_rows

        count = np.full(len(values), values.shape[1])
        return *sorted_rows(values, count), count
    return _sorted(*candidates(values, k, bound)[:3])


def _sorted(items: Items, scores: Vectors, count: Int) -> Found:
    """Items by descending score, ties by position."""
    from ..numeric import sort_kernels
    from ..numeric.elementary import order as sorted_rows

    places, ordered = sorted_rows(scores, count)
    sort_kernels.pick(items, places, count)
    return places, ordered, count


def candidates(
    values: Vectors, k: int, bound: ErrorBound, least: Vectors | None = None
) -> tuple[Items, Vectors, Int, Vectors]:
    """All items that can be among the k best of every row, by index, and (row,) the least score of such an item.

    Args:
        values: (row, gallery) float32 scores.
        k: depth.
        bound: of their errors.
        least: (row,) if known.

    Returns:
        (row, gallery) int32 items and float32 scores, filled up to the number of the row; (row,) int64 this number; and
        ``least``.
    """
    from . import sort_kernels

    least = _least(_reached(values, k), bound) if least is None else least
    items, scores = np.empty(values.shape, np.int32), np.empty(values.shape, np.float32)
    count = np.empty(len(values), np.int64)
    sort_kernels.candidates(values, least, k * 32 < values.shape[1], items, scores, count)
    return items, scores, count, least


def _trimmed(found: Found) -> Found:
    """Without the columns that no query fills."""
    items, scores, count = found
    width = int(count.max(initial=1))
    return items[:, :width].copy(), scores[:, :width].copy(), count


def _joined(parts: list[Found], k: int, bound: ErrorBound) -> tuple[Found, Vectors | None]:
    """All items that can be among the k best of parts of a gallery, and their least score (None if fewer than k)."""
    from ..numeric import sort_kernels

    if len(parts) == 1:
        return parts[0], None
    items, scores = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    if items.shape[1] <= k:  # each is kept
        return (items, scores, np.full(len(items), items.shape[1])), None
    filled = [np.arange(part[0].shape[1]) < part[2][:, None] for part in parts]
    scores[~np.concatenate(filled, axis=1)] = -np.inf  # below all scores, which are finite, and never kept
    least = np.maximum(_least(_reached(scores, k), bound), np.finfo(np.float32).min)
    places, ordered, count = _trimmed(candidates(scores, k, bound, least)[:3])
    sort_kernels.pick(items, places, count)
    return (places, ordered, count), least


def _least(limit: Vectors, bound: ErrorBound) -> Vectors:
    """(row,) float32 below every score that can be above ``limit`` (row,) in canonical order."""
    from .sort_kernels import ERROR_FACTOR

    rate, base = _in_float32(bound)
    with np.errstate(over="ignore", invalid="ignore"):
        least = np.nextafter(limit - np.float32(ERROR_FACTOR) * (rate * np.abs(limit) + base), np.float32(-np.inf))
    return np.where(np.isfinite(least), least, np.float32(-np.inf))


def _reached(values: Vectors, k: int) -> Vectors:
    """(row,) float32 scores that k or a few more of every row reach."""
    from .sort_kernels import INSERTION_DEPTH, SAMPLED_SCORES

    if k <= INSERTION_DEPTH:
        return np.take_along_axis(values, largest(values, k)[:, -1:], axis=1)[:, 0]
    some = np.sort(values[:, :: max(values.shape[1] // SAMPLED_SCORES, 1)], axis=1)
    size, part = some.shape[1], k / values.shape[1]
    margin = int(2 * np.sqrt(size * part * (1 - part))) + 1
    # An estimate of the k-th best score, lowered until at least k scores reach it.
    limit, short = np.full(len(values), -np.inf, np.float32), np.arange(len(values))
    for rank in range(int(part * size) + margin, size, margin):
        limit[short] = some[short, size - rank]
        rows = values if len(short) == len(values) else values[short]
        enough = np.count_nonzero(rows >= limit[short, None], axis=1) >= k
        short = short[~enough]
        if not len(short):
            return limit
    limit[short] = -np.inf
    return limit


def parts_of(queries: Int, width: int) -> list[Int]:
    """The queries in parts; the score rows of a part, ``width`` long, are computed together."""
    step = max(1, BLOCK_SCORES // max(width, 1))
    return [queries[a : a + step] for a in range(0, len(queries), step)]


def size_of(scorer: Scorer, gallery: Int | None = None) -> int:
    """The number of candidates."""
    return scorer.shape[1] if gallery is None else len(gallery)


def _in_float32(bound: ErrorBound) -> tuple[np.float32, Vectors]:
    """The bound as the kernels take it; the roundings are within ``BOUND_MARGIN``."""
    return np.float32(bound.rate), bound.base.astype(np.float32)


def exact_scores(scorer: Scorer, queries: Int, items: Int) -> Float:
    """(pair,) canonical scores of pairs of a query and an item."""
    # Sorted by item, or by a few items: loading the vector of the item takes most of the time of a canonical score.
    few = max(0, (scorer.shape[1] - 1).bit_length() - 16)
    turn = np.argsort((items >> few).astype(np.uint16), kind="stable")  # 16 bits are sorted in a tenth of the time
    out = np.empty(len(turn))
    out[turn] = scorer.pairs(queries[turn], items[turn], 1)
    return out


REFERENCE = Order(order, queries_together)
