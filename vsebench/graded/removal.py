"""The values of graded metrics without the items of one image, for the images among the first k.

Only the images of the first k retrieved items, of the k largest gains and of the pseudo-positives can change the value
of a query. Where one of them is left out, the next candidate, ideal gain and pseudo-positive take its place: sums over
the list are computed for every pair of a query and an image, without a copy of the list (``Remaining``); only metrics
that read more than such sums get copies. For Kendall's tau the pairs that an image takes part in are subtracted, and no
candidate takes its place. Gains are checked for the values themselves; what moves up is not checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ..metrics.declare import Metric
from ..metrics.gain_order import gain_order
from ..metrics.graded_ranking import GradedRanking, Remaining
from ..metrics.tau import tau, without_groups
from ..metrics.values import computed, values
from ..types import Float, Int
from .block import Block, Largest, Retrieved
from .influence import Influence
from .rankings import Group

MOST_PAIRS = 1 << 16  # pairs of queries and images that are measured together
Known = Mapping[Metric, Float]


def measure(block: Block, found: Retrieved, groups: Sequence[Group], known: Known, out: Influence) -> None:
    """Add to ``out`` what every image adds to the values of the sampled queries of a block.

    Args:
        block: the queries.
        found: their lists, with as many further items as an image has at most.
        groups: metrics that all leave the ground truth out, or all keep it.
        known: metric -> (query,) the values of all queries of the ranking.
        out: sums of influences.
    """
    for group in groups:
        if group.of_tau:
            for m in group.metrics:
                _add_tau(block, found, m, known, out)
            continue
        lists = _lists(block, found, group)
        for _, metrics in groupby(sorted(group.metrics, key=lambda m: m.k or 1), out.queries):
            _add_top(block, lists, group, list(metrics), known, out)


@dataclass(frozen=True, eq=False)
class _Lists:
    """The lists of some queries that metrics of the top k read, with further items that can move up.

    Attributes:
        own: (query,) int64 images of the queries.
        candidates: (query,) int64.
        image, gains, tied: (query, depth) of the retrieved items.
        best, ideal: (query, ideal depth) images and gains of the items with the largest gains.
        largest: what the pseudo-positives are chosen from, or None.
    """

    own: Int
    candidates: Int
    image: Int
    gains: Any
    tied: Any
    best: Int
    ideal: Any
    largest: Largest | None

    def cut(self, rows: Int, depth: int) -> _Lists:
        """Those of some queries, no deeper than ``depth``."""
        found = self.largest
        return _Lists(
            self.own[rows], self.candidates[rows], np.ascontiguousarray(self.image[rows, :depth]),
            self.gains[rows, :depth], self.tied[rows, :depth], self.best[rows], self.ideal[rows],
            found and Largest(found.image[rows], found.size[rows], np.ascontiguousarray(found.place[rows, :depth])),
        )  # fmt: skip


def _lists(block: Block, found: Retrieved, group: Group) -> _Lists:
    ranking, spare = block.ranking, block.ranking.spare
    # complete rankings, which another metric of this block may read, are not needed
    found = found.cut(group.depth + spare)
    query_image, gallery_image = ranking.image_of
    best, r = found.best[:, : group.ideal + spare], found.ranking
    ideal = np.zeros(best.shape) if r.ideal is None else r.ideal[:, : best.shape[1]]
    return _Lists(
        query_image[block.start : block.stop], found.candidates, gallery_image[found.items], r.gains, r.tied,
        gallery_image[best], ideal, block.largest(found, group, spare) if group.pseudo_positives else None,
    )  # fmt: skip


def _add_top(
    block: Block, lists: _Lists, group: Group, metrics: Sequence[Metric], known: Known, out: Influence
) -> None:
    """Metrics of the top k that are measured on the same queries."""
    k, rows = metrics[-1].k or 1, out.sampled(metrics[0], block.start, block.stop)
    lists = lists.cut(rows, k + block.ranking.spare)
    images = [lists.image[:, :k], lists.best[:, :k]]
    images += [] if lists.largest is None else [lists.largest.image[:, : group.pseudo_positives]]
    row, image = distinct(np.concatenate(images, axis=1), lists.own)
    for at in range(0, len(row), MOST_PAIRS):
        pairs = row[at : at + MOST_PAIRS], image[at : at + MOST_PAIRS]
        left = _without(block, group, metrics, lists, *pairs)
        query = rows[pairs[0]] + block.start
        out.add(metrics, query, pairs[1], np.stack([known[m][query] for m in metrics], axis=1) - left)


def distinct(images: Int, own: Int) -> tuple[Int, Int]:
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


def _without(block: Block, group: Group, metrics: Sequence[Metric], lists: _Lists, row: Int, image: Int) -> Float:
    """(pair, metric) values of the queries ``row`` (pair,) of the lists without the items of ``image`` (pair,)."""
    items = np.bincount(block.ranking.image_of[1], minlength=len(block.ranking.split.image_ids))
    candidates = lists.candidates[row] - items[image]
    fields: dict[str, Any] = dict.fromkeys(group.needs)
    fields["count"] = np.minimum(candidates, lists.image.shape[1])
    fields["gains"] = Remaining(lists.gains, lists.image, row, image)
    fields["ideal"] = Remaining(lists.ideal, lists.best, row, image)
    if "distance" in group.needs:
        with np.errstate(divide="ignore"):  # a gain that is none of a distance; behind the last candidate
            fields["distance"] = Remaining(1.0 / lists.gains.astype(np.float64) - 1.0, lists.image, row, image)
    if lists.largest is not None:
        m, largest = group.pseudo_positives, lists.largest
        left = largest.image[row] != image[:, None]
        chosen = left & (np.cumsum(left, axis=1) <= m)
        # the pseudo-positives are in front of the first item or image behind the last of them
        cut = np.where(chosen, np.arange(1, chosen.shape[1] + 1), 0).max(axis=1, initial=0)
        number = np.maximum((largest.size[row] * chosen).sum(axis=1), candidates > 0)
        fields["count"] = np.where(number > 0, fields["count"], 0)
        ones = np.ones(lists.image.shape)
        fields["pseudo_positive"] = Remaining(ones, lists.image, row, image, largest.place, cut)
        fields["pseudo_positives"] = number
    if metrics[0].family.of_sums:
        return computed(metrics, fields, len(row))
    return _copied(group, metrics, lists, fields, row, image)


def _copied(
    group: Group, metrics: Sequence[Metric], lists: _Lists, fields: Mapping[str, Any], row: Int, image: Int
) -> Float:
    """As ``_without``, for metrics that need the lists themselves."""
    depth, found = group.depth, {n: f for n, f in fields.items() if isinstance(f, Remaining)}
    # Items remain tied where all items between them are left out.
    run = Remaining(np.cumsum(~lists.tied, axis=1), lists.image, row, image).lists(depth)
    tied = np.zeros(run.shape, np.bool_)
    tied[:, 1:] = run[:, 1:] == run[:, :-1]
    gains, count = np.ascontiguousarray(found["gains"].lists(depth)), np.minimum(fields["count"], depth)
    positive = found["pseudo_positive"].lists(depth) if "pseudo_positive" in found else None
    order = gain_order(gains, count) if "gain_order" in group.needs else None
    ideal = found["ideal"].lists(lists.ideal.shape[1])
    return values(metrics, GradedRanking(gains, tied, count, ideal, positive, fields.get("pseudo_positives"), order))


def _add_tau(block: Block, found: Retrieved, m: Metric, known: Known, out: Influence) -> None:
    """Kendall's tau of the top k."""
    rows = out.sampled(m, block.start, block.stop)
    k = min(m.k or found.items.shape[1], found.items.shape[1])
    step = max(1, MOST_PAIRS // k)
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
        out.add([m], query, image[other], known[m][query][:, None] - left)
