"""Normalised Cumulative Semantics: the gains of the top k over the largest that k candidates can have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Float, Int, Vectors
from .declare import metric, metric_sum
from .graded_ranking import sums_at, up_to

CITE = ("biten2022semantic",)


@metric(
    "NCS@{k}",
    formula="sum of the gains of the k items retrieved first / sum of the k largest gains",
    cite=CITE,
    ks=(1, 5, 10),
    lowest_gain=0.0,
    expected="means",
)
def cumulative_semantics(gains: Vectors, count: Int, ideal: Vectors, ks: Sequence[int]) -> Float:
    """Normalised Cumulative Semantics (Biten et al., WACV 2022), as their code computes it.

    The sum of the gains of all k retrieved items over the largest sum that k candidates can have; it needs no set of
    relevant items. Equation 5 of the paper sums over the m items of largest gain alone, which the code does not do.
    """
    at, every = up_to(ks, count), np.tile(np.asarray(ks, np.int64), (len(count), 1))
    found, best = sums_at(gains, at), sums_at(ideal, every)
    return np.where(at > 0, np.divide(found, best, out=np.zeros(found.shape), where=best > 0), np.nan)


metric_sum(
    "Nsum",
    parts=("NCS@1", "NCS@5", "NCS@10"),
    formula="NCS@1 + NCS@5 + NCS@10, image-to-text and text-to-image (0 to 6; x100 when printed)",
    cite=CITE,
)
metric_sum(
    "NsumN",
    parts=("NCS[gt=out]@1", "NCS[gt=out]@5", "NCS[gt=out]@10"),
    formula="Nsum with the ground truth left out of rankings and ideals",
    cite=CITE,
    aliases=("Nsum(N)",),
)
