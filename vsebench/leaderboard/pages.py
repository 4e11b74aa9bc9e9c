"""The pages of the site: what the template ``board.html`` of ``results`` prints, and nothing of how it prints it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ..errors import BadInput, count_of
from ..results.format import UNDEFINED, printed, signed
from ..results.page import Part
from ..results.table import Column, Table, Text, Value, sentences
from .benchmarks import described, file_of, page_of
from .facts import PAPER, facts
from .groups import SIDES, ordered
from .schema import LEVELS, Entry, StatedClaim
from .store import Board
from .suites import Claim, LeftOut, Run, Suite
from .tables import DIRECTIONS, Ranking, aligned, counted, has_page, heading, shortened

FILTERED = 8  # rows of a page beyond which they can be filtered
OPEN, UNJUDGED = "not regenerated yet", "cannot be judged"
SIGNS = {"holds here": "✓ ", "does not hold here": "✗ ", "undecided": "~ "}
MARKS = (
    "A dagger † marks a number that its own row contradicts, such as a sum that is not that of its parts; it is "
    "neither best nor second.",
    "Below a number stands its 95 % interval, over images for submitted entries. That of a reproduced entry is over "
    "seeds and over the test images as queries; with one seed, or where the spread over the images is not known, it "
    "has none. Published numbers have no intervals, and so no ranks.",
    "Fractions are printed times 100, ranks as ranks; ↓ marks metrics where lower is better.",
    "Image input is what a model reads of an image. With object annotations it has no pixels: the objects that people "
    "have marked in the image take their place.",
)
NEVER_MIXED = (
    "A signature says how a number was measured: test set, judgements, rules for ties, version. Entries whose "
    "signatures differ in a field that can move a digit are in tables of their own.",
    "Published numbers have no signature. They stand in one table with what was measured by the protocol of their test "
    "set: all images and captions of the Karpathy part as one gallery each (or the five folds), and the positives "
    "that the metric names. Each row says where its numbers are from.",
)
SUBMIT = (
    "vsebench eval embeddings.npz -o RESULT.json",
    'vsebench leaderboard add RESULT.json --name "My model" --url https://...',
    "vsebench leaderboard validate",
    "vsebench leaderboard build",
)
CLAIMS = (
    "Each loss is trained by a suite of vsebench train-reference. The runs of a difference have the same encoders, "
    "learning rate and seeds; losses that need it also have epochs of another loss before, or pairs of a batch that "
    "are chosen near the others, and training ends when the validation part does not improve. Data and models are far "
    "smaller than those of the papers, so a claim that does not hold here may hold there.",
    "A claim holds here where the intervals of all differences are above their limits, and does not hold where that of "
    "at least one is below; otherwise it is undecided. Verdicts are read from intervals at levels that are corrected "
    "(Bonferroni) for all verdicts of the suite, and 'does not hold' also for the number of differences; tables show "
    "the intervals of 95 %. Recall is equal where it is at least 95 % of the other value; where the interval of 95 % "
    "is below 0 it is lower, and not equal. Differences are means of both directions, times 100; intervals are over "
    "seeds and test images.",
    "On scenes relevance follows from the facts that a caption states: graded metrics are by match, mAP@R is by "
    "entails. Where a loss was trained on the gains of a metric, the difference shows that it learns these gains, and "
    "not that people or other gains would find its rankings better.",
)


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Attributes:
        path: below the site.
        title: its heading.
        lead: sentences below the heading.
        parts: its sections.
        filtered: whether its rows can be filtered; those of all pages can be sorted.
        above: the page of the test set that it belongs to, path and words; or None.
    """

    path: str
    title: str
    lead: tuple[str, ...]
    parts: tuple[Part, ...]
    filtered: bool = False
    above: tuple[str, str] | None = None


def pages(board: Board, rankings: Sequence[Ranking]) -> list[Page]:
    """Every page of the site; raises BadInput where two test sets have one page."""
    own = by_benchmark(rankings)
    found = [_overview(board, own), _about(), _claims(board), *(_benchmark(*pair) for pair in own.items())]
    twice = [page for i, page in enumerate(found) if page.path in {one.path for one in found[:i]}]
    if twice:
        what = f"the test set '{twice[0].title}' has the page of another one, {twice[0].path}"
        raise BadInput(what, fix="rename the test set")
    return found + [_entry(entry, board) for entry in board.entries if has_page(entry)]


