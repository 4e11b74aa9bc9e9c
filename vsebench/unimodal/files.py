"""Reading the vectors of one modality and the labels of its items from files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.audit import check_finite
from ..data.formats.aliases import IMAGES, TEXTS, Field, describe, named, pick
from ..data.formats.guard import check_size
from ..data.formats.ids import as_ids
from ..data.formats.members import floats, members_of
from ..data.formats.raw import Member
from ..data.formats.sniff import expect, sniff
from ..data.formats.table import array_suffixes
from ..errors import BadInput, UsageError, count_of
from ..types import SAFE_LENGTH, Ids, Modality, Vectors
from .queries import locate

Array = npt.NDArray[Any]
_ANY = ("embeddings", "embeds", "embs", "features", "vectors")
_IDS = ("ids", "item_ids")
VECTORS: dict[Modality, Field] = {
    "image": Field("image vectors", (*IMAGES.names, *_ANY), "--key"),
    "caption": Field("text vectors", (*TEXTS.names, *_ANY), "--key"),
}
IDS: dict[Modality, Field] = {
    "image": Field("image ids", ("image_ids", "img_ids", "images_ids", *_IDS)),
    "caption": Field("text ids", ("text_ids", "caption_ids", "cap_ids", "captions_ids", *_IDS)),
}
LABELS = Field(
    "labels",
    ("labels", "label", "poses", "masks", "distances", "label_distances", "distance_matrix", "targets", "y"),
    "--labels-key",
)


@dataclass(frozen=True, eq=False)
class Read:
    """An array of a file and the ids of its rows.

    Attributes:
        values: (item, ...) as stored, maybe a read-only memory map.
        ids: (item,) int64 or unicode, or None.
        where: the file.
        notes: what was decided in reading.
    """

    values: Array
    ids: Ids | None
    where: Path
    notes: tuple[str, ...] = ()


def read_vectors(path: Path, modality: Modality, key: str | None = None) -> Read:
    """The vectors of one modality: .npy, .npz, safetensors, torch or HDF5.

    Args:
        path: the file.
        modality: which vectors to read when a file has both.
        key: name of the array, when it is not one of the standard names.

    Returns:
        values (item, dim) float32, finite and C-contiguous.

    Raises:
        BadInput: unreadable, not two-dimensional floats, empty, a NaN or infinite value, or a number too large.
        UsageError: ``key`` for an .npy file.
        MissingPackage: the package that reads this format is not installed.
    """
    chosen, ids, notes = _members(path, VECTORS[modality], IDS[modality], key)
    side = VECTORS[modality].words.split()[0]
    array = floats(chosen, path)
    if array.ndim != 2 or 0 in array.shape:
        raise BadInput(f"array '{chosen.name}' has shape {array.shape}", where=path, fix="save one vector a row")
    check_finite(array, side, path, ids)
    largest = max(float(array.max()), -float(array.min()))
    if largest > SAFE_LENGTH[1] / np.sqrt(array.shape[1]):
        what = f"array '{chosen.name}' holds {largest:.3g}; lengths up to {SAFE_LENGTH[1]:g} can be ranked exactly"
        raise BadInput(what, where=path, fix="scale the vectors")
    if array.dtype.itemsize > 4:
        notes = (*notes, "vectors are float64 in the file and ranked as float32")
    vectors: Vectors = np.require(array, np.float32, ["C", "A"])
    _check_ids(ids, len(vectors), path)
    return Read(vectors, ids, path, notes)


def read_array(path: Path, modality: Modality = "image", key: str | None = None) -> Read:
    """The labels of the items, any shape and any kind of number: .npy, .npz, safetensors, torch or HDF5.

    Raises:
        BadInput: unreadable, not numbers, or empty.
        UsageError: ``key`` for an .npy file.
        MissingPackage: the package that reads this format is not installed.
    """
    chosen, ids, notes = _members(path, LABELS, IDS[modality], key)
    values = chosen.load()
    if not chosen.dtype.startswith(("float", "bfloat", "int", "uint", "bool")):
        if len(chosen.shape) != 1 or values.dtype.kind not in "SUO":
            raise BadInput(f"array '{chosen.name}' {chosen.shape} is {chosen.dtype}", where=path, fix="save numbers")
        values = as_ids(values, chosen.name, path).astype(str)  # names of classes
    if values.ndim == 0 or 0 in values.shape:
        raise BadInput(f"array '{chosen.name}' has shape {values.shape}", where=path, fix="save one label an item")
    values = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    _check_ids(ids, len(values), path)
    return Read(values, ids, path, notes)


def align(labels: Read, ids: Ids | None, square: bool = False) -> Read:
    """Labels in the order of the items, by id where both files have ids, else by row.

    Args:
        labels: as read.
        ids: (item,) ids of the items, or None.
        square: the columns are items too.

    Raises:
        BadInput: an item has no label.
    """
    if ids is None or labels.ids is None:
        return labels
    order = locate(labels.ids, ids, labels.where)
    if len(order) == len(labels.ids) and np.array_equal(order, np.arange(len(order))):
        return labels
    values = labels.values[np.ix_(order, order)] if square else labels.values[order]
    return replace(labels, values=values, ids=ids, notes=(*labels.notes, "labels are matched to the items by id"))


def _members(path: Path, field: Field, id_field: Field, key: str | None) -> tuple[Member, Ids | None, tuple[str, ...]]:
    kind = sniff(path)
    expect(path, kind, kind.arrays is not None, f"a file of {field.words}", f"give {array_suffixes()}")
    if kind.single and key is not None:
        raise UsageError(
            f"{field.flag} names an array inside a file, and an .npy file holds one", where=path, fix="leave it out"
        )
    members = members_of(path, kind)
    if kind.single:
        return members[0], None, ()
    chosen = named(members, key, field, path) if key else pick(members, field, path)
    notes: tuple[str, ...] = ()
    if chosen is None:
        numbers = [m for m in members if len(m.shape) >= 2]
        if len(numbers) != 1:
            what = f"has no {field.words} under a known name; it holds {describe(members)}"
            raise BadInput(what, where=path, fix=f"name the array with {field.flag} KEY")
        chosen = numbers[0]
        notes = (f"{field.words} are read from '{chosen.name}'",)
    ids = pick(members, id_field, path, beside=chosen)
    check_size([m for m in (chosen, ids) if m is not None], path)
    return chosen, None if ids is None else as_ids(ids.load(), ids.name, path), notes


def _check_ids(ids: Ids | None, n: int, path: Path) -> None:
    if ids is None:
        return
    if len(ids) != n:
        raise BadInput(
            f"holds {count_of(len(ids), 'id')} for {count_of(n, 'row')}", where=path, fix="save one id a row"
        )
    unique, count = np.unique(ids, return_counts=True)
    if len(unique) != n:
        raise BadInput(f"id {unique[count > 1][0]} occurs more than once", where=path, fix="give every row its own id")
