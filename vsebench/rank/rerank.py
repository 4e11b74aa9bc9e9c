"""Re-ranking: the first items of every ranking in another order; the items behind them keep theirs.

    first stage: ranks, tops of depth D ─► ``reordered`` by the scores of a second stage ─► tops in the new order
    ranks of relevant items ─► ``ranks_of``        order of a gallery or of a part of it ─► ``order_of``

Every item in the top of the first stage stands before every item behind it, whatever the order inside the top is. So a
rank behind the top stays what it was, also among a part of the gallery, and nothing else has to be ranked again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..types import UNRANKED, Float, Int, Ranks, Tops
from .tops import ranks as ranks_of_lists


def reordered(top: Tops, scores: Float) -> Tops:
    """The first items of every query by descending score, ties to the lower gallery index.

    Items without a score stand behind those with one, in the order of the first stage.

    Args:
        top: (query, depth), of the first stage.
        scores: (query, depth) float64, NaN for none.
    """
    items, none = top.items, np.isnan(scores)
    among_equals = np.where(none, np.arange(items.shape[1]), items)
    order = np.lexsort((among_equals, np.where(none, 0.0, -scores), none), axis=1)
    return Tops.of(np.take_along_axis(items, order, axis=1), None, top.gallery, first=top.first)


def ranks_of(ranks: Ranks, new: Tops) -> Ranks:
    """The ranks of relevant items after re-ranking.

    Args:
        ranks: of the first stage in the complete gallery, with ties to the lower index.
        new: of the same direction.
    """
    found = ranks_of_lists(new, ranks.relevance).rank
    rank = np.where(found == UNRANKED, ranks.rank, found)
    return replace(ranks, rank=rank, tied=np.zeros(len(rank), np.bool_), extremes=None, groups=None)


def order_of(order: Tops, new: Tops, queries: Int, gallery: Int) -> Tops:
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
    return Tops.of(items, order.tied & (place > count), order.gallery)
