"""What kinds of gains share: checks of values and of the requested rows and pairs, and gains with the own image."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..types import Direction, Int, Vectors

CHUNK = 1 << 22  # numbers checked at a time, so that a memory-mapped file is never copied completely


def check_range(shape: tuple[int, int], direction: Direction, start: int, stop: int) -> None:
    """Raise UsageError unless ``start:stop`` are queries of gains of this shape (images, captions)."""
    n = shape[0] if direction == "i2t" else shape[1]
    if not 0 <= start <= stop <= n:
        raise UsageError(f"rows {start}:{stop} of {n} queries ({direction})", fix=f"ask for rows within 0:{n}")


def as_pairs(shape: tuple[int, int], direction: Direction, queries: Int, items: Int) -> tuple[Int, Int]:
    """(pair,) int64 images and captions of ``queries`` (query,) with ``items`` (query, k), row after row.

    Raises:
        UsageError: the shapes do not match, or an index is outside gains of this shape (images, captions).
    """
    queries, items = np.asarray(queries, np.int64), np.asarray(items, np.int64)
    if items.ndim != 2 or queries.shape != items.shape[:1]:
        raise UsageError(f"items of shape {items.shape} for queries of shape {queries.shape}", fix="give (query, k)")
    query, item = np.repeat(queries, items.shape[1]), items.ravel()
    images, captions = (query, item) if direction == "i2t" else (item, query)
    for what, index, n in (("image", images, shape[0]), ("caption", captions, shape[1])):
        if len(index) and not 0 <= int(index.min()) <= int(index.max()) < n:
            worst = int(index.min()) if int(index.min()) < 0 else int(index.max())
            raise UsageError(f"{what} {worst} of {n}", fix=f"count {what}s from 0 to {n - 1}")
    return images, captions


def put_own_in_rows(out: Vectors, own: Vectors, image_of: Int, direction: Direction, start: int, stop: int) -> None:
    """Put ``own`` (caption,), gains of captions with their own images, into rows ``start:stop`` of gains."""
    if direction == "t2i":
        out[np.arange(stop - start), image_of[start:stop]] = own[start:stop]
    else:
        captions = np.flatnonzero((image_of >= start) & (image_of < stop))
        out[image_of[captions] - start, captions] = own[captions]


def put_own_in_pairs(out: Vectors, own: Vectors, image_of: Int, images: Int, captions: Int) -> None:
    """Put ``own`` (caption,), gains of captions with their own images, into the gains of pairs, (pair,) each."""
    mine = np.flatnonzero(image_of[captions] == images)
    out[mine] = own[captions[mine]]


def check_values(values: npt.NDArray[Any], row: str, where: str | Path | None = None) -> tuple[str, float]:
    """Check that every value is finite in float32; give a fingerprint of the array and its smallest value.

    Args:
        values: (row, column) floats, maybe memory-mapped; read in chunks.
        row: what a row is, in words, for errors.
        where: the file, for errors.

    Returns:
        Eight hexadecimal digits of the SHA-256 of shape, dtype and values, and the smallest value.

    Raises:
        BadInput: a NaN, an infinity, a value beyond the range of float32, or one that float32 rounds to 0; the first
            such row and column are named.
    """
    digest = hashlib.sha256(f"{values.shape} {values.dtype.str}".encode())
    largest = np.finfo(np.float32).max
    step = max(1, CHUNK // max(values.shape[1], 1))
    smallest = np.inf
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
    return digest.hexdigest()[:8], smallest
