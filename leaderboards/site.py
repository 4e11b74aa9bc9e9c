"""The site, the README and the CSV file: the same bytes on every machine."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from vsebench.errors import BadInput, MissingPackage, csv_cell, install, printable

from .entries import LEVELS, Board, Entry, facts_of, page_of, slug
from .tables import ARROWS, Cell, Column, Ranking, Table, heading, numbers, ordered, printed, shortened

FILTERED = 8  # rows of a page beyond which they can be filtered
SHOWN, MAIN = 12, "small"  # of the README: published rows of a table, and the suite whose rows it has
BEGIN, END = "<!-- leaderboards: made by make leaderboard -->", "<!-- end of leaderboards -->"
CSV = "leaderboard.csv"
MARK = "vsebench leaderboards</title>"  # of pages that a build has written
NAVIGATION = (
    ("index.html", "Leaderboards"), ("claims.html", "Claims"), ("about.html", "How to read"),
    ("about.html#submit", "Submit"), (CSV, "CSV"),
)  # fmt: skip
ELSEWHERE = (("README.md", "Repository"), ("docs/index.md", "Documentation"), ("LICENSE", "Licence"))
OPEN, UNJUDGED = "not trained here yet", "cannot be judged"
SIGNS = {"holds here": "✓ holds here", "does not hold here": "✗ does not hold here", "undecided": "~ undecided"}


@dataclass(frozen=True)
class Part:
    """A section of a page: its anchor, heading, sentences, tables and a command."""

    name: str
    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    code: str = ""


@dataclass(frozen=True)
class Page:
    """A page: its path, heading, sentences below, sections, and the page of the test set that it belongs to."""

    path: str
    title: str
    lead: Sequence[str]
    parts: Sequence[Part]
    filtered: bool = False
    above: tuple[str, str] | None = None


def build(board: Board, found: Sequence[Ranking], repository: str = "../..") -> dict[str, bytes]:
    """Every file of the site: path below it -> content.

    Args:
        board: without faults.
        found: its tables.
        repository: where its files are, for links: a path from the site, or an address with ``/blob/BRANCH``.

    Raises:
        MissingPackage: jinja2 is not installed.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise MissingPackage(f"the site needs {error.name}", fix=install("report")) from None

    def literal(value: object) -> object:
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=literal, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    ).get_template("board.jinja")  # fmt: skip
    files = {}
    for page in pages(board, found):
        root = "../" * page.path.count("/")
        links = [(path if "//" in repository else root + path, name) for path, name in
                 ((f"{repository}/{file}", name) for file, name in ELSEWHERE)]  # fmt: skip
        text = template.render(page=page, root=root, navigation=NAVIGATION, links=links)
        files[page.path] = text.encode("utf-8", "backslashreplace")
    return files | {CSV: numbers_csv(board)}


def file_of(name: str) -> str:
    """The page of a test set."""
    return f"{slug(name)}.html"


def title_of(board: Board, name: str) -> str:
    """The title of a test set; one that is not in ``test_sets.json`` has its name."""
    return board.sets.get(name, {}).get("title", name)


def numbers_csv(board: Board) -> bytes:
    """``leaderboard.csv``: a number a row, with its entry, interval and signature."""
    names = (
        "id level model setting image_input benchmark metric direction value low high n printed note paper table row"
    )
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*names.split(), "signature"])
    for e in board.entries:
        for (metric, direction), v in e.numbers.items():
            fields = (
                e.id, e.level, e.model.name, e.model.setting, e.model.image_input, page_of(board, e.benchmark, metric),
                metric, direction, v.value, *(v.interval or ("", "")), "" if v.n is None else v.n, v.printed, v.note,
                e.paper, e.table, e.row, e.signature,
            )  # fmt: skip
            writer.writerow(map(csv_cell, fields))
    return stream.getvalue().encode("utf-8", "backslashreplace")


