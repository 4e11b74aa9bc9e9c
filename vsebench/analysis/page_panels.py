"""The charts of a report's page: which numbers of the reports each shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evaluation.intervals import Key
from ..relevance.judgements.table import JUDGEMENTS
from ..relevance.kinds import GAINS
from ..report.charts import Mark, Panel
from ..report.format import ARROWS
from ..report.slices import Breakdown, Slices
from ..types import DIRECTIONS, Direction
from .systems import System

# Ranks that a bar of a histogram stands for: the first and the last one.
RANKS = ((1, 1), (2, 5), (6, 10), (11, 50), (51, 100), (101, 1000), (1001, None))
_THOUSAND = 1000


def heading(view: str) -> str:
    """A set of judgements or a kind of gains, as it is called on the page."""
    if view == "gt":
        return "ground truth"
    if view in JUDGEMENTS:
        return JUDGEMENTS[view].title
    return GAINS[view].title if view in GAINS else view


def curves(systems: Sequence[System], keys: Sequence[Key]) -> list[Panel]:
    """A panel for every metric that was measured for several k, in every direction."""
    groups: dict[tuple[str, str, Direction], list[Key]] = {}
    for metric, direction in keys:
        if metric.k is not None and direction is not None:
            groups.setdefault((metric.view, metric.template, direction), []).append((metric, direction))
    panels = []
    for (view, template, way), group in groups.items():
        group.sort(key=lambda key: key[0].k or 0)
        if len(group) < 2:
            continue
        found = [(i, key, system.results[key]) for i, system in enumerate(systems) for key in group]
        marks = tuple(Mark(i, key[0].k or 0, result.value, result.interval) for i, key, result in found)
        unit = group[0][0].unit
        name = template.format(k="k")
        arrow = "" if group[0][0].higher_is_better else " ↓"
        y = f"{name} × 100" if unit == "fraction" else name
        title = f"{name}{arrow} · {heading(view)} · {ARROWS[way]}"
        panels.append(Panel(_file(view, name, way), title, "curve", "k", y, marks, unit == "fraction"))
    return panels


def rank_histograms(systems: Sequence[System], keys: Sequence[Key]) -> list[Panel]:
    """How many queries find their first relevant item at which ranks: a panel a direction and set of judgements."""
    chosen: dict[tuple[str, Direction], Key] = {}
    for metric, direction in keys:
        if metric.unit == "rank" and not metric.graded and direction is not None and direction in DIRECTIONS:
            chosen.setdefault((metric.view, direction), (metric, direction))
    panels = []
    for (view, way), key in chosen.items():
        marks = []
        for i, system in enumerate(systems):
            ranks = system.results[key].per_query
            if ranks is None or not len(ranks):
                continue
            for first, last in RANKS:
                inside = (ranks >= first) & (True if last is None else ranks < last + 1)
                marks.append(Mark(i, _label(first, last), float(np.mean(inside))))
        title = f"ranks · {heading(view)} · {ARROWS[way]}"
        name = _file(view, "ranks", way)
        panels.append(Panel(name, title, "bars", "rank of the first relevant item", "queries × 100", tuple(marks)))
    return panels


def slice_bars(slices: Sequence[Slices]) -> list[Panel]:
    """A panel a metric and direction: its value in every slice."""
    return [_slice_panel(b, found.top) for found in slices for b in found.breakdowns]


def _slice_panel(b: Breakdown, top: int) -> Panel:
    marks = tuple(
        Mark(i, s.label, value, ends)
        for s in b.bins[:top]
        for i, (value, ends) in enumerate(zip(s.values, s.intervals, strict=True))
    )
    percent = b.metric.unit == "fraction"
    arrow = "" if b.metric.higher_is_better else " ↓"
    title = f"{b.metric.name}{arrow} · {heading(b.metric.view)} · {ARROWS[b.direction]}"
    name = _file(b.metric.view, b.metric.name, f"{b.direction}-by-{b.by}")
    return Panel(name, title, "bars", b.by, f"{b.metric.name}{' × 100' * percent}", marks, percent)


def _label(first: int, last: int | None) -> str:
    if last is None:
        return f"> {_short(first - 1)}"
    return str(first) if first == last else f"{first}–{_short(last)}"


def _short(n: int) -> str:
    return f"{n // _THOUSAND}k" if n >= _THOUSAND else str(n)


def _file(*words: str) -> str:
    """A name of a file: letters, digits and hyphens."""
    joined = "-".join(words).lower()
    return "-".join(filter(None, "".join(c if c.isascii() and c.isalnum() else "-" for c in joined).split("-")))
