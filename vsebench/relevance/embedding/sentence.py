"""Sentence gains: cosine of the vectors of a sentence encoder, of a caption and the captions of an image.

r(V_i, T_j) of the pseudo-label papers (Sentence-BERT, Reimers and Gurevych, EMNLP 2019); an image is represented by
its captions, by default by the one with the largest cosine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import BadInput
from ...files.formats import array_endings
from ...files.members import TEXTS, read_array
from ...files.regular import expanded
from ...log import note
from ...sets import owners
from ...sets.match import rows_of
from ...types import TestSet
from ..gains import Gains, Progress
from ..matrix import check_values
from . import encoders
from .aggregate import caption_cosine


def load(test: TestSet, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """Gains of a sentence encoder, or of caption vectors in a file.

    Args, see ``sources.Loader``:
        test: with its captions, unless the vectors come from a file.
        argument: a sentence-transformers model (name or folder), or a file of caption vectors; the model
            all-MiniLM-L6-v2 when None.
        settings: ``agg`` (max, mean, first) and ``own`` (in, one, out).

    Raises:
        MissingPackage: sentence-transformers is not installed.
        BadInput: the model or the file cannot be read, or the file has vectors of other captions.
    """
    if argument is not None and (argument.lower().endswith(array_endings()) or expanded(argument).is_file()):
        path = expanded(argument)
        vectors = read_vectors(path, test)
        identity = f"{path.name}#{_fingerprint(vectors, path)}"
    else:
        if argument is None:
            note(f"no encoder is named, {encoders.MINILM} is used")
        if test.columns.texts is None:
            what = f"sentence needs the captions of split '{test.name}', which are not known"
            raise BadInput(what, fix="vsebench data build, or give the captions' vectors: sentence:FILE.npy")
        model = encoders.find(argument or encoders.MINILM)
        vectors, identity = encoders.embed(test.columns.texts, model, progress), model.identity
        _fingerprint(vectors, Path(model.source))
    return caption_cosine(
        "sentence", test, vectors, agg=settings["agg"], own=settings["own"], settings={"model": identity}
    )


def read_vectors(path: Path, test: TestSet) -> npt.NDArray[Any]:
    """(caption, dim) vectors of a file in the order of the split.

    Rows are matched by ``text_ids`` where the file has them. Otherwise they are in the order of the split, which for a
    custom split is the order of the user's own file.

    Raises:
        BadInput: not a file of vectors, or vectors of other captions.
    """
    stored = read_array(path, TEXTS, "save one vector a caption of the split with np.save")
    if stored.text_ids is None:
        if len(stored.values) != len(test.columns):
            items = f"{len(test.columns):,} {test.columns.plural} of split '{test.name}'"
            what = f"{len(stored.values):,} vectors for the {items}"
            fix = "save one vector a caption, in the order of the split, or with their text_ids"
            raise BadInput(what, where=path, fix=fix)
        note(owners.order_note(path.name, [test.columns.name], test))
        place = owners.order(test, test.columns.name)
        return stored.values if place is None else stored.values[place]
    order = rows_of(stored.text_ids, test.columns.ids, test.rows.ids, "text", test.name, path)
    if len(stored.text_ids) != len(stored.values):
        what = f"{len(stored.text_ids):,} text ids for {len(stored.values):,} vectors"
        raise BadInput(what, where=path, fix="save one id a vector")
    in_order = bool((order == np.arange(len(order))).all())
    return stored.values if in_order else stored.values[order]


def _fingerprint(vectors: npt.NDArray[Any], where: Path) -> str:
    """Eight hexadecimal digits of the SHA-256 of the vectors; raises BadInput for one that is zero or not finite."""
    digits, *_ = check_values(vectors, "caption row", where)
    for start in range(0, len(vectors), 4096):
        zero = np.flatnonzero(~vectors[start : start + 4096].any(axis=1))
        if len(zero):
            what = f"caption row {start + zero[0]} is all zeros: it has no direction to compare"
            raise BadInput(what, where=where, fix="encode this caption again")
    return digits
