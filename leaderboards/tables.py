"""Tables: which entries stand together, in what order, with which ranks and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations, groupby
from typing import NamedTuple

import vsebench as vb
from vsebench.errors import BadInput, UsageError
from vsebench.signature import OF_SYSTEM

from .entries import FAMILIES, PAPER, RSUM, Board, Entry, Key, Number, concerns, facts_of, page_of

ARROWS = {"i2t": "image→text", "t2i": "text→image", "i2i": "image→image", "t2t": "text→text", "": ""}
PRINTED = "as printed"  # the rules of numbers of papers, and of those measured by the protocol of their test set
AS_PRINTED = "Numbers of papers are as printed, without a signature: papers may differ in their protocols."
SUM_ADDED = "If a source prints no RSum, it is the sum of its six recalls."
SMALL = (
    "Rows 'trained here' are small models trained by this repository, on scenes or on the objects that people marked "
    "in the images (image input 'object annotations'): compare them with each other, not with the models of papers."
)
UNPAIRED = (
    "Intervals of rows 'trained here' are over seeds and over the test images as queries. A paired test on the same "
    "images would tell more of them apart."
)
ORDER = "Rows are sorted by this number. A row with a wide interval can have a better rank than rows above it."
LONGEST = 80  # characters of a name in a table


class Cell(NamedTuple):
    """What one field of a table shows; ``best`` is ``b`` or ``u`` for the best and second best number of a column."""

    text: str = ""
    aside: str = ""
    link: str = ""
    mark: str = ""
    best: str = ""


class Column(NamedTuple):
    """A heading, what stands above it, and whether its fields are numbers."""

    heading: str
    group: str = ""
    number: bool = False


@dataclass(frozen=True)
class Table:
    """What a template prints.

    Attributes:
        title: above it.
        columns, rows: as many cells as columns.
        notes: below it.
        folded: sentences that a reader opens.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    folded: Sequence[str] = ()

    @property
    def spans(self) -> list[tuple[str, int]]:
        """What stands above the headings, and how many neighbours share it."""
        return [(group, len(list(columns))) for group, columns in groupby(self.columns, lambda c: c.group)]


@dataclass
class Ranking:
    """A table of numbers of one test set, kind and protocol.

    Attributes:
        page: the test set, on whose page it is.
        family: kind of metric, see ``FAMILIES``; of graded metrics the gains.
        rules: ``PRINTED``, or the fields of the signatures that can move a digit.
        entries: with the numbers of this table alone, named as on the page.
        apart: the fields that distinguish the rules from those of other tables of this test set and kind.
        by: the number that rows are ordered by.
        lines: the entries of every row, several where tables of a paper repeat a row.
        table: what is printed.
    """

    page: str
    family: str
    rules: str
    entries: list[Entry] = field(default_factory=list)
    apart: str = ""
    by: Key = ("", "")
    lines: list[list[Entry]] = field(default_factory=list)
    table: Table = Table("", (), ())

    @property
    def columns(self) -> list[Key]:
        return ordered(key for entry in self.entries for key in entry.numbers)


def rankings(board: Board) -> list[Ranking]:
    """All tables, by test set in the order of ``test_sets.json``: those with numbers of papers first."""
    found: dict[tuple[str, str, str], Ranking] = {}
    for entry in board.entries:
        own: dict[tuple[str, str, str], dict[Key, Number]] = {}
        for (metric, direction), number in entry.numbers.items():
            page, protocol = page_of(board, entry.benchmark, metric), rules(entry, metric)
            known = board.sets.get(page, {})
            place = page, facts_of(metric)[0], PRINTED if protocol in ("", known.get("protocol")) else protocol
            view, _, name = metric.rpartition(":")
            shown = name if view and view == known.get("view") else metric  # 1k:R@1 is R@1 on the page of COCO 1K
            own.setdefault(place, {})[shown, direction] = number
        for place, numbers in own.items():
            found.setdefault(place, Ranking(*place)).entries.append(replace(entry, numbers=numbers))
    for one in found.values():
        others = [o.rules.split("|") for o in found.values() if (o.page, o.family) == (one.page, one.family)]
        others = [fields for fields in others if fields != [PRINTED]]
        if one.rules != PRINTED:
            common = set.intersection(*map(set, others))
            one.apart = ", ".join(f.replace(":", " ", 1) for f in one.rules.split("|") if f not in common)
    pages, families = list(board.sets), list(FAMILIES)

    def order(group: Ranking) -> tuple[int, str, bool, int, str, int, str]:
        at = pages.index(group.page) if group.page in pages else len(pages)
        kind = families.index(group.family) if group.family in families else len(families)
        return at, group.page, group.rules != PRINTED, kind, group.family, -len(group.entries), group.rules

    for group in found.values():
        _draw(group, board)
    return sorted(found.values(), key=order)


