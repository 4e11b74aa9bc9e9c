"""Graded metrics as means over all orders of the items with equal scores.

The mean of a metric that is linear in the gains (or label distances, or flags of pseudo-positives) of the retrieved
items is its value when every item of a tie has the mean of the tie. Queries without a tie up to k keep their value bit
for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.declare import Compute, Metric
from ..metrics.graded_ranking import GradedRanking
from ..metrics.values import label_distances, values
from ..types import Bool, Float, Int, TieGroups


def expected_values(metrics: Sequence[Metric], ranking: GradedRanking) -> Float:
    """(query, metric) float64 values of metrics that differ in k alone, see ``metrics.values``.

    Args:
        metrics: with a mean in closed form.
        ranking: of complete galleries.
    """
    family = metrics[0].family
    if family.expected == "same":
        return values(metrics, ranking)
    k = min(max(m.k or 1 for m in metrics), ranking.tied.shape[1])
    out = values(metrics, _rows(ranking, slice(None), k))
    tied = ranking.tied & (np.arange(ranking.tied.shape[1]) < ranking.count[:, None])
    tied[:, 0] = False
    rows = np.flatnonzero(tied[:, 1 : k + 1].any(axis=1))
    if not len(rows):
        return out
    # the end of the tie of item k
    after = np.concatenate([~tied[rows, k:], np.ones((len(rows), 1), np.bool_)], axis=1)
    end = np.minimum(k + after.argmax(axis=1), ranking.count[rows])
    width = int(end.max())
    affected, tied = _rows(ranking, rows, width), tied[rows, :width]
    if callable(family.expected):
        out[rows] = _of_pseudo_positives(family.expected, metrics, affected, tied)
    else:
        out[rows] = values(metrics, _means(affected, tied, end, family.needs))
    return out


def _rows(ranking: GradedRanking, rows: Any, depth: int) -> GradedRanking:
    """The first ``depth`` of some queries."""

    def cut(x: npt.NDArray[Any] | None) -> Any:
        return None if x is None else x[rows, :depth]

    return GradedRanking(
        cut(ranking.gains), cut(ranking.tied), np.minimum(ranking.count[rows], depth),
        None if ranking.ideal is None else ranking.ideal[rows], cut(ranking.pseudo_positive),
        None if ranking.pseudo_positives is None else ranking.pseudo_positives[rows],
    )  # fmt: skip


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
