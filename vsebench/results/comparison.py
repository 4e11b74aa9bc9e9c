"""A comparison of systems: their values, one test for every pair of systems and metric, and their tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from ..errors import UsageError
from ..options import spell
from ..types import Direction
from .charts import Panel, curves
from .format import ARROWS, UNDEFINED, UNITS, best_of, best_two, bracketed, fixed, printed, probability, signed
from .grid import Cell, Grid, cells
from .model import MetricName, Resampling, plain
from .render import Drawn, record
from .wide import of_paper

SCHEMA = "vsebench/comparison/1"
DIRECTIONS = ("i2t", "t2i", "i2i", "t2t", None)  # the order of columns: those of one direction together, then sums
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
        level: of the intervals of differences, in percent.
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
        Resampling(self.level, self.resamples, self.seed)


@dataclass(frozen=True)
class Row:
    """One metric in one direction over all systems.

    Attributes:
        metric, direction: as in a ``Result``.
        values: one a system, as reported.
        tested: the differences have p-values, but for medians; otherwise they are only described.
        intervals: of the values, one a system, None without one; empty where they are not known.
    """

    metric: MetricName
    direction: Direction | None
    values: tuple[float, ...]
    tested: bool = True
    intervals: tuple[tuple[float, float] | None, ...] = ()

    @property
    def heading(self) -> str:
        """The metric, with an arrow when lower is better."""
        return str(self.metric) + ("" if self.metric.higher_is_better else " ↓")


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
    winner: int | None


@dataclass(frozen=True, repr=False)
class Comparison(Drawn):
    """Systems, their values, and the tests between them.

    Attributes:
        split: name of the test set.
        systems: names.
        signatures: one a system.
        baseline: index of the system that all others are tested against, or None when every pair is tested.
        rows, tests: values and tests.
        rules: how the tests were made.
        warnings: what may be wrong.
        details: the tables of tests are shown also for more than two systems, and LaTeX has more than one table.
        intervals: the values are shown with their intervals.
        named: the metrics were named: the one table in LaTeX has them all.
        notes: what was decided.
    """

    heading: ClassVar = "Comparison on {split}"
    split: str
    systems: tuple[str, ...]
    signatures: tuple[str, ...]
    baseline: int | None
    rows: tuple[Row, ...]
    tests: tuple[Test, ...]
    rules: Rules
    warnings: tuple[str, ...]
    details: bool = False
    intervals: bool = False
    named: bool = False
    notes: tuple[str, ...] = ()

    def grids(self) -> list[Grid]:
        """The values of all systems with marks of significance, and one table of tests for every pair of systems."""
        return [*_values(self), *(_tests(self) if self.details or len(self.systems) == 2 else ())]

    def _for_paper(self) -> list[Grid]:
        """One table, a row a system: the metrics that were named, or the tested ones of the first view; with
        ``details`` also the other tables."""
        labels = _labels(len(self.systems))
        tested = {(row.metric, row.direction): i for i, row in enumerate(self.rows) if row.tested}
        columns = sorted(tested, key=lambda column: DIRECTIONS.index(column[1]))
        one = of_paper(
            self.split, _headings(self, labels), columns, self.named, _note(self),
            lambda column: _cells(self, tested[column], labels),
        )  # fmt: skip
        return [one, *(self.grids() if self.details else ())]

    def panels(self) -> list[Panel]:
        """Curves over k of all systems, with the intervals of their values."""
        unknown = (None,) * len(self.systems)
        return curves({
            (r.metric, r.direction): list(zip(r.values, r.intervals or unknown, strict=True)) for r in self.rows
        })  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        """One a test: metric, direction, the two systems with their values, and the fields of ``Test``."""
        found = []
        for test in self.tests:
            row, facts = self.rows[test.row], record(self._facts(test))
            head = {**plain(row, "metric", "direction"), "first": facts["first"], "second": facts["second"]}
            values = {"first_value": row.values[test.first], "second_value": row.values[test.second]}
            found.append({**head, **values, **facts})
        return found

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/comparison/1``: systems by name, fractions as fractions, no NaN."""
        return {
            "schema": SCHEMA,
            "split": self.split,
            "systems": [{"name": n, "signature": s} for n, s in zip(self.systems, self.signatures, strict=True)],
            "baseline": None if self.baseline is None else self.systems[self.baseline],
            "rules": asdict(self.rules),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "metrics": [
                {
                    **plain(r, "metric", "direction", "tested"),
                    "unit": r.metric.unit,
                    "better": "higher" if r.metric.higher_is_better else "lower",
                    "values": dict(zip(self.systems, r.values, strict=True)),
                    "tests": [self._facts(t) for t in self.tests if t.row == i],
                }
                for i, r in enumerate(self.rows)
            ],
        }

    def _facts(self, test: Test) -> dict[str, Any]:
        """The fields of a test, with systems by name."""
        facts = asdict(test)
        del facts["row"]
        for side in ("first", "second", "winner"):
            facts[side] = None if facts[side] is None else self.systems[facts[side]]
        facts["interval"] = None if test.interval is None else list(test.interval)
        return facts


