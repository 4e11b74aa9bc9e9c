"""Label distances by name, from a file or an array of labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError, unknown
from ..files.raw import Raw
from ..log import logged
from ..options import spell
from ..types import Ids, Modality
from .distances import LabelDistance, classes, euclidean, precomputed
from .files import align, read_labels_array
from .masks import miou

KINDS: dict[str, str] = {
    "euclidean": "Euclidean distance of label vectors (item, ...), such as poses",
    "precomputed": "given distances: (item, item), or one row per query and one column per gallery item",
    "miou": "1 - mean intersection over union of masks (item, height, width); :ignore=N for pixels without a label",
    "wmd": "word mover's distance between the caption sets of images; :FILE gives the word vectors",
}

READINGS = ("classes", "numbers")  # of labels with one value an item


def read_labels(
    path: Path,
    how: str | None,
    ids: Ids | None,
    modality: Modality = "image",
    key: str | None = None,
    labels_are: str | None = None,
) -> LabelDistance:
    """The label distance of ``--labels`` and ``--label-distance``.

    Args:
        path: .npy, .npz, safetensors, torch or HDF5 file of labels; for ``wmd`` a file of captions.
        how: ``euclidean``, ``precomputed``, ``miou``, ``miou:ignore=255`` or ``wmd:VECTORS``; None decides by the
            shape: Euclidean for label vectors; a shape that several distances accept is refused.
        ids: (item,) ids of the items; labels with ids are matched by them, others by row.
        modality: its ids are read if the file of labels has ids of images and of captions.
        key: name of the array of labels.
        labels_are: ``classes`` (items of other classes are all equally far away) or ``numbers`` (positions on a line);
            None takes strings as classes and refuses integers that repeat.

    Raises:
        BadInput: the file is not readable, or the distance is not defined for its labels.
        UsageError: an unknown distance, or several distances fit the shape.
        MissingPackage: a package or file is missing.
    """
    kind, argument = _parse(how, labels_are)
    if kind == "wmd":
        from .wmd import read_caption_sets

        if key is not None:
            raise UsageError(
                f"{spell('labels_key')} is the name of an array, but captions have none", fix="leave it out"
            )
        return read_caption_sets(path, argument, ids)
    with logged() as log:
        read = read_labels_array(path, modality, key)
        kind = kind or _decide(read, labels_are)
        square = read.values.ndim == 2 and read.values.shape[0] == read.values.shape[1]
        if kind != "precomputed" or square:
            read = align(read, ids, square=kind == "precomputed")
    found = _label_distance(kind, argument, read)
    return replace(found, notes=(*log.notes, *found.notes))


def label_distance_of(labels: npt.NDArray[Any], how: str | None, labels_are: str | None = None) -> LabelDistance:
    """The label distance of labels in memory, one row an item; ``how`` and ``labels_are`` as for ``read_labels``.

    Raises:
        BadInput: the distance is not defined for these labels.
        UsageError: an unknown distance, several distances fit the shape, or ``wmd``, which needs a file of captions.
    """
    kind, argument = _parse(how, labels_are)
    if kind == "wmd":
        raise UsageError("wmd needs a file of captions", fix="give the path of the file")
    read = Raw((labels,), sources=(Path("<labels>"),))
    return _label_distance(kind or _decide(read, labels_are), argument, read)


def _label_distance(kind: str, argument: str | None, read: Raw) -> LabelDistance:
    if kind == "miou":
        return miou(read.values, _ignored_class(argument), read.where)
    return {"precomputed": precomputed, "classes": classes, "euclidean": euclidean}[kind](read.values, read.where)


def _parse(how: str | None, labels_are: str | None) -> tuple[str | None, str | None]:
    if labels_are is not None and labels_are not in READINGS:
        raise UsageError(f"{spell('labels_are')} is '{labels_are}'", fix=f"use {' or '.join(READINGS)}")
    if labels_are is not None and how is not None:
        raise UsageError(
            f"{spell('labels_are')} cannot be combined with {spell('label_distance', how)}", fix="leave one of them out"
        )
    if how is None:
        return None, None
    kind, colon, argument = how.partition(":")
    if kind not in KINDS:
        raise unknown("label distance", kind, KINDS, where=spell("label_distance"))
    if colon and kind in ("euclidean", "precomputed"):
        raise UsageError(f"{kind} takes no '{argument}'", where=spell("label_distance"), fix=f"write {kind}")
    return kind, argument if colon else None


def _ignored_class(argument: str | None) -> int | None:
    if argument is None:
        return None
    name, equals, value = argument.partition("=")
    if name != "ignore" or not equals or not value.removeprefix("-").isdecimal() or len(value) > 18:
        raise UsageError(f"miou takes no '{argument}'", where=spell("label_distance"), fix="write miou:ignore=255")
    return int(value)


def _decide(read: Raw, labels_are: str | None) -> str:
    """The distance for labels of this shape and type; UsageError when several fit."""
    values = read.values
    if labels_are == "numbers" and values.dtype.kind == "U":
        what = f"holds strings such as '{values.flat[0]}', which are not numbers"
        raise UsageError(what, where=read.where, fix=f"give {spell('labels_are', 'classes')}")
    if labels_are is not None:
        return "classes" if labels_are == "classes" else "euclidean"
    if values.dtype.kind == "U":
        return "classes"
    if values.ndim == 2 and values.shape[0] == values.shape[1] > 1:
        what = f"holds a square array {values.shape}: distances of items, or label vectors?"
        raise UsageError(what, where=read.where, fix=_choose_one("precomputed", "euclidean"))
    if values.ndim >= 3 and values.dtype.kind in "biu":
        what = f"holds integers {values.shape}: masks, or coordinates?"
        raise UsageError(what, where=read.where, fix=_choose_one("miou", "euclidean"))
    if not np.issubdtype(values.dtype, np.number) and values.dtype != np.bool_:
        raise BadInput(f"holds {values.dtype}", where=read.where, fix="save label vectors as numbers")
    if values.size == len(values) and (distinct := _repeated(values)):
        what = f"holds {distinct} distinct integers for {len(values):,} items: classes, or numbers on a line?"
        fix = f"add {spell('labels_are', 'classes')} or {spell('labels_are', 'numbers')}"
        raise UsageError(what, where=read.where, fix=fix)
    return "euclidean"


def _choose_one(*distances: str) -> str:
    """What to do where several label distances fit."""
    return "add " + " or ".join(spell("label_distance", how) for how in distances)


def _repeated(values: npt.NDArray[Any]) -> int:
    """How many distinct integers there are, from 2 to half as many as items; 0 for other numbers."""
    distinct = np.unique(values)
    whole = distinct.dtype.kind in "biu" or bool((distinct == np.round(distinct)).all())
    return len(distinct) if whole and 2 <= len(distinct) <= len(values) // 2 else 0
