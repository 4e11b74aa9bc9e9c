"""Correlation of a model's similarities with CxC, intra-modal and cross-modal, by the protocol of its authors.

Parekh et al., Crisscrossed Captions, EACL 2021: ratings that share an item are not independent, so each estimate
samples half of the queries without replacement, takes for each query one of the items it is rated with, and computes
Spearman's rho of these pairs; reported are mean and standard deviation of 1,000 estimates. The paper does not define
the queries. Here they are the captions for STS, the images for SIS (on either side of a pair) and the images for
SITS: these give standard deviations of 0.4, 0.9 and 1.3 points, as published; captions as queries of SITS give 0.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..numeric.parallel import default_threads
from ..options import spell
from ..rank.exact import exact_pairs, norms
from ..report.correlation import Over, Row, Sampled
from ..report.model import Resampling
from ..types import Embeddings, Float, Int, Modality
from .coefficients import Counts, Points
from .protocols import Task, correlations

SAMPLES = 1000
Similarity = Literal["cosine", "dot"]


def similarities(task: Task, embeddings: Mapping[Modality, Embeddings], similarity: Similarity = "cosine") -> Float:
    """(pair,) canonical float64 cosine or inner product of the two items of every rated pair, of any modality.

    Raises:
        BadInput: a vector of length zero, for the cosine.
    """
    left, right = (embeddings[side] for side in task.sides)
    scales = [np.ones(len(side.vectors)) for side in (left, right)]
    if similarity == "cosine":
        for side, rated, scale in zip((left, right), (task.left, task.right), scales, strict=True):
            length = norms(side.vectors)
            if not length[rated].all():
                what = f"a vector of a pair rated in {task.name} has length zero"
                raise BadInput(what, fix=f"use {spell('similarity', 'dot')}, or save it again")
            np.divide(1.0, length, out=scale, where=length > 0)
    return exact_pairs(left.vectors, right.vectors, task.left, task.right, scales[0], scales[1], default_threads())


def model_rows(
    task: Task,
    name: str,
    embeddings: Mapping[Modality, Embeddings],
    similarity: Similarity = "cosine",
    how: Resampling | None = None,
    over: Over = "images",
    seed: int = 0,
    threads: int | None = None,
    samples: int = SAMPLES,
) -> list[Row]:
    """A row for every subset of a task; the one of all pairs has the sampled correlation.

    Args:
        task: the rated pairs.
        name: of the model, in tables.
        embeddings: (item, dim) float32 vectors of the images and captions of the split.
        similarity: ``cosine`` or ``dot``.
        how, over: how intervals are made, as for ``agreement``.
        seed: of the sampled correlation.
        threads: never changes a result.
        samples: of the sampled correlation.
    """
    x = similarities(task, embeddings, similarity)
    first, *others = correlations(task, name, x, how, over, threads)
    return [replace(first, sampled=sampled_spearman(task, x, samples, seed, threads)), *others]


def sampled_spearman(
    task: Task, x: Float, samples: int = SAMPLES, seed: int = 0, threads: int | None = None
) -> Sampled | None:
    """Spearman's rho over samples of half of the queries; None where no sample has one.

    Args:
        task: the rated pairs, with one human score each.
        x: (pair,) float64 values of the model.
        samples: how many.
        seed: of the random numbers; sample number i is the same for every number of ``threads``.
    """
    query, pair = queries(task)
    points = Points(x[pair], task.human[pair].mean(1))
    rho = points.under(half(query, seed), samples, np.arange(len(pair)), threads, kendall=False)[1]
    rho = rho[np.isfinite(rho)]
    return Sampled(float(rho.mean()), float(rho.std()), len(np.unique(query)), samples) if len(rho) else None


def queries(task: Task) -> tuple[Int, Int]:
    """(point,) int64 indices of queries, and (point,) int64 indices of the pairs that they are rated in."""
    pair = np.arange(len(task.left))
    if task.sides[0] != task.sides[1]:
        return task.image, pair
    return np.concatenate([task.left, task.right]), np.concatenate([pair, pair])


def half(query: Int, seed: int) -> Counts:
    """Sample number i -> (point,) int32: 1 for one random point of each of half of the queries, else 0."""
    order = np.argsort(query, kind="stable")
    _, start, count = np.unique(query[order], return_index=True, return_counts=True)

    def counts(number: int) -> npt.NDArray[np.int32]:
        random = np.random.default_rng((seed, number))
        chosen = random.permutation(len(start))[: max(len(start) // 2, 1)]
        out = np.zeros(len(query), np.int32)
        out[order[start[chosen] + random.integers(0, count[chosen])]] = 1
        return out

    return counts
