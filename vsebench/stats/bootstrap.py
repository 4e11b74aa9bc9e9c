"""Bootstrap over images: how a value varies when other images of the same kind are drawn.

A resample draws as many images as there are, with replacement, and takes all queries of each. Columns, systems
and sums share their resamples, so that sums and differences have intervals too.
Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13 and 14.
"""

from __future__ import annotations

import numpy as np

from ..numeric.parallel import default_threads, one_blas_thread, spread
from ..types import Float
from . import kernels
from .columns import Prepared, evaluate, plain_values, without_image

_BLOCK_BYTES = 3 << 20


def resample(ready: Prepared, resamples: int, seed: int, threads: int | None = None, together: bool = False) -> Float:
    """The value of every column and sum in every resample.

    Args:
        ready: the columns, see ``columns.prepare``.
        resamples: how many.
        seed: 0 to 2^64 - 1, fixes the resamples; resample r is the same however many there are.
        threads: never changes a result.
        together: folded and plain columns have the same resamples, drawn within folds as soon as one is folded; needed
            where they are compared with each other.

    Returns:
        (resample, column + sum) float64; NaN if a resample has no query of a metric.
    """
    word = np.uint64(seed)
    out = np.empty((resamples, ready.width))
    images = ready.population.images
    rows = max(1, min(256, _BLOCK_BYTES // (8 * images)))  # resamples at once
    with_folds = any(ready.folded)
    with_plain = not all(ready.folded)
    plain_edges, fold_edges = ready.population.edges(together and with_folds), ready.population.edges(True)

    def work(start: int, stop: int, _part: int) -> None:
        height = min(rows, stop - start)
        plain = np.empty((height, images))
        folded = np.empty((height, images)) if with_folds and with_plain else plain
        for first in range(start, stop, rows):
            n = min(rows, stop - first)
            if with_plain:
                kernels.draw_counts(word, first, plain_edges, plain[:n])
            if with_folds:
                if together and with_plain:
                    folded[:n] = plain[:n]
                else:
                    kernels.draw_counts(word, first, fold_edges, folded[:n])
            out[first : first + n] = evaluate(ready, plain[:n], folded[:n])

    with one_blas_thread():
        spread(work, resamples, default_threads() if threads is None else threads)
    return out


def intervals(ready: Prepared, level: float, resamples: int, seed: int, threads: int | None = None) -> Float:
    """(column + sum, 2) float64 percentile intervals.

    Args:
        ready, resamples, seed, threads: as for ``resample``.
        level: in percent; 0 for none, which are NaN.
    """
    if not level:
        return np.full((ready.width, 2), np.nan)
    return percentile(resample(ready, resamples, seed, threads), level / 100)


def bca(ready: Prepared, samples: Float, level: float) -> Float:
    """(column + sum, 2) float64 bias-corrected and accelerated intervals.

    The acceleration comes from the values without one image at a time (jackknife).
    Efron, Better Bootstrap Confidence Intervals, 1987.

    Args:
        ready: the columns.
        samples: (resample, column + sum) from ``resample``.
        level: between 0 and 1.
    """
    from scipy.special import ndtr, ndtri

    out = percentile(samples, level)
    values, left_out = plain_values(ready), without_image(ready)
    tails = ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    for c in np.flatnonzero(~np.isnan(left_out).all(axis=0)).tolist():
        known = samples[~np.isnan(samples[:, c]), c]
        if not len(known):
            continue
        # Share of the resamples below the value; never 0 or 1, which have no normal quantile.
        share = ((known < values[c]).sum() + 0.5 * (known == values[c]).sum()) / len(known)
        bias = ndtri(np.clip(share, 0.5 / len(known), 1 - 0.5 / len(known)))
        jackknifed = left_out[~np.isnan(left_out[:, c]), c]
        away = jackknifed.mean() - jackknifed
        spread_of = float((away**2).sum())
        skew = float((away**3).sum()) / (6 * spread_of**1.5) if spread_of > 0 else 0.0
        level_low, level_high = ndtr(bias + (bias + tails) / (1 - skew * (bias + tails)))
        out[c] = _ends(known, float(level_low), float(level_high), len(samples))
    return out


def percentile(samples: Float, level: float) -> Float:
    """(column, 2) float64: the central ``level`` (between 0 and 1) of every column of resampled values.

    Resamples without a value are left out; NaN if fewer than half of them have one.
    """
    tail = (1 - level) / 2
    missing = np.isnan(samples)
    if not missing.any():
        return np.asarray(np.quantile(samples, [tail, 1 - tail], axis=0).T)
    return np.array([_ends(samples[~gone, c], tail, 1 - tail, len(samples)) for c, gone in enumerate(missing.T)])


def _ends(known: Float, low: float, high: float, resamples: int) -> Float:
    if len(known) < max(1, resamples / 2):
        return np.array([np.nan, np.nan])
    return np.asarray(np.quantile(known, [low, high]))
