"""What a comparison of systems is: values, one test for every pair of systems and metric, and how they were made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import UsageError
from ..types import Direction
from .model import MetricName

SCHEMA = "vsebench/comparison/1"


@dataclass(frozen=True)
class Rules:
    """How systems are tested.

    Attributes:
        permutations: random swaps of a test; also the most that are looked at one by one.
        correction: ``holm``, ``bh`` or ``none``, over all tests of the comparison.
        alpha: corrected p-values up to it are called significant.
        level: of the intervals of differences, in percent.
        resamples: of these intervals.
        seed: fixes swaps and resamples.
    """

    permutations: int = 10_000
    correction: Literal["holm", "bh", "none"] = "holm"
    alpha: float = 0.05
    level: float = 95.0
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.correction not in ("holm", "bh", "none"):
            raise UsageError(f"the correction is '{self.correction}'", fix="use holm, bh or none")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha is {self.alpha}", fix="use a probability such as 0.05")


@dataclass(frozen=True)
class Row:
    """One metric in one direction over all systems.

    Attributes:
        metric, direction: as in a ``Result``.
        values: one a system, as reported.
    """

    metric: MetricName
    direction: Direction | None
    values: tuple[float, ...]

    def best(self) -> float:
        """The best of the values."""
        return max(self.values) if self.metric.higher_is_better else min(self.values)


@dataclass(frozen=True)
class Test:
    """``second`` against ``first`` on one metric.

    Attributes:
        row: index of the metric.
        first, second: indices of the systems.
        n: queries that both have; images for a sum over both directions.
        difference: value of the second minus value of the first, on these queries.
        interval: of the difference, or None.
        p: two-sided, of the swap test.
        exact: every swap was looked at.
        corrected: p after correction.
        standardised, superiority, wins, ties, losses: the effect, oriented so that more means the second is better.
        winner: index of the significantly better system, or None.
    """

    row: int
    first: int
    second: int
    n: int
    difference: float
    interval: tuple[float, float] | None
    p: float
    exact: bool
    corrected: float
    standardised: float | None
    superiority: float
    wins: int
    ties: int
    losses: int
    winner: int | None


@dataclass(frozen=True)
class Comparison:
    """Systems, their values, and the tests between them.

    Attributes:
        split: name of the test set.
        systems: names.
        signatures: one a system.
        baseline: index of the system that all others are tested against, or None when every pair is.
        rows, tests: values and tests.
        rules: how the tests were made.
        warnings: what the reader should know.
    """

    split: str
    systems: tuple[str, ...]
    signatures: tuple[str, ...]
    baseline: int | None
    rows: tuple[Row, ...]
    tests: tuple[Test, ...]
    rules: Rules
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of schema ``vsebench/comparison/1``: systems by name, fractions as fractions, no NaN."""
        return {
            "schema": SCHEMA,
            "split": self.split,
            "systems": [{"name": n, "signature": s} for n, s in zip(self.systems, self.signatures, strict=True)],
            "baseline": None if self.baseline is None else self.systems[self.baseline],
            "rules": asdict(self.rules),
            "warnings": list(self.warnings),
            "metrics": [
                {
                    "metric": str(r.metric),
                    "direction": r.direction,
                    "unit": r.metric.unit,
                    "better": "higher" if r.metric.higher_is_better else "lower",
                    "values": dict(zip(self.systems, r.values, strict=True)),
                    "tests": [self._test(t) for t in self.tests if t.row == i],
                }
                for i, r in enumerate(self.rows)
            ],
        }

    def _test(self, test: Test) -> dict[str, Any]:
        facts = asdict(test)
        del facts["row"]
        for side in ("first", "second", "winner"):
            facts[side] = None if facts[side] is None else self.systems[facts[side]]
        facts["interval"] = None if test.interval is None else list(test.interval)
        return facts
