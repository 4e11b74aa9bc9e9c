"""Whether a saved report agrees with itself: values with per-query values, ranges, sums, and the items it is about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .. import signature
from ..errors import BadInput
from ..evaluation.assemble import Key, add, column, key_of, label, population
from ..results.model import SIDE, Measurement
from ..results.report import Report
from ..stats.columns import Column, median
from ..types import DIRECTIONS, QUERIES_OF, TestSet

FIX = "the file was changed or damaged: copy it again, or evaluate again"
ROUNDING = 1e-9  # of a value that is computed again, relative to 1 or to the value
RANGE_TOLERANCE = 1e-6  # of a range: gains are float32
INTERVAL_TOLERANCE = 1e-6  # of an end of an interval that is computed again, relative to 1 or to the end


def check(report: Report) -> None:
    """Refuse a report that contradicts itself.

    Raises:
        BadInput: a metric is listed twice; a value, an end of an interval or a per-query value is out of the range of
            its metric; a value is not that of its per-query values or, for a sum, of its parts; the items are not those
            of the signature.
        UsageError: the signature is none.
    """
    known: dict[Key, Measurement] = {}
    for result in (*report.results, *report.parts):
        key = key_of(result)
        if key in known:
            raise BadInput(f"{label(key)} is listed twice", fix=FIX)
        known[key] = result
        _check_range(key, result, report.items)
    fields = signature.read(report.signature)
    if report.items is None:
        return
    _check_items(fields, report.items)
    for key, result in known.items():
        if result.per_query is not None:
            found, source = _value(column(result, report.items), result.n, report.items), "per-query values"
        elif key[1] is None and key[0].parts():
            found, source = _sum(key, known), "parts"
        else:
            continue
        if not abs(found - result.value) <= ROUNDING * max(1.0, abs(result.value)):
            raise BadInput(f"{label(key)} is {result.value:.12g}, but its {source} give {found:.12g}", fix=FIX)


def check_intervals(report: Report) -> None:
    """Refuse a report with an interval that its per-query values do not give.

    Raises:
        BadInput: no per-query values, or an interval differs by more than 1e-6.
    """
    if report.items is None:
        raise BadInput(
            "has no per-query values, so intervals cannot be computed",
            fix="write the report again, with its per-query values",
        )
    bare = {key_of(r): replace(r, interval=None) for r in (*report.parts, *report.results)}
    sums = {key: [(part, d) for part in key[0].parts() for d in DIRECTIONS if (part, d) in bare] for key in bare}
    for key in (key_of(r) for r in report.results):
        parts = sums[key] if key[1] is None and sums[key] else [key]
        if any(bare[part].per_query is None for part in parts):
            fix = "write the report again, with its per-query values"
            raise BadInput(f"{label(key)} has no per-query values, so it cannot be computed again", fix=fix)
    if report.intervals is not None:
        totals = {key: parts for key, parts in sums.items() if key[1] is None and parts}
        bare = add(bare, totals, report.items, report.intervals)
    for result in report.results:
        says, gives = result.interval or (), bare[key_of(result)].interval or ()
        if len(says) != len(gives) or any(
            abs(a - b) > INTERVAL_TOLERANCE * max(1.0, abs(b)) for a, b in zip(says, gives, strict=True)
        ):
            said, given = ("[{:.6g}, {:.6g}]".format(*pair) if pair else "none" for pair in (says, gives))
            what = f"{label(key_of(result))}: its interval is {said}, but its per-query values give {given}"
            raise BadInput(what, fix=FIX)


def _check_range(key: Key, result: Measurement, items: TestSet | None) -> None:
    metric, direction = key
    low, high = metric.family.low, metric.family.high
    if metric.unit == "rank" and items is not None and direction is not None:
        high = len(items.side(SIDE[QUERIES_OF[direction]]).ids)
    values = [np.array([result.value]), np.array(result.interval or (), np.float64)]
    values += [] if result.per_query is None else [result.per_query]
    for array, what in zip(values, ("", "an end of the interval of ", "a per-query value of "), strict=False):
        outside = ~(
            (array >= low - RANGE_TOLERANCE) & (array <= (math.inf if high is None else high + RANGE_TOLERANCE))
        )
        if outside.any():
            where = f"from {low:g} to {high:g}" if high is not None else f"from {low:g} up"
            raise BadInput(f"{what}{label(key)} is {array[outside][0]:g}, but the metric ranges {where}", fix=FIX)
    if result.interval is not None and result.interval[0] > result.interval[1]:
        raise BadInput(f"the interval of {label(key)} ends before it begins: {result.interval}", fix=FIX)
    if result.per_query is not None and len(result.per_query) > result.n:
        what = f"{label(key)} has {result.n:,} queries and {len(result.per_query):,} per-query values"
        raise BadInput(what, fix=FIX)


def _check_items(fields: Mapping[str, str], items: TestSet) -> None:
    _, mark, digits = fields.get("split", "").rpartition("#")
    # The fingerprint of items with labels also covers the queries and the gallery.
    if mark and "labels" not in fields and digits != signature.fingerprint(items):
        what = f"its items do not match its signature (split {digits}, found {signature.fingerprint(items)})"
        raise BadInput(what, fix=FIX)


def _value(values: Column, n: int, items: TestSet) -> float:
    """The value of a column over ``n`` queries; a query that is not in the column is a miss (0)."""
    if not len(values.values):
        return math.nan
    if values.median:
        return median(values, population(items))
    if not values.folded or items.row_folds is None:
        return float(values.values.sum() / n)
    fold = items.row_folds[values.image]
    return float(np.mean([values.values[fold == f].mean() for f in np.unique(fold)]))


def _sum(key: Key, known: dict[Key, Measurement]) -> float:
    """The sum of the parts in the directions that were measured."""
    parts = key[0].parts()
    measured = [d for d in DIRECTIONS if any((part, d) in known for part in parts)]
    missing = [(part, d) for d in measured for part in parts if (part, d) not in known]
    if missing or not measured:
        raise BadInput(f"{label(key)} lacks its part {label(missing[0]) if missing else parts[0]}", fix=FIX)
    return key[0].weight * sum(known[part, d].value for part in parts for d in measured)
