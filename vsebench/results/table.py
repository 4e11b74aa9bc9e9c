"""Layout of a report: its tables and their cells."""

from __future__ import annotations

from collections.abc import Sequence

from .. import signature
from ..relevance.sources import LABELS, heading
from ..types import Direction
from .format import ARROWS, UNITS, bracketed, interval_words, printed
from .grid import Cell, Grid, text_only
from .model import Resampling, Result

CROSS_MODAL: tuple[Direction, ...] = ("i2t", "t2i")
INTRA_MODAL: tuple[Direction, ...] = ("i2i", "t2t")


def grids(split: str, results: Sequence[Result], how: Resampling | None, line: str) -> list[Grid]:
    """One table for each view and kind of retrieval, then a text: how to read them, and the signature.

    Args:
        split: name of the test set.
        results: in the order of their rows.
        how: how intervals were made.
        line: the signature of the report.
    """
    if not results:
        return [text_only("There are no results: no requested metric has a value.", literal=line)]
    groups: dict[tuple[str, tuple[Direction, ...]], list[Result]] = {}
    for result in results:
        directions = INTRA_MODAL if result.direction in INTRA_MODAL else CROSS_MODAL
        groups.setdefault((result.metric.view, directions), []).append(result)
    tables = []
    for (view, directions), group in groups.items():
        if view == LABELS:  # a row a list length
            tables.append(_by_length(group))
            continue
        title = heading(view)
        if view == "gt" and directions == CROSS_MODAL:
            title = f"{split} · {title}"
        title = " · ".join((title, *corrected(line))) if not tables else title
        tables.append(_by_metric(title, directions, group))
    by_labels = all(view == LABELS for view, _ in groups)
    words = "nDCG is printed times 100, label distances as they are (↓ lower is better)." if by_labels else UNITS
    if how is not None and any(r.interval for r in results):
        words += f" {interval_words(how, 'queries' if by_labels else 'images')}."
    return [*tables, text_only(words, literal=line)]


def corrected(line: str) -> list[str]:
    """No or one text about the scores of a report, from its signature: ``csls, transductive``."""
    rule = signature.read(line).get("normalise", "")
    words = rule.split(",")
    return [", ".join([words[0], *(w for w in words if w == "transductive")])] if rule else []


def _by_metric(title: str, directions: tuple[Direction, ...], results: Sequence[Result]) -> Grid:
    """One row a metric, its directions side by side."""
    rows: dict[str, dict[Direction | None, Result]] = {}
    for result in results:
        rows.setdefault(result.metric.name + _arrow(result), {})[result.direction] = result
    shown = [d for d in (*directions, None) if any(d in row for row in rows.values())]
    lines = []
    for name, row in rows.items():
        queries = " / ".join(f"{row[d].n:,}" for d in directions if d in row)
        lines.append((Cell(name), *(_value(row.get(d)) for d in shown), Cell(queries)))
    return Grid(title, ("metric", *(ARROWS[d] for d in shown), "queries"), 1, tuple(lines))


def _by_length(results: Sequence[Result]) -> Grid:
    """One row a list length k, its metrics side by side."""
    rows: dict[int | None, dict[str, Result]] = {}
    for result in results:
        rows.setdefault(result.metric.k, {})[result.metric.template] = result
    shown = {name: result for row in rows.values() for name, result in row.items()}
    headings = [
        ("mean label distance@k" if r.unit == "distance" else r.metric.template.format(k="k")) + _arrow(r)
        for r in shown.values()
    ]
    lines = []
    for k, row in rows.items():
        queries = next(iter(row.values())).n
        lines.append((Cell(str(k)), *(_value(row.get(name)) for name in shown), Cell(f"{queries:,}")))
    return Grid("judged by labels", ("k", *headings, "queries"), 0, tuple(lines))


def _arrow(result: Result) -> str:
    return "" if result.higher_is_better else " ↓"


def _value(result: Result | None) -> Cell:
    if result is None:
        return Cell("")
    return Cell(printed(result.value, result.unit), aside=bracketed(result.interval, result.unit))
