"""Weighted sums of scores, and scores with offsets of queries and items, as scorers.

A sum of inner products is the inner product of longer vectors, so sums of vectors' scores are ranked, on every
back-end, as any vectors are: ``w1 (x1 . y1) + w2 (x2 . y2) = [w1 x1, w2 x2] . [y1, y2]``. Where one of the scores is a
matrix, the sum is a float64 matrix in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..memory import require
from ..types import Direction, Float, Vectors
from .scorers import Dot, Matrix, Scorer, unit_vectors

BLOCK = 1 << 22  # scores in memory at a time, beside the matrix
Offset = tuple[npt.ArrayLike, npt.ArrayLike]  # (image,) and (caption,) factors of a product


def weighted_sum(scorers: Sequence[Scorer], weights: Sequence[float], offsets: Sequence[Offset] = ()) -> Scorer:
    """Scores ``sum_i weights[i] * scorers[i] + sum_j images_j * captions_j``.

    Args:
        scorers: of the same images and captions, at least one. Cosines are inner products of the float32 vectors of
            unit length.
        weights: one a scorer; those of vectors multiply the float32 image vectors.
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
        images, captions = ([_vectors(s, side) for s in dots] for side in (0, 1))
        # relative to the largest, which moves no rank: products of vectors with a number lose digits
        scaled = [x * np.float32(w / max(weights)) for x, w in zip(images, weights, strict=True)]
        columns = [_columns(a, b) for a, b in added]
        return Dot(np.hstack([*scaled, *(a for a, _ in columns)]), np.hstack([*captions, *(b for _, b in columns)]))
    require(8 * shape[0] * shape[1])
    total = np.zeros(shape)
    for scorer, weight in zip(scorers, weights, strict=True):
        for start, block in blocks(scorer, "i2t"):
            total[start : start + len(block)] += weight * block
    for of_images, of_captions in added:
        total += np.multiply.outer(of_images, of_captions)
    return Matrix(total)


def _columns(of_images: Float, of_captions: Float) -> tuple[Vectors, Vectors]:
    """(image, 4) and (caption, 4) float32 with the inner product ``of_images * of_captions``, to 48 bits of each."""
    (a, b), (c, d) = (_split(x) for x in (of_images, of_captions))
    return np.stack([a, a, b, b], axis=1), np.stack([c, d, c, d], axis=1)


def _split(x: Float) -> tuple[Vectors, Vectors]:
    """Two float32 numbers for each of ``x``, whose sum it is but for its last bits."""
    high = x.astype(np.float32)
    return high, (x - high).astype(np.float32)


def blocks(scorer: Scorer, direction: Direction) -> Iterator[tuple[int, Float]]:
    """The scores of all queries in blocks: the index of the first, and (query, gallery) float64.

    Inner products are rounded to float32: the last digits of a float64 product depend on the machine.
    """
    queries, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
    step = max(1, BLOCK // gallery)
    for start in range(0, queries, step):
        found = scorer.scores_of(direction, np.arange(start, min(start + step, queries)), np.float64)
        if isinstance(scorer, Dot):
            found = found.astype(np.float32)
        yield start, np.asarray(found, np.float64)


def _vectors(scorer: Dot, side: int) -> Vectors:
    vectors = (scorer.images, scorer.captions)[side]
    return unit_vectors(vectors, scorer.scales[side]) if scorer.cosine else vectors
