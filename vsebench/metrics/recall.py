"""Recall: whether any relevant item is in the top k, and which fraction of them is."""

from __future__ import annotations

import numpy as np

from ..types import Float, Ranks
from . import expected
from .declare import Option, metric

KS = (1, 5, 10)


@metric(
    "R@{k}",
    depth="k",
    group="recall",
    ks=KS,
    aliases=("RV@{k}", "Success@{k}", "hit_rate@{k}"),
    formula="1 if any relevant item has rank <= k, else 0",
    cite=("faghri2018vsepp", "biten2022semantic"),
    expected=expected.any_hit,
)
def recall_any(ranks: Ranks, k: int) -> Float:
    """Any-hit recall: whether at least one relevant item is among the top k.

    This is R@K of image-text retrieval papers. Biten et al. write it R^V@K (eq. 2), information retrieval calls it
    Success@k. The fraction of relevant items found is ``Recall@k``. A k beyond the gallery gives 1 to every query
    that has a relevant item in it.
    """
    return (ranks.best() <= k).astype(float)


@metric(
    "Recall@{k}",
    depth="k",
    group="recall",
    ks=KS,
    formula="|relevant items with rank <= k| / |relevant items|",
    cite=("biten2022semantic",),
    options={"over": Option(("all", "min"), "min: divided by min(k, R), so that 1 can be reached at every k")},
    expected=expected.fraction_found,
    alone="R@{k}",
)
def recall_fraction(ranks: Ranks, k: int, over: str) -> Float:
    """The fraction of the relevant items that is among the top k (R@k of Biten et al., eq. 1).

    With five captions an image it cannot exceed 0.2 at k = 1. Relevant items that are not in the gallery
    count as not retrieved. With ``over=min`` it is ``R_cap`` of BEIR and MTEB.
    """
    size = ranks.relevance.size
    return ranks.within(k) / (np.minimum(size, k) if over == "min" else size)
