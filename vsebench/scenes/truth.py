"""Which facts of the captions of scenes hold in which scenes: how many of every pair, counted on request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..errors import UsageError
from ..options import spell
from ..types import Int, TestSet, Vectors
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
def truth_of(test: TestSet) -> Truth:
    """What is known of the captions of a split, in its order.

    Raises:
        UsageError: a split of other data.
        MissingPackage: the data set is not built here.
        BadInput: it is damaged, or the split has other ids.
    """
    stored, _ = scenes_of(test)
    check_content(stored.name, "scenes.npy", "facts.npy")  # the kernels take codes as they are
    return Truth(stored.scenes[stored.image_rows(test.rows.ids)], stored.facts[stored.caption_rows(test.columns.ids)])


def scenes_of(test: TestSet) -> tuple[StoredScenes, slice]:
    """The data set that a split is a part of, and the images of that part; raises as ``truth_of``."""
    found = of_split(test.name)
    if found is None:
        what = f"truth is known of scenes, not of split '{test.name}'"
        fix = f"give {spell('split', 'scenes-10k-test')} or other scenes (vsebench data build scenes-10k)"
        raise UsageError(what, fix=fix)
    stored = open_scenes(found[0])
    return stored, stored.part(found[1])


def fingerprint(truth: Truth) -> str:
    """Eight hexadecimal digits of the SHA-256 of the scenes and the facts."""
    digest = hashlib.sha256(truth.scenes.tobytes())
    digest.update(truth.facts.tobytes())
    return digest.hexdigest()[:8]
