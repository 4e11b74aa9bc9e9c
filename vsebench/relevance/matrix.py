"""Gains computed elsewhere: a matrix in a file, memory-mapped, or an array in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..files.members import SCORES, Field, floats, read_array
from ..files.raw import Member, Raw
from ..files.regular import expanded
from ..log import note
from ..sets import placing
from ..sets.match import rows_of
from ..types import Direction, Int, Modality, Split, Vectors
from .checks import check_values
from .gains import Gains, Progress, shape_of

FIELD = Field("gains", ("gains", "gain", "relevance", "phi", "judgements", "qrels", *SCORES.names))


@dataclass(frozen=True, eq=False)
class Stored:
    """An array, of which only the requested rows and pairs are read.

    Attributes:
        values: (image, caption) float16, float32 or float64, in any memory order, maybe memory-mapped; each value is
            rounded to float32.
        image_order, caption_order: (image,) and (caption,) int64 row and column in ``values`` of every item of the
            split, or None when ``values`` is in the order of the split.
    """

    values: npt.NDArray[Any]
    image_order: Int | None = None
    caption_order: Int | None = None

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        values, query_order, gallery_order = self.values, self.image_order, self.caption_order
        if direction == "t2i":
            values, query_order, gallery_order = values.T, gallery_order, query_order
        block = values[start:stop] if query_order is None else values[query_order[start:stop]]
        out = np.empty(block.shape, np.float32)
        out[...] = block
        return out if gallery_order is None else np.ascontiguousarray(out[:, gallery_order])

    def pairs(self, direction: Direction, images: Int, captions: Int) -> Vectors:
        """See ``Values.pairs``."""
        images = images if self.image_order is None else self.image_order[images]
        captions = captions if self.caption_order is None else self.caption_order[captions]
        return np.asarray(self.values[images, captions], np.float32)


def load(split: Split, argument: str, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """Gains of a file with one row an image and one column a caption, or one row a caption and one column an image.

    The shape decides which; ``rows=images`` or ``rows=captions`` decides for as many images as captions. Where the
    file holds ``image_ids`` and ``text_ids``, rows and columns are matched by id. Otherwise they are in the order of
    the split, which for a custom split is the order of the user's own file.

    Args, see ``sources.Loader``:
        argument: a file of any format that holds arrays; see ``files.formats``.
        settings: ``rows``; ``negative`` is handled by the caller.

    Raises:
        BadInput: the shape is not that of the split, a value is not finite (row and column are named), unknown ids.
    """
    found = of_file(split, expanded(argument), settings["rows"])
    if progress is not None:
        progress(1.0)
    return found


def of_file(split: Split, path: Path, rows_are: str = "auto") -> Gains:
    """The numbers of a file as ``load`` reads them; also those of a matrix of judgements."""
    fix = "save a .npy array with one row an image and one column a caption"
    return _arranged(split, read_array(path, FIELD, fix, load=_numbers), rows_are, path)


def _numbers(member: Member, where: Path) -> npt.NDArray[Any]:
    """The numbers of an array, integers and truth values as float32."""
    if member.dtype.startswith(("int", "uint", "bool")):
        return member.load().astype(np.float32)
    return floats(member, where)


def of_array(split: Split, values: npt.NDArray[Any]) -> Gains:
    """Gains in memory: (image, caption) or (caption, image), in the order in which ``load`` takes those of a file.

    Raises:
        BadInput: the shape is not that of the split, or a value is not finite.
    """
    values = values.astype(np.float32) if values.dtype.kind in "iub" else values
    return _arranged(split, Raw((values,)), "auto", None)


def _arranged(split: Split, stored: Raw, rows_are: str, path: Path | None) -> Gains:
    values, shape = stored.values, shape_of(split)
    by_images, by_captions = values.shape == shape, values.shape == shape[::-1]
    possible = {"images": by_images, "captions": by_captions, "auto": by_images or by_captions}
    if not possible[rows_are]:
        raise BadInput(
            f"gains of shape {values.shape} for {shape[0]:,} images and {shape[1]:,} captions of split '{split.name}'"
            + ("" if rows_are == "auto" else f" with rows={rows_are}"),
            where=path,
            fix="save one row an image and one column a caption of the split",
        )
    if by_images and by_captions and rows_are == "auto":
        turn = "transpose it" if path is None else "add :rows=captions"
        note(f"the matrix of gains is square: its rows are taken to be images (else {turn})")
    if values.dtype.itemsize > 4:
        note("float64: rounded to float32", weight="detail")
    transposed = rows_are == "captions" or not by_images
    row = "caption row" if transposed else "image row"
    fingerprint, lowest, judged = check_values(values, row, path or "gains")
    image_ids, caption_ids = split.image_ids, split.caption_ids
    orders: list[Int | None] = []
    unnamed: list[Modality] = []
    sides = (stored.image_ids, image_ids, caption_ids), (stored.text_ids, caption_ids, image_ids)
    for side, (ids, own, other) in zip(placing.SIDES, sides, strict=True):
        if ids is None:
            unnamed.append(side)
            order = placing.order(split, side)
        else:
            what = "text" if side == "caption" else side
            order = rows_of(ids, own, other, what, split.name, path or Path("gains"))
        orders.append(None if order is None or np.array_equal(order, np.arange(len(order))) else order)
    note(placing.order_note(path.name if path is not None else "the matrix", unnamed, split))
    identity = {"sha256": fingerprint, "rows": "captions" if transposed else "images"}
    identity = identity if path is None else {"file": path.name, **identity}
    found = Stored(values.T if transposed else values, *orders)
    return Gains("matrix", identity, shape, found, lowest=lowest, of_judgements=judged)
