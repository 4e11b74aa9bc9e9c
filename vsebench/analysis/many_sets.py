"""Systems on several test sets: one table, the macro mean with an interval, and who is tied for first.

The mean gives every test set one vote. Its interval resamples queries within each set, and its tests swap the values of
queries of two systems in all sets together, so that both are of the queries of these sets, not of other sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from .. import signature
from ..errors import BadInput, UsageError
from ..evaluation.assemble import Key, interval, is_median, label, population, queries_alone
from ..metrics.suites import headlines, words
from ..options import public, spell
from ..relevance.sources import SOURCES
from ..results.model import UNITS, MetricName
from ..results.render import Rendered
from ..results.table import Column as TableColumn
from ..results.table import Entry, Table, Value, way
from ..stats import bootstrap, paired
from ..stats.columns import Column, Population, contributions, plain_values, prepare
from ..stats.paired import CORRECTIONS
from ..types import Direction, Float, Int
from . import systems as shared
from .comparison import LEAST, Rules, permutations_for
from .systems import Names, OneReport, Reports, System, column_of

MEAN = "mean"
RULES = ("ties", "empty", "short", "candidates", "normalise")  # fields of signatures that may not depend on the set
NAMES = "name every report SYSTEM:SET=FILE, or store it as SYSTEM/SET.json"


@dataclass(frozen=True)
class Row:
    """One system on all test sets, by one metric in one direction.

    Attributes:
        metric, direction: without its judgements, which differ by set.
        system: its name.
        values: one a set, None where it was not measured.
        mean: over the sets that all systems have.
        interval: of the mean.
        place: 1 plus the number of systems whose mean is significantly better.
    """

    metric: MetricName
    direction: Direction | None
    system: str
    values: tuple[float | None, ...]
    mean: float
    interval: tuple[float, float] | None
    place: int

    @property
    def name(self) -> str:
        """Of the metric, with its view unless it is of the captions of images, or of judgements of the user."""
        return _named_as(self.metric)


@dataclass(frozen=True)
class Test:
    """The means of two systems by one metric in one direction; ``winner`` is significantly better."""

    metric: str
    direction: Direction | None
    first: str
    second: str
    difference: float
    p: float
    corrected: float
    winner: str | None


@dataclass(frozen=True, repr=False)
class Means(Rendered):
    """Systems on several test sets with their macro means.

    Attributes:
        systems, sets: names.
        averaged: the sets of the means, which all systems have.
        rows, tests: values, and the tests between means.
        rules: how the tests were made.
        notes, warnings: what was decided, and what may be wrong.
    """

    kind = "means"
    heading: ClassVar = "Systems on several test sets"
    main = "values"
    settings: ClassVar = ("systems", "sets", "averaged", "rules")
    systems: tuple[str, ...]
    sets: tuple[str, ...]
    averaged: tuple[str, ...]
    rows: tuple[Row, ...]
    tests: tuple[Test, ...]
    rules: Rules
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """One table a metric and direction, the best values marked; the tests are records."""
        keys = list(dict.fromkeys((row.name, row.direction) for row in self.rows))
        tables = [self._table([r for r in self.rows if (r.name, r.direction) == key]) for key in keys]
        return [*tables[:-1], replace(tables[-1], notes=(self._note,)), self._tests]

    def _table(self, rows: Sequence[Row]) -> Table:
        first = rows[0]
        unit, better = first.metric.unit, first.metric.higher_is_better
        fields = {"metric": first.name, "direction": first.direction}
        columns = (
            TableColumn("system", words=True),
            *(TableColumn(name, fields={**fields, "set": name}) for name in self.sets),
            TableColumn(MEAN, fields={**fields, "set": MEAN}),
            TableColumn("place", ""),
        )
        cells: tuple[tuple[Entry, ...], ...] = tuple(
            (
                row.system, *(Value(x, unit, None, better) for x in row.values),
                Value(row.mean, unit, row.interval, better, facts={"place": row.place}), str(row.place),
            )
            for row in rows
        )  # fmt: skip
        arrow = way(first.direction).shown if first.direction else "both directions"
        title = f"{first.name}, {arrow} · {len(self.systems)} systems, {len(self.sets)} test sets"
        return Table("values", title, columns, cells, best="column")

    @property
    def _note(self) -> str:
        rules, of = self.rules, f"{len(self.averaged)} test sets that all systems have"
        how = f"In brackets: {rules.level:g} % bootstrap interval, queries drawn within each set " * (rules.level > 0)
        how += f"({rules.resamples:,} resamples, seed {rules.seed}). " * (rules.level > 0)
        tests = f"paired permutation tests of the means ({rules.permutations:,} permutations)"
        place = f"Place: 1 plus the number of systems that are significantly better, p ≤ {rules.alpha:g}"
        return f"{UNITS} Mean: over the {of}, each with one vote. {how}{place} ({rules.correction}), {tests}."

    @property
    def _tests(self) -> Table:
        names = ("metric", "direction", "first", "second", "difference", "p", "corrected", "winner")
        rows: list[tuple[Entry, ...]] = []
        for test in self.tests:
            facts = {name: getattr(test, name) for name in names if name != "difference"}
            rows.append((Value(test.difference, facts=facts),))
        return Table("tests", columns=(TableColumn("difference"),), rows=tuple(rows), shown=False)


@public
def compare_sets(
    reports: Reports,
    *more: OneReport,
    metrics: Names | None = None,
    correction: Literal["holm", "bh", "none"] = "holm",
    alpha: float = 0.05,
    permutations: int | None = None,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Means:
    """Compare systems on several test sets, and by their mean over the sets.

    Args:
        reports, more: saved reports; SYSTEM:SET=FILE, or SYSTEM/SET.json, names a system and a set. In Python as for
            ``compare``, with names ``SYSTEM:SET`` or ``SYSTEM/SET``.
        metrics: names of metrics, whatever their judgements are called, separated by commas; by default the headline
            metrics that all reports have. Sums and medians have no mean here.
        correction: for many tests: ``holm``, ``bh`` (Benjamini-Hochberg) or ``none``.
        alpha: corrected p-values up to it are called significant.
        permutations: random permutations of a test; by default as many as the number of tests and ``alpha`` need.
        ci: level of the intervals in percent; 0 for none.
        resamples: resamples an interval is made of.
        seed: fixes what is drawn at random.
        force: compare even if the evaluation settings differ.
        threads: threads of the kernels; never changes a result.

    Raises:
        UsageError: names that do not say the systems and sets, no set that all have, no common metric.
        BadInput: two systems have different queries of one set.

    Example:
        >>> import numpy as np
        >>> import vsebench as vb
        >>> def evaluate(noise, seed):
        ...     rng = np.random.default_rng(seed)
        ...     x = rng.standard_normal((40, 8))
        ...     return vb.evaluate(x, x + noise * rng.standard_normal(x.shape), captions_per_image=1, metrics="R@1")
        >>> reports = {f"{name}:set{n}": evaluate(z, n) for name, z in {"A": 0.3, "B": 1.5}.items() for n in (1, 2)}
        >>> table = vb.compare_sets(reports, permutations=1000)
        >>> [(row.system, row.direction, row.place) for row in table.rows]
        [('A', 'i2t', 1), ('B', 'i2t', 2), ('A', 't2i', 1), ('B', 't2i', 2)]
    """
    rules = Rules(LEAST if permutations is None else permutations, correction, alpha, float(ci), resamples, seed)
    grid = _grid(shared.load_systems(reports, more, 2))
    systems, sets = (list(dict.fromkeys(key[at] for key in grid)) for at in (0, 1))
    averaged = [name for name in sets if all((system, name) in grid for system in systems)]
    if not averaged:
        raise UsageError("no test set has reports of all systems", fix=f"evaluate all systems on one set; {NAMES}")
    warnings = _unlike(grid)
    for name in sets:
        of_set = [grid[system, name] for system in systems if (system, name) in grid]
        warnings += [f"{name}: {text}" for text in shared.check_comparable(of_set, force)]
    notes = [_shared_queries([grid[systems[0], name] for name in averaged])]
    if left := [name for name in sets if name not in averaged]:
        notes.append(f"not in the means, because a system lacks them: {', '.join(left)}")
    named = _named(list(grid.values()), metrics)
    if permutations is None:
        rules = replace(rules, permutations=permutations_for(math.comb(len(systems), 2) * len(named), rules))
    rows: list[Row] = []
    tests: list[Test] = []
    for metric, direction in named:
        key_of = {at: _key(one, metric, direction) for at, one in grid.items()}
        columns, units = _columns([[(grid[s, name], key_of[s, name]) for name in averaged] for s in systems])
        ready = prepare(columns, units)
        means = plain_values(ready)[: len(systems)]
        ends = bootstrap.intervals(ready, rules.level, rules.resamples, rules.seed, threads)
        of_units = [contributions(one, units) for one in columns]
        tests += _tested(metric, direction, systems, of_units, rules, threads)
        for at, system in enumerate(systems):
            values = [grid[system, s].results[key_of[system, s]].value if (system, s) in grid else None for s in sets]
            rows.append(Row(metric, direction, system, tuple(values), float(means[at]), interval(ends[at]), 1))
    tests = _corrected(tests, named, rules)
    rows = [replace(row, place=1 + _lost(row, tests)) for row in rows]
    if alone := [_named_as(metric) for metric, _ in named if metric.graded]:
        notes.append(queries_alone(alone, "intervals and tests", "queries"))
    return Means(
        tuple(systems), tuple(sets), tuple(averaged), tuple(rows), tuple(tests), rules,
        tuple(filter(None, notes)), tuple(dict.fromkeys(warnings)),
    )  # fmt: skip


def _grid(systems: Sequence[System]) -> dict[tuple[str, str], System]:
    """The reports by system and test set, which their names or their folders say."""
    found: dict[tuple[str, str], System] = {}
    for one in systems:
        system, mark, name = re.match(r"([^:/]*)([:/]?)(.*)", one.name, re.DOTALL).groups()  # type: ignore[union-attr]
        path = Path(one.where)
        if not mark and path.stem == system and path.parent.name:
            system, name = path.parent.name, system
        if not (system and name):
            raise UsageError(f"the name '{one.name}' does not say the test set", where=one.where, fix=NAMES)
        if (system, name) in found:
            raise UsageError(f"{system} has two reports of {name}", where=one.where, fix="give one of them")
        found[system, name] = one
    return found


def _kind(metric: MetricName) -> str:
    """What a metric is of: a kind of gains, or declared judgements; empty for those of the user, of any name."""
    return metric.view if metric.view in SOURCES else ""


def _named_as(metric: MetricName) -> str:
    """A metric without the name of judgements of the user."""
    return str(metric) if _kind(metric) else metric.name


def _alike(system: System, metric: MetricName, direction: Direction | None) -> list[Key]:
    """The results of a report by a metric, whatever judgements of the user are called."""
    wanted = metric.name, _kind(metric), direction
    return [(own, way) for own, way in system.results if (own.name, _kind(own), way) == wanted]


def _named(systems: Sequence[System], metrics: Names | None) -> list[tuple[Any, Direction | None]]:
    """The metrics and directions that all reports have: those of some names, or the headline ones."""
    first, names = list(systems[0].results), None if metrics is None else [w.lower() for w in words(metrics)]
    chosen = headlines(metric for metric, _ in first)
    kinds = {metric.name.lower(): {_kind(m) for m, _ in first if m.name == metric.name} for metric, _ in first}
    found: list[tuple[Any, Direction | None]] = []
    for metric, direction in first:
        bare = metric.name.lower() if len(kinds[metric.name.lower()]) == 1 else ""
        wanted = metric in chosen if names is None else {str(metric).lower(), bare} & {*names}
        every = all(_alike(one, metric, direction) for one in systems)
        if wanted and every and direction is not None and not is_median(metric):
            found.append((metric, direction))
    if not found:
        asked = f" of {', '.join(words(metrics))}" if metrics is not None else ""
        fix = f"evaluate all with the same {spell('metrics')}; sums and medians have no mean here"
        raise UsageError(f"the reports have no metric{asked} in common", fix=fix)
    return found


def _key(system: System, metric: MetricName, direction: Direction | None) -> Key:
    """The one result of a report by a metric, see ``_alike``."""
    found = _alike(system, metric, direction)
    if len(found) > 1:
        views = ", ".join(str(own) for own, _ in found)
        raise UsageError(
            f"{metric.name} was measured of several judgements: {views}", where=system.where, fix="evaluate one"
        )
    return found[0]


def _unlike(grid: Mapping[tuple[str, str], System]) -> list[str]:
    """A warning about rules that differ between test sets."""
    rules = [signature.rules(one.report.signature) for one in grid.values()]
    values = {field: {one.get(field, "none") for one in rules} for field in RULES}
    return [f"{field} differs between the reports: {', '.join(sorted(v))}" for field, v in values.items() if len(v) > 1]


def _columns(systems: Sequence[Sequence[tuple[System, Key]]]) -> tuple[list[Column], Population]:
    """One column a system with its values on all queries of the sets, whose folds are the sets.

    Args:
        systems: the reports of each system, in the order of the sets.

    Raises:
        BadInput: two systems have different queries of one set.
    """
    first = [one for one, _ in systems[0]]
    sizes = [population(one.items).images for one in first]
    starts, columns, images = [0, *np.cumsum(sizes).tolist()], list[Column](), list[list[Int]]()
    for parts in systems:
        own = [column_of(key, one, base.items) for (one, key), base in zip(parts, first, strict=True)]
        images.append([part.image + start for part, start in zip(own, starts, strict=False)])
        for (one, key), mine, theirs in zip(parts, images[-1], images[0], strict=True):
            if not np.array_equal(np.sort(mine), np.sort(theirs)):
                what = f"has other queries of {label(key)} than {systems[0][0][0].name}"
                raise BadInput(what, where=one.where, fix="evaluate the same queries")
        columns.append(Column(np.concatenate([x.values for x in own]), np.concatenate(images[-1]), folded=True))
    return columns, Population(sum(sizes), np.repeat(np.arange(len(sizes)), sizes))


def _tested(
    metric: Any, direction: Direction | None, systems: Sequence[str], of_units: Sequence[Float], rules: Rules,
    threads: int | None,
) -> Iterator[Test]:  # fmt: skip
    """The tests of every pair of systems by one metric; their p-values are not corrected."""
    pairs = list(combinations(range(len(systems)), 2))
    changes = np.stack([of_units[b] - of_units[a] for a, b in pairs], axis=1)
    p, _ = paired.permutation_test(changes, rules.permutations, rules.seed, threads)
    for at, (a, b) in enumerate(pairs):
        difference = float(changes[:, at].sum())
        yield Test(_named_as(metric), direction, systems[a], systems[b], difference, float(p[at]), float(p[at]), None)


def _corrected(tests: Sequence[Test], named: Sequence[tuple[Any, Direction | None]], rules: Rules) -> list[Test]:
    """The tests with corrected p-values and winners."""
    better = {(_named_as(metric), way): metric.higher_is_better for metric, way in named}
    found = []
    for test, p in zip(tests, CORRECTIONS[rules.correction]([t.p for t in tests]).tolist(), strict=True):
        second = (test.difference > 0) == better[test.metric, test.direction]
        winner = (test.second if second else test.first) if p <= rules.alpha and test.difference else None
        found.append(replace(test, corrected=p, winner=winner))
    return found


def _lost(row: Row, tests: Sequence[Test]) -> int:
    """How many systems are significantly better."""
    own = [t for t in tests if (t.metric, t.direction) == (row.name, row.direction)]
    return sum(t.winner not in (None, row.system) and row.system in (t.first, t.second) for t in own)


def _shared_queries(systems: Sequence[System]) -> str:
    """A note on sets that share the ids of queries, as language versions do."""
    ids = [{*map(str, one.items.rows.ids.tolist())} for one in systems if not one.items.rows.numbered]
    common = max((len(a & b) / min(len(a), len(b)) for a, b in combinations(ids, 2)), default=0.0)
    if common < 0.5:
        return ""
    return "test sets share ids of queries, and are resampled as if these were different queries"
