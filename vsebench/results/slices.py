"""Slices: metrics in bins of their queries, with intervals, and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import count_of
from ..options import spell
from ..types import Direction
from .charts import Mark, Panel, file_of, heading
from .format import ARROWS, UNITS, bracketed, interval_words, printed
from .grid import Cell, Grid, cells, text_only
from .model import MetricName, Resampling, plain
from .render import Drawn, record

SCHEMA = "vsebench/slices/1"
LEAST = 20  # queries of a slice that has bars: the value of fewer says little


@dataclass(frozen=True)
class Bin:
    """One slice.

    Attributes:
        label: its number, range or category.
        n: queries of the first system.
        images: images they belong to.
        values, intervals: one a system.
    """

    label: str
    n: int
    images: int
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...]


@dataclass(frozen=True)
class Breakdown:
    """One metric in one direction, in bins.

    Attributes:
        metric, direction: as in a ``Result``.
        by: the attribute of the queries that the bins are made of.
        bins: the slices; a query with several labels is in several.
        values: over all queries, one a system.
        n: all queries of the first system.
        outside: those that are in no slice.
    """

    metric: MetricName
    direction: Direction
    by: str
    bins: tuple[Bin, ...]
    values: tuple[float, ...]
    n: int
    outside: int


@dataclass(frozen=True, repr=False)
class Slices(Drawn):
    """Metrics in bins of their queries.

    Attributes:
        split, systems: what was evaluated.
        breakdowns: one a metric and direction.
        how: the resampling of the intervals.
        warnings: what may be wrong.
        top: how many slices of a breakdown a table shows.
        notes: what was decided.
    """

    heading: ClassVar = "Slices of {split}"
    split: str
    systems: tuple[str, ...]
    breakdowns: tuple[Breakdown, ...]
    how: Resampling
    warnings: tuple[str, ...]
    top: int = 30
    notes: tuple[str, ...] = ()

    def grids(self) -> list[Grid]:
        """One table a metric and direction, of at most ``top`` slices."""
        return [*(self._grid(b) for b in self.breakdowns), text_only(f"{UNITS} {interval_words(self.how)}.")]

    def panels(self) -> list[Panel]:
        """Bars, a panel a metric and direction: its value in every slice of at least 20 queries (``LEAST``)."""
        return [panel for b in self.breakdowns if (panel := self._panel(b)).marks]

    def _panel(self, b: Breakdown) -> Panel:
        shown = [s for s in b.bins[: self.top] if s.n >= LEAST]
        marks = tuple(
            Mark(i, s.label, value, ends, s.n)
            for s in shown
            for i, (value, ends) in enumerate(zip(s.values, s.intervals, strict=True))
        )
        left = len(b.bins[: self.top]) - len(shown)
        x = f"{b.by} · (queries)" + f" · {left} of fewer than {LEAST} left out" * (left > 0)
        percent = b.metric.unit == "fraction"
        y = f"{b.metric.name}{' × 100' * percent}"
        arrow = "" if b.metric.higher_is_better else " ↓"
        title = f"{b.metric.name}{arrow} · {heading(b.metric.view)} · {ARROWS[b.direction]}"
        name = file_of(b.metric.view, b.metric.name, f"{b.direction}-by-{b.by}")
        return Panel(name, title, "bars", x, y, marks, percent)

    def records(self) -> list[dict[str, Any]]:
        """One a slice and system: metric, direction, by, slice, system, value, low, high, n, images."""
        found = []
        for b in self.breakdowns:
            for s in b.bins:
                head, counts = {**plain(b, "metric", "direction", "by"), "slice": s.label}, plain(s, "n", "images")
                for system, value, interval in zip(self.systems, s.values, s.intervals, strict=True):
                    found.append(record({**head, "system": system, "value": value, "interval": interval, **counts}))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/slices/1``."""
        return {
            "schema": SCHEMA,
            **plain(self, "split", "systems"),
            "intervals": plain(self.how, "level", "resamples", "seed"),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "slices": [
                {
                    **plain(b, "metric", "direction", "by"),
                    "values": dict(zip(self.systems, b.values, strict=True)),
                    **plain(b, "n", "outside"),
                    "bins": [
                        {
                            **plain(s, "label", "n", "images"),
                            "values": dict(zip(self.systems, s.values, strict=True)),
                            "intervals": {n: e and list(e) for n, e in zip(self.systems, s.intervals, strict=True)},
                        }
                        for s in b.bins
                    ],
                }
                for b in self.breakdowns
            ],
        }

    def _grid(self, b: Breakdown) -> Grid:
        unit = b.metric.unit
        rows = []
        for s in b.bins[: self.top]:
            values = zip(s.values, s.intervals, strict=True)
            numbers = (Cell(printed(value, unit), aside=bracketed(ends, unit)) for value, ends in values)
            rows.append((*cells(s.label, f"{s.n:,}"), *numbers))
        rows.append((*cells("all queries", f"{b.n:,}"), *(Cell(printed(value, unit)) for value in b.values)))
        notes = []
        if len(b.bins) > self.top:
            notes.append(
                f"{count_of(len(b.bins) - self.top, 'smaller slice is', 'smaller slices are')} not shown "
                f"({spell('top')})."
            )
        if b.outside:
            notes.append(f"{b.outside:,} of {b.n:,} queries are in no slice.")
        arrow = "" if b.metric.higher_is_better else " ↓"
        title = f"{self.split} · {b.metric}{arrow} ({ARROWS[b.direction]}) by {b.by}"
        return Grid(title, (b.by, "queries", *self.systems), 1, tuple(rows), tuple(notes))
