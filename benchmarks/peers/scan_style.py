"""Recall from one score matrix, as cross-attention models are evaluated: a simple and fast baseline.

The float32 matrix is computed once; both directions sort each of its rows or columns completely.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .vsepp_style import summary

Array = npt.NDArray[Any]


def ranks(scores: Array, times: int = 5, kind: Literal["quicksort", "stable"] = "quicksort") -> tuple[Array, Array]:
    """Ranks of the ground truth in a matrix with images as rows and captions, ``times`` an image, as columns.

    Args:
        scores: (image, caption) floats.
        times: captions an image, in order.
        kind: ``stable`` ranks the lower index of a tie first; with ``quicksort``, which is faster, ties are undefined.

    Returns:
        (image,) best rank among the own captions and (caption,) rank of the own image, 1-based.
    """
    best = np.empty(len(scores), np.int64)
    for image, row in enumerate(scores):
        place = _places(row, kind)
        best[image] = place[times * image : times * image + times].min()
    single = np.empty(scores.shape[1], np.int64)
    for caption, column in enumerate(scores.T):
        single[caption] = _places(column, kind)[caption // times]
    return best, single


def _places(row: Array, kind: Literal["quicksort", "stable"]) -> Array:
    """1-based place of every item when the row is sorted from high to low."""
    order = np.argsort(-row, kind=kind)
    place = np.empty(len(row), np.int64)
    place[order] = np.arange(1, len(row) + 1)
    return place


def run(images: Array, captions: Array) -> dict[str, float]:
    """Values of both directions from (image, dim) and (caption, dim) float32 vectors, five captions an image."""
    return summary(*ranks(images @ captions.T))
