"""Normalised Cumulative Semantics: the gains of the top k over the largest that k candidates can have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Bool, Float, Int, Vectors
from .declare import Option, metric, metric_sum
from .graded_ranking import sums_at, up_to

CITE = ("biten2022semantic",)


@metric(
    "NCS@{k}",
    formula="sum of the gains of the k items retrieved first / sum of the k largest gains",
    cite=CITE,
    options={
        "eq5": Option(("no",), "m: eq. 5 to the letter, sums over the m items of largest gain alone", number=True)
    },
    ks=(1, 5, 10),
    lowest_gain=0.0,
    expected="means",
    of_sums=True,
)
def cumulative_semantics(
    gains: Vectors, count: Int, ideal: Vectors, pseudo_positive: Bool, ks: Sequence[int], eq5: str
) -> Float:
    """Normalised Cumulative Semantics (Biten et al., WACV 2022), as their code computes it.

    The sum of the gains of all k retrieved items over the largest sum that k candidates can have; it needs no set of
    relevant items. ``eq5=m`` is equation 5 as it is printed: gains of
    retrieved items that are among the m most relevant, over the gains of those m.
    """
    at = up_to(ks, count)
    if eq5 == "no":
        found, best = sums_at(gains, at), sums_at(ideal, at)
    else:
        found, best = sums_at(gains, at, where=pseudo_positive), sums_at(ideal, np.full_like(at, int(eq5)))
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
