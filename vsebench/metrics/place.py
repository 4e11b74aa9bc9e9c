"""The rank of the first relevant item: median, mean and mean reciprocal."""

from __future__ import annotations

import numpy as np

from ..types import UNRANKED, Float, Ranks
from . import expected
from .declare import metric


@metric(
    "MedR",
    depth="best",
    group="rank",
    low=1,
    high=None,
    higher_is_better=False,
    unit="rank",
    aggregate="floor-median",
    formula="floor(median over queries of (best rank - 1)) + 1",
    cite=("faghri2018vsepp",),
)
def median_rank(ranks: Ranks) -> Float:
    """Median over queries of the rank of the first relevant item, rounded down between two ranks.

    It is not resampled: it has no interval and no test.

    It is rounded as in the VSE++ code and its descendants; published values with decimals are means over
    the five folds of COCO 1K.
    """
    return ranks.best().astype(float)


@metric(
    "MeanR",
    depth="best",
    group="rank",
    low=1,
    high=None,
    higher_is_better=False,
    unit="rank",
    formula="mean over queries of the best rank",
    cite=("faghri2018vsepp",),
    expected=expected.best_rank,
)
def mean_rank(ranks: Ranks) -> Float:
    """Mean over queries of the rank of the first relevant item.

    A few queries with very large ranks decide, so that its 95 % interval covers only about 92 % of the time.
    """
    return ranks.best().astype(float)


@metric(
    "MRR",
    depth="best",
    group="rank",
    aliases=("recip_rank",),
    formula="mean over queries of 1 / best rank",
    cite=("voorhees1999trec8",),
    expected=expected.reciprocal_best_rank,
)
def reciprocal_rank(ranks: Ranks) -> Float:
    """Mean reciprocal rank of the first relevant item."""
    best = ranks.best()
    return np.where(best == UNRANKED, 0.0, 1.0 / best)


@metric(
    "MRR@{k}",
    depth="k",
    group="rank",
    ks=(10,),
    formula="mean over queries of 1 / best rank, 0 if the best rank is above k",
    cite=("voorhees1999trec8",),
    expected=expected.reciprocal_best_rank,
    first="R@1",
)
def reciprocal_rank_at(ranks: Ranks, k: int) -> Float:
    """Mean reciprocal rank of the first relevant item of the top k, as of MS MARCO."""
    best = ranks.best()
    return np.where(best <= k, 1.0 / best, 0.0)
