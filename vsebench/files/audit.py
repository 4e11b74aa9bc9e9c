"""Checks of vectors and scores before anything is ranked.

Each fault has one error that names the file, the first row and the fix. What can be repaired (repeated image rows) or
is only risky (half precision) leads to a note or a warning instead, see ``align``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..numeric.parallel import each
from ..options import spell
from ..types import SAFE_LENGTH, Ids

Array = npt.NDArray[Any]

CHUNK = 1 << 20  # numbers that a thread checks together, so that a memory-mapped file is never copied


def check_vectors(images: Array, texts: Array, where: Path, image_ids: Ids | None, text_ids: Ids | None) -> None:
    """Refuse arrays that cannot be a pair of embedding matrices, (row, dim) each.

    Raises:
        BadInput: not two-dimensional (region features are named as such), empty, widths that differ, a NaN or
            infinite value (first row named), a zero vector (first row named).
    """
    for side, array in (("image", images), ("text", texts)):
        if array.dtype.kind != "f":
            raise BadInput(f"{side} array has dtype {array.dtype}, expected floats", where=where, fix="save float32")
        if array.ndim == 3:
            n, regions, dim = array.shape
            raise BadInput(
                f"{side} array has shape {array.shape}: {regions} vectors of {dim} numbers for each of {n} {side}s. "
                "These are region (or token) features, the input of a model, and not embeddings",
                where=where,
                fix=f"save one vector a row (join batches), or give the scores of the model with {spell('scores')}",
            )
        if array.ndim != 2:
            what = f"{side} array has shape {array.shape}, expected (rows, dim)"
            raise BadInput(what, where=where, fix="save one vector a row")
        if 0 in array.shape:
            raise BadInput(f"{side} array is empty: shape {array.shape}", where=where, fix="save at least one vector")
    if images.shape[1] != texts.shape[1]:
        what = f"image vectors have {images.shape[1]} numbers and text vectors {texts.shape[1]}"
        raise BadInput(what, where=where, fix="save both in the joint space of the model, after its projections")
    low, high = SAFE_LENGTH
    for side, array, ids in (("image", images, image_ids), ("text", texts, text_ids)):
        bad = _first_row(array, _unrankable)
        if bad is None:
            continue
        check_finite(array, side, where, ids)
        zero = _first_row(array, lambda block: ~block.any(axis=1))
        if zero is not None:
            what = f"{_row(side, zero[0], ids)} is all zeros{_such(zero[1])}: it has no direction to compare"
            raise BadInput(what, where=where, fix="find the items that failed to load or encode, and encode them again")
        # float32 products of such vectors over- or underflow.
        largest = float(np.abs(np.asarray(array[bad[0]], np.float64)).max())
        what = f"{_row(side, bad[0], ids)} has {largest:.3g} as its largest entry{_such(bad[1])}"
        what += f"; lengths from {low:g} to {high:g} can be ranked exactly"
        raise BadInput(what, where=where, fix="scale the vectors, for example to unit length")


def _unrankable(block: Array) -> Array:
    """(row,) bool: not finite, all zeros, or of a length outside ``SAFE_LENGTH``."""
    # The largest entry instead of the length: it is cheap, is NaN when an entry is, and is not squared.
    with np.errstate(invalid="ignore"):  # a signalling NaN
        largest = np.maximum(block.max(axis=1), -block.min(axis=1)).astype(np.float64)
    inside: Array = (largest >= SAFE_LENGTH[0]) & (largest <= SAFE_LENGTH[1] / np.sqrt(block.shape[1]))
    return ~inside


def check_finite(array: Array, side: str, where: Path, ids: Ids | None = None, lowest: bool = False) -> None:
    """Raise BadInput naming the first row that holds a NaN or an infinite value; with ``lowest`` not for -inf alone."""

    def fine(block: Array) -> Array:
        return np.asarray((block < np.inf) if lowest else np.isfinite(block))

    bad = _first_row(array, lambda block: ~fine(block).all(axis=1))
    if bad is not None:
        values = np.asarray(array[bad[0]])
        column = int(np.flatnonzero(~fine(values))[0])
        raise BadInput(
            f"{_row(side, bad[0], ids)} holds {values[column]} in column {column}{_such(bad[1])}",
            where=where,
            fix="find out why the model produced it (often half-precision overflow) and encode again",
        )


def check_scores(scores: Array, where: Path) -> None:
    """Refuse an array that cannot be a score matrix, (image, text).

    Raises:
        BadInput: not two-dimensional, or empty.
    """
    if scores.ndim != 2:
        what = f"score array has shape {scores.shape}, expected (images, texts)"
        raise BadInput(what, where=where, fix="save one row an image and one column a text")
    if 0 in scores.shape:
        raise BadInput(f"score matrix is empty: shape {scores.shape}", where=where, fix="save at least one score")


def _row(side: str, row: int, ids: Ids | None) -> str:
    return f"{side} row {row}" + (f" (id {shown(ids[row])})" if ids is not None and row < len(ids) else "")


def _such(count: int) -> str:
    return f" ({count:,} such rows)" if count > 1 else ""


def shown(name: object) -> str:
    """An id or another value of a file for a message, cut to 60 characters."""
    text = str(name)
    return text if len(text) <= 60 else text[:59] + "…"


def _first_row(array: Array, test: Any) -> tuple[int, int] | None:
    """The first row for which ``test`` of a block is true, and the number of such rows; None without any."""
    step = max(1, CHUNK // max(array.shape[1], 1))
    found = each(lambda start: start + np.flatnonzero(test(array[start : start + step])), range(0, len(array), step))
    hits = np.concatenate(found) if found else np.zeros(0, np.int64)
    return (int(hits[0]), len(hits)) if len(hits) else None
