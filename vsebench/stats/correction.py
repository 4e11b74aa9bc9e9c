"""Corrections of the p-values of many tests, which bound the errors over all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..types import Float


def holm(p: npt.ArrayLike) -> Float:
    """Corrected p-values (test,) whose rejections keep the family-wise error rate.

    Sorted ascending, p_(i) becomes the largest of (m - j + 1) p_(j) over j <= i, at most 1.
    Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    return np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)[np.argsort(order)]


def benjamini_hochberg(p: npt.ArrayLike) -> Float:
    """Corrected p-values (test,) whose rejections keep the false discovery rate.

    Sorted ascending, p_(i) becomes the smallest of m p_(j) / j over j >= i.
    Benjamini and Hochberg, Controlling the False Discovery Rate, 1995.
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    return np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)[np.argsort(order)]


def none(p: npt.ArrayLike) -> Float:
    """The p-values as they are."""
    return _checked(p).copy()


CORRECTIONS: dict[str, Callable[[npt.ArrayLike], Float]] = {"holm": holm, "bh": benjamini_hochberg, "none": none}


def _checked(p: npt.ArrayLike) -> Float:
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or (len(values) and not (values.min() >= 0 and values.max() <= 1)):
        raise UsageError("p-values are a list of numbers from 0 to 1", fix="check what is corrected")
    return values
