"""The canonical score: a float64 inner product summed in one fixed order.

The product of two float32 numbers is exact in float64, so only the order of summation could differ between machines.
It is fixed: 32 interleaved partial sums, added in a fixed tree. No BLAS, fused multiply-add or block size changes a
digit, and equal vectors have equal scores.
"""

from __future__ import annotations

import numpy as np

from ..numeric.parallel import default_threads, spread
from ..types import Float, Int, Vectors, frozen
from .kernels import pair_dots

UNIT_ROUNDOFF = 2.0**-24


def norms(x: Vectors) -> Float:
    """(item,) float64 Euclidean lengths of float32 rows, by the canonical product."""
    every, one = np.arange(len(x)), np.ones(len(x))
    return np.sqrt(exact_pairs(frozen(x), frozen(x), every, every, one, one, default_threads()))


def product_bound(dim: int) -> float:
    """Bound on the error of a float32 inner product of two unit vectors, for any order of summation.

    The standard bound gamma_n = n u / (1 - n u) on ``sum |x_k y_k| <= |x| |y|`` (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1), with eight more roundings for normalising.
    """
    n = (dim + 8) * UNIT_ROUNDOFF
    return n / (1.0 - n) if n < 1 else np.inf


def underflow_bound(dim: int) -> float:
    """What a float32 inner product can lose in addition, where terms or sums are below the normal range.

    At most the smallest normal number for a factor, a product and a sum of each term: also where the processor is set
    to replace such numbers by zero.
    """
    return 3 * dim * 2.0**-126


def exact_pairs(
    x: Vectors, y: Vectors, rows: Int, cols: Int, row_scale: Float, col_scale: Float, threads: int
) -> Float:
    """(pair,) float64 canonical scores of the pairs (rows[p], cols[p])."""
    out = np.empty(len(rows))

    def work(start: int, stop: int, _part: int) -> None:
        pair_dots(x, y, rows[start:stop], cols[start:stop], row_scale, col_scale, out[start:stop])

    spread(work, len(rows), threads)
    return out
