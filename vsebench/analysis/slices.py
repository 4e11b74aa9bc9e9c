"""Metrics in bins of their queries: by caption length, number of positives, category or a column of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ..arguments import public
from ..errors import UsageError
from ..evaluation.intervals import Key, interval, label, population, queries_alone
from ..files.ids import places
from ..metrics.suites import words
from ..options import check_word, spell
from ..results.model import Resampling
from ..results.slices import Bin, Breakdown, Slices
from ..results.values import SIDE
from ..sets.captions import Captions
from ..stats import bootstrap
from ..stats.columns import plain_values, prepare
from ..types import Direction, Split
from . import attributes
from .attributes import Attribute, NotApplicable
from .bins import masks, read_bins
from .systems import Names, Reports, System, alike, by_number, column_of, load_systems, subset

By = Literal["length", "positives", "category", "column"]
BY = get_args(By)


@public
def slice(
    reports: Reports,
    by: By,
    *,
    metrics: Names = "R@1",
    direction: Direction | Literal["both"] = "both",
    file: str | PathLike[str] | None = None,
    column: str | None = None,
    captions: Captions | None = None,
    bins: int | str | Sequence[float] = 5,
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
        reports: one or several files (``NAME=FILE`` names a system) or ``Report`` objects, or a mapping from names to
            them; all with per-query values.
        by: ``length`` (words of the caption), ``positives`` (number of relevant items), ``category`` (labels in
            ``file``, an item may have several) or ``column`` (of ``file``).
        metrics: names and suites, as a list or separated by commas.
        direction: ``both`` for all that there are, or ``i2t``, ``t2i``, ``i2i`` or ``t2t``.
        file: CSV, TSV, parquet or JSON lines with a column of ids (``id``, ``image_id`` or ``caption_id``).
        column: of ``file``; None for ``category``, ``label`` or the only one.
        captions: for ``length``: a file of captions (.jsonl, .txt), or a list of them in the order of the ids, for
            splits whose captions are not known.
        bins: how many bins of about equal size numbers are cut into, or their edges: a bin extends from an edge up to
            the next, which is in the bin only if it is the last.
        top: how many slices of a metric a table shows.
        ci: level of the intervals in percent.
        resamples: how many resamples an interval is made of.
        seed: of what is drawn at random.
        force: also systems that were not measured alike.
        threads: how many compute; never changes a result.

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
        >>> slices.to_frame()[["slice", "n", "images"]].values.tolist()
        [['5', 50, 50]]
    """
    _check(by, direction, file, captions)
    how, cut = Resampling(float(ci), resamples, seed), read_bins(bins)
    systems = load_systems(reports)
    keys, _, warnings = alike(systems, metrics, force)
    keys = [k for k in keys if direction in ("both", k[1]) and k[1] is not None]
    if not keys:
        raise UsageError(
            f"{', '.join(words(metrics))} has no value for a query", fix="slice R@1 or another metric of queries"
        )
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
    left_out = (f"left out: {', '.join(names)}: {why}" for why, names in unfit.items())
    graded = [str(m) for m, _ in keys if m.graded]
    notes = (*by_number(systems), *([queries_alone(graded)] if graded else []))
    names_of = tuple(s.name for s in systems)
    return Slices(systems[0].report.split, names_of, tuple(found), how, (*warnings, *left_out), top, notes)


def _check(by: str, direction: str, file: object, captions: object) -> None:
    check_word("by", by, BY)
    check_word("direction", direction, ("both", "i2t", "t2i", "i2i", "t2t"))
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
    by: str, file: str | PathLike[str] | None, column: str | None, captions: Captions | None, items: Split
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
    cut: int | list[float],
    how: Resampling,
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
        at = places(items.ids(SIDE[direction]), system.results[key].queries)  # type: ignore[arg-type]
        columns.append((column_of(key, system, items), at[at >= 0]))
    bins = {name: [subset(values, mask[at]) for values, at in columns] for name, mask in inside.items()}
    bins = {name: parts for name, parts in bins.items() if all(len(part.values) for part in parts)}
    if not bins:
        what = f"no query of {label(key)} is in any slice by {of_queries.name}"
        raise NotApplicable(what, fix="check the edges or the file")
    ready = prepare([part for parts in bins.values() for part in parts], population(items))
    values = plain_values(ready).reshape(len(bins), -1)
    ends = bootstrap.percentile(bootstrap.resample(ready, how.resamples, how.seed, threads), how.level / 100)
    ends = ends.reshape(len(bins), -1, 2)
    found = []
    for i, (name, parts) in enumerate(bins.items()):
        images = len(np.unique(parts[0].image))
        pairs = [None] * len(parts) if images < 2 else [interval(pair) for pair in ends[i]]  # one image: no variation
        found.append(Bin(name, len(parts[0].values), images, tuple(values[i].tolist()), tuple(pairs)))
    n, n_outside = systems[0].results[key].n, int(outside[columns[0][1]].sum())
    everywhere = tuple(s.results[key].value for s in systems)
    return Breakdown(metric, direction, of_queries.name, tuple(found), everywhere, n, n_outside)
