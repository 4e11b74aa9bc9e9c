"""Discounted gain and label distance of the top k, for gains that come from label distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import BadInput
from ..types import Float, Int, Vectors
from .gain import ndcg
from .graded import graded, sums_at, up_to

CITE = ("kim2019beyond",)
KS = (1, 5, 10)


@graded(
    "nDCG@{k}",
    formula="sum over i = 1..k of gain_i / log2(i + 1), divided by that of the k largest gains",
    cite=CITE,
    ks=KS,
    lowest_gain=0.0,
)
def discounted_gain(gains: Vectors, count: Int, ideal: Vectors, ks: Sequence[int]) -> Float:
    """Normalised discounted cumulative gain with the gains as they are (Kim et al., CVPR 2019, eq. 12).

    For a label distance d the gain of that equation is 2^(-log2(d + 1)) = 1 / (1 + d), which is how the relevances
    that come from distances are defined. A query whose gains are all zero has no value.
    """
    width = max(gains.shape[1], 1)
    inside = np.arange(width) < count[:, None]
    found = np.where(inside, gains[:, :width], 0).astype(np.float64)
    best = np.zeros(found.shape)
    best[:, : ideal.shape[1]] = ideal[:, :width]
    return ndcg(found, best, [min(k, width) for k in ks])


@graded(
    "MLD@{k}",
    formula="mean over the first k of the label distance d = 1 / gain - 1",
    cite=CITE,
    ks=KS,
    high=None,
    higher_is_better=False,
    unit="distance",
    lowest_gain=0.0,
)
def label_distance(gains: Vectors, count: Int, ks: Sequence[int]) -> Float:
    """Mean label distance of the top k (Kim et al., CVPR 2019), for gains 1 / (1 + d) of a label distance d.

    Raises:
        BadInput: a gain is 0 or above 1, so it is not that of a distance.
    """
    at = up_to(ks, count)
    inside = np.arange(gains.shape[1]) < at.max(axis=1, initial=0)[:, None]
    wrong = inside & ~((gains > 0) & (gains <= 1))
    if wrong.any():
        raise BadInput(
            f"a gain of {gains[wrong][0]:.4g} is not 1 / (1 + d) of a label distance d",
            fix="use nDCG, or a relevance that comes from a distance, such as wmd",
        )
    distance = 1.0 / np.where(inside, gains, 1).astype(np.float64) - 1.0
    return np.where(at > 0, sums_at(distance, at) / np.maximum(at, 1), np.nan)
