"""What losses share: checks of the batch, the reduction to a number, sums over pairs without (b, b, b) memory."""

from typing import Any, Literal

import torch
from torch import Tensor

from vsebench.errors import UsageError

Reduction = Literal["sum", "mean"]
CHUNK = 1 << 20  # elements of the largest tensor of one step


def checked(scores: Tensor, positive: Tensor) -> Tensor:
    """The scores in at least float32, as sums of half precision lose digits; raises UsageError for other input."""
    b = scores.shape[0] if scores.ndim else 0
    if b == 0 or tuple(scores.shape) != (b, b) or not scores.is_floating_point():
        what = f"scores has shape {tuple(scores.shape)} and dtype {scores.dtype}"
        raise UsageError(
            what, fix="give floating-point scores with one row and one column per pair of the batch: (b, b)"
        )
    if positive.shape != scores.shape or positive.dtype != torch.bool:
        what = f"positive has shape {tuple(positive.shape)} and dtype {positive.dtype}, scores {tuple(scores.shape)}"
        raise UsageError(what, fix="give one bool per score, True on the diagonal")
    return scores if scores.dtype == torch.float64 else scores.float()


def graded(scores: Tensor, degree: Tensor) -> Tensor:
    """The degrees of relevance in the dtype of the scores, without a gradient; they must be finite, and (b, b)."""
    if degree.shape != scores.shape:
        what = f"degree has shape {tuple(degree.shape)}, scores {tuple(scores.shape)}"
        raise UsageError(what, fix="give the relevance of every caption of the batch to every image: (b, b)")
    degree = degree.detach().to(scores)
    if not torch.stack(degree.aminmax()).isfinite().all():
        raise UsageError("degree holds values that are not finite", fix="check the gains")
    return degree


def check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a value of a setting that is none of the known ones; raises UsageError."""
    if value not in known:
        raise UsageError(f"{name} is '{value}'", fix=f"use {' or '.join(known)}")


def diagonal(scores: Tensor) -> Tensor:
    """(b, b) bool, True on the diagonal: the pairs of the batch."""
    return torch.eye(len(scores), dtype=torch.bool, device=scores.device)


def reduced(total: Tensor, pairs: int, reduction: Reduction) -> Tensor:
    """``total`` unchanged ("sum", as published learning rates assume) or divided by the number of pairs ("mean")."""
    check_choice("reduction", reduction, ("sum", "mean"))
    return total if reduction == "sum" else total / pairs


def descending(values: Tensor) -> tuple[Tensor, Tensor]:
    """(b, b) the numbers of every row, largest first, and int64 the columns that they are from; without a gradient."""
    found, column = values.detach().contiguous().sort(dim=1, descending=True, stable=True)
    return found, column


def all_hinges(scores: Tensor, upper: Tensor, lower: Tensor, margin: float, weight: Tensor | None = None) -> Tensor:
    """sum over rows, over j in ``upper`` and k in ``lower`` (b, b), of [margin - s_j + s_k]+ times ``weight`` (b,).

    Sorting finds, for every k, how many j have a hinge above 0 and the sum of their scores: b log b steps a row instead
    of b * b, and memory of (b, b).
    """
    above, _ = scores.masked_fill(~upper, torch.inf).sort(dim=1)
    limit = (scores + margin).detach().contiguous()
    found = torch.searchsorted(above.detach(), limit)  # how many j have s_j < s_k + margin
    padded = torch.nn.functional.pad(above.masked_fill(above.isinf(), 0).cumsum(dim=1), (1, 0))
    hinges = found * (scores + margin) - padded.gather(1, found)
    rows = hinges.masked_fill(~lower, 0).sum(dim=1)
    return (rows if weight is None else rows * weight).sum()


def ordered_hinges(scores: Tensor, degree: Tensor, alpha: float, margin: float, mean: bool) -> Tensor:
    """sum over rows, and over j and k with degree_j > degree_k + alpha, of [margin - s_j + s_k]+.

    With ``mean`` the mean over the pairs (j, k) of a row instead of their sum. Takes b * b * b steps; memory stays
    below ``CHUNK`` elements, as the gradient is counted with the value.
    """
    return _OrderedHinges.apply(scores, degree, alpha, margin, mean)


class _OrderedHinges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, degree: Tensor, alpha: float, margin: float, mean: bool) -> Tensor:
        b, n = scores.shape
        gradient, total = torch.zeros_like(scores), scores.new_zeros(())
        for rows in torch.arange(b, device=scores.device).split(max(1, CHUNK // (n * n))):
            s, r = scores[rows], degree[rows]
            ordered = r[:, :, None] > r[:, None, :] + alpha  # (row, j, k)
            hinge = (margin + s[:, None, :] - s[:, :, None]).masked_fill(~ordered, 0).clamp(min=0)
            weight = 1 / ordered.sum(dim=(1, 2)).clamp(min=1).to(s) if mean else s.new_ones(len(rows))
            active = (hinge > 0).to(s) * weight[:, None, None]
            gradient[rows] = active.sum(dim=1) - active.sum(dim=2)
            total = total + (hinge.sum(dim=(1, 2)) * weight).sum()
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor, None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * above[0], None, None, None, None
