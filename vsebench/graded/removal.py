"""The values of graded metrics without the items of one image, for the images among the first k.

Only the images of the first k retrieved items, and of the k largest gains, can change the value of a query. For metrics
of the top k the lists without the image are measured by the metric itself; the next candidate and the next ideal gain
move up. For Kendall's tau the pairs that an image takes part in are subtracted, and none moves up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..metrics.declare import Metric
from ..metrics.gain_order import gain_order
from ..metrics.graded_ranking import GradedRanking
from ..metrics.tau import tau, without_groups
from ..metrics.values import values
from ..types import Float, Int
from .block import Block, Retrieved
from .influence import Influence
from .rankings import Group

MOST_PAIRS = 1 << 16  # rows of queries without an image that are measured together
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
    top = [g for g in groups if not g.of_tau]
    if not top:
        return
    rows = out.sampled(top[0].metrics[0], block.start, block.stop)
    # complete rankings, which another metric of this block may read, are not copied for every image
    found = found.cut(max(g.depth for g in top) + block.ranking.spare)
    own, gallery_image = block.ranking.image_of[0][block.start + rows], block.ranking.image_of[1]
    k = max(m.k or 1 for g in top for m in g.metrics)
    images = [gallery_image[found.items[rows, :k]], gallery_image[found.best[rows, : max(g.ideal for g in top)]]]
    images += [block.ranking.images[block.best_images(found, g)[0][rows]] for g in top if g.by_image]
    row, image = distinct(np.concatenate(images, axis=1), own)
    for at in range(0, len(row), MOST_PAIRS):
        chosen = slice(at, at + MOST_PAIRS)
        _add_top(block, found, top, rows[row[chosen]], image[chosen], known, out)


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


def _add_top(
    block: Block, found: Retrieved, groups: Sequence[Group], row: Int, image: Int, known: Known, out: Influence
) -> None:
    """Metrics of the top k: ``row`` (pair,) of the block and ``image`` (pair,) that is left out."""
    without = _leave_out(block, found, row, image)
    query = row + block.start
    for group in groups:
        ranking = block.graded_ranking(without.cut(group.depth), group)
        left = values(group.metrics, ranking)
        before = np.stack([known[m][query] for m in group.metrics], axis=1)
        out.add(group.metrics, query, image, before - left)


def _leave_out(block: Block, found: Retrieved, row: Int, image: Int) -> Retrieved:
    """The lists of some rows without the items of an image each."""
    from ..rank import sort_kernels

    gallery_image, ranking = block.ranking.image_of[1], found.ranking
    candidates = found.candidates[row] - np.bincount(gallery_image, minlength=int(image.max(initial=0)) + 1)[image]
    items, tied = found.items[row], ranking.tied[row]
    gains = ranking.gains[row] if ranking.gains.shape[1] else np.zeros(items.shape, ranking.gains.dtype)
    listed, equal, gained = np.zeros_like(items), np.zeros_like(tied), np.zeros_like(gains)
    sort_kernels.leave_out(items, tied, gains, image, gallery_image, listed, equal, gained)
    count = np.minimum(candidates, items.shape[1])
    left = GradedRanking(gained, equal, count)
    best = found.best[row]
    if ranking.ideal is not None and best.shape[1]:
        ideal, nothing = ranking.ideal[row], np.zeros(best.shape, np.bool_)
        kept, largest = np.zeros_like(best), np.zeros_like(ideal)
        sort_kernels.leave_out(best, nothing, ideal, image, gallery_image, kept, nothing.copy(), largest)
        inside = np.arange(best.shape[1]) < candidates[:, None]
        best = np.where(inside, kept, kept[:, :1])
        left = replace(left, ideal=np.where(inside, largest, 0))
    return Retrieved(row, left, listed, best, candidates, image)


def _add_tau(block: Block, found: Retrieved, m: Metric, known: Known, out: Influence) -> None:
    """Kendall's tau of the top k."""
    rows = out.sampled(m, block.start, block.stop)
    k = min(m.k or found.items.shape[1], found.items.shape[1])
    step = max(1, MOST_PAIRS // k)
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        count = np.minimum(found.ranking.count[some], k)
        order = gain_order(np.ascontiguousarray(found.ranking.gains[some, :k]), count)
        own, gallery_image = block.ranking.image_of[0][block.start + some], block.ranking.image_of[1]
        images, tied = gallery_image[found.items[some, :k]], np.ascontiguousarray(found.ranking.tied[some, :k])
        row, image, pairs, size = without_groups(order, tied, count, k, images)
        other = image != own[row]
        query = some[row[other]] + block.start
        left = tau(pairs[other][:, None], size[other][:, None], m.option("tau"))
        out.add([m], query, image[other], known[m][query][:, None] - left)
