"""Which system, test set and training run every report is of, and the means over sets and runs.

The names of reports say it: ``ours@0:scifact`` is run 0 of the system ``ours`` on the set ``scifact``. The part behind
the last ``@`` of a system is a run if the system has several. Languages of one test set are known from the reports.

The mean over test sets gives every set one vote. Its interval resamples queries within each set. Sets that share items,
as language versions share images, are resampled together: an item that is drawn is drawn in all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import signature
from ..errors import UsageError
from ..evaluation.assemble import Key, interval, is_median, key_of, population
from ..files.ids import places
from ..metrics.suites import Names
from ..options import spell
from ..relevance.sources import SOURCES
from ..results.model import Measurement, Resampling
from ..sets.published import SETS, language_of, named_language
from ..stats import bootstrap
from ..stats.columns import Column, Population, Sum, prepare
from ..types import Int, TestSet
from .systems import System, check_comparable, column_of, comparable, on_shared_queries, parts_of

RULES = ("ties", "empty", "short", "candidates", "normalise")  # fields of signatures that may not depend on the set
BY_LANGUAGE = ("split", "captions")  # those that may depend on the language
MEANS = ("mean", "macro mean")  # names of the columns and rows of means
MAX_LISTED_NAMES = 7  # names from which the first and the last one are shown
NAMES = "write SYSTEM:SET=FILE for every report, or store it as SYSTEM/SET.json"


class Owner(NamedTuple):
    """What a report is of: a system (empty if all are of one), and a test set or language (empty if there is one)."""

    system: str
    set: str


@dataclass(frozen=True, eq=False)
class Group:
    """A system with its runs, one if it has no seeds: the report of every test set."""

    name: str
    runs: tuple[Mapping[str, System], ...]
    seeds: tuple[str, ...]  # the name of every run

    @property
    def sets(self) -> list[str]:
        """The test sets of any run."""
        return list(dict.fromkeys(name for run in self.runs for name in run))

    @property
    def first(self) -> System:
        """One of its reports."""
        return next(iter(self.runs[0].values()))

    def results(self, key: Key, name: str) -> list[Measurement]:
        """The result of every run on a test set."""
        return [run[name].results[key] for run in self.runs if name in run]

    def means(self, key: Key, sets: Sequence[str]) -> list[float]:
        """The mean of every run over some test sets."""
        return [math.fsum(run[name].results[key].value for name in sets) / len(sets) for run in self.runs]


Ends = tuple[float, float] | None  # of an interval


@dataclass(frozen=True, eq=False)
class Arranged:
    """Reports by system, run and test set.

    Attributes:
        groups: the systems.
        sets: test sets or languages; the empty name alone if there is only one.
        languages: the test set that they are languages of, if they are.
    """

    groups: tuple[Group, ...]
    sets: tuple[str, ...]
    languages: str = ""

    @property
    def several(self) -> bool:
        """Whether there are several test sets, or one that is to be averaged."""
        return self.sets != ("",)

    @property
    def by_runs(self) -> bool:
        """Whether a system has several runs."""
        return any(len(group.runs) > 1 for group in self.groups)

    @property
    def systems(self) -> list[System]:
        """All reports."""
        return [one for group in self.groups for run in group.runs for one in run.values()]

    @cached_property
    def averaged(self) -> list[str]:
        """The sets that all runs of all systems have."""
        return [name for name in self.sets if all(name in run for group in self.groups for run in group.runs)]

    @cached_property
    def bases(self) -> dict[str, TestSet]:
        """The items of each averaged set, as the first system has them."""
        return {name: self.groups[0].runs[0][name].items for name in self.averaged}

    @cached_property
    def units(self) -> tuple[Population, Mapping[str, Int]]:
        """What is resampled for the averaged sets, see ``units_of``."""
        return units_of(self.bases)

    def placed(self, name: str, column: Column) -> Column:
        """A column of a set over the units of all sets: its value is the mean within the units of its set."""
        if len(self.bases) == 1:
            return column
        (units, at), influence = self.units, None
        if column.influence is not None:
            influence = np.zeros((2, units.images))
            influence[:, at[name]] = column.influence
        return replace(column, image=at[name][column.image], folded=True, influence=influence)

    def comparable(
        self, metrics: Names | None, force: bool | None, of_queries: bool = True
    ) -> tuple[Arranged, list[Key], tuple[str, ...], tuple[str, ...]]:
        """The systems on the queries that all have, with shared metrics, notes and warnings, as ``systems.comparable``.

        Reports of one set must have the same settings; settings that may depend on the set may differ between sets.
        """
        runs = [run for group in self.groups for run in group.runs]
        of_sets = {name: [run[name] for run in runs if name in run] for name in self.sets}
        systems = [run[name] for run in runs for name in run]
        keys, notes, warnings = comparable(
            systems, metrics, force, of_queries=of_queries, of_sets=of_sets, paired=not self.by_runs
        )
        firsts = [group[0] for group in of_sets.values()]
        if self.languages:
            between = check_comparable(firsts, force, BY_LANGUAGE, mean=True)
        else:
            own = {field for one in firsts for field in signature.read(one.report.signature)}
            between = check_comparable(firsts, True, own - set(RULES))
        every, fewer = self._on_shared(keys, of_queries)
        keys = [key for key in keys if not fewer or not key[0].family.of_lists]
        return every, keys, notes, tuple(dict.fromkeys((*warnings, *between, *fewer)))

    def _on_shared(self, keys: Sequence[Key], paired: bool) -> tuple[Arranged, list[str]]:
        """The systems on the queries that all of them have, and warnings if these are fewer.

        If queries are not ``paired``, systems of one test set keep their values: they only differ in undefined queries.
        """
        found: dict[System, System] = {}
        fewer: list[str] = []
        for name in self.sets:
            own = [run[name] for group in self.groups for run in group.runs if name in run]
            splits = {signature.read(one.report.signature)["split"] for one in own}
            shared, said = on_shared_queries(own, keys) if paired or len(splits) > 1 else (own, [])
            found |= zip(own, shared, strict=True)
            fewer += [f"{name}: {line}" if name else line for line in said]
        groups = [
            replace(group, runs=tuple({name: found[one] for name, one in run.items()} for run in group.runs))
            for group in self.groups
        ]
        return replace(self, groups=tuple(groups)) if fewer else self, fewer

    @property
    def notes(self) -> list[str]:
        """Which reports are runs of a system, and what the means are over."""
        pooled = [group for group in self.groups if len(group.runs) > 1]
        said = [f"{group.name}: {len(group.runs)} runs ({_all_names(group.seeds)})" for group in pooled]
        numbered = [name for name, base in self.bases.items() if base.rows.numbered] if len(self.bases) > 1 else []
        rows = np.concatenate([self.units[1][name] for name in numbered]) if numbered else np.zeros(0)
        if len(np.unique(rows)) < len(rows):
            said.append(f"equal test sets without ids share images by row number: {_all_names(numbered)}")
        owned = [(name, run) for group in self.groups for name, run in zip(group.seeds, group.runs, strict=True)]
        left = [(name, [x for x in self.sets if x not in run]) for name, run in owned]
        lacking = [f"{name} has no {', '.join(missing)}" for name, missing in left if missing]
        common = ", ".join(self.averaged)
        if lacking:
            over = f"macro means are over {common}, which all systems have" if common else "no macro mean"
            return [*said, f"{over}: {'; '.join(lacking)}"]
        number = len(SETS[self.languages].languages) if self.languages else 0
        partial = f"the macro mean is over {len(self.averaged)} of the {number} languages of {self.languages}"
        return [*said, partial] if len(self.averaged) < number else said

    def mean_intervals(self, key: Key, how: Resampling | None) -> list[Ends]:
        """The intervals of the means of one metric, one a system; None for medians, and for systems with runs."""
        metric = key[0]
        if how is None or not self.averaged or is_median(metric) or metric.family.of_lists or self.by_runs:
            return [None for _ in self.groups]
        columns: list[Column] = []
        sums: list[Sum] = []
        for group in self.groups:
            parts = [(part, name) for name in self.averaged for part in parts_of(key, group.runs[0][name])]
            sums.append(dict.fromkeys(range(len(columns), len(columns) + len(parts)), metric.weight / len(self.bases)))
            for part, name in parts:
                columns.append(self.placed(name, column_of(part, group.runs[0][name], self.bases[name])))
        ready = prepare(columns, self.units[0], sums)
        return [interval(x) for x in bootstrap.intervals(ready, how.level, how.resamples, how.seed)[ready.size :]]


def arrange(systems: Sequence[System], mean: bool = False, languages: bool = False, runs: bool = True) -> Arranged:
    """Reports by system, run and test set.

    Args:
        systems: in any order.
        mean: they are of several test sets, which their names or folders say.
        languages: they may be of several languages of one test set.
        runs: reports of one system with several seeds are its runs; else every report is a system.

    Raises:
        UsageError: names that do not say the system and the set, or say them the other way round; two reports of one
            system and set, one report twice, or no set that all systems have.
    """
    owners = _languages(systems) if mean or languages else []
    of = systems[0].report.split.partition(":")[0] if owners else ""
    if mean and not any(owner.system for owner in owners):
        owners = [_named(one) for one in systems]
    owners = owners or [Owner(one.name, "") for one in systems]
    if mean:
        _check_sets(owners, systems)
    if mean and not of:
        systems = _same_judgements(systems)
    stems = _with_seeds([owner.system for owner in owners]) if runs else {}
    found: dict[str, dict[str, dict[str, System]]] = {}
    for (system, name), one in zip(owners, systems, strict=True):
        run = found.setdefault(stems.get(system, system), {}).setdefault(system, {})
        if name in run:
            fix = f"give one of them, or number runs, as in {system}@1:{name}=FILE"
            raise UsageError(f"{system} has two reports of {name}", where=one.where, fix=fix)
        run[name] = one
    groups = tuple(Group(name, tuple(of_runs.values()), tuple(of_runs)) for name, of_runs in found.items())
    for group in groups:
        check_once([group])
    every = Arranged(groups, tuple(dict.fromkeys(x for group in groups for x in group.sets)), of)
    if mean and not every.averaged:
        raise UsageError("no test set has reports of all systems", fix=f"evaluate all systems on one set; {NAMES}")
    if mean and not of:
        _check_order(groups, [":" in one.name for one in systems])
    return every


def _all_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < MAX_LISTED_NAMES else f"{names[0]} to {names[-1]}"


def _check_sets(owners: Sequence[Owner], systems: Sequence[System]) -> None:
    """Refuse a set that is called as the column of means, and a run behind a set: ``ours:scifact@0``."""
    stems = [(owner.system, owner.set.rpartition("@")[0]) for owner in owners]
    for owner, stem, one in zip(owners, stems, systems, strict=True):
        if owner.set.lower() in MEANS:
            fix = f"give it another name, as in {owner.system or 'SYSTEM'}:NAME=FILE"
            raise UsageError(
                f"a test set is called '{owner.set}', a name that stands for the mean", where=one.where, fix=fix
            )
        if stem[1] and (stems.count(stem) > 1 or stem in owners):
            seed = owner.set.rpartition("@")[2]
            what = f"the test set '{owner.set}' looks like a run of '{stem[1]}'"
            fix = f"put the run after the system: {owner.system}@{seed}:{stem[1]}=FILE"
            raise UsageError(what, where=one.where, fix=fix)


def check_once(groups: Sequence[Group]) -> None:
    """Refuse a report that is given as two runs of a system."""
    for one, other in chain.from_iterable(combinations(group.runs, 2) for group in groups):
        for name in one:
            if name in other and _same(one[name], other[name]):
                what = f"'{one[name].name}' and '{other[name].name}' are the same report"
                raise UsageError(what, where=other[name].where, fix="give it once")


def _same(one: System, other: System) -> bool:
    """Whether two systems have one report, or files with the same one."""
    a, b = one.report, other.report
    of_files = one.where != one.name and other.where != other.name
    if not (a.provenance is b.provenance or (of_files and a.provenance == b.provenance)):
        return False
    if a.signature != b.signature or one.results.keys() != other.results.keys():
        return False
    pairs = [(found, other.results[key]) for key, found in one.results.items()]
    return all(x.value == y.value and np.array_equal(x.per_query, y.per_query) for x, y in pairs)  # type: ignore[arg-type]


def _check_order(groups: Sequence[Group], written: Sequence[bool]) -> None:
    """Refuse sets that are one, as where folders are sets and files are systems."""
    several = [group for group in groups if len(group.sets) > 1]
    splits = [
        {signature.read(one.report.signature)["split"] for run in g.runs for one in run.values()} for g in several
    ]
    if several and all(len(of) == 1 for of in splits) and (len(groups) == 1 or not any(written)):
        what = f"'{several[0].first.report.split}' is the test set of all reports of '{several[0].name}'"
        what += f", but their names are {_all_names(several[0].sets)}"
        fix = f"leave out {spell('mean', True)}, which needs several test sets, or {NAMES.partition(',')[0]}"
        raise UsageError(what, where=several[0].first.where, fix=fix)


def _with_seeds(names: Sequence[str]) -> dict[str, str]:
    """The system of every name ``SYSTEM@SEED``, for systems with several seeds.

    Raises:
        UsageError: a further report is called as the system.
    """
    seeded = {name: re.fullmatch(r"(.+)@[^@/]+", name, re.DOTALL) for name in dict.fromkeys(names)}
    stems = {name: found[1] for name, found in seeded.items() if found}
    found = {name: stem for name, stem in stems.items() if [*stems.values()].count(stem) > 1}
    if again := next((name for name in names if name in found.values()), None):
        what = (
            f"'{again}' is both a report and the system of runs such as '{next(x for x in found if found[x] == again)}'"
        )
        raise UsageError(what, fix=f"give it a seed ({again}@SEED=FILE) or another name")
    return found


def _named(system: System) -> Owner:
    """The system and the set of a report, which its name or its folder says."""
    owner, mark, name = re.match(r"([^:/]*)([:/]?)(.*)", system.name, re.DOTALL).groups()  # type: ignore[union-attr]
    path = Path(system.where)
    if not mark and path.stem == owner and path.parent.name:
        owner, name = path.parent.name, owner
    if not (owner and name):
        raise UsageError(f"the name '{system.name}' does not give the test set", where=system.where, fix=NAMES)
    return Owner(owner, name)


def _languages(systems: Sequence[System]) -> list[Owner]:
    """The system and the language of every report, if they are of several languages of one test set; or none.

    Raises:
        UsageError: the names do not give the systems, or give another language.
    """
    found = [language_of(s.report.split) for s in systems]
    known = [each for each in found if each is not None]
    spoken = [language for _, language in known]
    if len(known) < len(found) or len({name for name, _ in known}) > 1 or len(set(spoken)) < 2:
        return []
    for system, (name, language) in zip(systems, known, strict=True):
        given = re.split("[:/]", system.name)[-1].lower()
        if given != language and given in SETS[name].languages:
            what = f"is called '{system.name}', but is a report of '{name}:{language}'"
            raise UsageError(what, where=system.where, fix=f"call it {language}, or give the file of {given}")
    owners = [named_language(s.name, [language]) for s, language in zip(systems, spoken, strict=True)]
    named = [Owner(*owner) for owner in owners if owner is not None]
    if len(named) == len(owners) and len({owner.system for owner in named}) > 1 and len(set(named)) == len(named):
        return named
    for system, language in zip(systems, spoken, strict=True):
        if spoken.count(language) > 1:
            count = spoken.count(language)
            what = f"{count} reports are of '{system.report.split}', and their names do not give the systems"
            fix = f"write the system and the language, as in ours:{language}=FILE and theirs:{language}=FILE"
            raise UsageError(what, where=system.where, fix=fix)
    return [Owner("", language) for language in spoken]


def _same_judgements(systems: Sequence[System]) -> list[System]:
    """Reports of several sets with one custom judgement each, all renamed to the name in the first one."""
    names = [{m.view for m, _ in system.results if m.view not in SOURCES} for system in systems]
    if any(len(own) != 1 for own in names):
        return [*systems]

    def called(results: Sequence[Measurement]) -> tuple[Measurement, ...]:
        every = [(key_of(one)[0], one) for one in results]
        return tuple(one if m.view in SOURCES else replace(one, metric=replace(m, view=view)) for m, one in every)

    (view,) = names[0]
    return [
        replace(one, report=replace(one.report, results=called(one.report.results), parts=called(one.report.parts)))
        for one in systems
    ]


def units_of(bases: Mapping[str, TestSet]) -> tuple[Population, Mapping[str, Int]]:
    """What is resampled for some test sets: (image,) number of the unit of every image of each.

    Sets that share rows, see ``_share``, are one stratum, in which equal ids, or numbers of rows, are one unit.
    """
    if len(bases) == 1:
        ((name, base),) = bases.items()
        found = population(base)
        return found, {name: np.arange(found.images)}
    strata: list[list[str]] = []
    for name, base in bases.items():
        same = [names for names in strata if any(_share(bases[other], base) for other in names)]
        strata = [*(names for names in strata if names not in same), [*chain(*same), name]]
    at: dict[str, list[Int]] = {name: [] for name in bases}
    ends = [0]
    for names in strata:
        start = ends[-1]
        for side in (0, 1):  # columns are units if they belong to no row
            own = [name for name in names if not side or bases[name].image_of is None]
            ids = [bases[name].sides[side].ids for name in own]
            if len(own) > 1:
                unique, every = np.unique(np.concatenate(ids), return_inverse=True)
            else:
                unique = every = np.arange(sum(map(len, ids)))
            edges = np.cumsum([0, *map(len, ids)])
            for name, (low, high) in zip(own, pairwise(edges.tolist()), strict=True):
                at[name].append(start + every[low:high])
            start += len(unique)
        ends.append(start)
    folds = np.repeat(np.arange(len(strata)), np.diff(ends))
    return Population(ends[-1], folds), {name: np.concatenate(parts) for name, parts in at.items()}


def _share(one: TestSet, other: TestSet) -> bool:
    """Whether two sets have rows of one id; rows without ids are shared by equal sets and by languages of one set."""
    if one.rows.numbered and other.rows.numbered and len(one.rows) == len(other.rows):
        of_set = one.name.partition(":")[0]
        same = of_set == other.name.partition(":")[0] and of_set in SETS
        return same or signature.fingerprint(one) == signature.fingerprint(other)
    if one.rows.numbered or other.rows.numbered:
        return False
    return bool((places(one.rows.ids, other.rows.ids) >= 0).any())
