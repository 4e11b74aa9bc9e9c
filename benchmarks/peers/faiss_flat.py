"""``faiss``: the exact search of ``IndexFlatIP``, which returns the top of every list."""

from __future__ import annotations

from vsebench.types import DIRECTIONS

from .inputs import Inputs, Outcome, Work


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
