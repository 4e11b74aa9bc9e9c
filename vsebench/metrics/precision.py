"""Precision at R, the number of relevant items of the query: R-Precision and mAP@R."""

from __future__ import annotations

import numpy as np

from ..types import Float, Ranks
from . import expected
from .declare import metric


@metric(
    "R-P",
    depth="R",
    group="precision",
    formula="|relevant items with rank <= R| / R, R the number of relevant items",
    cite=("chun2022eccv",),
    expected=expected.precision_at_size,
)
def r_precision(ranks: Ranks) -> Float:
    """Precision at R, the query's own number of relevant items.

    Relevant items that are not in the gallery count in R and are never found.
    """
    size = ranks.relevance.size
    return ranks.within(size) / size


@metric(
    "mAP@R",
    depth="R",
    group="precision",
    formula="(1/R) sum over r = 1..R of precision@r if item r is relevant, else 0",
    cite=("chun2022eccv", "musgrave2020metric"),
    expected=expected.map_at_size,
)
def map_at_r(ranks: Ranks) -> Float:
    """Mean over r = 1..R of precision@r, counted only where the r-th item is relevant.

    R is the query's own number of relevant items, so a perfect ranking scores 1 whatever R is. Relevant items
    below place R contribute nothing, which is the difference from average precision.
    """
    relevance = ranks.relevance
    rank, place = ranks.ordered()
    precision = np.where(rank <= relevance.size[relevance.query_of], place / rank, 0.0)
    total = np.bincount(relevance.query_of, weights=precision, minlength=len(relevance.queries))
    return total / relevance.size
