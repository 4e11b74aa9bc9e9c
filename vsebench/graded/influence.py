"""How much every image, as a candidate, adds to the values of the queries of other images.

The test images are a sample, and each of them is a candidate as well as a query: another sample would have other
candidates and other ideal gains. The influence of image j as a candidate is, over the queries q of other images, the
mean of

    value(q) - value(q without the items of j)

This is the jackknife over candidates (Efron and Stein, The Jackknife Estimate of Variance, 1981); the variance that
follows from it is derived in ``stats.columns.scaled``. The influences are kept in two halves, from two random halves of
the query images: a product of two different halves has no term in which a pair of images meets itself.

The metric itself is computed again without the items of j, from lists that are deep enough for the next candidate, the
next ideal gain and the next pseudo-positive. Only images among the first k of these lists can matter. For Kendall's tau
of the top k the items of j are left out of the k, and none takes their place. Gains are checked for the values
themselves; what moves up is not checked again.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.declare import Metric
from ..metrics.gain_order import Items, gain_order
from ..metrics.tau import tau, without_groups
from ..metrics.values import computed
from ..types import Float, Ids, Int
from .block import Block, Retrieved
from .rankings import Group, Ranking, is_tau, pseudo_positives

LEAST_QUERIES = 200  # in the sample that influences are computed from
MOST_PLACES = 100_000  # of all lists of the sample
MOST_OF_TAU = 250_000  # the same for Kendall's tau, where an image takes less time
LARGEST = 2.0**18  # label distances beyond it have no influence
TOGETHER = 1 << 19  # items of lists from which images are left out together

Arrays = dict[str, npt.NDArray[Any]]


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


class Out:
    """What is measured of a ranking: values, and sums over queries of what every image adds to a query's value.

    Sums are integers, in multiples of a small unit, so that they do not depend on the order of addition.

    Attributes:
        values: metric -> (query,) float64, NaN where it is undefined.
    """

    def __init__(self, ranking: Ranking):
        self.values = {m: np.full(len(ranking.queries), np.nan) for m in ranking.metrics}
        images = len(ranking.split.image_ids)
        self._sums = {m: np.zeros((2, images), np.int64) for g in ranking.influenced for m in g.metrics}
        self._too_large: set[Metric] = set()
        if not self._sums:
            return
        split, (image, _) = ranking.split, ranking.image_of
        ids = split.caption_ids if ranking.side else split.image_ids
        place = random_order(split.image_ids)
        self.half = place[image] % 2  # (query,)
        self.place = random_order(ids[ranking.queries])  # (query,) in the order of the sample
        self.gallery = len(ranking.gallery)
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

    def arrays(self, queries: slice) -> Arrays:
        """What was measured of some queries, when nothing was measured of others.

        Returns:
            ``values``: (metric, query) float64; and where images are left out ``place`` and ``sums``: (entry,) int64,
            the sums that are not 0 and their places in all of them, ``too_large``: (metric,) bool, not computed.
        """
        found: Arrays = {"values": np.stack([values[queries] for values in self.values.values()])}
        if self._sums:
            sums = np.stack(list(self._sums.values())).reshape(-1)
            place = np.flatnonzero(sums)
            too_large = np.array([m in self._too_large for m in self._sums], np.bool_)
            found |= {"place": place, "sums": sums[place], "too_large": too_large}
        return found

    def join(self, queries: slice, arrays: Arrays) -> None:
        """Write what ``arrays`` gave of some queries, and add their sums."""
        for of_metric, values in zip(self.values.values(), arrays["values"], strict=True):
            of_metric[queries] = values
        if not self._sums:
            return
        start, place, sums = 0, arrays["place"], arrays["sums"]
        for (m, own), unknown in zip(self._sums.items(), arrays["too_large"], strict=True):
            a, b = np.searchsorted(place, (start, start + own.size))
            own.reshape(-1)[place[a:b] - start] += sums[a:b]
            start += own.size
            if unknown:
                self._too_large.add(m)

    def influence(self, metric: Metric) -> Float | None:
        """(2, image) float64 influences on the mean, from each half of the query images; None where not computed."""
        if metric not in self._sums or metric in self._too_large:
            return None
        sampled = int(((self.place < self.queries(metric)) & ~np.isnan(self.values[metric])).sum())
        return np.asarray(self._sums[metric] * (_unit(metric) / max(1, sampled)), np.float64)


def _unit(metric: Metric) -> float:
    """Sums of 2^24 queries stay below 2^63."""
    return 2.0**-38 if metric.unit == "fraction" else LARGEST * 2.0**-38


def measure(block: Block, found: Retrieved, groups: Sequence[Group], out: Out) -> None:
    """Add to ``out`` what every image adds to the values of the sampled queries of a block.

    Args:
        block: the queries.
        found: their lists, with as many further items as an image has at most.
        groups: metrics that all leave the ground truth out, or all keep it.
        out: of the ranking, with the values of the block.
    """
    for group in groups:
        if group.of_tau:
            for m in group.metrics:
                _add_tau(block, found, m, out)
            continue
        spare = block.ranking.spare
        some = found.cut(group.depth + spare)  # another metric of this block may read complete rankings
        some = block.with_positives(some, group, spare) if group.pseudo_positives else some
        for _, metrics in groupby(sorted(group.metrics, key=lambda m: m.k or 1), out.queries):
            _add_top(block, some, group, list(metrics), out)


def _add_top(block: Block, found: Retrieved, group: Group, metrics: Sequence[Metric], out: Out) -> None:
    """Metrics of the top k that are measured on the same queries."""
    k, rows = metrics[-1].k or 1, out.sampled(metrics[0], block.start, block.stop)
    query_image, gallery_image = block.ranking.image_of
    images = [gallery_image[found.items[rows, :k]]]
    images += [gallery_image[found.best[rows, : min(k, group.ideal)]]] if group.ideal else []
    images += [] if found.largest is None else [found.largest[rows, : group.pseudo_positives]]
    row, image = _distinct(np.concatenate(images, axis=1), query_image[block.start + rows])
    step = max(1, TOGETHER // (k + block.ranking.spare))
    for at in range(0, len(row), step):
        query, left_out = rows[row[at : at + step]], image[at : at + step]
        left = computed(metrics, _without(block, found, group, k, query, left_out), len(query))
        query += block.start
        out.add(metrics, query, left_out, np.stack([out.values[m][query] for m in metrics], axis=1) - left)


def _distinct(images: Int, own: Int) -> tuple[Int, Int]:
    """(pair,) rows and (pair,) the distinct images of every row, but the query's own.

    Args:
        images: (query, width) int64 images of items.
        own: (query,) int64 image of every query.
    """
    ordered = np.sort(images, axis=1)
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    row, column = np.nonzero(new & (ordered != own[:, None]))
    return row, ordered[row, column]


def _without(block: Block, found: Retrieved, group: Group, k: int, query: Int, image: Int) -> dict[str, Any]:
    """The fields of ``GradedRanking`` that metrics of the top k read, of queries without the items of an image.

    Args:
        block, found: the queries and their lists.
        group: the metrics.
        k: how many items are listed.
        query, image: (pair,) int64 rows of the block, and images of the split.
    """
    gallery_image, r = block.ranking.image_of[1], found.ranking

    def remaining(items: Items) -> Callable[[Any], Any]:
        """(query, depth) numbers of listed items -> (pair, k) those of the first items of other images."""
        depth = min(k + block.ranking.spare, items.shape[1])
        left = np.ones((len(query), k + block.ranking.spare), np.bool_)  # what is behind the last candidate stays
        left[:, :depth] = gallery_image[items[query, :depth]] != image[:, None]
        left[:, :depth] |= np.arange(depth) >= found.candidates[query, None]
        first = np.flatnonzero(left & (np.cumsum(left, axis=1, dtype=np.int32) <= k)).reshape(-1, k)
        column = np.minimum(first - np.arange(len(query))[:, None] * left.shape[1], depth - 1)
        return lambda x: np.ascontiguousarray(x[:, :depth]).ravel()[column + query[:, None] * depth]

    take, needs = remaining(found.items), group.needs
    candidates = found.candidates[query] - np.bincount(gallery_image, minlength=int(image.max(initial=0)) + 1)[image]
    fields: dict[str, Any] = {"count": np.minimum(candidates, k)}
    if "tied" in needs:  # items remain tied where all items between them are left out
        fields["tied"] = np.diff(take(np.cumsum(~r.tied, axis=1)), axis=1, prepend=-1) == 0
    if group.reads_gains:
        fields["gains"] = take(r.gains)
    if "gain_order" in needs:
        fields["gain_order"] = gain_order(fields["gains"], fields["count"])
    if "distance" in needs:
        with np.errstate(divide="ignore"):  # a gain that is none of a distance; behind the last candidate
            fields["distance"] = 1.0 / fields["gains"].astype(np.float64) - 1.0
    if "ideal" in needs:
        fields["ideal"] = remaining(found.best)(r.ideal)
    if found.largest is not None:
        assert found.size is not None and found.place is not None
        left = found.largest[query] != image[:, None]
        chosen = left & (np.cumsum(left, axis=1) <= group.pseudo_positives)
        # the pseudo-positives are in front of the first item or image behind the last of them
        cut = np.where(chosen, np.arange(1, chosen.shape[1] + 1), 0).max(axis=1, initial=0)
        number = np.maximum((found.size[query] * chosen).sum(axis=1), candidates > 0)
        fields["count"] = np.where(number > 0, fields["count"], 0)
        fields["pseudo_positive"] = take(found.place) < cut[:, None]
        fields["pseudo_positives"] = number
    return fields


def _add_tau(block: Block, found: Retrieved, m: Metric, out: Out) -> None:
    """Kendall's tau of the top k."""
    rows = out.sampled(m, block.start, block.stop)
    k = min(m.k or found.items.shape[1], found.items.shape[1])
    step = max(1, TOGETHER // k)
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        count = np.minimum(found.ranking.count[some], k)
        gains = np.ascontiguousarray(found.ranking.gains[some, :k])
        own, gallery_image = block.ranking.image_of[0][block.start + some], block.ranking.image_of[1]
        images, tied = gallery_image[found.items[some, :k]], np.ascontiguousarray(found.ranking.tied[some, :k])
        row, image, pairs, size = without_groups(gains, tied, count, images)
        other = image != own[row]
        query = some[row[other]] + block.start
        left = tau(pairs[other][:, None], size[other][:, None], m.option("tau"))
        out.add([m], query, image[other], out.values[m][query][:, None] - left)
