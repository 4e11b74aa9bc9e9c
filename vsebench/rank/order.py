"""From counts to ranks: the tie rules.

Default: score descending, then lower gallery index, a total order, so that ranks and lists agree. ``optimistic`` ranks
the relevant items of a tie first, ``pessimistic`` last; ``mean`` is the expected rank of the m-th relevant item of a
tie in random order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..registry import closest
from ..types import Float, Int, Ranks, Relevance

TIES: dict[str, str] = {
    "index": "score descending, then lower gallery index (canonical)",
    "optimistic": "relevant items of a tie come first",
    "pessimistic": "relevant items of a tie come last",
    "mean": "expected rank when ties are broken at random",
}


def check_ties(ties: str) -> str:
    """``ties`` if it is a known rule; raises UsageError otherwise."""
    if ties not in TIES:
        near = closest(ties, TIES)
        raise UsageError(f"unknown tie rule '{ties}'", fix=f"use {near[0] if near else ', '.join(TIES)}")
    return ties


def ranks_from_counts(
    relevance: Relevance, above: Int, before: Int, after: Int, exact: Float, ties: str, fold: Int | None
) -> Ranks:
    """Apply a tie rule.

    Args:
        relevance: the pairs.
        above: (pair,) candidates with a higher score.
        before: (pair,) other candidates with the same score and a lower index.
        after: (pair,) other candidates with the same score and a higher index.
        exact: (pair,) canonical scores.
        ties: one of ``TIES``.
        fold: (judged,) fold of each query, or None.
    """
    tied = (before + after) > 0
    if not tied.any():
        plain = 1 + above
        return Ranks(relevance, plain.astype(np.float64) if ties == "mean" else plain, tied, fold=fold)
    place, size = _tie_groups(relevance, exact)
    tie = before + after + 1
    optimistic, pessimistic = above + place, above + (tie - size) + place
    rank: npt.NDArray[Any] = {
        "index": 1 + above + before,
        "optimistic": optimistic,
        "pessimistic": pessimistic,
        "mean": above + place * (tie + 1) / (size + 1),
    }[ties]
    return Ranks(relevance, rank, tied, fold=fold, extremes=(optimistic, pessimistic))


def _tie_groups(relevance: Relevance, exact: Float) -> tuple[Int, Int]:
    """(pair,) 1-based place among the query's relevant items of equal score, and their number."""
    query = relevance.query_of
    order = np.lexsort((relevance.items, -exact, query))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(query[order]) != 0) | (np.diff(exact[order]) != 0)
    start = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    place = np.empty(len(order), np.int64)
    size = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - start[group] + 1
    size[order] = np.diff(np.append(start, len(order)))[group]
    return place, size
