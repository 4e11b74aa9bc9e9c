"""What readers return: arrays and scores as a file stores them, not yet checked or matched to a split."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..types import Ids

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
        note: what was decided in reading it, one sentence.
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
        arrays: those of images, (n_image_rows, dim), and of texts, (n_text_rows, dim), or the one array; of scores
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
