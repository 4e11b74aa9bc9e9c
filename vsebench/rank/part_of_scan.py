"""A part of a scan: the scores of some images with some captions, so that several processes can share a scan.

::

                captions
              ┌─────┬─────┬─────┐
      images  │     │     │     │   count  -> the arrays of a block
              ├─────┼─────┼─────┤   joined -> a ``Scan`` (see ``observe``) of all blocks
              │     │     │     │
              └─────┴─────┴─────┘

Counts of the pairs of a query are added over the blocks that have candidates of it. Its lists are merged by canonical
score, then lower index. So the result has the same bits whatever the blocks and their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..numeric.parallel import Progress
from ..types import Direction, TopK
from .observe import Counter, Depths, Scan, in_memory
from .scorers import Range, Scorer, part_of

Arrays = dict[str, npt.NDArray[Any]]
MERGED = 1 << 18  # entries of lists that are merged together
NO_ITEM = np.iinfo(np.int64).max  # of a list that is not complete yet; its score is minus infinity


class Block(NamedTuple):
    """Some images and some captions, each as (first, last + 1)."""

    images: Range
    captions: Range

    def sides(self, direction: Direction) -> tuple[Range, Range]:
        """Queries and candidates."""
        return (self.images, self.captions) if direction == "i2t" else (self.captions, self.images)


def count(scan: Scan, scorer: Scorer, counters: Sequence[Counter], depth: Depths, threads: int, block: Block) -> Arrays:
    """The counts and the top lists of a block.

    Args:
        scan: of a back-end.
        scorer: scores of all images with all captions.
        counters: from ``observe.make_counters``; not changed.
        depth: per direction, how many items to list for every query.
        threads: number of threads.
        block: the images and captions.

    Returns:
        ``counts0``, ``counts1``, ... one a counter: (3, pair) int32 of the pairs whose queries are in the block;
        ``i2t_items``, ``i2t_scores``: (images of the block, k), and ``t2i_items``, ``t2i_scores``: (captions of the
        block, k), where lists are requested; k at most the candidates of the block.
    """
    own = part_of(scorer, "i2t", *block)
    parts = [counter.part(own, *block, threads) for counter in counters]
    lists = in_memory(scan)(own, parts, depth, threads, None, None)
    found: Arrays = {f"counts{i}": part.counts.sum(1).astype(np.int32) for i, part in enumerate(parts)}
    for direction, top in lists.items():
        found[f"{direction}_items"] = top.items + block.sides(direction)[1][0]
        found[f"{direction}_scores"] = top.scores
    return found


def joined(parts: Iterable[tuple[Block, Arrays]]) -> Scan:
    """A scan that takes the counts and lists of all blocks, in any order, instead of computing scores."""

    def scan(
        scorer: Scorer,
        counters: Sequence[Counter],
        depth: Depths,
        threads: int,
        tile_shape: tuple[int, int] | None,
        progress: Progress | None,
    ) -> dict[Direction, TopK]:
        n_image, n_caption = scorer.shape
        size = {"i2t": (n_image, n_caption), "t2i": (n_caption, n_image)}
        tops: dict[Direction, TopK] = {}
        for direction, k in depth.items():
            shape = size[direction][0], min(k, size[direction][1])
            tops[direction] = TopK(np.full(shape, NO_ITEM), np.full(shape, -np.inf))
        for block, arrays in parts:
            for i, counter in enumerate(counters):
                first, end = counter.pairs.indptr[list(block.sides(counter.direction)[0])]
                counter.counts[:, 0, first:end] += arrays[f"counts{i}"]
            for direction, top in tops.items():
                rows = slice(*block.sides(direction)[0])
                new = TopK(arrays[f"{direction}_items"], arrays[f"{direction}_scores"])
                best = merged(TopK(top.items[rows], top.scores[rows]), new, top.items.shape[1])
                top.items[rows], top.scores[rows] = best.items, best.scores
        return tops

    return scan


def merged(one: TopK, other: TopK, k: int) -> TopK:
    """The k best of two lists a query without common items, by score, then lower index."""
    queries, width = len(one.items), one.items.shape[1] + other.items.shape[1]
    found = TopK(np.empty((queries, min(k, width)), np.int64), np.empty((queries, min(k, width))))
    step = max(1, MERGED // max(width, 1))
    for start in range(0, queries, step):  # some at a time: merging takes several times the memory of the lists
        part = slice(start, start + step)
        items = np.concatenate([one.items[part], other.items[part]], axis=1)
        scores = np.concatenate([one.scores[part], other.scores[part]], axis=1)
        order = np.lexsort((items, -scores), axis=1)[:, :k]
        found.items[part], found.scores[part] = (np.take_along_axis(x, order, 1) for x in (items, scores))
    return found
