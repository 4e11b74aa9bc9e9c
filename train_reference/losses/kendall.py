"""Losses on the order of all candidates: Kendall, relaxed, with sliding windows, and BCLS."""

import math
from typing import Any

import torch
from torch import Tensor

from vsebench.errors import UsageError

from . import loss
from .batch import Reduction, all_hinges, checked, descending, diagonal, graded, ordered_hinges, reduced
from .hinge import triplet_smooth_negative

EPS = 1e-6  # a relevance of 1 computed in float32 may be a little less


@loss("kendall", cite="BCLS, eq. 4-5 (reconstructed) and eq. 17", degree="cosine")
def kendall(
    scores: Tensor, positive: Tensor, *, degree: Tensor, alpha: float = 0.0, margin: float = 0.0,
    reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """Every two candidates of an anchor should score in the order of their relevance, in both directions::

        sum_i sum_(j,k: r_ij > r_ik + alpha) [margin + s_ik - s_ij]+

    With ``alpha`` 0 it is the basic form, with 0.2 the relaxed one (eq. 17). Takes b^3 steps but no b^3 memory.

    Args:
        alpha: how much larger a relevance has to be.
        margin: 0 in eq. 4 and 17, where equal scores of all candidates cost nothing: training with this loss alone
            then ends in equal scores. Eq. 6-9 have a margin, without its value.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    total = sum(ordered_hinges(s, r, alpha, margin, False) for s, r in ((scores, degree), (scores.T, degree.T)))
    return reduced(torch.as_tensor(total), len(scores), reduction)


@loss("kendall_sw", cite="BCLS, eq. 18", degree="cosine")
def kendall_sliding_window(
    scores: Tensor, positive: Tensor, *, degree: Tensor, alpha: float = 0.2, beta: float = 0.1, start: int = 1,
    margin: float = 0.0, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """The sum over ``windows`` of relevance of all hinges between candidates above a window and below it."""
    scores, degree = checked(scores, positive), graded(scores, degree)
    low, high = windows(degree, alpha, beta, start)
    spared = positive | diagonal(scores)
    total = scores.new_zeros(())
    for s, r, no_negative in ((scores, degree, spared), (scores.T, degree.T, spared.T)):
        for below, above in zip(low.tolist(), high.tolist(), strict=True):
            total = total + all_hinges(s, r >= above, (r < below) & ~no_negative, margin)
    return reduced(total, len(scores), reduction)


@loss("kendall_sw_hs", cite="BCLS, eq. 19-20", degree="cosine")
def kendall_hard_samples(
    scores: Tensor, positive: Tensor, *, degree: Tensor, alpha: float = 0.2, beta: float = 0.1, start: int = 1,
    margin: float = 0.0, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """For every one of the ``windows`` the hinge of the lowest score above it and the highest below it; their mean.

    A window without candidates on one side costs nothing, and still counts in the mean. Extremes of all windows are
    cumulative extremes of the candidates in the order of their relevance: b * b log b steps.
    """
    scores, degree = checked(scores, positive), graded(scores, degree)
    low, high = windows(degree, alpha, beta, start)
    spared = positive | diagonal(scores)
    total = scores.new_zeros(())
    for s, r, no_negative in ((scores, degree, spared), (scores.T, degree.T, spared.T)):
        relevance, column = descending(r)
        not_below, above = (torch.searchsorted(-relevance, -x.expand(len(s), -1), right=True) for x in (low, high))
        highest = _highest(s.masked_fill(no_negative, -torch.inf), column.flip(1), len(s) - not_below)
        lowest = -_highest(-s, column, above)
        total = total + (margin + highest - lowest).clamp(min=0).sum() / len(low)
    return reduced(total, len(scores), reduction)


def _highest(s: Tensor, column: Tensor, count: Tensor) -> Tensor:
    """(b, window) the highest score of the first ``count`` (b, window) of ``column`` (b, b); -inf of none."""
    best = s.detach().gather(1, column).cummax(dim=1).indices
    at = column.gather(1, best.gather(1, (count - 1).clamp(min=0)))
    return s.gather(1, at).masked_fill(count == 0, -torch.inf)


@loss("bcls", cite="BCLS, sections III-B and III-D", degree="cosine")
def bcls(
    scores: Tensor, positive: Tensor, *, degree: Tensor, margin: float = 0.2, gamma: float = 50.0, alpha: float = 0.2,
    beta: float = 0.1, order_margin: float = 0.0, reduction: Reduction = "sum",
) -> Tensor:  # fmt: skip
    """``triplet_sn`` plus ``kendall_sw_hs``, unweighted, whose margin is ``order_margin``.

    A candidate with relevance 1 (the same text) is no negative of ``triplet_sn``.
    """
    degree = graded(checked(scores, positive), degree)
    given: dict[str, Any] = {"alpha": alpha, "beta": beta, "margin": order_margin, "reduction": reduction}
    spared = positive | (degree >= 1 - EPS)
    triplet = triplet_smooth_negative(scores, spared, margin=margin, gamma=gamma, reduction=reduction)
    return triplet + kendall_hard_samples(scores, positive, degree=degree, **given)


def windows(degree: Tensor, alpha: float, beta: float, start: int) -> tuple[Tensor, Tensor]:
    """Lower and upper bounds of the windows: (window,) each, in the dtype and on the device of ``degree``.

    A window of width ``alpha`` slides over [-1, 1] in steps of ``beta``. Candidates with relevance below its lower
    bound are negatives, those from its upper bound on positives. The paper does not say where it begins: with
    ``start`` 1 at -1 + beta, so that the last window has only relevance 1 above it; with 0 at -1.
    Raises UsageError: there would be no window.
    """
    count = math.floor((2 - alpha) / beta + 1e-9) if beta > 0 else 0
    if count < 1 or alpha < 0 or start not in (0, 1):
        what = f"windows of width {alpha} in steps of {beta}, starting at {start}"
        raise UsageError(what, fix="give 0 <= alpha < 2, 0 < beta <= 2 - alpha, and start 0 or 1")
    low = torch.tensor([-1 + beta * m for m in range(start, start + count)], dtype=torch.float64)
    high = low + alpha - EPS
    return low.to(degree), high.to(degree)
