"""Triplet loss with a smooth maximum over the negatives."""

from __future__ import annotations

import torch

from . import loss
from .batch import Reduction, checked, diagonal, reduced


@loss("triplet_sn", aka=("triplet-sn",), cite="BCLS, eq. 14-16")
def triplet_smooth_negative(
    scores: torch.Tensor,
    positive: torch.Tensor,
    *,
    margin: float = 0.2,
    gamma: float = 50.0,
    reduction: Reduction = "sum",
) -> torch.Tensor:
    """Hinge of the smooth maximum of all negatives: s^ = (1/gamma) log sum_j exp(gamma s_j), in both directions.

    It exceeds the maximum by at most log(negatives) / gamma; for gamma -> infinity this is ``mh``. The paper does not
    say which margin it used.

    Args:
        positive: (b, b) bool; True is left out of the negatives, as are in the paper captions with the same text
            (relevance 1). The diagonal always is.
        margin: 0.2, as in VSE++.
        gamma: 50 in the paper.
    """
    scores = checked(scores, positive)
    spared = positive | diagonal(scores)
    pair, total = scores.diagonal(), scores.new_zeros(())
    for s, no_negative in ((scores, spared), (scores.T, spared.T)):
        some = ~no_negative.all(dim=1)
        # Rows without negatives are computed over all candidates and left out: of nothing the gradient would be NaN.
        logits = (gamma * s).masked_fill(no_negative & some[:, None], -torch.inf)
        smooth = logits.logsumexp(dim=1) / gamma
        total = total + ((smooth - pair + margin).clamp(min=0) * some).sum()
    return reduced(total, len(scores), reduction)
