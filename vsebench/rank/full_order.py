"""The canonical order of complete galleries, or of their top k, for a block of queries at a time.

The order is that of the canonical float64 scores, ties to the lower index; sorting 125 million of them would
take a float64 product. So the float32 scores are sorted, and near-ties, neighbours whose order the error of the
float32 scores leaves open, are scored in float64. The rigorous bound on a float32 product (6e-5 for unit vectors of
1024 numbers) suffices for ranks, but nearly all neighbours of a full order are closer; the actual error is 3e-8.

So the error is measured in every block: ``SAMPLE`` random pairs, of all its queries, are scored in float64, and the
largest error found, relative to ``|score| + FLOOR * length * length``, times ``SAFETY``, is taken as the bound, if
the rigorous one is not smaller. The order is exactly canonical, whatever the BLAS, the block and the threads, if
no float32 score of the block has a larger error. Every near-tie that is scored checks that: an error above the bound
makes the block start again with twice the bound. Lists of kept scores (``shortlist``) use the largest bound of the
tiles they were kept from, and start again from complete rows of scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Bool, Direction, Float, Int, Vectors
from .scorers import Dot, Matrix, Scorer

SAMPLE = 2048  # pairs of a block whose float32 error is measured
SAFETY = 2.5
FLOOR = 0.125  # of the product of the lengths: the error of small scores is that of their terms
ROUNDOFF = 2.0**-24

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


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """Bound on the error of float32 scores: ``rate * |s| + base[query]`` for a score s of a query.

    Attributes:
        rate: relative part.
        base: (query,) float64 absolute part.
    """

    rate: float
    base: Float

    def take(self, queries: Int) -> ErrorBound:
        """The bound of some of the queries."""
        return ErrorBound(self.rate, self.base[queries])


def rows_of(scorer: Scorer, direction: Direction, start: int, stop: int, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(query, gallery) scores of queries ``start:stop`` with the complete gallery, in ``out``; queries are rows.

    Args:
        scorer: where scores come from.
        direction: side of the queries.
        start, stop: the queries.
        out: at least (stop - start) * gallery numbers of the scorer's dtype, one-dimensional.
    """
    n_image, n_caption = scorer.shape
    gallery = n_caption if direction == "i2t" else n_image
    tile = out[: (stop - start) * gallery].reshape(stop - start, gallery)
    if not (isinstance(scorer, Dot) and scorer.cosine):
        if direction == "i2t":
            scores = scorer.tile(start, stop, 0, n_caption, tile)
        else:
            scores = scorer.tile(0, n_image, start, stop, tile.T).T
        if scores is not tile and scores.base is not tile:
            tile[...] = scores
        return tile
    # Scaled after the product: before it, all vectors of one side would be copied for every block.
    if direction == "i2t":
        np.matmul(scorer.images[start:stop], scorer.captions.T, out=tile)
        return scaled(scorer, tile, slice(start, stop), slice(None))
    np.matmul(scorer.images, scorer.captions[start:stop].T, out=tile.T)
    return scaled(scorer, tile.T, slice(None), slice(start, stop)).T


def scaled(scorer: Dot, tile: Vectors, images: Int | slice, captions: Int | slice) -> Vectors:
    """Scale ``tile``, (image, caption) inner products of some vectors, to scores in place, and return it."""
    if scorer.cosine:
        tile *= scorer.scales[1][captions].astype(np.float32)
        tile *= scorer.scales[0][images, None].astype(np.float32)
    return tile


