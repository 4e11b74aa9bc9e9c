"""Which numbers the charts of results show: curves over k, for the page of reports and ``plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..relevance.judgements.table import JUDGEMENTS
from ..relevance.kinds import GAINS
from ..types import Direction
from .charts import Mark, Panel
from .format import ARROWS
from .model import MetricName

Ends = tuple[float, float] | None
Points = Mapping[tuple[MetricName, Direction | None], Sequence[tuple[float, Ends]]]


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


def file_of(*words: str) -> str:
    """A name of a file: letters, digits and hyphens."""
    joined = "-".join(words).lower()
    return "-".join(filter(None, "".join(c if c.isascii() and c.isalnum() else "-" for c in joined).split("-")))
