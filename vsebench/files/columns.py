"""A column of a table with ids: CSV, TSV, parquet, JSON or JSON lines, plain or gzip, by the items of a split."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, UsageError
from ..log import note
from ..memory import text_array
from ..options import spell
from ..registry import unknown
from ..types import Ids, Int, Modality, TestSet
from .arrow_tables import is_parquet, read_columns
from .formats import FORMATS
from .ids import as_ids, match
from .regular import check_file
from .tables import jsonl_records, table_header, table_records
from .textfile import parse_json, read_text, shown

SIDES: tuple[Modality, ...] = ("image", "caption")
ID_COLUMNS: dict[str, Modality | None] = {
    "id": None, "query": None, "image_id": "image", "image": "image", "file_name": "image",
    "caption_id": "caption", "text_id": "caption",
}  # fmt: skip
# 01 is a label. Words for a missing number are labels in a column that holds anything but numbers.
_NUMBER = re.compile(r"[-+]?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?)", re.I)
_NOT_A_NUMBER = frozenset(("na", "n/a", "nan", "null", "none"))
EXACT = 1 << 53  # up to which every integer is a float; larger ones are names
LABEL_COLUMNS = ("category", "categories", "label", "labels")


def of_items(path: Path, column: str | None, split: TestSet) -> tuple[str, Modality, list[Any]]:
    """A column of a file, matched by id.

    Args:
        path: the file; one of its columns has ids of images or captions (``id``, ``image_id``, ``caption_id`` ...).
        column: its name; None for ``category``, ``label`` or the only other one.
        split: the items.

    Returns:
        The name of the column, the modality of its items, and a value for each of them in the order of the split:
        None where the file has none.

    Raises:
        BadInput: unreadable, no column of ids, ids that are not in the split, an id that occurs twice.
        UsageError: no such column.
        MissingPackage: parquet without pyarrow.
    """
    table = read_table(path)
    named = [c for c in table if c in ID_COLUMNS]
    ids_in = _ids_in(table, named, split)
    if ids_in is None:
        what = f"has no column of ids (columns: {', '.join(map(str, table)) or 'none'})"
        raise BadInput(what, where=path, fix="call the column of ids id, image_id or caption_id")
    chosen = _column(list(table), ids_in, column, path)
    ids = _ids(table[ids_in], path)
    side, at = _side(ids, ID_COLUMNS[ids_in], split, path)
    values = [None] * len(split.side(side).ids)
    for place, value in zip(at.tolist(), table[chosen], strict=True):
        if place >= 0:
            values[place] = value
    return str(chosen), side, values


def _ids_in(table: dict[str, list[Any]], named: Sequence[str], split: TestSet) -> str | None:
    """The column of ids: without repeats, with most of the split.

    Captions have the id of their image, which repeats, beside their own.

    Of two that are equal in this the ids of captions.
    """
    alone = [name for name in named if len(set(map(str, table[name]))) == len(table[name])]
    if len(alone) < 2:
        return next(iter([*alone, *named]), None)

    def known(name: str) -> int:
        ids = as_ids(text_array([text_of(value) for value in table[name]], "id"), "id", "table")
        return max(int((match(ids, split.side(side).ids)[0] >= 0).sum()) for side in _sides(name))

    return max(alone, key=lambda name: (known(name), ID_COLUMNS[name] == "caption"))


def _sides(column: str) -> tuple[Modality, ...]:
    side = ID_COLUMNS[column]
    return SIDES if side is None else (side,)


def text_of(value: Any) -> str:
    """A value as text; a float that is an integer as that integer, as tables with missing values have them."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def missing(value: Any) -> bool:
    """Whether a value of a column is none."""
    return value is None or (isinstance(value, float) and np.isnan(value))


