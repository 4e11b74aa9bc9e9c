"""Two systems on the same queries: whether the difference is more than chance, and how large it is.

Under the hypothesis that two systems are equally good, swapping their values of an image changes nothing. The test
swaps them at random, all captions of an image together, and counts how often the difference is at least as large.
Fisher, The Design of Experiments, 1935; Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests
for Information Retrieval Evaluation, CIKM 2007.

Training runs of two systems are not paired. Under the same hypothesis any of the runs may be of either system: the test
divides them anew, and counts how often the difference of the means is at least as large.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..numeric.parallel import default_threads, one_blas_thread, spread
from ..types import Bool, Float, Int
from . import columns, kernels
from .columns import Column, Population

_BLOCK_BYTES = 6 << 20  # of the permutations that one thread processes together
_ALL_BLOCKS_BYTES = 48 << 20  # blocks of all threads
# Closer differences, relative to the sum of all that can be swapped, count as equal: sums are rounded.
_RELATIVE_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Effect:
    """How large a difference is, oriented: positive, or above one half, means that the second is better.

    Attributes:
        standardised: mean over images of the difference, the sum over the queries of each, divided by its standard
            deviation, within test sets if there are several (Cohen's d of paired values); None when every image differs
            by the same amount, or there is only one image.
        superiority: share of the queries on which the second is better, ties counted half.
        wins, ties, losses: queries on which the second is better, equal and worse.
        error: standard error of the difference.
    """

    standardised: float | None
    superiority: float
    wins: int
    ties: int
    losses: int
    error: float


def contributions(first: Column, second: Column, population: Population) -> Float:
    """(image,) float64: what the queries of every image add to the value of ``second`` minus that of ``first``.

    Args:
        first, second: means over the same queries in the same order.
        population: the images.
    """
    return columns.contributions(replace(first, values=second.values - first.values), population)


def permutation_test(changes: Float, permutations: int, seed: int, threads: int | None = None) -> tuple[Float, Bool]:
    """Two-sided p-values of differences that are sums over images.

    Args:
        changes: (image, test) float64, see ``contributions``.
        permutations: how many random ones. When the images that differ have no more than this many permutations in
            all, every one of them is counted and the p-value is exact; otherwise it is
            (1 + those as extreme) / (1 + permutations).
        seed: of the permutations, which all tests share.
        threads: never changes a result.

    Returns:
        (test,) p-values, and (test,) whether they are exact.
    """
    p, exact = np.ones(changes.shape[1]), np.zeros(changes.shape[1], bool)
    differing = (changes != 0).sum(axis=0)
    for test in np.flatnonzero(_few(differing, permutations)):
        p[test], exact[test] = _exact_share(changes[changes[:, test] != 0, test]), True
    many = np.flatnonzero(~exact)
    sampled = changes[:, many]

    def count(signs: Float) -> Int:
        return np.asarray(_extreme(signs @ sampled, sampled).sum(axis=0), np.int64)

    if len(many):
        p[many] = _share(count, len(changes), len(many), permutations, seed, threads)
    return p, exact


def smallest_p(differing: int, permutations: int) -> float:
    """The smallest p-value of a test of systems that differ on so many images; 1 when they do not differ."""
    if _few(np.array([differing]), permutations)[0]:
        return min(1.0, 2.0 ** (1 - differing))  # all swaps that change every difference are as extreme as none
    return 1 / (1 + permutations)


def effect(first: Column, second: Column, changes: Float, higher_is_better: bool) -> Effect:
    """How large the difference is, see ``Effect``.

    Args:
        first, second: values of the same queries in the same order.
        changes: (image,) contributions.
        higher_is_better: which way is better.
    """
    sign = 1.0 if higher_is_better else -1.0
    better = sign * (second.values - first.values)
    has_queries = np.bincount(first.image, minlength=len(changes)) > 0
    return _effect(better, sign * changes[has_queries])


def effect_of_images(changes: Float, fold: Int | None = None) -> Effect:
    """The effect of a sum over metrics, which has no value for a query: wins, ties and losses count images.

    Args:
        changes: (image,) contributions, oriented.
        fold: (image,) non-decreasing; images are drawn within folds, so that only deviations within them count.
    """
    return _effect(changes, changes, fold)


def _effect(better: Float, changes: Float, fold: Int | None = None) -> Effect:
    wins, losses = int((better > 0).sum()), int((better < 0).sum())
    ties = len(better) - wins - losses
    parts = [changes] if fold is None else np.split(changes, np.flatnonzero(np.diff(fold)) + 1)
    # of the sum of the changes
    error = math.sqrt(sum(len(part) * float(part.var(ddof=1)) for part in parts if len(part) > 1))
    width = error / math.sqrt(max(1, len(changes)))
    mean = float(changes.mean()) if len(changes) else 0.0
    # a constant difference has a standard deviation of rounding errors only
    standardised = mean / width if width > 1e-12 * abs(mean) else (0.0 if mean == 0 else None)
    return Effect(standardised, (wins + 0.5 * ties) / max(1, len(better)), wins, ties, losses, error)


def detectable(error: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test finds with probability ``power``.

    With the differences d of n queries it is (z(1 - alpha/2) + z(power)) sd(d) / sqrt(n).

    >>> round(detectable(0.3 / 1000**0.5), 4)
    0.0266

    Args:
        error: standard error of the difference.
        alpha: p-values up to it are called significant; before a correction for many tests.
        power: between 0 and 1.
    """
    from scipy.special import ndtri

    return float((ndtri(1 - alpha / 2) + ndtri(power)) * error)


def queries_needed(difference: float, deviation: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """How many queries a two-sided test needs to find a difference with probability ``power``.

    >>> queries_needed(0.01, deviation=0.3)
    7064

    Args:
        difference: the true one, such as 0.01 for one point.
        deviation: standard deviation of the differences of single queries; ``error`` times the root of ``n`` in the
            tests of ``vsebench compare``, if every query is of another image.
        alpha, power: as for ``detectable``.
    """
    return math.ceil((detectable(deviation, alpha, power) / difference) ** 2)


def t_interval(values: Sequence[float], level: float) -> tuple[float, float] | None:
    """The t interval of the mean of some runs; None for a single one, and for a ``level`` (in percent) of 0."""
    size = len(values)
    if size < 2 or not level:
        return None
    return _around(math.fsum(values) / size, float(np.var(values, ddof=1)) / size, size - 1, level)


def welch_interval(first: Sequence[float], second: Sequence[float], level: float) -> tuple[float, float] | None:
    """The t interval of the mean of the second runs minus that of the first; None as for ``t_interval``.

    Welch, The Generalization of "Student's" Problem when Several Different Population Variances are Involved, 1947.
    """
    if min(len(first), len(second)) < 2 or not level:
        return None
    parts = [float(np.var(runs, ddof=1)) / len(runs) for runs in (first, second)]
    of_each = sum(part**2 / (len(runs) - 1) for part, runs in zip(parts, (first, second), strict=True))
    difference = math.fsum(second) / len(second) - math.fsum(first) / len(first)
    return _around(difference, sum(parts), sum(parts) ** 2 / of_each if of_each else 1.0, level)


def _around(value: float, variance: float, freedom: float, level: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, 0.5 + level / 200)) * math.sqrt(variance)
    return value - half, value + half


def permutation_test_of_runs(
    first: Sequence[float], second: Sequence[float], permutations: int, seed: int
) -> tuple[float, float, bool]:
    """Two-sided permutation test of the difference of the means of some runs of two systems.

    Args:
        first, second: the value of every run.
        permutations: how many random divisions. If there are no more than this in all, each is counted and the p-value
            is exact; otherwise it is (1 + those as extreme) / (1 + permutations).
        seed: of the divisions.

    Returns:
        The p-value, the smallest one that so many runs can have, and whether they are exact.
    """
    sizes = len(first), len(second)
    chosen, exact = _divisions(*sizes, permutations, seed)
    values = np.array([*first, *second])
    total = values - values.mean()
    of_first = chosen @ total
    found = np.abs((total.sum() - of_first) / sizes[1] - of_first / sizes[0])
    observed = abs(float(total[sizes[0] :].mean() - total[: sizes[0]].mean()))
    extreme = int((found >= observed - _RELATIVE_TOLERANCE * np.abs(values).max()).sum())
    if exact:  # of as many runs, the divisions come in pairs of opposite differences
        return extreme / len(chosen), (1 + (sizes[0] == sizes[1])) / len(chosen), True
    return (1 + extreme) / (1 + permutations), 1 / (1 + permutations), False


@functools.lru_cache(maxsize=16)
def _divisions(first: int, second: int, permutations: int, seed: int) -> tuple[Float, bool]:
    """(division, run) 1 if a run is one of the ``first``, else 0; and whether these are all divisions."""
    runs, number = first + second, math.comb(first + second, first)
    exact = number <= permutations
    if exact:
        at = np.array(list(combinations(range(runs), first)))
    else:
        words = np.empty((permutations, runs), np.uint64)
        for row, out in enumerate(words):
            kernels.draw_words(np.uint64(seed), row, out)
        at = np.argsort(words, axis=1, kind="stable")[:, :first]
    chosen = np.zeros((len(at), runs))
    np.put_along_axis(chosen, at, 1.0, axis=1)
    return chosen, exact


def _exact_share(changes: Float) -> float:
    """Share of all permutations of (image,) changes that are as extreme as the observed one."""
    column = changes[:, None]

    def count(signs: Float) -> Int:
        return np.asarray(_extreme(signs @ column, column).sum(axis=0), np.int64)

    number = 2 ** len(changes)
    return float(_count(kernels.all_signs, count, len(changes), 1, number, threads=1)[0] / number)


def _few(differing: Int, permutations: int) -> Bool:
    return np.asarray((differing < 60) & (2.0 ** np.minimum(differing, 60) <= permutations))


def _extreme(swapped: Float, changes: Float) -> Bool:
    limit = np.abs(changes.sum(axis=0)) - _RELATIVE_TOLERANCE * np.abs(changes).sum(axis=0)
    return np.asarray(np.abs(swapped) >= limit)


def _share(
    count: Callable[[Float], Int], images: int, tests: int, permutations: int, seed: int, threads: int | None
) -> Float:
    """(1 + number of permutations that ``count`` finds extreme) / (1 + permutations)."""

    def draw(first_row: int, signs: Float) -> None:
        kernels.draw_signs(np.uint64(seed), first_row, signs)

    with one_blas_thread():
        found = _count(draw, count, images, tests, permutations, threads)
    return np.asarray((1 + found) / (1 + permutations))


def _count(
    fill: Callable[[int, Float], None],
    count: Callable[[Float], Int],
    images: int,
    tests: int,
    permutations: int,
    threads: int | None,
) -> Int:
    """(test,) int64: how many permutations ``count`` finds extreme, in blocks.

    Args:
        fill: writes the permutations from a number on into (block, image) signs; each is a function of its number.
        count: (block, image) signs -> (test,) how many of them are extreme.
        images, tests: sizes.
        permutations: how many.
        threads: never changes a result.
    """
    threads = max(1, min(default_threads() if threads is None else threads, permutations))
    row = 8 * max(1, images + 2 * tests)  # signs, and two values a test
    rows = max(1, min(256, _BLOCK_BYTES // row, _ALL_BLOCKS_BYTES // (threads * row)))
    found = np.zeros((threads, tests), np.int64)

    def work(start: int, stop: int, part: int) -> None:
        signs = np.empty((min(rows, stop - start), images))
        for begin in range(start, stop, rows):
            block = signs[: min(rows, stop - begin)]
            fill(begin, block)
            found[part] += count(block)

    spread(work, permutations, threads)
    return np.asarray(found.sum(axis=0), np.int64)


def holm(p: npt.ArrayLike) -> Float:
    """Corrected p-values (test,) that control the family-wise error rate.

    Sorted ascending, p_(i) becomes the largest of (m - j + 1) p_(j) over j <= i, at most 1.
    Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    return np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)[np.argsort(order)]


def benjamini_hochberg(p: npt.ArrayLike) -> Float:
    """Corrected p-values (test,) that control the false discovery rate.

    Sorted ascending, p_(i) becomes the smallest of m p_(j) / j over j >= i.
    Benjamini and Hochberg, Controlling the False Discovery Rate, 1995.
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    return np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)[np.argsort(order)]


def none(p: npt.ArrayLike) -> Float:
    """The p-values as they are."""
    return _checked(p).copy()


CORRECTIONS: dict[str, Callable[[npt.ArrayLike], Float]] = {"holm": holm, "bh": benjamini_hochberg, "none": none}


def _checked(p: npt.ArrayLike) -> Float:
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or (len(values) and not (values.min() >= 0 and values.max() <= 1)):
        raise UsageError("p-values must be a list of numbers from 0 to 1", fix="give the uncorrected p-values")
    return values
