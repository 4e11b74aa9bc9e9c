"""Metrics in bins of their queries: by caption length, number of positives, category or a column of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from ..errors import UsageError, count_of
from ..evaluation.assemble import Key, interval, label, population, queries_alone
from ..files.ids import places
from ..files.regular import read_once
from ..log import logged
from ..metrics.suites import words
from ..options import check_word, public, spell
from ..results import table
from ..results.charts import Mark, Panel, file_of, heading
from ..results.model import ARROWS, SIDE, UNITS, MetricName, Resampling, interval_words, units_of
from ..results.render import Drawn
from ..results.table import Entry, Table, Text, Value, arrow, named, sentences
from ..sets.match import Captions
from ..stats import bootstrap
from ..stats.columns import plain_values, prepare
from ..types import Direction, TestSet
from . import attributes
from .attributes import Attribute, NotApplicable
from .bins import masks, read_bins
from .systems import Names, Reports, System, alike, by_number, column_of, load_systems, subset

By = Literal["length", "positives", "category", "column"]
BY = get_args(By)
EVERY, OUTSIDE = "all queries", "in no slice"  # rows of a table that are no slices
LEAST = 20  # queries of a slice that has bars: the value of fewer says little


@dataclass(frozen=True)
class Bin:
    """One slice.

    Attributes:
        label: its number, range or category.
        n: queries of the first system.
        images: images they belong to.
        values, intervals: one a system.
    """

    label: str
    n: int
    images: int
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...]


@dataclass(frozen=True)
class Breakdown:
    """One metric in one direction, in bins.

    Attributes:
        metric, direction: as in a ``Measurement``.
        by: the attribute of the queries that the bins are made of.
        bins: the slices; a query with several labels is in several.
        values: over all queries, one a system.
        n: all queries of the first system.
        outside: those that are in no slice.
    """

    metric: MetricName
    direction: Direction
    by: str
    bins: tuple[Bin, ...]
    values: tuple[float, ...]
    n: int
    outside: int


@dataclass(frozen=True, repr=False)
class Slices(Drawn):
    """Metrics in bins of their queries.

    Attributes:
        split, systems: what was evaluated.
        breakdowns: one a metric and direction.
        how: the resampling of the intervals, None without them.
        warnings: what may be wrong.
        top: how many slices of a breakdown a table shows.
        notes: what was decided.
    """

    kind = "slices"
    heading: ClassVar = "Slices of {split}"
    main = "slices"
    settings: ClassVar = ("split", "systems", "how")
    split: str
    systems: tuple[str, ...]
    breakdowns: tuple[Breakdown, ...]
    how: Resampling | None
    warnings: tuple[str, ...]
    top: int = 30
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """One table a metric and direction, of at most ``top`` slices; the last row has all queries."""
        words = UNITS if self.how is None else f"{UNITS} {interval_words(self.how, units_of(self.breakdowns))}."
        return [*(self._table(b) for b in self.breakdowns), sentences(words)]

    @property
    def panels(self) -> list[Panel]:
        """A panel a metric: its values in every slice of at least 20 queries (``LEAST``), the directions in one."""
        groups: dict[str, list[Breakdown]] = {}
        for b in self.breakdowns:
            groups.setdefault(str(b.metric), []).append(b)
        return [panel for group in groups.values() if (panel := self._panel(group)).marks]

    def _panel(self, group: Sequence[Breakdown]) -> Panel:
        metric, of = group[0].metric, group[0].by
        marks = tuple(mark for b in group for mark in self._marks(b))
        percent = metric.unit == "fraction"
        title = f"{metric.name}{arrow(metric.higher_is_better)} · {heading(metric.view)}"
        name = file_of(metric.view, metric.name, f"by-{of}")
        return Panel(name, title, "slices", of, f"{metric.name}{' × 100' * percent}", marks, percent)

    def _marks(self, b: Breakdown) -> list[Mark]:
        shown = [s for s in b.bins[: self.top] if s.n >= LEAST]
        left = len(b.bins[: self.top]) - len(shown)
        group = f"{ARROWS[b.direction]} by {b.by}" + f", without {left} of fewer than {LEAST} queries" * (left > 0)
        return [
            Mark(i, f"{s.label} ({s.n:,})", value, ends, group)
            for s in shown
            for i, (value, ends) in enumerate(zip(s.values, s.intervals, strict=True))
        ]

    def _table(self, b: Breakdown) -> Table:
        unit = b.metric.unit
        rows: list[tuple[Entry, ...]] = [
            (
                Text(s.label, {"slice": s.label, "images": s.images}),
                Value(s.n, "count"),
                *(Value(v, unit, e) for v, e in zip(s.values, s.intervals, strict=True)),
            )
            for s in b.bins
        ]
        rows.append((EVERY, Value(b.n, "count"), *(Value(v, unit) for v in b.values)))
        if b.outside:
            rows.append((OUTSIDE, Value(b.outside, "count"), *(Value(None, unit) for _ in b.values)))
        notes = []
        hidden = frozenset(range(self.top, len(b.bins)))
        if hidden:
            counted = count_of(len(hidden), "further slice is", "further slices are")
            notes.append(f"{counted} not shown ({spell('top')}).")
        title = f"{self.split} · {named(b.metric).shown} ({ARROWS[b.direction]}) by {b.by}"
        systems = (table.Column(name, fields={"system": name}) for name in self.systems)
        columns = (table.Column(b.by, "slice", words=True), table.Column("queries", "n"), *systems)
        fields = {"metric": str(b.metric), "direction": b.direction, "by": b.by}
        return Table("slices", title, columns, tuple(rows), fields, hidden=hidden, notes=tuple(notes))


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
    top: int = 30,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Slices:
    """Metrics in every bin of an attribute of their queries.

    A metric that the attribute does not apply to is left out, and named in the warnings.

    Args:
        reports: saved reports with per-query values; NAME=FILE names a system. In Python also ``Report``
            objects, one by one or as a list, or a mapping from names to them.
        by: ``length`` (words of the caption), ``positives`` (number of relevant items), ``category`` (labels in
            ``file``, an item may have several) or ``column`` (of ``file``).
        metrics: names and suites, separated by commas. A list of them works too. R@1 by default, or all metrics of
            reports that have judgements of their own instead.
        direction: ``both`` for all that there are, or ``i2t``, ``t2i``, ``i2i``, ``t2t`` or ``query2corpus``.
        file: CSV, TSV, parquet or JSON lines with a column of ids (``id``, ``image_id`` or ``caption_id``).
        column: the column of ``file`` to slice by; by default ``category``, ``label`` or the only one.
        captions: for ``length``: a file of captions (.jsonl, .txt), or a list of them in the order of the ids, for
            splits whose captions are not known.
        bins: how many bins of about equal size numbers are cut into, 5 by default, or their edges: a bin extends from
            an edge up to the next, which is in the bin only if it is the last.
        top: how many slices of a metric a table shows.
        ci: level of the intervals in percent; 0 for none.
        resamples: resamples an interval is made of.
        seed: fixes what is drawn at random.
        force: compare even if the evaluation settings differ.
        threads: threads of the kernels; never changes a result.

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
    keys, _, warnings = alike(systems, metrics, force)
    sums = [str(metric) for metric, d in keys if d is None]
    keys = [k for k in keys if k[1] is not None]
    if not keys:
        raise UsageError(
            f"{', '.join(words(metrics) or ['all'])} has no value for a query",
            fix="slice R@1 or another metric of queries",
        )
    ways = list(dict.fromkeys(str(d) for _, d in keys))
    keys = [k for k in keys if direction in ("both", k[1])]
    if not keys:
        raise UsageError(
            f"{spell('direction', direction)}, and the reports have {' and '.join(ways)}", fix="leave it out"
        )
    with logged() as log, read_once():
        attribute = _attribute(by, file, column, captions, systems[0].items)
    found: list[Breakdown] = []
    unfit: dict[str, list[str]] = {}
    first: NotApplicable | None = None
    for key in keys:
        try:
            found.append(_breakdown(systems, key, attribute(key), cut, how, threads))
        except NotApplicable as error:
            first = first or error
            unfit.setdefault(error.what, []).append(label(key))
    if first is not None and not found:
        raise first
    unfit |= {"a sum has no value for a query": sums} if sums and metrics is not None else {}
    left_out = (f"left out: {', '.join(names)}: {why}" for why, names in unfit.items())
    graded = [str(m) for m, _ in keys if m.graded]
    notes = (*by_number(systems), *log.notes, *([queries_alone(graded, units=units_of(found))] if graded else []))
    names_of = tuple(s.name for s in systems)
    return Slices(systems[0].report.split, names_of, tuple(found), how, (*warnings, *left_out), top, notes)


