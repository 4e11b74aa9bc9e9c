"""Metrics in bins of their queries: by caption length, number of positives, category or a column of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ..errors import UsageError, count_of
from ..evaluation.assemble import Key, interval, label, population, queries_alone
from ..files.ids import places
from ..files.regular import read_once
from ..log import logged
from ..metrics.suites import words
from ..options import check_word, public, spell
from ..relevance.sources import heading
from ..results.charts import Mark, Panel, file_of
from ..results.model import ARROWS, SIDE, UNITS, MetricName, Resampling, interval_words, units_of
from ..results.render import Result
from ..results.table import Column, Entry, Table, Text, Value, arrow, named, sentences
from ..sets.match import Captions
from ..stats import bootstrap
from ..stats.columns import plain_values, prepare
from ..types import Direction, TestSet
from . import attributes
from .attributes import Attribute, NotApplicable
from .bins import masks, read_bins
from .systems import Names, Reports, System, column_of, comparable, load_systems, row_number_note, subset

By = Literal["length", "positives", "category", "column"]
BY = get_args(By)
EVERY, OUTSIDE = "all queries", "in no slice"  # rows of a table that are no slices
MAX_SLICES = 30  # slices of a metric that a table shows
MIN_QUERIES = 20  # queries of a slice that has bars: the value of fewer says little


@public
def slice(
    reports: Reports,
    by: By,
    *,
    metrics: Names | None = None,
    direction: Direction | Literal["both"] = "both",
    file: str | PathLike[str] | None = None,
    column: str | None = None,
    captions: Captions | None = None,
    bins: int | str | Sequence[float] | None = None,
    top: int = MAX_SLICES,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Result:
    """Break metrics down by a property of their queries.

    Metrics that the property does not apply to are left out with a warning.

    Args:
        reports: saved reports; NAME=FILE names a system. In Python also ``Report`` objects, one by one or as a list, or
            a mapping from names to them.
        by: ``length`` (words of the caption), positives (number of relevant items), category (labels in ``file``) or
            column.
        metrics: metrics and suites. A list of them works too. R@1 by default, or all metrics of reports that have
            custom judgements instead.
        direction: ``both``, i2t, t2i, i2i, t2t or query2corpus.
        file: table with a column of ids (id, image_id or caption_id): CSV, TSV, parquet or JSON lines.
        column: column of ``file`` to slice by; by default category, label or the only one.
        captions: captions for slices by length, if the test set does not come with them.
        bins: number of bins of about equal size (5 by default), or their edges, such as 0,10,20.
        top: number of slices per metric in the table.
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        force: compare even if the evaluation settings differ.
        threads: number of threads; never changes a result.

    Raises:
        UsageError: unknown names, options that do not fit together, or an attribute that no query has.
        BadInput: a report lacks values that are needed, or a file cannot be read.
        MissingPackage: captions, judgements or parquet need a package that is not installed.

    Example:
        >>> import numpy as np
        >>> import vsebench
        >>> from vsebench.analysis.slices import slice
        >>> rng = np.random.default_rng(0)
        >>> images = rng.standard_normal((50, 8))
        >>> captions = np.repeat(images, 5, axis=0) + rng.standard_normal((250, 8))
        >>> report = vsebench.evaluate(images, captions, captions_per_image=5, metrics="R@1")
        >>> slices = slice(report, "positives", direction="i2t")
        >>> slices.to_frame()[["slice", "n"]].values.tolist()
        [['5', 50], ['all queries', 50]]
    """
    _check(by, direction, file, captions)
    how, cut = Resampling(float(ci), resamples, seed) if ci else None, None if bins is None else read_bins(bins)
    systems = load_systems(reports)
    if metrics is None and any(str(metric) == "R@1" for metric, _ in systems[0].results):
        metrics = "R@1"
    keys, _, warnings = comparable(systems, metrics, force)
    of_queries = [k for k in keys if k[1] is not None]
    if not of_queries:
        raise UsageError(
            f"{', '.join(words(metrics) or ['all'])} has no per-query values",
            fix="slice R@1 or another metric with per-query values",
        )
    ways = list(dict.fromkeys(str(d) for _, d in of_queries))
    if direction not in ("both", *ways):
        raise UsageError(
            f"{spell('direction', direction)}, but the reports have {' and '.join(ways)}", fix="leave it out"
        )
    with logged() as log, read_once():
        attribute = _attribute(by, file, column, captions, systems[0].items)
    chosen = [k for k in of_queries if direction in ("both", k[1])]
    found = slices_of(systems, chosen, attribute, how, cut=cut, top=top, threads=threads)
    sums = [str(metric) for metric, d in keys if d is None and metrics is not None]
    left_out = [f"left out: {', '.join(sums)}: a sum has no per-query values"] if sums else []
    return replace(found, notes=(*log.notes, *found.notes), warnings=(*warnings, *found.warnings, *left_out))


def slices_of(
    systems: Sequence[System],
    keys: Sequence[Key],
    attribute: Callable[[Key], Attribute],
    how: Resampling | None,
    *,
    cut: int | Sequence[float] | None = None,
    top: int = MAX_SLICES,
    threads: int | None = None,
) -> Result:
    """Metrics of queries in bins of an attribute, see ``slice``: one table a metric and direction.

    Args:
        systems, keys: what to slice.
        attribute: gives the attribute of the queries of a metric and direction.
        how: the resampling of the intervals.
        cut: how many bins of about equal size numbers are cut into, or their edges.
        top: how many slices of a metric a table shows.
        threads: threads of the kernels; never changes a result.

    Raises:
        NotApplicable: the attribute does not apply to any of the metrics.
    """
    tables: dict[Key, Table] = {}
    unfit: dict[str, list[str]] = {}
    first: NotApplicable | None = None
    for key in keys:
        try:
            tables[key] = _table(systems, key, attribute(key), cut, how, top, threads)
        except NotApplicable as error:
            first = first or error
            unfit.setdefault(error.what, []).append(label(key))
    if first is not None and not tables:
        raise first
    units = units_of(systems[0].results[key] for key in tables)
    panels = [
        panel
        for metric in dict.fromkeys(metric for metric, _ in tables)
        if (panel := _panel(metric, {d: table for (m, d), table in tables.items() if m == metric})).marks
    ]
    graded = [str(m) for m, _ in keys if m.graded]
    names, split = tuple(s.name for s in systems), systems[0].report.split
    reading = UNITS if how is None else f"{UNITS} {interval_words(how, units)}."
    return Result(
        kind="slices", title=f"Slices of {split}", main="slices", systems=names, panels=panels,
        tables=(*tables.values(), sentences(reading)),
        settings={"split": split, "systems": list(names), "how": None if how is None else asdict(how)},
        notes=(*row_number_note(systems), *([queries_alone(graded, units=units)] if graded else [])),
        warnings=tuple(f"left out: {', '.join(names)}: {why}" for why, names in unfit.items()),
    )  # fmt: skip


def _panel(metric: MetricName, tables: dict[Any, Table]) -> Panel:
    """A metric in every slice of at least ``MIN_QUERIES`` queries that its tables show, the directions in one chart."""
    marks = []
    for direction, table in tables.items():
        slices: list[Any] = [r for i, r in enumerate(table.rows) if isinstance(r[0], Text) and i not in table.hidden]
        large = [row for row in slices if row[1].value >= MIN_QUERIES]
        left = len(slices) - len(large)
        group = f"{ARROWS[direction]} by {table.fields['by']}"
        group += f", without {left} of fewer than {MIN_QUERIES} queries" * (left > 0)
        for name, n, *values in large:
            x = f"{name.shown} ({n.value:,})"
            marks += [Mark(i, x, v.value, v.interval, group) for i, v in enumerate(values)]
    by, percent = next(iter(tables.values())).fields["by"], metric.unit == "fraction"
    title = f"{metric.name}{arrow(metric.higher_is_better)} · {heading(metric.view)}"
    name = file_of(metric.view, metric.name, f"by-{by}")
    return Panel(name, title, "slices", by, f"{metric.name}{' × 100' * percent}", tuple(marks), percent)


def _check(by: str, direction: str, file: object, captions: object) -> None:
    check_word("by", by, BY)
    check_word("direction", direction, ("both", *SIDE))
    if (file is not None) != (by in ("category", "column")):
        what = (
            f"{spell('by', by)} needs a file"
            if file is None
            else f"{spell('file')} cannot be combined with {spell('by', by)}"
        )
        raise UsageError(
            what, fix=f"give {spell('file', 'FILE')}" if file is None else "leave it out, or slice by column"
        )
    if captions is not None and by != "length":
        raise UsageError(
            f"{spell('captions')} cannot be combined with {spell('by', by)}", fix="leave it out, or slice by length"
        )


def _attribute(
    by: str, file: str | PathLike[str] | None, column: str | None, captions: Captions | None, items: TestSet
) -> Callable[[Key], Attribute]:
    """The attribute for a metric and direction; numbers of positives depend on both."""
    if by == "positives":
        return lambda key: attributes.positives(items, key[0].view, key[1] or "i2t")
    if by == "length" or file is None:
        lengths = attributes.caption_length(items, captions)
        return lambda _key: lengths
    from_file = attributes.from_file(Path(file), column, items, several=by == "category")
    return lambda _key: from_file


def _table(
    systems: Sequence[System],
    key: Key,
    attribute: Attribute,
    cut: int | Sequence[float] | None,
    how: Resampling | None,
    top: int,
    threads: int | None,
) -> Table:
    """One metric in every bin (``top`` are shown); the last rows have all queries, and the queries in no bin.

    Raises:
        NotApplicable: no query is in a bin, or the attribute does not apply to them.
    """
    metric, direction = key
    assert direction is not None  # it has values of queries
    items = systems[0].items
    of_queries = attribute.of_queries(items, direction)
    inside, outside = masks(of_queries, cut)
    columns = []
    for system in systems:
        at = places(items.side(SIDE[direction]).ids, system.results[key].queries)  # type: ignore[arg-type]
        columns.append((column_of(key, system, items), at[at >= 0]))
    bins = {name: [subset(values, mask[at]) for values, at in columns] for name, mask in inside.items()}
    bins = {name: parts for name, parts in bins.items() if all(len(part.values) for part in parts)}
    if not bins:
        what = f"no query of {label(key)} is in any slice by {of_queries.name}"
        raise NotApplicable(what, fix="check the edges or the file")
    ready = prepare([part for parts in bins.values() for part in parts], population(items))
    values = plain_values(ready).reshape(len(bins), -1).tolist()
    chosen = (0.0, 0, 0) if how is None else (how.level, how.resamples, how.seed)
    ends = bootstrap.intervals(ready, *chosen, threads).reshape(len(bins), -1, 2)
    unit = metric.unit
    rows: list[tuple[Entry, ...]] = []
    for (name, parts), of_bin, pairs in zip(bins.items(), values, ends, strict=True):
        images = len(np.unique(parts[0].image))
        name = f"'{name}'" if name in (EVERY, OUTSIDE) else name
        one = [None if images < 2 else interval(pair) for pair in pairs]  # one image: no variation
        shares = (Value(v, unit, e) for v, e in zip(of_bin, one, strict=True))
        rows.append((Text(name, {"slice": name, "images": images}), Value(len(parts[0].values), "count"), *shares))
    everywhere = [system.results[key] for system in systems]
    rows.append((EVERY, Value(everywhere[0].n, "count"), *(Value(r.value, unit) for r in everywhere)))
    if left := int(outside[columns[0][1]].sum()):
        rows.append((OUTSIDE, Value(left, "count"), *(Value(None, unit) for _ in systems)))
    hidden, by = frozenset(range(top, len(bins))), of_queries.name
    counted = count_of(len(hidden), "further slice is", "further slices are")
    of_systems = (Column(s.name, fields={"system": s.name}) for s in systems)
    return Table(
        "slices", f"{systems[0].report.split} · {named(metric).shown} ({ARROWS[direction]}) by {by}",
        (Column(by, "slice", words=True), Column("queries", "n"), *of_systems), tuple(rows),
        {"metric": str(metric), "direction": direction, "by": by}, hidden=hidden,
        notes=(f"{counted} not shown ({spell('top')}).",) * bool(hidden),
    )  # fmt: skip
