"""The rankings that graded metrics need.

Metrics with the same candidates read the same rankings. The options of a metric select the images and captions
that take part: all captions of an image or the first one, the complete split or one fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import UsageError
from ..metrics.declare import Metric, without_mean
from ..metrics.values import differ_in_k
from ..options import spell
from ..types import BOTH, EVERYTHING, Both, Candidates, Int, TestSet, Which

MAX_INFLUENCE_DEPTH = 100  # up to this k, every image of the top k is left out once


@dataclass(frozen=True, eq=False)
class Ranking:
    """Queries of one side, the gallery of the other, and the metrics that read these rankings.

    Attributes:
        test: the items.
        side: 0 if the queries are the rows (images), 1 if they are the columns (captions).
        items: (row,) and (column,) int64 indices of those that take part, ascending.
        fold: the fold they belong to, or None.
        metrics: what is measured, without sums.
        expected: values are means over the orders of tied items; a tie may reach to the end of the gallery.
        influence: lists are deep enough to leave an image out of them, see ``influence``.
        candidates: of all queries of the side among all items of the other.
    """

    test: TestSet
    side: Which
    items: Both[Int]
    fold: int | None
    metrics: tuple[Metric, ...]
    expected: bool = False
    influence: bool = False
    candidates: Candidates = EVERYTHING

    @property
    def queries(self) -> Int:
        """(query,) int64 indices."""
        return self.items[self.side]

    @property
    def gallery(self) -> Int:
        """(gallery,) int64 indices."""
        return self.items[1 - self.side]

    @cached_property
    def among(self) -> Candidates:
        """The candidates of these queries in this gallery."""
        candidates = self.candidates
        return candidates if candidates.everything else candidates.take(self.queries, self.gallery)

    def within(self, first: Ranking, start: int, stop: int) -> slice:
        """The queries that are among the queries ``start:stop`` of another ranking of the same side."""
        ends = first.queries[start], first.queries[stop - 1] + 1
        return slice(*map(int, np.searchsorted(self.queries, ends)))

    @cached_property
    def image_of(self) -> tuple[Int, Int]:
        """(query,) and (gallery,) int64: the image that an item is or was written for; a number for others."""
        return self.test.units[self.side][self.queries], self.test.units[1 - self.side][self.gallery]

    @cached_property
    def image_at(self) -> Int:
        """(gallery + 1,) int64: the image of the item at a position; -1 behind the last item."""
        return np.append(self.image_of[1], -1)

    @cached_property
    def ground_truth(self) -> Int:
        """(query,) int64, how many items of the gallery are the query's ground truth."""
        query_image, gallery_image = self.image_of
        count = np.bincount(gallery_image, minlength=int(query_image.max(initial=0)) + 1)
        return count[query_image].astype(np.int64)

    @cached_property
    def depth(self) -> int:
        """The length of lists: the deepest rank that a metric reads, and further items if one image's are left out."""
        spare = (group.depth + self.spare for group in self.influenced if not group.of_tau)
        return min(max(*(group.depth for group in self.groups), *spare, 0), len(self.gallery))

    @cached_property
    def spare(self) -> int:
        """How many items of the gallery an image has at most; 0 if no image is left out."""
        return int(np.bincount(self.image_of[1]).max(initial=0)) if self.influence else 0

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The metrics, those that differ in k alone together; views one after the other."""
        return _groups(self.metrics, self)

    @cached_property
    def influenced(self) -> tuple[Group, ...]:
        """The metrics for which the influence of the images as candidates is computed."""
        if not self.influence:
            return ()
        return _groups([m for m in self.metrics if has_influence(m)], self)


@dataclass(frozen=True, eq=False)
class Group:
    """Metrics of one view that differ in k alone.

    Attributes:
        metrics: what is measured.
        without_ground_truth: a query's own items are not candidates.
        depth: the deepest rank they read.
        ideal: how many of the largest gains they read.
        pseudo_positives: how many items (or images) with the largest gains count as positives, 0 for none.
        by_image: pseudo-positives are chosen by image.
    """

    metrics: tuple[Metric, ...]
    without_ground_truth: bool
    depth: int
    ideal: int
    pseudo_positives: int
    by_image: bool

    @property
    def view(self) -> str:
        """The kind of gains."""
        return self.metrics[0].view

    @property
    def needs(self) -> frozenset[str]:
        """The fields of ``GradedRanking`` that the metrics read."""
        return self.metrics[0].family.needs

    @property
    def of_tau(self) -> bool:
        """Whether the metrics are Kendall's tau of the top k."""
        return is_tau(self.metrics[0])

    @property
    def reads_gains(self) -> bool:
        """Whether the gains of the retrieved items are needed."""
        checked = self.metrics[0].family.lowest_gain is not None
        return checked or bool({"gains", "gain_order", "distance"} & self.needs)


Together = tuple[Ranking, ...]


