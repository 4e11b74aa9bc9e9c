"""Tables of papers: one file a table, one row a system, numbers as they are printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from pydantic import Field, model_validator

from ..errors import count_of
from ..results.table import Value
from ..types import DIRECTIONS
from .benchmarks import slug
from .facts import facts
from .schema import Entry, Key, MetricName, Model, Side, Strict, number

RSUM: Key = ("RSum", None)
ROUNDING = 0.05  # a number that is printed with one decimal may be this far from its value
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class ColumnHead(Strict):
    """What a column of a printed table holds."""

    metric: MetricName
    direction: Side | None

    @property
    def key(self) -> str:
        """As the keys of ``notes``: ``i2t R@1``, or ``RSum``."""
        return f"{self.direction} {self.metric}" if self.direction else self.metric


class PrintedRow(Strict):
    """One row of a printed table on one test set.

    Attributes:
        row: its number where the paper numbers its rows.
        model, setting: as printed.
        benchmark: the test set.
        image_input: see ``Model``; empty where the paper does not say it.
        cells: one a column of the table, as printed; None where it prints nothing.
        notes: about single cells, by the key of their column.
    """

    row: str = ""
    model: str = Field(min_length=1)
    setting: str = ""
    benchmark: str = Field(min_length=1)
    image_input: str = ""
    cells: tuple[str | None, ...]
    notes: dict[str, str] = Field(default_factory=dict)


class PrintedTable(Strict):
    """A table of a paper.

    Attributes:
        paper: key in ``papers.json``.
        table: its number, or what the source calls it.
        unit: what the paper prints of a fraction: a percentage, or the fraction itself.
        image_input: of all rows that have none of their own.
        columns: of all rows.
        rows: in their order in the paper.
    """

    schema_: Literal["vsebench/published/1"] = Field(alias="schema")
    paper: str = Field(pattern=r"^[a-z0-9]+$")
    table: str = Field(min_length=1, max_length=100)
    unit: Literal["percent", "fraction"] = "percent"
    image_input: str = ""
    columns: tuple[ColumnHead, ...] = Field(min_length=1)
    rows: tuple[PrintedRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self) -> PrintedTable:
        keys = [column.key for column in self.columns]
        if len(set(keys)) < len(keys):
            raise ValueError("a column is listed twice")
        for row in self.rows:
            if len(row.cells) != len(keys):
                raise ValueError(
                    f"row '{row.model}' has {count_of(len(row.cells), 'cell')} for {count_of(len(keys), 'column')}"
                )
            if unknown := sorted(row.notes.keys() - set(keys)):
                raise ValueError(f"row '{row.model}' has a note for '{unknown[0]}', which is no column")
            for cell in row.cells:
                if cell is not None and not _NUMBER.fullmatch(cell):
                    raise ValueError(f"row '{row.model}' has the cell '{cell[:40]}', which is no number")
        return self


def value_of(text: str, metric: str) -> float:
    """A printed number in the unit of its metric: ``64.6`` of a recall is 0.646."""
    number = Decimal(text)
    return float(number / 100 if facts(metric).form == "fraction" else number)


def in_percent(text: str, metric: str) -> str:
    """A printed fraction as the percentage that other papers print, with the same digits: ``0.6460`` is ``64.60``."""
    return f"{Decimal(text).scaleb(2):f}" if facts(metric).form == "fraction" else text


def entries_of(table: PrintedTable) -> list[Entry]:
    """One entry a row, with what contradicts a number within its row."""
    found = []
    for place, row in enumerate(table.rows, start=1):
        values: dict[Key, Value] = {}
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell is not None:
                text = in_percent(cell, column.metric) if table.unit == "fraction" else cell
                key, note = (column.metric, column.direction), row.notes.get(column.key, "")
                values[key] = number(key, value_of(text, column.metric), printed=text, note=note)
        values |= _sum_of(values)
        doubts = contradictions(values)
        found.append(
            Entry(
                id=f"{table.paper}-{slug(table.table)}-{place:02d}", level="published", benchmark=row.benchmark,
                values=values | {key: replace(values[key], mark="†", higher_is_better=None) for key in doubts},
                model=Model(name=row.model, setting=row.setting, image_input=row.image_input or table.image_input),
                paper=table.paper, table=table.table, row=row.row, doubts=doubts,
            )
        )  # fmt: skip
    return found


def _sum_of(values: Mapping[Key, Value]) -> dict[Key, Value]:
    """RSum of a row that prints the six recalls and not their sum; nothing for others. It has no ``printed`` text."""
    parts = [values.get((f"R@{k}", d)) for k in (1, 5, 10) for d in DIRECTIONS]
    if None in parts or RSUM in values:
        return {}
    total = sum((Decimal(part.text) for part in parts if part), Decimal(0)) / 100
    return {RSUM: number(RSUM, float(total))}


def contradictions(values: Mapping[Key, Value]) -> dict[Key, str]:
    """What does not add up in a row, a sentence a number.

    A sum is compared with its six parts; each printed number may be wrong by half a unit of its last digit. R@1, R@5
    and R@10 of a direction must not fall.
    """
    found: dict[Key, str] = {}
    for total, part in ((RSUM, "R@{}"), (("paper:Nsum", None), "paper:NCS@{}")):
        parts = [values.get((part.format(k), d)) for d in DIRECTIONS for k in (1, 5, 10)]
        if total not in values or None in parts:
            continue
        added, printed = 100 * sum(_of(part) for part in parts), 100 * _of(values[total])
        if abs(added - printed) > 7 * ROUNDING + 1e-6:
            found[total] = f"the six values of the row add up to {added:.1f}, and {printed:.1f} is printed"
    for direction in DIRECTIONS:
        for small, large in ((1, 5), (5, 10)):
            less, more = (values.get((f"R@{k}", direction)) for k in (small, large))
            if less is not None and more is not None and _of(more) < _of(less):
                found[f"R@{large}", direction] = (
                    f"R@{large} is {100 * _of(more):.1f}, less than R@{small} of the same row, {100 * _of(less):.1f}"
                )
    return found


def _of(value: Value | None) -> float:
    return 0.0 if value is None or value.value is None else value.value
