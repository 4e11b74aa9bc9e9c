"""How much every image, as a candidate, adds to the values of the queries of other images.

The test images are a sample, and each of them is a candidate as well as a query: another sample would have other
candidates and other ideal gains. The influence of image j as a candidate is, over the queries q of other images, the
mean of

    value(q) - value(q without the items of j)

The metric itself is computed again without the items of j, from lists that are deep enough for the next candidate and
the next ideal gain; only images among the first k of either list can matter. For Kendall's tau of the top k the items
of j are left out of the k, and none takes their place.

The influences are kept in two halves, from two random halves of the query images: a product of two different halves
has no term in which a pair of images meets itself, see ``stats.columns.scaled``.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

import numpy as np

from ..metrics.declare import Metric
from ..types import Bool, Float, Ids, Int
from .rankings import Ranking, is_tau, pseudo_positives

LEAST_QUERIES = 200  # in the sample that influences are computed from
MOST_PLACES = 100_000  # of all lists of the sample
MOST_OF_TAU = 250_000  # the same for Kendall's tau, where an image takes less time
LARGEST = 2.0**18  # label distances beyond it have no influence


def random_order(ids: Ids) -> Int:
    """(item,) int64: the place of every image or caption in a random order.

    The random numbers come from the ids, so that reports of the same items have the same samples and halves, whatever
    the order of the rows: queries of the first places are the sample, images of even and odd places the halves.
    """
    digests = [hashlib.blake2b(str(i).encode("utf-8", "surrogatepass"), digest_size=8).digest() for i in ids]
    place = np.empty(len(ids), np.int64)
    order = np.argsort(np.array([int.from_bytes(d, "little") for d in digests], np.uint64), kind="stable")
    place[order] = np.arange(len(order))
    return place


class Influence:
    """Sums over queries of what every image adds to a query's value, for the metrics of one ranking.

    Sums are integers, in multiples of a small unit, so that they do not depend on the order of addition.
    """

    def __init__(self, ranking: Ranking):
        split, (image, _) = ranking.split, ranking.image_of
        ids = split.image_ids if ranking.direction == "i2t" else split.caption_ids
        place = random_order(split.image_ids)
        self.half = place[image] % 2  # (query,)
        self.place = random_order(ids[ranking.queries])  # (query,) in the order of the sample
        self.gallery = len(ranking.gallery)
        self._sums = {m: np.zeros((2, len(place)), np.int64) for g in ranking.influenced for m in g.metrics}
        self._too_large: set[Metric] = set()
        self._lock = threading.Lock()

    def queries(self, metric: Metric) -> int:
        """How many queries the sample of a metric has; the longer its lists, the less one image matters in each."""
        depth = min(max(metric.k or self.gallery, pseudo_positives(metric)), self.gallery)
        most = MOST_OF_TAU if is_tau(metric) else MOST_PLACES
        return min(max(LEAST_QUERIES, most // depth), len(self.place))

    def sampled(self, metric: Metric, start: int, stop: int) -> Int:
        """(sampled,) int64, which of the queries ``start:stop`` are in its sample, counted from ``start``."""
        return np.flatnonzero(self.place[start:stop] < self.queries(metric))

    def add(self, metrics: Sequence[Metric], query: Int, image: Int, added: Float) -> None:
        """Add what images add to the values of queries.

        Args:
            metrics: of the columns.
            query, image: (pair,) int64 positions of queries in the ranking, and indices of images of the split.
            added: (pair, metric) float64; NaN where the metric is undefined with or without the image, counts as 0.
        """
        place = self.half[query] * self._sums[metrics[0]].shape[1] + image
        for i, m in enumerate(metrics):
            if np.abs(added[:, i]).max(initial=0, where=~np.isnan(added[:, i])) >= LARGEST:
                self._too_large.add(m)
                continue
            steps = np.rint(np.nan_to_num(added[:, i]) / _unit(m)).astype(np.int64)
            some = steps != 0
            with self._lock:
                np.add.at(self._sums[m].reshape(-1), place[some], steps[some])

    def nonzero(self) -> tuple[Int, Int, Bool]:
        """The sums that are not 0: their places in all of them, and these; and (metric,) which are not computed."""
        sums = np.stack(list(self._sums.values())).reshape(-1) if self._sums else np.zeros(0, np.int64)
        place = np.flatnonzero(sums)
        return place, sums[place], np.array([m in self._too_large for m in self._sums], np.bool_)

    def join(self, place: Int, sums: Int, too_large: Bool) -> None:
        """Add what ``nonzero`` gave of other queries of the ranking."""
        start = 0
        for (m, own), unknown in zip(self._sums.items(), too_large, strict=True):
            a, b = np.searchsorted(place, (start, start + own.size))
            own.reshape(-1)[place[a:b] - start] += sums[a:b]
            start += own.size
            if unknown:
                self._too_large.add(m)

    def of(self, metric: Metric, values: Float) -> Float | None:
        """(2, image) float64 influences on the mean, from each half of the query images; None where not computed.

        Args:
            metric: of the ranking.
            values: (query,) its values, NaN where undefined.
        """
        if metric not in self._sums or metric in self._too_large:
            return None
        sampled = int(((self.place < self.queries(metric)) & ~np.isnan(values)).sum())
        return np.asarray(self._sums[metric] * (_unit(metric) / max(1, sampled)), np.float64)


def _unit(metric: Metric) -> float:
    """Sums of 2^24 queries stay below 2^63."""
    return 2.0**-38 if metric.unit == "fraction" else LARGEST * 2.0**-38
