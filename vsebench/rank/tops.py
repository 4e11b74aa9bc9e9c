"""Lists of first items: where relevant items are in them, and the ranks that follow.

Lists come from a file or an index, or are complete orders of galleries (``types.Tops``). Items of a list
have a rank, all others none: they are behind the last one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..types import EVERYTHING, UNRANKED, Bool, Candidates, Int, Ranks, Relevance, Tops
from .ranks import ranks_from_counts

BLOCK_ENTRIES = 1 << 20  # list entries read at a time


class Placed(NamedTuple):
    """The places of the relevant items of some queries in their lists.

    Attributes:
        pairs: these pairs of the relevance.
        counts: (3, pair) int64; candidates with a higher score, and those with the same score and a lower, or a higher,
            place. Those of items that are not listed are 0.
        listed: (pair,) whether an item is in the list.
        depth: (query,) int64 how many candidates every list has.
    """

    pairs: Int
    counts: Int
    listed: Bool
    depth: Int


def place(lists: Tops, relevance: Relevance, candidates: Candidates = EVERYTHING, queries: Int | None = None) -> Placed:
    """The places of the relevant items in some lists.

    Args:
        lists: of these queries; where ties are not known no item is tied.
        relevance: the judgements.
        candidates: other items are removed from the lists first. Items remain tied if those between
            them are removed.
        queries: (query,) int64 indices of the queries, ascending; those from ``lists.first`` on by default.
    """
    queries = lists.first + np.arange(len(lists.start) - 1) if queries is None else queries
    row, item = lists.row, lists.entries.astype(np.int64)
    if not candidates.everything:
        kept = is_candidate(candidates, queries[row], item)
        lists, row, item = lists.keep(kept), row[kept], item[kept]
    start = lists.start
    new = np.ones(len(row), np.bool_) if lists.ties is None else ~lists.ties
    new[start[:-1][lists.depth > 0]] = True
    bounds, tie = np.append(np.flatnonzero(new), len(row)), np.cumsum(new) - 1  # of ties, and the tie of an entry
    a, b = np.searchsorted(relevance.queries, (queries[0], queries[-1] + 1)) if len(queries) else (0, 0)
    pairs = np.arange(relevance.indptr[a], relevance.indptr[b])
    query = relevance.queries[relevance.query_of[pairs]]
    at = np.searchsorted(queries, query)
    inside = queries[at] == query
    pairs, at = pairs[inside], at[inside]
    entry = _find(row * lists.gallery + item, at * lists.gallery + relevance.items[pairs], len(queries) * lists.gallery)
    listed = entry >= 0
    counts = np.zeros((3, len(pairs)), np.int64)
    entry, at = entry[listed], at[listed]
    first, end = bounds[tie[entry]], bounds[tie[entry] + 1]
    counts[:, listed] = first - start[at], entry - first, end - entry - 1
    return Placed(pairs, counts, listed, np.diff(start))


def _find(keys: Int, wanted: Int, size: int) -> Int:
    """(wanted,) int64 positions of some keys among distinct ones below ``size``, -1 if they are not there."""
    if len(keys) == size:  # complete orders
        place = np.empty(size, np.int64)
        place[keys] = np.arange(size)
        return place[wanted]
    if not len(keys):
        return np.full(len(wanted), -1)
    order = np.argsort(keys, kind="stable")
    at = order[np.searchsorted(keys, wanted, sorter=order).clip(max=len(keys) - 1)]
    return np.where(keys[at] == wanted, at, -1)


def is_candidate(candidates: Candidates, queries: Int, items: Int) -> Bool:
    """(pair,) whether the item of a pair may be returned for its query."""
    kept = np.ones(len(items), np.bool_)
    if candidates.fold is not None:
        kept &= candidates.fold[1][items] == candidates.fold[0][queries]
    if not len(items):  # scipy gives a sparse array then
        return kept
    if candidates.excluded is not None:
        kept &= ~np.asarray(candidates.excluded[queries, items])
    if candidates.allowed is not None:
        kept &= np.asarray(candidates.allowed[queries, items])
    return kept


def sizes(candidates: Candidates, queries: Int, gallery: int) -> Int:
    """(query,) int64, how many candidates queries have, or more if there are several limits."""
    size = np.full(len(queries), gallery)
    if candidates.fold is not None:
        fold = candidates.fold[0][queries]
        size = np.bincount(candidates.fold[1], minlength=int(fold.max(initial=0)) + 1)[fold]
    elif candidates.excluded is not None:
        size -= np.diff(candidates.excluded.indptr)[queries]
    if candidates.allowed is not None:
        size = np.minimum(size, np.diff(candidates.allowed.indptr)[queries])
    return size


def ranks(lists: Tops, relevance: Relevance, candidates: Candidates = EVERYTHING, ties: str | None = None) -> Ranks:
    """Ranks of the relevant items in the lists of their queries.

    Args:
        lists: of all queries.
        relevance: the pairs.
        candidates: other items are removed from the lists first.
        ties: the tie rule; None for the order of the lists.

    Returns:
        Ranks; ``depth`` is the length of each query's list, or the size of the gallery if complete.
    """
    counts, listed = np.zeros((3, len(relevance.items)), np.int64), np.zeros(len(relevance.items), np.bool_)
    depth, step = (
        np.zeros(len(lists.start) - 1, np.int64),
        max(1, BLOCK_ENTRIES // max(int(lists.depth.max(initial=1)), 1)),
    )
    counts[0] = lists.gallery  # behind all that are listed
    for a in range(0, len(depth), step):
        some = place(lists.rows(slice(a, a + step)), relevance, candidates)
        known = some.pairs[some.listed]
        counts[:, known], listed[known] = some.counts[:, some.listed], True
        depth[a : a + step] = some.depth
    depth, fold = depth[relevance.queries - lists.first], None
    if candidates.fold is not None:
        fold = candidates.fold[0][relevance.queries]
    depth = np.where(depth >= sizes(candidates, relevance.queries, lists.gallery), lists.gallery, depth)
    if ties is None:
        rank = np.where(listed, 1 + counts[0] + counts[1], UNRANKED)
        return Ranks(relevance, rank, np.zeros(len(rank), np.bool_), depth, fold)
    found = ranks_from_counts(relevance, counts, ties, fold)
    for rank in (found.rank, *(found.extremes or ())):
        rank[~listed] = UNRANKED
    return Ranks(relevance, found.rank, found.tied, depth, fold, found.extremes, found.groups)


def ranks_after(first: Ranks, new: Tops) -> Ranks:
    """The ranks of relevant items after re-ranking, from the ranks of the first stage, with ties to the lower index."""
    found = ranks(new, first.relevance).rank
    rank = np.where(found == UNRANKED, first.rank, found)
    return replace(first, rank=rank, tied=np.zeros(len(rank), np.bool_), extremes=None, groups=None)


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