def by_benchmark(rankings: Iterable[Ranking]) -> dict[str, list[Ranking]]:
    """The tables of every test set."""
    found: dict[str, list[Ranking]] = {}
    for one in rankings:
        found.setdefault(one.group.benchmark, []).append(one)
    return found


def words(*headings: str, rows: Iterable[Sequence[str | Text | Value]], title: str = "", numbers: int = 0) -> Table:
    """A table whose last columns, ``numbers`` of them, hold numbers, and the others words."""
    columns = (Column(h, words=i < len(headings) - numbers) for i, h in enumerate(headings))
    return Table("", title, tuple(columns), tuple(map(tuple, rows)))


# Test sets


def overview(own: dict[str, list[Ranking]], root: str = "") -> Table:
    """The test sets with the number of entries of every level; links begin with ``root``."""
    rows: list[tuple[Text | Value, ...]] = []
    for name, rankings in own.items():
        counts = (Value(n or None, "count") for n in counted(rankings).values())
        rows.append((Text(described(name).title, name, link=root + file_of(name)), *counts))
    return words("test set", *LEVELS, rows=rows, numbers=len(LEVELS))


def _best(rankings: Sequence[Ranking]) -> Text:
    """The best published number of a test set, with its model."""
    for one in rankings:
        first = next((line[0] for line in one.lines if line[0].level == "published"), None)
        if first is not None and (value := first.sound(one.by)) is not None and value.value is not None:
            shown = value.text or printed(value.value, value.form)
            what = " ".join(filter(None, (shown, heading(one.by, one.group), DIRECTIONS[one.by[1]])))
            return Text(what, value.value, shortened(first.model.name))
    return Text(UNDEFINED, None)


def _stated(entry: Entry) -> int:
    """How many numbers an entry has, without sums that its source does not print."""
    return sum(has_page(entry) or bool(value.text) for value in entry.values.values())


def _overview(board: Board, own: dict[str, list[Ranking]]) -> Page:
    sets = overview(own)
    best = [(*row, _best(rankings)) for row, rankings in zip(sets.rows, own.values(), strict=True)]
    sets = replace(sets, columns=(*sets.columns, Column("best published", words=True)), rows=tuple(best))
    papers: list[tuple[str | Text | Value, ...]] = []
    for key, paper in board.papers.items():
        entries = [entry for entry in board.entries if entry.paper == key]
        cited = Text(paper.title, key, f"{paper.authors}. {paper.venue}.", paper.url)
        counts = (len({entry.table for entry in entries}), sum(map(_stated, entries)))
        papers.append((paper.name, cited, *(Value(n, "count") for n in counts)))
    cites = words("name", "paper or file", "tables", "numbers", rows=papers, numbers=2)
    number = count_of(sum(map(_stated, board.entries)), "number")
    measured = sum(map(has_page, board.entries))
    lead = (
        f"{count_of(len(board.entries), 'entry', 'entries')} with {number}, each with the place it comes from: what "
        "papers print, what the values of every query give when they are computed again, and what the reference "
        "trainer reproduces. Numbers that were not measured alike are never ranked together. "
        f"{count_of(measured, 'entry is', 'entries are')} measured; the others are published elsewhere.",
    )
    parts = [Part("sets", "Test sets", tables=(sets,))]
    if board.claims:
        parts.append(Part("claims", "Claims of the papers", tables=(_verdicts(board),)))
    if papers:
        parts.append(Part("papers", "Papers and files of results", tables=(cites,)))
    return Page("index.html", "Leaderboards of image-text retrieval", lead, tuple(parts))


def _about() -> Page:
    levels = words("level", "where the numbers come from", rows=LEVELS.items())
    again = sentences(
        "The entry has the values of every query, and every number is computed again from them. Open a change with its "
        "file in leaderboards/entries/ and the site."
    )
    parts = (
        Part("levels", "Levels", tables=(levels,)),
        Part("marks", "Marks", notes=MARKS),
        Part("mixed", "What is never mixed", notes=NEVER_MIXED),
        Part("submit", "Submit an entry", tables=(*(sentences(literal=line) for line in SUBMIT), again)),
    )
    return Page("about.html", "How to read the tables", (), parts)


