"""A joint table of systems, from their reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import UsageError
from ..evaluation.assemble import Key as MetricKey
from ..evaluation.assemble import interval
from ..options import public
from ..results.charts import Panel, curves
from ..results.document import JOINT_SCHEMA
from ..results.model import UNITS, Measurement, bracketed, interval_kind, interval_words
from ..results.render import Drawn, json_text
from ..results.report import Report, corrected
from ..results.table import Key, Table, Text, Value, in_order, of_paper, wide
from ..sets.published import SETS, language_of, named_language
from ..stats import bootstrap
from ..stats.columns import Column, Population, Sum, plain_values, prepare
from ..types import TestSet
from .systems import (
    Names,
    OneReport,
    Reports,
    System,
    alike,
    check_comparable,
    chosen,
    column_of,
    load_systems,
    parts_of,
    shared_keys,
)

BY_LANGUAGE = ("split", "captions")  # fields of signatures
MEAN = "macro mean"  # of the languages of a test set
TIED = "="  # mark of a mean that is not distinguishable from the best


class Language(NamedTuple):
    """What a report is of: a system (empty where there is one), and a language of its test set."""

    system: str
    language: str


class Mean(NamedTuple):
    """The mean of a system over languages.

    Attributes:
        system: its name, empty where there is one.
        of: the places of the reports.
        behind: the report that its row is behind.
        languages: how many the test set has.
        intervals: (low, high) by column.
        tied: columns whose best mean is not distinguishable from it.
    """

    system: str
    of: tuple[int, ...]
    behind: int
    languages: int
    intervals: Mapping[Key, tuple[float, float] | None] = {}
    tied: frozenset[Key] = frozenset()

    @property
    def label(self) -> str:
        """The name of its row, which says where languages of the test set are missing."""
        return MEAN if len(self.of) == self.languages else f"{MEAN} ({len(self.of)} of {self.languages})"


@dataclass(frozen=True, repr=False)
class Joint(Drawn):
    """The values of several systems, which were measured alike.

    Attributes:
        split: name of the test set.
        systems: names, one a row.
        reports: one a system.
        columns: metric and direction (None for a sum over both) of every column, those of a direction together.
        named: the columns were named: the one table in LaTeX has them all.
        intervals: the values are shown with their intervals.
        notes: what was decided, for every system.
        warnings: what may be wrong, for every system and with the comparison.
        languages: of every report, where the rows are languages of one test set; those of a system are together.
        means: of these, one a system, each language with one vote; of several systems the best mean is bold.
    """

    kind = "joint"
    heading: ClassVar = "Systems on {split}"
    main = "values"
    settings: ClassVar = ("split",)
    split: str
    systems: tuple[str, ...]
    reports: tuple[Report, ...]
    columns: tuple[Key, ...]
    named: bool = False
    intervals: bool = False
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    languages: tuple[Language, ...] = ()
    means: tuple[Mean, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """One table for each set of judgements or gains, with directions above the metrics; the best value in bold.

        A record is a value: system (of languages also or only language), metric, direction, value, low, high.
        """
        views = list(dict.fromkeys(metric.view for metric, _ in self.columns))
        tables = [
            self._named(wide(self._title, self._labels, of_view, self._values, brackets=self.intervals))
            for view in views
            if (of_view := [column for column in self.columns if column[0].view == view])
        ]
        return [*tables[:-1], replace(tables[-1], notes=(self._note,))]

    @property
    def _note(self) -> str:
        how = self.reports[0].intervals
        if how is None or not (self.means or self.intervals):
            return UNITS
        if not self.means:
            return f"{UNITS} {interval_words(how)}."
        tied = f" {TIED}: the {how.level:g} % interval of its difference to the best mean includes 0."
        of_means = replace(how, method="percentile")
        both = self.intervals and how != of_means
        words = interval_words(how if both else of_means) + f", of means {interval_kind(of_means)}" * both
        return f"{UNITS} {words}.{tied * (len(self.means) > 1)}"

    def _for_paper(self) -> list[Table]:
        """One table, of the columns that were named, or of the first view."""
        one = of_paper(self._title, self._labels, self.columns, self.named, self._note, self._values, self.intervals)
        return [self._named(one)]

    @property
    def panels(self) -> list[Panel]:
        """Curves over k of what all systems have."""
        found = {(r.metric, r.direction): self._results((r.metric, r.direction)) for r in self.reports[0].results}
        return curves({key: [r for r in of if r] for key, of in found.items() if all(of)})

    def to_dict(self, per_query: bool = True) -> dict[str, Any]:
        """The document of schema ``vsebench/joint/1``: the records of the table and the reports of all systems.

        Args:
            per_query: with per-query values, which ``vsebench compare`` needs; it reads such a document as the reports.
        """
        found = super().to_dict()
        reports = zip(self.systems, self.reports, strict=True)
        systems = [{"name": name, "report": report.document(per_query)} for name, report in reports]
        return {**found, "schema": JOINT_SCHEMA, "systems": systems}

    def to_json(self, per_query: bool = True) -> str:
        """The document as indented JSON text; ``per_query`` as in ``to_dict``."""
        return json_text(self.to_dict(per_query))

    def per_query(self) -> Any:
        """The per-query values of all systems as a ``pandas.DataFrame``, as those of a report, with their names."""
        import pandas as pd

        frames = {name: report.per_query() for name, report in zip(self.systems, self.reports, strict=True)}
        for name, frame in frames.items():
            frame.insert(0, "system", name)
        return pd.concat(frames.values(), ignore_index=True)

    def _results(self, column: Key) -> list[Measurement | None]:
        """One a system, None where the column was not measured."""
        wanted = str(column[0]), column[1]
        return [next((r for r in of.results if (str(r.metric), r.direction) == wanted), None) for of in self.reports]

    @property
    def _rows(self) -> list[int | Mean]:
        """The place of a report, or a mean, a row."""
        behind = {mean.behind: mean for mean in self.means}
        return [row for at in range(len(self.reports)) for row in (at, behind.get(at)) if row is not None]

    @property
    def _corrections(self) -> list[str]:
        """How the scores of every system are corrected; an empty text where they are not."""
        return [", ".join(corrected(report.signature)) for report in self.reports]

    @property
    def _title(self) -> str:
        same = set(self._corrections)
        return " · ".join(filter(None, (self.split, *same))) if len(same) == 1 else self.split

    @property
    def _labels(self) -> tuple[Text, ...]:
        """The rows; the names of systems whose scores are corrected in different ways say how."""
        names = [
            " · ".join(filter(None, (row.system, row.label)) if isinstance(row, Mean) else self._identity(row).values())
            for row in self._rows
        ]
        how = ["" if isinstance(row, Mean) else self._corrections[row] for row in self._rows]
        several = len(set(self._corrections)) > 1
        return tuple(
            Text(f"{name} ({words})" if words and several else name, self._identity(row))
            for name, words, row in zip(names, how, self._rows, strict=True)
        )

    def _identity(self, row: int | Mean) -> dict[str, str]:
        if not self.languages:
            return {"system": self.systems[row]}  # type: ignore[index]
        system, language = (row.system, MEAN) if isinstance(row, Mean) else self.languages[row]
        return {"system": system, "language": language} if system else {"system": language}

    def _named(self, table: Table) -> Table:
        if not self.languages:
            return table
        heading = "system · language" if self.languages[0].system else "language"
        return replace(table, columns=(replace(table.columns[0], heading=heading), *table.columns[1:]))

    def _mean(self, found: Sequence[Measurement | None], mean: Mean) -> float | None:
        """The mean of a column, None where a language has no value."""
        known = [result.value for at in mean.of if (result := found[at]) is not None and result.value is not None]
        return math.fsum(known) / len(mean.of) if len(known) == len(mean.of) else None

    def _values(self, column: Key) -> list[Value]:
        """One a row; of languages the means are compared."""
        results, metric = self._results(column), column[0]
        found = []
        for row in self._rows:
            if isinstance(row, Mean):
                value, ends = self._mean(results, row), row.intervals.get(column)
                better, mark = metric.higher_is_better, TIED * (column in row.tied)
                found.append(Value(value, metric.unit, ends, better, mark=mark, aside=bracketed(ends, metric.unit)))
                continue
            own = results[row]
            value, ends = (None, None) if own is None else (own.value, own.interval)
            found.append(Value(value, metric.unit, ends, None if self.languages else metric.higher_is_better))
        return found


@public
def joint(
    reports: Reports, *more: OneReport, metrics: Names | None = None, intervals: bool = False, force: bool = False
) -> Joint:
    """Several systems in one table: a row a system, a column a metric and direction, the best values in bold.

    Reports on the languages of one test set (``xflickrco:de``, ``xflickrco:ja``) become a row a language, and behind
    those of a system their mean. Of several systems the names say which report is whose: ``ours:de``, ``theirs:de``.

    Args:
        reports, more: files (``NAME=FILE`` names a system) or ``Report`` objects, one by one or as a list, or a mapping
            from names to them; all with per-query values.
        metrics: names and suites, as a list or separated by commas; None for all that the reports share but ranks
            (R@1, R@5, R@10 and RSum of an ordinary evaluation).
        intervals: show the interval of every value.
        force: compare even if the evaluation settings differ.

    Returns:
        The table; its ``reports`` are those that were given.

    Raises:
        UsageError: two systems of one name, an unknown metric, or signatures that differ in more than the language.
        BadInput: a file is no report, or has no per-query values.

    Example:
        >>> import numpy as np
        >>> import vsebench as vb
        >>> images = np.random.default_rng(0).standard_normal((20, 8))
        >>> noise = np.random.default_rng(1).standard_normal((100, 8))
        >>> def evaluate(share):
        ...     return vb.evaluate(images, np.repeat(images, 5, axis=0) + share * noise, metrics="R@1,R@5", ci=0)
        >>> table = vb.joint({"good": evaluate(0.1), "bad": evaluate(2.0)})
        >>> print(table.to_markdown().splitlines()[2])
        | system | image→text R@1 | image→text R@5 | text→image R@1 | text→image R@5 |
        >>> table.to_frame().query("metric == 'R@1' and direction == 'i2t'").value.tolist()
        [1.0, 0.3]
    """
    systems: Sequence[System] = load_systems(reports, more)
    languages = _languages(systems)
    also = BY_LANGUAGE if languages else ()
    keys, notes, warnings = alike(systems, metrics, force, of_queries=False, also=also)
    means: tuple[Mean, ...] = ()
    if languages:
        warnings = (*warnings, *_same_texts(systems, languages, force))
        systems, languages = _by_system(systems, languages)
        name = systems[0].report.split.partition(":")[0]
        means, lacking = _means(languages, name)
        notes = (*lacking, *notes)
    if metrics is None:
        keys = [key for key in keys if key[0].unit != "rank"] or keys
    columns = in_order(keys)
    means = tuple(_with_intervals(systems, means, columns))
    split = systems[0].report.split
    return Joint(
        split.partition(":")[0] if languages else split, tuple(s.name for s in systems),
        tuple(s.report for s in systems), tuple(columns), chosen(metrics), intervals, notes, warnings,
        tuple(languages), means,
    )  # fmt: skip


@public
def show(
    reports: Reports, *more: OneReport, metrics: Names | None = None, intervals: bool = False
) -> Report | Joint:  # fmt: skip
    """Print saved reports again: one as its evaluation printed it, several in one table.

    Args:
        reports, more: saved reports; NAME=FILE names a system. In Python as for ``joint``.
        metrics: names and suites, as a list or separated by commas; all by default.
        intervals: show the interval of every value of several reports.

    Raises:
        UsageError, BadInput: as ``joint``.
    """
    systems: Sequence[System] = load_systems(reports, more)
    if len(systems) > 1:
        return joint({s.name: s.report for s in systems}, metrics=metrics, intervals=intervals)
    report, keys = systems[0].report, shared_keys(systems, metrics)[0]
    return replace(report, results=tuple(systems[0].results[key] for key in keys))


def _languages(systems: Sequence[System]) -> list[Language]:
    """The system and the language of every report, where they are of several languages of one test set; or none.

    Raises:
        UsageError: names that do not say which reports of one language are of which system, or name another language.
    """
    found = [language_of(s.report.split) for s in systems]
    known = [each for each in found if each is not None]
    spoken = [language for _, language in known]
    if len(known) < len(found) or len({name for name, _ in known}) > 1 or len(set(spoken)) < 2:
        return []
    for system, (name, language) in zip(systems, known, strict=True):
        given = re.split("[:/]", system.name)[-1].lower()
        if given != language and given in SETS[name].languages:
            what = f"is called '{system.name}', and is of '{name}:{language}'"
            raise UsageError(what, where=system.where, fix=f"call it {language}, or give the file of {given}")
    owners = [named_language(s.name, [language]) for s, language in zip(systems, spoken, strict=True)]
    if None not in owners and len({owner for owner, _ in owners}) > 1 and len(set(owners)) == len(owners):  # type: ignore[misc]
        return [Language(*owner) for owner in owners]  # type: ignore[misc]
    for system, language in zip(systems, spoken, strict=True):
        if spoken.count(language) > 1:
            what = (
                f"{spoken.count(language)} reports are of '{system.report.split}', and names do not say of which system"
            )
            fix = f"write the system and the language, as in ours:{language}=FILE and theirs:{language}=FILE"
            raise UsageError(what, where=system.where, fix=fix)
    return [Language("", language) for language in spoken]


def _same_texts(systems: Sequence[System], languages: Sequence[Language], force: bool) -> list[str]:
    """Warnings about systems that were measured in different ways in one language; raises as ``check_comparable``."""
    spoken = dict.fromkeys(language for _, language in languages)
    of = {name: [s for s, own in zip(systems, languages, strict=True) if own.language == name] for name in spoken}
    return [warning for group in of.values() for warning in check_comparable(group, force)]


def _by_system(systems: Sequence[System], languages: Sequence[Language]) -> tuple[list[System], list[Language]]:
    """The reports of a system together."""
    first = list(dict.fromkeys(owner for owner, _ in languages))
    order = sorted(range(len(systems)), key=lambda at: first.index(languages[at].system))
    return [systems[at] for at in order], [languages[at] for at in order]


def _means(languages: Sequence[Language], name: str) -> tuple[tuple[Mean, ...], list[str]]:
    """The mean of every system over the languages that all have, and a note on the others of the set ``name``."""
    of: dict[str, dict[str, int]] = {}
    for at, (system, language) in enumerate(languages):
        of.setdefault(system, {})[language] = at
    every = dict.fromkeys(language for _, language in languages)
    common = [language for language in every if all(language in own for own in of.values())]
    lacking = [
        f"{system} has no {', '.join(left)}"
        for system, own in of.items()
        if (left := [x for x in every if x not in own])
    ]
    over = f"macro means are over {', '.join(common)}, which all systems have" if common else "no macro mean"
    number = len(SETS[name].languages)
    means = [
        Mean(system, tuple(own[x] for x in common), max(own.values()), number) for system, own in of.items() if common
    ]
    if lacking:
        return tuple(means), [f"{over}: {'; '.join(lacking)}"]
    partial = f"the macro mean is over {len(common)} of the {number} languages of {name}"
    return tuple(means), [partial] if len(common) < number else []


def _with_intervals(systems: Sequence[System], means: Sequence[Mean], keys: Sequence[MetricKey]) -> Iterator[Mean]:
    """The means with their intervals, and where the best one is not distinguishable from them.

    Images are resampled, an image of several languages in all of them at once, and all systems have the same resamples.
    """
    how = systems[0].report.intervals
    if how is None or not means:
        yield from means
        return
    ids = np.unique(np.concatenate([systems[at].items.rows.ids for mean in means for at in mean.of]))
    images = TestSet.captioned("custom", ids, ids, np.arange(len(ids)))
    ends: dict[tuple[str, Key], tuple[float, float] | None] = {}
    tied: set[tuple[str, Key]] = set()
    for key in keys:
        columns: list[Column] = []
        sums: list[Sum] = []
        for mean in means:
            parts = [(part, systems[at]) for at in mean.of for part in parts_of(key, systems[at])]
            weight = key[0].weight / len(mean.of)
            sums.append(dict.fromkeys(range(len(columns), len(columns) + len(parts)), weight))
            columns += [column_of(part, system, images) for part, system in parts]
        if any(column.median for column in columns):  # medians are not resampled
            continue
        alone = prepare(columns, Population(len(ids)), sums)
        values = plain_values(alone)[alone.size :].tolist()
        best = values.index((max if key[0].higher_is_better else min)(values))
        against = [{**{i: -w for i, w in sums[best].items()}, **one} for one in sums if one is not sums[best]]
        ready = prepare(columns, Population(len(ids)), [*sums, *against])
        found = bootstrap.intervals(ready, how.level, how.resamples, how.seed)[ready.size :]
        others = [mean for mean in means if mean is not means[best]]
        for mean, pair in zip(means, found, strict=False):
            ends[mean.system, key] = interval(pair)
        for mean, pair in zip(others, found[len(means) :], strict=True):
            if pair[0] <= 0 <= pair[1]:
                tied.add((mean.system, key))
    for mean in means:
        of: dict[Key, tuple[float, float] | None] = {key: ends.get((mean.system, key)) for key in keys}
        yield mean._replace(intervals=of, tied=frozenset(key for key in keys if (mean.system, key) in tied))
