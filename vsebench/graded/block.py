"""From the order of a block of queries to the values of its graded metrics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.gain_order import gain_order
from ..metrics.graded_ranking import GradedRanking
from ..rank.order import Items, largest
from ..relevance.gains import Gains
from ..types import Bool, Float, Int, Tops, Vectors
from .rankings import Group, Ranking

SPARSE = 16  # complete rows of gains are made where more than one gain in so many is read
NONE = np.iinfo(np.int32).max  # place of an item that is not among the best
SCATTERED = 8  # rows of gains are made in one call where at least one query in so many is needed


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The retrieved items and the items with the largest gains.

    Attributes:
        ranking: their gains and ties.
        items: (query, depth) int32 gallery positions of the retrieved items.
        best: (query, ideal depth) int32 gallery positions of the items with the largest gains.
        candidates: (query,) int64 number of candidates.
        largest: (query, largest) int64 images, each of an item with the largest gains or itself one, descending.
        size: (query, largest) int64 number of gallery items that one of gain above 0 stands for, 0 for the others.
        place: (query, depth) int32 place of each retrieved item among those of gain above 0, or ``NONE``.

    The last three are made for metrics of pseudo-positives, by ``Block.with_positives``.
    """

    ranking: GradedRanking
    items: Items
    best: Items
    candidates: Int
    largest: Int | None = None
    size: Int | None = None
    place: npt.NDArray[np.int32] | None = None

    def cut(self, depth: int) -> Retrieved:
        """The same, no deeper than ``depth``."""
        return replace(self, ranking=self.ranking.part(slice(None), depth), items=self.items[:, :depth])


