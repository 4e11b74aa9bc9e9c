"""Truth of the captions of scenes: the facts of every caption that hold in every scene, counted on request; gains."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...data.scenes.folder import check_content
from ...data.scenes.store import StoredScenes, open_scenes
from ...errors import UsageError, count_of
from ...options import spell
from ...scenes.encode import FACTS_COUNT, SCENE_FACTS, Codes
from ...scenes.settings import of_split
from ...types import Direction, Int, Split, Vectors
from ..gains import Gains, Progress, shape_of

PATTERN = "scenes-*"  # of the names of splits
PIECE = 1024  # captions, so that what is transposed for rows of images stays in the cache: a third of their time


@dataclass(frozen=True, eq=False)
class Truth:
    """How many facts of captions hold in scenes, and the F-score of these facts and those of the scene.

    Attributes:
        scenes: (image, SCENE_WIDTH) int8, rows of ``scenes.encode.encode_scene``.
        facts: (caption, FACTS_WIDTH) int8, rows of ``scenes.encode.encode_facts``.
    """

    scenes: Codes
    facts: Codes

    def matched_rows(self, direction: Direction, start: int, stop: int) -> Codes:
        """(query, gallery) int8 numbers of facts that hold, of queries ``start:stop``; a view for ``i2t``."""
        if direction == "t2i":
            return self._matched((0, len(self.scenes)), (start, stop))
        return self._matched((start, stop), (0, len(self.facts))).T

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 truth of queries ``start:stop``, a new array."""
        of_images, of_captions = self._sizes
        if direction == "t2i":
            return _f_score(self.matched_rows("t2i", start, stop), of_captions[start:stop, None], of_images)
        out = np.empty((stop - start, len(self.facts)), np.float32)
        for first in range(0, len(self.facts), PIECE):
            piece = slice(first, min(first + PIECE, len(self.facts)))
            matched = self._matched((start, stop), (piece.start, piece.stop)).T
            out[:, piece] = _f_score(matched, of_images[start:stop, None], of_captions[piece])
        return out

    def pairs(self, direction: Direction, images: Int, captions: Int) -> Vectors:
        """(pair,) float32 truth, the same in both directions."""
        from .kernels import matched_pairs

        out = np.empty(len(images), np.int8)
        matched_pairs(self._columns, self._facts, images, captions, out)
        of_images, of_captions = self._sizes
        return _f_score(out, of_images[images], of_captions[captions])

    def _matched(self, images: tuple[int, int], captions: tuple[int, int]) -> Codes:
        """(caption, image) int8 numbers of facts that hold, of ranges (start, stop)."""
        from .kernels import matched_rows

        out = np.empty((captions[1] - captions[0], images[1] - images[0]), np.int8)
        matched_rows(self._columns, self._facts, images, captions, out)
        return out

    @cached_property
    def _columns(self) -> Codes:
        return np.ascontiguousarray(self.scenes.T)

    @cached_property
    def _facts(self) -> Codes:
        return np.ascontiguousarray(self.facts)

    @cached_property
    def _sizes(self) -> tuple[Vectors, Vectors]:
        """(image,) and (caption,) float32 numbers of facts."""
        return self.scenes[:, SCENE_FACTS].astype(np.float32), self.facts[:, FACTS_COUNT].astype(np.float32)


def load(split: Split, argument: None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """The truth of the captions of a split of scenes, which needs no strings; see ``kinds.declare.Loader``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``truth_of``.
    """
    truth = truth_of(split)
    none = int((truth.facts[:, FACTS_COUNT] == 0).sum())
    stating = count_of(none, "caption states", "captions state")
    notes = (f"{stating} no fact: truth 0 with every image",) if none else ()
    return Gains("truth", {"scenes": fingerprint(truth)}, shape_of(split), truth, notes, lowest=0.0)


@lru_cache(maxsize=4)  # gains and judgements of one split
def truth_of(split: Split) -> Truth:
    """The truth of the captions of a split, in its order.

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


def _f_score(matched: Codes, first: Vectors, second: Vectors) -> Vectors:
    """2 matched / (first + second), float32: the exact quotient of integers, rounded once."""
    out: npt.NDArray[Any] = np.multiply(matched, np.float32(2), dtype=np.float32, order="C")
    out /= first + second
    return out
