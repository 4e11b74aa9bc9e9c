"""Systems: reports with their names, whether they may be compared, and the metrics and queries that they share."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from .. import signature
from ..errors import BadInput, UsageError, closest, count_of
from ..evaluation.assemble import Key, column, key_of, label, population
from ..files.ids import places
from ..files.regular import RESULT_FILE
from ..metrics import Metric, parse
from ..metrics.declare import DEFAULT_GAINS
from ..metrics.suites import Names as Names
from ..metrics.suites import expand, words
from ..options import of_command, public, spell
from ..relevance.sources import is_gains
from ..results.model import Measurement, Resampling
from ..results.report import Report, read, read_all
from ..stats.columns import Column, plain_values, prepare
from ..types import Bool, TestSet
from . import consistency

OneReport = str | os.PathLike[str] | Report
Reports = OneReport | Sequence[OneReport] | Mapping[str, OneReport]

MIN_QUERIES, MIN_VALUE, MIN_CORRELATION = (
    100,
    0.2,
    2.0,
)  # queries, value of a metric, and the correlation times the root of the queries


class NotComparable(UsageError):
    """Two systems were evaluated with different settings."""


@dataclass(frozen=True, eq=False)
class System:
    """One evaluated system.

    Attributes:
        name: in tables.
        where: the file of its report, or its name, for messages.
        report: its results, with per-query values.
        items: the images and captions of the report.
    """

    name: str
    where: str
    report: Report
    items: TestSet

    @cached_property
    def results(self) -> dict[Key, Measurement]:
        """All results, also those that are only parts of a sum."""
        return {key_of(r): r for r in (*self.report.parts, *self.report.results)}


@public
def load(path: str | os.PathLike[str], recompute: bool = False) -> Report:
    """The report in a JSON file that ``Report.save`` or ``vsebench eval --json`` wrote.

    Every value is checked against its per-query values.

    Args:
        path: the file.
        recompute: also compute the intervals again, with the seed of the report, and refuse one that differs.

    Raises:
        BadInput: not such a file, damaged, or numbers that contradict each other.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import vsebench
        >>> from vsebench import load
        >>> vectors = np.eye(4)
        >>> report = vsebench.evaluate(vectors, vectors, captions_per_image=1, metrics="R@1")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.save(f"{folder}/A.json")
        ...     load(f"{folder}/A.json")["R@1", "i2t"].value
        1.0
    """
    return _checked(read(Path(path), parse), path, recompute)


def _checked(report: Report, path: str | os.PathLike[str], recompute: bool = False) -> Report:
    """The report, unless its values contradict each other; raises BadInput."""
    try:
        consistency.check(report)
        if recompute:
            consistency.check_intervals(report)
    except (BadInput, UsageError) as error:
        raise BadInput(error.what, where=path, fix=error.fix) from None
    return report


def load_all(path: str | os.PathLike[str]) -> list[Report]:
    """The reports in a JSON file: one, or the reports of a table; raises as ``load``."""
    return [_checked(report, path) for _, report in read_all(Path(path), parse)]


def load_systems(reports: Reports, more: Sequence[OneReport] = (), needed: int = 1) -> list[System]:
    """The systems of some reports, at least ``needed``: of one list, or given one by one, as ``compare("A", "B")``.

    A file may be written ``NAME=FILE``; the default name is the name of the file, with its folder if needed.
    The folder of a training run stands for its result, under the name of the folder.
    A file with a table of several reports counts as these reports, under their names. Objects without names are called
    A, B, C, ... by position.

    Raises:
        UsageError: fewer than ``needed``, two of one name, or further reports beside a list or a mapping.
        BadInput: a file is no report, or has no per-query values.
    """
    if more and not isinstance(reports, (str, os.PathLike, Report)):
        raise UsageError("further reports after a list of reports", fix="give one list, or one report after the other")
    loaded: list[tuple[str | None, Path | Report, str | None, Report]] = []
    for own, source in _given([reports, *more] if more else reports):  # type: ignore[list-item]
        if isinstance(source, Report):
            loaded.append((own, source, None, source))
            continue
        found = read_all(source, parse)
        if found[0][0] is not None and own is not None:
            raise UsageError(f"holds {len(found)} systems with names", where=source, fix=f"leave out '{own}='")
        for name, report in found:
            loaded.append((name or own, report if name else source, str(source), _checked(report, source)))
    if len(loaded) < needed:
        count = count_of(len(loaded), "report")
        fix = "give more reports; vsebench eval FILE -o A.json writes one"
        raise UsageError(f"{count} given, {needed} needed", fix=fix)
    names = names_of([(name, source) for name, source, _, _ in loaded])
    out = []
    for name, (_, _, where, report) in zip(names, loaded, strict=True):
        if report.items is None:
            fix = "write it again with per-query values: vsebench eval FILE -o A.json"
            raise BadInput("has no per-query values", where=where or name, fix=fix)
        out.append(System(name, where or name, report, report.items))
    return out


def interval_settings(systems: Sequence[System]) -> Resampling | None:
    """How the intervals of all reports were made; None if in different ways, or if a report has none."""
    first, *others = (one.report.intervals for one in systems)
    return first if all(one == first for one in others) else None


def _given(reports: Reports) -> Iterator[tuple[str | None, Path | Report]]:
    """(name if one was given, file or report) of every system; of a folder of a training run the report in it."""
    if isinstance(reports, (str, os.PathLike, Report)):
        reports = [reports]
    listed = () if isinstance(reports, Mapping) else reports
    every: Any = [named(r) if isinstance(r, str) else (None, r) for r in listed]
    own = [(str(name), source) for name, source in reports.items()] if isinstance(reports, Mapping) else every
    for name, source in own:
        if isinstance(source, Report):
            yield name, source
            continue
        if not (path := Path(source)).is_dir():
            yield name, path
            continue
        if not (path / RESULT_FILE).is_file():
            what = f"is a folder without {RESULT_FILE}, which a finished training run has"
            raise BadInput(what, where=path, fix="name reports: vsebench eval FOLDER -o A.json")
        yield name or path.name, path / RESULT_FILE


def named(text: str) -> tuple[str | None, Path]:
    """The name and the file of ``NAME=FILE``; no name for a file that exists as it is written."""
    name, equals, tail = text.partition("=")
    exists = os.path.exists(text)  # noqa: PTH110 (False for a name that is too long)
    return (name, Path(tail)) if equals and name and not exists else (None, Path(text))


def names_of(given: Sequence[tuple[str | None, Path | Report]]) -> list[str]:
    """The name of every system: as given, else the name of its file, else a letter.

    If two files have the same name, all get their folder in front.

    Raises:
        UsageError: two systems of one name.
    """
    stems = [source.stem for name, source in given if name is None and isinstance(source, Path)]
    unique = len(set(stems)) == len(stems)
    names = []
    for place, (name, source) in enumerate(given):
        if name is not None:
            names.append(name)
        elif isinstance(source, Report):
            names.append(ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1))
        else:
            folder = "" if unique else f"{source.absolute().parent.name}/"
            names.append(folder + source.stem)
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        same = [source for name, (_, source) in zip(names, given, strict=True) if name == again]
        files = [path for path in same if isinstance(path, Path)]
        if twice := next((path for path in files if files.count(path) > 1), None):
            raise UsageError("the same file is given twice", where=twice, fix="give every file once")
        system, colon, of_set = again.partition(":")
        words = [f"{system}@{n}{colon}{of_set}={path}" for n, path in enumerate(same, 1) if isinstance(path, Path)]
        fix = "give other names, or number the runs of a system: "
        fix += " ".join(map(shlex.quote, words)) if of_command() else f"{words}"
        if len(words) < len(same) - 1:  # the names are those in a table
            fix = "give the report of each system instead of the table"
        raise UsageError(f"two reports are called '{again}'", fix=fix)
    return names


def comparable(
    systems: Sequence[System],
    metrics: Names | None,
    force: bool | None,
    *,
    of_queries: bool = True,
    of_sets: Mapping[str, Sequence[System]] | None = None,
    paired: bool = True,
) -> tuple[list[Key], tuple[str, ...], tuple[str, ...]]:
    """The metrics and directions that comparable systems share, with notes and warnings.

    Args:
        systems, metrics, force: as for ``check_comparable`` and ``shared_keys``.
        of_queries: leave out hubness metrics, which have no per-query values.
        of_sets: the systems by test set, if they are of several, which ``sets_and_runs`` compares.
        paired: their queries are paired, so that the order of rows without ids counts.

    Raises:
        UsageError: no metric of queries is left; as ``check_comparable`` and ``shared_keys``.
    """
    groups = [systems] if of_sets is None else list(of_sets.values())
    differing = [text for group in groups for text in check_comparable(group, force, mean=len(groups) > 1)]
    keys, left_out = shared_keys(systems, metrics)
    if of_queries and (lost := [key for key in keys if key[0].family.of_lists]):
        keys = [key for key in keys if key not in lost]
        if not keys:
            raise UsageError("hubness metrics have no per-query values", fix="choose other metrics")
        left_out.append(f"left out, because they have no per-query values: {', '.join(map(label, lost))}")
    notes = _said({s.name: s.report.notes for s in systems})
    warnings = _said({s.name: s.report.warnings for s in systems})
    unlike = [text for group in groups * paired for text in _uncorrelated(group, keys)]
    return keys, notes, (*warnings, *differing, *left_out, *unlike)


def row_number_note(systems: Sequence[System]) -> tuple[str, ...]:
    """One note or none: queries of reports without ids are paired by row number."""
    if len(systems) < 2 or not any(_without_ids(s.items) for s in systems):
        return ()
    return ("the items have no ids: they are paired by row number",)


def _without_ids(items: TestSet) -> bool:
    """Whether the items of a report are rows of a set without ids."""
    return items.name == "custom" and all(side.numbered for side in items.sides)


def _uncorrelated(systems: Sequence[System], keys: Sequence[Key]) -> list[str]:
    """Warnings if good systems without ids solve unrelated queries: their rows may be in different orders."""
    first, *others = systems
    out = []
    for other in others:
        if not (_without_ids(first.items) and _without_ids(other.items)):
            continue
        pairs = [(first.results[key], other.results[key]) for key in keys if key[0].family.high == 1]
        found = [r for pair in pairs if (r := _correlation(*pair)) is not None]
        if found and max(r * np.sqrt(n) for r, n in found) < MIN_CORRELATION:
            best, n = max(found)
            both = f"{first.name} and {other.name} solve unrelated queries (r = {best:.2f}, {n:,} queries)"
            out.append(f"{both}: rows are paired by number and may be in different orders")
    return out


def _correlation(one: Measurement, other: Measurement) -> tuple[float, int] | None:
    """The correlation of the values of two good systems by query, and the number of queries; None if few tell."""
    a, b = one.per_query, other.per_query
    if a is None or b is None or len(a) != len(b) or len(a) < MIN_QUERIES:
        return None
    if not all(MIN_VALUE <= r.value <= 1 - MIN_VALUE / 4 and float(x.std()) > 0 for r, x in ((one, a), (other, b))):
        return None
    return float(np.corrcoef(a, b)[0, 1]), len(a)


def _said(lines: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The lines of all systems, each once and the first ones first; those that not all have with their names."""
    of: dict[str, tuple[int, list[str]]] = {}
    for name, said in lines.items():
        for place, line in enumerate(said):
            of.setdefault(line, (place, []))[1].append(name)
    found = sorted(of.items(), key=lambda one: one[1][0])
    return tuple(line if len(names) == len(lines) else f"{', '.join(names)}: {line}" for line, (_, names) in found)


