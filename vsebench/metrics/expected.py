"""The mean of a metric over all orders of the items with equal scores, in closed form.

Each tie of a query contributes to its value, and orders of different ties are independent. For ``tied`` candidates
behind ``above`` others, ``relevant`` of them relevant, every set of ``relevant`` places is equally likely.
McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores,
ECIR 2008.

Functions take ``TieGroups`` (and ``k``) and return (group,) float64 contributions to the value of the group's query.
"""

from __future__ import annotations

import numpy as np

from ..types import Float, Int, TieGroups


def any_hit(ties: TieGroups, k: int) -> Float:
    """R@k: one less the chance that none of the relevant items of the first tie is in its places up to k."""
    places = np.clip(k - ties.above, 0, ties.tied)
    fewer, more = np.minimum(places, ties.relevant), np.maximum(places, ties.relevant)
    missed = np.ones(len(places))  # C(tied - relevant, places) / C(tied, places), factor by factor
    for i in range(int(fewer.max(initial=0))):
        missed *= np.where(i < fewer, np.maximum(ties.tied - more - i, 0) / np.maximum(ties.tied - i, 1), 1.0)
    return np.where(ties.first, 1.0 - missed, 0.0)


def fraction_found(ties: TieGroups, k: int) -> Float:
    """Recall@k: every place of a tie is taken by a relevant item with the same chance."""
    return _found(ties, np.full(len(ties.above), k)) / ties.size


def precision_at_size(ties: TieGroups) -> Float:
    """R-P."""
    return _found(ties, ties.size) / ties.size


def best_rank(ties: TieGroups) -> Float:
    """MeanR: the mean of the smallest of ``relevant`` of the places 1 to ``tied``."""
    return np.where(ties.first, ties.above + (ties.tied + 1) / (ties.relevant + 1), 0.0)


def reciprocal_best_rank(ties: TieGroups) -> Float:
    """MRR: 1 / rank, weighted by the chance that the first relevant item of the tie has that rank."""
    kinds, of = np.unique(np.stack([ties.above, ties.tied, ties.relevant], axis=1), axis=0, return_inverse=True)
    above, tied, relevant = kinds.T
    value, later = np.zeros(len(kinds)), np.ones(len(kinds))  # later: the chance that the places so far have none
    for place in range(1, int((tied - relevant).max(initial=-1)) + 2):
        left = tied - place + 1
        here = np.where(left >= relevant, relevant / np.maximum(left, 1), 0.0)
        value += later * here / (above + place)
        later *= np.where(left >= relevant, 1.0 - here, 0.0)
    return np.where(ties.first, value[of.reshape(-1)], 0.0)


def map_at_size(ties: TieGroups) -> Float:
    """mAP@R."""
    return _average_precision(ties, ties.size)


def average_precision(ties: TieGroups) -> Float:
    """mAP."""
    return _average_precision(ties, ties.above + ties.tied)


def _average_precision(ties: TieGroups, depth: Int) -> Float:
    """The sum over the places up to ``depth`` of the chance of a relevant item, times the precision expected there.

    Of the places before place j of a tie, (j - 1) (relevant - 1) / (tied - 1) are relevant if place j is.
    """
    places = np.clip(depth - ties.above, 0, ties.tied)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(depth.max(initial=0)) + 1))])
    start = np.minimum(ties.above, depth)
    inverse = harmonic[start + places] - harmonic[start]  # sum of 1 / (above + j)
    before = places - (ties.above + 1) * inverse  # sum of (j - 1) / (above + j)
    more = (ties.relevant - 1) / np.maximum(ties.tied - 1, 1)
    return np.asarray(ties.relevant / ties.tied * ((ties.found + 1) * inverse + more * before) / ties.size)


def _found(ties: TieGroups, k: Int) -> Float:
    return np.asarray(ties.relevant * np.clip(k - ties.above, 0, ties.tied) / ties.tied)
