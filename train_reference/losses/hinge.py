"""Triplet hinge losses over a batch: of all negatives (SH), of the hardest one (MH), of a smooth maximum (SN)."""

import torch
from torch import Tensor

from . import loss
from .batch import Reduction, checked, diagonal, reduced


def _costs(scores: Tensor, positive: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """(b, b) hinges of all negatives: captions of each image, and images of each caption."""
    pair = scores.diagonal()
    no_negative = positive | diagonal(scores)
    caption = (margin + scores - pair[:, None]).clamp(min=0).masked_fill(no_negative, 0)
    image = (margin + scores - pair[None, :]).clamp(min=0).masked_fill(no_negative, 0)
    return caption, image


@loss("sh", aka=("sum_hinge", "vse0"), cite="Kiros et al. 2014, arXiv:1411.2539; VSE++ (BMVC 2018) eq. 5")
def sum_hinge(scores: Tensor, positive: Tensor, *, margin: float = 0.2, reduction: Reduction = "sum") -> Tensor:
    """Sum of hinges over all negatives of both directions; the paper has a margin of 0.2.

    ``sum_(i,c) [ sum_c' [margin - s(i,c) + s(i,c')]+ + sum_i' [margin - s(i,c) + s(i',c)]+ ]``
    """
    scores = checked(scores, positive)
    caption, image = _costs(scores, positive, margin)
    return reduced(caption.sum() + image.sum(), len(scores), reduction)


@loss("mh", aka=("max_hinge", "vse++", "triplet-hn"), cite="VSE++ (BMVC 2018), arXiv:1707.05612, eq. 6")
def max_hinge(scores: Tensor, positive: Tensor, *, margin: float = 0.2, reduction: Reduction = "sum") -> Tensor:
    """Hinge of the hardest negative of the batch, in both directions; the paper has a margin of 0.2.

    ``sum_(i,c) [ max_c' [margin - s(i,c) + s(i,c')]+ + max_i' [margin - s(i,c) + s(i',c)]+ ]``

    Negatives that are equally hard share the gradient, so that it does not depend on the order of the batch.
    """
    scores = checked(scores, positive)
    caption, image = _costs(scores, positive, margin)
    return reduced(caption.amax(dim=1).sum() + image.amax(dim=0).sum(), len(scores), reduction)


@loss("triplet_sn", aka=("triplet-sn",), cite="BCLS, eq. 14-16")
def triplet_smooth_negative(
    scores: Tensor, positive: Tensor, *, margin: float = 0.2, gamma: float = 50.0, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
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
