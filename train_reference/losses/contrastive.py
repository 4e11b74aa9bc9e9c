"""Contrastive losses of today's dual encoders: InfoNCE (CLIP) and the sigmoid loss (SigLIP)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from . import loss
from .batch import Reduction, checked, diagonal, reduced


@loss(
    "info_nce", aka=("clip", "nt-xent"), cite="van den Oord et al. 2018, arXiv:1807.03748; Radford et al., ICML 2021",
    learnable=("scale",),
)  # fmt: skip
def info_nce(scores: Tensor, positive: Tensor, *, scale: float = 20.0, reduction: Reduction = "sum") -> Tensor:
    """Cross-entropy of finding the pair among the negatives: -log softmax(scale * s)[pair], mean of both directions.

    ``scale`` is the inverse temperature, fixed; CLIP learns it, up to 100.
    """
    scores = checked(scores, positive)
    logits = (scale * scores).masked_fill(positive & ~diagonal(scores), -torch.inf)
    pair = torch.arange(len(scores), device=scores.device)
    total = F.cross_entropy(logits, pair, reduction="sum") + F.cross_entropy(logits.T, pair, reduction="sum")
    return reduced(total / 2, len(scores), reduction)


@loss(
    "siglip", aka=("sigmoid",), cite="Zhai et al., Sigmoid Loss for Language Image Pre-Training, ICCV 2023",
    learnable=("scale", "bias"),
)  # fmt: skip
def siglip(
    scores: Tensor, positive: Tensor, *, scale: float = 10.0, bias: float = -10.0, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """Binary cross-entropy of every image and caption: -log sigmoid(z (scale * s + bias)), z = 1 for the pair, else -1.

    ``scale`` and ``bias`` are fixed; the paper learns them from these values on.
    """
    scores = checked(scores, positive)
    pairs = diagonal(scores)
    logits = scale * scores + bias
    alone = (positive | pairs).all(dim=1)
    left_out = (positive & ~pairs) | (pairs & alone[:, None])
    costs = -F.logsigmoid(torch.where(pairs, logits, -logits)).masked_fill(left_out, 0)
    return reduced(costs.sum(), len(scores), reduction)
