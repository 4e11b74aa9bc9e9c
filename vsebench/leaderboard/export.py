"""All numbers as CSV, JSON, Markdown or LaTeX, and the overview of the READMEs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import csv_cell, printable
from ..report.grid import Cell, Grid
from ..report.markdown import markdown
from ..report.render import Rendered
from .benchmarks import described, page_of
from .groups import groups
from .pages import file_of
from .schema import LEVELS, Entry
from .store import Board
from .tables import Table, counted, grid, table

SCHEMA = "vsebench/leaderboard/1"
FIELDS = (
    "id", "level", "model", "setting", "benchmark", "metric", "direction", "value", "low", "high", "n", "printed",
    "note", "paper", "table", "row", "signature",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Leaderboard(Rendered):
    """The tables of one or all test sets in every format of a report.

    Attributes:
        name: of the test set, or "all test sets".
        entries: whose numbers they are.
        tables: of these entries.
    """

    heading: ClassVar = "Leaderboard of {name}"
    name: str
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]

    def grids(self) -> list[Grid]:
        """One a table."""
        return [grid(one) for one in self.tables]

    def records(self) -> list[dict[str, Any]]:
        """One a number, with the fields of ``FIELDS``."""
        return records(self.entries)

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/leaderboard/1``: all entries."""
        return document(self.entries)

    def to_csv(self) -> str:
        """The records, with names on the first line also where there are no records."""
        return csv_text(self.entries)


def leaderboard(board: Board, benchmark: str | None = None) -> Leaderboard:
    """The tables of a test set, or of all; of its entries the numbers that belong on its page."""
    chosen = []
    for entry in board.entries:
        kept = [v for v in entry.values if benchmark is None or page_of(entry.benchmark, v.metric) == benchmark]
        if kept:
            chosen.append(entry.model_copy(update={"values": tuple(kept)}))
    name = "all test sets" if benchmark is None else described(benchmark).title
    return Leaderboard(name, tuple(chosen), tuple(table(group, board) for group in groups(chosen)))


def records(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One a number: fractions as fractions."""
    found = []
    for e in entries:
        for v in e.values:
            ends = v.interval or (None, None)
            row = (
                e.id, e.level, e.model.name, e.model.setting, page_of(e.benchmark, v.metric), v.metric,
                v.direction or "", v.value, *ends, v.n, v.printed, v.note, e.paper, e.table, e.row, e.signature,
            )  # fmt: skip
            found.append(dict(zip(FIELDS, row, strict=True)))
    return found


def csv_text(entries: Sequence[Entry]) -> str:
    """The records as comma-separated values."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in records(entries):
        writer.writerow({k: csv_cell(printable(v) if isinstance(v, str) else v) for k, v in row.items()})
    return stream.getvalue()


def document(entries: Sequence[Entry]) -> dict[str, Any]:
    """All entries as one document."""
    plain = [entry.model_dump(mode="json", by_alias=True, exclude_defaults=True) for entry in entries]
    return {"schema": SCHEMA, "entries": plain}


def json_text(entries: Sequence[Entry]) -> str:
    """The document as JSON, one entry a line, in ASCII."""
    found = document(entries)
    lines = ",\n".join(json.dumps(entry, allow_nan=False, separators=(",", ":")) for entry in found["entries"])
    return f'{{"schema": "{SCHEMA}", "entries": [\n{lines}\n]}}\n'


def overview(board: Board, root: str) -> str:
    """The test sets with the number of entries of every level, as Markdown; links begin with ``root``."""
    rows = []
    tables = [table(group, board) for group in groups(board.entries)]
    for name in dict.fromkeys(t.group.benchmark for t in tables):
        counts = counted([t for t in tables if t.group.benchmark == name])
        rows.append((Cell(described(name).title), *(Cell(str(n) if n else "-") for n in counts)))
    text = markdown([Grid("", ("test set", *LEVELS), 1, tuple(rows))])
    for name in dict.fromkeys(t.group.benchmark for t in tables):
        title = described(name).title
        text = text.replace(f"| {title} |", f"| [{title}]({root}site/{file_of(name)}) |", 1)
    return text
