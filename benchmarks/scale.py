"""Tasks with large galleries: lists of 1,000 with exact ranks, beside those of FAISS, which has no ranks."""

from __future__ import annotations

from functools import partial

import numpy as np

from .inputs import Array, Inputs, unit
from .task import Floor, Needs, Peer, Task, Work

QUERIES, DEPTH = 2_000, 1_000
SIZES = (50_000, 100_000, 200_000)
BLOCK = 20_000  # candidates whose scores the floor makes together
NOISE = 4.0  # length of the noise by that of the signal, so that ranks are spread over the gallery


def vectors(given: Inputs, n: int) -> tuple[Array, Array, Array]:
    """(query, dim) and (candidate, dim) float32 unit vectors, and (query,) the candidate that a query is near to."""
    n, queries = (n // 40, QUERIES // 10) if given.quick else (n, QUERIES)
    gallery = unit(np.random.default_rng(0).standard_normal((n, given.dim), dtype=np.float32))
    rng = np.random.default_rng(1)
    positive = np.sort(rng.choice(n, queries, replace=n < queries))
    noise = rng.standard_normal((queries, given.dim), dtype=np.float32)
    return unit(gallery[positive] + NOISE / given.dim**0.5 * noise), gallery, positive


def blocks(queries: Array, gallery: Array) -> Work:
    """The float32 product in blocks of candidates into one array."""
    out = np.zeros((len(queries), min(BLOCK, len(gallery))), np.float32)

    def work() -> None:
        for start in range(0, len(gallery), BLOCK):
            part = gallery[start : start + BLOCK]
            np.matmul(queries, part.T, out=out[:, : len(part)])

    return work


def lists(given: Inputs, n: int) -> Work:
    """The top of every ranking, and the exact rank of the positive of every query."""
    from vsebench.rank.count import Targets
    from vsebench.rank.observe import observe
    from vsebench.rank.scorers import Dot
    from vsebench.types import Relevance

    queries, gallery, positive = vectors(given, n)
    rows = np.arange(len(queries))
    relevance = Relevance("gt", "i2t", rows, np.arange(len(rows) + 1), positive, np.zeros(len(rows), np.int64))

    targets = [Targets("gt", relevance)]
    return lambda: observe(Dot(queries, gallery), targets, depth={"i2t": DEPTH})


def of_faiss(given: Inputs, n: int) -> Work:
    """The top of every ranking by the flat index of FAISS."""
    from vsebench.rank.faiss_index import package

    queries, gallery, _ = vectors(given, n)
    index = package().IndexFlatIP(given.dim)  # with the kernels of numpy's BLAS
    index.add(gallery)
    return lambda: index.search(queries, DEPTH)


def _tasks(n: int) -> tuple[Task, Task]:
    largest = n == max(SIZES)
    floor = Floor("F", lambda given: blocks(*vectors(given, n)[:2]))
    name = f"lists of {n:,}"
    words = f"the first {DEPTH:,} of {n:,} candidates for {QUERIES:,} queries, and exact ranks"
    return (
        Task(name, words, partial(lists, n=n), floor, "<= 1.15 F, <= 200 MiB" if largest else ""),
        Task(
            f"faiss of {n:,}", "the lists by IndexFlatIP", partial(of_faiss, n=n), floor, ">= 1 x" if largest else "",
            Needs(("faiss",)), Peer(f"scale/{name}", None),
        ),
    )  # fmt: skip


TASKS = tuple(task for n in SIZES for task in _tasks(n))
