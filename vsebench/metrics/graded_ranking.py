"""What a graded metric reads: the ranking of some queries with the gains of the retrieved items and the ideal gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Bool, Float, Int
from .gain_order import GainOrder

ALL_ZERO = (
    "A query whose gains are all 0 has nothing to find: it is 0 in NCS, nDCG, SR and R@k and stays in the mean, as in "
    "the NCS code of Biten et al. Kendall's tau has no order of gains to agree with: tau-b and tau-c have no value, so "
    "the query is left out and counted as undefined; tau-a is 0 by its formula. A gain of 0 is not that of a label "
    "distance, so MLD refuses it. Without any candidate a query has no value in any metric."
)


@dataclass(frozen=True, eq=False)
class GradedRanking:
    """The rankings of some queries and the gains of one view. A field that no metric reads is empty or None.

    ``ALL_ZERO`` is the rule for queries without gains.

    Attributes:
        gains: (query, depth) float32 (float64 for label distances) gains of the retrieved items, best score first.
        tied: (query, depth) bool, the item has exactly the score of the one before it.
        count: (query,) int64, how many candidates a query has, at most depth.
        ideal: (query, ideal depth), the largest gains among the candidates, descending; 0 behind the last.
        pseudo_positive: (query, depth) bool, the retrieved item is one of the query's pseudo-positives, which have
            gains above 0. Or (query, depth) float64, the mean of that over the items tied with it.
        pseudo_positives: (query,) int64, number of pseudo-positives; at least 1 if a query has candidates.
        gain_order: the ranks of the retrieved items in descending order of their gains.
        distance: (query, depth) float64 label distances of the retrieved items, for gains made from distances.
    """

    gains: npt.NDArray[np.floating[Any]]
    tied: Bool
    count: Int
    ideal: npt.NDArray[np.floating[Any]] | None = None
    pseudo_positive: npt.NDArray[Any] | None = None
    pseudo_positives: Int | None = None
    gain_order: GainOrder | None = None
    distance: Float | None = None

    def part(self, rows: Any, depth: int) -> GradedRanking:
        """Some queries, no deeper than ``depth``: a metric of the top must not pay for one of complete rankings."""
        positive, positives = self.pseudo_positive, self.pseudo_positives
        return GradedRanking(
            self.gains[rows, :depth],
            self.tied[rows, :depth],
            np.minimum(self.count[rows], depth),
            None if self.ideal is None else self.ideal[rows],
            None if positive is None else positive[rows, :depth],
            None if positives is None else positives[rows],
        )


def up_to(ks: Sequence[int], count: Int) -> Int:
    """(query, ks) how many items a list cut at k holds."""
    return np.asarray(np.minimum(np.asarray(ks, np.int64)[None, :], count[:, None]))


def sums_at(x: npt.NDArray[Any], at: Int, weights: Float | None = None) -> Float:
    """(query, ks) float64 sums of the first ``at`` (query, ks) numbers of every row, added from the top.

    Args:
        x: (query, depth); a row shorter than ``at`` counts to its end.
        at: how many numbers.
        weights: (depth,) float64 factors of the ranks, or None.
    """
    if not x.shape[1]:
        return np.zeros(at.shape)
    at = np.minimum(at, x.shape[1])
    deep = x[:, : max(int(at.max(initial=0)), 1)]
    if weights is not None:
        deep = deep * weights[: deep.shape[1]]
    total = np.array(deep.T, np.float64, order="C")  # (depth, query); a cumsum of rows takes six times as long
    for rank in range(1, len(total)):
        total[rank] += total[rank - 1]
    return np.where(at > 0, total[np.maximum(at, 1) - 1, np.arange(len(at))[:, None]], 0.0)
