"""The nearest neighbours of query vectors, exactly: candidates by a float32 product, order by float64 distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import UsageError
from ..numeric.parallel import default_threads, one_blas_thread, spread
from ..types import Float, Int, Vectors

SIMILARITIES = ("euclidean", "cosine", "dot")
BLOCK_BYTES = 8 << 20  # of one thread's estimates
_TINY = 1e-37  # underflow of float32 products


def neighbours(
    queries: Vectors,
    gallery: Vectors,
    k: int,
    similarity: str = "euclidean",
    own: Int | None = None,
    threads: int | None = None,
    block: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Int:
    """The k best gallery items of every query, best first; equal scores in the order of the gallery.

    The order is that of float64 values of the given float32 vectors, so block size and threads change nothing.

    Args:
        queries: (query, dim) float32, finite.
        gallery: (gallery, dim) float32, finite.
        k: list length from 1 to the number of candidates.
        similarity: ``euclidean`` (the squared distance), ``cosine`` or ``dot``.
        own: (query,) gallery index of the query itself, which is left out, or -1; None when queries are not in
            the gallery.
        threads: number of threads.
        block: queries compared together.
        progress: called with (queries done, queries in all).

    Returns:
        (query, k) int64 gallery indices.

    Raises:
        UsageError: an unknown similarity, or k outside 1 to the number of candidates.
        BadInput: for cosine and dot, a vector of length zero or outside the range of exact products.
    """
    if similarity not in SIMILARITIES:
        raise UsageError(f"similarity is '{similarity}'", fix=f"use {', '.join(SIMILARITIES)}")
    left_out = own is not None and bool((own >= 0).any())
    most = len(gallery) - left_out
    if not 1 <= k <= most:
        raise UsageError(f"list length {k} for {most} candidates", fix=f"use 1 to {most}")
    threads = threads or default_threads()
    if similarity == "euclidean":
        return _by_distance(queries, gallery, k, own, threads, block, progress)
    from ..rank.order import tops
    from ..rank.scorers import Dot

    scorer = Dot(queries, gallery, cosine=similarity == "cosine")
    items = tops(scorer, "i2t", k + left_out, threads=threads, progress=progress).items.astype(np.int64)
    if own is None or not left_out:
        return items
    is_own = items == own[:, None]  # the query itself, else the last item
    is_own[~is_own.any(axis=1), -1] = True
    return np.asarray(items[~is_own].reshape(len(items), k))


def _by_distance(
    queries: Vectors,
    gallery: Vectors,
    k: int,
    own: Int | None,
    threads: int,
    block: int | None,
    progress: Callable[[int, int], None] | None,
) -> Int:
    # Half of |g - q|^2 without |q|^2, which is the same for all items of a query: |g|^2 / 2 - g.q
    half = 0.5 * np.einsum("ij,ij->i", gallery, gallery, dtype=np.float64)
    rough_half, slack = half.astype(np.float32), 2.0 * _error(queries, half)
    step = block or max(1, BLOCK_BYTES // (4 * len(gallery)))
    items = np.empty((len(queries), k), np.int64)
    done = [0] * threads

    def work(start: int, stop: int, part: int) -> None:
        from .kernels import nearest

        for a in range(start, stop, step):
            b = min(a + step, stop)
            rough = queries[a:b] @ gallery.T
            np.subtract(rough_half, rough, out=rough)
            if own is not None:
                present = np.flatnonzero(own[a:b] >= 0)
                rough[present, own[a:b][present]] = np.inf
            limit = np.partition(rough, k - 1, axis=1)[:, k - 1].astype(np.float64) + slack[a:b]
            nearest(queries[a:b], gallery, rough, limit, k, items[a:b])
            done[part] += b - a
            if progress:
                progress(sum(done), len(queries))

    with one_blas_thread():
        spread(work, len(queries), threads)
    return items


def _error(queries: Vectors, half: Float) -> Float:
    """(query,) bound on the error of an estimate of (|g - q|^2 - |q|^2) / 2.

    Bounds as in ``rank.exact.product_bound`` for the product, the rounding of |g|^2 / 2 and the difference; the last
    term covers the rounding of the float64 distance itself.
    """
    from ..rank.exact import product_bound

    longest = float(np.sqrt(2.0 * half.max()))
    length = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
    bound = product_bound(queries.shape[1]) * (length * longest + longest**2)
    return np.asarray(bound + 2.0**-40 * (length + longest) ** 2 + _TINY)
