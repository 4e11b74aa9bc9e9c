"""A sample of queries: the ends of their rankings, and the ranks of their own items, tested against random orders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..rank.scorers import rows_in_threads
from ..types import Direction, Float, Int
from .inputs import Input
from .top_scored import SMALLEST

Pairs = tuple[Int, Int]  # (query,) images and captions: queries with an item of their rankings
KS = (1, 10, 100)
CERTAIN = 1e-6  # p-value of what is said without a "may"
LEVEL = 0.01  # an untrained model is above chance this often; the p-value of a working model is far smaller
BLOCK = 1 << 22  # scores in memory at a time


@dataclass(frozen=True, eq=False)
class Sample:
    """Some queries, and where their own items are in their rankings.

    Attributes:
        first, last: (query,) int64 images and captions: queries in the order of their images, and the items at the ends
            of their rankings.
        units: (image,) int64 place of the first query of every image.
        best: (query,) float64 rank of the first own item, the mean of its ranks where it ties.
        mean: (query,) float64 mean over the own items of (rank - 1/2) / gallery, uniform at chance.
        size: (query,) int64 number of own items.
        depth: (query,) int64 known length of the ranking; ranks beyond it are the mean of those that remain.
        spread: (query,) float64 difference of the largest and the smallest score, relative to the largest magnitude.
        gallery: number of candidates.
    """

    first: Pairs
    last: Pairs
    units: Int
    best: Float
    mean: Float
    size: Int
    depth: Int
    spread: Float
    gallery: int

    def part(self, start: int, stop: int) -> Sample:
        """The queries of some of the images, which follow each other."""
        some = slice(self.units[start], self.units[stop] if stop < len(self.units) else len(self.best))
        first, last = ((images[some], texts[some]) for images, texts in (self.first, self.last))
        units = self.units[start:stop] - self.units[start]
        return Sample(
            first, last, units, self.best[some], self.mean[some], self.size[some], self.depth[some], self.spread[some],
            self.gallery,
        )  # fmt: skip

    def recall(self, k: int) -> float:
        """The fraction of the queries that have an own item among the first ``k``."""
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
        is normal, and the number of first queries with an own item among the first ``KS`` is binomial. Both also
        hold when all queries prefer the same items: the ranks are then draws without replacement, which vary less.
        """
        from scipy.special import bdtr, bdtrc

        n = len(self.units)
        mean = np.add.reduceat(self.mean, self.units) / np.diff(self.units, append=len(self.mean)) - 0.5
        # Not in short lists, where few queries make the mean and its variance.
        tests = [of_mean(mean)] if self.depth.min() == self.gallery else []
        for k in (k for k in KS if 2 * k <= self.gallery):
            hits, chance = int((self.best[self.units] <= k).sum()), self.chance(k)
            tests.append((float(bdtrc(hits - 1, n, chance)) if hits else 1.0, float(bdtr(hits, n, chance))))
        good, bad = (min(1.0, len(tests) * min(side)) for side in zip(*tests, strict=True))
        return good, bad

    @property
    def at_chance(self) -> bool:
        """Whether nothing tells these ranks from random ones, or they are worse; False of too few images to tell."""
        return len(self.units) >= SMALLEST and self.p_values[0] >= LEVEL

    @property
    def below_chance(self) -> bool:
        """Whether these ranks are certainly worse than random ones."""
        return self.p_values[1] < CERTAIN


def of_mean(excess: Float) -> tuple[float, float]:
    """The probabilities of a mean as small as this one, and as large, of independent values whose expectation is 0.

    Args:
        excess: (image,) float64, at chance 0 on average.
    """
    from scipy.special import ndtr

    z = float(excess.mean()) * math.sqrt(len(excess)) / max(float(excess.std()), 1e-9)
    return float(ndtr(z)), float(ndtr(-z))


def ranks_of(scores: npt.NDArray[np.floating], items: Int) -> Float:
    """(item,) the ranks of some items by (gallery,) scores, means where they tie: a collapsed model is not perfect."""
    own = scores[items, None]
    return np.asarray((scores > own).sum(axis=1) + ((scores == own).sum(axis=1) + 1) / 2, np.float64)


