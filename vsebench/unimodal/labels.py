"""From a file of labels and the name of a distance to distances of items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..registry import unknown
from ..types import Ids, Modality
from .distances import LabelDistance, euclidean, precomputed
from .files import Read, align, read_array
from .masks import miou

KINDS: dict[str, str] = {
    "euclidean": "Euclidean distance of label vectors (item, ...), such as poses",
    "precomputed": "given distances: (item, item), or one row a query and one column a gallery item",
    "miou": "1 - mean intersection over union of masks (item, height, width); :ignore=N for pixels without a label",
    "wmd": "word mover's distance between the caption sets of images; :FILE names the word vectors",
}


def read_labels(
    path: Path, how: str | None, ids: Ids | None, modality: Modality = "image", key: str | None = None
) -> LabelDistance:
    """The label distance that ``--labels`` and ``--label-distance`` name.

    Args:
        path: .npy, .npz, safetensors, torch or HDF5 file of labels; for ``wmd`` a file of captions.
        how: ``euclidean``, ``precomputed``, ``miou``, ``miou:ignore=255`` or ``wmd:VECTORS``; None decides by the
            shape: label vectors are compared by their Euclidean distance, what could be something else is refused.
        ids: (item,) ids of the items; labels that carry ids are matched by them, others by row.
        modality: which ids of the labels are meant when the file has those of images and of captions.
        key: name of the array of labels.

    Raises:
        BadInput: the file is not readable, or holds labels that have no such distance.
        UsageError: an unknown distance, or one that has to be named.
        MissingPackage: a package or file is not there; the message says how to get it.
    """
    kind, argument = _parse(how)
    if kind == "wmd":
        from .wmd import read_caption_sets

        if key is not None:
            raise UsageError("--labels-key names an array, and captions have none", fix="leave it out")
        return read_caption_sets(path, argument, ids)
    read = read_array(path, modality, key)
    kind = kind or _decide(read)
    square = read.values.ndim == 2 and read.values.shape[0] == read.values.shape[1]
    if kind != "precomputed" or square:
        read = align(read, ids, square=kind == "precomputed")
    return replace(_made(kind, argument, read), notes=read.notes)


def label_distance_of(labels: npt.NDArray[Any], how: str | None) -> LabelDistance:
    """The label distance of labels in memory, one row an item; ``how`` as for ``read_labels``.

    Raises:
        BadInput: labels that have no such distance.
        UsageError: an unknown distance, one that has to be named, or ``wmd``, which needs a file of captions.
    """
    kind, argument = _parse(how)
    if kind == "wmd":
        raise UsageError("wmd needs a file of captions", fix="give the path of the file")
    read = Read(labels, None, Path("<labels>"))
    return _made(kind or _decide(read), argument, read)


def _made(kind: str, argument: str | None, read: Read) -> LabelDistance:
    if kind == "miou":
        return miou(read.values, _ignored(argument), read.where)
    return (precomputed if kind == "precomputed" else euclidean)(read.values, read.where)


def _parse(how: str | None) -> tuple[str | None, str | None]:
    if how is None:
        return None, None
    kind, colon, argument = how.partition(":")
    if kind not in KINDS:
        raise unknown("label distance", kind, KINDS, where="--label-distance")
    if colon and kind in ("euclidean", "precomputed"):
        raise UsageError(f"{kind} takes no '{argument}'", where="--label-distance", fix=f"write {kind}")
    return kind, argument if colon else None


def _ignored(argument: str | None) -> int | None:
    if argument is None:
        return None
    name, equals, value = argument.partition("=")
    if name != "ignore" or not equals or not value.lstrip("-").isdecimal() or len(value) > 18:
        raise UsageError(f"miou takes no '{argument}'", where="--label-distance", fix="write miou:ignore=255")
    return int(value)


def _decide(read: Read) -> str:
    """The distance that a shape stands for; UsageError when it could be two."""
    values = read.values
    fix = "add --label-distance"
    if values.ndim == 2 and values.shape[0] == values.shape[1] > 1:
        what = f"holds a square array {values.shape}: distances of items, or label vectors?"
        raise UsageError(what, where=read.where, fix=f"{fix} precomputed or {fix} euclidean")
    if values.ndim >= 3 and values.dtype.kind in "biu":
        what = f"holds whole numbers {values.shape}: masks, or coordinates?"
        raise UsageError(what, where=read.where, fix=f"{fix} miou or {fix} euclidean")
    if not np.issubdtype(values.dtype, np.number):
        raise BadInput(f"holds {values.dtype}", where=read.where, fix="save label vectors as numbers")
    return "euclidean"
