"""The images as candidates: their influence on a mean, as weights of images vary.

Let n images be the queries (with their captions) and the candidates, o_i what the queries of image i contribute to the
mean, and g_j the influence of image j as a candidate on the queries of all others (``graded.influence``). The variance
of the mean over fresh samples of images is, to first order, that of the sum of o_i + g_i. But the product g_j^2 holds
the pairs of images (i, j) that decide by chance, which o_i holds already: a jackknife over images counts them twice
(Efron and Stein, The Jackknife Estimate of Variance, 1981), and its intervals are up to 1.5 times too wide. Products of
influences from two halves of the query images, a_j and b_j, have no such terms, so the variance is estimated by

    sum o_i^2 + max(0, 2 sum o_j g_j + 4 sum a_j b_j),    g = a + b

which is at least that of the queries alone.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..types import Float, Int


def scaled(own: Float, halves: Float, edges: Int) -> Float:
    """(image,) float64 influences, in a scale in which own + influences has the variance above.

    Args:
        own: (image,) what the queries of an image contribute to the mean, less the mean contribution.
        halves: (2, image) influences as candidates, from two halves of the query images.
        edges: (stratum + 1,) int64 where folds of images begin and end; resamples are drawn within them.
    """
    halves = np.array(halves, np.float64)
    for low, high in pairwise(edges.tolist()):
        if high > low:
            halves[:, low:high] -= halves[:, low:high].mean(axis=1, keepdims=True)
    first, second = halves
    both = first + second
    square, cross = math.fsum(both**2), math.fsum(own * both)  # the order in which a BLAS adds changes digits
    if square == 0.0:
        return np.zeros(len(own))
    target = max(0.0, 2 * cross + 4 * math.fsum(first * second))
    # the root of scale^2 square + 2 scale cross = target
    scale = (math.sqrt(cross**2 + square * target) - cross) / square
    return np.asarray(both * scale, np.float64)
