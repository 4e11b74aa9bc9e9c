"""The canonical order of complete galleries, or of their top k, for a block of queries at a time.

The order is that of the canonical float64 scores, ties to the lower index. Scores are computed faster and rounded to
float32, with a proven bound on their error, and sorted; near-ties, neighbours whose order the bound leaves open, are
scored canonically, pair by pair. Where the scores come from depends on how many near-ties are expected:

- the best few of every query (``SHALLOW``): a float32 product. Its error is at most ``exact.product_bound``, 2.3e-5 for
  unit vectors of 384 numbers whatever the BLAS, and the best of a gallery are mostly further apart.
- deeper: a float64 product, rounded to float32. Its error is that of the rounding, 2^-24 of the score. In a complete
  order nearly all neighbours are closer than the bound of a float32 product, although its actual error is 1e-7.

Where more than one score in ``MANY`` is a near-tie, as for vectors that are nearly equal, they are computed again as
float64 products with the mean of the query's scores subtracted before rounding: a pair in such a product takes a tenth
of the time of one scored by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Bool, Direction, Float, Int, Vectors
from .exact import UNIT_ROUNDOFF
from .scorers import Dot, Matrix, Scorer

FLOAT32, FLOAT64, BEST = 0, 1, 2  # scores are float32 products; rounded float64 products; these centred, or given
SHALLOW = 64  # depth up to which float32 products are sorted
MANY = 16  # scores are computed again in float64 where more than one in so many is a near-tie
PART = 1 << 20  # scores computed together, where they have no buffer
BLOCK, PIECE = 1 << 20, 1 << 19  # numbers of the queries and of the items that are converted to float64 together
WIDEST = 1024  # items of such a piece
SURE = 1 + 1e-5  # for the rounding of the bounds themselves, which are compared in float32
TINY = 1e-37  # covers what float32 numbers lose below their normal range

Items = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Order:
    """The k best of some queries.

    Attributes:
        items: (query, k) int32 gallery indices, best first.
        tied: (query, k) bool, this item has exactly the canonical score of the one before it.
    """

    items: Items
    tied: Bool

    def cut(self, k: int) -> Order:
        """The first k of every query."""
        return Order(np.ascontiguousarray(self.items[:, :k]), np.ascontiguousarray(self.tied[:, :k]))

    def rows(self, some: Int | slice) -> Order:
        """The order of some of the queries."""
        return Order(self.items[some], self.tied[some])


@dataclass(frozen=True)
class OrderOf:
    """What orders galleries instead of the reference.

    Attributes:
        of: arguments as of ``order_of``.
        together: for the size of a gallery, how many queries it best orders together.
    """

    of: Callable[[Scorer, Direction, Int, int, Int | None], Order]
    together: Callable[[int], int] = lambda gallery: 1


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """Bound on the error of scores that were rounded to float32: ``rate * |s| + base[query]`` for a score s of a query.

    Attributes:
        rate: relative part.
        base: (query,) float64 absolute part.
        precision: what the scores are: ``FLOAT32``, ``FLOAT64`` or ``BEST``.
    """

    rate: float
    base: Float
    precision: int

    def take(self, queries: Int) -> ErrorBound:
        """The bound of some of the queries."""
        return ErrorBound(self.rate, self.base[queries], self.precision)


def rows_of(
    scorer: Scorer, direction: Direction, start: int, stop: int, k: int, out: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], ErrorBound]:
    """(query, gallery) scores of queries ``start:stop`` with the complete gallery, for their k best, and the bound.

    Args:
        scorer: where scores come from.
        direction: side of the queries.
        start, stop: the queries.
        k: depth of the order.
        out: at least (stop - start) * gallery numbers of the scorer's dtype, one-dimensional; holds the scores.
    """
    n_image, n_caption = scorer.shape
    gallery = n_caption if direction == "i2t" else n_image
    tile = out[: (stop - start) * gallery].reshape(stop - start, gallery)
    if isinstance(scorer, Dot):
        if k > SHALLOW:
            return float64_rows(scorer, direction, np.arange(start, stop), None, tile)
        if direction == "i2t":
            np.matmul(scorer.images[start:stop], scorer.captions.T, out=tile)
            scaled(scorer, tile, slice(start, stop), slice(None))
        else:
            columns_of(scorer, start, stop, tile.T)
        return tile, float32_bound(scorer, direction, np.arange(start, stop))
    if direction == "i2t":
        scores = scorer.tile(start, stop, 0, n_caption, tile)
    else:
        scores = scorer.tile(0, n_image, start, stop, tile.T).T
    if scores is not tile and scores.base is not tile:
        tile[...] = scores
    return tile, ErrorBound(0.0, np.zeros(stop - start), BEST)


def float32_bound(scorer: Dot, direction: Direction, queries: Int) -> ErrorBound:
    """The bound of float32 products of some queries with any items, by any BLAS."""
    base = SURE * scorer.error()[0 if direction == "i2t" else 1][queries]
    return ErrorBound(0.0, base, FLOAT32)


def float64_bound(scorer: Dot, direction: Direction, queries: Int, precision: int = FLOAT64) -> ErrorBound:
    """The bound of float64 products of some queries with any items, by any BLAS, rounded to float32.

    The error of a float64 product and that of the canonical score are each at most ``(dim + 8) * 2^-53`` times the
    product of the lengths, as in ``exact.product_bound``; rounding adds 2^-24 of the number that is rounded.
    """
    error = 2 * (scorer.images.shape[1] + 8) * 2.0**-53 * largest_score(scorer, direction, queries) + TINY
    return ErrorBound(SURE * UNIT_ROUNDOFF, SURE * error, precision)


def float64_rows(
    scorer: Dot,
    direction: Direction,
    queries: Int,
    gallery: Int | None,
    out: Vectors | None = None,
    centred: bool = True,
) -> tuple[Vectors, ErrorBound]:
    """(query, gallery) float64 products of some queries and items, rounded to float32, and the bound.

    Args:
        scorer: the vectors.
        direction: side of the queries.
        queries: (query,) int64 indices.
        gallery: (gallery,) int64 indices, None for all items.
        out: (query, gallery) float32 to be filled; None for a new one.
        centred: subtract a number from all scores of a query, which does not change their order, before they are
            rounded: about their mean, so that scores that are nearly equal remain distinct.
    """
    sides = (scorer.images, scorer.captions), scorer.scales
    (x, y), (x_scale, y_scale) = sides if direction == "i2t" else (side[::-1] for side in sides)
    dim, width = x.shape[1], len(y) if gallery is None else len(gallery)
    values = np.empty((len(queries), width), np.float32) if out is None else out
    height, step = max(1, BLOCK // max(dim, 1)), min(WIDEST, max(1, PIECE // max(dim, 1)))
    room = np.empty((min(height, len(queries)), min(step, width)))
    for a in range(0, len(queries), height):
        some = queries[a : a + height]
        left, centre = x[some].astype(np.float64), np.zeros((len(some), 1))
        for c in range(0, width, step):
            items = slice(c, c + step) if gallery is None else gallery[c : c + step]
            right = y[items].astype(np.float64)
            part = np.matmul(left, right.T, out=room[: len(left), : len(right)])
            if scorer.cosine:
                part *= x_scale[some, None]
                part *= y_scale[items]
            if centred:
                centre = part.mean(axis=1, keepdims=True) if c == 0 else centre
                np.subtract(part, centre, out=part)
            values[a : a + height, c : c + step] = part
    return values, float64_bound(scorer, direction, queries, BEST if centred else FLOAT64)


def scaled(scorer: Dot, tile: Vectors, images: Int | slice, captions: Int | slice) -> Vectors:
    """Scale ``tile``, (image, caption) inner products of some vectors, to scores in place, and return it."""
    if scorer.cosine:
        tile *= scorer.scales[1][captions].astype(np.float32)
        tile *= scorer.scales[0][images, None].astype(np.float32)
    return tile


def columns_of(scorer: Dot, start: int, stop: int, out: Vectors) -> Vectors:
    """(image, caption) float32 products of all images with captions ``start:stop``, in ``out``, and returned."""
    np.matmul(scorer.images, scorer.captions[start:stop].T, out=out)
    return scaled(scorer, out, slice(None), slice(start, stop))


def order_rows(
    scorer: Scorer,
    direction: Direction,
    tile: npt.NDArray[Any],
    queries: Int,
    k: int,
    bound: ErrorBound,
    gallery: Int | None = None,
) -> Order:
    """The k best of some queries, in canonical order.

    Args:
        scorer: gives canonical scores.
        direction: side of the queries.
        tile: (query, gallery) float32 or float64 scores of these queries, rows of ``rows_of``.
        queries: (query,) int64 indices of the queries.
        k: depth of the order, at most the size of the gallery.
        bound: of the errors of these scores.
        gallery: (gallery,) int64 indices of the candidates, ascending; the complete gallery if None. The order is in
            positions among these.
    """
    if isinstance(scorer, Dot) and k > SHALLOW and bound.precision == FLOAT32:
        return float64_order(scorer, direction, queries, k, gallery)
    with np.errstate(over="ignore"):  # what exceeds float32 becomes infinite: near-ties, ordered by the given scores
        values = tile.astype(np.float32, copy=False)
    return canonical_order(scorer, direction, best_of(values, k, bound), queries, k, bound, gallery, tile)


def order_of(scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None) -> Order:
    """The k best of some queries, in canonical order; the reference of other back-ends.

    Args:
        scorer: the scores.
        direction: side of the queries.
        queries: (query,) int64 indices of the queries, ascending; best consecutive ones.
        k: depth of the order, at most the size of the gallery.
        gallery: (gallery,) int64 indices of the candidates, ascending; the complete gallery if None. The order is in
            positions among these.
    """
    start, stop = int(queries[0]), int(queries[-1]) + 1
    room = np.empty((stop - start) * scorer.shape[1 if direction == "i2t" else 0], scorer.dtype)
    tile, bound = rows_of(scorer, direction, start, stop, k, room)
    if len(queries) < len(tile):
        tile, bound = tile[queries - start], bound.take(queries - start)
    return order_rows(scorer, direction, tile if gallery is None else tile[:, gallery], queries, k, bound, gallery)


def float64_order(scorer: Dot, direction: Direction, queries: Int, k: int, gallery: Int | None) -> Order:
    """The k best of some queries, as ``order_rows``, from a float64 product of these queries and candidates."""
    parts = []
    for some in parts_of(queries, _width(scorer, direction, gallery)):
        values, bound = float64_rows(scorer, direction, some, gallery)
        parts.append(order_rows(scorer, direction, values, some, k, bound, gallery))
    return Order(np.concatenate([p.items for p in parts]), np.concatenate([p.tied for p in parts]))


def canonical_order(
    scorer: Scorer,
    direction: Direction,
    found: tuple[Items, Vectors, Int],
    queries: Int,
    k: int,
    bound: ErrorBound,
    gallery: Int | None,
    tile: npt.NDArray[Any] | None = None,
) -> Order:
    """The k best of some queries in canonical order, from their order by float32 scores.

    Where near-ties are so many that a float64 product is the faster way, it is from one, unless the scores are.

    Args:
        scorer, direction, queries, k, bound, gallery: as for ``order_rows``.
        found: (query, width) int32 positions in the gallery of all items that can be among the k best, best first,
            their float32 scores, and (query,) their number. The positions are reordered in place.
        tile: the given scores, where the scorer is a matrix and they are in memory.
    """
    from . import sort_kernels

    places, ordered, count = found
    room = np.empty((len(places) * (places.shape[1] // 2), 3), np.int32)  # pages that are not written take no memory
    n, members = sort_kernels.find_runs(ordered, count, k, *_in_float32(bound), room)
    if bound.precision < BEST and MANY * members > len(places) * _width(scorer, direction, gallery):
        assert isinstance(scorer, Dot)
        return float64_order(scorer, direction, queries, k, gallery)
    runs = room[:n]
    size = runs[:, 2] - runs[:, 1]
    ends = np.cumsum(size)
    rows = np.repeat(runs[:, 0], size)
    cols = places[rows, np.arange(members) - np.repeat(ends - runs[:, 2], size)].astype(np.int64)
    if tile is not None and isinstance(scorer, Matrix):
        exact = tile[rows, cols].astype(np.float64)
    else:
        exact = exact_scores(scorer, direction, queries[rows], cols if gallery is None else gallery[cols])
    tied = np.zeros((len(places), k), np.bool_)
    for r in np.flatnonzero(size > sort_kernels.LONG_RUN).tolist():
        q, first, last = runs[r]
        own = slice(ends[r] - size[r], ends[r])
        turn = np.lexsort((places[q, first:last], -exact[own]))
        places[q, first:last], exact[own] = places[q, first:last][turn], exact[own][turn]
    sort_kernels.sort_runs(places, runs, exact, k, tied)
    return Order(np.ascontiguousarray(places[:, :k]), tied)


def largest(rows: npt.NDArray[Any], k: int) -> Items:
    """(query, k) int32 positions of the k largest numbers of every row, descending, ties to the lower position.

    Args:
        rows: (query, gallery) float32, without NaN.
        k: from 1 to the size of the gallery.
    """
    from . import sort_kernels

    if k <= sort_kernels.FEW:
        out = np.empty((len(rows), k), np.int32)
        sort_kernels.largest(rows, k, out)
        return out
    items, _, _ = best_of(rows, k, ErrorBound(0.0, np.zeros(len(rows)), BEST))
    return np.ascontiguousarray(items[:, :k])


def best_of(values: Vectors, k: int, bound: ErrorBound) -> tuple[Items, Vectors, Int]:
    """All items that can be among the k best of every row, best first, their scores, and (row,) their number."""
    from ..numeric import sort_kernels as sorting_kernels
    from ..numeric.sort import order

    n, gallery = values.shape
    if 2 * k >= gallery:
        count = np.full(n, gallery)
        return *order(values, count), count
    items, scores, count = candidates(values, k, bound)
    places, ordered = order(scores, count)
    sorting_kernels.pick(items, places, count)
    return places, ordered, count


def candidates(values: Vectors, k: int, bound: ErrorBound) -> tuple[Items, Vectors, Int]:
    """All items that can be among the k best of every row, by index, their scores, and (row,) their number.

    Returns:
        (row, gallery) int32 and float32, of which a row's number is filled, and (row,) int64.
    """
    from . import sort_kernels

    rate, base = _in_float32(bound)
    limit = _reached(values, k)
    with np.errstate(over="ignore", invalid="ignore"):
        # below every score that can be above the limit in canonical order
        least = np.nextafter(
            limit - np.float32(sort_kernels.REACH) * (rate * np.abs(limit) + base), np.float32(-np.inf)
        )
    least = np.where(np.isfinite(least), least, np.float32(-np.inf))
    items, scores = np.empty(values.shape, np.int32), np.empty(values.shape, np.float32)
    count = np.empty(len(values), np.int64)
    sort_kernels.candidates(values, least, k * 32 < values.shape[1], items, scores, count)
    return items, scores, count


def _reached(values: Vectors, k: int) -> Vectors:
    """(row,) float32 scores that k or a few more of every row reach."""
    from .sort_kernels import FEW, SAMPLE

    if k <= FEW:
        return np.take_along_axis(values, largest(values, k)[:, -1:], axis=1)[:, 0]
    some = np.sort(values[:, :: max(values.shape[1] // SAMPLE, 1)], axis=1)
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
    """The queries in parts whose rows of scores, ``width`` long, are computed together."""
    step = max(1, PART // max(width, 1))
    return [queries[a : a + step] for a in range(0, len(queries), step)]


def _width(scorer: Scorer, direction: Direction, gallery: Int | None) -> int:
    return scorer.shape[1 if direction == "i2t" else 0] if gallery is None else len(gallery)


def _in_float32(bound: ErrorBound) -> tuple[np.float32, Vectors]:
    """The bound as the kernels take it; the roundings are within ``SURE``."""
    return np.float32(bound.rate), bound.base.astype(np.float32)


def exact_scores(scorer: Scorer, direction: Direction, queries: Int, items: Int) -> Float:
    """(pair,) canonical scores of pairs of a query and an item."""
    # Sorted by item, or by a few items: loading the vector of the item takes most of the time of a canonical score.
    few = max(0, (scorer.shape[1 if direction == "i2t" else 0] - 1).bit_length() - 16)
    turn = np.argsort((items >> few).astype(np.uint16), kind="stable")  # 16 bits are sorted in a tenth of the time
    rows, cols = (queries[turn], items[turn]) if direction == "i2t" else (items[turn], queries[turn])
    out = np.empty(len(turn))
    out[turn] = scorer.pairs(rows, cols, 1)
    return out


def largest_score(scorer: Dot, direction: Direction, queries: Int | slice) -> Float:
    """(query,) the largest score possible for each query, given the lengths of the vectors."""
    image, caption = scorer.lengths
    query, other = (image, caption) if direction == "i2t" else (caption, image)
    return np.ones_like(query[queries]) if scorer.cosine else np.asarray(query[queries] * other.max())
