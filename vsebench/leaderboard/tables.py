"""The layout of leaderboards: rows, cells, marks and notes of every table. Renderers decide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import VsebenchError
from ..relevance.kinds import GAINS
from ..report.format import ARROWS, UNDEFINED
from ..report.grid import Cell, Grid
from ..types import Float
from .benchmarks import PAGE_OF_VIEW, described
from .facts import FAMILIES, facts
from .groups import SIDES, Column, Group, version
from .published import contradictions
from .ranks import contributions, parts, ranks
from .schema import LEVELS, Entry, Level, Value
from .store import ENTRIES, Board

DIRECTIONS = {**ARROWS, "mean": "mean of both", None: ""}
BESIDE = "Submitted entries are measured, and are neither ranked nor compared with what papers print."
LONGEST = 80  # characters of a name in a table; the page of an entry has all of it
AS_PRINTED = (
    "As printed in the papers, which have no signature: bold and underlined compare what is printed, and a difference "
    "between papers may be one of protocol."
)


@dataclass(frozen=True)
class Number:
    """One cell.

    Attributes:
        text: as printed; a dash without a value.
        order: what it is sorted by, None without a value.
        best: 1 for the best of a column, 2 for the second, else 0.
        interval: in brackets, or the empty text.
        ends: the interval with a digit less, for narrow columns.
        doubt: why it is marked; the empty text for most.
    """

    text: str
    order: float | None = None
    best: int = 0
    interval: str = ""
    ends: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class Row:
    """One line: an entry, or several of one paper that print the same numbers.

    Attributes:
        entries: the first one has the page that the name links to.
        rank: empty where there are no ranks.
        source: paper and tables, or the version that measured it.
        numbers: one a column.
        submitted: it is beside rows of papers, with which it is not compared.
    """

    entries: tuple[Entry, ...]
    rank: str
    source: str
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
        by: the column that the rows are ordered by.
        rows, notes: lines, and sentences below them.
    """

    group: Group
    title: str
    by: Column
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


def table(group: Group, board: Board) -> Table:
    """The table of a group."""
    lines = _merged(group)
    by = _leading(group, [first for first, *_ in lines])
    lines += [[entry] for entry in group.beside]
    sign = -1.0 if facts(by[0]).higher_is_better else 1.0
    leading = [(sign * v.value, line[0].id, line) for line in lines if (v := _sound(line[0], by)) is not None]
    known = [line for *_, line in sorted(leading, key=lambda found: found[:2])]
    others = [line for line in lines if _sound(line[0], by) is None]
    entries = [line[0] for line in known]
    changes = _changes(entries, by, board)
    places = None if group.level == "published" else ranks(entries, by, changes)
    columns = [_numbers([line[0] for line in (*known, *others)], column, group.level) for column in group.columns]
    rows = []
    for i, line in enumerate((*known, *others)):
        rank = str(places[i]) if places is not None and i < len(known) else ""
        numbers = tuple(column[i] for column in columns)
        rows.append(Row(tuple(line), rank, _source(line, board), numbers, line[0].level != group.level))
    how = "their intervals" if changes is None else "their difference on the same images"
    notes = _notes(group, by, rows, None if places is None else how)
    return Table(group, _title(group.family), by, tuple(rows), tuple(notes))


def _merged(group: Group) -> list[list[Entry]]:
    """Entries of one paper with the same name, setting and numbers are one line, as its tables repeat rows."""
    lines: dict[object, list[Entry]] = {}
    for entry in group.entries:
        shown = tuple(None if (v := entry.value_of(*c)) is None else v.value for c in group.columns)
        key = (entry.paper, entry.model.name, entry.model.setting, shown) if entry.paper else entry.id
        lines.setdefault(key, []).append(entry)
    return list(lines.values())


def _leading(group: Group, entries: Sequence[Entry]) -> Column:
    """The column that most entries have; of several a sum, else the first."""
    counts = {c: sum(e.value_of(*c) is not None for e in entries) for c in group.columns}
    most = max(counts.values())
    full = [c for c in group.columns if counts[c] == most]
    return next((c for c in full if c[1] is None), full[0])


def _sound(entry: Entry, column: Column) -> Value | None:
    """The number of a column, None where there is none or the row contradicts it."""
    value = entry.value_of(*column)
    return None if value is None or value.name in contradictions(entry) else value


def _changes(entries: Sequence[Entry], by: Column, board: Board) -> Float | None:
    """What every image adds to the numbers of entries, see ``ranks``; None where a file cannot be read."""
    files = [board.folder / ENTRIES / entry.per_query.name for entry in entries if entry.per_query is not None]
    if len(files) < len(entries) or len(files) < 2 or not (wanted := parts(by)):
        return None
    try:
        return contributions(files, wanted)
    except (OSError, ValueError, VsebenchError):  # ``check`` names it
        return None


