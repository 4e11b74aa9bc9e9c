"""A column of a file of records with ids, by the items of a split."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, UsageError, unknown
from ..log import note
from ..memory import text_array
from ..options import spell
from ..types import Ids, Int, Modality, TestSet
from .captions import with_caption_ids
from .ids import as_ids, match, refuse_destroyed
from .kinds import KINDS
from .records import missing, records, spot, text_of, typed

if TYPE_CHECKING:
    import pandas as pd

SIDES: tuple[Modality, ...] = ("image", "caption")
LABELS = KINDS["labels"].fields["label"]


def of_items(path: Path, column: str | None, split: TestSet, kind: str = "columns") -> tuple[str, Modality, list[Any]]:
    """A column of a file, matched by id.

    Args:
        path: the file; one of its columns has ids of images or captions (``id``, ``image_id``, ``caption_id`` ...).
        column: its name; None for ``category``, ``label`` or the only other one.
        split: the items.
        kind: ``captions`` for a file that is read as captions, too.

    Returns:
        The name of the column, the modality of its items, and a value for each of them in the order of the split:
        None if the file has none.

    Raises:
        BadInput: unreadable, no column of ids, ids that are not in the split, an id that occurs twice.
        UsageError: no such column.
        MissingPackage: parquet without pyarrow.
    """
    found = with_caption_ids(records(path, kind))
    ids_in = _ids_in(found)
    if ids_in is None:
        what = f"has no column of ids (columns: {', '.join(map(str, found)) or 'none'})"
        raise BadInput(what, where=path, fix="call the column of ids id, query_id, image_id or caption_id")
    chosen = _column(found, column, path)
    ids = ids_of(found, ids_in)
    if len(np.unique(ids)) != len(ids):
        seen: set[Any] = set()
        again = next(i for i in ids.tolist() if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise BadInput(f"id {again} is in more than one row", where=path, fix="give every item one row")
    sides, name = _sides(ids_in), ids_in.strip().lower()
    if split.one_way and sides == SIDES and name not in ("id", "_id"):
        sides = SIDES[1:] if name in KINDS["judgements"].fields["item"] else SIDES[:1]
    side, at = _side(ids, sides, split, path)
    values = [None] * len(split.side(side).ids)
    for place, value in zip(at.tolist(), typed(found, chosen), strict=True):
        if place >= 0:
            values[place] = value
    return str(chosen), side, values


def ids_of(found: pd.DataFrame, name: str) -> Ids:
    """The ids in a column; raises BadInput with the line of an id that is missing or that a spreadsheet destroyed."""
    cells = found[name].tolist()
    empty = next((row for row, cell in enumerate(cells) if missing(cell)), None)
    if empty is not None:
        raise BadInput("has a row without an id", where=spot(found, empty), fix="give every row an id")
    texts = [text_of(cell) for cell in cells]
    odd = next((row for row, text in enumerate(texts) if "#" in text or "+" in text), None)
    for row in range(odd or 0, len(texts)) if odd is not None else ():
        refuse_destroyed([texts[row]], spot(found, row), lambda _: f"field '{name}'")
    return as_ids(text_array(texts, name, found.attrs["where"]), name, found.attrs["where"])


def _ids_in(found: pd.DataFrame) -> str | None:
    """The column of ids: that of captions, of images, or of either, the first without repeats."""
    named = sorted((name for name in found if _sides(name)), key=lambda name: _ORDER.index(_sides(name)))
    return next((name for name in named if len(set(map(str, found[name]))) == len(found)), next(iter(named), None))


_ORDER: tuple[tuple[Modality, ...], ...] = (("caption",), ("image",), SIDES)


def _sides(column: str) -> tuple[Modality, ...]:
    """Whose ids a column has by its name."""
    fields, name = KINDS["columns"].fields, str(column).strip().lower()
    return SIDES if name in fields["either"] else tuple(side for side in SIDES if name in fields[side])


def _column(found: pd.DataFrame, column: str | None, path: Path) -> str:
    others = [str(name) for name in found if not _sides(name)]
    if column is not None:
        if column not in found:
            raise unknown("column", column, others, where=str(path))
        return column
    usual = [name for name in others if name.lower() in LABELS]
    if len(usual or others) != 1:
        raise UsageError(
            f"has columns {', '.join(others) or '(none)'}", where=path, fix=f"name one with {spell('column', 'NAME')}"
        )
    return (usual or others)[0]


def _side(ids: Ids, sides: tuple[Modality, ...], split: TestSet, path: Path) -> tuple[Modality, Int]:
    """Whether the ids are of images or captions, and their indices in the split, -1 for others."""
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
        rows, columns = (f"{side.ids[0]} ({side.plural})" for side in split.sides)
        fix = f"use ids such as {rows} or {columns}"
        raise BadInput(what, where=path, fix=fix)
    if len(found) == 2 and counts["image"] == counts["caption"]:
        what = f"its ids could be of {split.rows.plural} as well as of {split.columns.plural}"
        raise BadInput(what, where=path, fix=f"call the column {split.rows.name}_id or {split.columns.name}_id")
    how = matched[best][1]
    note(f"{path.name}: {best} ids are matched {how}" if how else "", weight="detail")
    return best, found[best]
