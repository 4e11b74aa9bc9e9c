"""The histograms of ranks of a report's page; its other charts are those of ``report.panels``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evaluation.intervals import Key
from ..report.charts import Mark, Panel
from ..report.format import ARROWS
from ..report.panels import file_of, heading
from ..types import DIRECTIONS, Direction
from .systems import System

# Ranks that a bar of a histogram stands for: the first and the last one.
RANKS = ((1, 1), (2, 5), (6, 10), (11, 50), (51, 100), (101, 1000), (1001, None))
_THOUSAND = 1000


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
        n = max(len(v) for s in systems if (v := s.results[key].per_query) is not None)
        y = f"share of {n:,} queries × 100"
        name = file_of(view, "ranks", way)
        panels.append(Panel(name, title, "bars", "rank of the first relevant item", y, tuple(marks)))
    return panels


def _label(first: int, last: int | None) -> str:
    if last is None:
        return f"> {_short(first - 1)}"
    return str(first) if first == last else f"{first}–{_short(last)}"


def _short(n: int) -> str:
    return f"{n // _THOUSAND}k" if n >= _THOUSAND else str(n)