def read_table(path: Path, ids: Sequence[str] = ()) -> dict[str, list[Any]]:
    """The columns of a table file, by its content; those of ``ID_COLUMNS`` and ``ids`` as they are written."""
    check_file(path, "give CSV, TSV, parquet, JSON or JSON lines with a header")
    if is_parquet(path):
        FORMATS["parquet"].require(path)
        return read_columns(path)
    text, where = read_text(path), os.fspath(path)
    if text.lstrip()[:1] in ("{", "["):
        records = parse_json(text, path) if text.lstrip()[:1] == "[" else [r for _, r in jsonl_records(text, where)]
        other = next((n for n, record in enumerate(records) if not isinstance(record, dict)), None)
        if other is not None:
            what = f"record {other} of the list is {shown(records[other])}, expected a JSON object"
            raise BadInput(what, where=path, fix="give a list of objects, or one object a line")
        return {name: [r.get(name) for r in records] for name in dict.fromkeys(k for r in records for k in r)}
    rows = [row for _, row in table_records(text, where)]
    names = rows[0] if rows else table_header(text)
    return {name.strip(): _typed(name.strip(), [row[name] for row in rows], ids) for name in names}


def _typed(name: str, texts: Sequence[str], ids: Sequence[str]) -> list[Any]:
    """The values of a column of text: numbers when all are numbers, or say that one is missing; else as written.

    An empty field is a missing value. Ids stay as they are written.
    """
    values = [text.strip() or None for text in texts]
    known = [text for text in values if text is not None and text.lower() not in _NOT_A_NUMBER]
    if name.lower() in (*ID_COLUMNS, *ids) or not known or not all(map(_NUMBER.fullmatch, known)):
        return values
    if any(text.lstrip("+-").isdecimal() and abs(int(text)) > EXACT for text in known):
        return values  # such as ids of users
    return [None if text is None or text.lower() in _NOT_A_NUMBER else _number(text) for text in values]


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def _column(names: list[str], ids_in: str, column: str | None, path: Path) -> str:
    others = [n for n in names if n not in ID_COLUMNS]
    if column is not None:
        if column not in names:
            raise unknown("column", column, others, where=str(path))
        return column
    usual = [n for n in others if n.lower() in LABEL_COLUMNS]
    if len(usual or others) != 1:
        raise UsageError(
            f"has columns {', '.join(others) or '(none)'}", where=path, fix=f"name one with {spell('column', 'NAME')}"
        )
    return (usual or others)[0]


def _ids(values: Sequence[Any], path: Path) -> Ids:
    if any(missing(v) for v in values):
        raise BadInput("has a row without an id", where=path, fix="give every row an id")
    ids = [text_of(v) for v in values]
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        again = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise BadInput(f"id {again} is in more than one row", where=path, fix="give every item one row")
    return as_ids(text_array(ids, "id", path), "id", path)


def _side(ids: Ids, known: Modality | None, split: TestSet, path: Path) -> tuple[Modality, Int]:
    """Whether the ids are of images or captions, and their indices in the split, -1 for others."""
    sides = SIDES if known is None else (known,)
    matched = {side: match(ids, split.side(side).ids) for side in sides}
    # Another spelling is compared only if no id is equal to one of either side.
    equal = {side: at for side, (at, how) in matched.items() if not how and (at >= 0).any()}
    found = equal or {side: at for side, (at, _) in matched.items()}
    counts = {side: int((at >= 0).sum()) for side, at in found.items()}
    best = max(counts, key=lambda side: counts[side])
    if counts[best] == 0:
        what = (
            f"none of its ids ({len(ids):,}) is one of split '{split.name}' (first: {ids[0] if len(ids) else 'none'})"
        )
        fix = f"use ids such as {split.rows.ids[0]} (images) or {split.columns.ids[0]} (captions)"
        raise BadInput(what, where=path, fix=fix)
    if len(found) == 2 and counts["image"] == counts["caption"]:
        what = "its ids could be of images as well as of captions"
        raise BadInput(what, where=path, fix="call the column image_id or caption_id")
    how = matched[best][1]
    note(f"{path.name}: {best} ids are matched {how}" if how else "", weight="detail")
    return best, found[best]