def _check(by: str, direction: str, file: object, captions: object) -> None:
    check_word("by", by, BY)
    check_word("direction", direction, ("both", *SIDE))
    if (file is not None) != (by in ("category", "column")):
        what = (
            f"{spell('by', by)} needs a file"
            if file is None
            else f"{spell('file')} has no meaning with {spell('by', by)}"
        )
        raise UsageError(
            what, fix=f"give {spell('file', 'FILE')}" if file is None else "leave it out, or slice by column"
        )
    if captions is not None and by != "length":
        raise UsageError(
            f"{spell('captions')} has no meaning with {spell('by', by)}", fix="leave it out, or slice by length"
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


def _breakdown(
    systems: Sequence[System],
    key: Key,
    attribute: Attribute,
    cut: int | list[float] | None,
    how: Resampling | None,
    threads: int | None,
) -> Breakdown:
    """One metric in every bin.

    Raises:
        NotApplicable: no query is in a bin, or the attribute does not apply to them.
    """
    metric, direction = key
    if direction is None:
        raise UsageError(f"{metric} is a sum and has no value for a query", fix="slice its parts, such as R@1")
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
    values = plain_values(ready).reshape(len(bins), -1)
    chosen = (0.0, 0, 0) if how is None else (how.level, how.resamples, how.seed)
    ends = bootstrap.intervals(ready, *chosen, threads).reshape(len(bins), -1, 2)
    found = []
    for i, (name, parts) in enumerate(bins.items()):
        images = len(np.unique(parts[0].image))
        pairs = [None] * len(parts) if images < 2 else [interval(pair) for pair in ends[i]]  # one image: no variation
        name = f"'{name}'" if name in (EVERY, OUTSIDE) else name
        found.append(Bin(name, len(parts[0].values), images, tuple(values[i].tolist()), tuple(pairs)))
    n, n_outside = systems[0].results[key].n, int(outside[columns[0][1]].sum())
    everywhere = tuple(s.results[key].value for s in systems)
    return Breakdown(metric, direction, of_queries.name, tuple(found), everywhere, n, n_outside)
