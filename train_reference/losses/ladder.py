"""Ladder loss: hinges between levels of relevance."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from vsebench.errors import UsageError

from . import loss
from .batch import Reduction, all_hinges, check_choice, checked, diagonal, graded, reduced


@loss("ladder", cite="Zhou et al., Ladder Loss, AAAI 2020, eq. 5-8", degree="cosine")
def ladder(
    scores: Tensor, positive: Tensor, *, degree: Tensor, margins: Sequence[float] = (0.2, 0.01),
    thresholds: Sequence[float] = (0.63,), betas: Sequence[float] = (1.0, 0.25), sampling: Literal["hc", "sum"] = "hc",
    positives: Literal["level", "upper+gt"] = "level", negative_floor: bool = False, cumulative: bool = False,
    reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """Candidates of a higher level of relevance should score higher than all of lower levels.

    With thresholds t_1 > t_2 > ..., level N_1 has degree >= t_1, level N_l has t_l <= degree < t_(l-1). Term 1 compares
    the pair with all negatives; term l >= 2 compares N_(l-1) with everything below it::

        L_l = sum_q sum_(i in N_(l-1), j below) [a_l - s(q,i) + s(q,j)]+        L = sum_l beta_l L_l

    in both directions. ``hc`` (hard contrastive sampling, eq. 8) takes the lowest i and the highest j instead of all.
    The paper prints a_1 in eq. 8, where eq. 7 and the authors' code have a_l. With one level this is ``mh`` (``sh``).

    Args:
        margins: a_1, a_2, ..., one a level.
        thresholds: t_1 > t_2 > ..., one fewer than levels.
        betas: weights of the levels.
        sampling: ``hc`` or ``sum``.
        positives: ``level``: N_(l-1) as in eq. 7; ``upper+gt``: the pair and all higher levels too, as in the authors'
            code.
        negative_floor: the highest score of the negatives is at least 0, also where there are none: the authors' code.
        cumulative: terms l >= 2 are [a_1 + ... + a_l - s(q,q) + max_j s(q,j)]+, the later form of the authors' code.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    if not len(margins) == len(betas) == len(thresholds) + 1 or sorted({*thresholds})[::-1] != [*thresholds]:
        what = f"ladder has margins {[*margins]}, betas {[*betas]} and thresholds {[*thresholds]}"
        raise UsageError(what, fix="give one margin and one beta per level, and one threshold fewer, from high to low")
    check_choice("ladder: sampling", sampling, ("hc", "sum"))
    check_choice("ladder: positives", positives, ("level", "upper+gt"))
    pairs = diagonal(scores)
    negative = ~(positive | pairs)
    total = scores.new_zeros(())
    # All of a direction has the same strides, as mixed ones take twice the time.
    for s, r, own, other in ((scores, degree, pairs, negative), (scores.T, degree.T, pairs.T, negative.T)):
        pair, above = s.diagonal(), torch.inf
        first = all_hinges(s, own, other, margins[0]) if sampling == "sum" else _hinges(pair, s, other, margins[0])
        total = total + betas[0] * first
        for level, threshold in enumerate(thresholds, start=1):
            lower, margin = (r < threshold) & other, margins[level]
            upper = (r >= threshold) | own if positives == "upper+gt" else (r >= threshold) & (r < above) & ~own
            if cumulative:
                term = _hinges(pair, s, lower, sum(margins[: level + 1]), negative_floor)
            elif sampling == "sum":
                term = all_hinges(s, upper, lower, margin)
            else:
                lowest = torch.where(upper, s, torch.inf).amin(dim=1)
                term = _hinges(lowest, s, lower, margin, negative_floor)
            total = total + betas[level] * term
            above = threshold
    return reduced(total, len(scores), reduction)


def _hinges(upper: Tensor, s: Tensor, lower: Tensor, margin: float, floor: bool = False) -> Tensor:
    """The hinges of a score of every row, (b,), and of the highest one of ``lower``; 0 where there is none.

    ``floor``: the highest score is at least 0, also where there is none.
    """
    highest = torch.where(lower, s, -torch.inf).amax(dim=1)
    return (margin - upper + (highest.clamp(min=0) if floor else highest)).clamp(min=0).sum()
