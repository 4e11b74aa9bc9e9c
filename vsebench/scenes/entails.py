"""``entails``: the captions that are true of an image of scenes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..numeric.parallel import each
from ..relevance.gains import Grades, of_pairs
from ..types import Both, Int, TestSet
from .folder import FACTS_COUNT
from .settings import of_split
from .truth import Truth, fingerprint, truth_of

BLOCK_PAIRS = 1 << 22  # pairs compared at a time


@lru_cache(maxsize=2)  # a training loop evaluates the same split again and again
def entailed(test: TestSet) -> Both[Grades]:
    """For every image, the captions with at least one fact and all facts true of its scene.

    Captions that are true of no image, and images without a true caption, are not queries; they are in
    ``without``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``vsebench.scenes.truth.truth_of``.
    """
    truth = truth_of(test)
    n, m = len(truth.scenes), len(truth.facts)
    height = max(1, BLOCK_PAIRS // n)
    blocks = each(lambda start: _true(truth, start, min(start + height, m)), range(0, m, height))
    count, images = (np.concatenate(x) for x in zip(*blocks, strict=True))
    captions = of_pairs("entails", (m, n), np.repeat(np.arange(m), count), images, judged=np.arange(m))
    return replace(captions.turned(), judged=np.ones(n, np.bool_)), captions


def _true(truth: Truth, start: int, stop: int) -> Both[Int]:
    """(caption,) how many images captions ``start:stop`` are true of, and which, caption after caption."""
    stated = truth.facts[start:stop, FACTS_COUNT, None]
    stated = np.where(stated > 0, stated, -1)  # a caption that states nothing is true of nothing
    all_hold = truth.matched((0, len(truth.scenes)), (start, stop)) == stated
    return np.count_nonzero(all_hold, axis=1), np.nonzero(all_hold)[1]


def identity(test: TestSet) -> str | None:
    """``scenes#`` and eight digits of the SHA-256 of scenes and facts; None for splits of other data."""
    return None if of_split(test.name) is None else f"scenes#{fingerprint(truth_of(test))}"
