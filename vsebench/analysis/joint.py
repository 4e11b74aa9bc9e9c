"""A joint table of systems, from their reports."""

from __future__ import annotations

from collections.abc import Sequence

from ..arguments import public
from ..data.splits.sets import language_of
from ..report.comparison import DIRECTIONS
from ..report.joint import Joint
from ..report.wide import Column
from .systems import Names, OneReport, Reports, System, alike, chosen, load_systems

BY_LANGUAGE = ("split", "captions")  # fields of signatures


@public
def joint(
    reports: Reports, *more: OneReport, metrics: Names | None = None, details: bool = False, force: bool = False
) -> Joint:
    """Several systems in one table: a row a system, a column a metric and direction, the best values in bold.

    Reports on the languages of one test set (``xflickrco:de``, ``xflickrco:ja``) become a table of one system: a row a
    language, and behind them their mean.

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
    systems = load_systems(reports, more)
    languages = _languages(systems)
    also = BY_LANGUAGE if languages else ()
    keys, notes, warnings = alike(systems, metrics, force, of_queries=False, also=also)
    if metrics is None:
        keys = [key for key in keys if key[0].unit != "rank"] or keys
    columns: list[Column] = sorted(keys, key=lambda key: DIRECTIONS.index(key[1]))
    split = systems[0].report.split
    return Joint(
        split.partition(":")[0] if languages else split, languages or tuple(s.name for s in systems),
        tuple(s.report for s in systems), tuple(columns), chosen(metrics), details, notes, warnings, bool(languages),
    )  # fmt: skip


def _languages(systems: Sequence[System]) -> tuple[str, ...]:
    """The language of every report, where they are several of one test set, each once; otherwise none."""
    found = [language_of(s.report.split) for s in systems]
    known = [each for each in found if each is not None]
    distinct = len(known) == len(found) > 1 and len({name for name, _ in known}) == 1 and len(set(known)) == len(known)
    return tuple(language for _, language in known) if distinct else ()
