"""The columns of leaderboards: ``COLUMNS``, the one table of what is listed of every number.

A column is one line here. It stands in ``leaderboard.csv`` and in the records of ``vsebench leaderboard export``. One
with a heading is a fact of the entry, the same for all of its numbers: it is also a column of the tables of pages, of
Markdown and of LaTeX (where an entry of the table has it), a line on the page of the entry, and a field of the entry in
``leaderboard.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .benchmarks import page_of
from .schema import Entry, Value


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


def record(entry: Entry, value: Value) -> dict[str, Any]:
    """All columns of one number, by name."""
    return {column.name: column.read(entry, value) for column in COLUMNS}


def headed(entries: Sequence[Entry]) -> tuple[Column, ...]:
    """The columns with a heading that some of the entries have."""
    return tuple(c for c in COLUMNS if c.heading and any(c.read(e, e.values[0]) for e in entries))


def facts_of(entry: Entry) -> dict[str, str]:
    """The columns with a heading that an entry has: heading -> text."""
    return {c.heading: str(c.read(entry, entry.values[0])) for c in headed([entry])}
