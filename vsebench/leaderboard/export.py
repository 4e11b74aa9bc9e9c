"""All numbers as CSV, JSON, Markdown or LaTeX, and the overview of the READMEs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import csv_cell
from ..report.grid import Grid, cells
from ..report.markdown import markdown
from ..report.render import Rendered
from . import columns
from .benchmarks import described, file_of, page_of
from .groups import groups
from .schema import LEVELS, Entry
from .store import Board
from .tables import Table, counted, table

SCHEMA = "vsebench/leaderboard/1"


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
        return [one.grid() for one in self.tables]

    def records(self) -> list[dict[str, Any]]:
        """One a number, with the columns of ``columns.COLUMNS``: fractions as fractions."""
        return [columns.record(entry, value) for entry in self.entries for value in entry.values]

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/leaderboard/1``: all entries."""
        return {"schema": SCHEMA, "entries": [_plain(entry) for entry in self.entries]}

    def to_csv(self) -> str:
        """The records, with names on the first line also where there are no records."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, [column.name for column in columns.COLUMNS], lineterminator="\n")
        writer.writeheader()
        for row in self.records():
            writer.writerow({k: csv_cell(v) for k, v in row.items()})
        return stream.getvalue()

    def json_lines(self) -> str:
        """The document as JSON, one entry a line, in ASCII: the file of the site."""
        lines = ",\n".join(json.dumps(_plain(e), allow_nan=False, separators=(",", ":")) for e in self.entries)
        return f'{{"schema": "{SCHEMA}", "entries": [\n{lines}\n]}}\n'


def _plain(entry: Entry) -> dict[str, Any]:
    plain = entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return plain | {column.name: column.read(entry, entry.values[0]) for column in columns.headed([entry])}


def leaderboard(board: Board, benchmark: str | None = None) -> Leaderboard:
    """The tables of a test set, or of all; of its entries the numbers that belong on its page."""
    chosen = []
    for entry in board.entries:
        kept = [v for v in entry.values if benchmark is None or page_of(entry.benchmark, v.metric) == benchmark]
        if kept:
            chosen.append(entry.model_copy(update={"values": tuple(kept)}))
    name = "all test sets" if benchmark is None else described(benchmark).title
    return Leaderboard(name, tuple(chosen), tuple(table(group, board) for group in groups(chosen)))


def overview(tables: tuple[Table, ...], root: str) -> str:
    """The test sets with the number of entries of every level, as Markdown; links begin with ``root``."""
    rows, links = [], {}
    for name in dict.fromkeys(t.group.benchmark for t in tables):
        title = described(name).title
        counts = counted([t for t in tables if t.group.benchmark == name])
        rows.append(cells(title, *(str(n or "-") for n in counts)))
        links[f"| {title} |"] = f"| [{title}]({root}site/{file_of(name)}) |"
    text = markdown([Grid("", ("test set", *LEVELS), 1, tuple(rows))])
    for plain, linked in links.items():
        text = text.replace(plain, linked, 1)
    return text
