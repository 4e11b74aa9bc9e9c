"""Reports -> Table: the only layout logic. Renderers draw what this decides."""

from __future__ import annotations

from dataclasses import dataclass

from ..relevance.judgements.table import JUDGEMENTS
from ..types import Direction
from .grid import ARROWS
from .model import Report, Resampling, Result

Directions = tuple[Direction, Direction]
BETWEEN: Directions = ("i2t", "t2i")  # the modalities
INSIDE: Directions = ("i2i", "t2t")  # one of them


@dataclass(frozen=True)
class Section:
    """One block of rows under a title.

    Attributes:
        title: of the block.
        headings: of the two directions.
        rows: (metric, first direction, second direction, both, queries).
        intervals: for every row those of the two directions and both; empty texts where there are none.
    """

    title: str
    headings: tuple[str, str]
    rows: tuple[tuple[str, str, str, str, str], ...]
    intervals: tuple[tuple[str, str, str], ...]


def number(result: Result | None) -> str:
    """A value as printed: fractions times 100 with two decimals, ranks with one (or none when whole)."""
    return "" if result is None else printed(result.value, result.unit)


def printed(value: float, unit: str) -> str:
    """A number as printed: fractions times 100, two decimals; ranks with one or, when whole, none; distances as is."""
    if unit == "distance":
        return f"{value:.4g}"
    if unit == "rank":
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    return f"{100 * value:.2f}"


def interval(result: Result | None) -> str:
    """The interval of a value as printed: ``[35.21, 37.80]``, or nothing."""
    if result is None or result.interval is None:
        return ""
    return bracketed(result.interval, result.unit)


def bracketed(ends: tuple[float, float], unit: str) -> str:
    """Two ends as printed."""
    return f"[{printed(ends[0], unit)}, {printed(ends[1], unit)}]"


def interval_words(how: Resampling) -> str:
    """How intervals were made, as a clause: what stands in brackets."""
    kind = "" if how.method == "percentile" else "BCa "
    return (
        f"In brackets: {how.level:g} % {kind}bootstrap interval over images "
        f"({how.resamples:,} resamples, seed {how.seed})"
    )


def sections(report: Report) -> list[Section]:
    """Results grouped by view and by pair of directions, one row a metric, directions side by side."""
    views: dict[tuple[str, Directions], dict[str, dict[str | None, Result]]] = {}
    for result in report.results:
        pair = INSIDE if result.direction in INSIDE else BETWEEN
        by_name = views.setdefault((result.metric.view, pair), {})
        by_name.setdefault(result.metric.name, {})[result.direction] = result
    out = []
    for (view, pair), metrics in views.items():
        rows, intervals = [], []
        for name, by in metrics.items():
            counts = [f"{by[d].n:,}" for d in pair if d in by]
            arrow = "" if next(iter(by.values())).higher_is_better else " ↓"
            sides = [by.get(pair[0]), by.get(pair[1]), by.get(None)]
            first, second, both = map(number, sides)
            rows.append((name + arrow, first, second, both, " / ".join(counts)))
            intervals.append((interval(sides[0]), interval(sides[1]), interval(sides[2])))
        title = JUDGEMENTS[view].heading if view in JUDGEMENTS else view
        title = f"{report.split} · {title}" if view == "gt" and pair == BETWEEN else title
        out.append(Section(title, (ARROWS[pair[0]], ARROWS[pair[1]]), tuple(rows), tuple(intervals)))
    return out
