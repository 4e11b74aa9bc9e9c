"""What readers return: arrays and scores as a file stores them, not yet matched to a split; and checks of values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..numeric.parallel import each
from ..options import spell
from ..types import SAFE_LENGTH, Ids

Array = npt.NDArray[Any]
FLOATS = ("float16", "float32", "float64", "bfloat16")  # dtypes of vectors, scores and gains
# What image_of_text holds, as far as the format or name says.
Holds = Literal["rows or ids", "rows", "ids", "counts", "ends"]


@dataclass(frozen=True, eq=False)
class Member:
    """One named array of a file, described from its header before any of its data is read.

    Attributes:
        name: as in the file; nested names are joined by ``/``.
        shape: the declared shape.
        dtype: its plain name: ``float32``, ``bfloat16``, ``int64``, ``str``, ``object``, ...
        nbytes: memory that loading takes; 0 when the array is mapped from the file.
        load: reads the array, (shape), as stored; bfloat16 is converted to float32.
        note: a decision made in reading it, one sentence.
        sources: the files that have it, where these are not the file itself.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    load: Callable[[], Array]
    note: str = ""
    sources: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers or strings it has."""
        return math.prod(self.shape)

    @property
    def base(self) -> str:
        """The last part of the name, lower case."""
        return self.name.rsplit("/", 1)[-1].lower()

    def __str__(self) -> str:
        return f"{self.name} {self.shape} {self.dtype}"


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The plain name of a dtype: no byte order, no string length."""
    if dtype.names is not None:
        return "structured"
    return {"U": "str", "S": "bytes", "V": "void"}.get(dtype.kind, str(dtype.name))


@dataclass(frozen=True, eq=False)
class Raw:
    """The vectors of both modalities, or one array (scores, gains, labels, vectors of one modality), as stored.

    Attributes:
        arrays: images, (n_image_rows, dim), and texts, (n_text_rows, dim), or the one array; of scores
            (n_image_rows, n_text_rows). In native byte order, vectors and scores float16, float32 or float64; maybe
            read-only memory maps. Any number of dimensions: ``audit`` checks the shape.
        image_ids: (n_image_rows,) int64 or unicode, or None.
        text_ids: (n_text_rows,) int64 or unicode, or None.
        image_of_text: (n_text_rows,) int64 (image rows or image ids) or unicode (image ids), or None.
        format: its name in ``FORMATS``; of two files ``npy pair``, ``torch pair``, ...
        sources: every file that was read.
        holds: what ``image_of_text`` holds; ``counts`` are texts an image, ``ends`` its last rows or those behind,
            (n_image_rows,).
            A column of a table or of metadata holds ids, never rows.
        captions: (n_text_rows,) strings, what the texts say, or None when the file does not have them.
        encoder: what the encoder of the vectors was given that is not its default, as a signature has it.
        sides: what the rows of the two arrays are.
        derived: ``image_of_text`` is not in the file: it follows from rows that repeat or are padding.
    """

    arrays: tuple[Array, ...]
    image_ids: Ids | None = None
    text_ids: Ids | None = None
    image_of_text: Ids | None = None
    format: str = "arrays"
    sources: tuple[Path, ...] = ()
    holds: Holds = "rows or ids"
    captions: tuple[str, ...] | None = None
    encoder: str = ""
    derived: bool = False
    sides: tuple[str, str] = ("image", "text")

    @property
    def values(self) -> Array:
        """The one array."""
        return self.arrays[0]

    @property
    def images(self) -> Array:
        """The vectors of the images."""
        return self.arrays[0]

    @property
    def texts(self) -> Array:
        """The vectors of the texts."""
        return self.arrays[1]

    @property
    def n_image(self) -> int:
        """The number of image rows."""
        return len(self.arrays[0])

    @property
    def n_text(self) -> int:
        """The number of text rows, or of columns of scores."""
        return len(self.arrays[1]) if len(self.arrays) > 1 else int(self.arrays[0].shape[1])

    @property
    def where(self) -> Path:
        """The file, for messages."""
        return self.sources[0]


CHUNK_NUMBERS = 1 << 20  # checked at a time by a thread, so that a memory-mapped file is never copied


def check_vectors(
    images: Array, texts: Array, where: Path, image_ids: Ids | None, text_ids: Ids | None,
    sides: tuple[str, str] = ("image", "text"),
) -> None:  # fmt: skip
    """Refuse arrays that cannot be a pair of embedding matrices, (row, dim) each.

    Raises:
        BadInput: not two-dimensional (region features are named as such), empty, widths that differ, a NaN or
            infinite value (first row named), a zero vector (first row named).
    """
    for side, array in zip(sides, (images, texts), strict=True):
        if array.dtype.kind != "f":
            raise BadInput(f"{side} array has dtype {array.dtype}, expected floats", where=where, fix="save float32")
        if array.ndim == 3:
            (n, regions, dim), name = array.shape, f"{side}s" if sides[0] == "image" else "rows"
            raise BadInput(
                f"{side} array has shape {array.shape}: {regions} vectors of {dim} dimensions for each of {n} "
                f"{name}. These are region (or token) features, the input of a model, and not embeddings",
                where=where,
                fix=f"save one vector per row (join batches), or give the scores of the model with {spell('scores')}",
            )
        if array.ndim != 2:
            what = f"{side} array has shape {array.shape}, expected (rows, dim)"
            raise BadInput(what, where=where, fix="save one vector per row")
        if 0 in array.shape:
            raise BadInput(f"{side} array is empty: shape {array.shape}", where=where, fix="save at least one vector")
    if images.shape[1] != texts.shape[1]:
        what = f"{sides[0]} vectors have {images.shape[1]} dimensions and {sides[1]} vectors {texts.shape[1]}"
        raise BadInput(what, where=where, fix="save both in the joint space of the model, after its projections")
    low, high = SAFE_LENGTH
    for side, array, ids in zip(sides, (images, texts), (image_ids, text_ids), strict=True):
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
        raise BadInput(what, where=where, fix="save one row per image and one column per text")
    if 0 in scores.shape:
        raise BadInput(f"score matrix is empty: shape {scores.shape}", where=where, fix="save at least one score")


def _row(side: str, row: int, ids: Ids | None) -> str:
    return f"{side} row {row}" + (f" (id {format_id(ids[row])})" if ids is not None and row < len(ids) else "")


def _such(count: int) -> str:
    return f" ({count:,} such rows)" if count > 1 else ""


def format_id(name: object) -> str:
    """An id or another value of a file for a message, cut to 60 characters."""
    text = str(name)
    return text if len(text) <= 60 else text[:59] + "…"


def _first_row(array: Array, test: Any) -> tuple[int, int] | None:
    """The first row for which ``test`` of a block is true, and the number of such rows; None without any."""
    step = max(1, CHUNK_NUMBERS // max(array.shape[1], 1))
    found = each(lambda start: start + np.flatnonzero(test(array[start : start + step])), range(0, len(array), step))
    hits = np.concatenate(found) if found else np.zeros(0, np.int64)
    return (int(hits[0]), len(hits)) if len(hits) else None
