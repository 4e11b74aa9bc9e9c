"""Pearson, Spearman and Kendall between two columns, with jackknife intervals over images or pairs.

Points of a cluster (an image, or a pair with its judges) are not independent. The jackknife leaves out one of the g
clusters at a time (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 11). With z = artanh(r), the
transform of Fisher (On the "Probable Error" of a Coefficient of Correlation Deduced from a Small Sample, 1921), of a
coefficient r and z_c of the coefficient without cluster c:

    SE^2 = (g - 1) / g  sum over c of (z_c - mean of z_c)^2        interval: tanh(z +- t SE)

with t of Student's distribution with g - 1 degrees of freedom. All three coefficients take the transform: it keeps the
ends between -1 and 1, and SE, unlike Fisher's, is measured, not taken from the normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..metrics.tau import balance, tau, without_groups
from ..options import spell
from ..results.table import Value
from ..types import Float, Int
from .correlation import COEFFICIENTS, Over, Tau, coefficient


@dataclass(frozen=True, eq=False)
class Points:
    """Two columns to be correlated.

    Attributes:
        x, y: (point,) float64, finite.
        tau: the variant of Kendall's coefficient: ``b``, or ``c`` for columns with few and unequally many values.

    Raises:
        BadInput: lengths differ, no point at all, or a value that is not finite.
    """

    x: Float
    y: Float
    tau: Tau = "b"

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        if self.x.shape != self.y.shape or self.x.ndim != 1 or not len(self.x):
            raise BadInput(f"columns of shapes {self.x.shape} and {self.y.shape} cannot be correlated")
        bad = np.flatnonzero(~np.isfinite(self.x) | ~np.isfinite(self.y))
        if len(bad):
            raise BadInput(f"point {bad[0]} is ({self.x[bad[0]]}, {self.y[bad[0]]}), which is not finite")

    @cached_property
    def levels(self) -> tuple[Int, Int]:
        """(point,) int64 indices of x and of y among their distinct values, ascending."""
        return np.unique(self.x, return_inverse=True)[1], np.unique(self.y, return_inverse=True)[1]

    def values(self) -> Float:
        """(3,) float64 Pearson, Spearman and Kendall of all points; NaN if a column is constant."""
        from scipy import stats

        if not all(level.any() for level in self.levels):
            return np.full(3, np.nan)
        kendall = stats.kendalltau(self.x, self.y, variant=self.tau)
        return np.array(
            [f.statistic for f in (stats.pearsonr(self.x, self.y), stats.spearmanr(self.x, self.y), kendall)]
        )

    def without(self, cluster: Int) -> Float:
        """(3, cluster) float64 Pearson, Spearman and Kendall without each cluster; NaN if a column is constant.

        Args:
            cluster: (point,) int64 index of the cluster of a point; every index up to the largest has a point.
        """
        kendall = self._kendall_without(cluster)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.stack([self._pearson_without(cluster), self._spearman_without(cluster), kendall])
        found[:, np.isnan(kendall)] = np.nan
        return found

    def spearman(self, some: Int) -> float:
        """Spearman's rho of some points, (point,) int64 indices; NaN if a column is constant."""
        ranks = [_net(level[some], None)[level[some]] for level in self.levels]
        xx, yy, xy = ((a * b).sum() for a, b in ((ranks[0],) * 2, (ranks[1],) * 2, ranks))
        return float(xy / np.sqrt(xx) / np.sqrt(yy)) if xx and yy else np.nan

    def _pearson_without(self, cluster: Int) -> Float:
        """From sums over all points less those over the cluster."""
        x, y = _unit(self.x), _unit(self.y)
        n, sx, sy, sxx, syy, sxy = (
            total.sum() - total for total in (np.bincount(cluster, w) for w in (None, x, y, x * x, y * y, x * y))
        )
        return np.asarray((sxy - sx * sy / n) / np.sqrt(sxx - sx * sx / n) / np.sqrt(syy - sy * sy / n))

    def _spearman_without(self, cluster: Int) -> Float:
        """From the numbers of points below less those above: twice the midranks, from the middle.

        Let s(i, j) be the sign of x_i - x_j, A_i its sum over all j and a_i that over the j of the cluster, and t, B
        and b the same of y. Rho is the sum of (A - a) (B - b) over the remaining points, over the roots of the sums of
        squares. It equals the sum of A B over all points less three parts: (A - a) (B - b) of the cluster; the sums
        over all points of a B and A b, which are sums over j of the cluster of s(i, j) B_i and t(i, j) A_i; and the sum
        of - a b over all points, s(i, j) t(i, k) for all j and k of the cluster. The last is made a value of y at a
        time. All are integers. The squares are (n^3 - n - sum of m^3 - m over the m points of each value) / 3.
        """
        x, y = self.levels
        a, b = (_net(level, None)[level] for level in (x, y))
        inside_x, inside_y = (balance(level, cluster)[0] for level in (x, y))
        within = (a - inside_x) * (b - inside_y) - _net(x, b)[x] - _net(y, a)[y]
        product = (a * b).sum() - np.bincount(cluster, within) + _joint(x, y, cluster)
        n = (len(x) - np.bincount(cluster)).astype(np.float64)
        squares = [(n**3 - n - _cubes(level, cluster)) / 3 for level in (x, y)]
        return np.asarray(product / np.sqrt(squares[0]) / np.sqrt(squares[1]))

    def _kendall_without(self, cluster: Int) -> Float:
        """By the kernel of graded metrics: the points are one ranking by x, and the values of y its gains."""
        x, y = self.levels
        order = np.argsort(-x, kind="stable")
        tied = np.diff(x[order], prepend=-1) == 0
        gains = y[order].astype(np.float32)
        _, which, pairs, size = without_groups(gains[None], tied[None], np.array([len(x)]), cluster[order][None])
        found = np.empty(len(which))
        found[which] = tau(pairs[:, None], size[:, None], self.tau)[:, 0]
        return found


