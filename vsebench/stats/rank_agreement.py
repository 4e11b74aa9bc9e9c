"""Agreement of metrics on the order of systems: Kendall's tau between rankings, and disagreement about queries.

The number of pairs of systems grows with the square of the systems, so arrays with a value a pair are processed in
blocks. The result does not depend on the size of a block, not even in its last bit.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..types import Float, Int
from .bootstrap import percentile

_BLOCK_VALUES = 1 << 19  # float64 values of a block; about ten arrays of this size exist together
_BUFFER_VALUES = 1 << 12


def orders(values: Float) -> Float:
    """(..., pair, metric) float64: +1, 0 or -1 for every pair of systems: which of the two a metric ranks higher.

    Args:
        values: (..., system, metric), oriented so that more is better. A missing value counts as a tie.
    """
    first, second = np.triu_indices(values.shape[-2], 1)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.sign(values[..., first, :] - values[..., second, :]))


def tau_b(preferred: Float) -> Float:
    """(..., metric, metric) float64 Kendall's tau-b between the rankings of the systems; NaN if it is undefined.

    (concordant - discordant) / sqrt(pairs that one metric orders x pairs that the other orders).
    Kendall, The Treatment of Ties in Ranking Problems, 1945.

    Args:
        preferred: (..., pair, metric), see ``orders``.
    """
    ordered = np.abs(preferred).sum(axis=-2)
    return _taus(np.swapaxes(preferred, -1, -2) @ preferred, ordered[..., :, None], ordered[..., None, :])


def tau_intervals(samples: Float, level: float) -> Float:
    """(metric, metric, 2) float64 percentile intervals of ``tau_b``.

    Args:
        samples: (resample, system, metric) oriented values, the same resamples of images for all of them.
        level: between 0 and 1.
    """
    resamples, _, metrics = samples.shape
    out = np.empty((metrics, metrics, 2))
    # an array (resample, metric, metric) would not fit into memory: so many pairs of metrics at a time
    rows, columns = np.triu_indices(metrics)
    together = max(1, _BLOCK_VALUES // max(1, resamples))
    for start in range(0, len(rows), together):
        i, j = rows[start : start + together], columns[start : start + together]
        out[i, j] = out[j, i] = percentile(_resampled_taus(samples, i, j), level)
    return out


def disagreement(first: Float, second: Float) -> tuple[Float, Int]:
    """How far two metrics disagree about a query.

    Every pair of systems has a difference by either metric, in units of that metric's root mean square difference;
    the absolute products of differences of opposite sign are added up.

    Args:
        first, second: (system, query) float64 oriented values of the two metrics.

    Returns:
        (query,) float64 disagreement, 0 if no pair of systems is ordered in opposite ways; and (query,) int64, the
        number of pairs that are.
    """
    queries = first.shape[1]
    a, b = np.triu_indices(len(first), 1)
    scales = [_root_mean_square(values, a, b) for values in (first, second)]
    amount, opposite = np.zeros(queries), np.zeros(queries, np.int64)
    for low, high in _parts(queries, _BLOCK_VALUES):
        together = max(1, _BLOCK_VALUES // (high - low))
        for start in range(0, len(a), together):
            one, other = a[start : start + together], b[start : start + together]
            gaps = (values[one, low:high] - values[other, low:high] for values in (first, second))
            one_way, other_way = (gap / scale for gap, scale in zip(gaps, scales, strict=True))
            product = one_way * other_way
            apart = np.maximum(-product, 0.0)
            if start:  # added pair by pair, as if all pairs were in one block
                apart = np.concatenate([amount[None, low:high], apart])
            amount[low:high] = apart.sum(axis=0)
            opposite[low:high] += (product < 0).sum(axis=0)
    return amount, opposite


def _taus(agreeing: Float, ordered_by_one: Float, ordered_by_other: Float) -> Float:
    norm = np.sqrt(ordered_by_one * ordered_by_other)
    return np.asarray(np.divide(agreeing, norm, out=np.full(agreeing.shape, np.nan), where=norm > 0))


def _resampled_taus(samples: Float, i: Int, j: Int) -> Float:
    """(resample, pair of metrics) float64 ``tau_b`` between metrics ``i`` and ``j``."""
    resamples, systems, _ = samples.shape
    out = np.empty((resamples, len(i)))
    named, where = np.unique([i, j], return_inverse=True)
    one, other = where.reshape(2, -1)
    height = max(1, _BLOCK_VALUES // max(1, systems * (systems - 1) // 2 * max(len(named), len(i))))
    for start in range(0, resamples, height):
        preferred = orders(samples[start : start + height][..., named])
        ordered = np.abs(preferred).sum(axis=1)
        agreeing = np.einsum("rpk,rpk->rk", preferred[..., one], preferred[..., other])  # integers: exact
        out[start : start + height] = _taus(agreeing, ordered[:, one], ordered[:, other])
    return out


def _parts(n: int, most: int) -> list[tuple[int, int]]:
    """``range(n)`` cut evenly into parts of at most ``most``; a part of one would be added up in another order."""
    count = max(1, -(-n // most))
    edges = [n * part // count for part in range(count + 1)]
    return [(low, high) for low, high in pairwise(edges) if low < high]


def _root_mean_square(values: Float, a: Int, b: Int) -> float:
    """Root mean square of ``values[a] - values[b]``, 1 when it is 0."""
    total = len(a) * values.shape[1]
    return float(np.sqrt(_sum_of_squares(values, a, b, 0, total) / max(1, total))) or 1.0


def _sum_of_squares(values: Float, a: Int, b: Int, start: int, stop: int) -> float:
    """Over a part of the concatenated differences, by halves, see ``_pairwise``."""
    n = stop - start
    if n > _BLOCK_VALUES:
        half = _half(n)
        return _sum_of_squares(values, a, b, start, start + half) + _sum_of_squares(values, a, b, start + half, stop)
    queries = values.shape[1]
    gaps = np.empty(n)
    done = 0
    while done < n:
        row, column = divmod(start + done, queries)
        rows = (n - done) // queries if column == 0 else 0
        width = rows * queries if rows else min(queries - column, n - done)
        if rows:
            into = gaps[done : done + width].reshape(rows, queries)
            np.subtract(values[a[row : row + rows]], values[b[row : row + rows]], out=into)
        else:
            columns = slice(column, column + width)
            np.subtract(values[a[row], columns], values[b[row], columns], out=gaps[done : done + width])
        done += width
    return _pairwise(gaps**2)


def _pairwise(values: Float) -> float:
    """The sum by halves. numpy does the same for arrays that fit its buffer, some of its versions for any array."""
    if len(values) <= _BUFFER_VALUES:
        return float(values.sum())
    half = _half(len(values))
    return _pairwise(values[:half]) + _pairwise(values[half:])


def _half(n: int) -> int:
    return n // 2 - n // 2 % 8
