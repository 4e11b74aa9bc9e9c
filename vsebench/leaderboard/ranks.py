"""Ranks that say what is known: entries that cannot be told apart share one.

The rank of an entry is one more than the number of entries that are better beyond chance. Two entries with per-query
values are compared by their paired difference: its normal interval over images must exclude zero. Otherwise their own
intervals must not overlap. Without intervals there are no ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..evaluation.intervals import column, population
from ..files.regular import read_bytes
from ..metrics import parse
from ..results import values
from ..results.model import Result
from ..results.schema import ReportDocument
from ..stats import columns as stats
from ..types import DIRECTIONS, Direction, Float
from .facts import facts
from .groups import Key
from .schema import Entry

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution
Part = tuple[str, Direction]


def ranks(entries: Sequence[Entry], by: Key, changes: Float | None) -> list[int] | None:
    """The rank of every entry, or None where they have no intervals.

    Args:
        entries: all have a value of ``by``.
        by: metric and direction.
        changes: (entry, image) contributions of the images, which add up to the values; None where they are not known.
    """
    found = [entry.value_of(*by) for entry in entries]
    known = [value for value in found if value is not None]
    if not known or len(known) < len(entries) or any(v.interval is None for v in known):
        return None
    sign = 1.0 if facts(by[0]).higher_is_better else -1.0
    at = np.array([sign * v.value for v in known])
    ends = sign * np.array([v.interval for v in known])
    better = ends.min(axis=1)[:, None] > ends.max(axis=1)[None, :]  # (one, other): one is better than other
    if changes is not None:
        better = _paired(sign * changes, at)
    return [1 + int(n) for n in better.sum(axis=0)]


def _paired(changes: Float, at: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(one, other) whether one is better; ``at`` are the values, and ``changes`` what every image adds to them."""
    images = changes.shape[1]
    centred = changes - changes.mean(axis=1, keepdims=True)
    products = centred @ centred.T * (images / max(1, images - 1))
    own = np.diag(products)
    variance = np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0)
    difference = at[:, None] - at[None, :]
    return np.asarray((difference > 1e-12) & (difference > Z * np.sqrt(variance)))


def parts(by: Key) -> list[Part]:
    """The means that add up to a metric; none for medians, and for graded metrics, where other images also matter."""
    metric, direction = parse(by[0]), by[1]
    if metric.graded or metric.family.aggregate == "floor-median" or direction == "mean":
        return []
    if direction is None:
        return [(str(part), d) for part in metric.parts() for d in DIRECTIONS]
    return [(str(metric), direction)]  # type: ignore[list-item]


def contributions(files: Sequence[Path], wanted: Sequence[Part]) -> Float | None:
    """(entry, image) what every image adds to the sum of some means, from files of entries on the same items.

    Only these columns are read: unpacking all of a file takes three times as long. None where a file lacks one.
    """
    rows = []
    for file in files:
        report = ReportDocument.model_validate_json(read_bytes(file, "add the file that belongs to the entry"))
        if report.per_query is None:
            return None
        kept = [c for c in report.per_query.columns if (c.metric, c.direction) in wanted]
        stated = [r for r in (*report.results, *report.parts) if (r.metric, r.direction) in wanted]
        section = report.per_query.model_copy(update={"columns": kept})
        items = values.read(section, report.split)
        results = [Result(parse(r.metric), r.direction, r.value, r.n, r.undefined) for r in stated]
        found = values.restore(section, items, results, parse)
        if len(found) < len(wanted) or any(r.per_query is None for r in found):
            return None
        people = population(items)
        rows.append(np.sum([stats.contributions(column(r, items), people) for r in found], axis=0))
    return np.stack(rows) if len({len(row) for row in rows}) == 1 else None
