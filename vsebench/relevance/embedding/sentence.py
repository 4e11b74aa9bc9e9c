"""Sentence gains: the cosine of a sentence encoder's vectors of the image's captions and of a caption.

r(V_i, T_j) of the pseudo-label papers (Sentence-BERT, Reimers and Gurevych, EMNLP 2019), with the image standing for
its captions: the best of them by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...data.formats.aliases import TEXTS
from ...data.match import rows_of
from ...errors import BadInput
from ...types import Split
from ..arrays import inspect, read_array
from ..gains import Progress, choice
from . import encoders
from .aggregate import AGGREGATES, OWN, CaptionCosine, caption_cosine

FILES = (".npy", ".npz", ".safetensors", ".pt", ".pth", ".h5", ".hdf5")


def load(split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> CaptionCosine:
    """Gains of a sentence encoder, or of caption vectors in a file.

    Args:
        split: with its captions, unless the vectors come from a file.
        argument: a sentence-transformers model (name or folder), or a file of caption vectors; when None the
            model all-MiniLM-L6-v2.
        settings: ``agg`` (max, mean, first) and ``own`` (in, one, out).
        progress: told the share of the captions that is encoded.

    Raises:
        MissingPackage: sentence-transformers is not installed.
        BadInput: the model or the file cannot be read, or has vectors of other captions.
        UsageError: a wrong setting.
    """
    agg, own = choice(settings, "agg", AGGREGATES), choice(settings, "own", OWN)
    notes: tuple[str, ...] = ()
    if argument is not None and (argument.lower().endswith(FILES) or Path(argument).expanduser().is_file()):
        path = Path(argument).expanduser()
        vectors, notes = read_vectors(path, split)
        identity = f"{path.name}#{_checked(vectors, path)}"
    else:
        if argument is None:
            notes = (f"sentence: no encoder was named, {encoders.MINILM} is taken",)
        if split.captions is None:
            raise BadInput(
                f"sentence needs the captions of split '{split.name}', which are not known",
                fix="vsebench data build, or give the captions' vectors: sentence:FILE.npy",
            )
        model = encoders.find(argument or encoders.MINILM)
        vectors, identity = encoders.embed(split.captions, model, progress), model.identity
        _checked(vectors, Path(model.source))
    return caption_cosine("sentence", split, vectors, agg=agg, own=own, settings={"model": identity}, notes=notes)


def from_vectors(split: Split, vectors: npt.NDArray[Any], *, agg: str = "max", own: str = "in") -> CaptionCosine:
    """Gains from vectors in memory.

    Args:
        split: which caption belongs to which image.
        vectors: (caption, dim) floats, row for row the captions of the split; of any length, none of them zero.
        agg: ``max``, ``mean`` or ``first`` of the image's captions.
        own: ``in``, ``one`` or ``out``, see ``caption_cosine``.

    Raises:
        BadInput: another number of rows, a value that is not finite, a zero vector.
        UsageError: a wrong setting.
    """
    agg, own = choice({"agg": agg}, "agg", AGGREGATES), choice({"own": own}, "own", OWN)
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or vectors.shape[1] == 0:
        raise BadInput(f"caption vectors of shape {vectors.shape} {vectors.dtype}", fix="give (caption, dim) floats")
    _same_number(vectors, split, None)
    identity = {"model": f"vectors#{_checked(vectors, None)}"}
    return caption_cosine("sentence", split, vectors, agg=agg, own=own, settings=identity)


def read_vectors(path: Path, split: Split) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """(caption, dim) vectors of a file in the order of the split, and notes.

    Captions are matched by ``text_ids`` where the file has them, else row for row: with the split, a custom one as it
    stands in the user's file.

    Raises:
        BadInput: not a file of vectors, or not of these captions.
    """
    stored = read_array(path, TEXTS, "save one vector a caption of the split with np.save")
    if stored.text_ids is None:
        _same_number(stored.values, split, path)
        place = split.places[1]
        whose = "the split" if split.name != "custom" else "the caption vectors"
        return stored.values if place is None else stored.values[place], (
            *stored.notes,
            f"{path.name} has no caption ids: its rows are taken in the order of {whose}",
        )
    order = rows_of(stored.text_ids, split.caption_ids, split.image_ids, "text", split.name, path)
    if len(stored.text_ids) != len(stored.values):
        raise BadInput(f"{len(stored.text_ids):,} text ids for {len(stored.values):,} vectors", where=path)
    in_order = bool((order == np.arange(len(order))).all())
    return stored.values if in_order else stored.values[order], stored.notes


def _same_number(vectors: npt.NDArray[Any], split: Split, where: Path | None) -> None:
    if len(vectors) != len(split.caption_ids):
        raise BadInput(
            f"{len(vectors):,} vectors for the {len(split.caption_ids):,} captions of split '{split.name}'",
            where=where,
            fix="save one vector a caption, in the order of the split, or text_ids beside them",
        )


def _checked(vectors: npt.NDArray[Any], where: Path | None) -> str:
    """Eight digits of the vectors, none of which may be zero."""
    digits, _ = inspect(vectors, "caption row", where)
    for start in range(0, len(vectors), 4096):
        zero = np.flatnonzero(~vectors[start : start + 4096].any(axis=1))
        if len(zero):
            raise BadInput(
                f"caption row {start + zero[0]} is all zeros: it has no direction to compare",
                where=where,
                fix="encode this caption again",
            )
    return digits
