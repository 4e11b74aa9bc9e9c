"""From counts of candidates to ranks, under a tie rule (``ties``)."""

from __future__ import annotations

import numpy as np

from ..types import Bool, Int, Ranks, Relevance, TieGroups
from .ties import EXPECTED


def ranks_from_counts(relevance: Relevance, counts: Int, ties: str, fold: Int | None) -> Ranks:
    """Apply a tie rule.

    Args:
        relevance: the pairs.
        counts: (3, pair) candidates with a higher score, and other candidates with the same score and a lower, or a
            higher, index.
        ties: one of ``TIES``.
        fold: (judged,) fold of each query, or None.
    """
    above, before, after = counts
    tied = (before + after) > 0
    if not tied.any():
        return Ranks(relevance, 1 + above, tied, fold=fold)
    place, size = _tie_groups(relevance, above, tied)
    tie = before + after + 1
    optimistic, pessimistic = above + place, above + (tie - size) + place
    rank = {"optimistic": optimistic, "pessimistic": pessimistic}.get(ties, 1 + above + before)
    groups = _groups(relevance, tied, above, tie, place, size) if ties == EXPECTED else None
    return Ranks(relevance, rank, tied, fold=fold, extremes=(optimistic, pessimistic), groups=groups)


def _groups(relevance: Relevance, tied: Bool, above: Int, tie: Int, place: Int, size: Int) -> TieGroups:
    """All relevant items of the queries with ties, from their (pair,) places in ties."""
    query = relevance.query_of
    affected = np.bincount(query[tied], minlength=len(relevance.queries)) > 0
    one = np.flatnonzero((place == 1) & affected[query])  # one pair a group
    one = one[np.lexsort((above[one], query[one]))]
    before = np.cumsum(size[one]) - size[one]
    start = np.searchsorted(query[one], query[one])  # the first group of the query
    return TieGroups(query[one], relevance.size[query[one]], above[one], tie[one], size[one], before - before[start])


def _tie_groups(relevance: Relevance, above: Int, tied: Bool) -> tuple[Int, Int]:
    """(pair,) 1-based place among the query's relevant items of equal score, and their number.

    Candidates have equal scores where equally many are above them. Only pairs that are ``tied`` can be several.
    """
    place, size = np.ones((2, len(tied)), np.int64)
    some = np.flatnonzero(tied)
    query, above = relevance.query_of[some], above[some]
    order = np.lexsort((above, query))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(query[order]) != 0) | (np.diff(above[order]) != 0)
    start = np.flatnonzero(new)
    number = np.diff(np.append(start, len(order)))
    place[some[order]] = np.arange(1, len(order) + 1) - np.repeat(start, number)
    size[some[order]] = np.repeat(number, number)
    return place, size
