"""Recall as in the VSE++ evaluation code and its many descendants: one query at a time, in float64.

The embeddings are float64 arrays in which every image is repeated for each of its captions. A query is multiplied with
the gallery, the scores are sorted, and the ground truth is searched in the sorted list. The sort is not stable: the
order of ties is not defined.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from ..inputs import Inputs
from ..task import Outcome, Peer, Task, Work

Array = npt.NDArray[Any]


def inputs(images: Array, captions: Array, times: int = 5) -> tuple[Array, Array]:
    """(caption, dim) float64 images and captions; image rows are repeated ``times`` times."""
    return np.repeat(images, times, axis=0).astype(np.float64), captions.astype(np.float64)


def i2t_ranks(images: Array, captions: Array, queries: Array, times: int = 5) -> Array:
    """(query,) int64, 1-based rank of the best own caption; ``queries`` are image indices."""
    best = np.empty(len(queries), np.int64)
    for i, image in enumerate(queries.tolist()):
        descending = np.argsort(captions @ images[times * image])[::-1]
        places = [np.flatnonzero(descending == own)[0] for own in range(times * image, times * image + times)]
        best[i] = min(places) + 1
    return best


def t2i_ranks(images: Array, captions: Array, queries: Array, times: int = 5) -> Array:
    """(times * query,) int64, 1-based ranks of the own image for all captions of the images ``queries``."""
    distinct = images[::times]
    ranks = np.empty(times * len(queries), np.int64)
    for i, image in enumerate(queries.tolist()):
        scores = captions[times * image : times * image + times] @ distinct.T
        for j, row in enumerate(scores):
            ranks[times * i + j] = np.flatnonzero(np.argsort(row)[::-1] == image)[0] + 1
    return ranks


def summary(i2t: Array, t2i: Array) -> dict[str, float]:
    """R@1, R@5, R@10, median and mean rank of both directions."""
    out: dict[str, float] = {}
    for name, ranks in (("i2t", i2t), ("t2i", t2i)):
        out |= {f"R@{k} {name}": float(np.mean(ranks <= k)) for k in (1, 5, 10)}
        out[f"MedR {name}"] = float(np.floor(np.median(ranks - 1)) + 1)
        out[f"MeanR {name}"] = float(np.mean(ranks))
    return out


def run(given: Inputs) -> Work:
    """Both directions of the queries that are measured; the float64 arrays are made once."""

    def work() -> Outcome:
        start = time.perf_counter()
        left, right = inputs(*given.world[:2])
        prepared = time.perf_counter() - start
        queries = given.queries("i2t")
        found = summary(i2t_ranks(left, right, queries), t2i_ranks(left, right, queries))
        return Outcome(found, given.scale, prepared)

    return work


RECALLS = "R@1, R@5, R@10, MedR, MeanR"
TASK = Task(
    "vsepp loops", RECALLS, run, None, ">= 30 x",
    peer=Peer(
        "ranking/ranks", 1e-12, start="vectors", part=0.05,
        differs="One query at a time in float64; the order of exact ties is that of an unstable sort, so it is not "
        "defined, and every image must have five captions in order.",
    ),
)  # fmt: skip
