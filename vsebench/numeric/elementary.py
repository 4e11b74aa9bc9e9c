"""Logarithms and exponentials whose last bit is the same on every processor.

numpy and the C library have several versions of ``log``, ``log2`` and ``exp``, chosen by the features of the processor,
and these differ in the last bit. Here every result is that of decimal arithmetic with 25 digits, which every machine
rounds alike, as a float64. It takes some 50 us a distinct argument: for ranks, document frequencies and
differences of lengths, whose functions are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt

from ..types import Float

_DIGITS = Context(prec=25)
_LN2 = _DIGITS.ln(Decimal(2))


def log(x: npt.ArrayLike) -> Float:
    """The natural logarithm of positive numbers, float64 of the same shape."""
    return _of_distinct(x, _log)


def log2(x: npt.ArrayLike) -> Float:
    """The logarithm to base 2 of positive numbers, float64 of the same shape; exact for powers of 2."""
    return _of_distinct(x, _log2)


def exp(x: npt.ArrayLike) -> Float:
    """e to the power of finite numbers, float64 of the same shape."""
    return _of_distinct(x, _exp)


def _of_distinct(x: npt.ArrayLike, function: Callable[[float], float]) -> Float:
    given = np.asarray(x, np.float64)
    distinct, place = np.unique(given, return_inverse=True)
    return np.array([function(value) for value in distinct.tolist()], np.float64)[place].reshape(given.shape)


def _log(x: float) -> float:
    return float(_DIGITS.ln(Decimal(x)))


def _log2(x: float) -> float:
    return float(_DIGITS.divide(_DIGITS.ln(Decimal(x)), _LN2))


def _exp(x: float) -> float:
    return float(_DIGITS.exp(Decimal(x))) if x > -746 else 0.0  # less than half of the smallest float64
