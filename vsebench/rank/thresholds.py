"""Thresholds: the scores of the relevant pairs of one direction and one set of candidates, with error bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..types import Direction, Float, Int, Relevance, SameFold
from .scorers import Range, Scorer


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Distinct (query, item) pairs sorted by query, then item.

    Attributes:
        query: (pair,) int64.
        item: (pair,) int64.
        indptr: (query + 1,) int64, pairs of each query.
        exact: (pair,) float64 canonical score.
        high: (pair,) a tile value above it is certainly above ``exact``.
        low: (pair,) a tile value below it is certainly below ``exact``.
        first, last: (image,) int64, captions ``first[r]:last[r]`` and image r are candidates of each other.
    """

    query: Int
    item: Int
    indptr: Int
    exact: Float
    high: npt.NDArray[Any]
    low: npt.NDArray[Any]
    first: Int
    last: Int

    def locate(self, relevance: Relevance, gallery: int) -> Int:
        """(pair,) positions of a relevance's pairs among these."""
        key = self.query * gallery + self.item
        return np.searchsorted(key, relevance.queries[relevance.query_of] * gallery + relevance.items)

    def part(self, direction: Direction, images: Range, captions: Range) -> Thresholds:
        """The pairs of the queries of a range, as they are compared with the candidates of a range.

        The first image and caption of the ranges become image and caption 0. Relevant items outside the range of the
        candidates are compared as well: their indices are negative or beyond it.
        """
        (own, (offset, _)) = (images, captions) if direction == "i2t" else (captions, images)
        pairs = slice(self.indptr[own[0]], self.indptr[own[1]])
        begin, end = captions
        first, last = (np.clip(x[slice(*images)], begin, end) - begin for x in (self.first, self.last))
        return Thresholds(
            self.query[pairs] - own[0], self.item[pairs] - offset,
            self.indptr[own[0] : own[1] + 1] - self.indptr[own[0]], self.exact[pairs], self.high[pairs],
            self.low[pairs], first, last,
        )  # fmt: skip


def sorted_unique(keys: list[Int]) -> Int:
    """The distinct values of several arrays, ascending."""
    key = np.sort(np.concatenate(keys)) if keys else np.empty(0, np.int64)
    return key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key


def score(scorer: Scorer, relevances: list[Relevance], threads: int) -> tuple[Int, Float]:
    """All pairs of both directions as ascending keys (image * captions + caption), and their canonical scores.

    Most pairs occur in both directions, with the same score.
    """
    width = max(scorer.shape[1], 1)
    key = sorted_unique([_key(r.direction, r.queries[r.query_of], r.items, width) for r in relevances])
    rows, cols = np.divmod(key, width)
    return key, scorer.pairs(rows, cols, threads)


def _key(direction: Direction, query: Int, item: Int, width: int) -> Int:
    return query * width + item if direction == "i2t" else item * width + query


def make(
    scorer: Scorer, direction: Direction, relevances: list[Relevance], fold: SameFold | None, scored: tuple[Int, Float]
) -> Thresholds:
    """The pairs of relevances that share their candidates, with bounds on the tile error.

    Args:
        scorer: gives the bounds.
        direction: side of the queries.
        relevances: the pairs.
        fold: restricts the candidates to the query's fold.
        scored: from ``score``.
    """
    n_image, n_caption = scorer.shape
    n_query, n_gallery = (n_image, n_caption) if direction == "i2t" else (n_caption, n_image)
    key = sorted_unique([r.queries[r.query_of] * n_gallery + r.items for r in relevances])
    query, item = np.divmod(key, max(n_gallery, 1))
    exact = scored[1][np.searchsorted(scored[0], _key(direction, query, item, max(n_caption, 1)))]
    slack = scorer.error()[0 if direction == "i2t" else 1][query]
    first, last = _range(n_image, n_caption, direction, fold)
    return Thresholds(
        query,
        item,
        np.searchsorted(query, np.arange(n_query + 1)),
        exact,
        _round(exact + slack, scorer.dtype, np.inf),
        _round(exact - slack, scorer.dtype, -np.inf),
        first,
        last,
    )


def _range(n_image: int, n_caption: int, direction: Direction, fold: SameFold | None) -> tuple[Int, Int]:
    if fold is None:
        return np.zeros(n_image, np.int64), np.full(n_image, n_caption)
    image, caption = fold.query_fold, fold.gallery_fold
    if direction == "t2i":
        image, caption = caption, image
    if (np.diff(caption) < 0).any():
        raise BadInput("the captions of a fold are not contiguous", fix="order captions by their image's fold")
    return np.searchsorted(caption, image), np.searchsorted(caption, image, side="right")


def _round(value: Float, dtype: npt.DTypeLike, towards: float) -> npt.NDArray[Any]:
    """``value`` in the tile's dtype, rounded outwards so that the bound stays certain."""
    out = value.astype(dtype)
    wrong = out < value if towards > 0 else out > value
    return np.where(wrong, np.nextafter(out, np.asarray(towards, dtype)), out)
