"""A joint table of systems, from their reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..arguments import public
from ..errors import UsageError
from ..results.comparison import DIRECTIONS
from ..results.joint import Joint, Language, Mean
from ..results.wide import Column
from ..sets.published import SETS, language_of, named_language
from .systems import Names, OneReport, Reports, System, alike, check_comparable, chosen, load_systems

BY_LANGUAGE = ("split", "captions")  # fields of signatures


@public
def joint(
    reports: Reports, *more: OneReport, metrics: Names | None = None, details: bool = False, force: bool = False
) -> Joint:
    """Several systems in one table: a row a system, a column a metric and direction, the best values in bold.

    Reports on the languages of one test set (``xflickrco:de``, ``xflickrco:ja``) become a row a language, and behind
    those of a system their mean. Of several systems the names say which report is whose: ``ours:de``, ``theirs:de``.

    Args:
        reports, more: files (``NAME=FILE`` names a system) or ``Report`` objects, one by one or as a list, or a mapping
            from names to them; all with per-query values.
        metrics: names and suites, as a list or separated by commas; None for all that the reports share but ranks
            (R@1, R@5, R@10 and RSum of an ordinary evaluation).
        details: LaTeX also has a table for each set of judgements or gains, and not only one: of the columns that
            ``metrics`` names, or of the first set.
        force: also systems that were not measured alike.

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
        >>> table.to_frame()["i2t R@1"].tolist()
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
        notes = (*notes, *lacking)
    if metrics is None:
        keys = [key for key in keys if key[0].unit != "rank"] or keys
    columns: list[Column] = sorted(keys, key=lambda key: DIRECTIONS.index(key[1]))
    split = systems[0].report.split
    return Joint(
        split.partition(":")[0] if languages else split, tuple(s.name for s in systems),
        tuple(s.report for s in systems), tuple(columns), chosen(metrics), details, notes, warnings,
        tuple(languages), means,
    )  # fmt: skip


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
