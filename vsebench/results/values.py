"""The per-query values in the document of a report: the items, and one packed column a metric and direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, count_of
from ..files.ids import places
from ..numeric.parallel import each
from ..sets.stored import DECLARED
from ..types import ONE_WAY, QUERIES, SIDES, Direction, Int, Modality, TestSet
from .model import Measurement, MetricName, plain
from .packed import pack, unpack

if TYPE_CHECKING:
    from .schema import ColumnDocument, PerQueryDocument

SIDE: dict[Direction, Modality] = {"i2t": "image", "t2i": "caption", "i2i": "image", "t2t": "caption", ONE_WAY: "image"}


def write(items: TestSet, results: Sequence[Measurement]) -> dict[str, Any]:
    """The section ``per_query`` of a document: the values of all results that have some.

    Args:
        items: the images and captions.
        results: their queries are among ``items``.
    """
    found = [r for r in results if r.per_query is not None and r.queries is not None]
    rows, numbered = items.columns.places, [side.name for side in items.sides if side.numbered]
    return {
        "images": pack(items.rows.ids),
        "captions": pack(items.columns.ids),
        "image_of": None if items.image_of is None else pack(items.image_of),
        **({} if rows is None else {"caption_rows": pack(rows)}),
        **({"numbered": numbered} if numbered else {}),
        "fold": None if items.row_folds is None else pack(items.row_folds),
        "columns": each(partial(_column, items), found),
    }


def _column(items: TestSet, result: Measurement) -> dict[str, Any]:
    ids = items.side(SIDE[result.direction]).ids  # type: ignore[index]
    at = places(ids, result.queries)  # type: ignore[arg-type]
    found = {
        **plain(result, "metric", "direction"),
        "queries": None if np.array_equal(at, np.arange(len(ids))) else pack(at),
        "values": pack(result.per_query),  # type: ignore[arg-type]
    }
    return found | ({} if result.influence is None else {"influence": [pack(half) for half in result.influence]})


def read(section: PerQueryDocument, split: str) -> TestSet:
    """The items of the section; ``split`` is their name.

    Raises:
        BadInput: an array is damaged, or does not fit the others.
    """
    images, captions = unpack(section.images), unpack(section.captions)
    fold = None if section.fold is None else _integers(section.fold, "fold", len(images))
    rows = None if section.caption_rows is None else _integers(section.caption_rows, "caption_rows", len(captions))
    owner = None if section.image_of is None else _integers(section.image_of, "image_of", len(captions))
    in_folds = split in DECLARED and DECLARED[split].in_folds
    items = TestSet.captioned(split, images, captions, owner, None, fold, in_folds)
    if rows is not None and not np.array_equal(np.sort(rows), np.arange(len(items.columns.ids))):
        raise BadInput("caption_rows does not number the captions", fix="write the report again")
    names = QUERIES if any(column.direction == ONE_WAY for column in section.columns) else SIDES["i2t"]
    of_sides = (replace(side, name=name) for side, name in zip(items.sides, names, strict=True))
    first, second = (replace(side, numbered=side.name in section.numbered) for side in of_sides)
    return replace(items, rows=first, columns=replace(second, places=rows))


def restore(
    section: PerQueryDocument, items: TestSet, results: Sequence[Measurement], parse: Callable[[str], MetricName]
) -> tuple[Measurement, ...]:
    """``results`` with their per-query values; ``items`` are from ``read``, ``parse`` gives the metric of a name.

    Raises:
        BadInput: a column is damaged, fits no result, or names a query that does not exist.
    """
    columns = {(str(parse(c.metric)), c.direction): c for c in section.columns}
    if len(columns) != len(section.columns) or not columns.keys() <= {(str(r.metric), r.direction) for r in results}:
        raise BadInput("per_query: the columns are not those of the results", fix="write the report again")
    found = [(r, columns.get((str(r.metric), r.direction))) for r in results]  # type: ignore[arg-type]
    return tuple(r if column is None else _restored(r, column, items) for r, column in found)


def _restored(result: Measurement, column: ColumnDocument, items: TestSet) -> Measurement:
    name = f"per_query: {column.metric} {column.direction}"
    ids = items.side(SIDE[column.direction]).ids
    at = np.arange(len(ids)) if column.queries is None else _integers(column.queries, name, len(ids))
    values = _unpacked(column.values, name, len(at))
    if values.dtype.kind not in "if" or not np.isfinite(values).all() or len(values) != len(at):
        raise BadInput(
            f"{name} has {count_of(len(values), 'value')} for {count_of(len(at), 'query', 'queries')}",
            fix="write the report again",
        )
    given = column.queries is not None and len(at)
    if given and (at.min() < 0 or at.max() >= len(ids) or len(np.unique(at)) != len(at)):
        raise BadInput(f"{name} names a query twice, or one that does not exist", fix="write the report again")
    influence = None
    if column.influence is not None:
        halves = [_unpacked(half, name, len(items.rows.ids)) for half in column.influence]
        if any(h.dtype.kind not in "if" or len(h) != len(items.rows.ids) or not np.isfinite(h).all() for h in halves):
            what = f"{name} has influences that are not one finite number an image"
            raise BadInput(what, fix="write the report again")
        influence = np.array(halves, np.float64)
    return replace(result, queries=ids[at], per_query=values.astype(np.float64), influence=influence)


def _unpacked(text: str, name: str, most: int) -> npt.NDArray[Any]:
    try:
        return unpack(text, most)
    except BadInput as error:
        raise BadInput(f"{name}: {error.what}", fix=error.fix) from None


def _integers(text: str, name: str, most: int) -> Int:
    array = _unpacked(text, name, most)
    if array.dtype.kind != "i":
        raise BadInput(f"{name} does not contain integers", fix="write the report again")
    return array
