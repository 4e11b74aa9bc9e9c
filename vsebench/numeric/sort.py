"""Sorting integers, and rows of float32 numbers, largest first, ties by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Int

DIGIT = 11  # bits; the tallies of both digits then fit in the fastest cache


def ascending(*keys: npt.NDArray[Any]) -> Int:
    """Indices that sort (n,) integers from 0 to 2^32 - 1, ties by the key before, then by position; see ``lexsort``.

    In halves of 16 bits, which numpy sorts by radix: 0.9 million n-grams in 11 ms, and 37 as integers of 32 bits.
    """
    halves = []
    for key in keys:
        halves += [key.astype(np.uint16), (key >> 16).astype(np.uint16)][: 1 + (int(key.max(initial=0)) >= 1 << 16)]
    return np.lexsort(halves)


def order(
    values: npt.NDArray[np.float32], count: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """(row, width) int32 positions of the numbers of every row, largest first, and these numbers; ties by position.

    Args:
        values: (row, width) float32 without NaN.
        count: (row,) int64, length of each row; numbers behind it are ignored.
    """
    from . import sort_kernels

    width = max(int(count.max(initial=0)), 1)
    places, ordered = np.zeros((len(values), width), np.int32), np.empty((len(values), width), np.float32)
    digit = min(max((width - 1).bit_length() - 2, 4), DIGIT)
    distance = np.empty(width + 1, np.float32)
    sort_kernels.sort_rows(
        values, count, digit, np.empty((2, 1 << digit), np.uint32), distance, distance.view(np.int32),
        np.empty(width, np.uint64), np.empty(width, np.uint64), places, ordered,
    )  # fmt: skip
    for row in np.flatnonzero((places[:, 0] < 0) & (count > 0)).tolist():  # too many numbers with equal integers
        n = count[row]
        places[row, :n] = np.argsort(-values[row, :n], kind="stable")
        ordered[row, :n] = values[row, places[row, :n]]
    return places, ordered
