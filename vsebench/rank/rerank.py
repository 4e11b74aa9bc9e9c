"""Re-ranking: the first items of every ranking in another order; the items behind them keep theirs.

    first stage: ranks, tops of depth D ─► ``reordered`` by the scores of a second stage ─► ``Reranking``
    ranks of relevant items ─► ``ranks_of``        order of a gallery or of a part of it ─► ``order_of``

Every item in the top of the first stage stands before every item behind it, whatever the order inside the top is. So a
rank behind the top stays what it was, also among a part of the gallery, and nothing else has to be ranked again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..types import Float, Int, Ranks
from .full_order import Order


@dataclass(frozen=True, eq=False)
class Reranking:
    """The new order of the first items of every query of one direction.

    Attributes:
        items: (query, depth) int64 gallery indices, best first.
        gallery: the size of the gallery.
        first: the index of the query of the first row.
    """

    items: Int
    gallery: int
    first: int = 0

    @cached_property
    def _places(self) -> tuple[Int, Int]:
        """(query x depth,) places in the matrix (query, gallery), ascending, and the new index in the top of each."""
        place = (self.first + np.arange(len(self.items))[:, None]) * self.gallery + self.items
        place = place.ravel()
        order = np.argsort(place)
        return place[order], order % self.items.shape[1]

    def index_of(self, query: Int, item: Int) -> Int:
        """(pair,) int64: the new index of an item in the top of a query, -1 where it is not in the top."""
        places, index = self._places
        wanted = query * self.gallery + item
        at = np.searchsorted(places, wanted).clip(max=len(places) - 1)
        return np.where(places[at] == wanted, index[at], -1)


def reordered(items: Int, scores: Float, gallery: int, first: int = 0) -> Reranking:
    """The first items of every query by descending score, ties to the lower gallery index.

    Items without a score stand behind those with one, in the order of the first stage.

    Args:
        items: (query, depth) int64 gallery indices, the top of the first stage.
        scores: (query, depth) float64, NaN for none.
        gallery: the size of the gallery.
        first: the index of the query of the first row.
    """
    none = np.isnan(scores)
    among_equals = np.where(none, np.arange(items.shape[1]), items)
    order = np.lexsort((among_equals, np.where(none, 0.0, -scores), none), axis=1)
    return Reranking(np.take_along_axis(items, order, axis=1), gallery, first)


def ranks_of(ranks: Ranks, new: Reranking) -> Ranks:
    """The ranks of relevant items after re-ranking.

    Args:
        ranks: of the first stage in the complete gallery, with ties to the lower index.
        new: of the same direction.
    """
    relevance = ranks.relevance
    index = new.index_of(relevance.queries[relevance.query_of], relevance.items)
    rank = np.where(index >= 0, index + 1, ranks.rank)
    return replace(ranks, rank=rank, tied=np.zeros(len(rank), np.bool_), extremes=None, groups=None)


def order_of(order: Order, new: Reranking, queries: Int, gallery: Int) -> Order:
    """The order of some queries after re-ranking.

    Args:
        order: of the first stage: (query, k) positions among ``gallery``.
        new: of the complete gallery, in the same direction.
        queries: (query,) int64 indices.
        gallery: (gallery,) int64 indices of the candidates, ascending.
    """
    top = new.items[queries - new.first]
    position = np.searchsorted(gallery, top).clip(max=len(gallery) - 1)
    inside = gallery[position] == top
    # Candidates of the top first, in their new order: the others follow as they are.
    packed = np.take_along_axis(position, np.argsort(~inside, axis=1, kind="stable"), axis=1)
    count, place = inside.sum(axis=1)[:, None], np.arange(order.items.shape[1])
    items, width = order.items.copy(), min(order.items.shape[1], packed.shape[1])
    items[:, :width] = np.where(place[:width] < count, packed[:, :width], items[:, :width])
    return Order(items, order.tied & (place > count))
