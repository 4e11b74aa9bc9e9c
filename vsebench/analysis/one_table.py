"""The values of several systems in one table, without tests: what ``eval`` and ``show`` print of several reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import count_of
from ..evaluation.assemble import Key
from ..results.charts import curves
from ..results.model import UNITS, MetricName, Resampling, bracketed, interval_kind, interval_words, printed
from ..results.render import Result
from ..results.report import corrected
from ..results.table import Text, Value, wide
from ..sets.published import SETS
from ..stats import paired
from ..types import ONE_WAY
from . import systems as shared
from .sets_and_runs import Arranged, Group, arrange
from .systems import Names, System

MEAN = "macro mean"  # of languages, or of test sets
Row = tuple[Group, str]  # of a table of values: a system, or one of its test sets, or their mean (``MEAN``)


def in_one_table(
    systems: Sequence[System],
    metrics: Names | None = None,
    *,
    intervals: bool = False,
    force: bool | None = False,
    mean: bool = False,
    level: float = 95,
    ranks: bool = False,
) -> Result:
    """The values of systems: a row a system, a column a metric and direction, the best values in bold.

    Of several test sets, or languages of one, a row is a set of a system, and their mean follows. Only means are best.

    Args:
        systems: with their reports, which the result has.
        metrics: None for all that the reports share.
        intervals: show the interval of every value.
        force: compare even if the evaluation settings differ; None for a caller without this option.
        mean: they are of several test sets.
        level: of intervals over runs, in percent; 0 for none. The others are as in the reports.
        ranks: show the ranks among all metrics.
    """
    every = arrange(systems, mean, languages=True)
    given = every
    every, keys, notes, warnings = every.comparable(metrics, force, of_queries=False)
    if metrics is None and not ranks:
        keys = [key for key in keys if key[0].unit != "rank"] or keys
    how = systems[0].report.intervals
    behind = [MEAN] if every.several and every.averaged else []
    rows = [(group, name) for group in every.groups for name in (*group.sets, *behind)]
    known = every.by_runs or shared.interval_settings(every.systems) is not None
    more = ["intervals are not shown: some reports have none, or used other settings"] * (intervals and not known)
    intervals = intervals and known

    def values_of(key: Any) -> list[Value]:
        return values_in(every, rows, key, how, intervals, level)

    split = title_of(every)
    same = {_how(group) for group in every.groups}
    title = " · ".join(filter(None, (split, *same))) if len(same) == 1 else split
    labels = [_label(every, row, len(same) > 1) for row in rows]
    note = _values_note(every, how, intervals, level, units_of_keys(keys))
    tables = wide(title, _heading(every), labels, keys, values_of, note, brackets=intervals)
    curved = {key: [one.results.get(key) for one in systems] for key in systems[0].results}
    drawn = curves({key: [r for r in of if r] for key, of in curved.items() if all(of)}) if every is given else []
    names = tuple(one.name for one in systems)
    return Result(
        kind="joint", title=f"Systems on {split}", tables=tables, main="values", settings={"split": split},
        panels=drawn, systems=names,
        reports={one.name: one.report for one in systems}, notes=(*every.notes, *more, *notes), warnings=warnings,
    )  # fmt: skip


def values_in(
    every: Arranged, rows: Sequence[Row], key: Key, how: Resampling | None, intervals: bool, level: float
) -> list[Value]:
    """The values of a metric in some rows.

    Args:
        every: the systems.
        rows: systems, their test sets, or the means over these.
        key: metric and direction.
        how: the resampling of the intervals of means.
        intervals: show the intervals over runs; intervals of means are always shown.
        level: of intervals over runs, in percent.
    """
    of_means = every.mean_intervals(key, how) if any(name == MEAN for _, name in rows) else []
    means, metric, found = dict(zip(every.groups, of_means, strict=False)), key[0], list[Value]()
    for group, name in rows:
        better = metric.higher_is_better if name == MEAN or not every.several else None  # else only means are compared
        of_mean = group.means(key, every.averaged) if name == MEAN else []
        results = [] if name == MEAN else group.results(key, name)
        if every.by_runs:
            values = of_mean or [result.value for result in results]
            found.append(over_runs(values, metric, level, better, intervals or name == MEAN))
        elif of_mean:
            ends = means[group]
            found.append(Value(of_mean[0], metric.unit, ends, better, aside=bracketed(ends, metric.unit)))
        else:
            found.append(Value(results[0].value, metric.unit, results[0].interval, better))
    return found


def over_runs(values: Sequence[float], metric: MetricName, level: float, better: bool | None, brackets: bool) -> Value:
    """The mean over runs, with their standard deviation and the t interval."""
    ends = paired.t_interval(values, level)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    words = [] if spread is None else [f"± {printed(spread, metric.unit)}"]
    words += [bracketed(ends, metric.unit)] * (brackets and ends is not None)
    facts = {"sd": spread, "runs": len(values)}
    return Value(float(np.mean(values)), metric.unit, ends, better, aside=" ".join(words), facts=facts)


def title_of(every: Arranged) -> str:
    """The test set, or how many there are."""
    if every.several and not every.languages:
        return count_of(len(every.sets), "test set")
    return every.languages or every.groups[0].first.report.split


def _heading(every: Arranged) -> str:
    if not every.several:
        return "system"
    name = "language" if every.languages else "test set"
    return f"system · {name}" if every.groups[0].name else name


def _how(group: Group) -> str:
    """How the scores of a system are corrected, or an empty text."""
    return ", ".join(corrected(group.first.report.signature))


def _label(every: Arranged, row: Row, differ: bool) -> Text:
    """The name of a row, with the score correction if it differs between systems."""
    group, name = row
    system, kind = group.name, "language" if every.languages else "set"
    identity = {"system": system, kind: name} if system and every.several else {"system": system or name}
    if name == MEAN and every.languages and (number := len(SETS[every.languages].languages)) != len(every.averaged):
        name = f"{MEAN} ({len(every.averaged)} of {number})"
    shown, how = " · ".join(filter(None, (system, name))), _how(group) * (differ and row[1] != MEAN)
    return Text(f"{shown} ({how})" if how else shown, identity)


def units_of_keys(keys: Iterable[Key]) -> str:
    """What is resampled for some metrics and directions."""
    return "queries" if any(direction == ONE_WAY for _, direction in keys) else "images"


def _values_note(every: Arranged, how: Resampling | None, intervals: bool, level: float, units: str) -> str:
    """How numbers and intervals of a table of values were made."""
    means = bool(every.several and every.averaged)
    if every.by_runs:
        return f"{UNITS} {runs_words(every, level * (means or intervals))}"
    if how is None or not (means or intervals):
        return UNITS
    if not means:
        return f"{UNITS} {interval_words(how, units)}."
    of_means = replace(how, method="percentile")
    both = intervals and how != of_means
    words = interval_words(how if both else of_means, units) + f", of means {interval_kind(of_means)}" * both
    return f"{UNITS} {words}."


def runs_words(every: Arranged, level: float) -> str:
    """What stands behind values of runs, as sentences of a legend; a ``level`` of 0: without intervals."""
    sizes = {group.name: len(group.runs) for group in every.groups}
    each = ", ".join(f"{name} {size}" for name, size in sizes.items())
    counted = f"{len(every.groups[0].runs)} runs" if len(set(sizes.values())) == 1 else f"runs ({each})"
    ends = f" In brackets: {level:g} % t interval over runs." * (level > 0)
    return f"±: standard deviation over {counted}.{ends}"