def check_comparable(
    systems: Sequence[System], force: bool | None = False, also: Collection[str] = (), mean: bool = False
) -> list[str]:
    """Warnings about systems that were measured in different ways; ``force`` warns instead of refusing.

    Args:
        systems: at least one.
        force: whether they may differ; None for a caller that has no such option.
        also: fields of signatures that may differ, although they are among ``signature.rules``.
        mean: they are reports of one of several sets.

    Raises:
        UsageError: the signatures differ in a field that changes values (named).
    """
    warnings = []
    first = systems[0]
    own, rules = signature.read(first.report.signature), signature.rules(first.report.signature)
    for other in systems[1:]:
        others, theirs = signature.read(other.report.signature), signature.rules(other.report.signature)
        versions = [fields.get("vsebench") for fields in (others, own)]
        if versions[0] != versions[1]:
            warnings.append(f"{other.name} was evaluated by vsebench {versions[0]}, {first.name} by {versions[1]}")
        # a field that only one has is about metrics, or kinds of input, that the other does not have
        for field in rules:
            if field in (signature.CORRECTED, *also) or field not in theirs or rules[field] == theirs[field]:
                continue
            what = f"{field} is '{theirs[field]}' for {other.name} and '{rules[field]}' for {first.name}"
            if not force:
                of_set = field == "split"
                ways = ["evaluate both on one test set" if of_set else "evaluate both with the same settings"]
                if of_set and not mean:
                    several = "vsebench compare --mean" if of_command() else "vb.compare(REPORTS, mean=True)"
                    ways.append(f"{several} compares over several sets, given as SYSTEM:SET=FILE")
                if force is not None:
                    ways.append(f"{spell('force', True)} compares {'the shared queries' if of_set else 'them anyway'}")
                fix = "; ".join(ways)
                raise NotComparable(f"the systems were evaluated differently: {what}", where=other.where, fix=fix)
            warnings.append(f"evaluated differently: {what}")
        how = [fields.get(signature.CORRECTED, "none") for fields in (theirs, rules)]
        if how[0] != how[1]:
            warnings.append(f"the score corrections differ: {other.name} {how[0]}, {first.name} {how[1]}")
        for name, fields in ((first.name, rules), (other.name, theirs)):
            if fields.get("short") == "miss":
                warnings.append(f"{name} counts relevant items that are not in its retrieved lists as not found")
    return list(dict.fromkeys(warnings))


