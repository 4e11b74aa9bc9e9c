"""A part of a scan: the scores of some images with all captions, so that several processes can share a scan.

``count`` makes the arrays of a part, ``joined`` a ``Scan`` (see ``observe``) of all parts. Counts of parts are added.
The list of an image is complete in its part; the lists of a caption are merged by canonical score, then lower index.
So the result has the same bits whatever the parts and their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numeric.parallel import Progress
from ..types import Direction, TopK
from .observe import Counter, Depths, Scan, in_memory
from .scorers import Scorer, part_of

Arrays = dict[str, npt.NDArray[Any]]
Images = tuple[int, int]  # a range of images
MERGED = 1 << 18  # entries of lists that are merged together


def count(
    scan: Scan, scorer: Scorer, counters: Sequence[Counter], depth: Depths, threads: int, images: Images
) -> Arrays:
    """The counts and the top lists of some images.

    Args:
        scan: of a back-end.
        scorer: scores of all images with all captions.
        counters: from ``observe.make_counters``; not changed.
        depth: per direction, how many items to list for every query.
        threads: number of threads.
        images: the range of images.

    Returns:
        ``counts0``, ``counts1``, ... one a counter: (3, pair) int32, of image queries those of the pairs of ``images``;
        ``i2t_items``, ``i2t_scores``: (images of the part, k) and ``t2i_items``, ``t2i_scores``: (caption, k), where
        lists are requested.
    """
    r0, r1 = images
    own = part_of(scorer, "i2t", r0, r1)
    parts = [counter.of_images(own, r0, r1, threads) for counter in counters]
    lists = in_memory(scan)(own, parts, depth, threads, None, None)
    found: Arrays = {f"counts{i}": part.counts.sum(1).astype(np.int32) for i, part in enumerate(parts)}
    for direction, top in lists.items():
        found[f"{direction}_items"] = top.items + (r0 if direction == "t2i" else 0)
        found[f"{direction}_scores"] = top.scores
    return found


def joined(parts: Iterable[tuple[Images, Arrays]]) -> Scan:
    """A scan that takes the counts and lists of all parts, in any order, instead of computing scores.

    Args:
        parts: ranges that together are all images, each once, with what ``count`` made of them.
    """

    def scan(
        scorer: Scorer,
        counters: Sequence[Counter],
        depth: Depths,
        threads: int,
        tile_shape: tuple[int, int] | None,
        progress: Progress | None,
    ) -> dict[Direction, TopK]:
        lists = {d: _no_lists(scorer, d, k) for d, k in depth.items()}
        for (r0, r1), arrays in parts:
            for i, counter in enumerate(counters):
                indptr = counter.pairs.indptr
                own = slice(indptr[r0], indptr[r1]) if counter.direction == "i2t" else slice(None)
                counter.counts[:, 0, own] += arrays[f"counts{i}"]
            for direction, k in depth.items():
                found = TopK(arrays[f"{direction}_items"], arrays[f"{direction}_scores"])
                if direction == "i2t":
                    lists[direction].items[r0:r1], lists[direction].scores[r0:r1] = found.items, found.scores
                else:
                    lists[direction] = merged(lists[direction], found, k)
        return lists

    return scan


def _no_lists(scorer: Scorer, direction: Direction, k: int) -> TopK:
    n_image, n_caption = scorer.shape
    shape = (n_image, min(k, n_caption)) if direction == "i2t" else (n_caption, 0)
    return TopK(np.zeros(shape, np.int64), np.zeros(shape))


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
