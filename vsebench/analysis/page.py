"""The page of reports: a summary with charts, single queries, and how far metrics agree, in one file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from .. import signature
from ..errors import MissingPackage, UsageError, VsebenchError
from ..evaluation.assemble import Key, key_of, label, ranked_by
from ..metrics import Metric
from ..metrics.suites import Names, headlines
from ..options import public
from ..relevance.sources import judgements
from ..results import charts
from ..results import page as pages
from ..results.model import Resampling
from ..results.page import Part
from ..results.render import Result
from ..results.report import Report
from ..results.table import Table, visible
from ..sets.match import Captions, with_captions
from ..types import TestSet
from . import attributes, page_queries, thumbnails
from .agree import agreement_of
from .compare import tested
from .sets_and_runs import arrange
from .slices import slices_of
from .systems import OneReport, Reports, System, comparable, load_systems
from .tests_between import Rules

MIN_SYSTEMS_TO_AGREE = 3  # systems from which metrics can agree on their order
MAX_NAME_LENGTH = 80  # characters of the name of a system; longer ones are cut
ONE_POSITIVE_VIEWS = ("gt", "1k")  # views in which a caption has one positive


@public
def page(
    reports: Reports,
    *more: OneReport,
    metrics: Names | None = None,
    captions: Captions | None = None,
    images: str | os.PathLike[str] | None = None,
    title: str | None = None,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Result:
    """A page of one or several reports: ``page("A.json").save("report.html")``.

    It has the table of the report, or of the comparison of several with significance, and a row of charts: recall over
    k, and slices by caption length and by the number of positives. Where the reports keep them
    (``evaluate(lists=10)``), the top of the ranking of every query follows, and from three systems the agreement of
    metrics.

    Args:
        reports, more: saved reports; NAME=FILE names a system. In Python also ``Report`` objects, one by one or as a
            list, or a mapping from names to them.
        metrics: metrics and suites; by default all that the reports share.
        captions: captions, if the test set does not come with them.
        images: images for thumbnails: a folder, parquet files or archives, as for encode.
        title: heading of the page; the test set by default.
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        force: compare even if the evaluation settings differ.
        threads: number of threads; never changes a result.

    Raises:
        UsageError: unknown metrics, or systems that were evaluated differently.
        BadInput: a report lacks per-query values, or a file cannot be read.
        MissingPackage: thumbnails without Pillow.

    Example:
        >>> import numpy as np
        >>> import vsebench as vb
        >>> images = np.eye(6)
        >>> report = vb.evaluate(images, np.repeat(images, 5, axis=0), metrics="R@1,R@5,MedR", lists=5, trust=True)
        >>> page = vb.page(report)
        >>> page.settings["explorer"]["items"], page.settings["charts"]
        (5, ['gt-r-k'])
    """
    systems = load_systems(reports, more)
    names = charts.short_names([s.name for s in systems], MAX_NAME_LENGTH)
    systems = [replace(system, name=name) for system, name in zip(systems, names, strict=True)]
    systems, repeated = (systems, ()) if metrics is not None else _once(systems)
    every, _, warnings = comparable(systems, metrics, force, of_queries=False)
    keys = [key for key in every if not key[0].family.of_lists]
    split, unknown = _with_captions(systems[0].items, captions)
    how = Resampling(float(ci), resamples, seed) if ci else None
    rules = Rules(level=float(ci), resamples=resamples, seed=seed)
    summary, tables = _summary(systems, every, metrics, rules, force, threads)
    found, left_out = page_queries.explore(systems, keys, split)
    if images is not None:
        first = [] if found is None else page_queries.shown_images(found, split)
        made, notes = thumbnails.make(images, split, first)  # wrong images are an error also where nothing shows them
        if found is not None:
            found, left_out = found | {"thumbnails": made}, [*left_out, *notes]
    summary = _with_charts(summary, systems, keys, split, unknown, how, threads)
    summary = replace(summary, notes=(*repeated, *_runs_apart(systems), *summary.notes))
    agreeing = keys if metrics is not None else _keys_of(headlines(m for m, _ in keys if m.unit != "rank"), keys)
    parts = (summary, *_agreement(systems, agreeing, how, threads), _identity(systems))
    of_set = systems[0].report.split
    heading = (title or "").strip() or f"Evaluation on {of_set}"
    warned = tuple(dict.fromkeys([*warnings, *_other_captions(systems, split)]))
    panels = tuple(panel for part in parts for panel in part.panels)
    return Result(
        kind="page", title=heading, main="results" if len(systems) == 1 else "tests", panels=panels,
        tables=tables,
        systems=tuple(names), page=partial(pages.page, heading, names, parts, found, left_out, warned),
        settings={
            "split": of_set, "systems": names, "signatures": [s.report.signature for s in systems],
            "parts": [part.title for part in parts], "charts": [panel.name for panel in panels],
            "explorer": None if found is None else page_queries.facts_of(found),
        },
        notes=(*(note for part in parts for note in part.notes), *left_out),
        warnings=warned,
    )  # fmt: skip


def _keys_of(metrics: Iterable[Metric], keys: Sequence[Key]) -> list[Key]:
    """The keys of some metrics, in the order of these."""
    return [key for metric in metrics for key in keys if key[0] == metric]


def _once(systems: list[System]) -> tuple[list[System], tuple[str, ...]]:
    """The systems without the results that are others by definition, and no or one note on these."""
    items, first = systems[0].items, map(key_of, systems[0].report.results)
    shared = [key for key in first if all(key in s.results for s in systems)]
    one_caption = items.image_of is not None and len(np.unique(items.owners)) == len(items.owners)
    twice: dict[Key, Metric] = {}
    for metric, way in shared:
        one_positive = metric.view in ONE_POSITIVE_VIEWS and (
            one_caption or (way == "t2i" and items.image_of is not None)
        )
        other = metric.same_as(one_positive)
        if other is not None and (other, way) in shared:
            twice[metric, way] = other
    if not twice:
        return systems, ()
    named = ", ".join(f"{label(key)} ({other})" for key, other in twice.items())
    return [replace(s, report=_without(s.report, twice)) for s in systems], (
        f"Metrics that are equal by definition appear once: {named}.",
    )


def _runs_apart(systems: Sequence[System]) -> Iterator[str]:
    """Notes on systems with runs."""
    for group in arrange(systems).groups:
        if len(group.runs) > 1:
            seeds = ", ".join(group.seeds)
            yield f"Runs of {group.name} ({seeds}) are separate systems here; vsebench compare shows their mean."


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
    """A warning if the gains of a report were computed from other captions than the page shows."""
    if split.columns.texts is None:
        return []
    shown = signature.captions_fingerprint(split.columns.texts)
    used = {signature.read(s.report.signature).get("captions", shown) for s in systems}
    if used == {shown}:
        return []
    other = ", ".join(sorted(used - {shown}))
    return [f"the captions shown ({shown}) differ from the captions that the gains were computed from ({other})"]


def _summary(
    systems: Sequence[System],
    keys: Sequence[Key],
    metrics: Names | None,
    rules: Rules,
    force: bool,
    threads: int | None,
) -> tuple[Part, list[Table]]:
    """The tables of one report, or the comparison of several with their own tables to be opened; and their records."""
    report = systems[0].report
    if len(systems) == 1:
        wanted = {*keys}
        shown = replace(report, results=tuple(r for r in report.results if key_of(r) in wanted))
        return Part("summary", "Summary", tables=shown.tables), [*shown.tables]
    tables = tested(
        systems, metrics, rules, intervals=True, shown=True, runs=False, force=force, threads=threads
    ).tables
    seen = visible(tables)
    first = [table for table in seen if table.name == seen[0].name]  # values with marks, or tests of two systems
    tests = [table for table in seen if table not in first]
    folded: list[tuple[str, Sequence[Table]]] = [("Tests of every pair of systems", tests)] if tests else []
    folded += [(f"All values of {s.name}", s.report.tables) for s in systems]
    records = [table if table in first else replace(table, shown=False) for table in tables]
    return Part("summary", "Summary", tables=tuple(first), folded=tuple(folded)), records


def _with_charts(
    summary: Part,
    systems: Sequence[System],
    keys: Sequence[Key],
    split: TestSet,
    unknown: str | None,
    how: Resampling | None,
    threads: int | None,
) -> Part:
    """The summary with curves of recall, and headline metrics in slices: by the length of the caption, and by the
    number of positives of judgements with several."""
    notes = [] if unknown is None or split.one_way else [f"No slices by caption length: {unknown}."]
    of_queries = [(m, d) for m, d in keys if d is not None]
    several = [m for m, _ in of_queries if not m.graded and m.view in judgements() and m.view not in ONE_POSITIVE_VIEWS]
    wanted: dict[str, list[Metric]] = {"positives": headlines(several)[:2]}
    if unknown is None:
        own = [m for m, _ in of_queries if str(m) == "R@1"]
        wanted = {"length": [*own[:1], *headlines(m for m, _ in of_queries if m.graded)[:1]], **wanted}
    found: list[Result] = []
    for by, metrics in wanted.items():
        if not metrics:
            continue
        try:
            lengths = attributes.caption_length(split) if by == "length" else None
            attribute = partial(_attribute, lengths, split)
            found.append(slices_of(systems, _keys_of(metrics, of_queries), attribute, how, threads=threads))
        except VsebenchError as error:
            notes.append(f"No slices by {by}: {error.what}.")
    tables = tuple((f"Slices by {s.tables[0].fields['by']}", s.tables) for s in found)
    drawn = charts.curves({key: [s.results[key] for s in systems] for key in keys})
    drawn += [panel for s in found for panel in s.panels[:1]]
    return replace(summary, panels=tuple(drawn), folded=(*summary.folded, *tables), notes=tuple(notes))


def _attribute(lengths: attributes.Attribute | None, split: TestSet, key: Key) -> attributes.Attribute:
    """The length of captions, or the number of positives of a metric."""
    return lengths or attributes.positives(split, key[0].view, key[1] or "i2t")


def _agreement(
    systems: Sequence[System], keys: Sequence[Key], how: Resampling | None, threads: int | None
) -> list[Part]:
    """No section for fewer systems than can be ordered in more than two ways."""
    title = "Agreement of metrics"
    if len(systems) < MIN_SYSTEMS_TO_AGREE:
        return []
    try:
        tables = agreement_of(systems, keys, how, threads=threads).tables
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
