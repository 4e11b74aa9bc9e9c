"""Precision at the ranks of the relevant items: R-Precision, mAP@R, and average precision (mAP, mAP@k)."""

from __future__ import annotations

import numpy as np

from ..types import UNRANKED, Float, Int, Ranks
from . import expected
from .declare import Option, metric

OVER = Option(
    ("all", "min", "found"), "min: divided by min(k, R); found: by the number of relevant items in the top k, not by R"
)


@metric(
    "P@{k}",
    depth="k",
    group="precision",
    ks=(10,),
    aliases=("Precision@{k}",),
    formula="|relevant items with rank <= k| / k",
    cite=("voorhees1999trec8",),
    expected=expected.precision_at,
    first="R@1",
)
def precision_at(ranks: Ranks, k: int) -> Float:
    """Precision of the top k, ``P`` of trec_eval: at most R / k if a query has R relevant items."""
    return ranks.within(k) / k


@metric(
    "Judged@{k}",
    depth="k",
    group="precision",
    ks=(10,),
    formula="|judged items with rank <= k| / k, or by the length of a shorter list",
    cite=("thakur2021beir",),
    expected=expected.precision_at,
)
def judged_at(judged: Ranks, k: int) -> Float:
    """The share of the top k that was judged for the query, with any grade.

    The smaller it is, the less do the other values say about a system that finds new items. Judgements have to list
    irrelevant items too, with grade 0. For shorter lists it is the share of the list, as in ir_measures.
    """
    return judged.within(k) / (k if judged.depth is None else np.clip(judged.depth, 1, k))


@metric(
    "R-P",
    aliases=("Rprec", "R-Precision"),
    depth="R",
    group="precision",
    formula="|relevant items with rank <= R| / R, R the number of relevant items",
    cite=("chun2022eccv",),
    expected=expected.precision_at_size,
    alone="R@1",
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
    alone="R@1",
)
def map_at_r(ranks: Ranks) -> Float:
    """Mean over r = 1..R of precision@r, counted only if the r-th item is relevant.

    R is the query's own number of relevant items, so a perfect ranking scores 1 whatever R is. Relevant items
    below place R contribute nothing, which is the difference from average precision.
    """
    return _precisions(ranks, ranks.relevance.size) / ranks.relevance.size


@metric(
    "mAP",
    depth="all",
    group="precision",
    formula="(1/R) sum over the relevant items of precision at their rank",
    cite=("rasiwasia2010new",),
    expected=expected.average_precision,
    alone="MRR",
)
def average_precision(ranks: Ranks) -> Float:
    """Average precision over the complete ranking, ``map`` of trec_eval: the protocol of class labels.

    Relevant items that are not in the gallery count in R and are never found.
    """
    relevance = ranks.relevance
    return _precisions(ranks, np.full(len(relevance.queries), UNRANKED - 1)) / relevance.size


@metric(
    "mAP@{k}",
    depth="k",
    group="precision",
    ks=(10,),
    formula="(1/R) sum over the relevant items with rank <= k of precision at their rank",
    cite=("rasiwasia2010new",),
    options={"over": OVER},
)
def average_precision_at(ranks: Ranks, k: int, over: str) -> Float:
    """Average precision of the top k, ``map_cut`` of trec_eval.

    With ``over=min`` a perfect top k is 1, as in CIRCO, sentence-transformers and MMEB. With ``over=found`` the sum is
    divided by the number of relevant items that the top k has, as code of cross-modal retrieval by class labels does
    (mAP@50) and torchmetrics with ``top_k``; 0 if it has none. Such values grow when fewer relevant items are found.
    """
    relevance = ranks.relevance
    total = _precisions(ranks, np.full(len(relevance.queries), k))
    if over == "found":
        return total / np.maximum(ranks.within(k), 1)
    return total / (np.minimum(relevance.size, k) if over == "min" else relevance.size)


def _precisions(ranks: Ranks, depth: Int) -> Float:
    """(judged,) the sum of the precisions at the ranks of the relevant items down to (judged,) ``depth``."""
    relevance = ranks.relevance
    rank, place = ranks.ordered()
    precision = np.where(rank <= depth[relevance.query_of], place / rank, 0.0)
    return np.bincount(relevance.query_of, precision, len(relevance.queries)).astype(np.float64)
