"""Pearson, Spearman and Kendall between two columns, with bootstrap intervals over images or pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..numeric.parallel import default_threads, spread
from ..options import spell
from ..report.correlation import COEFFICIENTS, Coefficient, Over, Tau
from ..report.model import Resampling
from ..types import Float, Int

Counts = Callable[[int], npt.NDArray[np.int32]]


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
    def _sorted(self) -> tuple[Any, ...]:
        _, group = np.unique(self.x, return_inverse=True)
        values, level = np.unique(self.y, return_inverse=True)
        order = np.argsort(group, kind="stable")
        x, y = (_unit(v) for v in (self.x, self.y))
        return order, group[order].astype(np.int32), level[order].astype(np.int32), x[order], y[order], len(values)

    def under(
        self, counts: Counts, samples: int, cluster: Int, threads: int | None = None, kendall: bool = True
    ) -> Float:
        """(3, sample) float64 Pearson, Spearman and Kendall of the points with weights; NaN where undefined.

        Args:
            counts: sample number i -> (cluster,) int32 weights.
            samples: how many.
            cluster: (point,) int64 index of the weight of a point.
            threads: of the kernel; never changes a result.
            kendall: compute Kendall's tau; the third row is NaN otherwise.
        """
        from .kernels import LANES, correlations

        order, group, level, x, y, levels = self._sorted
        member = cluster[order].astype(np.int32)
        blocks = -(-samples // LANES)
        out = np.full((3, blocks * LANES), np.nan)
        variant = {"b": 1, "c": 2}[self.tau] if kendall else 0
        many = int(cluster.max()) + 1

        def work(start: int, stop: int, _part: int) -> None:
            for block in range(start, stop):
                weights = np.zeros((many, LANES), np.int32)
                for lane in range(min(LANES, samples - block * LANES)):
                    weights[:, lane] = counts(block * LANES + lane)
                got = np.empty((3, LANES))
                correlations(group, level, x, y, member, weights, levels, variant, got)
                out[:, block * LANES : (block + 1) * LANES] = got

        spread(work, blocks, threads or default_threads())
        return out[:, :samples]


def agreement(
    points: Points,
    pair: Int,
    image: Int,
    how: Resampling | None = None,
    over: Over = "images",
    threads: int | None = None,
) -> dict[str, Coefficient]:
    """Pearson's r, Spearman's rho (midranks for ties) and Kendall's tau of all points.

    Intervals are percentile bootstrap intervals: images (or pairs) are drawn with replacement, as many as there are,
    and the coefficients computed from all points drawn. Samples in which a column is constant are left out.

    Args:
        pair: (point,) int64 number of the pair from 0; the judges of one pair stay together.
        image: (point,) int64 number of the image; any numbers.
        how: how intervals are made; None for no intervals.
        over: ``images``: all points of an image are drawn together, as they are not independent; ``pairs``: each pair
            is drawn on its own.
        threads: of the kernel; never changes a result.

    Returns:
        ``pearson``, ``spearman``, ``kendall``.

    Raises:
        UsageError: ``over`` is something else.
    """
    if over not in ("images", "pairs"):
        raise UsageError(f"{spell('over')} is '{over}'", fix="resample over images or pairs")
    zeros = np.zeros(len(points.x), np.int64)
    values = points.under(lambda _: np.ones(1, np.int32), 1, zeros, 1)[:, 0]
    intervals: list[tuple[float, float] | None] = [None] * len(values)
    if how is not None and np.isfinite(values).any():
        _, cluster = np.unique(image if over == "images" else pair, return_inverse=True)
        samples = points.under(bootstrap(how.seed, int(cluster.max()) + 1), how.resamples, cluster, threads)
        intervals = [interval(row, how.level / 100) for row in samples]
    return {
        name: Coefficient(float(value), ends) if np.isfinite(value) else Coefficient(None)
        for name, value, ends in zip(COEFFICIENTS, values, intervals, strict=True)
    }


def bootstrap(seed: int, clusters: int) -> Counts:
    """Sample number i -> (cluster,) int32 numbers of times that the clusters are drawn, with replacement."""

    from ..stats.kernels import draw_counts

    word, edges = np.uint64(seed), np.array([0, clusters])

    def counts(number: int) -> npt.NDArray[np.int32]:
        found = np.empty((1, clusters))
        draw_counts(word, number, edges, found)
        return np.asarray(found[0], np.int32)

    return counts


def interval(values: Float, confidence: float) -> tuple[float, float] | None:
    """The percentile interval of the finite values; None when there are fewer than two."""
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return None
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _unit(values: Float) -> Float:
    # centred and of unit size, so that sums of squares are precise for every scale of the column
    centred: Float = values - values.mean()
    size = np.abs(centred).max()
    return centred / size if size > 0 else centred
