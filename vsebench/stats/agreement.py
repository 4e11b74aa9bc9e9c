"""Do metrics order systems alike: Kendall's tau between their rankings, and the queries they quarrel about."""

from __future__ import annotations

import numpy as np

from ..types import Float, Int
from .bootstrap import percentile


def orders(values: Float) -> Float:
    """(..., pair, metric) float64: +1, 0 or -1 for every pair of systems, by which of the two a metric prefers.

    Args:
        values: (..., system, metric), oriented so that more is better. A missing value counts as a tie.
    """
    first, second = np.triu_indices(values.shape[-2], 1)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.sign(values[..., first, :] - values[..., second, :]))


def tau_b(preferred: Float) -> Float:
    """(..., metric, metric) float64 Kendall's tau-b between the rankings of the systems; NaN where it is undefined.

    (concordant - discordant) / sqrt(pairs that the one metric orders x pairs that the other orders).
    Kendall, The Treatment of Ties in Ranking Problems, 1945.

    Args:
        preferred: (..., pair, metric), see ``orders``.
    """
    agreeing = np.swapaxes(preferred, -1, -2) @ preferred
    ordered = np.abs(preferred).sum(axis=-2)
    norm = np.sqrt(ordered[..., :, None] * ordered[..., None, :])
    return np.asarray(np.divide(agreeing, norm, out=np.full(agreeing.shape, np.nan), where=norm > 0))


def tau_intervals(samples: Float, level: float) -> Float:
    """(metric, metric, 2) float64 percentile intervals of ``tau_b``.

    Args:
        samples: (resample, system, metric) oriented values, the same resamples of images for all of them.
        level: between 0 and 1.
    """
    preferred = orders(samples)
    metrics = samples.shape[-1]
    ordered = np.abs(preferred).sum(axis=1)  # (resample, metric)
    out = np.empty((metrics, metrics, 2))
    for m in range(metrics):  # a row at a time: all of (resample, metric, metric) would not fit
        agreeing = np.einsum("rp,rpm->rm", preferred[:, :, m], preferred)
        norm = np.sqrt(ordered[:, m, None] * ordered)
        taus = np.divide(agreeing, norm, out=np.full(agreeing.shape, np.nan), where=norm > 0)
        out[m] = percentile(taus, level)
    return out


def quarrels(first: Float, second: Float) -> tuple[Float, Int]:
    """How far two metrics disagree about a query.

    For every pair of systems both metrics say how much better the one is, in units of that metric's root mean square
    difference; where they say opposite things the product of the two is added up.

    Args:
        first, second: (system, query) float64 oriented values of the two metrics.

    Returns:
        (query,) float64 disagreement, 0 where no pair of systems is ordered in opposite ways; and (query,) int64, how
        many pairs are.
    """
    a, b = np.triu_indices(len(first), 1)
    gaps = [values[a] - values[b] for values in (first, second)]
    scales = [float(np.sqrt((gap**2).mean())) or 1.0 for gap in gaps]
    product = (gaps[0] / scales[0]) * (gaps[1] / scales[1])
    return np.maximum(-product, 0.0).sum(axis=0), (product < 0).sum(axis=0)
