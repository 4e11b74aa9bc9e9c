"""Ranks from retrieved lists: items in the list of a query have a rank, all others have none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..types import EVERYTHING, UNRANKED, Candidates, Int, Ranks, Relevance


def ranks_from_lists(
    relevance: Relevance, lists: Mapping[int, Int], gallery: int, candidates: Candidates = EVERYTHING
) -> Ranks:
    """Ranks of the relevant items in the lists of their queries.

    Args:
        relevance: the pairs.
        lists: query index -> (length,) distinct gallery indices, best first. A query without a list counts
            as an empty one.
        gallery: size of the gallery; a list as long is complete.
        candidates: only items of the query's fold are candidates; others are removed from the list first.

    Returns:
        Ranks, whose ``depth`` is the length of each query's list.
    """
    empty = np.empty(0, np.int64)
    rank = np.full(len(relevance.items), UNRANKED)
    depth = np.empty(len(relevance.queries), np.int64)
    folds = candidates.fold
    fold = None if folds is None else folds[0][relevance.queries]
    place = np.full(gallery, UNRANKED)
    for i, query in enumerate(relevance.queries.tolist()):
        items = lists.get(query, empty)
        size = gallery
        if folds is not None:
            own = folds[0][query]
            items = items[folds[1][items] == own]
            size = int(np.diff(np.searchsorted(folds[1], (own, own + 1)))[0])
        place[items] = np.arange(1, len(items) + 1)
        pairs = slice(relevance.indptr[i], relevance.indptr[i + 1])
        rank[pairs] = place[relevance.items[pairs]]
        place[items] = UNRANKED
        depth[i] = gallery if len(items) >= size else len(items)
    return Ranks(relevance, rank, np.zeros(len(rank), bool), depth=depth, fold=fold)


def too_shallow(ranks: Ranks, depth: str, k: int | None, gallery: int) -> tuple[int, int, int] | None:
    """The first query whose list is shorter than the depth a metric reads.

    Args:
        ranks: from ``ranks_from_lists``.
        depth: ``k``, ``R`` or ``best``.
        k: the k of the metric.
        gallery: size of the gallery.

    Returns:
        (position in ``relevance.queries``, its depth, the depth needed), or None when every list is deep enough.
    """
    if ranks.depth is None:
        return None
    if depth == "best":
        needed = np.where(ranks.best() == UNRANKED, gallery, 0)
    elif depth == "R":
        needed = ranks.relevance.size
    else:
        needed = np.full(len(ranks.depth), k or 1)
    short = np.flatnonzero(ranks.depth < np.minimum(needed, gallery))
    if not len(short):
        return None
    i = int(short[0])
    return i, int(ranks.depth[i]), int(min(needed[i], gallery))