def plan(
    metrics: Sequence[Metric],
    test: TestSet,
    sides: Sequence[Which] = BOTH,
    expected: bool = False,
    influence: bool = False,
    candidates: Both[Candidates] = (EVERYTHING, EVERYTHING),
) -> list[Ranking]:
    """The rankings that some metrics need, sums replaced by their parts.

    Args:
        metrics: what is measured.
        test: the items.
        sides: of the queries.
        expected: values are means over the orders of tied items.
        influence: make lists deep enough to leave an image out of them; not of means over orders, and not among
            candidates that are not all items.
        candidates: of the rows and of the columns as queries.

    Raises:
        UsageError: a metric of binary judgements, a metric of folds that the split lacks, or a metric whose mean over
            the orders of tied items has no closed form.
    """
    single = list(dict.fromkeys(part for m in metrics for part in (m.parts() or (m,))))
    for m in single:
        if not m.graded:
            raise UsageError(f"{m} is not a graded metric", fix=f"write a kind of gains in front, as in cider:{m}")
        if expected and not m.has_expectation:
            raise UsageError(f"{m} has no mean over the orders of tied items in closed form", fix=without_mean())
    by_items: dict[tuple[str, str], list[Metric]] = {}
    for m in single:
        by_items.setdefault((m.option("captions"), m.option("on")), []).append(m)
    return [
        Ranking(
            test,
            side,
            items,
            fold,
            tuple(same_items),
            expected,
            influence and not expected and test.image_of is not None and candidates[side].everything,
            candidates[side],
        )
        for side in sides
        for (which, on), same_items in by_items.items()
        for items, fold in _items(test, which, on, str(same_items[0]))
    ]


def together(rankings: Sequence[Ranking]) -> list[Together]:
    """Rankings of the same side and fold, those with the most captions first: they share the gains of a block.

    First captions are some of all captions, so the others have some of the queries and of the gallery of the first.
    """
    found: dict[tuple[Which, int | None], list[Ranking]] = {}
    for ranking in rankings:
        found.setdefault((ranking.side, ranking.fold), []).append(ranking)
    return [tuple(sorted(same_queries, key=lambda r: -len(r.items[1]))) for same_queries in found.values()]


def has_influence(metric: Metric) -> bool:
    """Whether the influence of the images as candidates is computed for a graded metric.

    It is for Kendall's tau, and for metrics of the top k that read no deeper than ``MAX_INFLUENCE_DEPTH``.
    """
    return is_tau(metric) or (metric.family.depth == "k" and (metric.k or 1) <= MAX_INFLUENCE_DEPTH)


def is_tau(metric: Metric) -> bool:
    """Whether the metric is Kendall's tau between the scores and the gains of the top k, or of the gallery."""
    return "tau" in metric.family.options


def pseudo_positives(metric: Metric) -> int:
    """How many items or images with the largest gains a metric counts as positives, 0 for none."""
    given = metric.option("m") if "m" in metric.family.options else ""
    return int(given) if given.isdecimal() else 0


def deepest_rank(metric: Metric, ranking: Ranking) -> int:
    """The deepest rank that a metric reads; a ground truth that is left out makes room for as many more."""
    gallery = len(ranking.gallery)
    if metric.family.depth == "all":
        return gallery
    most_positives = int(ranking.ground_truth.max(initial=0)) if metric.option("gt") == "out" else 0
    return min((metric.k or 1) + most_positives, gallery)


def _groups(metrics: Sequence[Metric], ranking: Ranking) -> tuple[Group, ...]:
    found: dict[str, dict[object, list[Metric]]] = {}
    for m in metrics:
        found.setdefault(m.view, {}).setdefault(differ_in_k(m), []).append(m)
    return tuple(_group(same_positives, ranking) for by in found.values() for same_positives in by.values())


def _group(metrics: list[Metric], ranking: Ranking) -> Group:
    first = metrics[0]
    without = first.option("gt") == "out"
    if without:
        _ = ranking.test.owners  # own items must be known
    depth = len(ranking.gallery) if ranking.expected else max(deepest_rank(m, ranking) for m in metrics)
    by_image = "unit" in first.family.options and first.option("unit") == "image"
    positives = pseudo_positives(first)
    ideal = max(m.k or 1 for m in metrics) if "ideal" in first.family.needs else 0
    if (positives and not by_image) or ideal:
        ideal = max(ideal, positives)
    return Group(tuple(metrics), without, depth, ideal, positives, by_image)


def _items(test: TestSet, captions: str, on: str, metric: str) -> list[tuple[Both[Int], int | None]]:
    """The rows and columns of a fold that take part; the declared split COCO 1K is measured on each of its five folds.

    Raises UsageError.
    """
    rows, columns = map(np.arange, test.shape)
    if captions == "first":
        columns = np.sort(np.unique(test.owners, return_index=True)[1])
    if on == "split" and not test.in_folds:
        return [((rows, columns), None)]
    if test.folds is None:
        raise UsageError(
            f"{metric} needs folds, and split '{test.name}' has none", fix=f"use {spell('split', 'coco-5k')}"
        )
    of_row, of_column = test.folds[0], test.folds[1][columns]
    folds = np.unique(of_row).tolist()
    if on == "block":
        folds = folds[:1]
    return [((rows[of_row == f], columns[of_column == f]), f) for f in folds]
