"""``compare``: systems in one table, with tests between them, and with their means over test sets and runs.

What is compared is in ``sets_and_runs``, the tests are in ``tests_between``; here are the tables. Those without tests
are in ``one_table``.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

from ..errors import UsageError, count_of, unknown
from ..evaluation.assemble import Key, is_median, queries_alone, some_names
from ..metrics import Metric
from ..metrics.suites import headlines
from ..options import of_command, public, spell
from ..relevance.sources import SOURCES
from ..results import table
from ..results.model import UNDEFINED, UNITS, Resampling, interval_kind, interval_words
from ..results.render import Result
from ..results.table import Entry, Table, Text, Value, arrow, way, wide
from ..stats import paired
from . import systems as shared
from .one_table import MEAN, Row, in_one_table, runs_words, title_of, units_of_keys, values_in
from .sets_and_runs import Arranged, arrange, check_once
from .systems import Names, OneReport, Reports, System
from .tests_between import CORRECTED, Difference, Rules, between, permutations_for

ONE_RUN = "the tests account for the choice of test {}, not for training: another seed gives another model"
OF_RUNS = "the tests account for training, not for the choice of test {}: they compare these runs on these {}"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@public
def compare(
    reports: Reports,
    *more: OneReport,
    metrics: Names | None = None,
    baseline: str | None = None,
    correction: Literal["holm", "bh", "none"] = "holm",
    alpha: float = 0.05,
    permutations: int | None = None,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    intervals: bool = False,
    force: bool = False,
    tests: bool = True,
    mean: bool = False,
    threads: int | None = None,
) -> Result:
    """Test the differences between systems: paired permutation tests of the headline metrics that they share.

    Name training runs of one system SYSTEM@SEED=FILE: the table shows their mean, and the tests permute the runs.

    Args:
        reports, more: saved reports; NAME=FILE names a system. In Python also ``Report`` objects, one by one or as a
            list, or a mapping from names to them.
        metrics: metrics and suites to test, or all; by default the headline metrics that the reports share
            (docs/metrics.md). A list of names works too.
        baseline: test every system against this one; by default every pair is tested.
        correction: correction for multiple tests: holm, bh (Benjamini-Hochberg) or none.
        alpha: significance level of corrected p-values; ``detectable`` uses it uncorrected.
        permutations: number of random permutations; by default 10,000 to 100,000, as the number of tests and ``alpha``
            need.
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        intervals: show the interval of every value.
        force: compare even if the evaluation settings differ, on the queries that the systems share.
        tests: ``False`` shows the values only: one row per system, one column per metric and direction. Languages of
            one test set become a row each, with their mean behind them.
        mean: compare macro means over test sets; name the reports SYSTEM:SET=FILE, or store them as SYSTEM/SET.json.
        threads: number of threads; never changes a result.

    Returns:
        ``to_frame("values")`` has the values, ``to_frame("tests")`` the tests, ``settings`` how they were made. The
        number of queries that a given difference needs is ``vsebench.stats.paired.queries_needed``. Without tests it
        also has the ``reports``, and its JSON document can be given in their place.

    Raises:
        UsageError: fewer than two systems, an unknown metric or baseline, signatures that differ, a value out of range.
        BadInput: a report lacks values that are needed.

    Example:
        >>> import numpy as np
        >>> import vsebench
        >>> rng = np.random.default_rng(0)
        >>> images = rng.standard_normal((50, 8))
        >>> captions = np.repeat(images, 5, axis=0)
        >>> def evaluate(noise):
        ...     noisy = captions + noise * rng.standard_normal(captions.shape)
        ...     return vsebench.evaluate(images, noisy, captions_per_image=5, metrics="R@1")
        >>> reports = {"good": evaluate(0.5), "bad": evaluate(2.0)}
        >>> comparison = vsebench.compare(reports, permutations=1000)
        >>> comparison.to_frame()[["metric", "direction", "winner"]].values.tolist()
        [['R@1', 'i2t', 'good'], ['R@1', 't2i', 'good']]
        >>> print(comparison.to_markdown().splitlines()[4].split(" | ")[:2])
        ['| R@1', 'image→text']
        >>> print(vsebench.compare(reports, tests=False).to_markdown().splitlines()[2])
        | system | image→text R@1 | text→image R@1 |
    """
    rules = Rules(0 if permutations is None else permutations, correction, alpha, float(ci), resamples, seed)
    systems = shared.load_systems(reports, more, 2 if tests else 1)
    if not tests:
        usual = inspect.signature(compare).parameters
        of_tests = dict(baseline=baseline, correction=correction, alpha=alpha, permutations=permutations)
        if given := [name for name, value in of_tests.items() if value != usual[name].default]:
            raise UsageError(f"{given[0]} has no effect with tests=False", fix=f"leave out {given[0]}, or tests=False")
        return in_one_table(systems, metrics, intervals=intervals, force=force, mean=mean, level=rules.level)
    return tested(
        systems, metrics, rules, baseline=baseline, intervals=intervals, force=force, mean=mean, threads=threads,
    )  # fmt: skip


@public
def show(reports: Reports, *more: OneReport, metrics: Names | None = None, intervals: bool = False) -> Result:
    """Print one saved report as its evaluation did, or several in one table.

    Args:
        reports, more: saved reports; NAME=FILE names a system. In Python as for ``compare``.
        metrics: metrics and suites; all by default.
        intervals: show the interval of every value (several reports).

    Raises:
        UsageError, BadInput: as ``compare``.
    """
    systems = shared.load_systems(reports, more)
    if len(systems) > 1:
        return in_one_table(systems, metrics, intervals=intervals, force=None, ranks=True)
    report, keys = systems[0].report, shared.shared_keys(systems, metrics)[0]
    return replace(report, results=tuple(systems[0].results[key] for key in keys))


@dataclass(frozen=True, eq=False)
class _Tested:
    """The systems, tests and settings that the tables of a comparison show."""

    every: Arranged
    rows: Sequence[Key]
    chosen: frozenset[Key]  # the rows that are tested
    found: Sequence[Difference]
    rules: Rules
    baseline: int | None
    intervals: bool  # show the intervals of all values
    how: Resampling | None  # how the reports made them
    shown: bool  # show the tables of tests

    @property
    def names(self) -> list[str]:
        """The systems."""
        return [group.name for group in self.every.groups]

    @property
    def any_test(self) -> bool:
        """Whether anything is tested."""
        return any(one.p is not None for one in self.found)

    @property
    def units(self) -> str:
        """What is resampled."""
        return units_of_keys(self.rows)

    @cached_property
    def labels(self) -> dict[Metric, str]:
        """The names of metrics. Over several test sets the names of custom judgements are left out if possible."""
        metrics = list(dict.fromkeys(metric for metric, _ in self.rows))
        short = [
            metric.name if self.every.several and metric.view not in SOURCES else str(metric) for metric in metrics
        ]
        return {m: name if short.count(name) == 1 else str(m) for m, name in zip(metrics, short, strict=True)}

    @cached_property
    def values(self) -> dict[Key, list[Value]]:
        """By metric one a system, with marks of significance; of several test sets their means."""
        return {key: self._values(key) for key in self.rows}

    def _values(self, key: Key) -> list[Value]:
        rows = [(group, MEAN if self.every.several else "") for group in self.every.groups]
        values = self.in_rows(key, rows)
        return [replace(value, mark=mark) for value, mark in zip(values, _marks(self, key), strict=True)]

    def in_rows(self, key: Key, rows: Sequence[Row]) -> list[Value]:
        """The values of a metric in some rows, see ``one_table.values_in``."""
        return values_in(self.every, rows, key, self.rules.intervals, self.intervals, self.rules.level)


def tested(
    systems: Sequence[System],
    metrics: Names | None,
    rules: Rules,
    *,
    baseline: str | None = None,
    intervals: bool = False,
    force: bool = False,
    mean: bool = False,
    threads: int | None = None,
    shown: bool = False,
    runs: bool = True,
) -> Result:
    """Systems with tests between them, see ``compare``.

    Args:
        systems: at least two reports.
        metrics, baseline, intervals, force, mean, threads: as for ``compare``.
        rules: how they are tested.
        shown: show the tests of all pairs; else of two systems, and of those against the baseline.
        runs: reports ``SYSTEM@SEED`` are the runs of a system.
    """
    every = arrange(systems, mean, runs=runs)
    check_once(every.groups)
    names = [group.name for group in every.groups]
    if baseline is not None and baseline not in names:
        raise unknown("system", baseline, names)
    if len(names) < 2 and not mean:
        reads = "vsebench show prints" if of_command() else "vb.compare(REPORTS, tests=False) has"
        raise UsageError(
            f"all reports are runs of one system, '{names[0]}' (SYSTEM@SEED)",
            fix=f"add runs of another system, or compare these under names without '@'; {reads} their mean",
        )
    every, keys, _, warnings = every.comparable(metrics, force)
    against = None if baseline is None else names.index(baseline)
    pairs = list(combinations(range(len(names)), 2))
    if against is not None:
        pairs = [(against, i) for i in range(len(names)) if i != against]
    chosen = [m for m, _ in keys] if metrics is not None else headlines(m for m, _ in keys)
    medians = [] if every.by_runs else [str(m) for m in chosen if is_median(m)]
    if mean:
        keys = [key for key in keys if key[0] in chosen and not is_median(key[0])]
        if not keys:
            raise UsageError("medians have no mean over test sets", fix=f"choose others with {spell('metrics')}")
    of_tests = frozenset(key for key in keys if key[0] in chosen)
    if not rules.permutations:
        number = len(pairs) * sum(every.by_runs or not is_median(m) for m, _ in of_tests)
        rules = replace(rules, permutations=permutations_for(number, rules))
    found, weak = between(every, keys, of_tests, pairs, rules, threads)
    shown = shown or (len(pairs) < len(names) and not mean)
    how = shared.interval_settings(every.systems)
    same = every.by_runs or how is not None
    of = _Tested(every, keys, of_tests, found, rules, against, intervals and same, how, shown)
    words = OF_RUNS if every.by_runs else ONE_RUN
    notes = [words.format(*[of.units] * 2)] * any(one.p is not None for one in found)
    notes += [*every.notes, *(() if every.by_runs else shared.row_number_note(systems))]
    notes += ["intervals are not shown: some reports have none, or used other settings"] * (intervals > same)
    bare = [one.key[0] for one in found if one.key in of_tests and one.key[0].graded and not one.of_candidates]
    alone = [of.labels[metric] for metric in bare]
    notes += [queries_alone(alone, "intervals and tests" if mean else "tests", of.units)] if bare else []
    notes += [f"no test of {some_names(medians)}: medians are not resampled"] * bool(medians)
    settings = {
        **({"sets": list(every.sets), "averaged": every.averaged} if mean else {"split": title_of(every)}),
        "systems": names, "signatures": [group.first.report.signature for group in every.groups],
        "baseline": baseline, "rules": asdict(rules),
    }  # fmt: skip
    return Result(
        kind="comparison", title=f"Comparison on {title_of(every)}", tables=(_of_sets if mean else _of_one_set)(of),
        main="values" if mean else "tests",
        settings=settings, systems=tuple(names), notes=tuple(notes), warnings=(*warnings, *weak),
    )  # fmt: skip


def _of_one_set(of: _Tested) -> list[Table]:
    """Of two systems one table: values, difference and p-value. Of more systems their values with marks of
    significance, and against a baseline one table of tests a system.
    """
    rows = [Text(shown, name) for shown, name in zip(_headings(of), of.names, strict=True)]
    title, shown = f"{title_of(of.every)} · {len(of.names)} systems", len(of.names) > 2
    further = [key for key in of.rows if key not in of.chosen]
    note = _values_legend(of, {of.labels[metric] for metric, _ in further})
    keys = [key for key in of.rows if key in of.chosen]

    def values_of(key: Any) -> list[Value]:
        return of.values[key]

    tables = wide(title, "system", rows, keys, values_of, note, brackets=of.intervals, shown=shown)
    # of metrics that are not tested only records
    return [*tables, *wide(title, "system", rows, further, values_of, "", shown=False), *_tests(of)]


def _headings(of: _Tested) -> list[str]:
    """The systems with their letters, or with the word baseline."""
    if of.baseline is None:
        return [f"{n} ({letter})" for n, letter in zip(of.names, _letters(of), strict=True)]
    return [name + " (baseline)" * (at == of.baseline) for at, name in enumerate(of.names)]


def _significant(of: _Tested) -> str:
    """What a mark of significance stands on."""
    rules, tests = of.rules, [one for one in of.found if one.p is not None]
    said = f"p ≤ {rules.alpha:g} ({CORRECTED[rules.correction]}, "
    how = f"{rules.permutations:,} permutations, seed {rules.seed}"
    if not of.every.by_runs:
        return f"{said}{count_of(len(tests), 'two-sided paired permutation test')} over {of.units}, {how})"
    smallest = min((one.smallest for one in tests), default=1.0)
    how = "" if all(one.facts["exact"] for one in tests) else f", {how}"
    counted = count_of(len(tests), "two-sided permutation test")
    return f"{said}{counted} over runs, smallest possible p {smallest:.2g}{how})"


def _values_legend(of: _Tested, further: Collection[str]) -> str:
    if of.baseline is None:
        marks = "Letters name the systems that a value is significantly better than"
    else:
        marks = f"+ and - mark values significantly better and worse than {of.names[of.baseline]}"
    said = f" {interval_words(of.how, of.units)}." if of.intervals and of.how else ""
    said = f" {runs_words(of.every, of.rules.level * of.intervals)}" if of.every.by_runs else said
    said = f"{UNITS} {marks}: {_significant(of)}.{said}" if of.any_test else f"{UNITS}{said}"
    chosen = f"{spell('metrics', 'NAME,...')} or {spell('metrics', 'all')}"
    count = count_of(len(further), "further metric is", "further metrics are")
    return f"{said} {count} neither tested nor in this table: use {chosen}." if further else said


def _tests(of: _Tested) -> Iterator[Table]:
    """One table of tests for every pair of systems; of two systems with their values."""
    rules, runs = of.rules, of.every.by_runs
    both, bold = len(of.names) == 2, f"significant, {_significant(of)}" * of.any_test
    notes: tuple[str, ...] = (_tests_legend(of, both),)
    for first, second in dict.fromkeys((one.first, one.second) for one in of.found):
        tests = [one for one in of.found if (one.first, one.second) == (first, second)]
        names = of.names[first], of.names[second]
        columns = (
            table.Column("metric", words=True),
            table.Column("direction", words=True),
            *(table.Column(name, "") for name in names if both),
            table.Column("difference", ends=True),
            table.Column("p" if rules.correction == "none" else f"p ({rules.correction})", "corrected"),
            *([] if runs else [table.Column("detectable")]),
        )
        rows = tuple(_test(one, of, both) for one in sorted(tests, key=lambda one: one.p is None))
        fields = dict(zip(("first", "second"), names, strict=True))
        title = f"{title_of(of.every)} · " * both + f"{names[1]} against {names[0]}"
        yield Table("tests", title, columns, rows, fields, bold=bold, notes=notes, shown=of.shown)
        notes, bold = (), ""


def _tests_legend(of: _Tested, both: bool) -> str:
    rules, units, said = of.rules, of.units, f"{UNITS} " * both
    how = f"bootstrap interval over {units} ({rules.resamples:,} resamples)"
    if of.every.by_runs:
        said += f"{runs_words(of.every, rules.level * of.intervals)} "
        how = "Welch t interval over runs"
    elif both and of.intervals and of.how:
        said += f"{interval_words(of.how, units)}. "
    ends = f" with {rules.level:g} % {how}" * any(one.interval is not None for one in of.found)
    said += f"Difference: {'second minus first' if of.baseline is None else 'system minus baseline'}{ends}."
    if not of.every.by_runs and of.any_test:
        said += " Detectable: the smallest true difference that a single test finds with 80 % power."
    return said + f" {UNDEFINED}: not tested." * any(one.p is None for one in of.found)


def _test(one: Difference, of: _Tested, both: bool) -> tuple[Entry, ...]:
    metric, values, places = one.key[0], of.values[one.key], (one.first, one.second)
    winner = None if one.winner is None else of.names[one.winner]
    facts = {
        **one.facts, "first_value": values[one.first].value, "second_value": values[one.second].value, "winner": winner
    }  # fmt: skip
    smallest = None if one.p is None or of.every.by_runs else paired.detectable(one.facts["error"], of.rules.alpha)
    shown = [
        replace(values[at], higher_is_better=None, mark="", interval=values[at].interval if of.intervals else None)
        for at in places
    ]
    return (
        Text(of.labels[metric] + arrow(metric.higher_is_better), of.labels[metric]),
        way(one.key[1]),
        *(shown if both else ()),
        Value(one.value, metric.unit, one.interval, signed=True, bold=one.winner is not None, facts=facts),
        Value(one.corrected, "probability", aside="exact" * (one.facts["exact"] and one.p is not None)),
        *([] if of.every.by_runs else [Value(smallest, metric.unit)]),
    )


def _marks(of: _Tested, key: Key) -> list[str]:
    """One a system: the systems that it is significantly better than, or its sign against the baseline."""
    letters = _letters(of)
    beaten: list[list[int]] = [[] for _ in of.names]
    for one in of.found:
        if one.key == key and one.winner is not None:
            beaten[one.winner].append(one.first + one.second - one.winner)
    if of.baseline is None:
        between = "" if len(letters) <= len(_LETTERS) else ","
        return [between.join(letters[i] for i in sorted(lost)) for lost in beaten]
    worse = set(beaten[of.baseline])
    return ["+" if lost and i != of.baseline else "-" if i in worse else "" for i, lost in enumerate(beaten)]


def _letters(of: _Tested) -> list[str]:
    systems = len(of.names)
    return list(_LETTERS[:systems]) if systems <= len(_LETTERS) else [str(i + 1) for i in range(systems)]


# --- over several test sets --------------------------------------------------------------------------------------


def _of_sets(of: _Tested) -> list[Table]:
    """One table a metric and direction: a row a system, a column a test set; the tests are records."""
    tables = [_over_sets(of, key) for key in of.rows]
    tables[-1] = replace(tables[-1], notes=(_sets_legend(of),))
    return [*tables, *_tests(of)]


def _over_sets(of: _Tested, key: Key) -> Table:
    metric, better = key[0], key[0].higher_is_better
    fields = {"metric": of.labels[metric], "direction": key[1]}
    ranked = of.baseline is None and len(of.names) > 1
    columns = (
        table.Column("system", words=True),
        *(table.Column(one, fields={**fields, "set": one}) for one in of.every.sets),
        table.Column("mean", fields={**fields, "set": "mean"}),
        *([table.Column("place", "")] if ranked else []),
    )
    places = [(group, name) for group in of.every.groups for name in group.sets]
    values = dict(zip(places, of.in_rows(key, places), strict=True))
    rows: list[tuple[Entry, ...]] = []
    for at, (group, mean) in enumerate(zip(of.every.groups, of.values[key], strict=True)):
        cells: list[Entry] = [group.name]
        for name in of.every.sets:
            cells.append(replace(values.get((group, name), Value(None, metric.unit)), higher_is_better=better))
        tests = [x for x in of.found if x.key == key and at in (x.first, x.second)]
        place = 1 + sum(x.winner not in (None, at) for x in tests)
        facts = {**mean.facts, "place": place} if ranked else mean.facts
        cells += [replace(mean, mark="" if ranked else mean.mark, facts=facts), *([str(place)] if ranked else [])]
        rows.append(tuple(cells))
    heading = way(key[1]).shown if key[1] else "both directions"
    counted = f"{count_of(len(of.names), 'system')}, {count_of(len(of.every.sets), 'test set')}"
    title = f"{of.labels[metric]}, {heading} · {counted}"
    return Table("values", title, columns, tuple(rows), best="column", brackets=of.intervals)


def _sets_legend(of: _Tested) -> str:
    rules, sets = of.rules, of.every.averaged
    said = f"{UNITS} Mean: the macro mean over {count_of(len(sets), 'test set')} that all systems have. "
    if of.every.by_runs:
        said += f"{runs_words(of.every, rules.level)} "
    elif rules.level:
        fold = of.every.units[0].fold
        together = len(sets) > 1 and fold is not None and bool(fold[-1] + 1 < len(sets))
        shared_by = ", shared ones together" * together
        said += f"In brackets: {rules.level:g} % bootstrap interval of the mean, {of.units} drawn within each set"
        said += f"{shared_by} ({rules.resamples:,} resamples, seed {rules.seed}). "
    if not of.every.by_runs and of.intervals and of.how:
        said += f"Intervals of single sets: {interval_kind(of.how)}. "
    marks = "Place: 1 plus the number of systems that are significantly better,"
    if not of.any_test:
        return said.rstrip()
    if of.baseline is not None:
        marks = f"+ and - mark means significantly better and worse than {of.names[of.baseline]}:"
    return f"{said}{marks} {_significant(of)}."
