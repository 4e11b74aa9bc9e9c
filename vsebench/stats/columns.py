"""Columns of per-query values over a population of images, and their values under weights of the images.

An image is the unit of every resample and of every permutation, together with all queries that belong to it: the five
captions of an image are not five independent observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..types import Float, Int
from . import kernels


@dataclass(frozen=True, eq=False)
class Population:
    """The images.

    Attributes:
        images: how many.
        fold: (image,) int64, non-decreasing, or None. Folded columns are averaged over folds.
    """

    images: int
    fold: Int | None = None

    def edges(self, folded: bool) -> Int:
        """(stratum + 1,) int64: where the folds begin and end; all images are one stratum without folds."""
        if not folded or self.fold is None:
            return np.array([0, self.images], np.int64)
        return np.concatenate([[0], np.flatnonzero(np.diff(self.fold)) + 1, [self.images]]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """The per-query values of one metric in one direction.

    Attributes:
        values: (query,) float64, finite.
        image: (query,) int64, the image each query belongs to.
        folded: the value is the mean over folds of the value inside a fold.
        median: the value is floor(median), as for MedR, instead of the mean.
    """

    values: Float
    image: Int
    folded: bool = False
    median: bool = False


@dataclass(frozen=True, eq=False)
class _Means:
    """Columns that are means over the same strata: sums and numbers of queries by image."""

    which: Int  # (c,) indices of the columns
    edges: Int
    sums: Float  # (image, c)
    counts: Float  # (image, distinct)
    count_of: Int  # (c,) column of ``counts``


@dataclass(frozen=True, eq=False)
class _Median:
    """One column that is a median: its values in ascending order, cut by stratum."""

    which: int
    strata: tuple[tuple[Float, Int, Float], ...]  # values, image, (image,) queries


@dataclass(frozen=True, eq=False)
class Prepared:
    """Columns prepared for evaluation under many weightings of the images."""

    population: Population
    size: int
    parts: tuple[_Means | _Median, ...]
    folded: tuple[bool, ...]  # of each part
    sums: tuple[tuple[int, ...], ...]

    @property
    def width(self) -> int:
        """Number of values: one a column, then one a sum."""
        return self.size + len(self.sums)


def prepare(columns: Sequence[Column], population: Population, sums: Sequence[Sequence[int]] = ()) -> Prepared:
    """Per-image sums and counts of all columns.

    Args:
        columns: the metrics.
        population: the images.
        sums: for every sum (such as RSum) the indices of the columns that it adds up.
    """
    parts: list[_Means | _Median] = []
    folded: list[bool] = []
    for in_folds in (False, True):
        chosen = [i for i, c in enumerate(columns) if c.folded == in_folds]
        edges = population.edges(in_folds)
        if means := [i for i in chosen if not columns[i].median]:
            parts.append(_means(means, columns, population.images, edges))
            folded.append(in_folds)
        for i in chosen:
            if columns[i].median:
                parts.append(_median(i, columns[i], population.images, edges))
                folded.append(in_folds)
    return Prepared(population, len(columns), tuple(parts), tuple(folded), tuple(tuple(s) for s in sums))


def evaluate(ready: Prepared, plain: Float, folded: Float | None) -> Float:
    """The value of every column and sum when every image counts as often as its weight.

    Args:
        ready: the columns.
        plain: (block, image) float64 integer weights, for columns over all images.
        folded: (block, image) weights for folded columns; None where there are none.

    Returns:
        (block, column + sum) float64. A fold without queries is left out of the mean over folds; NaN where no query is
        left at all.
    """
    out = np.empty((len(plain), ready.width))
    for part, in_folds in zip(ready.parts, ready.folded, strict=True):
        weights = folded if in_folds and folded is not None else plain
        if isinstance(part, _Median):
            out[:, part.which] = _weighted_median(part, weights)
        else:
            out[:, part.which] = _weighted_means(part, weights)
    for place, parts in enumerate(ready.sums, start=ready.size):
        out[:, place] = out[:, list(parts)].sum(axis=1)
    return out


def per_image(column: Column, images: int) -> tuple[Float, Float]:
    """(image,) float64 sums of the values of an image's queries, and (image,) numbers of its queries."""
    total = np.bincount(column.image, weights=column.values, minlength=images)
    return total.astype(np.float64), np.bincount(column.image, minlength=images).astype(np.float64)


def _means(which: list[int], columns: Sequence[Column], images: int, edges: Int) -> _Means:
    sums = np.empty((images, len(which)))
    counts: list[Float] = []
    known: dict[bytes, int] = {}
    count_of = np.empty(len(which), np.int64)
    for place, i in enumerate(which):
        total, count = per_image(columns[i], images)
        sums[:, place] = _on_a_grid(total)
        key = count.tobytes()
        if key not in known:
            known[key] = len(counts)
            counts.append(count)
        count_of[place] = known[key]
    return _Means(np.array(which), edges, sums, np.stack(counts, axis=1), count_of)


def _on_a_grid(sums: Float) -> Float:
    """``sums`` rounded to multiples of a power of two so large that no sum over resampled images is rounded.

    The result then does not depend on the order in which a BLAS adds. The grid is finer than 1e-11 for 5,000 images.
    """
    largest = float(np.abs(sums).max(initial=0.0)) * len(sums)
    if largest == 0.0:
        return sums
    step = 2.0 ** (np.ceil(np.log2(largest)) - 52)
    return np.asarray(np.round(sums / step) * step)


def _weighted_means(part: _Means, weights: Float) -> Float:
    total = np.zeros((len(weights), len(part.which)))
    strata = np.zeros_like(total)
    for low, high in pairwise(part.edges.tolist()):
        inside = weights[:, low:high]
        count = (inside @ part.counts[low:high])[:, part.count_of]
        value = inside @ part.sums[low:high]
        some = count > 0
        np.divide(value, count, out=value, where=some)
        total += np.where(some, value, 0.0)
        strata += some
    with np.errstate(invalid="ignore"):
        return np.asarray(total / strata)


def _median(which: int, column: Column, images: int, edges: Int) -> _Median:
    strata = []
    for low, high in pairwise(edges.tolist()):
        inside = (column.image >= low) & (column.image < high)
        values, image = column.values[inside], column.image[inside]
        order = np.argsort(values, kind="stable")
        strata.append((values[order], image[order], np.bincount(image, minlength=images).astype(np.float64)))
    return _Median(which, tuple(strata))


def _weighted_median(part: _Median, weights: Float) -> Float:
    total, strata = np.zeros(len(weights)), np.zeros(len(weights))
    for values, image, count in part.strata:
        middle = np.empty(len(weights))
        kernels.weighted_medians(values, image, weights, weights @ count, middle)
        middle = np.floor(middle - 1) + 1
        some = ~np.isnan(middle)
        total[some] += middle[some]
        strata += some
    with np.errstate(invalid="ignore"):
        return np.asarray(total / strata)
