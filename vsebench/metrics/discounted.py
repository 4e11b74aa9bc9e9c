"""Discounted gain and label distance of the top k, for gains that come from label distances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..arrays import frozen
from ..numeric import elementary
from ..types import Float, Int, Vectors
from .declare import Option, metric
from .graded_ranking import sums_at, up_to

CITE = ("kim2019beyond",)
KS = (1, 5, 10)


@metric(
    "nDCG@{k}",
    formula="sum over i = 1..k of gain_i / log2(i + 1), divided by the same sum for the k largest gains",
    cite=("jarvelin2002cumulated", *CITE),
    ks=KS,
    options={"gain": Option(("linear", "exp"), "exp: the gain of a grade g is 2^g - 1")},
    lowest_gain=0.0,
    expected="means",
    first="NCS@1",
)
def discounted_gain(gains: Vectors, count: Int, ideal: Vectors, ks: Sequence[int]) -> Float:
    """Normalised discounted cumulative gain with the gains as they are (Järvelin and Kekäläinen, TOIS 2002).

    With gains from a label distance d it is the modified nDCG of Kim et al. (CVPR 2019, eq. 12), with the gain
    2^(-log2(d + 1)) = 1 / (1 + d): so these gains are defined. With CIDEr-D or SPICE it is not.

    With ``gain=exp`` grades are integers g with the gain 2^g - 1 (Burges et al., Learning to Rank using Gradient
    Descent, ICML 2005).
    """
    at, every = up_to(ks, count), np.tile(np.asarray(ks, np.int64), (len(count), 1))
    weights = discounts(max(min(max(ks), max(gains.shape[1], ideal.shape[1])), 1))
    found, best = sums_at(gains, at, weights), sums_at(ideal, every, weights)
    return np.where(at > 0, np.divide(found, best, out=np.zeros(found.shape), where=best > 0), np.nan)


@metric(
    "MLD@{k}",
    formula="mean over the first k of the label distance d = 1 / gain - 1",
    cite=CITE,
    ks=KS,
    high=None,
    higher_is_better=False,
    unit="distance",
    lowest_gain=0.0,
    expected="means",
)
def label_distance(distance: Float, count: Int, ks: Sequence[int]) -> Float:
    """Mean label distance of the top k (Kim et al., CVPR 2019), for gains 1 / (1 + d) of a label distance d."""
    at = up_to(ks, count)
    return np.where(at > 0, sums_at(distance, at) / np.maximum(at, 1), np.nan)


@cache
def discounts(depth: int) -> Float:
    """(depth,) float64 factors 1 / log2(rank + 1) of the gains, from rank 1 on."""
    return frozen(1.0 / elementary.log2(np.arange(2, depth + 2)))


def gain_of_distance(distance: Float) -> Float:
    """The gain ``2^r = 1 / (1 + d)`` of a label distance d >= 0, any shape.

    Source: Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, eq. 12: r = -log2(d + 1).
    """
    return np.asarray(1.0 / (1.0 + distance))
