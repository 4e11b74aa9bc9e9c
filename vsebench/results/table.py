"""Tables: what every result has. All formats are made of them: text for people (``Table.cells``), and records.

A table has a row a metric or a system, and entries that are words or numbers. How a number is printed, where arrows and
brackets are, and which values are the best is decided here, once; text from outside (ids, names) is cleaned here, for
all formats (``errors.printable``)::

    Table ──► cells: text ──► terminal · notebook · latex · html · markdown
      └─────► records()   ──► pandas · csv · json
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ..errors import printable
from ..relevance.sources import heading
from ..types import Direction
from .model import ARROWS, RANKED, UNDEFINED, Form, MetricName, bracketed, printed, signed


class Printed(NamedTuple):
    """An entry as text.

    Attributes:
        text: words, or a number as printed.
        mark: a superscript behind it.
        aside: dim text behind it or on a second line, such as an interval.
        best, second: bold or underlined.
    """

    text: str
    mark: str = ""
    aside: str = ""
    best: bool = False
    second: bool = False


class Text(NamedTuple):
    """Words that people read.

    Attributes:
        shown: the words.
        value: what records have in their place: a value, or fields.
        aside: dim text behind them.
    """

    shown: str
    value: Any
    aside: str = ""


@dataclass(frozen=True, eq=False)
class Value:
    """A number.

    Attributes:
        value: in its unit (fractions as fractions); None if undefined.
        form: how it is printed.
        interval: (low, high), or None.
        higher_is_better: of values that are compared; None for others.
        signed: a difference, with its sign.
        mark: a superscript behind it.
        aside: words behind it, in place of an interval.
        bold: in bold, whatever the other values are.
        facts: further fields of its record.
    """

    value: float | None
    form: Form = "fraction"
    interval: tuple[float, float] | None = None
    higher_is_better: bool | None = None
    signed: bool = False
    mark: str = ""
    aside: str = ""
    bold: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


Entry = str | Text | Value


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: above it.
        key: its field in records; None for the heading, empty if records do not have it.
        fields: of a column of numbers that all mean the same, such as ``{"system": "ours"}``: each of its numbers is a
            separate record with these fields and ``value``, ``low`` and ``high``.
        group: above the heading; neighbours with one group share it.
        words: it has words, which are set to the left.
        ends: records have the ends of its intervals, ``low`` and ``high``.
    """

    heading: str
    key: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    words: bool = False
    ends: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "heading", printable(self.heading))

    @property
    def name(self) -> str:
        """Its field in records."""
        return self.heading if self.key is None else self.key


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its notes.

    Attributes:
        name: of its records; tables of one name share one list of records. Empty for no records.
        title: above it.
        columns: of words and of numbers.
        rows: as many entries as columns.
        fields: of all its records.
        best: values are compared along a ``row`` or a ``column``, and the best of each is marked.
        bold: meaning of bold values, see ``Value.bold``.
        brackets: intervals are printed.
        hidden: rows that only records have.
        shown: people see it; others are only records.
        notes: sentences below it.
        literal: a line below the notes that is never wrapped, such as a signature.
        warnings: what may be wrong, below the notes.
    """

    name: str = ""
    title: str = ""
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Entry, ...], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    best: Literal["", "row", "column"] = ""
    bold: str = ""
    brackets: bool = True
    hidden: frozenset[int] = frozenset()
    shown: bool = True
    notes: tuple[str, ...] = ()
    literal: str = ""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("title", "literal"):
            object.__setattr__(self, name, printable(getattr(self, name)))
        for name in ("notes", "warnings"):
            object.__setattr__(self, name, tuple(map(printable, getattr(self, name))))

    @cached_property
    def cells(self) -> tuple[tuple[Printed, ...], ...]:
        """The rows that people see as text: numbers as printed, with brackets, and the best ones marked."""
        places: dict[Value, str] = {}
        for line in self._compared:
            places |= _marked(line)
        return tuple(
            tuple(_cell(x, self.brackets, places.get(x) if isinstance(x, Value) else None) for x in row)
            for row in self._visible
        )

    @cached_property
    def room(self) -> list[tuple[str, bool]]:
        """Of every column of numbers the longest mark, and whether some have asides: what keeps digits in line."""
        columns = zip(*self.cells, strict=True) if self.cells else [()] * len(self.columns)
        return [
            ("", False) if column.words else (max((c.mark for c in of), key=len, default=""), any(c.aside for c in of))
            for column, of in zip(self.columns, columns, strict=True)
        ]

    @cached_property
    def spans(self) -> list[tuple[str, int, int]]:
        """Every group with its first column and the one behind its last; columns without a group are left out."""
        found: list[tuple[str, int, int]] = []
        for i, column in enumerate(self.columns):
            if found and found[-1][0] == column.group and found[-1][2] == i:
                found[-1] = (column.group, found[-1][1], i + 1)
            elif column.group:
                found.append((column.group, i, i + 1))
        return found

    def part(self, columns: Sequence[int]) -> Table:
        """Some of its columns, with the marks that their numbers have in the complete table."""
        rows = tuple(tuple(row[i] for i in columns) for row in self.rows)
        found = replace(self, columns=tuple(self.columns[i] for i in columns), rows=rows)
        found.__dict__["cells"] = tuple(tuple(row[i] for i in columns) for row in self.cells)
        return found

    def sentences(self, bold: str = "Bold", underlined: str = "underlined") -> tuple[str, ...]:
        """The notes, and one on the marks: ``Bold: best, underlined: second best.``

        Args:
            bold, underlined: how a format marks the best and the second.
        """
        most = max(map(len, self._compared), default=0)
        marks = {bold: "best"} if most > 1 else {bold: self.bold} if self.bold and not self.best else {}
        marks |= {underlined: "second best"} if most >= RANKED else {}
        words = ", ".join(f"{mark}: {meaning}" for mark, meaning in marks.items())
        return (*self.notes, *([f"{words}."] if words else []))

    @property
    def _visible(self) -> list[tuple[Entry, ...]]:
        return [row for i, row in enumerate(self.rows) if i not in self.hidden]

    @cached_property
    def _compared(self) -> list[list[Value]]:
        """The values of every line in which they are compared."""
        lines = {"row": self._visible, "column": zip(*self._visible, strict=True)}.get(self.best, ())
        return [[x for x in line if isinstance(x, Value) and x.higher_is_better is not None] for line in lines]


def named(metric: MetricName, view: bool = True) -> Text:
    """A metric as the heading of its row, with an arrow where lower is better; ``view``: with its view."""
    return Text((str(metric) if view else metric.name) + arrow(metric.higher_is_better), str(metric))


def way(direction: Direction | None) -> Text:
    """A direction in words; a sum over both has none."""
    return Text(ARROWS[direction], direction)


def arrow(higher_is_better: bool) -> str:
    """The mark behind the name of a metric if lower is better."""
    return "" if higher_is_better else " ↓"


def label(metric: MetricName, direction: Direction | None) -> str:
    """A metric with its direction, as in ``R@1 i2t``."""
    return str(metric) if direction is None else f"{metric} {direction}"


def sentences(*notes: str, literal: str = "") -> Table:
    """Notes without a table, and a line that is not wrapped."""
    return Table(notes=notes, literal=literal)


def remarks(notes: Iterable[str], warnings: Iterable[str]) -> list[Table]:
    """Notes and warnings of a result below its tables; nothing without any."""
    found = Table(notes=tuple(f"· {note}" for note in notes), warnings=tuple(warnings))
    return [found] if found.notes or found.warnings else []


def visible(tables: Iterable[Table]) -> list[Table]:
    """The tables that people see."""
    return [table for table in tables if table.shown]


def _marked(compared: Sequence[Value]) -> dict[Value, str]:
    """Which values of a line are the ``best`` and, of at least three, the ``second`` best; equal ones as printed."""
    text = {x: printed(x.value, x.form) for x in compared if x.value is not None}
    if len(text) < 2:
        return {}
    ordered = sorted(text, key=lambda x: x.value or 0.0, reverse=bool(compared[0].higher_is_better))
    best, *others = dict.fromkeys(text[x] for x in ordered)
    second = others[0] if others and len(text) >= RANKED else None
    return {x: "best" if t == best else "second" for x, t in text.items() if t in (best, second)}


def _cell(entry: Entry, brackets: bool, place: str | None) -> Printed:
    mark, best, second = "", False, False
    if isinstance(entry, Value):
        mark, aside, text = entry.mark, entry.aside, UNDEFINED
        if entry.value is not None:
            text = (signed if entry.signed else printed)(entry.value, entry.form)
            aside = aside or (bracketed(entry.interval, entry.form) if brackets else "")
            best, second = entry.bold or place == "best", place == "second"
    else:
        text, aside = (entry, "") if isinstance(entry, str) else (entry.shown, entry.aside)
    return Printed(printable(text), printable(mark), printable(aside), best, second)


def records(tables: Iterable[Table]) -> dict[str, list[dict[str, Any]]]:
    """The records of tables by their names: a row, or of columns with fields a number, is one."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in tables:
        if table.name:
            found.setdefault(table.name, []).extend(record for row in table.rows for record in _records(table, row))
    return found