def agreement(
    points: Points, pair: Int, image: Int, level: float | None = None, over: Over = "images"
) -> dict[str, Value]:
    """Pearson's r, Spearman's rho (midranks for ties) and Kendall's tau of all points, by ``scipy.stats``.

    Args:
        pair: (point,) int64 number of the pair from 0; the judges of one pair stay together.
        image: (point,) int64 number of the image; any numbers.
        level: of the intervals in percent; None for no intervals. There is none if one cluster decides whether a
            coefficient is defined.
        over: what the jackknife leaves out: ``images``, all points of an image together, as they are not independent;
            or ``pairs``.

    Returns:
        ``pearson``, ``spearman``, ``kendall``.

    Raises:
        UsageError: ``over`` is something else.
    """
    if over not in ("images", "pairs"):
        raise UsageError(f"{spell('over')} is '{over}'", fix="use images or pairs")
    values = points.values()
    intervals: Sequence[tuple[float, float] | None] = [None] * len(values)
    if level is not None and np.isfinite(values).all():
        _, cluster = np.unique(image if over == "images" else pair, return_inverse=True)
        intervals = [interval(v, row, level / 100) for v, row in zip(values, points.without(cluster), strict=True)]
    return {
        name: coefficient(float(value), ends) if np.isfinite(value) else coefficient(None)
        for name, value, ends in zip(COEFFICIENTS, values, intervals, strict=True)
    }


def interval(value: float, without: Float, confidence: float) -> tuple[float, float] | None:
    """The jackknife interval of a correlation on Fisher's scale; None if it is undefined without some cluster.

    Args:
        value: of all points.
        without: (cluster,) float64 values without each cluster.
        confidence: a fraction.
    """
    from scipy.special import stdtrit

    g, most = len(without), np.nextafter(1.0, 0.0)
    if g < 2 or np.isnan(without).any():
        return None
    z = np.arctanh(np.clip(without, -most, most))
    error = np.sqrt((g - 1) / g * ((z - z.mean()) ** 2).sum())
    half = stdtrit(g - 1, (1 + confidence) / 2) * error
    middle = np.arctanh(np.clip(value, -most, most))
    low, high = np.tanh(middle - half), np.tanh(middle + half)
    return min(float(low), float(value)), max(float(high), float(value))


def _net(level: Int, weight: npt.NDArray[np.float64] | None) -> Float:
    """(level,) the number of points, or their weights, below a level less those above."""
    at = np.bincount(level, weight).astype(np.float64)
    up_to = np.cumsum(at)
    return np.asarray(2 * up_to - at - up_to[-1])


def _cubes(level: Int, cluster: Int) -> Float:
    """(cluster,) sum of m^3 - m over the levels, with m points left without the cluster."""
    key, count = np.unique(cluster * (level.max() + 1) + level, return_counts=True)
    point, at = np.divmod(key, level.max() + 1)
    every = np.bincount(level).astype(np.float64)
    left = every[at] - count
    return np.asarray((every**3 - every).sum() + np.bincount(point, left**3 - left - (every**3 - every)[at]))


def _joint(x: Int, y: Int, cluster: Int) -> Float:
    """(cluster,) sum over all i, and all j and k of a cluster, of sign(x_i - x_j) sign(y_i - y_k).

    Takes points times distinct values of the column that has fewer: human scores have few.
    """
    if x.max() < y.max():
        x, y = y, x
    found = np.zeros(cluster.max() + 1)
    for level in range(y.max() + 1):
        sums = np.bincount(cluster, _net(x, np.sign(y - level).astype(np.float64))[x])
        found -= sums * np.bincount(cluster[y == level], minlength=len(found))
    return found


def _unit(values: Float) -> Float:
    # centred and of unit size, so that sums of squares are precise for every scale of the column
    centred: Float = values - values.mean()
    return np.asarray(centred / np.abs(centred).max())