def _benchmark(name: str, rankings: Sequence[Ranking]) -> Page:
    parts = []
    for i, one in enumerate(rankings, start=1):
        remarks = f"{count_of(len(one.remarks), 'remark')} on single numbers"
        folded = ((remarks, (sentences(*one.remarks),)),) if one.remarks else ()
        parts.append(Part(f"t{i}", one.heading, tables=(one.table,), folded=folded))
    known = described(name)
    many = sum(len(one.lines) for one in rankings) > FILTERED
    return Page(file_of(name), known.title, (known.about,) if known.about else (), tuple(parts), many)


# Entries


def _entry(entry: Entry, board: Board) -> Page:
    model, known = entry.model, described(entry.benchmark)
    facts_of = {
        "level": f"{entry.level}: {LEVELS[entry.level]}", "image input": model.image_input,
        "description": model.description, "link": Text(model.url, model.url, link=model.url) if model.url else "",
        "signature": entry.signature, "file": f"leaderboards/{board.files.get(entry.id, '')}", **entry.facts,
    }  # fmt: skip
    origin = words("fact", "value", rows=[(name, value) for name, value in facts_of.items() if value])
    again = (*model.reproduce, *([f"vsebench leaderboard validate {entry.id}"] if entry.level == "submitted" else []))
    parts = [
        Part("numbers", "Numbers", tables=(_numbers(entry),)),
        Part("origin", "Where the numbers come from", tables=(origin,)),
        *([Part("notes", "Notes", notes=model.notes)] if model.notes else []),
        Part("again", "How to reproduce", tables=tuple(sentences(literal=line) for line in again)),
    ]
    lead = (f"{entry.level}, {model.setting}" if model.setting else entry.level,)
    above = file_of(entry.benchmark), known.title
    return Page(f"entries/{entry.id}.html", model.name, lead, tuple(parts), above=above)


def _numbers(entry: Entry) -> Table:
    """A row a metric, its directions side by side."""
    columns = ordered(entry.values)
    sides = [side for side in SIDES if any(own == side for _, own in columns)]
    metrics = list(dict.fromkeys(metric for metric, _ in columns))
    cells = [aligned([entry.values.get((metric, side), Value(None)) for metric in metrics]) for side in sides]
    named = [Text(_shown(m), m, link=f"../{file_of(page_of(entry.benchmark, m))}") for m in metrics]
    headings = [DIRECTIONS[side] or "sum" for side in sides]
    return words("metric", *headings, rows=zip(named, *cells, strict=True), numbers=len(sides))


def _shown(metric: str) -> str:
    return metric.removeprefix(f"{PAPER}:")


# Claims


def _verdicts(board: Board) -> Table:
    """The claims of the papers with their verdicts."""
    rows = []
    for stated in board.claims:
        judged, lost = _of_claim(stated, board)
        verdicts = [f"{_verdict(claim.verdict)} ({claim.data})" for _, claim in judged]
        verdicts += [f"{UNJUDGED} ({one.data})" for one in lost]
        paper = board.papers.get(stated.paper)
        cited = Text(paper.name, stated.paper, paper.venue, paper.url) if paper else ""
        claim = Text(stated.says, stated.claim, link=f"claims.html#{stated.claim}")
        rows.append((claim, cited, "; ".join(verdicts) or OPEN))
    return words("claim", "paper", "verdict", rows=rows)


def _verdict(words: str) -> str:
    return SIGNS.get(words, "") + words


def _of_claim(stated: StatedClaim, board: Board) -> tuple[list[tuple[Suite, Claim]], list[LeftOut]]:
    """A claim as it was judged on the data of suites, and where it could not be."""
    suites = board.suites.values()
    judged = [(suite, claim) for suite in suites for claim in suite.claims if claim.claim == stated.claim]
    return judged, [one for suite in suites for one in suite.left_out if one.claim == stated.claim]


