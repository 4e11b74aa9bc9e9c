"""Checks of the values of gains and vectors that were computed elsewhere."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput

CHUNK = 1 << 22  # numbers checked at a time, so that a memory-mapped file is never copied completely


def check_values(values: npt.NDArray[Any], row: str, where: str | Path | None = None) -> tuple[str, float, bool]:
    """Check that every value is finite in float32; give a fingerprint of the array and what its values are.

    Args:
        values: (row, column) floats, maybe memory-mapped; read in chunks.
        row: what a row is, in words, for errors.
        where: the file, for errors.

    Returns:
        Eight hexadecimal digits of the SHA-256 of shape, dtype and values; the smallest value; whether all are 0 or 1.

    Raises:
        BadInput: a NaN, an infinity, a value beyond the range of float32, or one that float32 rounds to 0; the first
            such row and column are named.
    """
    digest = hashlib.sha256(f"{values.shape} {values.dtype.str}".encode())
    largest = np.finfo(np.float32).max
    step = max(1, CHUNK // max(values.shape[1], 1))
    smallest, binary = np.inf, True
    for start in range(0, len(values), step):
        block = np.ascontiguousarray(values[start : start + step])
        # The comparison is also false for NaN, and needs no conversion that could overflow.
        bad = ~((block <= largest) & (block >= -largest)) if block.itemsize > 2 else ~np.isfinite(block)
        if bad.any():
            r, c = (int(x[0]) for x in np.nonzero(bad))
            large = bool(np.isfinite(block[r, c]))
            raise BadInput(
                f"{row} {start + r} holds {block[r, c]} in column {c}" + (", beyond float32" if large else ""),
                where=where,
                fix="scale the values to within 3.4e38, the limit of float32"
                if large
                else "find out what produced it and save the array again, every value finite",
            )
        if block.itemsize > 4 and (lost := (block != 0) & (block.astype(np.float32) == 0)).any():
            r, c = (int(x[0]) for x in np.nonzero(lost))
            what = f"{row} {start + r} holds {block[r, c]} in column {c}, which is 0 in float32"
            raise BadInput(what, where=where, fix="scale the values, or save 0 in its place")
        digest.update(block.data)
        smallest = min(smallest, float(block.min(initial=np.inf)))
        binary = binary and bool(((block == 0) | (block == 1)).all())
    return digest.hexdigest()[:8], smallest, binary
