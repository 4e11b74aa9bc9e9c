"""Tests between systems: paired over images, or over training runs if a system has several.

The smallest p-value of B random permutations is 1 / (1 + B); if all are counted, it is 2 / 2^n for n images that
differ. Correcting m tests makes the smallest p-value of a table m times as large (Holm), or m / j times as large
if j p-values are that small (Benjamini-Hochberg). If the result is above alpha, no difference can be significant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from ..errors import UsageError, count_of
from ..evaluation.assemble import Key, interval, population
from ..options import spell
from ..results.model import Resampling
from ..stats import bootstrap, paired
from ..stats.columns import Column, Sum, influence, plain_values, prepare
from ..stats.paired import CORRECTIONS
from ..types import ONE_WAY, Bool, Float, Int
from .sets_and_runs import Arranged
from .systems import paired_columns, parts_of

MIN_PERMUTATIONS = 10_000  # permutations of a table with few tests
MAX_PERMUTATIONS = 100_000  # bounds the time of a table with many
_BELOW = 4  # the smallest corrected p-value is at most this part of alpha, as far as MAX_PERMUTATIONS allows
_TESTS_PER_PASS = 128  # tests that share one pass of resamples and permutations; bounds the memory
CORRECTED = {"holm": "Holm-corrected", "bh": "Benjamini-Hochberg-corrected", "none": "uncorrected"}


@dataclass(frozen=True)
class Rules:
    """How systems are tested.

    Attributes:
        permutations: random permutations of a test; with at most so many possible ones, all are counted instead. 0
            stands for as many as ``permutations_for`` says.
        correction: ``holm``, ``bh`` or ``none``, over all tests of the comparison.
        alpha: corrected p-values up to it are called significant.
        level: of the intervals of differences, in percent; 0 for none.
        resamples: of these intervals.
        seed: of the permutations and resamples.

    Raises:
        UsageError: a value out of range.
    """

    permutations: int = 0
    correction: Literal["holm", "bh", "none"] = "holm"
    alpha: float = 0.05
    level: float = 95.0
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.correction not in CORRECTED:
            raise UsageError(f"the correction is '{self.correction}'", fix="use holm, bh or none")
        if not 0 < self.alpha < 1:
            meant = f"did you mean {self.alpha / 100:g}?" if 1 <= self.alpha < 100 else "use a probability such as 0.05"
            raise UsageError(f"alpha is {self.alpha}", fix=meant)
        if self.permutations and not 10 <= self.permutations <= 10_000_000:
            raise UsageError(f"{self.permutations} permutations", fix="use 10 to 10000000")
        Resampling(self.level or 95, self.resamples, self.seed)

    @property
    def intervals(self) -> Resampling | None:
        """How intervals are made, None for no intervals."""
        return Resampling(self.level, self.resamples, self.seed) if self.level else None


@dataclass(frozen=True, eq=False)
class Difference:
    """The second of two systems minus the first, by one metric in one direction.

    Attributes:
        key: the metric and the direction.
        first, second: places of the systems.
        value: on the queries that both have; of runs, the difference of their means.
        interval: of the difference, or None.
        p: two-sided, of the permutation test; None if the metric is not tested.
        smallest: the smallest p-value that these images or runs can have.
        facts: further fields of its record.
        corrected: p after correction, or None.
        winner: place of the significantly better system, or None.
        of_candidates: it has the influence of the images as candidates.
    """

    key: Key
    first: int
    second: int
    value: float
    interval: tuple[float, float] | None
    p: float | None
    smallest: float
    facts: Mapping[str, Any]
    corrected: float | None = None
    winner: int | None = None
    of_candidates: bool = True


@dataclass(frozen=True, eq=False)
class _Case:
    """The data of a difference: paired columns of a metric, of all parts of a sum and of all test sets of a mean."""

    key: Key
    first: int
    second: int
    pairs: tuple[tuple[Column, Column], ...]
    fold: Int | None  # (image,) stratum of test sets, if there are several
    changes: Float  # (image,) of the queries of an image
    influence: Float | None  # (image,) of an image as a candidate
    weight: float  # of each pair

    @property
    def effect(self) -> paired.Effect:
        """How large it is; wins and losses are of the images if there is no value for a query."""
        better = self.key[0].higher_is_better
        if len(self.pairs) == 1:
            size = paired.effect(*self.pairs[0], self.changes, better)
        else:
            asked = np.unique(np.concatenate([pair[0].image for pair in self.pairs]))  # others are candidates alone
            own = self.changes[asked] if better else -self.changes[asked]
            size = paired.effect_of_images(own, None if self.fold is None else self.fold[asked])
        if self.influence is None:
            return size
        # as the p-value, never smaller than without it
        both = paired.effect_of_images(self.changes + self.influence, self.fold)
        return replace(size, error=max(size.error, both.error))

    @property
    def differing(self) -> int:
        """The number of images on which the systems have different values."""
        first, second = self.pairs[0]
        if first.median:
            return len(np.unique(first.image[first.values != second.values]))
        return int((self.changes != 0).sum())


def between(
    every: Arranged,
    keys: Sequence[Key],
    tested: Collection[Key],
    pairs: Sequence[tuple[int, int]],
    rules: Rules,
    threads: int | None = None,
) -> tuple[list[Difference], list[str]]:
    """The differences of pairs of systems by all metrics, with corrected p-values, and warnings.

    Args:
        every: the systems. The values of several test sets are means over those that all have.
        keys: metrics and directions.
        tested: those that are tested, but for medians of single queries; the others are only described.
        pairs: places of systems.
        rules: how they are tested.
        threads: never changes a result.
    """
    if every.by_runs:
        found = [_of_runs(every, key, pair, key in tested, rules) for key in keys for pair in pairs]
        most = max(len(group.runs) for group in every.groups)
        limit, more = f"a system has at most {count_of(most, 'run')}", "more runs"
    else:
        found, cases = [], _cases(every, keys, pairs)
        while batch := list(islice(cases, max(1, _TESTS_PER_PASS // len(every.bases)))):
            found += _tested(batch, every, tested, rules, threads)
        most = max((test.facts["differing"] for test in found if test.p is not None), default=0)
        one, units = ("query", "queries") if any(d == ONE_WAY for _, d in keys) else ("image", "images")
        limit, more = f"the systems differ on at most {count_of(most, one, units)}" * (most > 0), f"more {units}"
    weak = unreachable([one.smallest for one in found if one.p is not None], rules, limit, more)
    return list(_corrected(found, rules)), weak


def _cases(every: Arranged, keys: Sequence[Key], pairs: Sequence[tuple[int, int]]) -> Iterator[_Case]:
    """The data of all differences."""
    units, at = every.units
    fold = units.fold if len(every.bases) > 1 else None
    for key in keys:
        weight = key[0].weight / len(every.bases)
        for first, second in pairs:
            columns, changes = list[tuple[Column, Column]](), list[Float]()
            for name, base in every.bases.items():
                a, b = (every.groups[i].runs[0][name] for i in (first, second))
                # images are numbered as in the first report, whichever pair is compared
                for part in parts_of(key, a):
                    pair = paired_columns(part, a, b, base)
                    columns.append((every.placed(name, pair[0]), every.placed(name, pair[1])))
                    own = paired.contributions(*pair, population(base))
                    changes.append(np.asarray(np.bincount(at[name], own, units.images), np.float64))
            both = [side for pair in columns for side in pair]
            added = influence(both, [-weight, weight] * len(columns), units)
            total = weight * np.sum(changes, axis=0)
            yield _Case(key, first, second, tuple(columns), fold, total, added, weight)


def _tested(
    cases: Sequence[_Case], every: Arranged, tested: Collection[Key], rules: Rules, threads: int | None
) -> Iterator[Difference]:
    """The differences of some cases; their p-values are not corrected."""
    columns: list[Column] = []
    sums: list[Sum] = []
    for case in cases:
        start, weight = len(columns), case.weight
        columns += [side for pair in case.pairs for side in pair]
        sums.append({i: weight if (i - start) % 2 else -weight for i in range(start, len(columns))})
    ready = prepare(columns, every.units[0], sums)
    values = plain_values(ready)[ready.size :]
    ends = bootstrap.intervals(ready, rules.level, rules.resamples, rules.seed, threads)[ready.size :]
    p, exact = np.full(len(cases), np.nan), np.zeros(len(cases), bool)
    if some := [i for i, case in enumerate(cases) if case.key in tested and not case.pairs[0][0].median]:
        p[some], exact[some] = _permuted([cases[i] for i in some], rules, threads)
    for i, case in enumerate(cases):
        size = case.effect
        found = float(p[i]) if i in some else None
        facts: dict[str, Any] = {
            "n": size.wins + size.ties + size.losses, "differing": case.differing, "exact": bool(exact[i]),
            "wins": size.wins, "ties": size.ties, "losses": size.losses, "p": found,
            "standardised": size.standardised, "superiority": size.superiority, "error": size.error,
        }  # fmt: skip
        value = float(case.changes.sum()) if len(every.bases) > 1 else float(values[i])
        smallest = paired.smallest_p(facts["differing"], rules.permutations)
        yield Difference(
            case.key, case.first, case.second, value, interval(ends[i]), found, smallest, facts,
            of_candidates=case.influence is not None,
        )  # fmt: skip


def _permuted(cases: Sequence[_Case], rules: Rules, threads: int | None) -> tuple[Float, Bool]:
    """(case,) p-values, and whether they count every permutation.

    With the influence of the images as candidates every image differs, even if few values do. The p-value
    is never smaller than without it.
    """
    changes = np.stack([case.changes for case in cases], axis=1)
    p, exact = paired.permutation_test(changes, rules.permutations, rules.seed, threads)
    both = {i: case.changes + case.influence for i, case in enumerate(cases) if case.influence is not None}
    if both:
        some, swapped = list(both), np.stack(list(both.values()), axis=1)
        p[some] = np.maximum(p[some], paired.permutation_test(swapped, rules.permutations, rules.seed, threads)[0])
    return p, exact


def _of_runs(every: Arranged, key: Key, pair: tuple[int, int], tested: bool, rules: Rules) -> Difference:
    """The difference of the means over runs of two systems; its p-value is not corrected."""
    first, second = (every.groups[at].means(key, every.averaged) for at in pair)
    p, smallest, exact = paired.permutation_test_of_runs(first, second, rules.permutations, rules.seed)
    value = math.fsum(second) / len(second) - math.fsum(first) / len(first)
    ends = paired.welch_interval(first, second, rules.level)
    facts = {"first_runs": len(first), "second_runs": len(second), "exact": exact, "p": p if tested else None}
    return Difference(key, *pair, value, ends, p if tested else None, smallest, facts)


def _corrected(found: Sequence[Difference], rules: Rules) -> Iterator[Difference]:
    corrected = iter(CORRECTIONS[rules.correction]([one.p for one in found if one.p is not None]).tolist())
    for one in found:
        if one.p is None:
            yield one
            continue
        p, winner = next(corrected), None
        if p <= rules.alpha and one.value != 0:
            winner = one.second if (one.value > 0) == one.key[0].higher_is_better else one.first
        yield replace(one, corrected=p, winner=winner)


def permutations_for(tests: int, rules: Rules) -> int:
    """How many permutations let one test of ``tests`` become significant on its own."""
    return min(
        MAX_PERMUTATIONS,
        max(MIN_PERMUTATIONS, math.ceil(_BELOW * _needed(tests, rules) / MIN_PERMUTATIONS) * MIN_PERMUTATIONS),
    )


def unreachable(smallest: Sequence[float], rules: Rules, limit: str, more: str) -> list[str]:
    """A warning if no test, or none on its own, can become significant whatever the values are.

    Args:
        smallest: the smallest p-value of every test.
        rules: how they were made.
        limit: why p-values cannot be smaller if every permutation is counted; empty for systems that do not differ.
        more: what would make them smaller.
    """
    if not smallest or not limit:
        return []
    bounds = np.array(smallest)
    m, bound = len(bounds), float(bounds.min())
    alone = bound if rules.correction == "none" else min(1.0, m * bound)
    if alone <= rules.alpha:
        return []
    if bound > 1 / (1 + rules.permutations):  # every permutation is counted
        why, fix = f"{limit}, so p is at least {bound:.3g}", more
    else:
        why = f"the smallest p-value of {rules.permutations:,} permutations is {bound:.3g}"
        fix = f"{spell('permutations', _needed(m, rules))} or more"
    if m > 1 and rules.correction != "none":
        why += f", {alone:.3g} after the correction of {m:,} tests"
        fix += f" or fewer {spell('metrics')}"
    if CORRECTIONS[rules.correction](bounds).min() > rules.alpha:
        return [f"no difference can be significant: {why}; use {fix}"]
    reached = m * np.sort(bounds) / np.arange(1, m + 1) <= rules.alpha
    together = int(np.argmax(reached)) + 1
    return [f"fewer than {together:,} differences cannot be significant: {why}; use {fix}"]


def _needed(tests: int, rules: Rules) -> int:
    """The fewest random permutations that can give a corrected p-value of at most alpha."""
    return math.ceil((1 if rules.correction == "none" else tests) / rules.alpha)
