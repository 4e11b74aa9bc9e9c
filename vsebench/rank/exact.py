"""The canonical score: a float64 inner product summed in one fixed order.

The product of two float32 numbers is exact in float64, so only the order of summation could make two
machines differ. 32 interleaved partial sums, added in a fixed tree, pin it: no BLAS, no fused
multiply-add and no block size can change a digit, and equal vectors always get equal scores.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..parallel import spread
from ..types import Float, Int, Vectors

UNIT_ROUNDOFF = 2.0**-24


LANES = 32  # partial sums; enough of them to keep the vector units of a core busy


@nb.njit(nogil=True, cache=True, inline="always")
def dot64(x, y):
    """Canonical inner product of two float32 rows, float64."""
    n = x.shape[0]
    stop = n - n % LANES
    lane = np.zeros(LANES)
    for k in range(0, stop, LANES):
        a, b = x[k : k + LANES], y[k : k + LANES]
        for j in range(LANES):
            lane[j] += np.float64(a[j]) * np.float64(b[j])
    rest = 0.0
    for k in range(stop, n):
        rest += np.float64(x[k]) * np.float64(y[k])
    for width in (16, 8, 4, 2, 1):
        for j in range(width):
            lane[j] += lane[j + width]
    return lane[0] + rest


@nb.njit(nogil=True, cache=True)
def pair_dots(x, y, rows, cols, row_scale, col_scale, out):
    """Canonical scores of given pairs; ``out`` (pair,) float64 is filled."""
    for p in range(rows.shape[0]):
        r, c = rows[p], cols[p]
        out[p] = dot64(x[r], y[c]) * row_scale[r] * col_scale[c]


@nb.njit(nogil=True, cache=True)
def norms64(x, out):
    """Euclidean length of every row in float64."""
    for r in range(x.shape[0]):
        out[r] = np.sqrt(dot64(x[r], x[r]))


def norms(x: Vectors) -> Float:
    """(item,) float64 Euclidean lengths of float32 rows, by the canonical product."""
    out = np.empty(len(x))
    norms64(x, out)
    return out


def product_bound(dim: int) -> float:
    """How far a float32 inner product of two unit vectors can be from the exact one, any order of summation.

    The standard bound gamma_n = n u / (1 - n u) on ``sum |x_k y_k| <= |x| |y|`` (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1), with eight roundings to spare for normalising.
    """
    n = (dim + 8) * UNIT_ROUNDOFF
    return n / (1.0 - n)


def exact_pairs(
    x: Vectors, y: Vectors, rows: Int, cols: Int, row_scale: Float, col_scale: Float, threads: int
) -> Float:
    """(pair,) float64 canonical scores of the pairs (rows[p], cols[p])."""
    out = np.empty(len(rows))

    def work(start: int, stop: int, _part: int) -> None:
        pair_dots(x, y, rows[start:stop], cols[start:stop], row_scale, col_scale, out[start:stop])

    if len(rows):
        spread(work, len(rows), threads)
    return out