def columns_of(scorer: Dot, start: int, stop: int, out: Vectors) -> Vectors:
    """(image, caption) float32 scores of all images with captions ``start:stop``, in ``out``; images are rows.

    Args:
        scorer: where scores come from.
        start, stop: the captions.
        out: at least (stop - start) * image numbers, one-dimensional.
    """
    n = scorer.shape[0]
    tile = out[: (stop - start) * n].reshape(n, stop - start)
    np.matmul(scorer.images, scorer.captions[start:stop].T, out=tile)
    return scaled(scorer, tile, slice(None), slice(start, stop))


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
        bound: of the errors of these scores, from ``measured_bound``.
        gallery: (gallery,) int64 indices of the candidates, ascending; the complete gallery if None. The order is in
            positions among these.
    """
    with np.errstate(over="ignore"):  # what exceeds float32 becomes infinite: near-ties, ordered by the given scores
        values = tile.astype(np.float32, copy=False)
    while True:
        found = _sorted(values, k, bound.rate, bound.base.astype(np.float32))
        order = canonical_order(scorer, direction, found, queries, k, bound, gallery, tile)
        if order is not None:
            return order
        bound = ErrorBound(2 * bound.rate, 2 * bound.base)


def canonical_order(
    scorer: Scorer,
    direction: Direction,
    found: tuple[Items, Vectors, Int],
    queries: Int,
    k: int,
    bound: ErrorBound,
    gallery: Int | None,
    tile: npt.NDArray[Any] | None = None,
) -> Order | None:
    """The k best of some queries in canonical order, from their order by float32 scores.

    Args:
        scorer, direction, queries, k, bound, gallery: as for ``order_rows``.
        found: (query, width) int32 positions in the gallery of all items that can be among the k best, best first,
            their float32 scores, and (query,) their number. The positions are reordered in place.
        tile: the given scores, where the scorer is a matrix.

    Returns:
        None when the error of a score exceeds ``bound``.
    """
    from . import sort_kernels

    places, ordered, count = found
    rate, base = bound.rate, bound.base
    room = np.empty((len(places) * (places.shape[1] // 2), 3), np.int32)  # pages that are not written take no memory
    n, members = sort_kernels.find_runs(ordered, count, k, np.float32(rate), base.astype(np.float32), room)
    runs = room[:n]
    rows, cols, scores = np.empty(members, np.int64), np.empty(members, np.int64), np.empty(members, np.float32)
    sort_kernels.run_members(places, ordered, runs, rows, cols, scores)
    if tile is not None and isinstance(scorer, Matrix):
        exact = tile[rows, cols].astype(np.float64)
    else:
        exact = _exact(scorer, direction, queries[rows], cols if gallery is None else gallery[cols])
        if rate and not (np.abs(exact - scores) <= rate * np.abs(exact) + base[rows]).all():
            return None
    tied = np.zeros((len(places), k), np.bool_)
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
    items, _, _ = _sorted(rows, k, 0.0, np.zeros(len(rows), np.float32))
    return np.ascontiguousarray(items[:, :k])


def _sorted(values: Vectors, k: int, rate: float, base: Vectors) -> tuple[Items, Vectors, Int]:
    """All items that can be among the k best of every row, best first, their scores, and (row,) their number."""
    from ..numeric import sort_kernels as sorting_kernels
    from ..numeric.sort import order
    from . import sort_kernels

    n, gallery = values.shape
    if 2 * k >= gallery:
        count = np.full(n, gallery)
        return *order(values, count), count
    items, scores, count = np.empty((n, gallery), np.int32), np.empty((n, gallery), np.float32), np.empty(n, np.int64)
    sort_kernels.candidates(values, k, np.float32(rate), base, items, scores, count)
    places, ordered = order(scores, count)
    sorting_kernels.pick(items, places, count)
    return places, ordered, count


def _exact(scorer: Scorer, direction: Direction, queries: Int, items: Int) -> Float:
    # Sorted by item: loading the vector of the item takes most of the time of a canonical score.
    short = items.astype(np.uint16) if scorer.shape[1 if direction == "i2t" else 0] <= 1 << 16 else items
    turn = np.argsort(short, kind="stable")
    rows, cols = (queries[turn], items[turn]) if direction == "i2t" else (items[turn], queries[turn])
    out = np.empty(len(turn))
    out[turn] = scorer.pairs(rows, cols, 1)
    return out


def measured_bound(
    scorer: Scorer, direction: Direction, tile: npt.NDArray[Any], start: int, first: int = 0
) -> ErrorBound:
    """The error bound of the scores of a tile, from the errors of sampled pairs.

    Args:
        scorer: gives canonical scores.
        direction: side of the queries.
        tile: (query, gallery) scores of queries from ``start`` on with items from ``first`` on.
        start: the first query.
        first: the first item.
    """
    n, gallery = tile.shape
    if not isinstance(scorer, Dot):
        return ErrorBound(0.0, np.zeros(n))
    rows = np.repeat(np.arange(n), -(-SAMPLE // n))
    cols = np.random.default_rng(start + first).integers(0, gallery, len(rows))
    exact = _exact(scorer, direction, rows + start, cols + first)
    scale = largest_score(scorer, direction, start, n)[rows]
    worst = float(np.max(np.abs(exact - tile[rows, cols]) / (np.abs(exact) + FLOOR * scale + 1e-37)))
    return bound_at(scorer, direction, SAFETY * max(worst, ROUNDOFF), start, n)


def bound_at(scorer: Dot, direction: Direction, rate: float, start: int, n: int) -> ErrorBound:
    """The error bound of ``n`` queries from ``start`` on, with the given relative part."""
    rigorous = scorer.error()[0 if direction == "i2t" else 1][start : start + n]
    return ErrorBound(rate, np.minimum(rate * FLOOR * largest_score(scorer, direction, start, n), rigorous) + 1e-37)


def largest_score(scorer: Dot, direction: Direction, start: int, n: int) -> Float:
    """(n,) the largest score possible for each query, given the lengths of the vectors."""
    if scorer.cosine:
        return np.ones(n)
    image, caption = scorer.lengths
    query, other = (image, caption) if direction == "i2t" else (caption, image)
    return np.asarray(query[start : start + n] * other.max())