def _values(comparison: Comparison) -> Iterator[Grid]:
    """The metrics that are tested, with marks, and a table of the others if there are any."""
    labels = _labels(len(comparison.systems))
    rows: dict[bool, list[tuple[Cell, ...]]] = {True: [], False: []}
    for i, row in enumerate(comparison.rows):
        rows[row.tested].append((*cells(row.heading, ARROWS[row.direction]), *_cells(comparison, i, labels)))
    above = f"{comparison.split} · {len(comparison.systems)} systems"
    titles = ("metric", "direction", *_headings(comparison, labels))
    marks = best_of(len(comparison.systems))
    yield Grid(above, titles, 2, tuple(rows[True]), (_note(comparison),), marks=marks)
    if rows[False]:
        note = f"Without tests: {spell('metrics')} names the metrics to test, all tests every one."
        yield Grid(f"{above} · further metrics, not tested", titles, 2, tuple(rows[False]), (note,), marks=marks)


def _headings(comparison: Comparison, labels: Sequence[str]) -> list[str]:
    """The systems with their letters, or with the word baseline."""
    if comparison.baseline is None:
        return [f"{name} ({label})" for name, label in zip(comparison.systems, labels, strict=True)]
    return [n + (" (baseline)" if i == comparison.baseline else "") for i, n in enumerate(comparison.systems)]


def _cells(comparison: Comparison, at: int, labels: list[str]) -> list[Cell]:
    """The values of one metric, one a system, with marks of significance."""
    row = comparison.rows[at]
    first, second = best_two(row.values, row.metric.higher_is_better)
    intervals = row.intervals if comparison.intervals and row.intervals else (None,) * len(row.values)
    return [
        Cell(printed(value, unit := row.metric.unit), mark, bracketed(ends, unit), value == first, value == second)
        for value, mark, ends in zip(row.values, _marks(comparison, at, labels), intervals, strict=True)
    ]


def _note(comparison: Comparison) -> str:
    rules, number = comparison.rules, sum(t.p is not None for t in comparison.tests)
    tested = (
        f"{_CORRECTIONS[rules.correction]} p ≤ {rules.alpha:g} of {number:,} two-sided paired "
        f"permutation tests over images ({rules.permutations:,} permutations, seed {rules.seed})"
    )
    if comparison.baseline is None:
        marks = f"A letter marks a value that is significantly better than that system's: {tested}."
    else:
        name = comparison.systems[comparison.baseline]
        marks = f"+ and - mark values significantly better and worse than those of {name}: {tested}."
    return f"{UNITS} {marks}"


def _tests(comparison: Comparison) -> Iterator[Grid]:
    pairs = dict.fromkeys((t.first, t.second) for t in comparison.tests)
    level = f"{comparison.rules.level:g} %"
    notes: tuple[str, ...] = (
        f"Difference: second minus first, with its {level} bootstrap interval over images "
        f"({comparison.rules.resamples:,} resamples). In parentheses behind p: before "
        "correction. d: mean over standard deviation of the differences of the images, each the sum of its queries. "
        "P: share of queries on which the second is better, ties counted half. Positive d, P above 50 and wins mean "
        f"that the second is better, also where lower is better. For a sum, images are counted instead of queries. "
        f"{UNDEFINED}: not tested.",
    )
    corrected = comparison.rules.correction != "none"
    p = f"p {comparison.rules.correction}" if corrected else "p"
    headings = ("metric", "", "difference", p, "d", "P", "wins:losses")
    bold = "significant differences"
    for first, second in pairs:
        tests = [t for t in comparison.tests if (t.first, t.second) == (first, second)]
        tests.sort(key=lambda t: t.p is None)
        rows = tuple(_test(t, comparison.rows[t.row], corrected) for t in tests)
        above = f"{comparison.systems[second]} against {comparison.systems[first]}"
        yield Grid(above, headings, 2, rows, notes, marks=(bold, ""))
        notes, bold = (), ""


def _test(test: Test, row: Row, corrected: bool) -> tuple[Cell, ...]:
    unit = row.metric.unit
    d = UNDEFINED if test.standardised is None else fixed(test.standardised, 2, form="+").replace("-0.00", "+0.00")
    if test.p is None or test.corrected is None:
        p = Cell(UNDEFINED)
    else:
        raw = probability(test.p) + (" exact" if test.exact else "")
        p = Cell(probability(test.corrected), aside=f"({raw})") if corrected else Cell(raw)
    return (
        *cells(row.heading, row.direction or "sum"),
        Cell(signed(test.difference, unit), aside=bracketed(test.interval, unit), best=test.winner is not None),
        p,
        *cells(d, fixed(test.superiority, 1, times=100)),
        Cell(f"{test.wins:,}:{test.losses:,}", aside=f"({test.ties:,} ties)"),
    )


def _marks(comparison: Comparison, row: int, labels: list[str]) -> list[str]:
    """One a system: the systems that it is significantly better than, or its sign against the baseline."""
    beaten: list[list[int]] = [[] for _ in comparison.systems]
    for t in comparison.tests:
        if t.row == row and t.winner is not None:
            beaten[t.winner].append(t.first + t.second - t.winner)
    if comparison.baseline is None:
        between = "" if len(labels) <= len(_LETTERS) else ","
        return [between.join(labels[i] for i in sorted(lost)) for lost in beaten]
    worse = set(beaten[comparison.baseline])
    return ["+" if lost and i != comparison.baseline else "-" if i in worse else "" for i, lost in enumerate(beaten)]


def _labels(systems: int) -> list[str]:
    return list(_LETTERS[:systems]) if systems <= len(_LETTERS) else [str(i + 1) for i in range(systems)]
