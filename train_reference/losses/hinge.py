"""Triplet hinge losses over a batch: of all negatives (SH), or of the hardest one (MH)."""

from __future__ import annotations

import torch

from . import loss
from .batch import Reduction, checked, diagonal, reduced


def _costs(scores: torch.Tensor, positive: torch.Tensor, margin: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(b, b) hinges of all negatives: captions of each image, and images of each caption."""
    pair = scores.diagonal()
    no_negative = positive | diagonal(scores)
    caption = (margin + scores - pair[:, None]).clamp(min=0).masked_fill(no_negative, 0)
    image = (margin + scores - pair[None, :]).clamp(min=0).masked_fill(no_negative, 0)
    return caption, image


@loss("sh", aka=("sum_hinge", "vse0"), cite="Kiros et al. 2014, arXiv:1411.2539; VSE++ (BMVC 2018) eq. 5")
def sum_hinge(
    scores: torch.Tensor, positive: torch.Tensor, *, margin: float = 0.2, reduction: Reduction = "sum"
) -> torch.Tensor:
    """Sum of hinges over all negatives of both directions.

    ``sum_(i,c) [ sum_c' [margin - s(i,c) + s(i,c')]+ + sum_i' [margin - s(i,c) + s(i',c)]+ ]``

    Args:
        margin: 0.2 in the paper.
    """
    scores = checked(scores, positive)
    caption, image = _costs(scores, positive, margin)
    return reduced(caption.sum() + image.sum(), len(scores), reduction)


@loss("mh", aka=("max_hinge", "vse++", "triplet-hn"), cite="VSE++ (BMVC 2018), arXiv:1707.05612, eq. 6")
def max_hinge(
    scores: torch.Tensor, positive: torch.Tensor, *, margin: float = 0.2, reduction: Reduction = "sum"
) -> torch.Tensor:
    """Hinge of the hardest negative of the batch, in both directions.

    ``sum_(i,c) [ max_c' [margin - s(i,c) + s(i,c')]+ + max_i' [margin - s(i,c) + s(i',c)]+ ]``

    Negatives that are exactly equally hard share the gradient, so that it does not depend on the order of
    the batch.

    Args:
        margin: 0.2 in the paper.
    """
    scores = checked(scores, positive)
    caption, image = _costs(scores, positive, margin)
    return reduced(caption.amax(dim=1).sum() + image.amax(dim=0).sum(), len(scores), reduction)
