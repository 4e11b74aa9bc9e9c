"""``entails``: the captions that are true of an image of scenes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..numeric.parallel import each
from ..relevance.grades import Grades, of_pairs
from ..types import Direction, Int, Split
from .folder import FACTS_COUNT
from .settings import of_split
from .truth import Truth, fingerprint, truth_of

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
