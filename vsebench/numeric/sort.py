"""Rows of float32 numbers put in order, largest first, ties by position.

A number is turned into an integer that keeps its order but not all of its digits, and packed with its position into
one key; rows of keys are sorted by numpy, whose sort of integers is vectorised. What the integers made equal is
settled by the numbers themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SHORT = 1 << 14  # rows up to this length have keys of 32 bits; beyond it too few of them would be left for the number


def order(
    values: npt.NDArray[np.float32], count: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """(row, width) int32 positions of the numbers of every row, largest first, and these numbers; ties by position.

    Args:
        values: (row, width) float32 without NaN.
        count: (row,) int64, how many of a row's numbers there are; what is behind them means nothing.
    """
    from . import sort_kernels as sorting_kernels

    wide = max(int(count.max(initial=0)), 1)
    bits = max((wide - 1).bit_length(), 1)
    keys: npt.NDArray[Any] = np.empty((len(values), wide), np.uint32 if wide <= SHORT else np.uint64)
    places, ordered = np.empty((len(values), wide), np.int32), np.empty((len(values), wide), np.float32)
    sorting_kernels.pack(values, count, bits, keys)
    keys.sort(axis=1)
    sorting_kernels.settle(values, count, bits, keys, places, ordered)
    return places, ordered
