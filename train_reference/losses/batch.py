"""What all losses have in common: checks of the batch, its diagonal, the reduction to a number."""

from __future__ import annotations

from typing import Literal

import torch

from vsebench.errors import UsageError

Reduction = Literal["sum", "mean"]


def checked(scores: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The scores in at least float32: under autocast a sum of b*b half-precision costs would lose digits.

    Args:
        scores: (b, b) floating point, b >= 1.
        positive: (b, b) bool.

    Raises:
        UsageError: another shape or dtype.
    """
    b = scores.shape[0] if scores.ndim else 0
    if b == 0 or tuple(scores.shape) != (b, b) or not scores.is_floating_point():
        what = f"scores has shape {tuple(scores.shape)} and dtype {scores.dtype}"
        raise UsageError(what, fix="give one floating point row and one column for every pair of the batch: (b, b)")
    if positive.shape != scores.shape or positive.dtype != torch.bool:
        what = f"positive has shape {tuple(positive.shape)} and dtype {positive.dtype}, scores {tuple(scores.shape)}"
        raise UsageError(what, fix="give a bool for every score, True on the diagonal")
    return scores if scores.dtype == torch.float64 else scores.float()


def graded(scores: torch.Tensor, degree: torch.Tensor) -> torch.Tensor:
    """The degrees of relevance in the dtype of the scores, without a gradient.

    Raises:
        UsageError: another shape, or values that are not finite.
    """
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


def diagonal(scores: torch.Tensor) -> torch.Tensor:
    """(b, b) bool, True on the diagonal: the pairs of the batch."""
    return torch.eye(len(scores), dtype=torch.bool, device=scores.device)


def reduced(total: torch.Tensor, pairs: int, reduction: Reduction) -> torch.Tensor:
    """``total`` unchanged ("sum", as published learning rates assume) or divided by the number of pairs ("mean").

    Raises:
        UsageError: another reduction.
    """
    check_choice("reduction", reduction, ("sum", "mean"))
    return total if reduction == "sum" else total / pairs
