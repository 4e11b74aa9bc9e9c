"""What a breakdown of a metric is: its values in bins, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..types import Direction
from .grid import ARROWS, Cell, Grid, cells
from .model import MetricName, Resampling
from .table import bracketed, interval_words, printed

SCHEMA = "vsebench/slices/1"


@dataclass(frozen=True)
class Bin:
    """One slice.

    Attributes:
        label: what is in it.
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
class Slices:
    """One metric in one direction, broken down.

    Attributes:
        split, systems: what was evaluated.
        metric, direction: as in a ``Result``.
        by: what the queries are sliced by.
        bins: the slices; a query with several labels is in several.
        values: over all queries, one a system.
        n: all queries of the first system.
        outside: those that are in no slice.
        how: the resampling behind the intervals.
        warnings: what the reader should know.
    """

    split: str
    systems: tuple[str, ...]
    metric: MetricName
    direction: Direction
    by: str
    bins: tuple[Bin, ...]
    values: tuple[float, ...]
    n: int
    outside: int
    how: Resampling
    warnings: tuple[str, ...]


def to_json(slices: Sequence[Slices]) -> dict[str, Any]:
    """The document of schema ``vsebench/slices/1``."""
    first = slices[0]
    return {
        "schema": SCHEMA,
        "split": first.split,
        "systems": list(first.systems),
        "intervals": {"level": first.how.level, "resamples": first.how.resamples, "seed": first.how.seed},
        "warnings": list(first.warnings),
        "slices": [
            {
                "metric": str(s.metric),
                "direction": s.direction,
                "by": s.by,
                "values": dict(zip(s.systems, s.values, strict=True)),
                "n": s.n,
                "outside": s.outside,
                "bins": [
                    {
                        "label": b.label,
                        "n": b.n,
                        "images": b.images,
                        "values": dict(zip(s.systems, b.values, strict=True)),
                        "intervals": {
                            name: None if ends is None else list(ends)
                            for name, ends in zip(s.systems, b.intervals, strict=True)
                        },
                    }
                    for b in s.bins
                ],
            }
            for s in slices
        ],
    }


def grids(slices: Sequence[Slices], most: int) -> list[Grid]:
    """One table a metric and direction, of at most so many bins."""
    out = [_grid(s, most) for s in slices]
    words = f"Fractions are printed times 100, ranks as ranks (↓ lower is better). {interval_words(slices[0].how)}."
    return [*out, Grid("", (), 0, (), (words,))]


def _grid(s: Slices, most: int) -> Grid:
    rows = [
        (
            *cells(b.label, f"{b.n:,}"),
            *(
                Cell(printed(v, s.metric.unit), aside="" if ends is None else bracketed(ends, s.metric.unit))
                for v, ends in zip(b.values, b.intervals, strict=True)
            ),
        )
        for b in s.bins[:most]
    ]
    rows.append((*cells("all queries", f"{s.n:,}"), *(Cell(printed(v, s.metric.unit)) for v in s.values)))
    notes = []
    if len(s.bins) > most:
        notes.append(f"{len(s.bins) - most} smaller slices are not shown (--top).")
    if s.outside:
        notes.append(f"{s.outside:,} of {s.n:,} queries are in no slice.")
    arrow = "" if s.metric.higher_is_better else " ↓"
    title = f"{s.split} · {s.metric}{arrow} ({ARROWS[s.direction]}) by {s.by}"
    return Grid(title, (s.by, "queries", *s.systems), 1, tuple(rows), tuple(notes))