def sample(data: Input, direction: Direction, most: int, wide: bool = False) -> Sample:
    """Some queries of evenly spaced images, ranked.

    Args:
        data: scores or retrieved lists.
        direction: of the queries.
        most: queries.
        wide: from float64 scores, which tell vectors apart that differ little.
    """
    queries, units = sampled_queries(data, direction, most)
    gallery = len(data.split.side("caption" if direction == "i2t" else "image").ids)
    own = _own(data.split.owners, direction, queries)
    first, last, depth = np.zeros((3, len(queries)), np.int64)
    best, mean, spread = np.full(len(queries), np.inf), np.full(len(queries), 0.5), np.full(len(queries), np.inf)
    if data.lists is None:
        rows = _scores(data, direction, queries, gallery, wide)
    for at, query in enumerate(queries.tolist()):
        if data.lists is None:
            scores = next(rows)
            first[at], last[at], depth[at] = scores.argmax(), scores.argmin(), gallery
            largest = float(np.abs(scores).max())
            spread[at] = float(np.ptp(scores)) / largest if largest else 0.0
            ranks = ranks_of(scores, own[at])
        else:  # items that are not listed have the mean of the remaining ranks
            listed = data.lists[direction].of_query(query)
            first[at], last[at], depth[at] = listed[0], listed[-1], len(listed)
            rank = np.full(gallery, (len(listed) + gallery + 1) / 2)
            rank[listed] = np.arange(1, len(listed) + 1)
            ranks = rank[own[at]]
        if len(ranks):
            best[at], mean[at] = ranks.min(), (ranks.mean() - 0.5) / gallery
    size = np.array([len(items) for items in own], np.int64)
    start, end = (pair if direction == "i2t" else pair[::-1] for pair in ((queries, first), (queries, last)))
    return Sample(start, end, units, best, mean, size, depth, spread, gallery)


def sampled_queries(data: Input, direction: Direction, most: int) -> tuple[Int, Int]:
    """Queries of evenly spaced images with candidates and an own item, and the place of the first query of every image.

    There is one caption an image, or several where there are few images.
    """
    image_of = data.split.owners
    captions = np.arange(len(image_of))
    if data.lists is not None:
        known = np.flatnonzero(data.lists[direction].depth)
        captions = captions[np.isin(captions if direction == "t2i" else image_of, known)]
    captions = captions[np.argsort(image_of[captions], kind="stable")]
    images, first, count = np.unique(image_of[captions], return_index=True, return_counts=True)
    if not len(images):
        return images, first
    some = np.unique(np.linspace(0, len(images) - 1, min(most, len(images))).astype(np.int64))
    if direction == "i2t":
        return images[some], np.arange(len(some))
    each = np.minimum(count[some], max(1, most // len(some)))
    starts = np.cumsum(each) - each
    # Not always the first caption of an image, which may be in order when the others are not.
    turn = np.arange(each.sum()) - np.repeat(starts, each) + np.repeat(np.arange(len(some)), each)
    return captions[np.repeat(first[some], each) + turn % np.repeat(count[some], each)], starts


def _scores(
    data: Input, direction: Direction, queries: Int, gallery: int, wide: bool
) -> Iterator[npt.NDArray[np.floating]]:
    """The (gallery,) scores of every query, computed in blocks."""
    for some in np.array_split(queries, max(1, -(-len(queries) * gallery // BLOCK))):
        yield from np.ascontiguousarray(rows_in_threads(data.scorer(direction), some, wide=wide))


def _own(owners: Int, direction: Direction, queries: Int) -> list[Int]:
    """The own items of every query."""
    if direction == "t2i":
        return list(owners[queries, None])
    captions = np.argsort(owners, kind="stable")
    ends = (np.searchsorted(owners[captions], queries, side=side) for side in ("left", "right"))
    return [captions[a:b] for a, b in zip(*ends, strict=True)]
