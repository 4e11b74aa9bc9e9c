"""nDCG and mean label distance of ranked lists: plain functions of what was retrieved and what is best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Float


def gain_of_distance(distance: Float) -> Float:
    """The gain ``2^r = 1 / (1 + d)`` of a label distance d >= 0, any shape.

    Source: Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, eq. 12: r = -log2(d + 1).
    """
    return np.asarray(1.0 / (1.0 + distance))


def ndcg(retrieved: Float, ideal: Float, ks: Sequence[int]) -> Float:
    """Discounted gain of the first k over the best possible: ``sum_i g_i / log2(i + 1)``, divided by that of the ideal.

    Args:
        retrieved: (query, depth) gains >= 0 in the order of the ranking.
        ideal: (query, depth) the largest gains of the query's candidates, descending.
        ks: list lengths from 1 to depth.

    Returns:
        (query, len(ks)) float64 from 0 to 1; NaN where no candidate has a gain.
    """
    discount = 1.0 / np.log2(np.arange(2, retrieved.shape[1] + 2))
    at = np.asarray(ks) - 1
    # Summed from the top in one fixed order, so that k = 10 is the same number whatever the deepest k is.
    found = np.cumsum(retrieved * discount, axis=1)[:, at]
    best = np.cumsum(ideal * discount, axis=1)[:, at]
    return np.asarray(np.divide(found, best, out=np.full(found.shape, np.nan), where=best > 0))


def mean_of_first(values: Float, ks: Sequence[int]) -> Float:
    """(query, len(ks)) float64 means of the first k of (query, depth) values; the mean label distance of a list."""
    k = np.asarray(ks)
    return np.asarray(np.cumsum(values, axis=1)[:, k - 1] / k)
