"""Tables of papers: one file a table, one row a system, numbers as they are printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from pydantic import Field, model_validator

from ..errors import count_of
from .benchmarks import slug
from .facts import facts
from .schema import Entry, MetricName, Model, Side, Strict, Value

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
    return float(number / 100 if facts(metric).scale == "percent" else number)


def in_percent(text: str, metric: str) -> str:
    """A printed fraction as the percentage that other papers print, with the same digits: ``0.6460`` is ``64.60``."""
    return f"{Decimal(text).scaleb(2):f}" if facts(metric).scale == "percent" else text


def entries_of(table: PrintedTable) -> list[Entry]:
    """One entry a row; contradictions within a row become notes of their numbers."""
    found = []
    for number, row in enumerate(table.rows, start=1):
        pairs = [(column, cell) for column, cell in zip(table.columns, row.cells, strict=True) if cell is not None]
        if table.unit == "fraction":
            pairs = [(column, in_percent(cell, column.metric)) for column, cell in pairs]
        values = [
            Value(
                metric=column.metric, direction=column.direction, value=value_of(cell, column.metric), printed=cell,
                note=row.notes.get(column.key, ""),
            )
            for column, cell in pairs
        ]  # fmt: skip
        values += _sum_of(values)
        found.append(
            Entry(
                id=f"{table.paper}-{slug(table.table)}-{number:02d}", level="published",
                benchmark=row.benchmark, values=tuple(values),
                model=Model(name=row.model, setting=row.setting, image_input=row.image_input or table.image_input),
                paper=table.paper, table=table.table, row=row.row,
            )
        )  # fmt: skip
    return found


def _sum_of(values: Sequence[Value]) -> list[Value]:
    """RSum of a row that prints the six recalls and not their sum; nothing for others. It has no ``printed`` text."""
    recalls = [v for v in values if v.metric in ("R@1", "R@5", "R@10") and v.direction in ("i2t", "t2i")]
    if len(recalls) < 6 or any(v.metric == "RSum" for v in values):
        return []
    total = sum((Decimal(v.printed) for v in recalls), Decimal(0)) / 100
    return [Value(metric="RSum", direction=None, value=float(total))]


def contradictions(entry: Entry) -> dict[str, str]:
    """What does not add up in an entry: the name of a number (``Value.name``) -> a sentence.

    A sum is compared with its six parts; each printed number may be wrong by half a unit of its last digit. R@1, R@5
    and R@10 of a direction must not fall.
    """
    found = {}
    known = {(v.metric, v.direction): v for v in entry.values}
    for total, part in (("RSum", "R@{}"), ("paper:Nsum", "paper:NCS@{}")):
        parts = [known.get((part.format(k), d)) for d in ("i2t", "t2i") for k in (1, 5, 10)]
        whole = known.get((total, None))
        if whole is None or any(p is None for p in parts):
            continue
        added, printed = 100 * sum(p.value for p in parts if p), 100 * whole.value
        if abs(added - printed) > 7 * ROUNDING + 1e-6:
            found[whole.name] = f"the six values of the row add up to {added:.1f}, and {printed:.1f} is printed"
    for direction in ("i2t", "t2i"):
        for small, large in ((1, 5), (5, 10)):
            less, more = known.get((f"R@{small}", direction)), known.get((f"R@{large}", direction))
            if less is not None and more is not None and more.value < less.value:
                found[more.name] = (
                    f"R@{large} is {100 * more.value:.1f}, less than R@{small} of the same row, {100 * less.value:.1f}"
                )
    return found
