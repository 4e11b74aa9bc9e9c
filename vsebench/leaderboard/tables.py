"""The tables of leaderboards: rows in order, ranks, marks and notes, as ``results.table.Table``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import count_of
from ..relevance.sources import SOURCES
from ..results.format import ARROWS, UNDEFINED, printed
from ..results.table import Column, Table, Text, Value, arrow
from .benchmarks import described
from .facts import FAMILIES, PAPER, facts
from .groups import PRINTED, Group, groups, version
from .ranks import paired, ranks
from .schema import LEVELS, Entry, Key
from .store import Board
from .suites import INTERVALS, NONE, ONE_SEED

DIRECTIONS = {**ARROWS, "mean": "mean of both", None: ""}
LONGEST = 80  # characters of a name in a table; the page of an entry has all of it
AS_PRINTED = "Numbers of papers are as printed, without a signature: papers may differ in their protocols."
ADDED = "RSum that a source does not print is the sum of the six recalls that it prints."
NOT_PAIRED = (
    "Intervals are over seeds and over the test images as queries. They are not paired: a test of the differences on "
    "the same images would tell more entries apart."
)
ORDER = (
    "Rows are in the order of this number, and rows without it stand last. Ranks are groups of significance, and need "
    "not be in that order: a row whose number is less certain can have a better rank than a row above it."
)
_FIGURE_SPACE, _POINT_SPACE = "\u2007", "\u2008"  # as wide as a digit, and as a point


@dataclass(frozen=True)
class Ranking:
    """The table of a group.

    Attributes:
        group: what it is made of.
        heading: the kind of metric, with what distinguishes the table from others of this kind.
        by: the number that the rows are ordered by.
        lines: the entries of every row, several where a paper prints the same numbers again.
        table: the rows.
        remarks: on single numbers of papers; those of other entries are on their pages.
    """

    group: Group
    heading: str
    by: Key
    lines: tuple[tuple[Entry, ...], ...]
    table: Table
    remarks: tuple[str, ...]


def tables_of(board: Board) -> tuple[Ranking, ...]:
    """All tables of all test sets, in their order."""
    return tuple(ranking(group, board) for group in groups(board.entries))


def ranking(group: Group, board: Board) -> Ranking:
    """The table of a group."""
    merged = _merged(group)
    by = _leading(group, [first for first, *_ in merged])
    lines = sorted(merged, key=lambda line: _place(line[0], (by, *group.columns)))
    firsts = [first for first, *_ in lines]
    measured = [entry for entry in firsts if entry.sound(by) is not None and entry.level != "published"]
    ranked = [entry for entry in measured if entry.values[by].interval is not None]
    rank = dict(zip((entry.id for entry in ranked), ranks(ranked, by), strict=True))
    inputs = any(entry.model.image_input for entry in firsts)
    columns = [
        Column("model", words=True),
        *(Column(heading(key, group), group=_above(key, group.columns)) for key in group.columns),
        *([Column("rank")] if rank else []),
        Column("source", words=True),
        *([Column("image input", words=True)] if inputs else []),
    ]
    numbers = [aligned([first.values.get(key, Value(None)) for first in firsts]) for key in group.columns]
    rows = []
    for line, cells in zip(lines, zip(*numbers, strict=True), strict=True):
        first, place = line[0], Value(rank.get(line[0].id), "count")
        source = [_source(line, board), *([first.model.image_input or UNDEFINED] if inputs else [])]
        rows.append((_named(first), *cells, *([place] if rank else []), *source))
    notes = _notes(group, firsts) + _of_ranks(group, by, measured, ranked) + _of_papers(group, board)
    family = group.family
    title = FAMILIES.get(family) or f"Graded relevance: {SOURCES[family].title if family in SOURCES else family}"
    title += f" ({shortened(group.apart)})" * bool(group.apart)
    table = Table("", "", tuple(columns), tuple(rows), best="column", notes=tuple(notes))
    return Ranking(group, title, by, tuple(map(tuple, lines)), table, tuple(_remarks(group, firsts)))


def _merged(group: Group) -> list[list[Entry]]:
    """Entries of one paper with the same name, setting and numbers are one line, as its tables repeat rows."""
    lines: dict[object, list[Entry]] = {}
    for entry in group.entries:
        shown = tuple(None if (v := entry.values.get(c)) is None else v.value for c in group.columns)
        key = (entry.paper, entry.model.name, entry.model.setting, shown) if entry.paper else entry.id
        lines.setdefault(key, []).append(entry)
    return list(lines.values())


def _leading(group: Group, entries: Sequence[Entry]) -> Key:
    """A sum that at least half of the entries have, and half of the measured ones, which get ranks by it; else the
    first column of those that most have.
    """
    counts = {c: sum(c in e.values for e in entries) for c in group.columns}
    measured = [e for e in entries if e.level != "published"]
    sums = [
        c
        for c in group.columns
        if c[1] is None and all(2 * sum(c in e.values for e in some) >= len(some) for some in (entries, measured))
    ]
    return sums[0] if sums else max(group.columns, key=lambda c: counts[c])


def _place(entry: Entry, columns: Sequence[Key]) -> tuple[int, float, str]:
    """What a row is ordered by: its number in the first column where it has one, the best first."""
    for at, column in enumerate(columns):
        if (value := entry.sound(column)) is not None:
            sign = -1.0 if facts(column[0]).higher_is_better else 1.0
            return at, sign * (value.value or 0.0), entry.id
    return len(columns), 0.0, entry.id


def _named(entry: Entry) -> Text:
    """The name of a model, with its setting; it leads to the page of the entry."""
    link = f"entries/{entry.id}.html" if has_page(entry) else ""
    return Text(shortened(entry.model.name), entry.model.name, shortened(entry.model.setting), link)


def has_page(entry: Entry) -> bool:
    """Whether an entry has a page: measured ones. A published one is the row of a table of a paper."""
    return entry.level != "published"


def _source(line: Sequence[Entry], board: Board) -> Text:
    """Where the numbers of a row are from: paper and tables, or level and what measured it."""
    first = line[0]
    if not first.paper:
        suite = first.facts.get("suite")
        return Text(first.level, first.level, f"suite {suite}" if suite else f"vsebench {version(first)}")
    named = ", ".join(dict.fromkeys(e.table.removeprefix("Table ") for e in line))
    words = f"table{'s' * (', ' in named)} {named}" if first.table.startswith("Table ") else named
    words += f", row {first.row}" if first.row and len(line) == 1 else ""
    paper = board.papers.get(first.paper)
    return Text(paper.name if paper else first.paper, first.paper, words, paper.url if paper else "")


def aligned(values: Sequence[Value]) -> list[Value]:
    """Numbers of a column with as many characters behind the point, filled up with spaces as wide as digits."""
    texts = ["" if v.value is None else v.text or printed(v.value, v.form) for v in values]
    behind = [len(text) - text.index(".") if "." in text else 0 for text in texts]
    found = []
    for value, text, n in zip(values, texts, behind, strict=True):
        missing = max(behind) - n
        point = _POINT_SPACE if missing and n == 0 else ""
        found.append(replace(value, text=text and text + point + _FIGURE_SPACE * (missing - len(point))))
    return found


def _notes(group: Group, entries: Sequence[Entry]) -> list[str]:
    """The sentences below a table on where its numbers are from, and on numbers that their row contradicts."""
    papers = [entry for entry in entries if entry.level == "published"]
    notes = [AS_PRINTED] if papers else []
    if len(papers) < len(entries):
        notes.append(
            f"Measured alike: {described(group.benchmark).protocol if group.rules == PRINTED else group.rules}"
        )
    sums = [entry.values.get(("RSum", None)) for entry in papers]
    if group.family == "recall" and any(v is not None and not v.text for v in sums):
        notes.append(ADDED)
    versions = sorted({version(entry) for entry in entries} - {""})
    if len(versions) > 1:
        notes.append(f"Evaluated by different versions of vsebench: {', '.join(versions)}.")
    doubts = [(entry, key) for entry in entries for key in group.columns if key in entry.doubts]
    return notes + [f"† {shortened(entry.model.name)}: {entry.doubts[key]}." for entry, key in doubts]


def _of_ranks(group: Group, by: Key, entries: Sequence[Entry], ranked: Sequence[Entry]) -> list[str]:
    """The sentences on the ranks of measured entries, of which some are ranked, or on why there are none."""
    reproduced = [entry for entry in entries if entry.level == "reproduced"]
    if not ranked:
        known = dict.fromkeys(e.facts.get(INTERVALS, NONE + ONE_SEED) for e in reproduced)
        return [f"No ranks: {reason.removeprefix(NONE)}." for reason in known if reason.startswith(NONE)]
    what = heading(by, group) + (f" ({DIRECTIONS[by[1]]})" if by[1] else "")
    pairs = paired(ranked, by)
    how = ["their difference on the same images"] * bool(pairs)
    how += ["their intervals"] * (len(pairs) != 1 or len(pairs[0]) < len(ranked))
    without = count_of(len(entries) - len(ranked), "measured entry has", "measured entries have")
    note = (
        f"Rank by {what}: one more than the number of measured entries that are better beyond chance (95 %, by "
        f"{', else by '.join(how)}); entries that cannot be told apart share a rank."
    )
    note += f" {without} no interval, and so no rank." * (len(ranked) < len(entries))
    return [note, ORDER, *([NOT_PAIRED] if reproduced else [])]


def _of_papers(group: Group, board: Board) -> list[str]:
    """The notes of papers about the numbers of a table."""
    papers = [board.papers[key] for key in dict.fromkeys(e.paper for e in group.entries) if key in board.papers]
    return [f"{p.name}: {n.says}." for p in papers for n in p.notes if n.is_of(group.benchmark, group.family)]


def _remarks(group: Group, entries: Sequence[Entry]) -> list[str]:
    return [
        f"{shortened(entry.model.name)}, {heading(key, group)} {DIRECTIONS[key[1]]}".rstrip() + f": {note}."
        for entry in entries
        if entry.level == "published"
        for key in group.columns
        if key in entry.values and (note := entry.values[key].facts["note"])
    ]


def heading(column: Key, group: Group) -> str:
    """The heading of a column without its direction; a view that the table has is left out."""
    metric, _ = column
    known = facts(metric)
    view = metric.partition(":")[0] if ":" in metric else ""
    named = view not in ("", PAPER, group.family)
    return (f"{view}:" if named else "") + known.heading + arrow(known.higher_is_better)


def _above(column: Key, columns: Iterable[Key]) -> str:
    """What stands above the heading of a column: its direction; of sums over both that they are sums."""
    sums = any(d is None and metric.rpartition(":")[2].lower().startswith(("rsum", "nsum")) for metric, d in columns)
    return DIRECTIONS[column[1]] or ("sum" if sums else "")


def counted(rankings: Iterable[Ranking]) -> dict[str, int]:
    """How many entries of every level of ``LEVELS`` are in some tables."""
    found = {entry.id: entry.level for one in rankings for line in one.lines for entry in line}
    return {level: sum(own == level for own in found.values()) for level in LEVELS}


def shortened(text: str, longest: int = LONGEST) -> str:
    """The beginning of a long text."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
