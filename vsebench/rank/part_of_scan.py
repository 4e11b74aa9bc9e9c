"""A part of a scan: the scores of some images with some captions, so that several processes can share a scan.

::

                captions
              ┌─────┬─────┬─────┐
      images  │     │     │     │   count   -> the arrays of a block
              ├─────┼─────┼─────┤   combined -> those of a larger block, from the blocks that it consists of
              │     │     │     │   joined  -> a ``Scan`` (see ``observe``) of all blocks
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


def combined(parts: Iterable[tuple[Block, Arrays]], counters: Sequence[Counter], depth: Depths, block: Block) -> Arrays:
    """The arrays of a block, as of ``count``, from those of blocks that together are this one, in any order."""
    found: Arrays = {}
    for i, counter in enumerate(counters):
        found[f"counts{i}"] = np.zeros((3, len(range(*_pairs(counter, block, block)))), np.int32)
    for direction, k in depth.items():
        (q0, q1), (g0, g1) = block.sides(direction)
        shape = q1 - q0, min(k, g1 - g0)
        found[f"{direction}_items"] = np.full(shape, NO_ITEM)
        found[f"{direction}_scores"] = np.full(shape, -np.inf)
    for part, arrays in parts:
        for i, counter in enumerate(counters):
            found[f"counts{i}"][:, slice(*_pairs(counter, part, block))] += arrays[f"counts{i}"]
        for direction in depth:
            (a, b), (first, _) = part.sides(direction)[0], block.sides(direction)[0]
            items, scores = (found[f"{direction}_{x}"][a - first : b - first] for x in ("items", "scores"))
            new = TopK(arrays[f"{direction}_items"], arrays[f"{direction}_scores"])
            top = merged(TopK(items, scores), new, items.shape[1])
            items[:], scores[:] = top.items, top.scores
    return found


def _pairs(counter: Counter, part: Block, block: Block) -> Range:
    """Where the pairs of the queries of a part stand among those of a block."""
    indptr, ((a, b), (first, _)) = counter.pairs.indptr, (x.sides(counter.direction)[0] for x in (part, block))
    return int(indptr[a] - indptr[first]), int(indptr[b] - indptr[first])


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
        found = combined(parts, counters, depth, Block((0, n_image), (0, n_caption)))
        for i, counter in enumerate(counters):
            counter.counts[:, 0] += found[f"counts{i}"]
        return {d: TopK(found[f"{d}_items"], found[f"{d}_scores"]) for d in depth}

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