def shared_keys(systems: Sequence[System], names: Names | None) -> tuple[list[Key], list[str]]:
    """The metrics and directions that all systems have, and a warning about those that only some have.

    Args:
        systems: to be compared.
        names: names and suites, as a list or separated by commas, or None for everything.

    Returns:
        The shared keys, in the order of ``names`` or of the first system; and no or one warning.

    Raises:
        UsageError: a metric that was named is missing in a report, or nothing is left.
    """
    of_each = [{key_of(r) for r in s.report.results} for s in systems]
    everything = list(dict.fromkeys(key_of(r) for s in systems for r in s.report.results))
    shared = [k for k in everything if all(k in keys for keys in of_each)]
    warnings = []
    if names is None:
        chosen = shared
        partial = [label(k) for k in everything if k not in set(shared)]
        if partial:
            warnings.append(f"left out, because not every report has them: {', '.join(partial)}")
    else:
        chosen = [key for word in words(names) if shared for key in _keys_of(word, shared, systems, of_each)]
    if not chosen:
        raise UsageError(
            "the reports have no metric in common", fix=f"evaluate the same {spell('metrics')} for every system"
        )
    return list(dict.fromkeys(chosen)), warnings


def _keys_of(word: str, shared: Sequence[Key], systems: Sequence[System], of_each: Sequence[set[Key]]) -> list[Key]:
    """The shared keys of a name or suite."""
    metrics = _metrics_of(word, shared)
    of_name = [k for k in shared if k[0].name.lower() == word.lower()]  # nDCG@10 of any judgements
    found = [k for k in shared if k[0] in metrics] or (of_name if len({k[0] for k in of_name}) == 1 else [])
    if found:
        return found
    without = [s for s, keys in zip(systems, of_each, strict=True) if not any(k[0] in metrics for k in keys)]
    if not without:
        raise UsageError(f"no direction of {word} is in all reports", fix="evaluate the same directions")
    names = list(dict.fromkeys(str(metric) for metric, _ in shared))
    near = closest(word, names) or names[:8]
    fix = f"evaluate it with {spell('metrics', word)}, or take one that all reports have, such as {', '.join(near)}"
    raise UsageError(f"has no {word}", where=without[0].where, fix=fix)


