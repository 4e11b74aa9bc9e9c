"""SAM: a margin that grows with how much less relevant a negative is."""

from typing import Literal, get_args

import torch
from torch import Tensor

from . import loss
from .batch import Reduction, check_choice, checked, diagonal, graded, reduced
from .hinge import max_hinge

Sampler = Literal["random", "hard", "soft", "second_hardest", "second_softest"]
Pairing = Literal["aligned", "printed", "code"]


@loss("sam", cite="Biten et al., Is An Image Worth Five Sentences?, WACV 2022, eq. 7", degree="cider")
def semantic_adaptive_margin(
    scores: Tensor, positive: Tensor, *, degree: Tensor, tau: float = 3.0, sampler: Sampler = "hard",
    pairing: Pairing = "aligned", clamp_max: float | None = None, triplet: bool = True, margin: float = 0.2,
    weight: float = 1.0, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """One sampled negative a direction, with a margin of its own, beside the triplet loss ``mh``::

        [a_m + s(p,m) - s(p,p)]+ + [a_l + s(l,p) - s(p,p)]+,   a_j = (degree(p,p) - degree(p,j)) / tau

    with m the sampled caption and l the sampled image of pair p. Margins may be negative. Of candidates with equal
    scores the first of the batch is sampled, so that ties make the value depend on the order of the pairs.

    Args:
        positive: (b, b) bool; True is never sampled. The diagonal never is, but see ``sampler``.
        degree: (b, b) float, relevance of caption j to image i: CIDEr-D (0 to 10) in the paper.
        tau: 3, 5 or 10 in the paper.
        sampler: ``hard`` (negative with the highest score), ``soft`` (lowest), ``random`` (torch's generator),
            ``second_hardest`` or ``second_softest``: the second of all scores, that of the pair included. The authors'
            code calls them "soft" and "hard". The pair itself is sampled where one negative scores higher (lower); its
            cost is then a constant.
        pairing: which margin a term has. ``aligned``: that of its own negative (figure 2 of the paper); ``printed``:
            of the negative of the other term (eq. 7); ``code``: as the authors' code computes it, see ``_as_in_code``.
        clamp_max: largest margin; the authors' code has 1.
        triplet: whether the triplet loss is part of the sum (without it: "T no" in the paper).
        margin: of the triplet loss.
        weight: of the terms above; 5 or 10 in the authors' examples.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    check_choice("sam: sampler", sampler, get_args(Sampler))
    check_choice("sam: pairing", pairing, get_args(Pairing))
    spared, pair = positive | diagonal(scores), scores.diagonal()
    a = ((degree.diagonal()[:, None] - degree) / tau).clamp(max=torch.inf if clamp_max is None else clamp_max)
    if pairing == "code":
        costs = _as_in_code(scores, spared, a, sampler)
    else:
        caption, image = _sampled(scores, spared, sampler), _sampled(scores.T, spared.T, sampler)
        a_caption, a_image = _at(a, caption), _at(a, image)
        if pairing == "printed":
            a_caption, a_image = a_image, a_caption
        costs = (a_caption + _at(scores, caption) - pair).clamp(min=0) * (~spared).any(dim=1)
        costs = costs + (a_image + _at(scores.T, image) - pair).clamp(min=0) * (~spared).any(dim=0)
    total = weight * costs.sum()
    if triplet:
        total = total + max_hinge(scores, positive, margin=margin)
    return reduced(total, len(scores), reduction)


def _as_in_code(s: Tensor, spared: Tensor, a: Tensor, sampler: str) -> Tensor:
    """(b,) costs as in ``model_CVSE.py`` of the authors (AndresPMD/semantic_adaptive_margin, 1e8bf2f).

    Both terms sample a caption j of image i, the second one by s(i,j) - s(j,j); a margin is that of the other term's
    sample, as in eq. 7; and since a vector of margins is added to a matrix of costs, a term has the margin of row j in
    place of row i. With j and j' the two samples of row i, j'_j the second sample of row j, and ``a`` (b, b)::

        [a(j, j'_j) + s(i,j) - s(i,i)]+ + [a(j', j_j') + s(i,j') - s(j',j')]+
    """
    pair = s.diagonal()
    across = s - pair
    first, second = _sampled(s, spared, sampler), _sampled(across, spared, sampler)
    of_first, of_second = _at(a, second)[first], _at(a, first)[second]
    costs = (of_first + _at(s, first) - pair).clamp(min=0) + (of_second + _at(across, second)).clamp(min=0)
    return costs * (~spared).any(dim=1)


def _sampled(s: Tensor, spared: Tensor, sampler: str) -> Tensor:
    """(b,) int64, the sampled candidate of every row; any where all are spared."""
    s = s.detach()
    if sampler == "random":
        weights = (~spared).to(s) + spared.all(dim=1).to(s)[:, None]
        return torch.multinomial(weights, 1)[:, 0]
    if sampler in ("soft", "second_softest"):
        s = -s
    if sampler in ("hard", "soft"):
        return s.masked_fill(spared, -torch.inf).argmax(dim=1)
    with_pair = s.masked_fill(spared & ~diagonal(s), -torch.inf)
    return with_pair.sort(dim=1, descending=True, stable=True).indices[:, min(1, len(s) - 1)]


def _at(values: Tensor, column: Tensor) -> Tensor:
    """(b,) the value of every row in its column."""
    return values.gather(1, column[:, None])[:, 0]
