"""Class labels as judgements: relevant are the items of the other side that share a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import BadInput, count_of
from ...files.columns import LABEL_COLUMNS, missing, read_table, text_of
from ...files.ids import as_ids, id_array
from ...files.pairs import Pairs, indices
from ...files.read_pairs import columns_of
from ...sets import placing
from ...sets.placing import SIDES
from ...types import DIRECTIONS, Direction, Ids, Modality, Split
from .own import both_ways, noted


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels of the images and captions: (item,) ids, None for the order of the split, and labels of each."""

    ids: Mapping[Modality, Ids | None]
    labels: Mapping[Modality, Sequence[Sequence[str]]]
    where: str


def read_labels(path: Path) -> Labels:
    """Class labels of images and captions of a table; an item may have several, in several rows or separated by bars.

    A row has the label of an image, of a caption, or of both, where it has both ids.

    Raises:
        BadInput: unreadable, no column of labels or several, or not both of image and caption ids.
        MissingPackage: parquet without pyarrow.
    """
    table = read_table(path)
    columns = [name for name in table if name.lower() in LABEL_COLUMNS]
    sides = {side: next((name for name in table if name.lower() in columns_of(side)), None) for side in SIDES}
    if len(columns) != 1 or None in sides.values():
        what = f"has columns {', '.join(map(str, table)) or '(none)'}"
        raise BadInput(what, where=path, fix="write the columns image_id, caption_id and one called label")
    found: dict[Modality, dict[str, dict[str, None]]] = {side: {} for side in SIDES}
    for side, name in sides.items():
        for item, label in zip(table[str(name)], table[columns[0]], strict=True):
            if not missing(item) and not missing(label):
                words = (word.strip() for word in text_of(label).split("|"))
                found[side].setdefault(text_of(item), {}).update((word, None) for word in words if word)
    ids = {side: as_ids(id_array(list(own), "ids", path), f"{side}_id", path) for side, own in found.items()}
    return Labels(ids, {side: [list(words) for words in own.values()] for side, own in found.items()}, str(path))


def of_labels(labels: Labels, split: Split) -> dict[Direction, Pairs]:
    """A caption is a positive of an image if they share a class, and the other way round.

    Items without a label are no queries, and no positives.

    Raises:
        BadInput: labels for another number of items, or for none of the split.
    """
    from scipy.sparse import csr_array

    classes: dict[str, int] = {}
    sides = []
    for side in SIDES:
        known, ids, own = split.ids(side), labels.ids[side], labels.labels[side]
        at = np.arange(len(known)) if ids is None else indices(ids, known)
        if ids is None and len(own) != len(known):
            what = f"labels of {count_of(len(own), side)} for {len(known):,} {side}s of split '{split.name}'"
            raise BadInput(what, where=labels.where, fix=f"give one label a {side}, in the order of the rows")
        row = placing.order(split, side) if ids is None else None
        own = own if row is None else [own[i] for i in row.tolist()]
        if not (at >= 0).any():
            what = f"none of its {side} ids is in split '{split.name}' (first: {ids[0] if ids is not None else ''})"
            raise BadInput(what, where=labels.where, fix=f"use ids such as {known[0]}")
        pairs = [
            (i, classes.setdefault(word, len(classes)))
            for i, words in zip(at.tolist(), own, strict=True)
            for word in words
            if i >= 0
        ]
        sides.append((np.array(pairs, np.int64).reshape(-1, 2), len(known)))
    image, caption = (
        csr_array((np.ones(len(p), np.int32), (p[:, 0], p[:, 1])), shape=(n, max(len(classes), 1))) for p, n in sides
    )
    shared = (image @ caption.T).tocoo()
    rows, columns = (x.astype(np.int64) for x in shared.coords)
    both = both_ways(rows, columns, np.ones(len(rows)), split, labels.where)
    labelled = {d: np.unique(p[:, 0]) for d, (p, _) in zip(DIRECTIONS, sides, strict=True)}
    unnamed: list[Modality] = [side for side in SIDES if labels.ids[side] is None]
    notes = placing.notes("labels", unnamed, split)
    return noted({d: replace(one, given=labelled[d]) for d, one in both.items()}, notes, "label")
