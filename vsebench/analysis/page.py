"""The page of reports: a summary with charts, single queries, and how far metrics agree, in one file."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import signature
from ..errors import MissingPackage, UsageError, VsebenchError
from ..evaluation.assemble import Key, key_of, label, ranked_by
from ..metrics import Metric
from ..metrics.suites import Names, headlines
from ..options import public
from ..relevance.sources import judgements
from ..results import charts
from ..results.charts import curves
from ..results.explorer import Explorer
from ..results.page import Page, Part
from ..results.report import Report
from ..results.table import Table
from ..sets.match import Captions, with_captions
from ..types import TestSet
from . import page_queries, thumbnails
from .agree import agree
from .compare import tested
from .slices import Slices, slice
from .systems import OneReport, Reports, System, alike, load_systems
from .tests_between import Rules

AGREEING = 3  # systems from which metrics can agree on their order
NAME = 80  # characters of the name of a system; longer ones are cut
OWN = ("gt", "1k")  # views in which a caption has one positive


@public
def page(
    reports: Reports,
    *more: OneReport,
    metrics: Names | None = None,
    captions: Captions | None = None,
    images: str | os.PathLike[str] | None = None,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Page:
    """A page of one or several reports: ``page("A.json").save("report.html")``.

    It has the table of the report, or of the comparison of several with significance, and a row of charts: recall over
    k, and slices by caption length and by the number of positives. Where the reports keep them
    (``evaluate(lists=10)``), the top of the ranking of every query follows, and from three systems the agreement of
    metrics.

    Args:
        reports, more: saved reports with per-query values; NAME=FILE names a system. In Python also ``Report``
            objects, one by one or as a list, or a mapping from names to them.
        metrics: names and suites, as a list or separated by commas; None for all that the reports share.
        captions: a file of captions, or a list of them in the order of the text vectors, for splits whose captions are
            not known here.
        images: the images, for thumbnails: a folder, parquet files or archives, as for ``encode``.
        ci: level of the intervals in percent; 0 for none.
        resamples: resamples an interval is made of.
        seed: fixes what is drawn at random.
        force: compare even if the evaluation settings differ.
        threads: threads of the kernels; never changes a result.

    Raises:
        UsageError: unknown metrics, or systems that were not measured alike.
        BadInput: a report lacks per-query values, or a file cannot be read.
        MissingPackage: thumbnails without Pillow.

    Example:
        >>> import numpy as np
        >>> import vsebench as vb
        >>> images = np.eye(6)
        >>> report = vb.evaluate(images, np.repeat(images, 5, axis=0), metrics="R@1,R@5,MedR", lists=5, trust=True)
        >>> page = vb.page(report)
        >>> page.explorer.k, [panel.name for panel in page.panels]
        (5, ['gt-r-k'])
    """
    systems = load_systems(reports, more)
    names = charts.short_names([s.name for s in systems], NAME)
    systems = [replace(system, name=name) for system, name in zip(systems, names, strict=True)]
    systems, repeated = (systems, ()) if metrics is not None else _once(systems)
    every, _, warnings = alike(systems, metrics, force, of_queries=False)
    keys = [key for key in every if not key[0].family.of_lists]
    split, unknown = _with_captions(systems[0].items, captions)
    same: dict[str, Any] = {"ci": ci, "resamples": resamples, "seed": seed, "force": force, "threads": threads}
    summary = _summary(systems, every, metrics, same)
    found, absent = page_queries.explore(systems, keys, split)
    if images is not None:
        found = _with_thumbnails(found, images, split)
    summary = _with_charts(summary, systems, keys, split, unknown, same)
    summary = replace(summary, notes=(*repeated, *summary.notes))
    agreement = _agreement(systems, metrics or headlines(m for m, _ in keys if m.unit != "rank"), same)
    parts = (summary, *agreement, _identity(systems))
    signatures = tuple(s.report.signature for s in systems)
    return Page(
        systems[0].report.split, tuple(names), signatures, parts, found, absent,
        warnings=tuple(dict.fromkeys([*warnings, *_other_captions(systems, split)])),
    )  # fmt: skip


def _once(systems: list[System]) -> tuple[list[System], tuple[str, ...]]:
    """The systems without the results that are others by definition, and no or one note on these."""
    items, first = systems[0].items, map(key_of, systems[0].report.results)
    shared = [key for key in first if all(key in s.results for s in systems)]
    one_caption = items.image_of is not None and len(np.unique(items.owners)) == len(items.owners)
    twice: dict[Key, Metric] = {}
    for metric, way in shared:
        one_positive = metric.view in OWN and (one_caption or (way == "t2i" and items.image_of is not None))
        other = metric.same_as(one_positive)
        if other is not None and (other, way) in shared:
            twice[metric, way] = other
    if not twice:
        return systems, ()
    named = ", ".join(f"{label(key)} ({other})" for key, other in twice.items())
    return [replace(s, report=_without(s.report, twice)) for s in systems], (
        f"Not repeated, as they are others by definition: {named}.",
    )


def _without(report: Report, keys: Collection[Key]) -> Report:
    """The report with some of its results among those that are only parts of sums."""
    kept = tuple(r for r in report.results if key_of(r) not in keys)
    return replace(report, results=kept, parts=(*report.parts, *(r for r in report.results if key_of(r) in keys)))


def _with_captions(items: TestSet, captions: Captions | None) -> tuple[TestSet, str | None]:
    """The items with their captions, or without and why."""
    try:
        return with_captions(items, captions), None
    except (UsageError, MissingPackage) as error:
        if captions is not None:
            raise
        return items, f"{error.what} ({error.fix})"


def _other_captions(systems: Sequence[System], split: TestSet) -> list[str]:
    """A warning where the gains of a report were computed from other captions than those that are shown."""
    if split.columns.texts is None:
        return []
    shown = signature.captions_fingerprint(split.columns.texts)
    used = {signature.read(s.report.signature).get("captions", shown) for s in systems}
    if used == {shown}:
        return []
    other = ", ".join(sorted(used - {shown}))
    return [f"the captions that are shown ({shown}) are not those of which gains were computed ({other})"]


def _summary(systems: Sequence[System], keys: Sequence[Key], metrics: Names | None, same: dict[str, Any]) -> Part:
    """The tables of one report, or the comparison of several with their own tables to be opened."""
    first = systems[0].report
    if len(systems) == 1:
        wanted = {*keys}
        shown = replace(first, results=tuple(r for r in first.results if key_of(r) in wanted))
        return Part("summary", "Summary", tables=tuple(shown.tables))
    rules = Rules(level=float(same["ci"]), resamples=same["resamples"], seed=same["seed"])
    more = {"force": same["force"], "threads": same["threads"]}
    tables = tuple(tested(systems, metrics, rules, intervals=True, shown=True, runs=False, **more).tables)
    values = [table for table in tables if table.name == "values"]  # of the tested metrics, and of the others
    folded = [("Further metrics, not tested", tuple(values[1:]))] if values[1:] else []
    folded.append(("Tests of every pair of systems", tuple(tables[len(values) :])))
    folded += [(f"All values of {s.name}", tuple(s.report.tables)) for s in systems]
    return Part("summary", "Summary", tables=tuple(values[:1]), folded=tuple(folded))


def _by_name(systems: Sequence[System]) -> dict[str, Any]:
    return {s.name: s.report for s in systems}


def _with_thumbnails(found: Explorer | None, images: str | os.PathLike[str], split: TestSet) -> Explorer | None:
    shown = [] if found is None else page_queries.shown_images(found)
    made, notes = thumbnails.make(images, split, shown)  # wrong images are an error also where nothing shows them
    return None if found is None else replace(found, thumbnails=made, notes=(*found.notes, *notes))


def _with_charts(
    summary: Part,
    systems: Sequence[System],
    keys: Sequence[Key],
    split: TestSet,
    unknown: str | None,
    same: dict[str, Any],
) -> Part:
    """The summary with curves of recall, and headline metrics in slices: by the length of the caption, and by the
    number of positives of judgements with several."""
    notes = (
        []
        if unknown is None or split.one_way
        else [f"There are no captions, and no slices by their length: {unknown}."]
    )
    found: list[Slices] = []
    several = [m for m, d in keys if d is not None and not m.graded and m.view in judgements() and m.view not in OWN]
    wanted: list[tuple[str, list[Any]]] = [("positives", headlines(several)[:2])]
    if unknown is None:
        graded = [m for m, d in keys if d is not None and m.graded]
        own = [m for m, d in keys if d is not None and str(m) == "R@1"]
        wanted.insert(0, ("length", [*own[:1], *headlines(graded)[:1]]))
    for by, metrics in wanted:
        if not metrics:
            continue
        more = {"captions": list(split.columns.texts or ())} if by == "length" else {}
        try:
            found.append(slice(_by_name(systems), by, metrics=metrics, **more, **same))  # type: ignore[arg-type]
        except VsebenchError as error:
            notes.append(f"There are no slices by {by}: {error.what}.")
    tables = tuple((f"Slices by {s.breakdowns[0].by}", tuple(s.tables)) for s in found)
    drawn = curves({key: [s.results[key] for s in systems] for key in keys})
    drawn += [panel for s in found for panel in s.panels[:1]]
    return replace(summary, panels=tuple(drawn), folded=(*summary.folded, *tables), notes=tuple(notes))


def _agreement(systems: Sequence[System], metrics: Names, same: dict[str, Any]) -> list[Part]:
    """No section for fewer systems than can be ordered in more than two ways."""
    title = "Agreement of metrics"
    if len(systems) < AGREEING:
        return []
    try:
        tables = tuple(agree(_by_name(systems), metrics=metrics, **same).tables)
    except UsageError as error:
        return [Part("agreement", title, notes=(f"{error.what}.",))]
    return [Part("agreement", title, tables=tables)]


def _identity(systems: Sequence[System]) -> Part:
    """The signature of every system, with its command and notes."""
    tables = []
    for system in systems:
        facts = system.report.provenance
        command = facts.get("command")
        words = [f"{key}: {facts[key]}" for key in ("started", "vsebench", "python", "platform") if facts.get(key)]
        inputs = facts.get("inputs")
        inputs = inputs if isinstance(inputs, list) else []  # of a file that others may have written
        files = [f"{f.get('file')} (SHA-256 {str(f.get('sha256'))[:16]}…)" for f in inputs if isinstance(f, dict)]
        ranked = ranked_by(facts)
        lines = [
            ", ".join(words), f"files: {', '.join(files)}" if files else "",
            f"ranked by {ranked}" if ranked else "", *system.report.notes,
        ]  # fmt: skip
        if isinstance(chosen := facts.get("settings"), dict) and chosen:
            lines.insert(0, f"settings: {', '.join(f'{key}={value}' for key, value in chosen.items())}")
        if isinstance(command, list):
            lines.insert(0, f"command: {' '.join(map(str, command))}")
        tables.append(Table(title=system.name, notes=tuple(filter(None, lines)), literal=system.report.signature))
    return Part("signature", "Signature and provenance", tables=tuple(tables))