def rules(entry: Entry, metric: str) -> str:
    """The fields of the signature that can move a digit of a metric, in alphabetical order; empty for a paper.

    Fields of the judgements of other metrics cannot, nor can captions, unless gains are made of them.
    """
    view = metric.partition(":")[0] if ":" in metric else "gt"
    graded = not metric.startswith(PAPER) and vb.parse(metric).graded
    others = {m.partition(":")[0] for m, _ in entry.numbers if ":" in m} - {view}
    others |= set(OF_SYSTEM) | (set() if graded else {"captions"})
    fields = (f.partition(":") for f in entry.signature.split("|") if f)
    kept = (
        (key, text) for key, _, text in fields if key not in others and (key == view or not text.startswith("own#"))
    )
    return "|".join(f"{key}:{text}" for key, text in sorted(kept))


def ordered(columns: Iterable[Key]) -> list[Key]:
    """Columns without repetition: by direction, then as they come, the ks of one metric ascending."""
    every = list(dict.fromkeys(columns))
    stems = list(dict.fromkeys(metric.partition("@")[0] for metric, _ in every))

    def place(column: Key) -> tuple[int, int, int]:
        stem, _, depth = column[0].partition("@")
        return list(ARROWS).index(column[1]), stems.index(stem), int(depth) if depth.isdigit() else 0

    return sorted(every, key=place)


def _draw(group: Ranking, board: Board) -> None:
    """Fill in the lines and the table of a ranking."""
    lines = _merged(group)
    by = _leading(group, [first for first, *_ in lines])
    lines.sort(key=lambda line: _place(line[0], [by, *group.columns]))
    firsts = [first for first, *_ in lines]
    rank = ranks([e for e in firsts if by in e.numbers and e.numbers[by].interval is not None], by)
    mixed = {e.level for e in firsts} == {"published", "trained here"}  # the best of small models would be rank 1
    shown = 2 * len(rank) >= len(firsts) and not mixed
    inputs = any(entry.model.image_input for entry in firsts)
    columns = [
        Column("model"), *(Column(heading(key, group), _above(key, group), True) for key in group.columns),
        *([Column("rank", "", True)] if rank and shown else []), Column("source"), *([Column("image input")] * inputs),
    ]  # fmt: skip
    cells = [numbers([e.numbers.get(key) for e in firsts], facts_of(key[0])[2]) for key in group.columns]
    rows = []
    for line, own in zip(lines, zip(*cells, strict=True), strict=True):
        first = line[0]
        link = "" if first.level == "published" else f"entries/{first.id}.html"
        rows.append([
            Cell(shortened(first.model.name), shortened(first.model.setting), link), *own,
            *([Cell(str(rank.get(first.id, "—")))] if rank and shown else []), _source(line, board),
            *([Cell(first.model.image_input or "—")] * inputs),
        ])  # fmt: skip
    title = FAMILIES.get(group.family, f"Graded relevance: {group.family}")
    title += f" ({shortened(group.apart)})" * bool(group.apart)
    notes = [*_notes(group, firsts, board), *_of_ranks(group, by, firsts, rank, shown)]
    folded = [
        f"{shortened(e.model.name)}, {heading(key, group)} {ARROWS[key[1]]}".rstrip() + f": {e.numbers[key].note}."
        for e in firsts for key in group.columns if key in e.numbers and e.numbers[key].note
    ]  # fmt: skip
    group.by, group.lines, group.table = by, lines, Table(title, columns, rows, notes, folded)


