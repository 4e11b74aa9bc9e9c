"""Which facts of captions hold in which scenes: how many of every pair, counted on request; judgements ``entails``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..errors import UsageError
from ..numeric.parallel import each
from ..options import spell
from ..relevance.grades import Grades, of_pairs
from ..types import Direction, Int, Split, Vectors
from .folder import FACTS_COUNT, SCENE_FACTS, Codes, check_content
from .settings import of_split
from .store import StoredScenes, open_scenes


@dataclass(frozen=True, eq=False)
class Truth:
    """How many facts of captions hold in scenes.

    Attributes:
        scenes: (image, SCENE_WIDTH) int8, rows of ``scenes.folder.encode_scene``.
        facts: (caption, FACTS_WIDTH) int8, rows of ``scenes.folder.encode_facts``.
    """

    scenes: Codes
    facts: Codes

    @cached_property
    def shown(self) -> Vectors:
        """(image,) float32 number of facts of every scene."""
        return self.scenes[:, SCENE_FACTS].astype(np.float32)

    @cached_property
    def stated(self) -> Vectors:
        """(caption,) float32 number of facts that every caption states."""
        return self.facts[:, FACTS_COUNT].astype(np.float32)

    def matched_rows(self, direction: Direction, start: int, stop: int) -> Codes:
        """(query, gallery) int8 numbers of facts that hold, of queries ``start:stop``; a view for ``i2t``."""
        if direction == "t2i":
            return self.matched((0, len(self.scenes)), (start, stop))
        return self.matched((start, stop), (0, len(self.facts))).T

    def matched(self, images: tuple[int, int], captions: tuple[int, int]) -> Codes:
        """(caption, image) int8 numbers of facts that hold, of ranges (start, stop)."""
        from .kernels import matched_rows

        out = np.empty((captions[1] - captions[0], images[1] - images[0]), np.int8)
        matched_rows(self._columns, self._facts, images, captions, out)
        return out

    def matched_pairs(self, images: Int, captions: Int) -> Codes:
        """(pair,) int8 numbers of facts that hold."""
        from .kernels import matched_pairs

        out = np.empty(len(images), np.int8)
        matched_pairs(self._columns, self._facts, images, captions, out)
        return out

    @cached_property
    def _columns(self) -> Codes:
        return np.ascontiguousarray(self.scenes.T)

    @cached_property
    def _facts(self) -> Codes:
        return np.ascontiguousarray(self.facts)


@lru_cache(maxsize=4)  # gains and judgements of one split
def truth_of(split: Split) -> Truth:
    """What is known of the captions of a split, in its order.

    Raises:
        UsageError: a split of other data.
        MissingPackage: the data set is not built here.
        BadInput: it is damaged, or the split has other ids.
    """
    stored, _ = scenes_of(split)
    check_content(stored.name, "scenes.npy", "facts.npy")  # the kernels take codes as they are
    return Truth(
        stored.scenes[stored.image_rows(split.image_ids)], stored.facts[stored.caption_rows(split.caption_ids)]
    )


def scenes_of(split: Split) -> tuple[StoredScenes, slice]:
    """The data set that a split is a part of, and the images of that part; raises as ``truth_of``."""
    found = of_split(split.name)
    if found is None:
        what = f"truth is known of scenes, not of split '{split.name}'"
        fix = f"give {spell('split', 'scenes-10k-test')} or other scenes (vsebench data build scenes-10k)"
        raise UsageError(what, fix=fix)
    stored = open_scenes(found[0])
    return stored, stored.part(found[1])


def fingerprint(truth: Truth) -> str:
    """Eight hexadecimal digits of the SHA-256 of the scenes and the facts."""
    digest = hashlib.sha256(truth.scenes.tobytes())
    digest.update(truth.facts.tobytes())
    return digest.hexdigest()[:8]


BLOCK = 1 << 22  # pairs compared at a time


@lru_cache(maxsize=4)  # a training loop evaluates the same split again and again
def entailed(split: Split, direction: Direction) -> Grades:
    """The captions that state at least one fact and of whose facts all hold in the scene of an image.

    Captions that are true of no image, and images of which no caption is true, are no queries; they are in
    ``without``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``vsebench.scenes.truth.truth_of``.
    """
    truth = truth_of(split)
    n, m = len(truth.scenes), len(truth.facts)
    queries, gallery = (n, m) if direction == "i2t" else (m, n)
    height = max(1, BLOCK // gallery)
    blocks = each(lambda start: _true(truth, direction, start, min(start + height, queries)), range(0, queries, height))
    found = np.concatenate([count for count, _ in blocks])
    items = np.concatenate([item for _, item in blocks])
    return of_pairs(
        "entails", direction, (queries, gallery), np.repeat(np.arange(queries), found), items, judged=np.arange(queries)
    )


def _true(truth: Truth, direction: Direction, start: int, stop: int) -> tuple[Int, Int]:
    """(query,) how many items of the gallery are positives of queries ``start:stop``, and which, row after row."""
    stated = truth.facts[:, FACTS_COUNT]
    stated = np.where(stated > 0, stated, -1)  # a caption that states nothing is true of nothing
    all_hold = truth.matched_rows(direction, start, stop) == (
        stated if direction == "i2t" else stated[start:stop, None]
    )
    return np.count_nonzero(all_hold, axis=1), np.nonzero(all_hold)[1]


def identity(split: Split) -> str | None:
    """``scenes#`` and eight digits of the SHA-256 of scenes and facts; None for splits of other data."""
    return None if of_split(split.name) is None else f"scenes#{fingerprint(truth_of(split))}"
