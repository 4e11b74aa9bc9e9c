"""The per-query values inside a report's JSON: who was asked, and one packed column a metric and direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from ..errors import BadInput
from ..numeric.parallel import each
from ..types import Direction, Float, Ids, Int, Modality, Split
from .model import MetricName, Report, Result
from .packed import pack, unpack

SIDE: dict[Direction, Modality] = {"i2t": "image", "t2i": "caption", "i2i": "image", "t2t": "caption"}


class ColumnDocument(BaseModel):
    """The values of one metric in one direction.

    Attributes:
        queries: packed places among the images (i2t, i2i) or captions (t2i, t2t); None for all of them in order.
        values: packed, one a query.
    """

    model_config = ConfigDict(extra="forbid")

    metric: str
    direction: Direction
    queries: str | None
    values: str


class PerQueryDocument(BaseModel):
    """All per-query values of a report; arrays are packed, see ``packed``.

    Attributes:
        images, captions: ids.
        image_of: for every caption the place of its image.
        fold: for every image the number of its fold, or None.
        columns: the values.
    """

    model_config = ConfigDict(extra="forbid")

    images: str
    captions: str
    image_of: str
    fold: str | None
    columns: list[ColumnDocument]


def places(ids: Ids, wanted: Ids) -> Int:
    """(wanted,) int64: where each of ``wanted`` stands in ``ids``; -1 for those that do not."""
    if len(ids) == len(wanted) and np.array_equal(ids, wanted):
        return np.arange(len(ids), dtype=np.int64)
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    if ids.dtype.kind != wanted.dtype.kind:
        ids, wanted = ids.astype(np.str_), wanted.astype(np.str_)
    order = np.argsort(ids, kind="stable")
    at = order[np.searchsorted(ids[order], wanted).clip(max=len(ids) - 1)]
    return np.where(ids[at] == wanted, at, -1).astype(np.int64)


def write(report: Report) -> dict[str, Any] | None:
    """The section ``per_query`` of a report, or None when there are no per-query values."""
    asked = report.asked
    if asked is None:
        return None
    columns: list[dict[str, Any]] = []
    found: list[Float] = []
    known: dict[tuple[Direction, int], str | None] = {}  # many metrics are asked by the same queries
    for result in (*report.results, *report.parts):
        if result.per_query is None or result.queries is None or result.direction is None:
            continue
        key = result.direction, id(result.queries)
        if key not in known:
            ids = asked.ids(SIDE[result.direction])
            at = places(ids, result.queries)
            everyone = len(at) == len(ids) and bool((at == np.arange(len(ids))).all())
            known[key] = None if everyone else pack(at)
        columns.append(
            {
                "metric": str(result.metric),
                "direction": result.direction,
                "queries": known[key],
            }
        )
        found.append(result.per_query)
    for column, values in zip(columns, each(pack, found), strict=True):
        column["values"] = values
    return {
        "images": pack(asked.image_ids),
        "captions": pack(asked.caption_ids),
        "image_of": pack(asked.image_of),
        "fold": None if asked.fold is None else pack(asked.fold),
        "columns": columns,
    }


def read(section: PerQueryDocument, split: str) -> Split:
    """The items that were asked.

    Raises:
        BadInput: an array is damaged, or does not fit the others.
    """
    fold = None if section.fold is None else _whole(section.fold, "fold")
    return Split(
        split, unpack(section.images), unpack(section.captions), _whole(section.image_of, "image_of"), None, fold
    )


def restore(
    section: PerQueryDocument, asked: Split, results: Sequence[Result], parse: Callable[[str], MetricName]
) -> tuple[Result, ...]:
    """``results`` with their per-query values; ``parse`` gives the metric of a name.

    Raises:
        BadInput: a column is damaged, fits no result, or names a query that does not exist.
    """
    held = {(str(parse(c.metric)), c.direction): c for c in section.columns}
    if len(held) != len(section.columns) or not held.keys() <= {(str(r.metric), r.direction) for r in results}:
        raise BadInput("per_query: the columns are not those of the results", fix="write the report again")
    return tuple(_restored(r, held.get((str(r.metric), r.direction)), asked) for r in results)  # type: ignore[arg-type]


def _restored(result: Result, column: ColumnDocument | None, asked: Split) -> Result:
    if column is None:
        return result
    name = f"per_query: {column.metric} ({column.direction})"
    ids = asked.ids(SIDE[column.direction])
    values = unpack(column.values)
    at = np.arange(len(ids)) if column.queries is None else _whole(column.queries, name)
    if values.dtype.kind not in "if" or not np.isfinite(values).all() or len(values) != len(at):
        raise BadInput(f"{name} has {len(values)} values for {len(at)} queries", fix="write the report again")
    if len(at) and (at.min() < 0 or at.max() >= len(ids) or len(np.unique(at)) != len(at)):
        raise BadInput(f"{name} names a query twice, or one that does not exist", fix="write the report again")
    return replace(result, queries=ids[at], per_query=values.astype(np.float64))


def _whole(text: str, name: str) -> Int:
    array = unpack(text)
    if array.dtype.kind != "i":
        raise BadInput(f"{name} does not hold whole numbers", fix="write the report again")
    return array
