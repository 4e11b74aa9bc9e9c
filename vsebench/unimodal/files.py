"""Reading the vectors of one modality and the labels of its items from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, count_of
from ..files.ids import as_ids
from ..files.members import IMAGES, TEXTS, Field, read_array
from ..files.raw import Member, Raw, check_finite
from ..log import note
from ..types import SAFE_LENGTH, Ids, Modality, Vectors
from .queries import locate

Array = npt.NDArray[Any]
_ANY = ("embeddings", "embeds", "embs", "features", "vectors")
_IDS = ("ids", "item_ids")
VECTORS: dict[Modality, Field] = {
    "image": Field("image vectors", (*IMAGES.names, *_ANY), "key"),
    "caption": Field("text vectors", (*TEXTS.names, *_ANY), "key"),
}
IDS: dict[Modality, Field] = {
    "image": Field("image ids", ("image_ids", "img_ids", "images_ids", *_IDS)),
    "caption": Field("text ids", ("text_ids", "caption_ids", "cap_ids", "captions_ids", *_IDS)),
}
LABELS = Field(
    "labels",
    ("labels", "label", "poses", "masks", "distances", "label_distances", "distance_matrix", "targets", "y"),
    "labels_key",
)


def read_vectors(path: Path, modality: Modality, key: str | None = None, repeated: bool = False) -> Raw:
    """The vectors of one modality: .npy, .npz, safetensors, torch or HDF5.

    Args:
        path: the file.
        modality: which vectors to read when a file has both.
        key: name of the array, when it is not one of the standard names.
        repeated: whether an id may occur more than once.

    Returns:
        values (item, dim) float32, finite and C-contiguous.

    Raises:
        BadInput: unreadable, not two-dimensional floats, empty, a NaN or infinite value, or a number too large.
        UsageError: ``key`` for an .npy file.
        MissingPackage: the package that reads this format is not installed.
    """
    read = _read(path, VECTORS[modality], modality, key, matrix=True, repeated=repeated)
    array = read.values
    check_finite(array, VECTORS[modality].words.split()[0], path, read.image_ids)
    largest = max(float(array.max()), -float(array.min()))
    if largest > SAFE_LENGTH[1] / np.sqrt(array.shape[1]):
        what = f"{VECTORS[modality].words} hold {largest:.3g}; lengths up to {SAFE_LENGTH[1]:g} can be ranked exactly"
        raise BadInput(what, where=path, fix="scale the vectors")
    if array.dtype.itemsize > 4:
        note("vectors are float64 in the file and ranked as float32", weight="detail")
    vectors: Vectors = np.require(array, np.float32, ["C", "A"])
    return replace(read, arrays=(vectors,))


def read_labels_array(path: Path, modality: Modality = "image", key: str | None = None) -> Raw:
    """The labels of the items, any shape and any kind of number: .npy, .npz, safetensors, torch or HDF5.

    Raises:
        BadInput: unreadable, not numbers, or empty.
        UsageError: ``key`` for an .npy file.
        MissingPackage: the package that reads this format is not installed.
    """
    return _read(path, LABELS, modality, key, load=_labels)


def _labels(member: Member, path: Path) -> Array:
    """Numbers in native byte order, or strings."""
    values = member.load()
    if not member.dtype.startswith(("float", "bfloat", "int", "uint", "bool")):
        if len(member.shape) != 1 or values.dtype.kind not in "SUO":
            raise BadInput(f"array '{member.name}' {member.shape} is {member.dtype}", where=path, fix="save numbers")
        return as_ids(values, member.name, path).astype(str)  # names of classes
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def align(labels: Raw, ids: Ids | None, square: bool = False) -> Raw:
    """Labels in the order of the items, by id where both files have ids, else by row.

    Args:
        labels: as read.
        ids: (item,) ids of the items, or None.
        square: the columns are items too.

    Raises:
        BadInput: an item has no label.
    """
    if ids is None or labels.image_ids is None:
        return labels
    order = locate(labels.image_ids, ids, labels.where)
    if len(order) == len(labels.image_ids) and np.array_equal(order, np.arange(len(order))):
        return labels
    values = labels.values[np.ix_(order, order)] if square else labels.values[order]
    note("labels are matched to the items by id", weight="detail")
    return replace(labels, arrays=(values,), image_ids=ids)


def _read(
    path: Path,
    field: Field,
    modality: Modality,
    key: str | None,
    matrix: bool = False,
    load: Callable[[Member, Path], Array] | None = None,
    repeated: bool = False,
) -> Raw:
    raw = read_array(path, field, key=key, matrix=matrix, load=load, ids=((IDS[modality],), (), ()))
    if raw.values.ndim == 0 or 0 in raw.values.shape:
        raise BadInput(f"{field.words} have shape {raw.values.shape}", where=path, fix="save one row per item")
    ids, n = raw.image_ids, len(raw.values)
    if ids is not None and len(ids) != n:
        what = f"holds {count_of(len(ids), 'id')} for {count_of(n, 'row')}"
        raise BadInput(what, where=path, fix="save one id per row")
    if ids is not None and len(np.unique(ids)) != n and not repeated:
        unique, count = np.unique(ids, return_counts=True)
        raise BadInput(f"id {unique[count > 1][0]} occurs more than once", where=path, fix="give every row its own id")
    return raw
