"""Recall from one score matrix, as cross-attention models are evaluated: a simple and fast baseline.

The float32 matrix is computed once; both directions sort each of its rows or columns completely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..inputs import Inputs
from ..task import FLOAT32, Outcome, Peer, Task, Work
from .vsepp_style import RECALLS, summary

Array = npt.NDArray[Any]


def ranks(scores: Array, times: int = 5) -> tuple[Array, Array]:
    """Ranks of the ground truth in a matrix with images as rows and captions, ``times`` an image, as columns.

    Args:
        scores: (image, caption) floats.
        times: captions an image, in order.

    Returns:
        (image,) best rank among the own captions and (caption,) rank of the own image, 1-based.
    """
    best = np.empty(len(scores), np.int64)
    for image, row in enumerate(scores):
        place = _places(row)
        best[image] = place[times * image : times * image + times].min()
    single = np.empty(scores.shape[1], np.int64)
    for caption, column in enumerate(scores.T):
        single[caption] = _places(column)[caption // times]
    return best, single


def _places(row: Array) -> Array:
    """1-based place of every item when the row is sorted from high to low."""
    order = np.argsort(-row)
    place = np.empty(len(row), np.int64)
    place[order] = np.arange(1, len(row) + 1)
    return place


def run(given: Inputs) -> Work:
    """Both directions, from vectors."""
    images, captions = given.world[:2]
    return lambda: Outcome(summary(*ranks(images @ captions.T)))


TASK = Task(
    "scan loops", RECALLS, run, None, ">= 4 x",
    peer=Peer(
        "ranking/ranks", FLOAT32, start="vectors",
        differs="Scores are rounded to float32, so near-ties depend on the matrix product of the machine; the order of "
        "ties is not defined.",
    ),
)  # fmt: skip
