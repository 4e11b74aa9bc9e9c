"""The mean of a metric over all orders of the items with equal scores, in closed form.

Each tie of a query contributes to its value, and orders of different ties are independent. For ``tied`` candidates
behind ``above`` others, ``relevant`` of them relevant, every set of ``relevant`` places is equally likely.
McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores,
ECIR 2008.

Functions of binary judgements take ``TieGroups`` (and ``k``) and return (group,) float64 contributions to the value of
the group's query. ``expected_values`` is of gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Bool, Float, Int, TieGroups
from .declare import Compute, Metric
from .graded_ranking import GradedRanking
from .values import exponential, label_distances, linear, values


def any_hit(ties: TieGroups, k: int) -> Float:
    """R@k: one less the chance that none of the relevant items of the first tie is in its places up to k."""
    places = np.clip(k - ties.above, 0, ties.tied)
    fewer, more = np.minimum(places, ties.relevant), np.maximum(places, ties.relevant)
    missed = np.ones(len(places))  # C(tied - relevant, places) / C(tied, places), factor by factor
    for i in range(int(fewer.max(initial=0))):
        missed *= np.where(i < fewer, np.maximum(ties.tied - more - i, 0) / np.maximum(ties.tied - i, 1), 1.0)
    return np.where(ties.first, 1.0 - missed, 0.0)


def fraction_found(ties: TieGroups, k: int, over: str = "all") -> Float:
    """Recall@k: every place of a tie is taken by a relevant item with the same chance."""
    size = np.minimum(ties.size, k) if over == "min" else ties.size
    return _expected_found(ties, np.full(len(ties.above), k)) / size


def precision_at(ties: TieGroups, k: int) -> Float:
    """P@k."""
    return _expected_found(ties, np.full(len(ties.above), k)) / k


def precision_at_size(ties: TieGroups) -> Float:
    """R-P."""
    return _expected_found(ties, ties.size) / ties.size


def best_rank(ties: TieGroups) -> Float:
    """MeanR: the mean of the smallest of ``relevant`` of the places 1 to ``tied``."""
    return np.where(ties.first, ties.above + (ties.tied + 1) / (ties.relevant + 1), 0.0)


def reciprocal_best_rank(ties: TieGroups, k: int | None = None) -> Float:
    """MRR: 1 / rank, weighted by the chance that the first relevant item of the tie has that rank; 0 beyond k."""
    kinds, kind = np.unique(np.stack([ties.above, ties.tied, ties.relevant], axis=1), axis=0, return_inverse=True)
    above, tied, relevant = kinds.T
    value, later = np.zeros(len(kinds)), np.ones(len(kinds))  # later: the chance that the places so far have none
    for place in range(1, int((tied - relevant).max(initial=-1)) + 2):
        left = tied - place + 1
        here = np.where(left >= relevant, relevant / np.maximum(left, 1), 0.0)
        value += later * here / (above + place) * (k is None or above + place <= k)
        later *= np.where(left >= relevant, 1.0 - here, 0.0)
    return np.where(ties.first, value[kind.reshape(-1)], 0.0)


def map_at_size(ties: TieGroups) -> Float:
    """mAP@R."""
    return _average_precision(ties, ties.size)


def average_precision(ties: TieGroups) -> Float:
    """mAP."""
    return _average_precision(ties, ties.above + ties.tied)


def _average_precision(ties: TieGroups, depth: Int) -> Float:
    """The sum over the places up to ``depth`` of the chance of a relevant item, times the precision expected there.

    Before place j of a tie, (j - 1) (relevant - 1) / (tied - 1) are relevant if place j is.
    """
    places = np.clip(depth - ties.above, 0, ties.tied)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(depth.max(initial=0)) + 1))])
    start = np.minimum(ties.above, depth)
    inverse = harmonic[start + places] - harmonic[start]  # sum of 1 / (above + j)
    before = places - (ties.above + 1) * inverse  # sum of (j - 1) / (above + j)
    more = (ties.relevant - 1) / np.maximum(ties.tied - 1, 1)
    return np.asarray(ties.relevant / ties.tied * ((ties.found + 1) * inverse + more * before) / ties.size)


def _expected_found(ties: TieGroups, k: Int) -> Float:
    return np.asarray(ties.relevant * np.clip(k - ties.above, 0, ties.tied) / ties.tied)


def expected_values(metrics: Sequence[Metric], ranking: GradedRanking) -> Float:
    """(query, metric) float64 means of metrics of gains that differ in k alone, see ``values.values``.

    The mean of a metric that is linear in the gains (or label distances, or flags of pseudo-positives) of the retrieved
    items is its value when every item of a tie has the mean of the tie. Queries without a tie up to k keep their value
    bit for bit.

    Args:
        metrics: with a mean in closed form.
        ranking: of complete galleries.
    """
    family = metrics[0].family
    if family.expected == "same":
        return values(metrics, ranking)
    k = min(max(m.k or 1 for m in metrics), ranking.tied.shape[1])
    if linear(metrics[0]) != metrics[0]:
        assert ranking.ideal is not None
        gains, ideal = (exponential(metrics[0], grades) for grades in (ranking.gains, ranking.ideal))
        metrics, ranking = [*map(linear, metrics)], replace(ranking, gains=gains, ideal=ideal)
    out = values(metrics, ranking.part(slice(None), k))
    tied = ranking.tied & (np.arange(ranking.tied.shape[1]) < ranking.count[:, None])
    tied[:, 0] = False
    rows = np.flatnonzero(tied[:, 1 : k + 1].any(axis=1))
    if not len(rows):
        return out
    # the end of the tie of item k
    after = np.concatenate([~tied[rows, k:], np.ones((len(rows), 1), np.bool_)], axis=1)
    end = np.minimum(k + after.argmax(axis=1), ranking.count[rows])
    width = int(end.max())
    affected, tied = ranking.part(rows, width), tied[rows, :width]
    if callable(family.expected):
        out[rows] = _of_pseudo_positives(family.expected, metrics, affected, tied)
    else:
        out[rows] = values(metrics, _means(affected, tied, end, family.needs))
    return out


def _means(ranking: GradedRanking, tied: Bool, end: Int, needs: frozenset[str]) -> GradedRanking:
    """The ranking with the means of ties in place of what metrics read of the items.

    Args:
        ranking: of queries with ties.
        tied: (query, depth) whether a candidate has the score of the one before.
        end: (query,) how many items are in the ties that count.
        needs: the fields that the metrics read.
    """
    gains, flags = ranking.gains, ranking.pseudo_positive
    if "distance" in needs:
        return replace(ranking, distance=_mean_of_ties(label_distances(gains, end), tied))
    if flags is None:
        return replace(ranking, gains=_mean_of_ties(gains, tied))
    if "gains" not in needs:
        return replace(ranking, pseudo_positive=_mean_of_ties(flags, tied))
    # gains of pseudo-positives alone
    return replace(ranking, gains=_mean_of_ties(np.where(flags, gains, 0), tied), pseudo_positive=np.ones_like(flags))


def _mean_of_ties(x: npt.NDArray[Any], tied: Bool) -> Float:
    """(query, depth) float64: every number replaced by the mean of the numbers it ties with."""
    start = np.flatnonzero(~tied.ravel())
    length = np.diff(np.append(start, tied.size))
    total = np.add.reduceat(x.astype(np.float64).ravel(), start)
    return np.repeat(total / length, length).reshape(x.shape)


def _of_pseudo_positives(expected: Compute, metrics: Sequence[Metric], ranking: GradedRanking, tied: Bool) -> Float:
    """Values by the ties of the pseudo-positives of every query."""
    assert ranking.pseudo_positive is not None and ranking.pseudo_positives is not None
    flags = ranking.pseudo_positive & (np.arange(tied.shape[1]) < ranking.count[:, None])
    start = np.flatnonzero(~tied.ravel())
    query, above = np.divmod(start, tied.shape[1])
    length = np.diff(np.append(start, tied.size))
    relevant = np.add.reduceat(flags.astype(np.int64).ravel(), start)
    found = np.asarray(np.cumsum(flags, axis=1) - flags, np.int64).ravel()[start]
    some = relevant > 0
    size = ranking.pseudo_positives[query]
    ties = TieGroups(*(x[some] for x in (query, size, above, length, relevant, found)))
    each = [np.bincount(ties.query, weights=expected(ties, m.k), minlength=len(tied)) for m in metrics]
    return np.where(ranking.count[:, None] > 0, np.stack(each, axis=1), np.nan)
