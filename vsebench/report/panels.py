"""Which numbers the charts of results show: curves over k, and bars of slices; for the page of reports and ``plot``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..relevance.judgements.table import JUDGEMENTS
from ..relevance.kinds import GAINS
from ..types import Direction
from .charts import Mark, Panel
from .format import ARROWS
from .model import MetricName

if TYPE_CHECKING:
    from .slices import Breakdown

Ends = tuple[float, float] | None
Points = Mapping[tuple[MetricName, Direction | None], Sequence[tuple[float, Ends]]]
LEAST = 20  # queries of a slice that has bars: the value of fewer says little


def heading(view: str) -> str:
    """A set of judgements or a kind of gains, as charts call it."""
    if view == "gt":
        return "ground truth"
    if view in JUDGEMENTS:
        return JUDGEMENTS[view].title
    return GAINS[view].title if view in GAINS else view


def curves(points: Points) -> list[Panel]:
    """A panel for every metric that was measured for several k, in every direction.

    Args:
        points: metric and direction -> (value, interval or None) of every system.
    """
    groups: dict[tuple[str, str, Direction], list[MetricName]] = {}
    for metric, direction in points:
        if metric.k is not None and direction is not None:
            groups.setdefault((metric.view, metric.template, direction), []).append(metric)
    panels = []
    for (view, template, way), group in groups.items():
        group.sort(key=lambda metric: metric.k or 0)
        if len(group) < 2:
            continue
        marks = tuple(Mark(i, m.k or 0, *point) for m in group for i, point in enumerate(points[m, way]))
        name, unit = template.format(k="k"), group[0].unit
        arrow = "" if group[0].higher_is_better else " ↓"
        y = f"{name} × 100" if unit == "fraction" else name
        title = f"{name}{arrow} · {heading(view)} · {ARROWS[way]}"
        panels.append(Panel(file_of(view, name, way), title, "curve", "k", y, marks, unit == "fraction"))
    return panels


def bars(breakdowns: Iterable[Breakdown], top: int) -> list[Panel]:
    """A panel a metric and direction: its value in every slice of at least ``LEAST`` queries."""
    return [panel for b in breakdowns if (panel := _bars(b, top)).marks]


def _bars(b: Breakdown, top: int) -> Panel:
    marks = tuple(
        Mark(i, s.label, value, ends, s.n)
        for s in b.bins[:top]
        for i, (value, ends) in enumerate(zip(s.values, s.intervals, strict=True))
        if s.n >= LEAST
    )
    percent = b.metric.unit == "fraction"
    arrow = "" if b.metric.higher_is_better else " ↓"
    title = f"{b.metric.name}{arrow} · {heading(b.metric.view)} · {ARROWS[b.direction]}"
    name = file_of(b.metric.view, b.metric.name, f"{b.direction}-by-{b.by}")
    hidden = sum(s.n < LEAST for s in b.bins[:top])
    few = f"; {hidden} with fewer than {LEAST} left out" * (hidden > 0)
    return Panel(name, title, "bars", f"{b.by} (queries{few})", f"{b.metric.name}{' × 100' * percent}", marks, percent)


def file_of(*words: str) -> str:
    """A name of a file: letters, digits and hyphens."""
    joined = "-".join(words).lower()
    return "-".join(filter(None, "".join(c if c.isascii() and c.isalnum() else "-" for c in joined).split("-")))
