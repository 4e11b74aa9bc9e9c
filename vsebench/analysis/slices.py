"""Systems -> Slices: a metric broken down by something known about its queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..errors import UsageError
from ..evaluation.intervals import Key, interval, population
from ..report.model import Resampling
from ..report.slices import Bin, Slices
from ..report.values import SIDE, places
from ..stats import bootstrap
from ..stats.columns import Column, evaluate, prepare
from ..types import Bool, Float, Ids
from .attributes import Attribute, NotApplicable
from .systems import System, check_alike, own, shown

_AS_THEY_ARE = 10  # distinct whole numbers up to which every one is a bin of its own


def slice_by(
    systems: Sequence[System],
    keys: Sequence[Key],
    attribute: Callable[[Key], Attribute],
    bins: int | Sequence[float] = 5,
    how: Resampling | None = None,
    force: bool = False,
    threads: int | None = None,
) -> list[Slices]:
    """Every metric in every bin of an attribute.

    Args:
        systems: at least one, with per-query values.
        keys: metrics and directions.
        attribute: what to slice by, for a metric and direction (numbers of positives depend on it). Metrics that it
            does not apply to are left out, and named in the warnings of the others.
        bins: how many bins of about equal size numbers are cut into, or the edges: a bin goes from an edge up to the
            next and leaves that one out, except the last. Labels are bins as they are, and so is each infinity
            without edges; what is not a number is in no bin.
        how: resampling of the images for the intervals.
        force: systems that were not measured alike.
        threads: never changes a result.

    Raises:
        UsageError: a sum, or an attribute that no query of any metric has.
        BadInput: a report lacks values that are needed.
    """
    how = how or Resampling()
    warnings = tuple(check_alike(systems, force))
    found: list[Slices] = []
    unfit: dict[str, list[str]] = {}
    first: NotApplicable | None = None
    for key in keys:
        try:
            found.append(_one(systems, key, attribute(key), bins, how, warnings, threads))
        except NotApplicable as error:
            first = first or error
            unfit.setdefault(error.what, []).append(shown(key))
    if first is not None and not found:
        raise first
    left_out = tuple(f"left out: {', '.join(names)}: {why}" for why, names in unfit.items())
    return [replace(s, warnings=(*warnings, *left_out)) for s in found]


def _one(
    systems: Sequence[System],
    key: Key,
    attribute: Attribute,
    bins: int | Sequence[float],
    how: Resampling,
    warnings: tuple[str, ...],
    threads: int | None,
) -> Slices:
    metric, direction = key
    if direction is None:
        raise UsageError(f"{metric} is a sum and has no value for a query", fix="slice its parts, such as R@1")
    images = systems[0].asked
    known = attribute.of_queries(images, direction)
    masks, unknown = _masks(known, bins)
    columns: list[Column] = []
    counts = np.zeros((len(masks), 2), np.int64)
    for place, system in enumerate(systems):
        whole = own(key, system, images)
        at = places(images.ids(SIDE[direction]), _queries(system, key, images.ids(SIDE[direction])))
        for i, mask in enumerate(masks.values()):
            held = mask[at]
            columns.append(Column(whole.values[held], whole.image[held], whole.folded, whole.median))
            if place == 0:
                counts[i] = held.sum(), len(np.unique(whole.image[held]))
    kept = [i for i in range(len(masks)) if all(len(columns[s * len(masks) + i].values) for s in range(len(systems)))]
    if not kept:
        raise NotApplicable(
            f"no query of {shown(key)} is in any slice by {known.name}", fix="check the edges or the file"
        )
    used = [columns[s * len(masks) + i] for i in kept for s in range(len(systems))]
    ready = prepare(used, population(images))
    once = np.ones((1, len(images.image_ids)))
    values = evaluate(ready, once, once)[0]
    ends = bootstrap.percentile(bootstrap.resample(ready, how.resamples, how.seed, threads), how.level / 100)
    labels = list(masks)
    found = []
    for n, i in enumerate(kept):
        span = range(n * len(systems), (n + 1) * len(systems))
        alone = counts[i, 1] < 2
        found.append(
            Bin(
                labels[i],
                int(counts[i, 0]),
                int(counts[i, 1]),
                tuple(float(values[c]) for c in span),
                tuple(None if alone else interval(ends[c]) for c in span),
            )
        )
    first = systems[0].results[key]
    return Slices(
        systems[0].report.split,
        tuple(s.name for s in systems),
        metric,
        direction,
        known.name,
        tuple(found),
        tuple(s.results[key].value for s in systems),
        first.n,
        int(unknown[places(images.ids(SIDE[direction]), _queries(systems[0], key, images.ids(SIDE[direction])))].sum()),
        how,
        warnings,
    )


def _queries(system: System, key: Key, ids: Ids) -> Ids:
    """The queries of a result that are among ``ids``, in its order."""
    queries = system.results[key].queries
    if queries is None:
        raise UsageError(f"{shown(key)} has no per-query values in {system.path}", fix="evaluate it again")
    return np.asarray(queries[places(ids, queries) >= 0])


def _masks(attribute: Attribute, bins: int | Sequence[float]) -> tuple[dict[str, Bool], Bool]:
    """(query,) masks by label, in the order of the bins, and (query,) whether a query is in none."""
    if attribute.labels is not None:
        count: dict[str, int] = {}
        for labels in attribute.labels:
            for label in labels:
                count[label] = count.get(label, 0) + 1
        order = sorted(count, key=lambda label: (-count[label], label))
        masks = {label: np.zeros(len(attribute.labels), bool) for label in order}
        for i, labels in enumerate(attribute.labels):
            for label in labels:
                masks[label][i] = True
    elif attribute.numbers is not None:
        masks = _ranges(attribute.numbers, attribute.whole, bins)
    else:
        raise UsageError(f"'{attribute.name}' holds nothing", fix="choose another column")
    inside = np.any([np.zeros(attribute.size, bool), *masks.values()], axis=0)
    return masks, ~inside


def _ranges(numbers: Float, whole: bool, bins: int | Sequence[float]) -> dict[str, Bool]:
    if not isinstance(bins, int):
        return _between([float(e) for e in bins], numbers, whole)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    finite = numbers[np.isfinite(numbers)]
    if whole and len(distinct) <= _AS_THEY_ARE:
        return {f"{v:,.0f}": numbers == v for v in distinct.tolist()}
    out = {}
    if len(finite):
        # whole numbers are cut between them, so that a bin is what its label says
        levels = np.linspace(0, 1, bins + 1)
        cut = np.quantile(finite, levels, method="higher") if whole else np.quantile(finite, levels)
        out = _between(np.unique(cut).tolist(), numbers, whole)
    # there is nothing between the largest number and infinity to cut, so an infinity is a bin of its own
    low, high = ({f"{end:g}": numbers == end} if end in distinct else {} for end in (-np.inf, np.inf))
    return {**low, **out, **high}


def _between(edges: list[float], numbers: Float, whole: bool) -> dict[str, Bool]:
    if len(edges) < 2:
        return {_label(edges[0], edges[0], whole, True): numbers == edges[0]}
    out = {}
    for low, high in pairwise(edges):
        last = high == edges[-1]
        mask = (numbers >= low) & ((numbers <= high) if last else (numbers < high))
        out[_label(low, high, whole, last)] = mask
    return out


def _label(low: float, high: float, whole: bool, last: bool) -> str:
    if whole and float(low).is_integer() and float(high).is_integer():
        top = high if last else high - 1
        return f"{low:,.0f}" if low == top else f"{low:,.0f} to {top:,.0f}"
    return f"{low:.4g} to {high:.4g}" if last else f"{low:.4g} to below {high:.4g}"
