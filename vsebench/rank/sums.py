"""Weighted sums of scores, and scores with offsets of queries and items, as scorers.

A sum of inner products is the inner product of longer vectors, so sums of vectors' scores are ranked, on every
back-end, as any vectors are: ``w1 (x1 . y1) + w2 (x2 . y2) = [w1 x1, w2 x2] . [y1, y2]``. A float64 number that float32
cannot hold is split into two, whose sum has 48 bits: ``(a + b) (c + d) = [a, b, a] . [c, c, d]`` except for ``b d``.
So a sum of scores equals the sum of their canonical float64 numbers to some 14 digits. If one of the scores is a
matrix, the sum is a float64 matrix in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..memory import require
from ..options import spell
from ..types import Float, Int, Vectors
from .scorers import BLOCK_SCORES, Dot, Matrix, Scorer, rows_of

BLOCK_ROWS = 1 << 14  # vectors converted to float64 at a time
Factor = tuple[Vectors, Float | None]  # (item, dim) and a factor of every item, None for 1
Offset = tuple[npt.ArrayLike, npt.ArrayLike]  # (row,) and (column,) factors of a product


def weighted_sum(scorers: Sequence[Scorer], weights: Sequence[float], offsets: Sequence[Offset] = ()) -> Scorer:
    """Scores ``sum_i weights[i] * scorers[i] + sum_j rows_j * columns_j``.

    Args:
        scorers: of the same rows and columns, at least one.
        weights: one a scorer.
        offsets: for each a factor of every row, (row,), and of every column, (column,), float64.

    Raises:
        UsageError: scorers of different shapes.
        BadInput: a matrix that does not fit into memory.
        FloatingPointError: vectors of a sum that are too long or too short.
    """
    shape = scorers[0].shape
    for other in scorers[1:]:
        if other.shape != shape:
            raise UsageError(f"scores of shapes {shape} and {other.shape}", fix="give scores of the same items")
    added = [tuple(np.asarray(x, np.float64) for x in pair) for pair in offsets]
    dots = [s for s in scorers if isinstance(s, Dot)]
    if len(dots) == len(scorers):
        ones = [np.ones((n, 1), np.float32) for n in shape]
        offset = [((ones[0], a), (ones[1], b)) for a, b in added]
        scaled = [
            ((s.x, w * s.scales[0] if s.cosine or w != 1 else None), (s.y, s.scales[1] if s.cosine else None))
            for s, w in zip(dots, weights, strict=True)
        ]
        try:
            return Dot(*_joined([*scaled, *offset]))
        except BadInput as error:  # about lengths, here of sums
            raise FloatingPointError(error.what) from None
    require(8 * shape[0] * shape[1])
    total = np.zeros(shape)
    for scorer, weight in zip(scorers, weights, strict=True):
        for start, block in blocks(scorer):
            total[start : start + len(block)] += weight * block
    for of_rows, of_columns in added:
        total += np.multiply.outer(of_rows, of_columns)
    return Matrix(total)


@contextmanager
def finite(step: str) -> Iterator[None]:
    """Refuse scores that overflow, or vectors out of range, in all that a step computes.

    Args:
        step: its option, for the message.

    Raises:
        BadInput: which step it is, and what to do.
    """
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        fix = f"scale all scores, or the weights or beta, by one number, or leave out {spell(step)}"
        raise BadInput(f"{spell(step)}: scores are too large or too small for a float", fix=fix) from None


def _joined(products: Sequence[tuple[Factor, Factor]]) -> tuple[Vectors, Vectors]:
    """(row, dim) and (column, dim) float32 vectors; their inner product is the sum of the products of some factors."""
    left_parts, right_parts = list[Vectors](), list[Vectors]()
    for left, right in products:
        (a, b), (c, d) = _split(*left), _split(*right)
        for x, y in ((a, c), (b, c), (a, d)):
            if x is not None and y is not None:
                left_parts.append(x)
                right_parts.append(y)
    return np.hstack(left_parts), np.hstack(right_parts)


def _split(x: Vectors, scale: Float | None) -> tuple[Vectors, Vectors | None]:
    """Vectors times their scales, in float32, and the remainders, None if there are none."""
    if scale is None:
        return x, None
    high, low = np.empty(x.shape, np.float32), np.empty(x.shape, np.float32)
    for start in range(0, len(x), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        product = x[part] * scale[part, None]
        high[part] = product
        low[part] = product - high[part]
    return high, low if low.any() else None


def blocks(scorer: Scorer) -> Iterator[tuple[int, Float]]:
    """The scores of all rows in blocks: the index of the first, and (row, column) float64 of any BLAS.

    Items with equal vectors have equal scores: a BLAS may round their products differently.
    """
    rows, columns = scorer.shape
    step = max(1, BLOCK_SCORES // columns)
    (copy, of), (item, equal) = (_copies(scorer, side) for side in (0, 1))
    kept = dict[int, Float]()  # scores of rows that occur again
    again = set(of.tolist())
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        found = np.array(rows_of(scorer, slice(start, stop), wide=True), np.float64)
        found[:, item] = found[:, equal]
        kept |= {row: found[row - start].copy() for row in again.intersection(range(start, stop))}
        a, b = np.searchsorted(copy, (start, stop))
        for row, first in zip(copy[a:b].tolist(), of[a:b].tolist(), strict=True):
            found[row - start] = kept[first]
        yield start, found


def _copies(scorer: Scorer, side: int) -> tuple[Int, Int]:
    """(copy,) rows or columns with the same vectors as an earlier item, ascending, and the first such item."""
    if not isinstance(scorer, Dot):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    vectors, lengths = (scorer.x, scorer.y)[side], scorer.lengths[side]
    _, group, count = np.unique(lengths, return_inverse=True, return_counts=True)
    likely = np.flatnonzero(count[group] > 1)  # equal vectors have equal lengths
    if not len(likely):
        return likely, likely
    _, first, group = np.unique(vectors[likely], axis=0, return_index=True, return_inverse=True)
    group = group.ravel()  # numpy 2.0 keeps the axes
    copy = first[group] != np.arange(len(likely))
    return likely[copy], likely[first[group][copy]]
