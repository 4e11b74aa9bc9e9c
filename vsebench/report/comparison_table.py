"""Comparison -> Grids: the values of all systems with significance marks, and the tests in detail."""

from __future__ import annotations

from collections.abc import Iterator

from .comparison import Comparison, Row, Test
from .grid import ARROWS, Cell, Grid, cells, probability
from .table import bracketed, printed

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CORRECTIONS = {
    "holm": "Holm-corrected", "bh": "Benjamini-Hochberg-corrected", "none": "uncorrected",
}  # fmt: skip


def grids(comparison: Comparison, details: bool) -> list[Grid]:
    """The table of values, and with ``details`` one table of tests for every pair of systems."""
    return [_values(comparison), *(_tests(comparison) if details else ())]


def _values(comparison: Comparison) -> Grid:
    labels = _labels(len(comparison.systems))
    if comparison.baseline is None:
        headings = [f"{name} ({label})" for name, label in zip(comparison.systems, labels, strict=True)]
    else:
        headings = [n + (" (baseline)" if i == comparison.baseline else "") for i, n in enumerate(comparison.systems)]
    rows = []
    for i, row in enumerate(comparison.rows):
        marks = _marks(comparison, i, labels)
        values = [
            Cell(printed(value, row.metric.unit), mark, best=value == row.best())
            for value, mark in zip(row.values, marks, strict=True)
        ]
        rows.append((*cells(_name(row), ARROWS[row.direction]), *values))
    return Grid(
        f"{comparison.split} · {len(comparison.systems)} systems",
        ("metric", "direction", *headings),
        2,
        tuple(rows),
        _notes(comparison),
    )


def _notes(comparison: Comparison) -> tuple[str, ...]:
    rules = comparison.rules
    tested = (
        f"{_CORRECTIONS[rules.correction]} p ≤ {rules.alpha:g} of {len(comparison.tests):,} two-sided paired "
        f"permutation tests over images ({rules.permutations:,} permutations, seed {rules.seed})"
    )
    if comparison.baseline is None:
        marks = f"A letter marks a value that is significantly better than that system's: {tested}."
    else:
        name = comparison.systems[comparison.baseline]
        marks = f"+ and - mark values significantly better and worse than those of {name}: {tested}."
    return (f"Fractions are printed times 100, ranks as ranks (↓ lower is better). Best in bold. {marks}",)


def _tests(comparison: Comparison) -> Iterator[Grid]:
    pairs = dict.fromkeys((t.first, t.second) for t in comparison.tests)
    level = f"{comparison.rules.level:g} %"
    notes: tuple[str, ...] = (
        f"Difference: second minus first, with its {level} bootstrap interval over images "
        f"({comparison.rules.resamples:,} resamples); in bold when it is significant. In parentheses behind p: before "
        "correction. d: mean over standard deviation of the images' differences. P: share of queries on which the "
        "second is better, ties counted half. Positive d, P above 50 and wins speak for the second, also where lower "
        "is better. For a sum, images are counted instead of queries.",
    )
    corrected = comparison.rules.correction != "none"
    p = f"p {comparison.rules.correction}" if corrected else "p"
    headings = ("metric", "", "difference", p, "d", "P", "wins:losses")
    for first, second in pairs:
        tests = [t for t in comparison.tests if (t.first, t.second) == (first, second)]
        rows = tuple(_test(t, comparison.rows[t.row], corrected) for t in tests)
        title = f"{comparison.systems[second]} against {comparison.systems[first]}"
        yield Grid(title, headings, 2, rows, notes)
        notes = ()


def _test(test: Test, row: Row, corrected: bool) -> tuple[Cell, ...]:
    ends = "" if test.interval is None else bracketed(test.interval, row.metric.unit)
    d = "—" if test.standardised is None else f"{test.standardised:+.2f}".replace("-0.00", "+0.00")
    raw = probability(test.p) + (" exact" if test.exact else "")
    return (
        *cells(_name(row), row.direction or "sum"),
        Cell(signed(test.difference, row.metric.unit), aside=ends, best=test.winner is not None),
        Cell(probability(test.corrected), aside=f"({raw})") if corrected else Cell(raw),
        *cells(d, f"{100 * test.superiority:.1f}"),
        Cell(f"{test.wins:,}:{test.losses:,}", aside=f"({test.ties:,} ties)"),
    )


def signed(value: float, unit: str) -> str:
    """A difference as printed, with its sign; none when it is printed as zero."""
    text = printed(value, unit)
    if not any(c in "123456789" for c in text):
        return text.lstrip("-")
    return text if value < 0 else f"+{text}"


def _marks(comparison: Comparison, row: int, labels: list[str]) -> list[str]:
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


def _name(row: Row) -> str:
    return str(row.metric) + ("" if row.metric.higher_is_better else " ↓")
