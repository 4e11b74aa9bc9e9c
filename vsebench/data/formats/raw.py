"""What a reader hands over: plain arrays as a file stores them, nothing judged and nothing matched yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...types import Ids

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Member:
    """One named array of a file, described from its header before any of its data is read.

    Attributes:
        name: as in the file; nested names are joined by ``/``.
        shape: the declared shape.
        dtype: its plain name: ``float32``, ``bfloat16``, ``int64``, ``str``, ``object``, ...
        nbytes: memory that loading takes; 0 when the array is mapped from the file.
        stored: bytes the data takes in the file.
        load: reads the array, (shape), as stored; bfloat16 comes as float32.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    stored: int
    load: Callable[[], Array]

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
class RawEmbeddings:
    """The vectors of both sides, as stored.

    Attributes:
        images: (n_image_rows, dim) float16, float32 or float64 in native byte order, maybe a read-only memory
            map. Any number of dimensions: the input audit decides.
        texts: (n_text_rows, dim), likewise.
        image_ids: (n_image_rows,) int64 or unicode, or None.
        text_ids: (n_text_rows,) int64 or unicode, or None.
        image_of_text: (n_text_rows,) int64 (image rows or image ids) or unicode (image ids), or None.
        format: ``npz``, ``npy pair``, ``clip-retrieval``, ``safetensors``, ``torch``, ``hdf5``, ``parquet``
            or ``arrow``.
        sources: every file that was read.
        notes: what the person should know about the reading, one sentence each.
    """

    images: Array
    texts: Array
    image_ids: Ids | None
    text_ids: Ids | None
    image_of_text: Ids | None
    format: str
    sources: tuple[Path, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawScores:
    """A score matrix, as stored.

    Attributes:
        scores: (n_image, n_text) float16, float32 or float64 in native byte order, maybe a read-only memory
            map.
        image_ids: (n_image,) int64 or unicode, or None.
        text_ids: (n_text,) int64 or unicode, or None.
        image_of_text: (n_text,) int64 or unicode, or None.
        format: ``npy``, ``npz``, ``safetensors``, ``torch`` or ``hdf5``.
        sources: every file that was read.
        notes: what the person should know about the reading, one sentence each.
    """

    scores: Array
    image_ids: Ids | None
    text_ids: Ids | None
    image_of_text: Ids | None
    format: str
    sources: tuple[Path, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawRun:
    """Retrieved lists, best first; of their scores only which are equal.

    Attributes:
        lists: query id -> item ids, by direction: ``i2t``, ``t2i``, or ``?0``, ``?1`` (the number of the
            file) when the file does not say. Ids are int when every id of their kind is a decimal number.
        format: ``trec``, ``eccv-json`` or ``trec + eccv-json``.
        sources: every file that was read.
        notes: what the person should know about the reading, one sentence each.
        tied: by direction, where scores are known: query id -> places (from 0) with the score of the place before.
    """

    lists: dict[str, dict[int | str, list[int | str]]]
    format: str
    sources: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    tied: dict[str, dict[int | str, list[int]]] = field(default_factory=dict)