def _claims(board: Board) -> Page:
    """A section a claim: those of the papers with their published numbers, then others of the suites."""
    parts = [Part("verdicts", "Verdicts", tables=(_verdicts(board),))] if board.claims else []
    for stated in board.claims:
        judged, lost = _of_claim(stated, board)
        paper = board.papers.get(stated.paper)
        notes = [f"{paper.authors}. {paper.title}. {paper.venue}."] if paper else []
        notes += [f"{stated.where}.", *(f"{UNJUDGED} on {one.data}: {one.because}." for one in lost)]
        if not judged and not lost:
            notes.append(f"{OPEN}: no complete suite is stored for this claim.")
        tables = [_printed(stated, board)]
        tables += [table for pair in judged for table in (_trained(*pair), _regenerated(*pair))]
        parts.append(Part(stated.claim, stated.says, tables=tuple(t for t in tables if t.rows), notes=tuple(notes)))
    names = {stated.claim for stated in board.claims}
    for suite in board.suites.values():
        others = [claim for claim in suite.claims if claim.claim not in names]
        parts += [Part("", c.says, tables=(_regenerated(suite, c),), notes=(c.paper,)) for c in others]
    return Page("claims.html", "Do the claims of the papers hold here?", CLAIMS, tuple(parts))


def _printed(stated: StatedClaim, board: Board) -> Table:
    """The published numbers of a claim."""
    known = {entry.id: entry for entry in board.entries}
    entries = [known[id] for id in stated.entries if id in known]
    cells = [aligned([entry.values.get(key, Value(None)) for entry in entries]) for key in stated.metrics]
    models = [Text(e.model.name, e.model.name, e.model.setting) for e in entries]
    sets = [Text(e.benchmark, e.benchmark, link=file_of(e.benchmark)) for e in entries]
    headings = [f"{facts(m).heading} {DIRECTIONS[d]}".strip() for m, d in stated.metrics]
    rows = zip(models, sets, *cells, strict=True)
    return words("model", "test set", *headings, rows=rows, title="Published numbers", numbers=len(headings))


def _trained(suite: Suite, claim: Claim) -> Table:
    """The values of the variants that a claim compares: means over seeds and both directions."""
    groups: dict[str, list[Run]] = {name: [] for part in claim.parts for name in part.variants}
    for run in suite.runs.values():
        if run.data == claim.data and run.variant in groups:
            groups[run.variant].append(run)
    runs = [run for found in groups.values() for run in found]
    metrics = [metric for metric in (runs[0].values if runs else ()) if all(metric in run.values for run in runs)]
    rows: list[tuple[str | Value, ...]] = [
        (name, *(Value(fmean(run.values[m] for run in found), facts(m).form) for m in metrics))
        for name, found in groups.items() if found
    ]  # fmt: skip
    title = f"Regenerated on {claim.data}: means over seeds and both directions"
    return words("run", *metrics, rows=rows, title=title, numbers=len(metrics))


def _regenerated(suite: Suite, claim: Claim) -> Table:
    """The differences of a claim on some data, with their verdicts."""
    rows = []
    for part in claim.parts:
        trained = f"({', '.join(part.trained)} trained on these gains)" if part.trained else ""
        ends = None if part.low is None or part.high is None else (part.low, part.high)
        seeds = ", ".join(signed(seed, "fraction") for seed in part.seeds)
        value, limit = Value(part.difference, interval=ends, signed=True), Value(part.above, signed=True)
        lower = "lower: " * part.lower
        rows.append((Text(part.says, None, trained), part.metric, lower + _verdict(part.verdict), value, limit, seeds))
    title = f"{_verdict(claim.verdict)}: regenerated on {claim.data}"
    headings = ("difference", "metric", "verdict", "value", "limit", "seeds")
    notes = (
        f"Holds at {100 * claim.levels['holds']:.5g} %, does not hold at {100 * claim.levels['fails']:.5g} %.",
        f"Suite {suite.suite}, begun {suite.started[:10]}, vsebench {suite.versions.get('vsebench', UNDEFINED)}.",
    )
    columns = (Column(h, words=h not in ("value", "limit")) for h in headings)
    return Table("", title, tuple(columns), tuple(rows), notes=notes)