def _merged(group: Ranking) -> list[list[Entry]]:
    """Entries of one paper with the same name, setting and numbers are one line, as its tables repeat rows."""
    lines: dict[object, list[Entry]] = {}
    for entry in group.entries:
        values = tuple(entry.numbers[c].value if c in entry.numbers else None for c in group.columns)
        key = (entry.paper, entry.model.name, entry.model.setting, values) if entry.paper else entry.id
        lines.setdefault(key, []).append(entry)
    return list(lines.values())


def _leading(group: Ranking, entries: Sequence[Entry]) -> Key:
    """A sum that at least half of the entries have, and half of the measured ones; else the column of the most."""
    measured = [e for e in entries if e.level != "published"]
    for column in group.columns:
        if column[1] == "" and all(2 * sum(column in e.numbers for e in es) >= len(es) for es in (entries, measured)):
            return column
    return max(group.columns, key=lambda c: sum(c in e.numbers for e in entries))


def _place(entry: Entry, columns: Sequence[Key]) -> tuple[int, float, str]:
    """What a row is ordered by: its number in the first column where it has a sound one, the best first."""
    for at, column in enumerate(columns):
        number = entry.numbers.get(column)
        if number is not None and not number.doubt:
            return at, (-1.0 if facts_of(column[0])[2] else 1.0) * number.value, entry.id
    return len(columns), 0.0, entry.id


def ranks(entries: Sequence[Entry], by: Key) -> dict[str, int]:
    """The rank of every entry by a number that all have with an interval: entries that cannot be told apart share one.

    It is one more than the number of entries that are better beyond chance (95 %): for each pair by a paired test of
    ``vsebench.compare`` where both have per-query values of the same images, else if their intervals do not overlap.
    """
    sign = 1.0 if facts_of(by[0])[2] else -1.0
    rank = {entry.id: 1 for entry in entries}
    for one, other in combinations(entries, 2):
        tested = _winner(one, other, by)
        first, second = ([sign * end for end in entry.numbers[by].interval or ()] for entry in (one, other))
        rank[other.id] += tested == "one" if tested is not None else min(first) > max(second)
        rank[one.id] += tested == "other" if tested is not None else min(second) > max(first)
    return rank


def _winner(one: Entry, other: Entry, by: Key) -> str | None:
    """``one``, ``other`` or the empty text by a paired test; None if there is none."""
    if one.report is None or other.report is None:
        return None
    metric = one.numbers[by].metric
    if metric != other.numbers[by].metric:
        return None
    both = {"one": one.report, "other": other.report}
    try:
        frame = vb.compare(both, metrics=metric, correction="none", ci=0).to_frame()
    except (BadInput, UsageError):  # other images, or another rule
        return None
    found = frame[(frame["metric"] == metric) & (frame["direction"].fillna("") == by[1])]
    if found.empty or found["p"].isna().any():
        return None
    winner = found["winner"].iloc[0]
    return winner if isinstance(winner, str) else ""


def _source(line: Sequence[Entry], board: Board) -> Cell:
    """Where the numbers of a row are from: paper and tables, or level and what measured it."""
    first = line[0]
    if not first.paper:
        return Cell(
            first.level, f"suite {first.facts['suite']}" if "suite" in first.facts else f"vsebench {version(first)}"
        )
    named = ", ".join(dict.fromkeys(e.table.removeprefix("Table ") for e in line))
    words = f"table{'s' * (', ' in named)} {named}" if first.table.startswith("Table ") else named
    words += f", row {first.row}" if first.row and len(line) == 1 else ""
    paper = board.papers[first.paper]
    return Cell(paper["name"], words, paper["url"])


def numbers(found: Sequence[Number | None], higher: bool | None) -> list[Cell]:
    """The numbers of a column, aligned by their digits, with the best and second best of those without a doubt.

    ``higher`` says whether more is better; None marks nothing.
    """
    texts = ["" if v is None else v.printed or printed(v.value, v.unit) for v in found]
    behind = max((len(text.partition(".")[2]) for text in texts), default=0)
    sound = [v for v in found if v is not None and not v.doubt]
    values = sorted({float(printed(v.value, v.unit)) for v in sound}, reverse=bool(higher))
    marks = dict(zip(values[:2], ("b", "u" if len(sound) > 2 else ""), strict=False)) if higher is not None else {}
    cells = []
    for text, v in zip(texts, found, strict=True):
        if v is None:
            cells.append(Cell("—"))
            continue
        missing = behind - len(text.partition(".")[2])
        room = "\u2008" * (missing > 0 and "." not in text) + "\u2007" * missing  # as wide as a point, and as digits
        ends = "" if v.interval is None else "[{}, {}]".format(*(printed(end, v.unit) for end in v.interval))
        best = "" if v.doubt or len(sound) < 2 else marks.get(float(printed(v.value, v.unit)), "")
        cells.append(Cell(text + room, ends, "", "†" if v.doubt else "", best))
    return cells


