"""Weighted sums of scores, and scores with offsets of queries and items, as scorers.

A sum of inner products is the inner product of longer vectors, so sums of vectors' scores are ranked, on every
back-end, as any vectors are: ``w1 (x1 . y1) + w2 (x2 . y2) = [w1 x1, w2 x2] . [y1, y2]``. A float64 number that float32
does not have is two of them, of which it is the sum to 48 bits: ``(a + b) (c + d) = [a, b, a] . [c, c, d]`` but for
``b d``. So a sum of scores is that of their canonical float64 numbers to some 14 digits. Where one of the scores is a
matrix, the sum is a float64 matrix in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..memory import require
from ..types import Direction, Float, Vectors
from .scorers import Dot, Matrix, Scorer

BLOCK = 1 << 22  # scores in memory at a time, beside the matrix
Factor = npt.NDArray[Any]  # (item, dim) float32 or float64
Offset = tuple[npt.ArrayLike, npt.ArrayLike]  # (image,) and (caption,) factors of a product


def weighted_sum(scorers: Sequence[Scorer], weights: Sequence[float], offsets: Sequence[Offset] = ()) -> Scorer:
    """Scores ``sum_i weights[i] * scorers[i] + sum_j images_j * captions_j``.

    Args:
        scorers: of the same images and captions, at least one.
        weights: one a scorer.
        offsets: for each a factor of every image, (image,), and of every caption, (caption,), float64.

    Raises:
        UsageError: scorers of different shapes.
        BadInput: a matrix that does not fit into memory.
    """
    shape = scorers[0].shape
    for other in scorers[1:]:
        if other.shape != shape:
            raise UsageError(f"scores of shapes {shape} and {other.shape}", fix="give scores of the same items")
    added = [tuple(np.asarray(x, np.float64) for x in pair) for pair in offsets]
    dots = [s for s in scorers if isinstance(s, Dot)]
    if len(dots) == len(scorers):
        sides = [_factors(s, w) for s, w in zip(dots, weights, strict=True)]
        return Dot(*_joined([*sides, *((a[:, None], b[:, None]) for a, b in added)]))
    require(8 * shape[0] * shape[1])
    total = np.zeros(shape)
    for scorer, weight in zip(scorers, weights, strict=True):
        for start, block in blocks(scorer, "i2t"):
            total[start : start + len(block)] += weight * block
    for of_images, of_captions in added:
        total += np.multiply.outer(of_images, of_captions)
    return Matrix(total)


def _factors(scorer: Dot, weight: float) -> tuple[Factor, Factor]:
    """(image, dim) and (caption, dim) numbers whose inner products are the scores times a weight."""
    (images, captions), (rows, columns) = (scorer.images, scorer.captions), scorer.scales
    left = images if weight == 1 and not scorer.cosine else images * (weight * rows)[:, None]
    return left, captions * columns[:, None] if scorer.cosine else captions


def _joined(products: Sequence[tuple[Factor, Factor]]) -> tuple[Vectors, Vectors]:
    """(image, dim) and (caption, dim) float32 vectors whose inner product is the sum of those of some factors."""
    images, captions = list[Vectors](), list[Vectors]()
    for left, right in products:
        (a, b), (c, d) = _split(left), _split(right)
        for x, y in ((a, c), (b, c), (a, d)):
            if x is not None and y is not None:
                images.append(x)
                captions.append(y)
    return np.hstack(images), np.hstack(captions)


def _split(x: Factor) -> tuple[Vectors, Vectors | None]:
    """Numbers in float32, and what is left of them, None where nothing is."""
    high = x.astype(np.float32)
    rest = None if x.dtype == np.float32 else (x - high).astype(np.float32)
    return high, rest if rest is not None and rest.any() else None


def blocks(scorer: Scorer, direction: Direction) -> Iterator[tuple[int, Float]]:
    """The scores of all queries in blocks: the index of the first, and (query, gallery) float64 of any BLAS."""
    queries, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
    step = max(1, BLOCK // gallery)
    for start in range(0, queries, step):
        found = scorer.scores_of(direction, np.arange(start, min(start + step, queries)), np.float64)
        yield start, np.array(found, np.float64)