def _numbers(entries: Sequence[Entry], column: Column, level: Level) -> list[Number]:
    """The cells of a column, with its best and second; a number in doubt or of another level is neither."""
    values = [entry.value_of(*column) for entry in entries]
    doubts = [contradictions(entry).get(v.name, "") if v else "" for entry, v in zip(entries, values, strict=True)]
    doubtful = [bool(doubt) or entry.level != level for entry, doubt in zip(entries, doubts, strict=True)]
    sound = {v.value for v, no in zip(values, doubtful, strict=True) if v is not None and not no}
    places = sorted(sound, reverse=facts(column[0]).higher_is_better)[: 2 if len(sound) > 2 else 1]
    if len(sound) < 2:
        places = []
    found = []
    for v, doubt, no in zip(values, doubts, doubtful, strict=True):
        if v is None:
            found.append(Number(UNDEFINED))
            continue
        best = places.index(v.value) + 1 if v.value in places and not no else 0
        found.append(Number(text_of(v), v.value, best, interval_of(v), _ends(v), doubt))
    return found


def _ends(value: Value) -> str:
    """The interval with a digit less than ``interval_of``, and without brackets."""
    if value.interval is None:
        return ""
    scale = facts(value.metric).scale
    low, high = ((f"{100 * end:.1f}" if scale == "percent" else shown(end, value.metric)) for end in value.interval)
    return f"{low} – {high}"


def text_of(value: Value) -> str:
    """A number as in a table: as the paper prints it, else with two decimals."""
    return value.printed or shown(value.value, value.metric)


def shown(number: float, metric: str) -> str:
    """A number in the unit of its metric."""
    scale = facts(metric).scale
    if scale == "percent":
        return f"{100 * number:.2f}"
    return f"{number:.1f}" if scale == "rank" else f"{number:.3f}"


def interval_of(value: Value) -> str:
    """The interval of a number in brackets, or the empty text."""
    if value.interval is None:
        return ""
    return f"[{shown(value.interval[0], value.metric)}, {shown(value.interval[1], value.metric)}]"


def _source(line: Sequence[Entry], board: Board) -> str:
    first = line[0]
    if not first.paper:
        return f"suite {first.facts['suite']}" if "suite" in first.facts else f"vsebench {version(first)}"
    named = ", ".join(dict.fromkeys(e.table.removeprefix("Table ") for e in line))
    paper = board.papers[first.paper].name if first.paper in board.papers else first.paper
    return f"{paper}, table{'s' * (', ' in named)} {named}"


def _title(family: str) -> str:
    if family in FAMILIES:
        return FAMILIES[family]
    return f"Graded relevance: {GAINS[family].title if family in GAINS else family}"


def _notes(group: Group, by: Column, rows: Sequence[Row], how: str | None) -> list[str]:
    """The sentences below a table; ``how`` names the test behind the ranks, None for no ranks."""
    notes = [AS_PRINTED] if group.level == "published" else [f"Measured alike: {group.rules}"]
    if group.beside:
        notes.append(BESIDE)
    if how is not None:
        what = heading(by, group) + (f" ({DIRECTIONS[by[1]]})" if by[1] else "")
        notes.append(
            f"Rank by {what}: one more than the number of entries that are better beyond chance (95 %, by {how}); "
            "entries that cannot be told apart share a rank."
        )
        notes.append(
            "Rows are in the order of this number. Ranks are groups of significance, and need not be in that order: a "
            "row whose number is less certain can have a better rank than a row above it."
        )
    elif group.level == "reproduced":
        notes.append("No ranks: one seed gives no interval.")
    versions = sorted({version(entry) for row in rows for entry in row.entries} - {""})
    if len(versions) > 1:
        notes.append(f"Evaluated by different versions of vsebench: {', '.join(versions)}.")
    for row in rows:
        notes += [f"† {row.name}: {n.doubt}." for n in row.numbers if n.doubt]
    notes += dict.fromkeys(f"{e.table}: {note}." for row in rows for e in row.entries if e.paper for note in e.notes)
    return notes


def heading(column: Column, group: Group) -> str:
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


def is_sum(columns: Sequence[Column]) -> bool:
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


def grid(found: Table, *, intervals: bool = True) -> Grid:
    """The table for the renderers of reports: Markdown, LaTeX, terminal."""
    group = found.group
    head = (("rank",) if found.ranked else ()) + ("model", "source")
    above = [side for side, n in spans(group) for _ in range(n)]
    lines = []
    for row in found.rows:
        name = f"{row.name} ({row.setting})" if row.setting else row.name
        source = f"submitted, {row.source}" if row.submitted else row.source
        first = ((Cell(row.rank),) if found.ranked else ()) + (Cell(name), Cell(source))
        lines.append((*first, *(_cell(n, intervals) for n in row.numbers)))
    title = f"{described(group.benchmark).title} · {found.heading} · {group.level}"
    headings = (*head, *(heading(c, group) for c in group.columns))
    return Grid(title, headings, len(head), tuple(lines), found.notes, groups=("",) * len(head) + tuple(above))


def _cell(number: Number, intervals: bool) -> Cell:
    aside = number.interval if intervals else ""
    return Cell(number.text, "†" if number.doubt else "", aside, best=number.best == 1, second=number.best == 2)
