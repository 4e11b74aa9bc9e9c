"""Systems to be compared: their reports, whether they may be compared, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import signature
from ..errors import BadInput, UsageError
from ..evaluation.intervals import Key, column, key_of
from ..metrics import Metric, parse
from ..metrics.declare import DEFAULT_GAINS, separate
from ..metrics.suites import expand
from ..registry import closest
from ..relevance.judgements.table import JUDGEMENTS
from ..report import document
from ..report.model import Report, Result
from ..report.values import places
from ..stats.columns import Column
from ..types import Bool, Split

# What a signature may differ in: how a system scores is its own affair, and the version is told as a warning.
OWN_FIELDS = ("vsebench", "score")


@dataclass(frozen=True, eq=False)
class System:
    """One evaluated system.

    Attributes:
        name: what tables call it.
        path: its report.
        report: with per-query values.
        asked: the items it was asked about.
    """

    name: str
    path: Path
    report: Report
    asked: Split

    @cached_property
    def results(self) -> dict[Key, Result]:
        """All results, also those that are only parts of a sum."""
        return {key_of(r): r for r in (*self.report.parts, *self.report.results)}


def read_report(path: Path) -> Report:
    """A report; raises BadInput like ``report.document.read``."""
    return document.read(path, parse)


def load(texts: Sequence[str], needed: int = 1) -> list[System]:
    """Systems from ``FILE`` or ``NAME=FILE``; without a name the file's own, with its folder where that is needed.

    Raises:
        UsageError: fewer than ``needed``, or two of one name.
        BadInput: a file is no report, or holds no per-query values.
    """
    if len(texts) < needed:
        raise UsageError(
            f"{len(texts)} report{'s' * (len(texts) != 1)} given, {needed} needed", fix="name more reports"
        )
    named = [_named(t) for t in texts]
    stems = [p.stem for _, p in named]
    names = [
        name or (p.stem if stems.count(p.stem) == 1 else f"{p.absolute().parent.name}/{p.stem}") for name, p in named
    ]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two systems are called '{name}'", fix="give names: NAME=FILE")
    out = []
    for name, (_, path) in zip(names, named, strict=True):
        report = read_report(path)
        if report.asked is None:
            raise BadInput(
                "holds no per-query values, which this command needs",
                where=path,
                fix="make it again with vsebench eval ... --json > FILE (and without --no-per-query)",
            )
        out.append(System(name, path, report, report.asked))
    return out


def check_alike(systems: Sequence[System], force: bool = False) -> list[str]:
    """Warnings about what should not differ; an error about what must not, unless ``force``.

    Raises:
        UsageError: the signatures differ in a field that moves digits (named).
    """
    warnings = []
    first = systems[0]
    rules = signature.read(first.report.signature)
    for other in systems[1:]:
        theirs = signature.read(other.report.signature)
        if theirs.get("vsebench") != rules.get("vsebench"):
            warnings.append(f"{other.name} was evaluated by vsebench {theirs.get('vsebench')}, {first.name} by another")
        for field in rules:
            # a field that only one has is about metrics, or kinds of input, that the other does not have
            if field in OWN_FIELDS or field not in theirs or rules[field] == theirs[field]:
                continue
            what = f"{field} is '{theirs[field]}' for {other.name} and '{rules[field]}' for {first.name}"
            if not force:
                raise UsageError(
                    f"these systems were not measured alike: {what}",
                    where=other.path,
                    fix="evaluate both in the same way; --force compares what they share",
                )
            warnings.append(f"not measured alike: {what}")
        for name, report in ((first.name, rules), (other.name, theirs)):
            if report.get("short") == "miss":
                warnings.append(f"{name} counts what its retrieved lists do not hold as not found")
    return list(dict.fromkeys(warnings))


def shared_keys(systems: Sequence[System], words: str | None) -> tuple[list[Key], list[str]]:
    """The metrics and directions that all systems have, in the order of the first, and those that only some have.

    Args:
        systems: to be compared.
        words: names and families separated by commas, or None for everything.

    Raises:
        UsageError: a metric that was asked for by name is missing in a report, or nothing is left.
    """
    held = [{key_of(r) for r in s.report.results} for s in systems]
    everything = list(dict.fromkeys(key_of(r) for s in systems for r in s.report.results))
    shared = [k for k in everything if all(k in h for h in held)]
    if words is None:
        chosen, partial = shared, [shown(k) for k in everything if k not in set(shared)]
    else:
        chosen, partial = [], []
        for word in separate(words):
            names = _meant(word, shared)
            found = [k for k in shared if k[0] in names]
            if not found:
                lacking = next(
                    (s for s, h in zip(systems, held, strict=True) if not any(k[0] in names for k in h)), None
                )
                if lacking is None:
                    raise UsageError(f"no direction of {word} is in all reports", fix="evaluate the same directions")
                names_of = [str(m) for m in _metrics(shared)]
                near = closest(word, names_of) or names_of[:8]
                raise UsageError(
                    f"does not hold {word}",
                    where=lacking.path,
                    fix=f"evaluate it with --metrics {word}, or take one that all hold, such as {', '.join(near)}",
                )
            chosen += found
    if not chosen:
        raise UsageError("the reports have no metric in common", fix="evaluate the same --metrics for every system")
    return list(dict.fromkeys(chosen)), partial


def _meant(word: str, shared: Sequence[Key]) -> set[Metric]:
    """The metrics that a name or family stands for; graded ones in every graded view that the reports have."""
    if word.lower() == "all":
        return set(_metrics(shared))
    views = list(dict.fromkeys(metric.view for metric, _ in shared))
    binary, graded = [v for v in views if v in JUDGEMENTS], [v for v in views if v not in JUDGEMENTS]
    found = [expand([word], binary, (view,), graded or (view,)) for view in graded or [DEFAULT_GAINS]]
    return {m for metrics in found for m in metrics}


def _metrics(keys: Sequence[Key]) -> dict[Metric, None]:
    return dict.fromkeys(metric for metric, _ in keys)


def members(key: Key, system: System) -> list[Key]:
    """The results that a sum adds up (both directions that were measured), or the key itself."""
    parts = key[0].parts()
    if key[1] is not None or not parts:
        return [key]
    wanted: list[Key] = [(p, d) for p in parts for d in ("i2t", "t2i")]
    lost = [k for k in wanted if k not in system.results]
    if lost:
        raise BadInput(
            f"{key[0]} lacks its part {lost[0][0]} ({lost[0][1]})", where=system.path, fix="evaluate it again"
        )
    return wanted


def own(key: Key, system: System, images: Split) -> Column:
    """The values of one system, its images numbered as in ``images``; queries of other images are left out."""
    return _numbered(column(_full(key, system), system.asked), system.asked, images)


def common(key: Key, first: System, second: System, images: Split) -> tuple[Column, Column]:
    """The values of two systems on the queries that both have, in one order, numbered as in ``images``.

    Raises:
        BadInput: they share no query.
    """
    a, b = _full(key, first), _full(key, second)
    at = places(b.queries, a.queries)  # type: ignore[arg-type]
    both = at >= 0
    mine = column(a, first.asked)
    theirs = replace(mine, values=b.per_query[at])  # type: ignore[index]
    pair = [_numbered(c if both.all() else _only(c, both), first.asked, images) for c in (mine, theirs)]
    if not len(pair[0].values):
        raise BadInput(f"no query of {shown(key)} is also in {first.path}", where=second.path, fix="evaluate one split")
    return pair[0], pair[1]


def _full(key: Key, system: System) -> Result:
    result = system.results[key]
    if result.per_query is None or result.queries is None:
        raise BadInput(f"holds no per-query values of {shown(key)}", where=system.path, fix="evaluate it again")
    return result


def _numbered(c: Column, theirs: Split, images: Split) -> Column:
    if theirs is images or np.array_equal(theirs.image_ids, images.image_ids):
        return c
    at = places(images.image_ids, theirs.image_ids)[c.image]
    return replace(_only(c, at >= 0), image=at[at >= 0])


def _only(c: Column, kept: Bool) -> Column:
    return replace(c, values=c.values[kept], image=c.image[kept])


def shown(key: Key) -> str:
    """A metric and direction in words."""
    return str(key[0]) if key[1] is None else f"{key[0]} ({key[1]})"


def _named(text: str) -> tuple[str | None, Path]:
    name, equals, tail = text.partition("=")
    if equals and name and not Path(text).exists():
        return name, Path(tail)
    return None, Path(text)
