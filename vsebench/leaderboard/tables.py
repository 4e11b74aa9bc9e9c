"""The layout of leaderboards: rows, cells, marks and notes of every table. Renderers decide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import VsebenchError
from ..relevance.sources import SOURCES
from ..results.format import ARROWS, UNDEFINED, fixed
from ..results.grid import Cell
from ..types import Float
from .benchmarks import PAGE_OF_VIEW
from .columns import Column, headed
from .facts import FAMILIES, facts
from .groups import SIDES, Group, Key, groups, version
from .published import contradictions
from .ranks import contributions, parts, ranks
from .schema import ENTRIES, LEVELS, Entry, Level, Value
from .store import Board
from .suites import INTERVALS, NONE, ONE_SEED

DIRECTIONS = {**ARROWS, "mean": "mean of both", None: ""}
BESIDE = "Submitted entries are measured, and are neither ranked nor compared with what papers print."
LONGEST = 80  # characters of a name in a table; the page of an entry has all of it
AS_PRINTED = (
    "As printed in the papers, which have no signature: bold and underlined compare what is printed, and a difference "
    "between papers may be one of protocol."
)
ADDED = "RSum that a source does not print is the sum of the six recalls that it prints."
NOT_PAIRED = (
    "Intervals are over seeds and over the test images as queries. They are not paired: a test of the differences on "
    "the same images would tell more entries apart."
)
ORDER = (
    "Rows are in the order of this number. Ranks are groups of significance, and need not be in that order: a row "
    "whose number is less certain can have a better rank than a row above it."
)


@dataclass(frozen=True)
class Number(Cell):
    """A cell with a number; its ``aside`` is the interval.

    Attributes:
        order: what it is sorted by, None without a value.
        ends: the interval with a digit less, for narrow columns.
        doubt: why it is marked with a dagger; the empty text for most.
        note: about this number.
    """

    order: float | None = None
    ends: str = ""
    doubt: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One line: an entry, or several of one paper that print the same numbers.

    Attributes:
        entries: at least one.
        rank: empty where there are no ranks.
        source: paper and tables, or the version that measured it.
        url: of the paper; empty for measured entries, which have a page of their own.
        facts: one a column of ``Table.columns``.
        numbers: one a column of the group.
        submitted: it is beside rows of papers, with which it is not compared.
    """

    entries: tuple[Entry, ...]
    rank: str
    source: str
    url: str
    facts: tuple[str, ...]
    numbers: tuple[Number, ...]
    submitted: bool = False

    @property
    def name(self) -> str:
        """The name of the model, shortened."""
        return shortened(self.entries[0].model.name)

    @property
    def setting(self) -> str:
        """Its setting, shortened."""
        return shortened(self.entries[0].model.setting)


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes:
        group: what it is made of.
        title: the kind of metric.
        by: the column of numbers that the rows are ordered by.
        columns: of words, behind the source.
        rows, notes: lines, and sentences below them.
    """

    group: Group
    title: str
    by: Key
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def heading(self) -> str:
        """The title, with what distinguishes the table from others of this title."""
        return f"{self.title} ({shortened(self.group.apart)})" if self.group.apart else self.title

    @property
    def ranked(self) -> bool:
        """Whether the rows have ranks."""
        return any(row.rank for row in self.rows)

    @property
    def remarks(self) -> list[str]:
        """The notes about single numbers of papers; those of other entries are on their pages."""
        return [
            f"{row.name}, {heading(key, self.group)} {DIRECTIONS[key[1]]}".rstrip() + f": {number.note}."
            for row in self.rows
            for key, number in zip(self.group.columns, row.numbers, strict=True)
            if number.note and row.url
        ]

    @property
    def sources(self) -> tuple[str, ...]:
        """The headings of the columns of words behind the numbers."""
        return ("Source", *(c.heading.capitalize() for c in self.columns))


def tables_of(board: Board) -> tuple[Table, ...]:
    """All tables of all test sets, in their order."""
    return tuple(table(group, board) for group in groups(board.entries))


def table(group: Group, board: Board) -> Table:
    """The table of a group."""
    lines = _merged(group)
    by = _leading(group, [first for first, *_ in lines])
    lines += [[entry] for entry in group.beside]
    sign = -1.0 if facts(by[0]).higher_is_better else 1.0
    leading = [(sign * v.value, line[0].id, line) for line in lines if (v := _sound(line[0], by)) is not None]
    known = [line for *_, line in sorted(leading, key=lambda found: found[:2])]
    lines = known + [line for line in lines if _sound(line[0], by) is None]
    entries = [line[0] for line in known]
    changes = _changes(entries, by, board)
    places = None if group.level == "published" else ranks(entries, by, changes)
    numbers = [_numbers([line[0] for line in lines], key, group.level) for key in group.columns]
    columns = headed([entry for line in lines for entry in line])
    rows = []
    for i, line in enumerate(lines):
        first = line[0]
        rank = str(places[i]) if places is not None and i < len(known) else ""
        url = board.papers[first.paper].url if first.paper in board.papers else ""
        words = tuple(str(c.read(first, first.values[0])) or UNDEFINED for c in columns)
        cells = tuple(column[i] for column in numbers)
        rows.append(Row(tuple(line), rank, _source(line, board), url, words, cells, first.level != group.level))
    family = group.family
    title = FAMILIES.get(family) or f"Graded relevance: {SOURCES[family].title if family in SOURCES else family}"
    how = "their intervals" if changes is None else "their difference on the same images"
    notes = _notes(group, by, rows, None if places is None else how) + _of_papers(group, board)
    return Table(group, title, by, columns, tuple(rows), tuple(notes))


def _merged(group: Group) -> list[list[Entry]]:
    """Entries of one paper with the same name, setting and numbers are one line, as its tables repeat rows."""
    lines: dict[object, list[Entry]] = {}
    for entry in group.entries:
        shown = tuple(None if (v := entry.value_of(*c)) is None else v.value for c in group.columns)
        key = (entry.paper, entry.model.name, entry.model.setting, shown) if entry.paper else entry.id
        lines.setdefault(key, []).append(entry)
    return list(lines.values())


def _leading(group: Group, entries: Sequence[Entry]) -> Key:
    """The column that most entries have; of several a sum, else the first."""
    counts = {c: sum(e.value_of(*c) is not None for e in entries) for c in group.columns}
    most = max(counts.values())
    full = [c for c in group.columns if counts[c] == most]
    return next((c for c in full if c[1] is None), full[0])


def _sound(entry: Entry, column: Key) -> Value | None:
    """The number of a column, None where there is none or the row contradicts it."""
    value = entry.value_of(*column)
    return None if value is None or value.name in contradictions(entry) else value


def _changes(entries: Sequence[Entry], by: Key, board: Board) -> Float | None:
    """What every image adds to the numbers of entries, see ``ranks``; None where a file cannot be read."""
    files = [board.folder / ENTRIES / f"{entry.id}.json" for entry in entries if entry.level == "submitted"]
    if len(files) < len(entries) or len(files) < 2 or not (wanted := parts(by)):
        return None
    try:
        return contributions(files, wanted)
    except (OSError, ValueError, VsebenchError):  # ``check`` names it
        return None


def _numbers(entries: Sequence[Entry], column: Key, level: Level) -> list[Number]:
    """The cells of a column, with its best and second; a number in doubt or of another level is neither."""
    sound = {v.value for entry in entries if entry.level == level and (v := _sound(entry, column)) is not None}
    places = sorted(sound, reverse=facts(column[0]).higher_is_better)[: 2 if len(sound) > 2 else 1]
    found = []
    for entry in entries:
        value = entry.value_of(*column)
        doubt = contradictions(entry).get(value.name, "") if value else ""
        compared = value is not None and value.value in places and entry.level == level and not doubt
        place = places.index(value.value) if value is not None and compared and len(sound) > 1 else None
        found.append(number_of(value, doubt, place))
    return found


def number_of(value: Value | None, doubt: str = "", place: int | None = None) -> Number:
    """The cell of a number; ``place`` is 0 for the best of a column, and 1 for the second."""
    if value is None:
        return Number(UNDEFINED)
    metric = value.metric
    interval = ends = ""
    if value.interval is not None:
        low, high = value.interval
        interval = f"[{shown(low, metric)}, {shown(high, metric)}]"
        ends = f"{shown(low, metric, 1)} – {shown(high, metric, 1)}"
    text = value.printed or shown(value.value, metric)
    mark = "†" if doubt else ""
    return Number(text, mark, interval, place == 0, place == 1, value.value, ends, doubt, value.note)


def shown(number: float, metric: str, decimals: int = 2) -> str:
    """A number in the unit of its metric; a fraction times 100 with so many decimals."""
    scale = facts(metric).scale
    if scale == "percent":
        return fixed(number, decimals, times=100)
    return fixed(number, 1 if scale == "rank" else 3)


def _source(line: Sequence[Entry], board: Board) -> str:
    first = line[0]
    if not first.paper:
        return f"suite {first.facts['suite']}" if "suite" in first.facts else f"vsebench {version(first)}"
    named = ", ".join(dict.fromkeys(e.table.removeprefix("Table ") for e in line))
    paper = board.papers[first.paper].name if first.paper in board.papers else first.paper
    return f"{paper}, table{'s' * (', ' in named)} {named}"


def _notes(group: Group, by: Key, rows: Sequence[Row], how: str | None) -> list[str]:
    """The sentences below a table; ``how`` names the test behind the ranks, None for no ranks."""
    notes = [AS_PRINTED] if group.level == "published" else [f"Measured alike: {group.rules}"]
    sums = [e.value_of("RSum", None) for e in group.entries if group.level == "published" and group.family == "recall"]
    if any(v is not None and not v.printed for v in sums):
        notes.append(ADDED)
    if group.beside:
        notes.append(BESIDE)
    if how is not None:
        what = heading(by, group) + (f" ({DIRECTIONS[by[1]]})" if by[1] else "")
        notes.append(
            f"Rank by {what}: one more than the number of entries that are better beyond chance (95 %, by {how}); "
            "entries that cannot be told apart share a rank."
        )
        notes += [ORDER, NOT_PAIRED] if group.level == "reproduced" else [ORDER]
    elif group.level == "reproduced":
        known = dict.fromkeys(e.facts.get(INTERVALS, NONE + ONE_SEED) for e in group.entries)
        notes += [f"No ranks: {reason.removeprefix(NONE)}." for reason in known if reason.startswith(NONE)]
    versions = sorted({version(entry) for row in rows for entry in row.entries} - {""})
    if len(versions) > 1:
        notes.append(f"Evaluated by different versions of vsebench: {', '.join(versions)}.")
    for row in rows:
        notes += [f"† {row.name}: {n.doubt}." for n in row.numbers if n.doubt]
    return notes


def _of_papers(group: Group, board: Board) -> list[str]:
    """The notes of papers about the numbers of a table."""
    papers = [board.papers[key] for key in dict.fromkeys(e.paper for e in group.entries) if key in board.papers]
    return [f"{p.name}: {n.says}." for p in papers for n in p.notes if n.is_of(group.benchmark, group.family)]


def heading(column: Key, group: Group) -> str:
    """The heading of a column without its direction; a view that the page or the table has is left out."""
    metric, _ = column
    known = facts(metric)
    view = metric.partition(":")[0] if ":" in metric else ""
    named = view and view != "paper" and view != group.family and PAGE_OF_VIEW.get(view) != group.benchmark
    return (f"{view}:" if named else "") + known.heading + ("" if known.higher_is_better else " ↓")


def spans(group: Group) -> list[tuple[str, int]]:
    """The directions above the columns with how many columns each has."""
    counts = [(side, sum(direction == side for _, direction in group.columns)) for side in SIDES]
    return [(DIRECTIONS[side] or ("sum" if is_sum(group.columns) else ""), n) for side, n in counts if n]


def is_sum(columns: Sequence[Key]) -> bool:
    """Whether the numbers without a direction are sums over both."""
    return any(d is None and metric.rpartition(":")[2].lower().startswith(("rsum", "nsum")) for metric, d in columns)


def counted(tables: Sequence[Table]) -> list[int]:
    """How many entries of every level of ``LEVELS`` are in some tables."""
    ids = [
        {e.id for t in tables if t.group.level == level for r in t.rows for e in r.entries if e.level == level}
        for level in LEVELS
    ]
    return [len(own) for own in ids]


def shortened(text: str, longest: int = LONGEST) -> str:
    """The beginning of a long text."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