class Block:
    """Some queries of a ranking and their gains in one view.

    Args:
        ranking: queries and gallery.
        gains: of the view.
        start, stop: positions of the queries in the ranking.
        groups: the metrics that will be measured.
        larger: a block that contains these queries and their gallery, whose gains serve.
    """

    def __init__(
        self,
        ranking: Ranking,
        gains: Gains,
        start: int,
        stop: int,
        groups: list[Group],
        larger: Block | None = None,
    ):
        self.ranking, self.start, self.stop, self.larger = ranking, start, stop, larger
        self.gains = gains.T if ranking.side else gains
        self.queries = ranking.queries[start:stop]
        own = int(ranking.ground_truth.max(initial=0))
        deepest = max((g.ideal + ranking.spare + g.without_ground_truth * own for g in groups if g.ideal), default=0)
        self.ideal_depth = min(deepest, len(ranking.gallery))
        self._rows: Vectors | None = None
        self._ideal: tuple[Items, Vectors] | None = None
        self._images: dict[bool, tuple[Float, Items, Int]] = {}

    def rows(self) -> Vectors:
        """(query, gallery) float32 gains, made once; must not be written to."""
        if self._rows is None:
            larger, gallery = self.larger, self.ranking.gallery
            # Rows of the larger block serve if they are there already, or are all needed here.
            if larger and (larger._rows is not None or len(larger.queries) == len(self.queries)):
                rows = larger.rows()
                if len(self.queries) < len(rows):
                    rows = rows[np.searchsorted(larger.queries, self.queries)]
                if len(gallery) < rows.shape[1]:
                    rows = np.take(rows, np.searchsorted(larger.ranking.gallery, gallery), axis=1)
                self._rows = rows
            else:
                self._rows = gains_rows(self.gains, self.queries, gallery)
        return self._rows

    def at(self, items: Items) -> Vectors:
        """(query, depth) float32 gains of gallery positions."""
        from ..rank import sort_kernels

        gallery = len(self.ranking.gallery)
        few = gallery // SPARSE if self.gains.rows_affordable else gallery
        if self._rows is None and items.shape[1] < few:
            return self.gains.at(self.queries, self.ranking.gallery[items])
        out = np.empty(items.shape, np.float32)
        sort_kernels.gather(self.rows(), items, out)
        return out

    def ideal(self, k: int) -> tuple[Items, Vectors]:
        """(query, k) gallery positions of the largest gains, and these, descending; ties to the lower position."""
        if self._ideal is None:
            items = largest(self.rows(), self.ideal_depth)
            self._ideal = items, self.at(items)
        return np.ascontiguousarray(self._ideal[0][:, :k]), np.ascontiguousarray(self._ideal[1][:, :k])

    def retrieved(self, order: Tops, ideal: int, without_ground_truth: bool, with_gains: bool) -> Retrieved:
        """The candidates among the retrieved items, and the largest gains of the candidates.

        Args:
            order: the top of every ranking.
            ideal: how many of the largest gains.
            without_ground_truth: a query's own items are no candidates.
            with_gains: with the gains of the retrieved items.
        """
        ranking, items, tied = self.ranking, order.items, order.tied
        gallery = len(ranking.gallery)
        best_items: Items = np.empty((len(items), 0), np.int32)
        best: Vectors | None = None
        ideal = min(ideal, gallery)
        own = int(ranking.ground_truth.max(initial=0)) * without_ground_truth
        if ideal:  # before the gains of the retrieved items, which are then taken from the rows that this makes
            best_items, best = self.ideal(min(ideal + own, gallery))
        gains = self.at(items) if with_gains or without_ground_truth else np.empty((len(items), 0), np.float32)
        candidates = np.full(len(items), gallery)
        if without_ground_truth:
            items, tied, gains = self._without_ground_truth(order, gains)
            candidates -= ranking.ground_truth[self.start : self.stop]
        if (none := self.gains.no_query) is not None:
            candidates[none[self.queries]] = 0
        count = np.minimum(candidates, items.shape[1])
        if best is None:
            return Retrieved(GradedRanking(gains, tied, count), items, best_items, candidates)
        if without_ground_truth:
            best_items, _, best = self._without_ground_truth(
                Tops.of(best_items, np.zeros(best.shape, np.bool_), gallery), best
            )
            # Where candidates are fewer than wanted, the best of them fills the places behind the last.
            inside = np.arange(best_items.shape[1]) < candidates[:, None]
            best_items = np.where(inside, best_items, best_items[:, :1])
        best_items, best = best_items[:, :ideal], best[:, :ideal]
        best[np.arange(ideal) >= candidates[:, None]] = 0
        return Retrieved(GradedRanking(gains, tied, count, best), items, best_items, candidates)

    def graded_ranking(self, found: Retrieved, group: Group) -> GradedRanking:
        """What the metrics of a group read, with the order of gains or the pseudo-positives where they need them."""
        ranking = found.ranking
        if "gain_order" in group.needs:
            ranking = replace(ranking, gain_order=gain_order(np.ascontiguousarray(ranking.gains), ranking.count))
        if not group.pseudo_positives:
            return ranking
        found = self.with_positives(found, group)
        assert found.size is not None and found.place is not None
        # without pseudo-positives a query has the value 0, unless it has no candidates either
        number = np.maximum(found.size.sum(axis=1), found.candidates > 0)
        count = np.where(number > 0, ranking.count, 0)
        return replace(ranking, count=count, pseudo_positive=found.place < NONE, pseudo_positives=number)

    def with_positives(self, found: Retrieved, group: Group, spare: int = 0) -> Retrieved:
        """The same with ``largest``: as many as there are pseudo-positives, and ``spare`` more."""
        ranking, most = self.ranking, group.pseudo_positives + spare
        if not group.by_image:
            assert found.ranking.ideal is not None  # pseudo-positives are chosen among the ideal items
            best, positive = found.best[:, :most], found.ranking.ideal[:, :most] > 0
            place = _places(found.items, best, positive, len(ranking.gallery))
            return replace(found, largest=ranking.image_of[1][best], size=positive.astype(np.int64), place=place)
        total, order, of_query = self._image_gains(group.without_ground_truth)
        best = order[of_query, : min(most, len(ranking.images) - group.without_ground_truth)]
        positive = total[of_query[:, None], best] > 0
        image = np.searchsorted(ranking.images, ranking.image_of[1])
        size = np.bincount(image, minlength=len(ranking.images))[best] * positive
        place = _places(image[found.items], best, positive, len(ranking.images))
        return replace(found, largest=ranking.images[best], size=size, place=place)

    def _image_gains(self, without_ground_truth: bool) -> tuple[Float, Items, Int]:
        """The gains of all images, summed over the captions of each query image of the block; made once.

        Returns:
            (own, image) sums, -inf for a ground truth that is left out; (own, image) positions in descending order;
            (query,) row of every query.
        """
        if without_ground_truth not in self._images:
            ranking = self.ranking
            own, of_query = np.unique(ranking.image_of[0][self.start : self.stop], return_inverse=True)
            captions = ranking.captions[np.isin(ranking.split.owners[ranking.captions], own)]
            total = np.zeros((len(own), len(ranking.images)))
            if len(captions):
                of_captions = self.gains if ranking.side == 1 else self.gains.T
                rows = gains_rows(of_captions, captions, ranking.images)
                np.add.at(total, np.searchsorted(own, ranking.split.owners[captions]), rows)
            if without_ground_truth:
                total[np.arange(len(own)), np.searchsorted(ranking.images, own)] = -np.inf
            order = np.argsort(-total, axis=1, kind="stable").astype(np.int32)
            self._images[without_ground_truth] = total, order, of_query
        return self._images[without_ground_truth]

    def _without_ground_truth(self, order: Tops, gains: Vectors) -> tuple[Items, Bool, Vectors]:
        """The order without a query's own items; what is behind the last candidate is undefined."""
        from ..rank import sort_kernels

        query_image, gallery_image = self.ranking.image_of
        items, tied, left = np.zeros_like(order.items), np.zeros_like(order.tied), np.zeros_like(gains)
        own = query_image[self.start : self.stop]
        sort_kernels.leave_out(order.items, order.tied, gains, own, gallery_image, items, tied, left)
        return items, tied, left


def gains_rows(gains: Gains, queries: Int, gallery: Int) -> Vectors:
    """(query, gallery) float32 gains of some queries with some items, both ascending indices of the split."""
    first, last = int(queries[0]), int(queries[-1]) + 1
    if last - first > SCATTERED * len(queries):
        rows = np.concatenate([gains.rows(q, q + 1) for q in queries.tolist()])
    else:
        rows = gains.rows(first, last)
        if last - first > len(queries):
            rows = rows[queries - first]
    if len(gallery) < rows.shape[1]:
        near = len(gallery) == gallery[-1] - gallery[0] + 1
        rows = rows[:, gallery[0] : gallery[-1] + 1] if near else rows[:, gallery]
    # Rows of a memory-mapped file are read-only, for which numba would compile every kernel again.
    return np.require(rows, np.float32, ["C", "W"])


def _places(items: npt.NDArray[Any], best: npt.NDArray[Any], positive: Bool, size: int) -> npt.NDArray[np.int32]:
    """(query, depth) int32 places of items among the best (query, m) of their query, ``NONE`` where they are not.

    Items are below ``size``. Positive ones are in front of the others, which count as not among the best.
    """
    place = np.full((len(items), size), NONE, np.int32)
    # The others must not be written: behind the last candidate the first item is listed again.
    own = np.where(positive, best, best[:, :1])
    rank = np.where(positive, np.arange(best.shape[1], dtype=np.int32), np.where(positive[:, :1], 0, NONE))
    np.put_along_axis(place, own, rank.astype(np.int32), axis=1)
    return np.take_along_axis(place, items, axis=1)
