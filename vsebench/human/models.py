"""Correlation of a model's similarities with CxC, intra-modal and cross-modal, by the protocol of its authors.

Parekh et al., Crisscrossed Captions, EACL 2021: ratings that share an item are not independent, so each estimate
samples half of the queries without replacement, takes for each query one of the items it is rated with, and computes
Spearman's rho of these pairs; reported are mean and standard deviation of 1,000 estimates. The paper does not define
the queries. Here they are the captions for STS, the images for SIS (on either side of a pair) and the images for
SITS: these give standard deviations of 0.4, 0.9 and 1.3 points, as published; captions as queries of SITS give 0.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import BadInput
from ..numeric.parallel import default_threads
from ..options import spell
from ..rank.scorers import exact_pairs, norms
from ..results.table import Value
from ..types import Embeddings, Float, Int, Modality
from .coefficients import Points
from .correlation import Over, Row, sampled
from .protocols import Task, correlations

SAMPLES = 1000
DECIMALS = 12  # of a cosine
Similarity = Literal["cosine", "dot"]


def similarities(task: Task, embeddings: Mapping[Modality, Embeddings], similarity: Similarity = "cosine") -> Float:
    """(pair,) canonical float64 cosine or inner product of the two items of every rated pair, of any modality.

    A cosine has 12 decimals: pairs with theoretically equal cosines, such as pairs of equal vectors, tie, whatever the
    lengths of the vectors.

    Raises:
        BadInput: a vector of length zero, for the cosine.
    """
    left, right = (embeddings[side] for side in task.sides)
    ones, others = np.ones(len(left.vectors)), np.ones(len(right.vectors))
    products = exact_pairs(left.vectors, right.vectors, task.left, task.right, ones, others, default_threads())
    if similarity == "dot":
        return products
    lengths = [norms(side.vectors)[rated] for side, rated in ((left, task.left), (right, task.right))]
    if not all(length.all() for length in lengths):
        what = f"a vector of a pair rated in {task.name} has length zero"
        raise BadInput(what, fix=f"use {spell('similarity', 'dot')}, or save it again")
    cosines: Float = np.round(products / lengths[0] / lengths[1], DECIMALS)
    return cosines


def model_rows(
    task: Task,
    name: str,
    embeddings: Mapping[Modality, Embeddings],
    similarity: Similarity = "cosine",
    level: float | None = None,
    over: Over = "images",
    seed: int = 0,
) -> list[Row]:
    """A row for every subset of a task; the one of all pairs has the sampled correlation.

    Args:
        task: the rated pairs.
        name: of the model, in tables.
        embeddings: (item, dim) float32 vectors of the images and captions of the split.
        similarity: ``cosine`` or ``dot``.
        level, over: how intervals are made, as for ``agreement``.
        seed: of the sampled correlation.
    """
    x = similarities(task, embeddings, similarity)
    first, *others = correlations(task, name, x, level, over)
    return [replace(first, sampled=sampled_spearman(task, x, SAMPLES, seed)), *others]


def sampled_spearman(task: Task, x: Float, samples: int = SAMPLES, seed: int = 0) -> Value | None:
    """Spearman's rho over samples of half of the queries; None if no sample has one.

    Args:
        task: the rated pairs, with one human score each.
        x: (pair,) float64 values of the model.
        samples: how many.
        seed: of the random numbers.
    """
    query, pair = queries(task)
    points, draw = Points(x[pair], task.human[pair].mean(1)), half(query, seed)
    rho = np.array([points.spearman(draw(number)) for number in range(samples)])
    rho = rho[np.isfinite(rho)]
    return sampled(float(rho.mean()), float(rho.std()), len(np.unique(query)), samples) if len(rho) else None


def queries(task: Task) -> tuple[Int, Int]:
    """(point,) int64 indices of queries, and (point,) int64 indices of the pairs that they are rated in."""
    pair = np.arange(len(task.left))
    if task.sides[0] != task.sides[1]:
        return task.image, pair
    return np.concatenate([task.left, task.right]), np.concatenate([pair, pair])


def half(query: Int, seed: int) -> Callable[[int], Int]:
    """Sample number i -> (query,) int64 indices of points: a random one of each of half of the queries."""
    from ..stats.kernels import draw_words

    word, order = np.uint64(seed), np.argsort(query, kind="stable")
    _, start, count = np.unique(query[order], return_index=True, return_counts=True)

    def points(number: int) -> Int:
        random = np.empty((2, len(start)), np.uint64)
        draw_words(word, number, random.reshape(-1))
        chosen = np.argsort(random[0], kind="stable")[: max(len(start) // 2, 1)]
        drawn = ((random[1, chosen] >> np.uint64(32)) * count[chosen].astype(np.uint64)) >> np.uint64(32)
        return np.asarray(order[start[chosen] + drawn.astype(np.int64)])

    return points
