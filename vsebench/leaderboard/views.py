"""The pages of the site: what the templates in ``templates/`` print, and nothing of how they print it.

Every text passes ``printable`` and is escaped by jinja2, so that names from outside stay text. Charts are elements
whose places are percentages: their bytes depend on the numbers alone, not on the version of a plotting package.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, count_of
from ..results.format import fixed
from ..results.html import environment
from .benchmarks import described, file_of, page_of
from .columns import facts_of
from .facts import facts
from .groups import SIDES, ordered
from .published import contradictions
from .schema import LEVELS, Entry, StatedClaim
from .store import Board
from .suites import Claim
from .tables import DIRECTIONS, Number, Table, counted, heading, is_sum, number_of, shortened, spans

if TYPE_CHECKING:
    from jinja2 import Environment

FILTERED = 8  # rows of a page beyond which they can be filtered
CHARTED = 24  # rows of a chart
LABEL = 38  # characters of a label of a chart
TICKS = 8
OPEN, UNJUDGED = "not regenerated yet", "cannot be judged"
VERDICTS = {"holds here": "holds", "does not hold here": "fails", "undecided": "open"}  # and their classes
_FIGURE_SPACE, _POINT_SPACE = "\u2007", "\u2008"  # as wide as a digit, and as a point


def pages(board: Board, tables: Sequence[Table]) -> dict[str, str]:
    """Every page of the site: path below it -> HTML.

    Raises:
        MissingPackage: jinja2 is not installed.
        BadInput: two test sets have one page.
    """
    make = _environment()

    def page(path: str, template: str, **data: Any) -> str:
        root = "../" * path.count("/")
        return str(make.get_template(f"{template}.html").render(here=path, root=root, board=board, **data))

    names = list(dict.fromkeys(table.group.benchmark for table in tables))
    own = {name: [t for t in tables if t.group.benchmark == name] for name in names}
    sections = _claims(board)
    found = {
        "index.html": page("index.html", "index", sets=[_test_set(own[name]) for name in names],
                           sections=sections),
        "about.html": page("about.html", "about"),
        "claims.html": page("claims.html", "claims", sections=sections),
    }  # fmt: skip
    for name in names:
        path = file_of(name)
        if path in found:
            fix = "rename the test set"
            raise BadInput(f"the test set '{name}' has the page of another one, {path}", fix=fix)
        many = sum(len(table.rows) for table in own[name]) > FILTERED
        charts = [_chart_of(table) for table in own[name]]
        found[path] = page(
            path, "benchmark", known=described(name), tables=own[name], charts=charts, filtered=many, scripts=True
        )
    for entry in board.entries:
        if has_page(entry):
            path = f"entries/{entry.id}.html"
            found[path] = page(path, "entry", entry=entry, doubts=contradictions(entry), **_numbers(entry))
    return found


def has_page(entry: Entry) -> bool:
    """Whether an entry has a page: measured ones. A published one is the row of a table of a paper."""
    return entry.level != "published"


def _environment() -> Environment:
    made = environment("vsebench.leaderboard", "the site of leaderboards")
    made.globals.update(
        LEVELS=LEVELS, DIRECTIONS=DIRECTIONS, VERDICTS=VERDICTS, OPEN=OPEN, UNJUDGED=UNJUDGED, count_of=count_of,
        described=described, facts_of=facts_of, file_of=file_of, has_page=has_page, heading=heading, spans=spans,
    )  # fmt: skip
    made.filters.update(
        aligned=aligned, in_order=in_order, points=points, shown=lambda metric: metric.removeprefix("paper:")
    )
    return made


def aligned(texts: Iterable[str]) -> list[str]:
    """Numbers of a column with as many characters behind the point, filled up with spaces as wide as digits."""
    texts = list(texts)
    behind = [len(t) - t.index(".") if "." in t else 0 for t in texts]
    most = max((n for n, t in zip(behind, texts, strict=True) if t[-1:].isdigit()), default=0)
    found = []
    for shown, n in zip(texts, behind, strict=True):
        missing = most - n if shown[-1:].isdigit() else 0
        point = _POINT_SPACE if missing and n == 0 else ""
        found.append(shown + point + _FIGURE_SPACE * (missing - len(point)))
    return found


def points(value: float) -> str:
    """A difference of fractions times 100 with its sign."""
    words = fixed(value, 2, times=100, form="+")
    return "0.00" if words in ("+0.00", "-0.00") else words


# The overview


def _test_set(tables: Sequence[Table]) -> dict[str, Any]:
    """A row of the overview: the test set, how many entries of every level, and its best published number."""
    best = None
    for one in tables:
        printed = [row for row in one.rows if not row.submitted]
        if best is None and one.group.level == "published" and printed:
            number = printed[0].numbers[one.group.columns.index(one.by)]
            best = {"number": number.text, "metric": heading(one.by, one.group), "side": one.by[1], "row": printed[0]}
    return {"known": described(tables[0].group.benchmark), "counts": counted(tables), "best": best}


def in_order(tables: Iterable[str]) -> list[str]:
    """The tables of a paper in its order, each once: of "4" and "IV" the fourth; what is no number comes last."""

    def place(table: str) -> tuple[int, str]:
        roman = re.fullmatch("(X*)(IX|IV|V?)(I{0,3})", table)
        if roman:
            return 10 * len(roman[1]) + {"": 0, "IV": 4, "V": 5, "IX": 9}[roman[2]] + len(roman[3]), table
        return int(table) if table.isdecimal() else sys.maxsize, table

    return sorted({table.removeprefix("Table ") for table in tables}, key=place)


# Entries


def _numbers(entry: Entry) -> dict[str, Any]:
    """A row a metric, its directions side by side."""
    doubts = contradictions(entry)
    cells = {(v.metric, v.direction): number_of(v, doubts.get(v.name, "")) for v in entry.values}
    columns = ordered(cells)
    sides = [side for side in SIDES if any(own == side for _, own in columns)]
    shown: dict[Any, tuple[Number, str]] = {}
    for side in sides:
        own = [key for key in cells if key[1] == side]
        texts = aligned(cells[key].text for key in own)
        shown |= {key: (cells[key], text) for key, text in zip(own, texts, strict=True)}
    rows = [
        {"metric": metric, "page": file_of(page_of(entry.benchmark, metric)),
         "cells": [(side, *shown.get((metric, side), (None, ""))) for side in sides]}
        for metric in dict.fromkeys(metric for metric, _ in columns)
    ]  # fmt: skip
    headings = [DIRECTIONS[side] or ("sum" if is_sum(columns) else "value") for side in sides]
    return {"headings": ["Metric", *headings], "rows": rows}


# Claims


def _claims(board: Board) -> list[dict[str, Any]]:
    """A section a claim: those of the papers with their published numbers, then others of the suites."""
    judged = [(suite, claim) for suite in board.suites.values() for claim in suite.claims]
    lost = [one for suite in board.suites.values() for one in suite.left_out]
    sections = []
    for stated in board.claims:
        own = [(suite, claim) for suite, claim in judged if claim.claim == stated.claim]
        left_out = [one for one in lost if one.claim == stated.claim]
        verdicts = [(claim.verdict, claim.data) for _, claim in own] + [(UNJUDGED, one.data) for one in left_out]
        sections.append({
            "stated": stated, "paper": board.papers.get(stated.paper), "judged": _judged(own), "left_out": left_out,
            "verdicts": verdicts, "published": _printed(stated, board),
        })  # fmt: skip
    names = {stated.claim for stated in board.claims}
    others = [(suite, claim) for suite, claim in judged if claim.claim not in names]
    return sections + [
        {"stated": None, "says": claim.says, "by": claim.paper, "judged": _judged([(suite, claim)])}
        for suite, claim in others
    ]


def _judged(pairs: Iterable[tuple[Any, Claim]]) -> list[dict[str, Any]]:
    return [{"suite": suite, "claim": claim, "charts": _differences(claim)} for suite, claim in pairs]


def _printed(stated: StatedClaim, board: Board) -> dict[str, Any]:
    """The table of the published numbers of a claim."""
    known = {entry.id: entry for entry in board.entries}
    entries = [known[id] for id in stated.entries if id in known]
    headings = [f"{facts(m).heading} {DIRECTIONS[d]}".strip() for m, d in stated.metrics]
    columns = []
    for key in stated.metrics:
        values = [entry.value_of(*key) for entry in entries]
        columns.append(aligned("-" if v is None else number_of(v).text for v in values))
    return {"headings": headings, "rows": list(zip(entries, zip(*columns, strict=True), strict=False))}


# Charts


def chart(title: str, words: str, marks: Sequence[dict[str, Any]], limit: float | None = None) -> dict[str, Any]:
    """What the template of a chart needs: dots on one axis, a row a mark.

    Args:
        title: what it shows, for readers who do not see it.
        words: below the axis.
        marks: at least one: ``label``, ``link``, ``points`` as (class, value) and ``interval`` or None.
        limit: a vertical line, or None.
    """
    every = [v for m in marks for v in (*(value for _, value in m["points"]), *(m["interval"] or ()))]
    ticks = nice([*every, *([] if limit is None else [limit])])

    def at(value: float) -> float:
        return round(100 * (value - ticks[0]) / (ticks[-1] - ticks[0]), 2)

    rows = []
    for mark in marks:
        values = [at(value) for _, value in mark["points"]]
        ends = [at(value) for value in mark["interval"]] if mark["interval"] else [min(values), max(values)]
        dots = [(kind, at(value)) for kind, value in mark["points"]]
        rows.append({**mark, "start": ends[0], "width": round(ends[1] - ends[0], 2), "dots": dots})
    return {
        "title": title, "words": words, "rows": rows, "ticks": [(at(tick), f"{tick:g}") for tick in ticks],
        "limit": None if limit is None else at(limit),
    }  # fmt: skip


def nice(values: Sequence[float]) -> list[float]:
    """Round numbers that span the values, at most ``TICKS`` steps of 1, 2 or 5 times a power of ten."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    power = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(power * m for m in (1, 2, 5, 10, 20) if (high - low) / (power * m) <= TICKS - 1)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _chart_of(table: Table) -> dict[str, Any] | None:
    """A table as dots: both directions of its first metric, the best rows; None where there are too few."""
    group = table.group
    metric = next((m for m, d in group.columns if d is not None), group.columns[0][0])
    keys = [key for key in group.columns if key[0] == metric]
    scale = 100.0 if facts(metric).scale == "percent" else 1.0
    alike = len({row.setting for row in table.rows}) == 1
    marks = []
    for row in table.rows[:CHARTED]:
        entry, label = row.entries[0], row.name if alike or not row.setting else f"{row.name}, {row.setting}"
        values = [(side or "sum", value) for name, side in keys if (value := entry.value_of(name, side)) is not None]
        if row.submitted or not values:
            continue
        only = values[0][1].interval if len(keys) == 1 else None
        marks.append({
            "label": shortened(label, LABEL),
            "link": f"entries/{entry.id}.html" if has_page(entry) else "",
            "points": [(side, scale * value.value) for side, value in values],
            "interval": only and [scale * end for end in only],
        })  # fmt: skip
    if len(marks) < 2:
        return None
    name = heading(keys[0], group)
    few = f", first {len(marks)} of {len(table.rows)} rows" if len(table.rows) > len(marks) else ""
    lines = "; intervals are drawn as lines" if marks[0]["interval"] else ""
    legend = [(side or "sum", DIRECTIONS[side] or "sum") for _, side in keys]
    drawn = chart(f"{name} of {group.level} entries", name, marks)
    return drawn | {"caption": f"{name}{few}{lines}", "legend": legend}


def _differences(claim: Claim) -> list[dict[str, Any]]:
    """A chart for every metric and limit: their differences share no scale."""
    found = []
    for metric, above in dict.fromkeys((part.metric, part.above) for part in claim.parts):
        marks = []
        for part in claim.parts:
            if (part.metric, part.above) == (metric, above):
                ends = None if part.low is None or part.high is None else [100 * part.low, 100 * part.high]
                dots = [(VERDICTS.get(part.verdict, "none"), 100 * part.difference)]
                marks.append({"label": part.says[:LABEL], "link": "", "points": dots, "interval": ends})
        title = f"Differences in {metric} on {claim.data}"
        found.append(chart(title, f"difference in {metric}, times 100", marks, limit=100 * above))
    return found
