"""Columns of per-query values over a population of images, and their values under weights of the images.

An image is the unit of every resample and of every permutation, together with all queries that belong to it: the five
captions of an image are not five independent observations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..types import Float, Int

Sum = Mapping[int, float]  # index of a column -> how often it counts, such as 1, or -1 in a difference


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
        median: the value is floor(median), as for MedR, instead of the mean; it is not resampled.
        influence: (2, image) float64 of the images as candidates, see ``scaled``; None if it is not known.
    """

    values: Float
    image: Int
    folded: bool = False
    median: bool = False
    influence: Float | None = None


@dataclass(frozen=True, eq=False)
class _Means:
    """Columns that are means over the same strata: sums and numbers of queries by image."""

    which: Int  # (c,) indices of the columns
    edges: Int
    sums: Float  # (image, c)
    counts: Float  # (image, distinct)
    count_of: Int  # (c,) column of ``counts``


@dataclass(frozen=True, eq=False)
class _Influences:
    """What the images add as candidates to some columns and sums."""

    which: Int  # (c,)
    added: Float  # (image, c)
    folded: bool


@dataclass(frozen=True, eq=False)
class Prepared:
    """Columns prepared for evaluation under many weightings of the images."""

    population: Population
    size: int
    parts: tuple[_Means, ...]
    folded: tuple[bool, ...]  # of each part
    sums: tuple[Sum, ...]
    medians: Mapping[int, float]  # index of a column -> its value
    influences: tuple[_Influences, ...]

    @property
    def width(self) -> int:
        """Number of values: one a column, then one a sum."""
        return self.size + len(self.sums)


def prepare(columns: Sequence[Column], population: Population, sums: Sequence[Sum] = ()) -> Prepared:
    """Per-image sums and counts of all columns.

    Args:
        columns: the metrics.
        population: the images.
        sums: for every sum (such as RSum, or a difference of systems) the columns that it adds up.
    """
    parts: list[_Means] = []
    folded: list[bool] = []
    for in_folds in (False, True):
        if means := [i for i, c in enumerate(columns) if c.folded == in_folds and not c.median]:
            parts.append(_means(means, columns, population.images, population.edges(in_folds)))
            folded.append(in_folds)
    medians = {i: median(c, population) for i, c in enumerate(columns) if c.median}
    influences = tuple(_influences(columns, population, sums))
    return Prepared(population, len(columns), tuple(parts), tuple(folded), tuple(sums), medians, influences)


def evaluate(ready: Prepared, plain: Float, folded: Float | None) -> Float:
    """The value of every column and sum when every image counts as often as its weight.

    Args:
        ready: the columns.
        plain: (block, image) float64 integer weights, for columns over all images.
        folded: (block, image) weights for folded columns; None if there are none.

    Returns:
        (block, column + sum) float64. A fold without queries is left out of the mean over folds; NaN if no query is
        left at all, and for medians and sums of them.
    """
    out = np.full((len(plain), ready.width), np.nan)
    for part, in_folds in zip(ready.parts, ready.folded, strict=True):
        weights = folded if in_folds and folded is not None else plain
        out[:, part.which] = _weighted_means(part, weights)
    for place, parts in enumerate(ready.sums, start=ready.size):
        out[:, place] = sum(count * out[:, i] for i, count in parts.items())
    for some in ready.influences:
        weights = folded if some.folded and folded is not None else plain
        out[:, some.which] += (weights - 1) @ some.added
    return out


def plain_values(ready: Prepared) -> Float:
    """(column + sum,) float64 values, every image once."""
    once = np.ones((1, ready.population.images))
    out: Float = evaluate(ready, once, once)[0]
    for place, value in ready.medians.items():
        out[place] = value
    for place, parts in enumerate(ready.sums, start=ready.size):
        out[place] = sum(count * out[i] for i, count in parts.items())
    return out


def median(column: Column, population: Population) -> float:
    """floor(median) of a column, or the mean over folds of that inside a fold; NaN without queries."""
    if not len(column.values):
        return math.nan
    fold = np.searchsorted(population.edges(column.folded), column.image, side="right")
    return float(np.mean([np.floor(np.median(column.values[fold == f] - 1)) + 1 for f in np.unique(fold)]))


def without_image(ready: Prepared) -> Float:
    """(image, column + sum) float64 values without one image at a time; NaN for medians, and where nothing is left."""
    images = ready.population.images
    out = np.full((images, ready.width), np.nan)
    for part in ready.parts:
        out[:, part.which] = _means_without_image(part)
    for place, parts in enumerate(ready.sums, start=ready.size):
        out[:, place] = sum(count * out[:, i] for i, count in parts.items())
    for some in ready.influences:
        out[:, some.which] -= some.added
    return out


def contributions(column: Column, population: Population) -> Float:
    """(image,) float64: what every image adds to the mean, or mean over folds, of a column."""
    total, counts = per_image(column, population.images)
    edges = population.edges(column.folded)
    fold = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    queries = np.bincount(fold, weights=counts)
    return np.asarray(total / (np.maximum(queries, 1) * max(1, (queries > 0).sum()))[fold])


