"""``faiss``: the exact search of ``IndexFlatIP``, which returns the top of every list."""

from __future__ import annotations

from functools import partial

from vsebench.types import DIRECTIONS

from ..inputs import Inputs
from ..task import Needs, Outcome, Peer, Task, Work


def top(given: Inputs, k: int) -> Work:
    """The k largest inner products of every query, both directions."""
    from vsebench.rank.faiss_index import package

    faiss = package()  # with the kernels of numpy's BLAS

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            queries, gallery = given.sides(direction)
            index = faiss.IndexFlatIP(gallery.shape[1])
            index.add(gallery)
            _, values[f"top {direction}"] = index.search(queries, min(k, len(gallery)))
        return Outcome(values)

    return work


TASKS = (
    Task(
        "faiss k=10", "the first 10 of every query", partial(top, k=10), None, ">= 1.5 x", Needs(("faiss",)),
        Peer(
            "ranking/first 10", 1e-6, "faiss-cpu", "vectors",
            "It returns items and no rank of a positive beyond k, which our time includes; products are float32, so "
            "near-ties are ordered differently.",
        ),
    ),
    Task(
        "faiss k=1000", "the first 1,000 of every query", partial(top, k=1000), None, ">= 1 x", Needs(("faiss",)),
        Peer("ranking/first 1000", 1e-6, "faiss-cpu", "vectors", "As with k=10."),
    ),
)  # fmt: skip
