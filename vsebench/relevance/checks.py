"""What kinds of gains share: checks of the requested rows and pairs, and gains of captions with their own image."""

from __future__ import annotations

import numpy as np

from ..errors import UsageError
from ..types import Direction, Int, Vectors


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
