"""The columns of leaderboards: ``COLUMNS``, the one table of what is listed of every number.

A column is one line here. It stands in ``leaderboard.csv``. One with a heading is a fact of the entry, the same for all
of its numbers: it is also a column of the tables of pages (where an entry of the table has it), a line on the page of
the entry, and a field of the entry in ``leaderboard.json``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import csv_cell
from .benchmarks import page_of
from .schema import Entry, Value

SCHEMA = "vsebench/leaderboard/1"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: in CSV and JSON.
        read: its value, of an entry and one of its numbers; fractions as fractions.
        heading: on pages; empty where it is a column of CSV alone.
    """

    name: str
    read: Callable[[Entry, Value], Any]
    heading: str = ""


COLUMNS = (
    Column("id", lambda e, v: e.id),
    Column("level", lambda e, v: e.level),
    Column("model", lambda e, v: e.model.name),
    Column("setting", lambda e, v: e.model.setting),
    Column("image_input", lambda e, v: e.model.image_input, heading="image input"),
    Column("benchmark", lambda e, v: page_of(e.benchmark, v.metric)),
    Column("metric", lambda e, v: v.metric),
    Column("direction", lambda e, v: v.direction or ""),
    Column("value", lambda e, v: v.value),
    Column("low", lambda e, v: v.interval and v.interval[0]),
    Column("high", lambda e, v: v.interval and v.interval[1]),
    Column("n", lambda e, v: v.n),
    Column("printed", lambda e, v: v.printed),
    Column("note", lambda e, v: v.note),
    Column("paper", lambda e, v: e.paper),
    Column("table", lambda e, v: e.table),
    Column("row", lambda e, v: e.row),
    Column("signature", lambda e, v: e.signature),
)


def headed(entries: Sequence[Entry]) -> tuple[Column, ...]:
    """The columns with a heading that some of the entries have."""
    return tuple(c for c in COLUMNS if c.heading and any(c.read(e, e.values[0]) for e in entries))


def facts_of(entry: Entry) -> dict[str, str]:
    """The columns with a heading that an entry has: heading -> text."""
    return {c.heading: str(c.read(entry, entry.values[0])) for c in headed([entry])}


def csv_text(entries: Sequence[Entry]) -> str:
    """``leaderboard.csv``: a number a line, below the names of the columns; fractions as fractions."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    for entry in entries:
        writer.writerows([csv_cell(column.read(entry, value)) for column in COLUMNS] for value in entry.values)
    return stream.getvalue()


def json_text(entries: Sequence[Entry]) -> str:
    """``leaderboard.json``: the document of schema ``vsebench/leaderboard/1``, an entry a line, in ASCII."""
    lines = ",\n".join(json.dumps(_plain(e), allow_nan=False, separators=(",", ":")) for e in entries)
    return f'{{"schema": "{SCHEMA}", "entries": [\n{lines}\n]}}\n'


def _plain(entry: Entry) -> dict[str, Any]:
    plain = entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return plain | {column.name: column.read(entry, entry.values[0]) for column in headed([entry])}