def _metrics_of(word: str, shared: Sequence[Key]) -> set[Metric]:
    """The metrics of a name or suite; graded ones in every graded view that the reports have."""
    if word.lower() == "all":
        return {metric for metric, _ in shared}
    views = list(dict.fromkeys(metric.view for metric, _ in shared))
    binary, graded = [v for v in views if not is_gains(v)], [v for v in views if is_gains(v)]
    found = [expand([word], binary, (view,)) for view in graded or [DEFAULT_GAINS]]
    return {metric for metrics in found for metric in metrics}


def parts_of(key: Key, system: System) -> list[Key]:
    """The results that a sum adds up (in both directions), or the key itself when it is no sum.

    Raises:
        BadInput: the report lacks a part.
    """
    metric, direction = key
    parts = metric.parts()
    if direction is not None or not parts:
        return [key]
    keys: list[Key] = [(part, d) for part in parts for d in ("i2t", "t2i")]
    missing = [k for k in keys if k not in system.results]
    if missing:
        raise BadInput(f"{metric} lacks its part {label(missing[0])}", where=system.where, fix="evaluate it again")
    return keys


def column_of(key: Key, system: System, images: TestSet) -> Column:
    """The values of one system, its images numbered as in ``images``; queries of other images are left out."""
    return _numbered(column(_with_values(key, system), system.items), system.items, images)