def _records(table: Table, row: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    pairs = list(zip(table.columns, row, strict=True))
    head: dict[str, Any] = dict(table.fields)
    for column, entry in pairs:
        if column.name and not column.fields:
            head |= _field(column, entry)
    if not any(column.fields for column in table.columns):
        yield head
    for column, entry in pairs:
        if column.fields and isinstance(entry, Value):
            yield {**head, **column.fields, "value": entry.value, **_ends(entry), **entry.facts}


def _field(column: Column, entry: Entry) -> dict[str, Any]:
    if isinstance(entry, str):
        return {column.name: entry}
    if isinstance(entry, Text):
        return entry.value if isinstance(entry.value, dict) else {column.name: entry.value}
    return {column.name: entry.value, **(_ends(entry) if column.ends else {}), **entry.facts}


def _ends(value: Value) -> dict[str, float | None]:
    low, high = value.interval or (None, None)
    return {"low": low, "high": high}


Key = tuple[MetricName, Direction | None]
ValuesOf = Callable[[Key], Sequence[Entry]]
DIRECTIONS = tuple(ARROWS)  # the order of columns


def wide(
    title: str, lead: str, rows: Sequence[Entry], keys: Sequence[Key], values_of: ValuesOf, note: str, **more: Any
) -> list[Table]:
    """Systems in rows and metrics in columns: a table for every set of judgements or gains.

    Args:
        title: above each table, before its set of judgements or gains.
        lead: heading of the first column.
        rows: names of the systems.
        keys: metrics and directions; the columns of one direction share a heading.
        values_of: the values of a metric and direction, one a row.
        note: below the last table.
        more: of the tables.
    """
    found = []
    views = list(dict.fromkeys(metric.view for metric, _ in keys))
    for view in views:
        own = sorted((key for key in keys if key[0].view == view), key=lambda key: DIRECTIONS.index(key[1]))
        columns = [Column(lead, words=True)]
        for metric, direction in own:
            fields = {"metric": str(metric), "direction": direction}
            above = "" if direction is None else ARROWS[direction]
            columns.append(Column(metric.name + arrow(metric.higher_is_better), fields=fields, group=above))
        lines = zip(rows, *map(values_of, own), strict=True)
        notes = (note,) * (view == views[-1])
        found.append(
            Table(
                "values", f"{title} · {heading(view)}", tuple(columns), tuple(lines), best="column", notes=notes, **more
            )
        )
    return found
