"""Whether recall is above chance: the ranks of the relevant items of sampled queries, tested against random orders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..types import Float, Int

SMALLEST = 50  # with fewer images chance is too high for the test to mean anything
KS = (1, 10, 100)
CERTAIN = 1e-6  # p-value of what is said without a "may"
LEVEL = 0.01  # an untrained model is above chance this often; the p-value of a working model is far smaller


def of_mean(excess: Float) -> tuple[float, float]:
    """The probabilities of a mean as small as this one, and as large, of independent values whose expectation is 0.

    Args:
        excess: (image,) float64, at chance 0 on average.
    """
    from scipy.special import ndtr

    z = float(excess.mean()) * math.sqrt(len(excess)) / max(float(excess.std()), 1e-9)
    return float(ndtr(z)), float(ndtr(-z))


@dataclass(frozen=True, eq=False)
class Sample:
    """The ranks of the relevant items of some queries.

    Attributes:
        best: (query,) float64 rank of the first relevant item, the mean of its ranks where it ties.
        mean: (query,) float64 mean over the relevant items of (rank - 1/2) / gallery, uniform at chance.
        size: (query,) int64 number of relevant items.
        first: (image,) int64 index of the first query of every image; the queries of an image follow each other.
        depth: (query,) int64 known length of the ranking; ranks beyond it are the mean of those that remain.
        gallery: number of candidates.
    """

    best: Float
    mean: Float
    size: Int
    first: Int
    depth: Int
    gallery: int

    def recall(self, k: int) -> float:
        """The fraction of the queries that have a relevant item among the first ``k``."""
        return float((self.best <= k).mean())

    def chance(self, k: int) -> float:
        """The expectation of ``recall`` when all orders of the gallery are equally likely."""
        n = self.gallery
        kinds, times = np.unique(np.stack([self.size, np.minimum(self.depth, k)]), axis=1, return_counts=True)
        missed = [math.comb(n - seen, r) / math.comb(n, r) for r, seen in kinds.T.tolist()]
        return 1.0 - float(np.average(missed, weights=times))

    @cached_property
    def p_values(self) -> tuple[float, float]:
        """The probabilities at chance of ranks as good as these, and of ranks as bad, corrected for the tests.

        Images are the independent units, as captions of an image have similar ranks: the mean over images of ``mean``
        is normal, and the number of first queries with a relevant item among the first ``KS`` is binomial. Both also
        hold when all queries prefer the same items: the ranks are then draws without replacement, which vary less.
        """
        from scipy.special import bdtr, bdtrc

        n = len(self.first)
        mean = np.add.reduceat(self.mean, self.first) / np.diff(self.first, append=len(self.mean)) - 0.5
        # Not in short lists, where few queries make the mean and its variance.
        tests = [of_mean(mean)] if self.depth.min() == self.gallery else []
        for k in (k for k in KS if 2 * k <= self.gallery):
            hits, chance = int((self.best[self.first] <= k).sum()), self.chance(k)
            tests.append((float(bdtrc(hits - 1, n, chance)) if hits else 1.0, float(bdtr(hits, n, chance))))
        good, bad = (min(1.0, len(tests) * min(side)) for side in zip(*tests, strict=True))
        return good, bad

    @property
    def at_chance(self) -> bool:
        """Whether nothing tells these ranks from random ones, or they are worse."""
        return self.p_values[0] >= LEVEL

    @property
    def below_chance(self) -> bool:
        """Whether these ranks are certainly worse than random ones."""
        return self.p_values[1] < CERTAIN
