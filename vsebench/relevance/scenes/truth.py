"""Truth of the captions of scenes: the facts of every caption that hold in every scene, counted on request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...scenes.encode import FACTS_COUNT, SCENE_FACTS, Codes
from ...types import Direction, Int, Vectors

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

    def pairs(self, images: Int, captions: Int) -> Vectors:
        """(pair,) float32 truth of pairs of an image and a caption, (pair,) int64 indices each."""
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


def _f_score(matched: Codes, first: Vectors, second: Vectors) -> Vectors:
    """2 matched / (first + second), float32: the exact quotient of integers, rounded once."""
    out: npt.NDArray[Any] = np.multiply(matched, np.float32(2), dtype=np.float32, order="C")
    out /= first + second
    return out
