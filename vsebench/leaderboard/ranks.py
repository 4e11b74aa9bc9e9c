"""Ranks that say what is known: entries that cannot be told apart share one.

The rank of an entry is one more than the number of entries that are better beyond chance. Two entries with per-query
values are compared by their paired difference: its normal interval over images must exclude zero. Otherwise their own
intervals must not overlap. Without intervals there are no ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..evaluation.intervals import column, key_of, population
from ..report.model import Result
from ..report.report import Report
from ..stats import columns as stats
from ..types import Float
from .facts import facts
from .groups import Column
from .schema import Entry

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


def ranks(entries: Sequence[Entry], by: Column, reports: Mapping[str, Report]) -> list[int] | None:
    """The rank of every entry, or None where they have no intervals.

    Args:
        entries: all have a value of ``by``.
        by: metric and direction.
        reports: id -> report with per-query values, of the entries that have some; all of the same items.
    """
    values = [entry.value_of(*by) for entry in entries]
    known = [value for value in values if value is not None]
    if len(known) < len(entries) or any(v.interval is None for v in known):
        return None
    sign = 1.0 if facts(by[0]).higher_is_better else -1.0
    at = np.array([sign * v.value for v in known])
    ends = sign * np.array([v.interval for v in known])
    better = ends.min(axis=1)[:, None] > ends.max(axis=1)[None, :]  # (one, other): one is better than other
    changes = _contributions(entries, by, reports)
    if changes is not None:
        better = _paired(sign * changes, at)
    return [1 + int(n) for n in better.sum(axis=0)]


def _paired(changes: Float, at: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(one, other) whether one is better: changes are (entry, image) contributions, which add up to the values."""
    images = changes.shape[1]
    centred = changes - changes.mean(axis=1, keepdims=True)
    products = centred @ centred.T * (images / max(1, images - 1))
    own = np.diag(products)
    variance = np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0)
    difference = at[:, None] - at[None, :]
    return np.asarray((difference > 1e-12) & (difference > Z * np.sqrt(variance)))


def _contributions(entries: Sequence[Entry], by: Column, reports: Mapping[str, Report]) -> Float | None:
    """(entry, image) what every image adds to a mean or a sum of means; None where that is not known for all.

    Of graded metrics other images are also other candidates, which these do not contain: their intervals do.
    """
    rows = []
    for entry in entries:
        report = reports.get(entry.id)
        if report is None or report.items is None:
            return None
        results: dict[Column, Result] = {
            (str(m), d): r for (m, d), r in ((key_of(r), r) for r in (*report.parts, *report.results))
        }
        whole = results.get(by)
        if whole is None:
            return None
        metric = key_of(whole)[0]
        wanted: list[Column] = [(str(part), d) for part in metric.parts() for d in ("i2t", "t2i")] or [by]
        found = [results[key] for key in wanted if key in results and results[key].per_query is not None]
        if metric.graded or metric.family.aggregate == "floor-median" or len(found) < len(wanted):
            return None
        people = population(report.items)
        rows.append(np.sum([stats.contributions(column(r, report.items), people) for r in found], axis=0))
    return np.stack(rows) if len({len(row) for row in rows}) == 1 else None
