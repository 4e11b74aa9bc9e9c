"""One product for both directions: the captions are asked block by block, the images from what was kept of the blocks.

Captions that ask look at every image, so a block of them is all scores of these captions, and each image keeps those
that can be among its best (``rank.shortlist``). Where images look at most of the captions that would keep nearly
everything, and they get a product of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..rank import shortlist
from ..rank.scorers import Dot, Scorer
from ..rank.shortlist import Shortlist
from .plan import Arena, Bundle

KEPT_BYTES = 48 << 20  # of all lists together; images that do not fit get a product of their own
FEWEST = 0.25  # of the images: for fewer, tiles of captions cost more than they save
SHARE = 0.3  # of the captions, how deep images may look
TILE_BYTES = 20 << 20  # of the scores of all threads together
NARROW = 64  # captions: in narrower tiles products are slow


@dataclass(frozen=True, eq=False)
class Pair:
    """Two bundles of the same images and captions.

    Attributes:
        source: scores of these images and captions.
        asked: captions that ask among images.
        images: images that ask among captions.
        lists: candidates of the first images, one list a job of ``images``.
        listed: how many images these are; the others get a product of their own.
        edges: the ranges of captions that are seen together, all about equally long.
    """

    source: Dot
    asked: Bundle
    images: Bundle
    lists: tuple[Shortlist, ...]
    listed: int
    edges: tuple[tuple[int, int], ...]

    def finish(self) -> bool:
        """All captions have been seen; False when some list has given up and the images have to be ranked otherwise."""
        return all([kept.finish() for kept in self.lists])

    def forget(self) -> None:
        """Nothing will be asked of the lists any more."""
        for kept in self.lists:
            kept.forget()


def pairs(
    scorer: Scorer,
    bundles: Sequence[Bundle],
    restrict: Callable[[Scorer, Arena], Scorer],
    threads: int,
    width: int | None = None,
) -> list[Pair]:
    """The bundles that can share a product, as far as the memory for it goes.

    Args:
        scorer: scores of all images with all captions.
        bundles: everything that is asked.
        restrict: the scores of an arena.
        threads: how many will make tiles.
        width: captions of a tile; None for as many as fit the memory.
    """
    found: list[Pair] = []
    left = float(KEPT_BYTES)
    for images in (b for b in bundles if b.jobs[0].arena.direction == "i2t"):
        arena = images.jobs[0].arena
        twins = [b for b in bundles if b.jobs[0].arena.direction == "t2i" and b.jobs[0].arena.fold == arena.fold]
        if not isinstance(scorer, Dot) or not twins or len(twins[0].jobs[0].arena.captions) != len(arena.captions):
            continue
        sizes = [(job.depth, len(job.arena.captions)) for job in images.jobs]
        limit = width or TILE_BYTES // threads // (4 * len(arena.images))
        if any(k > SHARE * n for k, n in sizes) or (limit < NARROW and width is None):
            continue
        edges = ranges(0, len(arena.captions), limit, threads if width is None else 1)
        needed = sum(shortlist.expected_bytes(k, n, len(edges)) for k, n in sizes)
        listed = min(len(arena.images), int(left / needed))
        if listed < FEWEST * len(arena.images):
            continue
        left -= listed * needed
        source = restrict(scorer, arena)
        assert isinstance(source, Dot)
        lists = _lists(source, images, len(edges), listed)
        found.append(Pair(source, twins[0], images, tuple(lists), listed, tuple(edges)))
    return found


def _lists(source: Dot, images: Bundle, tiles: int, listed: int) -> list[Shortlist]:
    gallery = images.jobs[0].arena.captions
    lists = []
    for job in images.jobs:
        captions = np.searchsorted(gallery, job.arena.captions)
        lists.append(Shortlist(source, job.depth, captions, tiles, listed))
    return lists


def ranges(start: int, stop: int, most: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Consecutive ranges of at most so many, about equally long; their number a multiple if there are enough."""
    n = stop - start
    parts = -(-n // most)
    parts = min(n, -(-parts // multiple) * multiple)
    return list(itertools.pairwise(start + n * i // parts for i in range(parts + 1))) if n else []
