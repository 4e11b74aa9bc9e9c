"""SAM: a margin that grows with how much less relevant a negative is."""

from __future__ import annotations

from typing import Literal, get_args

import torch

from . import loss
from .batch import Reduction, check_choice, checked, diagonal, graded, reduced
from .hinge import max_hinge

Sampler = Literal["random", "hard", "soft", "second_hardest"]


@loss("sam", cite="Biten et al., Is An Image Worth Five Sentences?, WACV 2022, eq. 7")
def semantic_adaptive_margin(
    scores: torch.Tensor,
    positive: torch.Tensor,
    *,
    degree: torch.Tensor,
    tau: float = 3.0,
    sampler: Sampler = "hard",
    pairing: Literal["aligned", "printed"] = "aligned",
    clamp_max: float | None = None,
    triplet: bool = True,
    margin: float = 0.2,
    weight: float = 1.0,
    reduction: Reduction = "sum",
) -> torch.Tensor:
    """One sampled negative a direction, with a margin of its own, beside the triplet loss ``mh``::

        [a_m + s(p,m) - s(p,p)]+ + [a_l + s(l,p) - s(p,p)]+,   a_j = (degree(p,p) - degree(p,j)) / tau

    with m the sampled caption and l the sampled image of pair p. Margins may be negative.

    Args:
        scores: (b, b) float, row = image, column = caption; the pairs are the diagonal.
        positive: (b, b) bool; True is never sampled. The diagonal never is, but see ``second_hardest``.
        degree: (b, b) float, relevance of caption j to image i: CIDEr-D (0 to 10) in the paper.
        tau: 3, 5 or 10 in the paper.
        sampler: ``hard`` (negative with the highest score), ``soft`` (lowest), ``random`` (torch's generator), or
            ``second_hardest``: the second of all scores, that of the pair included, which the authors' code calls soft.
            It samples the pair itself where one negative scores higher; its cost is then a constant.
        pairing: ``aligned``: the margin of a term is that of its own negative (figure 2 of the paper); ``printed``: of
            the negative of the other term, as in eq. 7 and the authors' code.
        clamp_max: largest margin; the authors' code has 1.
        triplet: whether the triplet loss is part of the sum (without it: "T no" in the paper).
        margin: of the triplet loss.
        weight: of the terms above; 5 or 10 in the authors' examples.
        reduction: "sum" over the batch (published) or "mean" over its pairs.

    Returns:
        Scalar; a pair without negatives costs nothing.

    Raises:
        UsageError: misshapen input or an unknown choice.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    check_choice("sam: sampler", sampler, get_args(Sampler))
    check_choice("sam: pairing", pairing, ("aligned", "printed"))
    spared, pair = positive | diagonal(scores), scores.diagonal()
    caption, image = _sampled(scores, spared, sampler), _sampled(scores.T, spared.T, sampler)
    a_caption = (degree.diagonal() - _at(degree, caption)) / tau
    a_image = (degree.diagonal() - _at(degree, image)) / tau
    if pairing == "printed":
        a_caption, a_image = a_image, a_caption
    if clamp_max is not None:
        a_caption, a_image = a_caption.clamp(max=clamp_max), a_image.clamp(max=clamp_max)
    costs = (a_caption + _at(scores, caption) - pair).clamp(min=0) * (~spared).any(dim=1)
    costs = costs + (a_image + _at(scores.T, image) - pair).clamp(min=0) * (~spared).any(dim=0)
    total = weight * costs.sum()
    if triplet:
        total = total + max_hinge(scores, positive, margin=margin)
    return reduced(total, len(scores), reduction)


def _sampled(s: torch.Tensor, spared: torch.Tensor, sampler: str) -> torch.Tensor:
    """(b,) int64, the sampled candidate of every row; any where all are spared."""
    s = s.detach()
    if sampler == "random":
        weights = (~spared).to(s) + spared.all(dim=1).to(s)[:, None]
        return torch.multinomial(weights, 1)[:, 0]
    if sampler == "soft":
        return s.masked_fill(spared, torch.inf).argmin(dim=1)
    if sampler == "hard":
        return s.masked_fill(spared, -torch.inf).argmax(dim=1)
    with_pair = s.masked_fill(spared & ~diagonal(s), -torch.inf)
    return with_pair.topk(min(2, len(s)), dim=1).indices[:, -1]


def _at(values: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """(b,) the value of every row in its column."""
    return values.gather(1, column[:, None])[:, 0]
