"""Class labels as judgements: relevant are the items of the other side that share a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, UsageError, count_of, shown
from ..files.ids import as_ids, id_array, match
from ..files.kinds import KINDS
from ..files.records import missing, records, text_of
from ..sets import owners
from ..types import SIDES, Bool, Ids, Modality, TestSet

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels of the images and captions: (item,) ids, None for the order of the split, and labels of each."""

    ids: Mapping[Modality, Ids | None]
    labels: Mapping[Modality, Sequence[Sequence[str]]]
    where: str


def read_labels(path: Path) -> Labels:
    """Class labels of images and captions of records; an item may have several, in several rows or separated by bars.

    A row has the label of an image, of a caption, or of both, where it has both ids.

    Raises:
        BadInput: unreadable, no column of labels or several, or not both of image and caption ids.
        MissingPackage: parquet without pyarrow.
    """
    table, kind = records(path, "labels"), KINDS["labels"]
    columns = [name for name in table if str(name).lower() in kind.fields["label"]]
    named = kind.find(table)
    if len(columns) != 1 or not {*SIDES["i2t"]} <= named.keys():
        what = f"has columns {', '.join(map(str, table)) or '(none)'}"
        raise BadInput(what, where=path, fix=kind.fix)
    found: dict[Modality, dict[str, dict[str, None]]] = {side: {} for side in SIDES["i2t"]}
    for side in SIDES["i2t"]:
        for item, label in zip(table[named[side]], table[columns[0]], strict=True):
            if not missing(item) and not missing(label):
                several = label if isinstance(label, list) else text_of(label).split("|")
                words = (text_of(word) for word in several)
                found[side].setdefault(text_of(item), {}).update((word, None) for word in words if word)
    ids = {side: as_ids(id_array(list(own), "ids", path), f"{side}_id", path) for side, own in found.items()}
    return Labels(ids, {side: [list(words) for words in own.values()] for side, own in found.items()}, str(path))


def in_memory(value: Any, where: str) -> Labels:
    """Labels in memory, in the order of the split: a word or a number an item, or several, or (item, class) of 0, 1."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise UsageError(f"{where}: labels are {shown(value)}", fix="give those of the images and of the captions")
    images, captions = (_classes(labels, where) for labels in value)
    return Labels({"image": None, "caption": None}, {"image": images, "caption": captions}, where)


def _classes(labels: Any, where: str) -> list[list[str]]:
    """The classes of every item as words, none of an item without a label."""
    labels = labels.toarray() if hasattr(labels, "toarray") else labels
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
        if array.ndim == 2 and array.shape[1] > 1 and np.isin(array, (0, 1)).all():
            return [[str(c) for c in np.flatnonzero(row)] for row in array]
        if array.ndim != 1 and array.shape[1:] != (1,):
            what = f"{where}: labels are {shown(array)}"
            raise UsageError(what, fix="give a label an item, or (item, class) of 0 and 1")
        labels = array.ravel().tolist()
    if not isinstance(labels, (list, tuple)):
        raise UsageError(f"{where}: labels are {shown(labels)}", fix="give a label an item")
    rows = [list(row) if isinstance(row, (list, tuple, set, frozenset)) else [row] for row in labels]
    if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 and all(x in (0, 1) for row in rows for x in row):
        what = f"{where}: labels are rows of 0 and 1, which may be columns of classes, or the classes 0 and 1"
        raise UsageError(what, fix="give columns of classes as an array, and classes as words")
    return [[word for x in row if not missing(x) and (word := text_of(x))] for row in rows]


def of_labels(labels: Labels, test: TestSet) -> tuple[csr_array, tuple[Bool, Bool], Sequence[str]]:
    """(image, caption) 1 where the two share a class; the images and captions that have a label; and notes.

    Items without a label are no queries, and no positives.

    Raises:
        BadInput: labels for another number of items, or for none of the split.
    """
    from scipy.sparse import csr_array

    classes: dict[str, int] = {}
    tables = []
    for side in SIDES["i2t"]:
        found = [
            (i, classes.setdefault(word, len(classes)))
            for i, words in zip(*_placed(labels, side, test), strict=True)
            for word in words
            if i >= 0
        ]
        tables.append(np.array(found, np.int64).reshape(-1, 2).T)
    image, caption = (
        csr_array((np.ones(len(row), np.int32), (row, column)), shape=(n, max(len(classes), 1)))
        for n, (row, column) in zip(test.shape, tables, strict=True)
    )
    shared = (image @ caption.T).astype(np.float64)
    shared.data[:] = 1
    unnamed: list[Modality] = [side for side in SIDES["i2t"] if labels.ids[side] is None]
    labelled = np.diff(image.indptr) > 0, np.diff(caption.indptr) > 0
    return shared, labelled, tuple(filter(None, [owners.order_note("labels", unnamed, test)]))


def _placed(labels: Labels, side: Modality, test: TestSet) -> tuple[list[int], Sequence[Sequence[str]]]:
    """The index of every labelled item of one side, -1 of one that the split does not have, and the labels of each."""
    known, ids, own = test.side(side).ids, labels.ids[side], labels.labels[side]
    if ids is None:
        if len(own) != len(known):
            what = f"labels of {count_of(len(own), side)} for {len(known):,} {side}s of split '{test.name}'"
            raise BadInput(what, where=labels.where, fix=f"give one label a {side}, in the order of the rows")
        row = owners.order(test, side)
        return list(range(len(known))), own if row is None else [own[i] for i in row.tolist()]
    at, _ = match(ids, known)
    if not (at >= 0).any():
        what = f"none of its {side} ids is in split '{test.name}' (first: {ids[0]})"
        raise BadInput(what, where=labels.where, fix=f"use ids such as {known[0]}")
    return at.tolist(), own