def printed(value: float, unit: str) -> str:
    """A number as text: fractions times 100 with two decimals, ranks with one or none, others with four digits."""
    if unit == "fraction":
        return str((Decimal(f"{value:.14e}") * 100).quantize(Decimal("0.01"), ROUND_HALF_UP))
    return f"{value:.4g}" if unit != "rank" else f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def _notes(group: Ranking, entries: Sequence[Entry], board: Board) -> Iterator[str]:
    """The sentences below a table on where its numbers are from, and on numbers that their row contradicts."""
    papers = [entry for entry in entries if entry.level == "published"]
    if papers:
        yield AS_PRINTED
    if len(papers) < len(entries):
        protocol = board.sets.get(group.page, {}).get("protocol", "")
        yield f"Protocol: {protocol if group.rules == PRINTED else group.rules}"
    if papers and any(e.level == "trained here" for e in entries):
        yield SMALL
    sums = [entry.numbers.get(RSUM) for entry in papers]
    if group.family == "recall" and any(v is not None and not v.printed for v in sums):
        yield SUM_ADDED
    versions = sorted({version(entry) for entry in entries} - {""})
    if len(versions) > 1:
        yield f"Evaluated by different versions of vsebench: {', '.join(versions)}."
    for entry in entries:
        for number in entry.numbers.values():
            if number.doubt:
                yield f"† {shortened(entry.model.name)}: {number.doubt}."
    for key in dict.fromkeys(e.paper for e in group.entries if e.paper):
        paper = board.papers[key]
        for note in paper.get("notes", ()):
            if concerns(note, group.page, group.family):
                yield f"{paper['name']}: {note['says']}."


def _of_ranks(group: Ranking, by: Key, entries: Sequence[Entry], rank: dict[str, int], shown: bool) -> Iterator[str]:
    """The sentences on ranks, or on why there are none."""
    measured = [e for e in entries if e.level != "published" and by in e.numbers]
    if not rank:
        yield from dict.fromkeys(
            f"No ranks: {e.facts['intervals'].removeprefix('none: ')}." for e in measured if "intervals" in e.facts
        )
    elif not shown:
        yield f"No ranks: {len(rank)} of {len(entries)} rows have an interval, and the others are published numbers."
    else:
        what = heading(by, group) + (f" ({ARROWS[by[1]]})" if by[1] else "")
        yield (
            f"Rank by {what}: one more than the number of entries that are better beyond chance (95 %): by a "
            "paired test if both have per-query values of the same images, otherwise by intervals that do not "
            "overlap. Entries that cannot be told apart share a rank. Ranks are not corrected for the number of "
            "pairs."
        )
        yield ORDER
        if any(e.level == "trained here" for e in measured):
            yield UNPAIRED


def heading(column: Key, group: Ranking) -> str:
    """The heading of a column without its direction; a view that the table has is left out."""
    metric = column[0]
    view, _, name = metric.rpartition(":")
    return (
        (f"{view}:" if view not in ("", PAPER.rstrip(":"), group.family) else "")
        + name
        + ("" if facts_of(metric)[2] else " ↓")
    )


def _above(column: Key, group: Ranking) -> str:
    """What stands above the heading of a column: its direction; of sums over both that they are sums."""
    sums = any(d == "" and re.match(r"(.*:)?(R|N)sum", metric, re.IGNORECASE) for metric, d in group.columns)
    return ARROWS[column[1]] or ("sum" if sums else "")


def version(entry: Entry) -> str:
    """The version of vsebench in the signature; empty without one."""
    found = re.search(r"(?:^|\|)vsebench:([^|]*)", entry.signature)
    return found[1] if found else ""


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
