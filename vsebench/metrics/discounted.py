"""Discounted gain and label distance of the top k, for gains that come from label distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..numeric import elementary
from ..types import Float, Int, Vectors
from .declare import metric
from .graded_ranking import sums_at, up_to

CITE = ("kim2019beyond",)
KS = (1, 5, 10)


@metric(
    "nDCG@{k}",
    formula="sum over i = 1..k of gain_i / log2(i + 1), divided by that of the k largest gains",
    cite=CITE,
    ks=KS,
    lowest_gain=0.0,
    expected="means",
)
def discounted_gain(gains: Vectors, count: Int, ideal: Vectors, ks: Sequence[int]) -> Float:
    """Normalised discounted cumulative gain with the gains as they are (Kim et al., CVPR 2019, eq. 12).

    For a label distance d the gain of that equation is 2^(-log2(d + 1)) = 1 / (1 + d), which is how the relevances
    that come from distances are defined.
    """
    width = max(gains.shape[1], 1)
    inside = np.arange(width) < count[:, None]
    found = np.where(inside, gains[:, :width], 0).astype(np.float64)
    best = np.zeros(found.shape)
    best[:, : ideal.shape[1]] = ideal[:, :width]
    return np.where(count[:, None] > 0, ndcg(found, best, [min(k, width) for k in ks]), np.nan)


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


def ndcg(retrieved: Float, ideal: Float, ks: Sequence[int]) -> Float:
    """Discounted gain of the first k over the best possible: ``sum_i g_i / log2(i + 1)``, divided by that of the ideal.

    Args:
        retrieved: (query, depth) gains >= 0 in the order of the ranking.
        ideal: (query, depth) the largest gains of the query's candidates, descending.
        ks: list lengths from 1 to depth.

    Returns:
        (query, len(ks)) float64 from 0 to 1; 0 where no candidate has a gain.
    """
    at = np.asarray(ks) - 1
    depth = max(ks, default=0)
    retrieved, ideal = retrieved[:, :depth], ideal[:, :depth]
    discount = 1.0 / elementary.log2(np.arange(2, depth + 2))
    # Summed from the top in one fixed order, so that k = 10 is the same number whatever the deepest k is.
    found = np.cumsum(retrieved * discount, axis=1)[:, at]
    best = np.cumsum(ideal * discount, axis=1)[:, at]
    return np.asarray(np.divide(found, best, out=np.zeros(found.shape), where=best > 0))


def gain_of_distance(distance: Float) -> Float:
    """The gain ``2^r = 1 / (1 + d)`` of a label distance d >= 0, any shape.

    Source: Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, eq. 12: r = -log2(d + 1).
    """
    return np.asarray(1.0 / (1.0 + distance))
