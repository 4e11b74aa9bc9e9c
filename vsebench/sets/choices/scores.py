"""Scores of a system for the captions of every item: CSV, JSON, or an array with a row an item."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import BadInput, count_of
from ...files.columns import read_table, text_of
from ...files.jsonl import is_jsonl
from ...files.members import SCORES, Field, opened, read_array
from ...files.textfile import parse_json, read_text, shown
from ...types import Float
from ..placing import in_order
from .items import ChoiceSet

ITEM_IDS = Field("item ids", ("ids", "item_ids", "id"))


def holds_scores(path: Path, items: ChoiceSet) -> bool:
    """Whether a file has scores for a set: it is text, or its only matrix has as many columns as items have scores.

    Raises:
        BadInput: missing or damaged.
        MissingPackage: the package that reads the format is not installed.
    """
    file = opened(path)
    if not file.kind.matrix:
        return file.kind.name in ("json", "text", "gzip")
    shapes = [m.shape for m in file.members if len(m.shape) > 1]
    return len(shapes) == 1 and math.prod(shapes[0][1:]) == math.prod(items.shape[1:])


def read_scores(path: Path, items: ChoiceSet) -> tuple[Float, tuple[str, ...]]:
    """The scores in a file.

    CSV, TSV and JSON lines have the column ``id`` and a column for each caption, ``score_0``, ``score_1``, ...; a JSON
    object has a list of scores for every id. Of two images the scores of the captions for the first come before those
    for the second. Rows of an array are in the order of the set, or of an array ``ids`` beside it.

    Returns:
        (item, image, caption) float64, NaN where an item has no such caption; and a note on an array without ids.

    Raises:
        BadInput: unreadable, items without scores, or another number of scores than captions.
    """
    if opened(path).kind.matrix:
        raw = read_array(path, SCORES, "save a row an item", matrix=False, ids=((ITEM_IDS,), (), ()))
        if raw.image_ids is None:
            return check_scores(raw.values, items, path), (in_order("item", items.name, "that of its files"),)
        rows = list(zip(map(str, raw.image_ids.tolist()), raw.values, strict=True))
    else:
        rows = _rows(path)
    given = dict(rows)
    if len(given) < len(rows):
        again = Counter(name for name, _ in rows).most_common(1)[0][0]
        raise BadInput(f"item '{again}' is in two rows", where=path, fix="give every item one row")
    absent = [item.id for item in items.items if item.id not in given]
    if absent:
        of = f"of the {len(items.items):,} items of '{items.name}'"
        what = f"{count_of(len(absent), f'{of} has', f'{of} have')} no scores (first: {absent[0]}; the file has: "
        raise BadInput(f"{what}{', '.join(list(given)[:2])})", where=path, fix="give scores for every item, by its id")
    out = np.full(items.shape, np.nan)
    for row, item in enumerate(items.items):
        wanted = out.shape[1] * len(item.captions)
        try:
            values = np.asarray(given[item.id], np.float64).reshape(-1)
        except (TypeError, ValueError):
            values = np.empty(0)
        if len(values) < wanted or not np.isnan(values[wanted:]).all():
            what = f"item '{item.id}' has the scores {shown(given[item.id])}, expected {count_of(wanted, 'number')}"
            raise BadInput(what, where=path, fix="write a score for every caption of an item")
        out[row, :, : len(item.captions)] = values[:wanted].reshape(out.shape[1], -1)
    return check_scores(out, items, path), ()


def check_scores(values: npt.NDArray[Any], items: ChoiceSet, where: Path | None = None) -> Float:
    """An array of scores, (item, caption) or (item, image, caption) or with pairs in one axis, as float64.

    Raises:
        BadInput: of another shape, or a caption of an item has no finite score.
    """
    n, images, width = shape = items.shape
    if len(values) != n or values.size != n * images * width:
        what = f"scores of shape {values.shape}, and '{items.name}' has {n:,} items with {width} captions"
        fix = f"give shape {(n, width) if images == 1 else shape}, in the order of the set, or CSV or JSON by id"
        raise BadInput(what, where=where, fix=fix)
    out, exists = np.array(values, np.float64).reshape(shape), items.exists[:, None]
    bad = np.flatnonzero((exists & ~np.isfinite(out)).any((1, 2)))
    if len(bad):
        what = f"item '{items.items[bad[0]].id}' has a score that is no finite number ({len(bad):,} such items)"
        raise BadInput(what, where=where, fix="give a finite score for every caption of an item")
    return np.where(exists, out, np.nan)


def _rows(path: Path) -> list[tuple[str, Any]]:
    """The items and scores of a text file."""
    text = read_text(path)
    if text.lstrip()[:1] == "{" and not is_jsonl(text):
        return list(parse_json(text, path).items())
    table = read_table(path)
    named = {name for name in table if name.lower().startswith("score")}
    columns = [f"score_{k}" for k in range(len(named))]
    if "id" not in table or not named or named != {*columns}:
        what = f"has the columns {', '.join(map(str, table)) or '(none)'}"
        raise BadInput(what, where=path, fix="call the column of items id, and those of scores score_0, score_1, ...")
    return list(zip(map(text_of, table["id"]), zip(*(table[name] for name in columns), strict=True), strict=True))
