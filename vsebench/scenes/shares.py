"""Gains of scenes: the facts of a caption that hold in a scene, as a share of the facts of either or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import count_of
from ..log import note
from ..relevance.gains import Gains, Values
from ..types import Int, TestSet, Vectors
from .folder import Codes
from .truth import Truth, fingerprint, truth_of

# A block transposed for rows of images stays in the cache, which saves much of their time.
BLOCK_CAPTIONS = 1024


@dataclass(frozen=True, eq=False)
class Share(Values):
    """``factor * facts that hold / (of_images + of_captions)``.

    Attributes:
        truth: the facts that hold.
        factor: of their number.
        of_images: (image,) float32, integers.
        of_captions: (caption,) float32, integers; the sum with ``of_images`` is above 0.
    """

    truth: Truth
    factor: int
    of_images: Vectors
    of_captions: Vectors

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        n = len(self.of_captions)
        out = np.empty((stop - start, n), np.float32)
        for first in range(0, n, BLOCK_CAPTIONS):
            last = min(first + BLOCK_CAPTIONS, n)
            total = self.of_images[start:stop, None] + self.of_captions[first:last]
            out[:, first:last] = self._quotient(self.truth.matched((start, stop), (first, last)).T, total)
        return out

    def columns(self, start: int, stop: int) -> Vectors:
        """See ``Values.columns``."""
        total = self.of_captions[start:stop, None] + self.of_images
        return self._quotient(self.truth.matched((0, len(self.of_images)), (start, stop)), total)

    def pairs(self, images: Int, captions: Int) -> Vectors:
        """See ``Values.pairs``."""
        return self._quotient(
            self.truth.matched_pairs(images, captions), self.of_images[images] + self.of_captions[captions]
        )

    def _quotient(self, matched: Codes, total: Vectors) -> Vectors:
        """The exact quotient of integers, rounded once."""
        out: npt.NDArray[Any] = np.multiply(matched, np.float32(self.factor), dtype=np.float32, order="C")
        out /= total
        return out


def match(truth: Truth) -> Share:
    """F-score of the facts of a caption and of a scene: 2 matched / (stated + facts of the scene)."""
    return Share(truth, 2, truth.shown, truth.stated)


def holds(truth: Truth) -> Share:
    """Share of the facts of a caption that hold: matched / stated; 0 for a caption that states none."""
    return Share(truth, 1, np.zeros_like(truth.shown), np.maximum(truth.stated, 1))


def load_holds(test: TestSet, argument: str | None, settings: Mapping[str, str]) -> Gains:
    """The gains ``holds`` of a split of scenes, which needs no strings; see ``sources.Loader``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``truth.truth_of``.
    """
    return _gains("holds", test, holds(truth_of(test)))


def load_match(test: TestSet, argument: str | None, settings: Mapping[str, str]) -> Gains:
    """The gains ``match``, as ``load_holds``."""
    return _gains("match", test, match(truth_of(test)))


def _gains(name: str, test: TestSet, share: Share) -> Gains:
    """The gains of a kind for a split; a caption that states no fact is not a query."""
    silent = share.truth.stated == 0
    none = int(silent.sum())
    if none:
        note(f"{count_of(none, 'caption states', 'captions state')} no fact: no value as a query")
    settings = {"scenes": fingerprint(share.truth)}
    return Gains(name, settings, test.shape, share, lowest=0.0, no_queries=(None, silent if none else None))
