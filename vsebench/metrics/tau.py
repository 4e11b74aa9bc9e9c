"""Kendall's tau between scores and gains, at several depths in one pass over the gains.

With C and D the concordant and discordant pairs, n0 = n (n - 1) / 2, and x and y the pairs tied in score and in
gain: tau-a = (C - D) / n0 (Kendall 1938), tau-b = (C - D) / sqrt((n0 - x) (n0 - y)) (Kendall 1945),
tau-c = 2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values (Stuart 1953).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..types import Bool, Float, Int
from .gain_order import GainOrder

VARIANTS: dict[str, str] = {
    "a": "(C - D) / n0",
    "b": "(C - D) / sqrt((n0 - x) (n0 - y))",
    "c": "2 (C - D) / (n^2 (m - 1) / m)",
}


def pair_counts(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int]) -> npt.NDArray[np.int64]:
    """(query, ks, 5) concordant less discordant pairs, ties in score, ties in gain, distinct scores and gains.

    Args:
        order: the ranks of the items, counted from 0, in descending order of their gains.
        tied: (query, depth) bool, the item at a rank has the score of the one before it.
        count: (query,) number of items of a query, from 1 to depth.
        ks: depths of at least 1, in any order; one beyond the number of items means all of them.
    """
    if order.device is not None:
        from . import torch_tau

        return torch_tau.pair_counts(order, tied, count, ks, order.device)
    from . import tau_kernels

    by_depth = np.argsort(ks, kind="stable")
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    if len(tied) and len(ks):
        depths = np.asarray(ks, np.int64)[by_depth]
        tied, count = np.ascontiguousarray(tied), count.astype(np.int64)
        any_tied = tied.any(axis=1)
        tau_kernels.count_pairs(order.items, order.gains, order.listed, tied, any_tied, count, depths, out)
    return out[:, np.argsort(by_depth, kind="stable")]


def tau(pairs: npt.NDArray[np.int64], size: Int, variant: str) -> Float:
    """(query, ks) tau from pair counts; NaN where it is undefined: fewer than two items, or for tau-b and tau-c
    where all scores or all gains are equal.

    Args:
        pairs: (query, ks, 5) from ``pair_counts``.
        size: (query, ks) number of items.
        variant: ``a``, ``b`` or ``c``.
    """
    concord, ties_score, ties_gain, distinct_scores, distinct_gains = np.moveaxis(pairs, 2, 0).astype(np.float64)
    n = size.astype(np.float64)
    all_pairs = n * (n - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if variant == "a":
            return np.where(size < 2, np.nan, concord / all_pairs)
        distinct = np.minimum(distinct_scores, distinct_gains)
        if variant == "c":
            value = 2 * concord / (n**2 * (distinct - 1) / distinct)
        else:
            value = concord / np.sqrt(all_pairs - ties_score) / np.sqrt(all_pairs - ties_gain)
    return np.where((size < 2) | (distinct < 2), np.nan, np.clip(value, -1.0, 1.0))


def kendall(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int], variant: str) -> Float:
    """(query, ks) Kendall's tau of the top k of every ranking; see ``pair_counts`` and ``tau``."""
    size = np.minimum(np.asarray(ks, np.int64)[None, :], count[:, None])
    return tau(pair_counts(order, tied, count, ks), size, variant)


def without_groups(
    order: GainOrder, tied: Bool, count: Int, k: int, group: Int
) -> tuple[Int, Int, npt.NDArray[np.int64], Int]:
    """The counts of pairs of the top k without the items of one group, for every group among them.

    Args:
        order, tied, count: as for ``pair_counts``.
        k: the depth.
        group: (query, depth) int64, at least 0, of the items in the order of the ranking, such as their images.

    Returns:
        (pair,) rows, (pair,) groups, (pair, 5) counts as of ``pair_counts``, and (pair,) how many items are left.
    """
    from . import tau_removal_kernels

    most = int(np.minimum(k, count).sum())
    row, which, size = (np.empty(most, np.int64) for _ in range(3))
    out = np.empty((most, 5), np.int64)
    n = tau_removal_kernels.leave_out(
        order.items, order.gains, order.listed, tied, count, k, group, row, which, size, out
    )
    return row[:n], which[:n], out[:n], size[:n]
