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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.declare import Metric
from ..metrics.gain_order import gain_order
from ..metrics.graded_ranking import GradedRanking
from ..metrics.tau import tau, without_groups
from ..metrics.values import computed
from ..rank.order import Items, largest
from ..relevance.gains import Gains
from ..types import Bool, Float, Ids, Int, Tops, Vectors
from .rankings import Group, Ranking, is_tau, pseudo_positives

MIN_SAMPLED_QUERIES = 200  # influences are computed from a sample of at least this many queries
MAX_SAMPLE_PLACES = 100_000  # list entries in the sample
MAX_SAMPLE_PLACES_TAU = 250_000  # the same for Kendall's tau, which needs less time an image
MAX_LABEL_DISTANCE = 2.0**18  # larger label distances have no influence
BATCH_ITEMS = 1 << 19  # list entries processed at a time when images are left out

Array = npt.NDArray[Any]


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
        values: metric -> (query,) float64, NaN if it is undefined.
    """

    def __init__(self, ranking: Ranking):
        self.values = {m: np.full(len(ranking.queries), np.nan) for m in ranking.metrics}
        images = len(ranking.test.rows)
        self._sums = {m: np.zeros((2, images), np.int64) for g in ranking.influenced for m in g.metrics}
        self._too_large: set[Metric] = set()
        if not self._sums:
            return
        image, _ = ranking.image_of
        ids = ranking.test.sides[ranking.side].ids
        place = random_order(ranking.test.rows.ids)
        self.half = place[image] % 2  # (query,)
        self.place = random_order(ids[ranking.queries])  # (query,) in the order of the sample
        self.gallery = len(ranking.gallery)
        self._lock = threading.Lock()

    def queries(self, metric: Metric) -> int:
        """How many queries the sample of a metric has; the longer its lists, the less one image matters in each."""
        depth = min(max(metric.k or self.gallery, pseudo_positives(metric)), self.gallery)
        most = MAX_SAMPLE_PLACES_TAU if is_tau(metric) else MAX_SAMPLE_PLACES
        return min(max(MIN_SAMPLED_QUERIES, most // depth), len(self.place))

    def sampled(self, metric: Metric, start: int, stop: int) -> Int:
        """(sampled,) int64, which of the queries ``start:stop`` are in its sample, counted from ``start``."""
        return np.flatnonzero(self.place[start:stop] < self.queries(metric))

    def add(self, metrics: Sequence[Metric], query: Int, image: Int, added: Float) -> None:
        """Add what images add to the values of queries.

        Args:
            metrics: of the columns.
            query, image: (pair,) int64 positions of queries in the ranking, and indices of images of the split.
            added: (pair, metric) float64; NaN if the metric is undefined with or without the image, counts as 0.
        """
        place = self.half[query] * self._sums[metrics[0]].shape[1] + image
        for i, m in enumerate(metrics):
            if np.abs(added[:, i]).max(initial=0, where=~np.isnan(added[:, i])) >= MAX_LABEL_DISTANCE:
                self._too_large.add(m)
                continue
            steps = np.rint(np.nan_to_num(added[:, i]) / _unit(m)).astype(np.int64)
            some = steps != 0
            with self._lock:
                np.add.at(self._sums[m].reshape(-1), place[some], steps[some])

    def arrays(self, queries: slice) -> list[Array]:
        """What was measured of some queries, when nothing was measured of others, for ``join``.

        Returns:
            (metric, query) float64 values; and where images are left out (entry,) int64 places of the sums that are not
            0 among all of them, (entry,) int64 these sums, and (metric,) bool, the metrics without sums.
        """
        values = np.stack([values[queries] for values in self.values.values()])
        if not self._sums:
            return [values]
        sums = np.stack(list(self._sums.values())).reshape(-1)
        place = np.flatnonzero(sums)
        return [values, place, sums[place], np.array([m in self._too_large for m in self._sums], np.bool_)]

    def join(self, queries: slice, arrays: Iterator[Array]) -> None:
        """Write the values that another process measured for some queries, and add its sums; takes the next arrays."""
        for of_metric, values in zip(self.values.values(), next(arrays), strict=True):
            of_metric[queries] = values
        if not self._sums:
            return
        start, place, sums, too_large = 0, next(arrays), next(arrays), next(arrays)
        for (m, total), unknown in zip(self._sums.items(), too_large, strict=True):
            a, b = np.searchsorted(place, (start, start + total.size))
            total.reshape(-1)[place[a:b] - start] += sums[a:b]
            start += total.size
            if unknown:
                self._too_large.add(m)

    def influence(self, metric: Metric) -> Float | None:
        """(2, image) float64 influences on the mean, from each half of the query images; None if not computed."""
        if metric not in self._sums or metric in self._too_large:
            return None
        sampled = int(((self.place < self.queries(metric)) & ~np.isnan(self.values[metric])).sum())
        return np.asarray(self._sums[metric] * (_unit(metric) / max(1, sampled)), np.float64)


def _unit(metric: Metric) -> float:
    """Sums of 2^24 queries stay below 2^63."""
    return 2.0**-38 if metric.unit == "fraction" else MAX_LABEL_DISTANCE * 2.0**-38


def measure(block: Block, found: Retrieved, groups: Sequence[Group], out: Out) -> None:
    """Add the influence of every image on the values of the sampled queries to ``out``, which has the block's values.

    Args:
        block, found: the queries and their lists, with as many further items as an image has at most.
        groups: metrics that all leave the ground truth out, or all keep it.
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
    images += [block.ranking.image_at[found.best[rows, : min(k, group.ideal)]]] if group.ideal else []
    images += [] if found.largest is None else [found.largest[rows, : group.pseudo_positives]]
    row, image = _distinct(np.concatenate(images, axis=1), query_image[block.start + rows])
    step = max(1, BATCH_ITEMS // (k + block.ranking.spare))
    for at in range(0, len(row), step):
        query, left_out = rows[row[at : at + step]], image[at : at + step]
        left = computed(metrics, _without(block, found, group, k, query, left_out), len(query))
        query += block.start
        out.add(metrics, query, left_out, np.stack([out.values[m][query] for m in metrics], axis=1) - left)


def _distinct(images: Int, query_image: Int) -> tuple[Int, Int]:
    """(pair,) rows and (pair,) the distinct images of every row, but the query's own.

    Args:
        images: (query, width) int64 images of items, -1 for none.
        query_image: (query,) int64 image of every query.
    """
    ordered = np.sort(images, axis=1)
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    row, column = np.nonzero(new & (ordered != query_image[:, None]) & (ordered >= 0))
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

    def remaining(items: Items, number: Int) -> Callable[[Any], Any]:
        """(query, depth) numbers of ``number`` (query,) items -> (pair, k) of the first items of other images."""
        depth = min(k + block.ranking.spare, items.shape[1])
        left = np.ones((len(query), k + block.ranking.spare), np.bool_)  # what is behind the last one stays
        left[:, :depth] = block.ranking.image_at[items[query, :depth]] != image[:, None]
        left[:, :depth] |= np.arange(depth) >= number[query, None]
        first = np.flatnonzero(left & (np.cumsum(left, axis=1, dtype=np.int32) <= k)).reshape(-1, k)
        column = np.minimum(first - np.arange(len(query))[:, None] * left.shape[1], depth - 1)
        return lambda x: np.ascontiguousarray(x[:, :depth]).ravel()[column + query[:, None] * depth]

    take, needs = remaining(found.items, found.candidates), group.needs
    candidates = found.candidates[query] - np.bincount(gallery_image, minlength=int(image.max(initial=0)) + 1)[image]
    fields: dict[str, Any] = {"count": np.minimum(candidates, k)}
    if "tied" in needs:  # items remain tied where all items between them are left out
        fields["tied"] = np.diff(take(np.cumsum(~r.tied, axis=1)), axis=1, prepend=-1) == 0
    if group.reads_gains:
        fields["gains"] = take(r.gains)
    if "gain_order" in needs:
        fields["gain_order"] = gain_order(fields["gains"], fields["count"])
    if "distance" in needs:
        with np.errstate(divide="ignore"):  # gains that are not from a distance, and after the last candidate
            fields["distance"] = 1.0 / fields["gains"].astype(np.float64) - 1.0
    if "ideal" in needs:
        one = (0, 0), (0, 1)  # after the last item the gain is 0
        assert r.ideal is not None and found.ideals is not None
        best, ideal = np.pad(found.best, one, constant_values=len(gallery_image)), np.pad(r.ideal, one)
        fields["ideal"] = remaining(best, found.ideals)(ideal)
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
    step = max(1, BATCH_ITEMS // k)
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        count = np.minimum(found.ranking.count[some], k)
        gains = np.ascontiguousarray(found.ranking.gains[some, :k])
        query_images, gallery_image = block.ranking.image_of[0][block.start + some], block.ranking.image_of[1]
        images, tied = gallery_image[found.items[some, :k]], np.ascontiguousarray(found.ranking.tied[some, :k])
        row, image, pairs, size = without_groups(gains, tied, count, images)
        other = image != query_images[row]
        query = some[row[other]] + block.start
        left = tau(pairs[other][:, None], size[other][:, None], m.option("tau"))
        out.add([m], query, image[other], out.values[m][query][:, None] - left)


MAX_GALLERY_PER_GAIN = 16  # if more than one gain in so many is read, complete rows are computed
NOT_AMONG_BEST = np.iinfo(np.int32).max  # place of an item that is not among the best
MAX_SPAN_PER_QUERY = 8  # rows of gains are computed in one call if at least one row in so many is needed


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The retrieved items and the items with the largest gains.

    Attributes:
        ranking: their gains and ties.
        items: (query, depth) int32 gallery positions of the retrieved items.
        best: (query, ideal depth) int32 gallery positions of the items with the largest gains; the size of the gallery
            for one that cannot be retrieved.
        candidates: (query,) int64 number of candidates.
        ideals: (query,) int64 number of ``best``: candidates, and items with a gain that cannot be retrieved.
        largest: (query, largest) int64 images, each of an item with the largest gains or itself one, descending.
        size: (query, largest) int64 number of gallery items that one of gain above 0 stands for, 0 for the others.
        place: (query, depth) int32 place of each retrieved item among those of gain above 0, or ``NOT_AMONG_BEST``.

    ``largest``, ``size`` and ``place`` are made for metrics of pseudo-positives, by ``Block.with_positives``.
    """

    ranking: GradedRanking
    items: Items
    best: Items
    candidates: Int
    ideals: Int | None = None
    largest: Int | None = None
    size: Int | None = None
    place: npt.NDArray[np.int32] | None = None

    def cut(self, depth: int) -> Retrieved:
        """The same, no deeper than ``depth``."""
        return replace(self, ranking=self.ranking.part(slice(None), depth), items=self.items[:, :depth])


class Block:
    """The queries at ``start:stop`` of a ranking and their gains in one view.

    Args:
        groups: the metrics that will be measured.
        larger: a block that contains these queries and their gallery; its gains are reused.
    """

    def __init__(
        self, ranking: Ranking, gains: Gains, start: int, stop: int, groups: list[Group], larger: Block | None = None
    ):
        self.ranking, self.start, self.stop, self.larger = ranking, start, stop, larger
        self.gains = gains.T if ranking.side else gains
        self.queries = ranking.queries[start:stop]
        most_positives = int(ranking.ground_truth.max(initial=0))
        deepest = max(
            (g.ideal + ranking.spare + g.without_ground_truth * most_positives for g in groups if g.ideal), default=0
        )
        self.ideal_depth = min(deepest, len(ranking.gallery))
        self._rows: Vectors | None = None
        self._ideal: tuple[Items, Vectors] | None = None
        self._images: dict[bool, tuple[Float, Items, Int]] = {}

    def rows(self) -> Vectors:
        """(query, gallery) float32 gains, made once; must not be written to."""
        if self._rows is None:
            larger, gallery = self.larger, self.ranking.gallery
            # Rows of the larger block serve if they are there already, or are all needed here.
            if larger and (larger._rows is not None or len(larger.queries) == len(self.queries)):
                rows = larger.rows()
                if len(self.queries) < len(rows):
                    rows = rows[np.searchsorted(larger.queries, self.queries)]
                if len(gallery) < rows.shape[1]:
                    rows = np.take(rows, np.searchsorted(larger.ranking.gallery, gallery), axis=1)
                self._rows = rows
            else:
                self._rows = gains_rows(self.gains, self.queries, gallery)
        return self._rows

    @cached_property
    def inside(self) -> Bool | None:
        """(query, gallery) which items are candidates; None for all of them."""
        among, rows = self.ranking.among, slice(self.start, self.stop)
        if among.everything:
            return None
        inside = np.ones((len(self.queries), len(self.ranking.gallery)), np.bool_)
        if among.fold is not None:
            inside &= np.equal.outer(among.fold[0][rows], among.fold[1])
        if among.excluded is not None:
            inside &= ~among.excluded[rows].toarray()
        if among.allowed is not None:
            inside &= among.allowed[rows].toarray()
        return inside

    def at(self, items: Items) -> Vectors:
        """(query, depth) float32 gains of gallery positions, 0 of -1, behind the end of a list."""
        from ..rank import sort_kernels

        gallery = len(self.ranking.gallery)
        few = gallery // MAX_GALLERY_PER_GAIN if self.gains.rows_affordable else gallery
        listed = items >= 0
        items = np.maximum(items, 0)
        if self._rows is None and items.shape[1] < few:
            out = self.gains.at(self.queries, self.ranking.gallery[items])
        else:
            out = np.empty(items.shape, np.float32)
            sort_kernels.gather(self.rows(), items, out)
        return out if listed.all() else np.where(listed, out, np.float32(0))

    def ideal(self, k: int) -> tuple[Items, Vectors]:
        """(query, k) gallery positions of the largest gains, and these, descending; ties to the lower position.

        Candidates are in front of all others.
        """
        if self._ideal is None:
            rows = self.rows() if self.inside is None else np.where(self.inside, self.rows(), np.float32(-np.inf))
            items = largest(rows, self.ideal_depth)
            self._ideal = items, self.at(items)
        return np.ascontiguousarray(self._ideal[0][:, :k]), np.ascontiguousarray(self._ideal[1][:, :k])

    def retrieved(self, order: Tops, ideal: int, without_ground_truth: bool, with_gains: bool) -> Retrieved:
        """The candidates among the retrieved items, and the largest gains of the candidates.

        Args:
            order: the top of every ranking.
            ideal: how many of the largest gains.
            without_ground_truth: a query's own items are not candidates.
            with_gains: with the gains of the retrieved items.
        """
        ranking, items, tied = self.ranking, order.items, order.tied
        gallery, wanted = len(ranking.gallery), ideal
        best_items: Items = np.empty((len(items), 0), np.int32)
        best: Vectors | None = None
        ideal = min(ideal, gallery)
        most_positives = int(ranking.ground_truth.max(initial=0)) * without_ground_truth
        if ideal:  # before the gains of the retrieved items, which are then taken from the rows that this makes
            best_items, best = self.ideal(min(ideal + most_positives, gallery))
        gains = self.at(items) if with_gains or without_ground_truth else np.empty((len(items), 0), np.float32)
        items = np.maximum(items, 0)  # places after the end of a list have no gain
        candidates = np.full(len(items), gallery) if self.inside is None else self.inside.sum(axis=1)
        if without_ground_truth:
            items, tied, gains = self._without_ground_truth(items, tied, gains)
            if self.inside is None:
                candidates -= ranking.ground_truth[self.start : self.stop]
            else:
                query_image, gallery_image = ranking.image_of
                candidates -= (self.inside & (query_image[self.start : self.stop, None] == gallery_image)).sum(axis=1)
        if (none := self.gains.no_query) is not None:
            candidates[none[self.queries]] = 0
        count = np.minimum(candidates, items.shape[1])
        if best is None:
            return Retrieved(GradedRanking(gains, tied, count), items, best_items, candidates)
        if without_ground_truth:
            best_items, _, best = self._without_ground_truth(best_items, np.zeros(best.shape, np.bool_), best)
        # If candidates are fewer than wanted, the best of them fills the places behind the last.
        inside = np.arange(best_items.shape[1]) < candidates[:, None]
        best_items = np.where(inside, best_items, best_items[:, :1])
        best_items, best = best_items[:, :ideal], best[:, :ideal]
        best[np.arange(ideal) >= candidates[:, None]] = 0
        if (outside := self.gains.outside_of(self.queries)).any():
            every = np.concatenate([best, outside], axis=1)
            first = np.argsort(-every, axis=1, kind="stable")[:, :wanted]
            places = np.pad(best_items, ((0, 0), (0, outside.shape[1])), constant_values=gallery)
            best_items, best = (np.take_along_axis(x, first, axis=1) for x in (places, every))
        number = candidates + (outside > 0).sum(axis=1)
        return Retrieved(GradedRanking(gains, tied, count, best), items, best_items, candidates, number)

    def graded_ranking(self, found: Retrieved, group: Group) -> GradedRanking:
        """The observations that the metrics of a group read, with the order of gains or pseudo-positives if needed."""
        ranking = found.ranking
        if "gain_order" in group.needs:
            ranking = replace(ranking, gain_order=gain_order(np.ascontiguousarray(ranking.gains), ranking.count))
        if not group.pseudo_positives:
            return ranking
        found = self.with_positives(found, group)
        assert found.size is not None and found.place is not None
        # without pseudo-positives a query has the value 0, unless it has no candidates either
        number = np.maximum(found.size.sum(axis=1), found.candidates > 0)
        count = np.where(number > 0, ranking.count, 0)
        return replace(ranking, count=count, pseudo_positive=found.place < NOT_AMONG_BEST, pseudo_positives=number)

    def with_positives(self, found: Retrieved, group: Group, spare: int = 0) -> Retrieved:
        """The same with ``largest``: as many as there are pseudo-positives, and ``spare`` more."""
        ranking, most = self.ranking, group.pseudo_positives + spare
        if not group.by_image:
            assert found.ranking.ideal is not None  # pseudo-positives are chosen among the ideal items
            best, positive = found.best[:, :most], found.ranking.ideal[:, :most] > 0
            place = _places(found.items, best, positive, len(ranking.gallery))
            return replace(found, largest=ranking.image_of[1][best], size=positive.astype(np.int64), place=place)
        total, order, of_query = self._image_gains(group.without_ground_truth)
        image = np.searchsorted(ranking.items[0], ranking.image_of[1])
        number = every = np.bincount(image, minlength=len(ranking.items[0]))[None]  # of candidates
        if self.inside is not None:  # other images for every query
            number = np.stack([np.bincount(image[inside], minlength=every.shape[1]) for inside in self.inside])
            lost = (number == 0) & (every > 0)
            total, of_query = np.where(lost, -np.inf, total[of_query]), np.arange(len(self.queries))
            order = np.argsort(-total, axis=1, kind="stable").astype(np.int32)
        best = order[of_query, : min(most, len(ranking.items[0]) - group.without_ground_truth)]
        positive = total[of_query[:, None], best] > 0
        size = np.take_along_axis(number, best, axis=1) * positive
        place = _places(image[found.items], best, positive, len(ranking.items[0]))
        return replace(found, largest=ranking.items[0][best], size=size, place=place)

    def _image_gains(self, without_ground_truth: bool) -> tuple[Float, Items, Int]:
        """The gains of all images, summed over the captions of each query image of the block; made once.

        Returns:
            (own, image) sums, -inf for a ground truth that is left out; (own, image) positions in descending order;
            (query,) row of every query.
        """
        if without_ground_truth not in self._images:
            ranking = self.ranking
            images, of_query = np.unique(ranking.image_of[0][self.start : self.stop], return_inverse=True)
            captions = ranking.items[1][np.isin(ranking.test.owners[ranking.items[1]], images)]
            total = np.zeros((len(images), len(ranking.items[0])))
            if len(captions):
                of_captions = self.gains if ranking.side == 1 else self.gains.T
                rows = gains_rows(of_captions, captions, ranking.items[0])
                np.add.at(total, np.searchsorted(images, ranking.test.owners[captions]), rows)
            if without_ground_truth:
                total[np.arange(len(images)), np.searchsorted(ranking.items[0], images)] = -np.inf
            order = np.argsort(-total, axis=1, kind="stable").astype(np.int32)
            self._images[without_ground_truth] = total, order, of_query
        return self._images[without_ground_truth]

    def _without_ground_truth(self, order: Items, ties: Bool, gains: Vectors) -> tuple[Items, Bool, Vectors]:
        """The order without the items of a query's image; undefined after the last candidate."""
        from ..rank import sort_kernels

        query_image, gallery_image = self.ranking.image_of
        items, tied, left = np.zeros_like(order), np.zeros_like(ties), np.zeros_like(gains)
        query_images = query_image[self.start : self.stop]
        sort_kernels.leave_out(order, ties, gains, query_images, gallery_image, items, tied, left)
        return items, tied, left


def gains_rows(gains: Gains, queries: Int, gallery: Int) -> Vectors:
    """(query, gallery) float32 gains of some queries with some items, both ascending indices of the split."""
    first, last = int(queries[0]), int(queries[-1]) + 1
    if last - first > MAX_SPAN_PER_QUERY * len(queries):
        rows = np.concatenate([gains.rows(q, q + 1) for q in queries.tolist()])
    else:
        rows = gains.rows(first, last)
        if last - first > len(queries):
            rows = rows[queries - first]
    if len(gallery) < rows.shape[1]:
        near = len(gallery) == gallery[-1] - gallery[0] + 1
        rows = rows[:, gallery[0] : gallery[-1] + 1] if near else rows[:, gallery]
    # Rows of a memory-mapped file are read-only, for which numba would compile every kernel again.
    return np.require(rows, np.float32, ["C", "W"])


def _places(items: npt.NDArray[Any], best: npt.NDArray[Any], positive: Bool, size: int) -> npt.NDArray[np.int32]:
    """(query, depth) int32 places of items among the best (query, m) of their query, or ``NOT_AMONG_BEST``.

    Items are below ``size``. Positive items come first; the others count as not among the best.
    """
    place = np.full((len(items), size), NOT_AMONG_BEST, np.int32)
    # The others must not be written: behind the last candidate the first item is listed again.
    positive_items = np.where(positive, best, best[:, :1])
    rank = np.where(positive, np.arange(best.shape[1], dtype=np.int32), np.where(positive[:, :1], 0, NOT_AMONG_BEST))
    np.put_along_axis(place, positive_items, rank.astype(np.int32), axis=1)
    return np.take_along_axis(place, items, axis=1)
