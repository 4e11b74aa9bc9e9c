"""Scores of a system for the captions of every item: CSV, JSON, or an array with a row an item."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import BadInput, count_of
from ...files.arrow_tables import has_vectors
from ...files.members import SCORES, Field, opened, read_array
from ...files.records import records, text_of, typed
from ...files.textfile import format_field
from ...types import Float
from .items import ChoiceSet

ITEM_IDS = Field("item ids", ("ids", "item_ids", "id"))
_PAIRS = "c0_i0, c0_i1, c1_i0, c1_i1"
ORDER_OF_PAIRS = (
    "scores are read as (item, image, caption): image 0 with captions 0 and 1, then image 1 with captions 0 and 1; "
    f"columns named {_PAIRS} are read by these names"
)
_IMAGE, _CAPTION = ("image", "img", "im", "i", "picture", "pic", "photo"), ("caption", "cap", "c", "text", "txt", "t")
_SIDES = dict.fromkeys(_IMAGE, 0) | dict.fromkeys(_CAPTION, 1)
_NUMBERED = re.compile(r"([A-Z]?[a-z]+|[A-Z]+)[^A-Za-z0-9]*([0-9]{1,9})(?![0-9])")  # c0, Caption0, image_0


def holds_scores(path: Path, items: ChoiceSet) -> bool:
    """Whether a file has scores for a set: a table without vectors, or a matrix with a column for every score.

    Raises:
        BadInput: missing or damaged.
        MissingPackage: the package that reads the format is not installed.
    """
    file = opened(path)
    if file.kind.name == "parquet":
        file.kind.require(path)
        return not has_vectors(path)
    if not file.kind.matrix:
        return file.kind.name in ("json", "text", "gzip")
    shapes = [m.shape for m in file.members if len(m.shape) > 1]
    return len(shapes) == 1 and math.prod(shapes[0][1:]) == math.prod(items.shape[1:])


def read_scores(path: Path, items: ChoiceSet) -> tuple[Float, tuple[str, ...]]:
    """The scores in a file.

    CSV, TSV, JSON and parquet tables have the column ``id`` and a column for each caption, ``score_0``, ``score_1``,
    ...; a JSON object has a list of scores for every id. Of two images the scores of the captions for the first come
    before those for the second, or the names of the columns state both (``c0_i1``, ``image_1_caption_0``). Rows of an
    array are in the order of the set, or of an array ``ids`` beside it.

    Returns:
        (item, image, caption) float64, NaN if an item has no such caption; and notes on an assumed order.

    Raises:
        BadInput: unreadable, items without scores, or another number of scores than captions.
    """
    notes = order_of_pairs(items)
    if opened(path).kind.matrix:
        raw = read_array(path, SCORES, "save one row per item", matrix=False, ids=((ITEM_IDS,), (), ()))
        if raw.image_ids is None:
            words = f"no item ids: rows are assumed to be in the order of {items.name} (the order of its files)"
            return check_scores(raw.values, items, path), (words, *notes)
        rows = list(zip(map(str, raw.image_ids.tolist()), raw.values, strict=True))
    else:
        rows, notes = _rows(path, items)
    given = dict(rows)
    if len(given) < len(rows):
        again = Counter(name for name, _ in rows).most_common(1)[0][0]
        raise BadInput(f"item '{again}' is in two rows", where=path, fix="give every item one row")
    absent = [item.id for item in items.items if item.id not in given]
    if absent:
        scope = f"of the {len(items.items):,} items of '{items.name}'"
        what = f"{count_of(len(absent), f'{scope} has', f'{scope} have')} no scores (first: {absent[0]}; the file has: "
        raise BadInput(f"{what}{', '.join(list(given)[:2])})", where=path, fix="give scores for every item, by its id")
    out = np.full(items.shape, np.nan)
    for row, item in enumerate(items.items):
        wanted = out.shape[1] * len(item.captions)
        try:
            values = np.asarray(given[item.id], np.float64).reshape(-1)
        except (TypeError, ValueError):
            values = np.empty(0)
        if len(values) < wanted or not np.isnan(values[wanted:]).all():
            what = (
                f"item '{item.id}' has the scores {format_field(given[item.id])}, expected {count_of(wanted, 'number')}"
            )
            raise BadInput(what, where=path, fix="write a score for every caption of an item")
        out[row, :, : len(item.captions)] = values[:wanted].reshape(out.shape[1], -1)
    return check_scores(out, items, path), notes


def order_of_pairs(items: ChoiceSet) -> tuple[str, ...]:
    """A note on scores of two images and two captions if nothing states their order."""
    return (ORDER_OF_PAIRS,) if items.shape[1] > 1 else ()


def check_scores(values: npt.NDArray[Any], items: ChoiceSet, where: Path | None = None) -> Float:
    """An array of scores, (item, caption) or (item, image, caption) or with pairs in one axis, as float64.

    Raises:
        BadInput: of another shape, or a caption of an item has no finite score.
    """
    n, images, width = shape = items.shape
    if len(values) != n or values.size != n * images * width:
        what = f"scores of shape {values.shape}, but '{items.name}' has {n:,} items with {width} captions"
        fix = f"give shape {(n, width) if images == 1 else shape}, in the order of the set, or CSV or JSON by id"
        raise BadInput(what, where=where, fix=fix)
    out, exists = np.array(values, np.float64).reshape(shape), items.exists[:, None]
    bad = np.flatnonzero((exists & ~np.isfinite(out)).any((1, 2)))
    if len(bad):
        what = f"item '{items.items[bad[0]].id}' has a score that is not a finite number ({len(bad):,} such items)"
        raise BadInput(what, where=where, fix="give a finite score for every caption of an item")
    return np.where(exists, out, np.nan)


def _rows(path: Path, items: ChoiceSet) -> tuple[list[tuple[str, Any]], tuple[str, ...]]:
    """The items and scores of a table or JSON file, and a note if nothing states the order of the scores."""
    table = records(path, "choices")
    if "scores" in table and "id" in table:
        return list(zip(map(text_of, table["id"]), table["scores"], strict=True)), order_of_pairs(items)
    columns = _of_pairs(table, path) if items.shape[1] > 1 else []
    notes = () if columns else order_of_pairs(items)
    scores = {name for name in table if name.lower().startswith("score") and name not in columns}
    columns = columns or [f"score_{k}" for k in range(len(scores))]
    if "id" not in table or not columns or not scores <= {*columns}:
        given = [*map(str, table)]
        what = f"has the columns {', '.join([*given[:12], '...'][: len(given)]) or '(none)'}"
        called = "score_0, score_1, ..., in the order of the captions"
        if items.shape[1] > 1:
            called = f"{_PAIRS}, by their caption (c) and image (i)"
        raise BadInput(what, where=path, fix=f"call the column of items id, and the columns of scores {called}")
    values = zip(*(typed(table, name) for name in columns), strict=True)
    return list(zip(map(text_of, table["id"]), values, strict=True)), notes


def _of_pairs(names: Iterable[str], path: Path) -> list[str]:
    """The four columns named by an image and a caption, in the order of the pairs; none if one is missing.

    Raises BadInput.
    """
    found: dict[tuple[int, ...], str] = {}
    for name in names:
        stated = [(_SIDES[word.lower()], int(n)) for word, n in _NUMBERED.findall(name) if word.lower() in _SIDES][-2:]
        if len(dict(stated)) == 2:
            pair = tuple(number for _, number in sorted(stated))
            if pair in found:
                what = f"columns {found[pair]} and {name} are both read as image {pair[0]} with caption {pair[1]}"
                raise BadInput(what, where=path, fix=f"give the scores of one system: columns id, {_PAIRS}")
            found[pair] = name
    images, captions = (sorted(set(numbers)) for numbers in zip(*found, strict=True)) if found else ([], [])
    full = len(found) == 4 and all(numbers in ([0, 1], [1, 2]) for numbers in (images, captions))
    return [found[pair] for pair in sorted(found)] if full else []
