"""Ladder loss: hinges between levels of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from vsebench.errors import UsageError, count_of

from . import loss
from .batch import Reduction, check_choice, checked, diagonal, graded, reduced
from .pairwise import all_hinges


@loss("ladder", cite="Zhou et al., Ladder Loss, AAAI 2020, eq. 5-8")
def ladder(
    scores: torch.Tensor,
    positive: torch.Tensor,
    *,
    degree: torch.Tensor,
    margins: Sequence[float] = (0.2, 0.01),
    thresholds: Sequence[float] = (0.63,),
    betas: Sequence[float] = (1.0, 0.25),
    sampling: Literal["hc", "sum"] = "hc",
    positives: Literal["level", "upper+gt"] = "level",
    negative_floor: bool = False,
    cumulative: bool = False,
    reduction: Reduction = "sum",
) -> torch.Tensor:
    """Candidates of a higher level of relevance should score higher than all of lower levels.

    With thresholds t_1 > t_2 > ..., level N_1 has degree >= t_1, level N_l has t_l <= degree < t_(l-1). Term 1 compares
    the pair with all negatives; term l >= 2 compares N_(l-1) with everything below it::

        L_l = sum_q sum_(i in N_(l-1), j below) [a_l - s(q,i) + s(q,j)]+        L = sum_l beta_l L_l

    in both directions. ``hc`` (hard contrastive sampling, eq. 8) takes the lowest i and the highest j instead of all.
    The paper prints a_1 in eq. 8, where eq. 7 and the authors' code have a_l. With one level this is ``mh`` (``sh``).

    Args:
        scores: (b, b) float, row = image, column = caption; the pairs are the diagonal.
        positive: (b, b) bool; True is never a negative. The diagonal never is.
        degree: (b, b) float, relevance of caption j to image i.
        margins: a_1, a_2, ..., one a level.
        thresholds: t_1 > t_2 > ..., one fewer than levels.
        betas: weights of the levels.
        sampling: ``hc`` or ``sum``.
        positives: ``level``: N_(l-1) as in eq. 7; ``upper+gt``: the pair and all higher levels too, as in the authors'
            code.
        negative_floor: the highest score of the negatives is at least 0, also where there are none: the authors' code.
        cumulative: terms l >= 2 are [a_1 + ... + a_l - s(q,q) + max_j s(q,j)]+, the later form of the authors' code.
        reduction: "sum" over the batch (published) or "mean" over its pairs.

    Returns:
        Scalar >= 0; a level without candidates costs nothing (but see ``negative_floor``).

    Raises:
        UsageError: misshapen input, settings that do not fit together, or an unknown choice.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    _check(margins, thresholds, betas, sampling, positives)
    pairs = diagonal(scores)
    spared = positive | pairs
    total = scores.new_zeros(())
    for s, r, no_negative in ((scores, degree, spared), (scores.T, degree.T, spared.T)):
        pair, above = s.diagonal(), torch.inf
        total = total + betas[0] * _term(s, pairs, ~no_negative, margins[0], sampling, False)
        for level, threshold in enumerate(thresholds, start=1):
            lower = (r < threshold) & ~no_negative
            if cumulative:
                top = _highest(s, lower, negative_floor)
                costs = (sum(margins[: level + 1]) - pair + top).clamp(min=0)
                total = total + betas[level] * costs.sum()
                continue
            upper = (r >= threshold) | pairs if positives == "upper+gt" else (r >= threshold) & (r < above) & ~pairs
            total = total + betas[level] * _term(s, upper, lower, margins[level], sampling, negative_floor)
            above = threshold
    return reduced(total, len(scores), reduction)


def _term(
    s: torch.Tensor, upper: torch.Tensor, lower: torch.Tensor, margin: float, sampling: str, floor: bool
) -> torch.Tensor:
    """The hinges of one level and direction; rows are anchors."""
    if sampling == "sum":
        return all_hinges(s, upper, lower, margin)
    lowest = s.masked_fill(~upper, torch.inf).amin(dim=1)
    return (margin - lowest + _highest(s, lower, floor)).clamp(min=0).sum()


def _highest(s: torch.Tensor, lower: torch.Tensor, floor: bool) -> torch.Tensor:
    """(b,) the highest score of the negatives; -inf, whose hinge is 0, where there are none."""
    highest = s.masked_fill(~lower, -torch.inf).amax(dim=1)
    return highest.clamp(min=0) if floor else highest


def _check(
    margins: Sequence[float], thresholds: Sequence[float], betas: Sequence[float], sampling: str, positives: str
) -> None:
    if not len(margins) == len(betas) == len(thresholds) + 1:
        what = (
            f"ladder has {count_of(len(margins), 'margin')}, {count_of(len(betas), 'beta')} and "
            f"{count_of(len(thresholds), 'threshold')}"
        )
        raise UsageError(what, fix="give a margin and a beta for every level, and one threshold fewer")
    if any(a <= b for a, b in zip(thresholds, list(thresholds)[1:], strict=False)):
        raise UsageError(f"thresholds of ladder are {tuple(thresholds)}", fix="give them from high to low")
    check_choice("ladder: sampling", sampling, ("hc", "sum"))
    check_choice("ladder: positives", positives, ("level", "upper+gt"))
