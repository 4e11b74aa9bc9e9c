"""Gains somebody else has computed: a matrix in a file, memory-mapped, or an array in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.formats.aliases import SCORES, Field
from ..data.match import rows_of
from ..errors import BadInput, UsageError
from ..types import Direction, Int, Split, Vectors
from .arrays import as_pairs, check_range, inspect, read_array
from .gains import Progress, choice

GAINS = Field("gains", ("gains", "gain", "relevance", "phi", *SCORES.names))
ROWS = ("auto", "images", "captions")


@dataclass(frozen=True, eq=False)
class MatrixGains:
    """Given gains: any floating point array, maybe memory-mapped, of which only what is asked for is read.

    Attributes:
        values: (image, caption) float16, float32 or float64, in any memory order; each number is rounded to float32.
        settings: for the signature; made from the content of the array when left empty.
        notes: what the user should know.
        image_order, caption_order: (image,) and (caption,) int64 row and column of ``values`` of every item of
            the split, or None when they are in its order.
        name: ``matrix``.
        lowest: the smallest gain there is.

    Raises:
        UsageError: not two-dimensional, empty, or no floating point array.
        BadInput: a value that is not finite in float32 (its row and column are named).
    """

    values: npt.NDArray[Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    image_order: Int | None = None
    caption_order: Int | None = None
    name: str = "matrix"
    lowest: float | None = None

    def __post_init__(self) -> None:
        values = self.values
        if values.ndim != 2 or 0 in values.shape or values.dtype.kind != "f" or values.itemsize > 8:
            raise UsageError(
                f"gains of shape {values.shape} {values.dtype}",
                fix="give (image, caption) in float16, float32 or float64",
            )
        if not self.settings:  # a file has been inspected before, with its name in the message
            digits, lowest = inspect(values, "image row")
            object.__setattr__(self, "settings", {"sha256": digits})
            object.__setattr__(self, "lowest", lowest)

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        n, m = self.values.shape
        return (
            n if self.image_order is None else len(self.image_order),
            m if self.caption_order is None else len(self.caption_order),
        )

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop``; raises UsageError when there are no such."""
        check_range(self.shape, direction, start, stop)
        values, queries, gallery = self.values, self.image_order, self.caption_order
        if direction == "t2i":
            values, queries, gallery = values.T, gallery, queries
        block = values[start:stop] if queries is None else values[queries[start:stop]]
        out = np.empty(block.shape, np.float32)
        out[...] = block
        return out if gallery is None else np.ascontiguousarray(out[:, gallery])

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` for ``queries``; raises UsageError for an index outside."""
        images, captions = as_pairs(self.shape, direction, queries, items)
        images = images if self.image_order is None else self.image_order[images]
        captions = captions if self.caption_order is None else self.caption_order[captions]
        return np.asarray(self.values[images, captions], np.float32).reshape(np.shape(items))


def load(split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> MatrixGains:
    """Gains of a file, one row an image and one column a caption or the other way round.

    Which way is read from the shape; ``rows=images`` or ``rows=captions`` says it where both are possible. With
    ``image_ids`` and ``text_ids`` in the file rows and columns are matched by id, else they follow the split, a custom
    one as it stands in the user's file.

    Args:
        split: whose items the gains are about.
        argument: the file: .npy (memory-mapped), .npz, .safetensors, torch or HDF5.
        settings: ``rows`` (and ``negative``, which is no business of this function).
        progress: told when it is done; checking every value is all there is to do.

    Raises:
        BadInput: the shape is not the split's, a value is not finite (row and column are named), unknown ids.
        UsageError: no file was named.
    """
    way = choice(settings, "rows", ROWS)
    if argument is None:
        raise UsageError("no file of gains is named", fix="give the name of a .npy file")
    path = Path(argument).expanduser()
    fix = "save a .npy array with one row an image and one column a caption"
    stored = read_array(path, GAINS, fix)
    shape = (len(split.image_ids), len(split.caption_ids))
    values, notes = stored.values, list(stored.notes)
    by_images, by_captions = values.shape == shape, values.shape == shape[::-1]
    if not (by_images if way == "images" else by_captions if way == "captions" else by_images or by_captions):
        raise BadInput(
            f"gains of shape {values.shape} for {shape[0]:,} images and {shape[1]:,} captions of split '{split.name}'"
            + ("" if way == "auto" else f" with rows={way}"),
            where=path,
            fix="save one row an image and one column a caption of the split",
        )
    if by_images and by_captions and way == "auto":
        notes.append("the matrix of gains is square: its rows are taken to be images (else add :rows=captions)")
    if values.dtype.itemsize > 4:
        notes.append("float64: rounded to float32")
    turned = way == "captions" or not by_images
    identity, lowest = inspect(values, "caption row" if turned else "image row", path)
    orders: list[Int | None] = [None, None]
    for side, (what, ids, known, other) in enumerate(
        (
            ("image", stored.image_ids, split.image_ids, split.caption_ids),
            ("text", stored.text_ids, split.caption_ids, split.image_ids),
        )
    ):
        order = split.places[side] if ids is None else rows_of(ids, known, other, what, split.name, path)
        orders[side] = None if order is None or np.array_equal(order, np.arange(len(order))) else order
    if progress is not None:
        progress(1.0)
    told = {"file": path.name, "sha256": identity, "rows": "captions" if turned else "images"}
    return MatrixGains(values.T if turned else values, told, tuple(notes), orders[0], orders[1], lowest=lowest)