def readme(board: Board, found: Sequence[Ranking]) -> dict[Path, bytes]:
    """The README of the folder with its main tables between the marks."""
    path = board.folder / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else f"{BEGIN}\n{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise BadInput("has no markers for the tables", where=path, fix=f"write the lines {BEGIN} and {END} into it")
    before, _, rest = text.partition(BEGIN)
    first: dict[str, Ranking] = {}
    for one in found:
        first.setdefault(one.page, one)
    shown = [_overview(board, found)]
    for one in first.values():
        kept = []
        for i, (row, (entry, *_)) in enumerate(zip(one.table.rows, one.lines, strict=True)):
            if i < SHOWN if entry.level == "published" else entry.facts.get("suite", MAIN) == MAIN:
                kept.append(row)
        left = len(one.lines) - len(kept)
        notes = [f"{left} more rows are in [{CSV}]({CSV})."] if left else []
        shown.append(Table(f"{title_of(board, one.page)}: {one.table.title}", one.table.columns, kept, notes))
    shown.append(replace(_verdicts(board), title="Claims of the papers"))
    tables = "\n".join(_markdown(table) for table in shown if table.rows)
    return {path: f"{before}{BEGIN}\n\n{tables}\n{END}{rest.partition(END)[2]}".encode()}


def _markdown(table: Table) -> str:
    def escaped(text: str) -> str:
        return re.sub(r"([\\`*_\[\]<>|#~$&])", r"\\\1", " ".join(printable(text).split()))

    def field(cell: Cell, number: bool) -> str:  # intervals are on the site
        text = escaped(cell.text) + cell.mark
        text = f"**{text}**" if cell.best == "b" else text
        text = f"[{text}]({cell.link})" if cell.link.startswith("https://") else text
        return f"{text} ({escaped(cell.aside)})" if cell.aside and not number else text

    columns = table.columns
    rows = ([field(cell, c.number) for cell, c in zip(row, columns, strict=True)] for row in table.rows)
    lines = [
        [escaped(f"{c.group} {c.heading}".removeprefix("sum ").strip()) for c in columns],
        ["---:" if c.number else "---" for c in columns],
        *rows,
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return (
        f"### {escaped(table.title)}\n" * bool(table.title)
        + f"\n{text}\n"
        + "".join(f"\n{note}\n" for note in table.notes)
    )


# Pages


def pages(board: Board, found: Sequence[Ranking]) -> list[Page]:
    """Every page of the site."""
    measured = [entry for entry in board.entries if entry.level != "published"]
    by_set: dict[str, list[Ranking]] = {}
    for one in found:
        by_set.setdefault(one.page, []).append(one)
    return [
        _index(board, found), _about(), _claims(board), *(_set(board, *pair) for pair in by_set.items()),
        *(_entry(entry, board) for entry in measured),
    ]  # fmt: skip


def _overview(board: Board, found: Sequence[Ranking]) -> Table:
    """The test sets with the number of entries of every level, and the best published number."""
    rows = []
    for name in dict.fromkeys(one.page for one in found):
        own = [one for one in found if one.page == name]
        best = Cell("—")
        for one in own:
            first = next(
                (line[0] for line in one.lines if line[0].level == "published" and one.by in line[0].numbers), None
            )
            if first is not None:
                number = first.numbers[one.by]
                text = number.printed or printed(number.value, number.unit)
                best = Cell(f"{text} {heading(one.by, one)} {ARROWS[one.by[1]]}".strip(), shortened(first.model.name))
                break
        levels = [entry.level for entry in {e.id: e for one in own for line in one.lines for e in line}.values()]
        counts = (Cell(str(levels.count(level) or "—")) for level in LEVELS)
        rows.append([Cell(title_of(board, name), link=file_of(name)), *counts, best])
    columns = [Column("test set"), *(Column(level, "", True) for level in LEVELS), Column("best published")]
    return Table("", columns, rows)


def _index(board: Board, found: Sequence[Ranking]) -> Page:
    stated = [v for e in board.entries for v in e.numbers.values() if e.level != "published" or v.printed]
    measured = sum(entry.level != "published" for entry in board.entries)
    papers = []
    for key, paper in board.papers.items():
        own = [entry for entry in board.entries if entry.paper == key]
        counts = len({e.table for e in own}), sum(bool(v.printed) for e in own for v in e.numbers.values())
        cited = Cell(paper["title"], f"{paper['authors']}. {paper['venue']}.", paper["url"])
        papers.append([Cell(paper["name"]), cited, *(Cell(str(n)) for n in counts)])
    lead = (
        f"{len(board.entries)} entries with {len(stated)} numbers, each with the place it comes from: what papers "
        "print, what is computed again from the values of every query, and what was trained here. Only numbers from "
        f"the same protocol are ranked together. {measured} entries are measured; the others are published elsewhere."
    )
    headings = [Column("name"), Column("paper or file"), Column("tables", "", True), Column("numbers", "", True)]
    parts = [Part("sets", "Test sets", tables=[_overview(board, found)])]
    parts += [Part("claims", "Claims of the papers", tables=[_verdicts(board)])] if board.claims else []
    parts += [Part("papers", "Papers and files of results", tables=[Table("", headings, papers)])] if papers else []
    return Page("index.html", "Leaderboards of image-text retrieval", [lead], parts)


def _about() -> Page:
    """How to read the tables; its words are in the template."""
    rows = [[Cell(level), Cell(words)] for level, words in LEVELS.items()]
    levels = Table("", [Column("level"), Column("where the numbers come from")], rows)
    return Page("about.html", "How to read the tables", (), [Part("levels", "Levels", tables=[levels])])


def _set(board: Board, name: str, found: Sequence[Ranking]) -> Page:
    parts = [Part(f"t{i}", one.table.title, tables=[one.table]) for i, one in enumerate(found, start=1)]
    about = board.sets.get(name, {}).get("about", "")
    many = sum(len(one.lines) for one in found) > FILTERED
    return Page(file_of(name), title_of(board, name), [about] if about else [], parts, many)


def _entry(entry: Entry, board: Board) -> Page:
    """The page of a measured entry: a row a metric, its directions side by side; its origin, and the command."""
    model, columns = entry.model, ordered(entry.numbers)
    sides = [side for side in ARROWS if any(own == side for _, own in columns)]
    metrics = list(dict.fromkeys(metric for metric, _ in columns))
    cells = [numbers([entry.numbers.get((metric, side)) for metric in metrics], None) for side in sides]
    names = [Cell(m, link=f"../{file_of(page_of(board, entry.benchmark, m))}") for m in metrics]
    shown = Table("", [Column("metric"), *(Column(ARROWS[side] or "sum", "", True) for side in sides)],
                  list(zip(names, *cells, strict=True)))  # fmt: skip
    facts = {
        "level": Cell(entry.level, LEVELS[entry.level]), "image input": Cell(model.image_input),
        "description": Cell(model.description), "link": Cell(model.url, link=model.url),
        "signature": Cell(entry.signature), "file": Cell(f"leaderboards/{board.files[entry.id]}"),
        **{name: Cell(text) for name, text in entry.facts.items()},
    }  # fmt: skip
    origin = Table(
        "", [Column("fact"), Column("value")], [[Cell(name), cell] for name, cell in facts.items() if cell.text]
    )
    code = model.reproduce or "python -m leaderboards validate"
    parts = [
        Part("numbers", "Numbers", model.notes, [shown]), Part("again", "Run it again", code=code),
        Part("origin", "Where the numbers come from", tables=[origin]),
    ]  # fmt: skip
    lead = [f"{entry.level}, {model.setting}" if model.setting else entry.level]
    above = file_of(entry.benchmark), title_of(board, entry.benchmark)
    return Page(f"entries/{entry.id}.html", shortened(model.name), lead, parts, above=above)


# Claims


def _judged(stated: dict[str, Any], board: Board) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """A claim as it was judged on the data of suites, and where it could not be."""
    suites = board.suites.values()
    judged = [
        (suite, claim) for suite in suites for claim in suite.get("claims", ()) if claim["claim"] == stated["claim"]
    ]
    return judged, [one for suite in suites for one in suite.get("left_out", ()) if one["claim"] == stated["claim"]]


def _verdicts(board: Board) -> Table:
    """The claims of the papers with their verdicts: the index of the page of claims."""
    rows = []
    for stated in board.claims:
        judged, lost = _judged(stated, board)
        verdicts = [f"{SIGNS.get(claim['verdict'], claim['verdict'])} ({claim['data']})" for _, claim in judged]
        verdicts += [f"{UNJUDGED} ({one['data']})" for one in lost]
        paper = board.papers[stated["paper"]]
        rows.append([
            Cell(stated["says"], link=f"claims.html#{stated['claim']}"),
            Cell(paper["name"], paper["venue"], paper["url"]), Cell("; ".join(verdicts) or OPEN),
        ])  # fmt: skip
    return Table("", [Column("claim"), Column("paper"), Column("verdict")], rows)


def _claims(board: Board) -> Page:
    """A section a claim, with its published numbers and those of the suites; first the verdicts, which lead there."""
    parts = [Part("verdicts", "Verdicts", tables=[_verdicts(board)])] if board.claims else []
    for stated in board.claims:
        judged, lost = _judged(stated, board)
        paper = board.papers[stated["paper"]]
        notes = [f"{paper['authors']}. {paper['title']}. {paper['venue']}.", f"{stated['where']}."]
        notes += [f"{UNJUDGED} on {one['data']}: {one['because']}." for one in lost]
        notes += [] if judged or lost else [f"{OPEN}: no complete suite is stored for this claim."]
        tables = [_printed(stated, board)] + [t for pair in judged for t in (_means(*pair), _differences(*pair))]
        parts.append(Part(stated["claim"], stated["says"], notes, [t for t in tables if t.rows]))
    return Page("claims.html", "Do the claims of the papers hold here?", (), parts)


def _printed(stated: dict[str, Any], board: Board) -> Table:
    """The published numbers of a claim."""
    known = {entry.id: entry for entry in board.entries}
    entries = [known[id] for id in stated.get("entries", ()) if id in known]
    keys = [(metric, direction or "") for metric, direction in stated.get("metrics", ())]
    cells = [numbers([entry.numbers.get(key) for entry in entries], None) for key in keys]
    names = [Cell(e.model.name, e.model.setting) for e in entries]
    sets = [Cell(title_of(board, e.benchmark), link=file_of(e.benchmark)) for e in entries]
    columns = [Column(f"{m.removeprefix('paper:')} {ARROWS[d]}".strip(), "", True) for m, d in keys]
    rows = list(zip(names, sets, *cells, strict=True))
    return Table("Published numbers", [Column("model"), Column("test set"), *columns], rows)


def _means(suite: dict[str, Any], claim: dict[str, Any]) -> Table:
    """The values of the variants that a claim compares: means over seeds and both directions."""
    names = dict.fromkeys(name for part in claim["parts"] for name in part.get("variants", ()))
    own = [run for run in suite["runs"].values() if run["data"] == claim["data"] and run["variant"] in names]
    metrics = [m for m in (own[0]["values"] if own else ()) if all(m in run["values"] for run in own)]
    rows = []
    for name in names:
        found = [run["values"] for run in own if run["variant"] == name]
        if found:
            rows.append([Cell(name), *(Cell(printed(fmean(v[m] for v in found), facts_of(m)[1])) for m in metrics)])
    title = f"Trained on {claim['data']}: means over seeds and both directions"
    return Table(title, [Column("run"), *(Column(m, "", True) for m in metrics)], rows)


def _differences(suite: dict[str, Any], claim: dict[str, Any]) -> Table:
    """The differences of a claim on some data, with their verdicts."""

    def signed(value: float) -> str:
        text = printed(value, "fraction")
        return text.lstrip("-") if not text.strip("-0.") else text if value < 0 else f"+{text}"

    def verdict(one: dict[str, Any]) -> str:
        return SIGNS.get(one["verdict"], str(one["verdict"]))

    rows = []
    for part in claim["parts"]:
        trained = f"({', '.join(part['trained'])} trained on these gains)" if part["trained"] else ""
        ends = "" if part["low"] is None else f"[{signed(part['low'])}, {signed(part['high'])}]"
        rows.append([
            Cell(part["says"], trained), Cell(part["metric"]),
            Cell("lower: " * part["lower"] + verdict(part)), Cell(signed(part["difference"]), ends),
            Cell(signed(part["above"])), Cell(", ".join(map(signed, part["seeds"]))),
        ])  # fmt: skip
    levels, versions = claim["levels"], suite["versions"]
    notes = (
        f"Holds at {100 * levels['holds']:.5g} %, does not hold at {100 * levels['fails']:.5g} %.",
        f"Suite {suite['suite']}, begun {suite['started'][:10]}, vsebench {versions.get('vsebench', '—')}.",
    )
    headings = ("difference", "metric", "verdict", "value", "limit", "seeds")
    columns = [Column(h, "", h in ("value", "limit")) for h in headings]
    return Table(f"{verdict(claim)}: trained on {claim['data']}", columns, rows, notes)