def influence(columns: Sequence[Column], counts: Sequence[float], population: Population) -> Float | None:
    """(image,) float64: what every image adds as a candidate to a sum of means, in the scale of ``scaled``.

    Args:
        columns: the means, all or none in folds.
        counts: how often each of them counts.
        population: the images.

    Returns:
        None if a column has no influences.
    """
    known = [count * c.influence for c, count in zip(columns, counts, strict=True) if c.influence is not None]
    if len(known) < len(columns) or not known:
        return None
    edges = population.edges(columns[0].folded)
    direct = np.sum([count * _centred(c, population) for c, count in zip(columns, counts, strict=True)], axis=0)
    return scaled(direct, np.sum(known, axis=0), edges)


def scaled(direct: Float, halves: Float, edges: Int) -> Float:
    """(image,) float64 influences, in a scale in which direct + influences has the variance of the mean.

    Let n images be the queries (with their captions) and the candidates, o_i what the queries of image i contribute to
    the mean, and g_j the influence of image j as a candidate on the queries of all others (``graded.influence``). The
    variance of the mean over fresh samples of images is, to first order, that of the sum of o_i + g_i. But the product
    g_j^2 holds the pairs of images (i, j) that decide by chance, which o_i holds already: a jackknife over images
    counts them twice (Efron and Stein, The Jackknife Estimate of Variance, 1981), and its intervals are up to 1.5 times
    too wide. Products of influences from two halves of the query images, a_j and b_j, have no such terms, so the
    variance is estimated by

        sum o_i^2 + max(0, 2 sum o_j g_j + 4 sum a_j b_j),    g = a + b

    which is at least that of the queries alone.

    Args:
        direct: (image,) what the queries of an image contribute to the mean, less the mean contribution.
        halves: (2, image) influences as candidates, from two halves of the query images.
        edges: (stratum + 1,) int64 where folds of images begin and end; resamples are drawn within them.
    """
    halves = np.array(halves, np.float64)
    for low, high in pairwise(edges.tolist()):
        if high > low:
            halves[:, low:high] -= halves[:, low:high].mean(axis=1, keepdims=True)
    first, second = halves
    both = first + second
    square, cross = math.fsum(both**2), math.fsum(direct * both)  # the order in which a BLAS adds changes digits
    if square == 0.0:
        return np.zeros(len(direct))
    target = max(0.0, 2 * cross + 4 * math.fsum(first * second))
    # the root of scale^2 square + 2 scale cross = target
    scale = (math.sqrt(cross**2 + square * target) - cross) / square
    return np.asarray(both * scale, np.float64)


def _centred(column: Column, population: Population) -> Float:
    """(image,) contributions less what the queries of the image would add if all values were the mean of their fold."""
    edges = population.edges(column.folded)
    fold = np.searchsorted(edges, column.image, side="right") - 1
    mean = np.bincount(fold, weights=column.values) / np.maximum(np.bincount(fold), 1)
    return contributions(replace(column, values=column.values - mean[fold]), population)


def _influences(columns: Sequence[Column], population: Population, sums: Sequence[Sum]) -> Iterator[_Influences]:
    """Those of all columns and sums that have some."""
    found: dict[bool, dict[int, Float]] = {False: {}, True: {}}
    every: list[Sum] = [*({i: 1.0} for i in range(len(columns))), *sums]
    for place, parts in enumerate(every):
        chosen = [columns[i] for i in parts]
        added = influence(chosen, list(parts.values()), population)
        if added is not None:
            found[chosen[0].folded][place] = _on_a_grid(added)
    for folded, of_columns in found.items():
        if of_columns:
            yield _Influences(np.array(list(of_columns)), np.stack(list(of_columns.values()), axis=1), folded)


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
    mantissa, exponent = np.frexp(largest)  # the next power of 2, by no logarithm: these differ between processors
    step = np.ldexp(1.0, int(exponent) - (mantissa == 0.5) - 52)
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


def _means_without_image(part: _Means) -> Float:
    """(image, c) means over folds, the fold of the image without it."""
    counts = part.counts[:, part.count_of]
    edges = part.edges[:-1]
    total, number = np.add.reduceat(part.sums, edges), np.add.reduceat(counts, edges)  # of every fold
    fold = np.repeat(np.arange(len(edges)), np.diff(part.edges))
    mean = np.divide(total, number, out=np.zeros_like(total), where=number > 0)
    left = number[fold] - counts
    left_mean = np.divide(total[fold] - part.sums, left, out=np.zeros_like(counts), where=left > 0)
    some = (number > 0).sum(axis=0) - (number[fold] > 0) + (left > 0)  # folds that have queries
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(some > 0, (mean.sum(axis=0) - mean[fold] + left_mean) / some, np.nan))
