"""Paired tests between systems on every metric that they share.

The smallest p-value of B random permutations is 1 / (1 + B); where they are all counted, it is 2 / 2^n for n images
that differ. Correcting m tests makes the smallest p-value of a table m times as large (Holm), or m / j times as large
if j p-values are that small (Benjamini-Hochberg). If the result is above alpha, no difference can be significant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import combinations, islice
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import UsageError, count_of, unknown
from ..evaluation.assemble import Key, interval, is_median, label, population, queries_alone, some_names
from ..metrics.suites import headlines
from ..options import public, spell
from ..results import table
from ..results.model import UNDEFINED, UNITS, MetricName, Resampling, interval_words, units_of
from ..results.render import Rendered
from ..results.table import Entry, Table, Value, in_order, named, of_paper, way
from ..stats import bootstrap, paired
from ..stats.columns import Column, Population, Sum, influence, plain_values, prepare
from ..stats.paired import CORRECTIONS
from ..types import Bool, Direction, Float
from . import systems as shared
from .systems import Names, OneReport, Reports, System, parts_of

LEAST = 10_000  # permutations of a table with few tests
MOST = 100_000  # bounds the time of a table with many
_BELOW = 4  # the smallest corrected p-value is at most this part of alpha, as far as MOST allows
_TOGETHER = 128  # tests that share one pass of resamples and permutations; bounds the memory
ONE_RUN = "the tests account for the choice of test {}, not for training: another seed gives another model"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CORRECTIONS = {
    "holm": "Holm-corrected", "bh": "Benjamini-Hochberg-corrected", "none": "uncorrected",
}  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """How systems are tested.

    Attributes:
        permutations: random permutations of a test; with at most so many possible ones, all are counted instead.
        correction: ``holm``, ``bh`` or ``none``, over all tests of the comparison.
        alpha: corrected p-values up to it are called significant.
        level: of the intervals of differences, in percent; 0 for none.
        resamples: of these intervals.
        seed: of the permutations and resamples.

    Raises:
        UsageError: a value out of range.
    """

    permutations: int = 10_000
    correction: Literal["holm", "bh", "none"] = "holm"
    alpha: float = 0.05
    level: float = 95.0
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.correction not in _CORRECTIONS:
            raise UsageError(f"the correction is '{self.correction}'", fix="use holm, bh or none")
        if not 0 < self.alpha < 1:
            meant = f"did you mean {self.alpha / 100:g}?" if 1 <= self.alpha < 100 else "use a probability such as 0.05"
            raise UsageError(f"alpha is {self.alpha}", fix=meant)
        if not 10 <= self.permutations <= 10_000_000:
            raise UsageError(f"{self.permutations} permutations", fix="use 10 to 10000000")
        Resampling(self.level or 95, self.resamples, self.seed)


@dataclass(frozen=True)
class Row:
    """One metric in one direction over all systems.

    Attributes:
        metric, direction: as in a ``Measurement``.
        values: one a system, as reported.
        tested: the differences have p-values, but for medians; otherwise they are only described.
        intervals: of the values, one a system, None without one; empty where they are not known.
    """

    metric: MetricName
    direction: Direction | None
    values: tuple[float, ...]
    tested: bool = True
    intervals: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True)
class Test:
    """``second`` against ``first`` on one metric.

    Attributes:
        row: index of the metric.
        first, second: indices of the systems.
        n: queries that both have; images for a sum over both directions.
        differing: images on which the systems have different values.
        difference: value of the second minus value of the first, on these queries.
        interval: of the difference, or None.
        p: two-sided, of the permutation test; None when the metric is not tested.
        exact: all possible permutations were counted.
        corrected: p after correction, or None.
        standardised, superiority, wins, ties, losses: the effect, oriented so that more means the second is better.
        error: standard error of the difference.
        winner: index of the significantly better system, or None.
    """

    row: int
    first: int
    second: int
    n: int
    differing: int
    difference: float
    interval: tuple[float, float] | None
    p: float | None
    exact: bool
    corrected: float | None
    standardised: float | None
    superiority: float
    wins: int
    ties: int
    losses: int
    error: float
    winner: int | None


@dataclass(frozen=True, repr=False)
class Comparison(Rendered):
    """Systems, their values, and the tests between them.

    Attributes:
        split: name of the test set.
        systems: names.
        signatures: one a system.
        baseline: the system that all others are tested against, or None when every pair is tested.
        rows, tests: values and tests.
        rules: how the tests were made.
        warnings: what may be wrong.
        tests_shown: people see the tables of tests; else they are records, and the marks of the values.
        intervals: the values are shown with their intervals.
        named: the metrics were named: the one table in LaTeX has them all.
        notes: what was decided.
        how: the resampling of the intervals of the values, None without them.
    """

    kind = "comparison"
    heading: ClassVar = "Comparison on {split}"
    main = "tests"
    settings: ClassVar = ("split", "systems", "signatures", "baseline", "rules")
    split: str
    systems: tuple[str, ...]
    signatures: tuple[str, ...]
    baseline: str | None
    rows: tuple[Row, ...]
    tests: tuple[Test, ...]
    rules: Rules
    warnings: tuple[str, ...]
    tests_shown: bool = False
    intervals: bool = False
    named: bool = False
    notes: tuple[str, ...] = ()
    how: Resampling | None = None

    @property
    def tables(self) -> list[Table]:
        """Of two systems one table: values, difference and p-value. Of more systems their values with marks of
        significance, and against a baseline one table of tests a system.
        """
        return [*_values(self), *_tests(self)]

    def _for_paper(self) -> list[Table]:
        """One table, a row a system: the metrics that were named, or the tested ones of the first view."""
        tested = {(row.metric, row.direction): i for i, row in enumerate(self.rows) if row.tested}
        columns = in_order(tested)
        values = [self._row(at) for at in range(len(self.rows))]
        one = of_paper(
            self.split,
            _headings(self),
            columns,
            self.named,
            _note(self),
            lambda column: values[tested[column]],
            self.intervals,
        )
        return [one]

    def _row(self, at: int) -> list[Value]:
        """The values of one metric, one a system, with marks of significance."""
        row = self.rows[at]
        intervals = row.intervals or (None,) * len(row.values)
        return [
            Value(value, row.metric.unit, ends, row.metric.higher_is_better, mark=mark)
            for value, mark, ends in zip(row.values, _marks(self, at), intervals, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Case:
    """The data of one test: the paired columns of a metric, or of all parts of a sum."""

    row: int
    first: int
    second: int
    pairs: tuple[tuple[Column, Column], ...]
    changes: Float  # (image,) of the queries of an image
    influence: Float | None  # (image,) of an image as a candidate
    weight: float = 1.0  # of each pair


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
    threads: int | None = None,
) -> Comparison:
    """Test systems against each other with paired permutation tests over images, on every metric they share.

    Args:
        reports, more: saved reports with per-query values; NAME=FILE names a system. In Python also ``Report``
            objects, one by one or as a list, or a mapping from names to them.
        metrics: names and suites to test, separated by commas, or ``all``; by default the headline metrics that the
            reports share (``docs/metrics.md`` lists them), and the others are described without p-values. A list of
            names works too.
        baseline: name of the system that all others are tested against; by default every pair is tested.
        correction: for many tests: ``holm``, ``bh`` (Benjamini-Hochberg) or ``none``.
        alpha: corrected p-values up to it are called significant.
        permutations: random permutations of a test; by default as many as the number of tests and ``alpha`` need,
            from 10,000 to 100,000.
        ci: level of the intervals in percent; 0 for none.
        resamples: resamples an interval is made of.
        seed: fixes what is drawn at random.
        intervals: show the interval of every value.
        force: compare even if the evaluation settings differ, on the queries that the systems share.
        threads: threads of the kernels; never changes a result.

    Raises:
        UsageError: fewer than two systems, an unknown metric or baseline, signatures that differ, a value out of range.
        BadInput: a report lacks values that are needed.

    Example:
        >>> import numpy as np
        >>> import vsebench
        >>> from vsebench.analysis.comparison import compare
        >>> rng = np.random.default_rng(0)
        >>> images = rng.standard_normal((50, 8))
        >>> captions = np.repeat(images, 5, axis=0)
        >>> def evaluate(noise):
        ...     noisy = captions + noise * rng.standard_normal(captions.shape)
        ...     return vsebench.evaluate(images, noisy, captions_per_image=5, metrics="R@1")
        >>> comparison = compare({"good": evaluate(0.5), "bad": evaluate(2.0)}, permutations=1000)
        >>> comparison.to_frame()[["metric", "direction", "winner"]].values.tolist()
        [['R@1', 'i2t', 'good'], ['R@1', 't2i', 'good']]
        >>> print(comparison.to_markdown().splitlines()[4].split(" | ")[:2])
        ['| R@1', 'image→text']
    """
    given = LEAST if permutations is None else permutations
    rules = Rules(given, correction, alpha, float(ci), resamples, seed)
    systems = shared.load_systems(reports, more, 2)
    names = [s.name for s in systems]
    if baseline is not None and baseline not in names:
        raise unknown("system", baseline, names)
    keys, _, warnings = shared.alike(systems, metrics, force)
    against = None if baseline is None else names.index(baseline)
    every = combinations(range(len(systems)), 2)
    pairs = list(every) if against is None else [(against, i) for i in range(len(systems)) if i != against]
    chosen = [m for m, _ in keys] if metrics is not None else headlines(m for m, _ in keys)
    medians = [str(m) for m in chosen if is_median(m)]
    rows = [
        Row(
            *key, tuple(s.results[key].value for s in systems), key[0] in chosen,
            tuple(s.results[key].interval for s in systems),
        )
        for key in keys
    ]  # fmt: skip
    if permutations is None:
        rules = replace(
            rules,
            permutations=permutations_for(len(pairs) * sum(m in chosen and not is_median(m) for m, _ in keys), rules),
        )
    images = population(systems[0].items)
    tests: list[Test] = []
    alone: list[str] = []  # tested metrics without the influence of candidates
    cases = _cases(keys, pairs, systems, images)
    while batch := list(islice(cases, _TOGETHER)):
        tests += _tested(batch, rows, images, rules, threads)
        tested = [c for c in batch if rows[c.row].tested and keys[c.row][0].graded]
        alone += [str(keys[c.row][0]) for c in tested if c.influence is None]
    weak = unreachable([t for t in tests if t.p is not None], rules)
    units = units_of(rows)
    notes = [ONE_RUN.format(units)] * any(t.p is not None for t in tests)
    notes += [*shared.by_number(systems), *([queries_alone(alone, "tests", units)] * bool(alone))]
    notes += [f"no test of {some_names(medians)}: medians are not resampled"] * bool(medians)
    split, signatures = systems[0].report.split, tuple(s.report.signature for s in systems)
    warned = (*warnings, *weak, *_few_queries(tests, keys, systems))
    return Comparison(
        split, tuple(names), signatures, baseline, tuple(rows), tuple(_corrected(tests, rows, rules)), rules, warned,
        len(pairs) < len(systems), intervals, named=shared.chosen(metrics), notes=tuple(notes),
        how=systems[0].report.intervals,
    )  # fmt: skip


def _cases(
    keys: Sequence[Key], pairs: Sequence[tuple[int, int]], systems: Sequence[System], images: Population
) -> Iterator[_Case]:
    for row, key in enumerate(keys):
        for a, b in pairs:
            # images are numbered as in the first report, whichever pair is compared
            parts = parts_of(key, systems[a])
            columns = tuple(shared.paired_columns(part, systems[a], systems[b], systems[0].items) for part in parts)
            weight, every = key[0].weight, [side for pair in columns for side in pair]
            changes = weight * np.sum([paired.contributions(*pair, images) for pair in columns], axis=0)
            yield _Case(row, a, b, columns, changes, influence(every, [-weight, weight] * len(columns), images), weight)


def _tested(
    cases: Sequence[_Case], rows: Sequence[Row], images: Population, rules: Rules, threads: int | None
) -> list[Test]:
    """The tests of some cases, their p-values still uncorrected."""
    columns: list[Column] = []
    differences: list[Sum] = []
    for case in cases:
        start, weight = len(columns), case.weight
        columns += [side for pair in case.pairs for side in pair]
        differences.append({i: weight if (i - start) % 2 else -weight for i in range(start, len(columns))})
    ready = prepare(columns, images, differences)
    values = plain_values(ready)[ready.size :]
    ends = bootstrap.intervals(ready, rules.level, rules.resamples, rules.seed, threads)[ready.size :]
    p, exact = np.full(len(cases), np.nan), np.zeros(len(cases), bool)
    if tested := [i for i, case in enumerate(cases) if rows[case.row].tested and not case.pairs[0][0].median]:
        p[tested], exact[tested] = _permuted([cases[i] for i in tested], rules, threads)
    tests = []
    for i, case in enumerate(cases):
        first, second = case.pairs[0]
        row = rows[case.row]
        differing = int((case.changes != 0).sum())
        if first.median:
            differing = len(np.unique(first.image[first.values != second.values]))
        if row.direction is None:
            size = paired.effect_of_images(case.changes)
        else:
            size = paired.effect(first, second, case.changes, row.metric.higher_is_better)
        if case.influence is not None:  # as the p-value, never smaller than without it
            size = replace(size, error=max(size.error, paired.effect_of_images(case.changes + case.influence).error))
        n, difference = size.wins + size.ties + size.losses, float(values[i])
        found = float(p[i]) if i in tested else None
        facts: tuple[Any, ...] = (n, differing, difference, interval(ends[i]), found, bool(exact[i]), found)
        facts = (*facts, *astuple(size), None)
        tests.append(Test(case.row, case.first, case.second, *facts))
    return tests


def _permuted(cases: Sequence[_Case], rules: Rules, threads: int | None) -> tuple[Float, Bool]:
    """(case,) p-values, and whether they count every permutation.

    With the influence of the images as candidates every image differs, even where the values of few do: the p-value is
    never smaller than without it.
    """
    changes = np.stack([case.changes for case in cases], axis=1)
    p, exact = paired.permutation_test(changes, rules.permutations, rules.seed, threads)
    both = {i: case.changes + case.influence for i, case in enumerate(cases) if case.influence is not None}
    if both:
        some, swapped = list(both), np.stack(list(both.values()), axis=1)
        p[some] = np.maximum(p[some], paired.permutation_test(swapped, rules.permutations, rules.seed, threads)[0])
    return p, exact


def _corrected(tests: Sequence[Test], rows: Sequence[Row], rules: Rules) -> Iterator[Test]:
    corrected = iter(CORRECTIONS[rules.correction]([t.p for t in tests if t.p is not None]).tolist())
    for test in tests:
        if test.p is None:
            yield test
            continue
        p, winner = next(corrected), None
        if p <= rules.alpha and test.difference != 0:
            winner = test.second if (test.difference > 0) == rows[test.row].metric.higher_is_better else test.first
        yield replace(test, corrected=p, winner=winner)


def _few_queries(tests: Sequence[Test], keys: Sequence[Key], systems: Sequence[System]) -> list[str]:
    """One line a metric whose test rests on fewer queries than a system has."""
    out = {}
    for t in tests:
        key = keys[t.row]
        most = max(systems[i].results[key].n for i in (t.first, t.second))
        if key[1] is not None and t.n < most:
            out[key] = f"{label(key)} is compared on the {t.n:,} queries that both systems have, of {most:,}"
    return list(out.values())


def permutations_for(tests: int, rules: Rules) -> int:
    """How many permutations let one test of ``tests`` become significant on its own."""
    return min(MOST, max(LEAST, math.ceil(_BELOW * _needed(tests, rules) / LEAST) * LEAST))


def unreachable(tests: Sequence[Test], rules: Rules) -> list[str]:
    """A warning if no test, or none on its own, can become significant whatever the values are.

    Args:
        tests: those with a p-value.
        rules: how they were made.
    """
    differing = [t.differing for t in tests]
    if not any(differing):  # equal systems
        return []
    bounds = np.array([paired.smallest_p(n, rules.permutations) for n in differing])
    m, bound = len(bounds), float(bounds.min())
    alone = bound if rules.correction == "none" else min(1.0, m * bound)
    if alone <= rules.alpha:
        return []
    if bound > 1 / (1 + rules.permutations):  # every permutation is counted
        images = count_of(max(differing), "image")
        why = f"the systems differ on at most {images}, so no p-value is below {bound:.3g}"
        fix = "more images"
    else:
        why = f"the smallest p-value of {rules.permutations:,} permutations is {bound:.3g}"
        fix = f"{spell('permutations', _needed(m, rules))} or more"
    if m > 1 and rules.correction != "none":
        why += f", {alone:.3g} after the correction of {m:,} tests"
        fix += f" or fewer {spell('metrics')}"
    if CORRECTIONS[rules.correction](bounds).min() > rules.alpha:
        return [f"no difference can be significant: {why}; use {fix}"]
    smallest = m * np.sort(bounds) / np.arange(1, m + 1) <= rules.alpha
    together = int(np.argmax(smallest)) + 1
    return [f"fewer than {together:,} differences cannot be significant: {why}; use {fix}"]


def _needed(tests: int, rules: Rules) -> int:
    """The fewest random permutations whose smallest p-value is not above alpha after the correction."""
    return math.ceil((1 if rules.correction == "none" else tests) / rules.alpha)


def _values(comparison: Comparison) -> Iterator[Table]:
    """The metrics that are tested, with marks, and a table of the others if there are any."""
    rows: dict[bool, list[tuple[Entry, ...]]] = {True: [], False: []}
    for i, row in enumerate(comparison.rows):
        rows[row.tested].append((named(row.metric), way(row.direction), *comparison._row(i)))
    above = f"{comparison.split} · {len(comparison.systems)} systems"
    systems = zip(_headings(comparison), comparison.systems, strict=True)
    columns = (
        table.Column("metric", words=True),
        table.Column("direction", words=True),
        *(table.Column(text, fields={"system": name}) for text, name in systems),
    )
    note = f"Without tests: {spell('metrics')} names the metrics to test, all tests every one."
    found = [
        Table("values", above, columns, tuple(rows[True]), notes=(_note(comparison),)),
        Table("values", f"{above} · further metrics, not tested", columns, tuple(rows[False]), notes=(note,)),
    ]
    for one in found[: 2 if rows[False] else 1]:
        yield replace(one, best="row", brackets=comparison.intervals, shown=len(comparison.systems) > 2)


def _headings(comparison: Comparison) -> list[str]:
    """The systems with their letters, or with the word baseline."""
    if comparison.baseline is None:
        return [f"{n} ({letter})" for n, letter in zip(comparison.systems, _labels(comparison), strict=True)]
    return [name + " (baseline)" * (name == comparison.baseline) for name in comparison.systems]


def _significant(comparison: Comparison) -> str:
    """What a mark of significance stands on."""
    rules, number = comparison.rules, sum(t.p is not None for t in comparison.tests)
    tests = count_of(number, "two-sided paired permutation test")
    how = f"{rules.permutations:,} permutations, seed {rules.seed}"
    return f"{_CORRECTIONS[rules.correction]} p ≤ {rules.alpha:g} of {tests} over {units_of(comparison.rows)}; {how}"


def _note(comparison: Comparison) -> str:
    if comparison.baseline is None:
        marks = "A letter marks a value that is significantly better than that system's"
    else:
        marks = f"+ and - mark values significantly better and worse than those of {comparison.baseline}"
    units = units_of(comparison.rows)
    how = f" {interval_words(comparison.how, units)}." if comparison.intervals and comparison.how else ""
    return f"{UNITS} {marks}: {_significant(comparison)}.{how}"


def _tests(comparison: Comparison) -> Iterator[Table]:
    """One table of tests for every pair of systems; of two systems with their values."""
    pairs, rules = dict.fromkeys((t.first, t.second) for t in comparison.tests), comparison.rules
    both, bold = len(comparison.systems) == 2, f"significant differences ({_significant(comparison)})"
    units, said = units_of(comparison.rows), f"{UNITS} " * both
    how = f", with its {rules.level:g} % bootstrap interval over {units} ({rules.resamples:,} resamples)"
    said += f"Difference: second minus first{how * (rules.level > 0)}. Detectable: the smallest difference that one "
    said += "such test finds with a probability of 80 %."
    notes: tuple[str, ...] = (said + f" {UNDEFINED}: not tested." * any(t.p is None for t in comparison.tests),)
    for first, second in pairs:
        tests = [t for t in comparison.tests if (t.first, t.second) == (first, second)]
        names = comparison.systems[first], comparison.systems[second]
        columns = (
            table.Column("metric", words=True),
            table.Column("direction", words=True),
            *(table.Column(name, "") for name in names if both),
            table.Column("difference", ends=True),
            table.Column("p" if rules.correction == "none" else f"p ({rules.correction})", "corrected"),
            table.Column("detectable"),
        )
        rows = tuple(_test(t, comparison, both) for t in sorted(tests, key=lambda t: t.p is None))
        fields = dict(zip(("first", "second"), names, strict=True))
        title = f"{comparison.split} · " * both + f"{names[1]} against {names[0]}"
        yield Table("tests", title, columns, rows, fields, bold=bold, notes=notes, shown=comparison.tests_shown)
        notes, bold = (), ""


def _test(test: Test, comparison: Comparison, both: bool) -> tuple[Entry, ...]:
    row, rules = comparison.rows[test.row], comparison.rules
    winner = None if test.winner is None else comparison.systems[test.winner]
    values = {"first_value": row.values[test.first], "second_value": row.values[test.second], "winner": winner}
    names = ("n", "differing", "exact", "wins", "ties", "losses", "p", "standardised", "superiority", "error")
    facts = {**{name: getattr(test, name) for name in names}, **values}
    smallest = None if test.p is None else paired.detectable(test.error, rules.alpha)
    intervals = row.intervals or (None,) * len(row.values)
    return (
        named(row.metric),
        way(row.direction),
        *(
            Value(row.values[at], row.metric.unit, intervals[at] if comparison.intervals else None)
            for at in (0, 1)
            if both
        ),
        Value(test.difference, row.metric.unit, test.interval, signed=True, bold=test.winner is not None, facts=facts),
        Value(test.corrected, "probability", aside="exact" * test.exact),
        Value(smallest, row.metric.unit),
    )


def _marks(comparison: Comparison, row: int) -> list[str]:
    """One a system: the systems that it is significantly better than, or its sign against the baseline."""
    labels = _labels(comparison)
    beaten: list[list[int]] = [[] for _ in comparison.systems]
    for t in comparison.tests:
        if t.row == row and t.winner is not None:
            beaten[t.winner].append(t.first + t.second - t.winner)
    if comparison.baseline is None:
        between = "" if len(labels) <= len(_LETTERS) else ","
        return [between.join(labels[i] for i in sorted(lost)) for lost in beaten]
    against = comparison.systems.index(comparison.baseline)
    worse = set(beaten[against])
    return ["+" if lost and i != against else "-" if i in worse else "" for i, lost in enumerate(beaten)]


def _labels(comparison: Comparison) -> list[str]:
    systems = len(comparison.systems)
    return list(_LETTERS[:systems]) if systems <= len(_LETTERS) else [str(i + 1) for i in range(systems)]
