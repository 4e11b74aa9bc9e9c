"""From results to intervals: per-query values as columns that are resampled together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

import numpy as np

from ..errors import BadInput
from ..files.ids import places
from ..metrics import Metric
from ..relevance.sources import in_folds
from ..results import table
from ..results.model import Resampling, Result
from ..results.values import SIDE
from ..stats import bootstrap
from ..stats.columns import Column, Population, prepare
from ..types import Direction, Float, TestSet

Key = tuple[Metric, Direction | None]
GRID = 1e-10  # precision of the resamples


def key_of(result: Result) -> Key:
    """The metric and direction of a result that ``evaluate`` or ``analysis.systems.load`` made."""
    return cast(Metric, result.metric), result.direction


def label(key: Key) -> str:
    """A metric and direction as in a message: ``R@1 i2t``."""
    return table.label(*key)


def is_median(metric: Metric) -> bool:
    """Whether a metric is a median, which is not resampled: it has no interval and no test."""
    return metric.family.aggregate == "floor-median"


def population(split: TestSet) -> Population:
    """The images of a split, the unit of every resample; and the captions, where they have no image of their own."""
    return Population(len(split.rows.ids) + (len(split.columns.ids) if split.image_of is None else 0), split.row_folds)


def column(result: Result, split: TestSet) -> Column:
    """The per-query values of a result with the image of every query.

    Args:
        result: with per-query values.
        split: the items it is about.

    Raises:
        BadInput: the result has no per-query values, or names queries that the split does not have.
    """
    if result.per_query is None or result.queries is None or result.direction is None:
        raise BadInput(f"{result.metric} has no per-query values", fix="leave it out")
    side = SIDE[result.direction]
    at = places(split.side(side).ids, result.queries)
    if len(at) and at.min() < 0:
        raise BadInput(f"{result.metric} names {side}s that are not in split '{split.name}'")
    metric = key_of(result)[0]
    return Column(
        result.per_query,
        split.units[side == "caption"][at],
        folded=split.row_folds is not None
        and (in_folds(metric.view) or split.in_folds or dict(metric.options).get("on") in ("folds", "block")),
        median=is_median(metric),
        influence=result.influence,
    )


def add(
    results: Mapping[Key, Result],
    members: Mapping[Key, Sequence[Key]],
    split: TestSet,
    how: Resampling,
    threads: int | None = None,
    grid: float = GRID,
) -> dict[Key, Result]:
    """All results with their intervals, from one set of resamples.

    A median has none, and neither has a result whose queries belong to fewer than two images, or are not all known.

    Args:
        results: elementary results and sums.
        members: for every sum the results it adds up.
        split: whose images are resampled.
        how: level, number, seed and method.
        threads: never changes a result.
        grid: an end this close to the value, relative to it, is set to the value.
    """
    base = [key for key, r in results.items() if r.per_query is not None and len(r.per_query) == r.n]
    place = {key: i for i, key in enumerate(base)}
    sums = [key for key in members if all(part in place for part in members[key])]
    columns = [column(results[key], split) for key in base]
    ready = prepare(columns, population(split), [{place[part]: 1.0 for part in members[key]} for key in sums])
    samples = bootstrap.resample(ready, how.resamples, how.seed, threads)
    level = how.level / 100
    ends = bootstrap.bca(ready, samples, level) if how.method == "bca" else bootstrap.percentile(samples, level)
    alone = [len(c.image) < 2 or c.image.min() == c.image.max() for c in columns]
    lonely = [*alone, *(any(alone[place[part]] for part in members[key]) for key in sums)]
    out = dict(results)
    for key, pair, single in zip(chain(base, sums), ends, lonely, strict=True):
        # resamples are made on a grid; an end that is the value but for the grid is the value
        known = results[key].value
        # an influence is a slope, which can lead out of the range of the metric
        pair = np.clip(pair, key[0].family.low, key[0].family.high)
        pair = np.where(np.abs(pair - known) <= grid * max(1.0, abs(known)), known, pair)
        out[key] = replace(results[key], interval=None if single else interval(pair))
    return out


def without(results: Mapping[Key, Result]) -> list[str]:
    """One note or none on results with per-query values, but for medians, that have no interval."""
    missing = [key for key, r in results.items() if r.per_query is not None and r.interval is None]
    names = [label(key) for key in missing if not is_median(key[0])]
    return [f"no interval of {some_names(names)}: the queries are of fewer than two images"] if names else []


def of_queries_alone(results: Iterable[Result]) -> list[str]:
    """No or one note about graded metrics whose interval leaves out the influence of the images as candidates."""
    names = [str(r.metric) for r in results if r.interval is not None and r.influence is None and reads_gains(r)]
    return [queries_alone(names)] if names else []


def reads_gains(result: Result) -> bool:
    """Whether a result with per-query values is of a graded metric."""
    return result.per_query is not None and key_of(result)[0].graded


def queries_alone(names: Iterable[str], what: str = "intervals") -> str:
    """The note that ``what`` of some metrics leave out the influence of the images as candidates."""
    return (
        f"{what} of {some_names(names)} are of the queries alone and may be too narrow: "
        "other test images would also be other candidates"
    )


def some_names(names: Iterable[str]) -> str:
    """The names of a few metrics, or the first three of many and the number of the others."""
    every = list(dict.fromkeys(names))
    return ", ".join(every) if len(every) < 5 else f"{', '.join(every[:3])} and {len(every) - 3} more metrics"


def interval(ends: Float) -> tuple[float, float] | None:
    """Two ends as plain numbers; None when there are none."""
    low, high = float(ends[0]), float(ends[1])
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