def paired_columns(key: Key, first: System, second: System, images: TestSet) -> tuple[Column, Column]:
    """The values of two systems on the queries that both have, in one order, images numbered as in ``images``.

    Raises:
        BadInput: they share no query.
    """
    a, b = _with_values(key, first), _with_values(key, second)
    at = places(b.queries, a.queries)  # type: ignore[arg-type]
    both = at >= 0
    left, other = column(a, first.items), column(b, second.items)
    right = replace(left, values=b.per_query[at])  # type: ignore[index]
    pair = [_numbered(c if both.all() else subset(c, both), first.items, images) for c in (left, right)]
    influences = pair[0].influence, _numbered(other, second.items, images).influence
    if both.all() and len(at) == len(b.queries) and all(i is not None for i in influences):  # type: ignore[arg-type]
        pair = [replace(c, influence=i) for c, i in zip(pair, influences, strict=True)]
    else:
        pair = [replace(c, influence=None) for c in pair]
    if not len(pair[0].values):
        what = f"no query of {label(key)} is also in {first.where}"
        raise BadInput(what, where=second.where, fix="evaluate one split")
    return pair[0], pair[1]


def on_shared_queries(systems: Sequence[System], keys: Sequence[Key]) -> tuple[Sequence[System], list[str]]:
    """The systems with their values on the queries that all have, without intervals; and no or one warning.

    Systems that have the same queries are as they were.

    Raises:
        BadInput: they share no query.
    """
    items = systems[0].items
    found: list[dict[Key, Measurement]] = [{} for _ in systems]
    counts: dict[tuple[int, int], list[str]] = {}
    for key in dict.fromkeys(part for one in keys for part in parts_of(one, systems[0]) if not one[0].family.of_lists):
        if any(s.results[key].queries is None for s in systems):
            continue
        own = [np.asarray(_with_values(key, s).queries) for s in systems]
        if all(np.array_equal(own[0], other) for other in own[1:]):
            continue
        common = [np.all([places(other, one) >= 0 for other in own], axis=0) for one in own]
        if all(kept.all() for kept in common):
            continue
        if not common[0].any():
            what = f"no query of {label(key)} is also in {systems[0].where}"
            raise BadInput(what, where=next(s.where for s in systems[1:]), fix="evaluate one split")
        counts.setdefault((int(common[0].sum()), max(map(len, own))), []).append(label(key))
        for of, system, kept in zip(found, systems, common, strict=True):
            result = system.results[key]
            values = _numbered(subset(column(result, system.items), kept), system.items, items)
            value = float(plain_values(prepare([values], population(items)))[0])
            of[key] = replace(
                result, value=value, n=int(kept.sum()), undefined=0, interval=None, ties=None, influence=None,
                queries=result.queries[kept], per_query=result.per_query[kept],  # type: ignore[index]
            )  # fmt: skip
    if not counts:
        return systems, []
    said = [
        f"compared on the {n:,} queries that all systems have, of {most:,}: {', '.join(names)}"
        for (n, most), names in counts.items()
    ]
    return [_with_results(system, of, keys) for system, of in zip(systems, found, strict=True)], said


def _with_results(system: System, found: dict[Key, Measurement], keys: Sequence[Key]) -> System:
    """The system with other results, and with the sums of these."""
    every = {**system.results, **found}
    for key in keys:
        if (parts := parts_of(key, system)) != [key] and any(part in found for part in parts):
            value = key[0].weight * sum(every[part].value for part in parts)
            found[key] = replace(every[key], value=value, interval=None, ties=None)
    report = system.report
    results, summed = (tuple(found.get(key_of(r), r) for r in own) for own in (report.results, report.parts))
    return replace(system, report=replace(report, results=results, parts=summed, intervals=None))


def _with_values(key: Key, system: System) -> Measurement:
    result = system.results[key]
    if result.per_query is None or result.queries is None:
        raise BadInput(f"has no per-query values of {label(key)}", where=system.where, fix="evaluate it again")
    return result


def _numbered(values: Column, items: TestSet, images: TestSet) -> Column:
    """The same column with its images numbered as in ``images`` instead of ``items``."""
    if items is images or np.array_equal(items.rows.ids, images.rows.ids):
        return values
    of_item = places(images.rows.ids, items.rows.ids)
    at, influence = of_item[values.image], None
    if values.influence is not None and len(of_item) == len(images.rows.ids) and (of_item >= 0).all():
        influence = np.empty_like(values.influence)
        influence[:, of_item] = values.influence
    kept = at >= 0
    return replace(values, values=values.values[kept], image=at[kept], influence=influence)


def subset(values: Column, kept: Bool) -> Column:
    """The queries where ``kept`` (query,); the influence of the images on these alone is not known."""
    return replace(values, values=values.values[kept], image=values.image[kept], influence=None)
