"""The vectors of one gallery in a flat index of FAISS, which finds the largest float32 inner products of a query.

An index of a GPU where there is one that FAISS can use, else the search of the processor. FAISS ends the process on a
GPU that it has no code for, so a child process tries it first (``fault``). The products are float32 sums in an
order that FAISS chooses, so they are within the error bound of the canonical scores (``scorers``), and ``Indexes``
makes canonical lists of them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import signal
import subprocess
import sys
import threading
from functools import cached_property
from typing import Any

import numpy as np

from ..environment import has_driver, local_rank
from ..errors import BadInput
from ..memory import require
from ..numeric.parallel import kernels_of_numpy
from ..options import spell
from ..types import Float, Int, Tops, Vectors
from .order import exact_scores, parts_of
from .scorers import Dot, Scorer, rows_of, unit_vectors

MOST_ITEMS = 2048  # of a list; more are not listed by an index on a GPU
SCALED = 1024  # vectors that are scaled together
TEMPORARY = 256 << 20  # bytes of a GPU that FAISS reserves for temporary arrays; by default 0.5 to 1.5 GiB
# Scores of an index, for factors that need more digits than TF32 has; their sums are known in integers.
TRIAL = """
import sys, faiss, numpy as np
x = 4096.0 + np.arange(256 * 64).reshape(256, 64) % 3
config = faiss.GpuIndexFlatConfig()
config.device = int(sys.argv[1])
index = faiss.GpuIndexFlatIP(faiss.StandardGpuResources(), 64, config)
index.add(x.astype(np.float32))
scores, items = index.search(x[:7].astype(np.float32), 9)
wrong = np.abs(scores / (x[:7, None] * x[items]).sum(2) - 1).max()
if not wrong <= 72 * 2.0**-24:
    sys.exit(f"its products are less precise than float32 (an error of {wrong:.1e})")
"""
TRIED = 600  # seconds; the driver compiles code for a GPU that is newer than the package, once
_IMPORT = threading.Lock()


def package() -> Any:
    """The module ``faiss``; when it is first imported, its BLAS takes the kernels of numpy's (``numeric.parallel``).

    Torch is imported before it where there is a GPU: both load libraries of CUDA, and of two versions.
    """
    with _IMPORT:  # threads that search at once may be the first to need it
        if "faiss" in sys.modules:
            return sys.modules["faiss"]
        if has_driver():
            with contextlib.suppress(Exception):  # it is not installed, or broken, which raises anything
                importlib.import_module("torch")
        with kernels_of_numpy():
            import faiss
        return faiss


def gpus(driver: bool) -> int:
    """How many GPUs FAISS can use: 0 where it fails on the one of this process.

    Args:
        driver: whether the driver of a GPU is loaded. Where it is not, FAISS does not count devices: older versions
            then ended the process (facebookresearch/faiss, issue 4251).
    """
    found = int(package().get_num_gpus()) if driver else 0
    return found if found and fault(own_gpu(found)) is None else 0


def own_gpu(number: int) -> int:
    """The GPU of ``LOCAL_RANK`` among so many, or the first."""
    return (local_rank() or 0) % number


@functools.cache
def fault(device: int) -> str | None:
    """Why an index on a GPU cannot be used, tried in a child process because FAISS may end it; or None."""
    command = [sys.executable, "-c", TRIAL, str(device)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TRIED
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"a process to try it in failed: {error}"
    if not done.returncode:
        return None
    last = (done.stderr.strip() or "no message").splitlines()[-1][:200]
    ended = f"it ended the process by {signal.Signals(-done.returncode).name}: " if done.returncode < 0 else ""
    return f"{ended}{last}"


def described() -> str:
    """What an index is searched with where a driver is found, and why not a GPU."""
    found = int(package().get_num_gpus())
    if not found:
        return f"the processor, as FAISS {package().__version__} finds no GPU"
    failed = fault(own_gpu(found))
    return (
        f"GPU {own_gpu(found)} of {found}" if failed is None else f"the processor, as FAISS fails on the GPU: {failed}"
    )


class Gpu:
    """What all indexes on the GPU share: memory for temporary arrays, and a lock, as it serves one thread."""

    def __init__(self) -> None:
        self.resources, self.lock = package().StandardGpuResources(), threading.Lock()
        self.resources.setTempMemory(TEMPORARY)
        self.config = package().GpuIndexFlatConfig()
        self.config.device = own_gpu(int(package().get_num_gpus()))

    def index(self, vectors: Vectors) -> Any:
        """An index of (item, dim) float32 vectors on the GPU."""
        with self.lock:
            index = package().GpuIndexFlatIP(self.resources, vectors.shape[1], self.config)
            index.add(vectors)
            return index


def first_gpu(driver: bool) -> Gpu | None:
    """The GPU that FAISS can use, or None.

    Args:
        driver: as of ``gpus``.

    Raises:
        BadInput: FAISS fails on it, as for want of memory.
    """
    return _failing(Gpu) if gpus(driver) else None


class FlatIndex:
    """The index of a gallery.

    Args:
        scorer: inner products of the queries (rows) with the gallery (columns).
        gallery: (gallery,) int64 indices of the candidates, ascending; the complete gallery if None.
        gpu: where it is, or None: it is searched on the processor.

    Raises:
        BadInput: the vectors of the gallery need more memory than is free, of the machine or of the GPU.
    """

    def __init__(self, scorer: Dot, gallery: Int | None = None, gpu: Gpu | None = None):
        self.scorer, self.gallery, self.own, items = scorer, gallery, scorer.x, scorer.y
        self.scale, scales = scorer.scales
        if gallery is not None or scorer.cosine:
            copied = 4 * items.shape[1] * (len(items) if gallery is None else len(gallery))
            require(copied, fix=f"use {spell('backend', 'numpy')}, which needs no copy of the vectors")
        if gallery is not None:
            items, scales = items[gallery], scales[gallery]
        self.vectors = np.ascontiguousarray(_scaled(items, scales) if scorer.cosine else items)
        self.error = scorer.error
        self._gpu = gpu
        self._index: Any = None
        if gpu is not None:
            self._index = _failing(gpu.index, self.vectors)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.vectors)

    def search(self, queries: Int, k: int) -> tuple[Vectors, Int]:
        """(query, k) float32 scores, descending, and their positions among the candidates, -1 for none.

        Every other candidate has a float32 score that is not larger than the last one.

        Args:
            queries: (query,) int64 indices.
            k: at most ``MOST_ITEMS`` and the number of candidates.
        """
        faiss = package()
        vectors = self.own[queries]
        if self.scorer.cosine:
            vectors = unit_vectors(vectors, self.scale[queries])
        if self._gpu is not None:
            with self._gpu.lock:
                scores, items = _failing(self._index.search, vectors, k)
            return scores, items
        # Blocks of queries are searched in threads, so every search has one; the setting is that of this thread.
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            scores, items = faiss.knn(vectors, self.vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        finally:
            faiss.omp_set_num_threads(before)
        return scores, items

    def pairs(self, queries: Int, positions: Int) -> Float:
        """(pair,) float64 canonical scores of queries with candidates, these as positions."""
        items = positions if self.gallery is None else self.gallery[positions]
        return exact_scores(self.scorer, queries, items)

    def rows(self, queries: Int) -> Vectors:
        """(query, candidate) float32 scores, as ``search`` and with the same error bound, of numpy."""
        scores = rows_of(self.scorer, queries)
        return np.asarray(scores if self.gallery is None else scores[:, self.gallery])


def _scaled(vectors: Vectors, scale: Float) -> Vectors:
    out = np.empty(vectors.shape, np.float32)
    for start in range(0, len(vectors), SCALED):
        part = slice(start, start + SCALED)
        out[part] = unit_vectors(vectors[part], scale[part])
    return out


def _failing(call: Any, *arguments: Any) -> Any:
    """The result of a call of FAISS on a GPU; raises BadInput when it fails, as for want of memory."""
    try:
        return call(*arguments)
    except RuntimeError as error:
        what = f"FAISS failed on the GPU: {str(error).strip().splitlines()[-1][:200]}"
        raise BadInput(
            what, fix=f"use {spell('backend', 'numpy')}, or hide the GPU with CUDA_VISIBLE_DEVICES="
        ) from None


MARGIN = 16  # candidates beyond k that are listed at first
FAST = 100  # deepest lists made on a processor: the heaps of FAISS take longer than all scores from about 200 on
QUERIES = 512  # whose lists are searched together
SEARCHED, SCORES = 128, 4 << 20  # queries ordered together: FAISS multiplies fewer than 100 one by one, 6 x slower
KEPT = 6  # indexes: a block of queries has the complete gallery, one or two folds, the first captions of these

Key = tuple[Scorer, bytes | None]


def deepest(gallery: int, gpu: bool) -> int:
    """The largest depth of lists from an index of a gallery, on a GPU or on the processor."""
    most = gallery if gallery <= MOST_ITEMS else MOST_ITEMS - MARGIN
    return most if gpu else min(most, FAST)


def certified(index: FlatIndex, queries: Int, k: int) -> Tops:
    """The k best of some queries, and the items that tie with the last of them.

    Args:
        index: of the gallery.
        queries: (query,) int64 indices, ascending.
        k: from 1 to the number of candidates.
    """
    most, width = min(MOST_ITEMS, index.size), min(k + MARGIN, index.size)
    left = np.arange(len(queries))
    apart = left[:0]
    found: list[tuple[Int, Int, Float]] = []  # which query, position and canonical score of what can be among its best
    while len(left) and width <= most:
        scores, items = index.search(queries[left], width)
        error = index.error[queries[left]]
        least = _least(scores[:, k - 1], error)
        complete = ((scores[:, -1] < least) | (width == index.size)) & np.isfinite(least)
        row, column = np.nonzero((scores >= least[:, None]) & complete[:, None])
        positions, values = items[row, column], scores[row, column]
        exact = index.pairs(queries[left[row]], positions)
        # Where an index rounds more than float32 does, or lists too little, its lists certify nothing.
        wrong = np.bincount(row, (positions < 0) | ~(np.abs(values - exact) <= error[row]), len(left)) > 0
        good = ~wrong[row]
        found.append((left[row[good]], positions[good], exact[good]))
        apart, left = np.concatenate([apart, left[wrong]]), left[~complete]
        if width == most:
            break
        width = min(2 * width, most)
    for some in parts_of(np.sort(np.concatenate([left, apart])), index.size):
        scores = index.rows(queries[some])
        kth = np.partition(scores, index.size - k, axis=1)[:, index.size - k]
        row, positions = np.nonzero(scores >= _least(kth, index.error[queries[some]])[:, None])
        found.append((some[row], positions, index.pairs(queries[some[row]], positions)))
    row, positions, exact = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((positions, -exact, row))
    row, positions, exact = row[order], positions[order], exact[order]
    first = np.searchsorted(row, np.arange(len(queries)))
    among = exact >= exact[first + k - 1][row]
    row, positions, exact = row[among], positions[among], exact[among]
    ties = np.zeros(len(row), np.bool_)
    ties[1:] = (np.diff(row) == 0) & (np.diff(exact) == 0)
    start, items = np.searchsorted(row, np.arange(len(queries) + 1)), positions.astype(np.int32)
    return Tops(start, items, ties, index.size, exact, int(queries[0]))


def _least(kth: Vectors, error: Float) -> Float:
    """(query,) the least float32 score of a candidate that can be among the k best."""
    return np.asarray(kth.astype(np.float64) - 2 * error)


def together(gallery: int, k: int) -> int:
    """How many queries are ordered together, see ``order.Order``."""
    return max(1, min(SEARCHED, SCORES // gallery))


class Indexes:
    """The indexes of one evaluation, each made when it is first needed; the ``KEPT`` that were used last are kept.

    Args:
        driver: whether the driver of a GPU is loaded. All indexes are then on the first GPU that FAISS can use.
    """

    def __init__(self, driver: bool = False) -> None:
        self.driver = driver
        self._made: dict[Key, FlatIndex] = {}
        self._lock = threading.Lock()

    def of(self, scorer: Dot, gallery: Int | None = None) -> FlatIndex:
        """The index of a gallery; arguments as of ``FlatIndex``."""
        key = scorer, None if gallery is None else gallery.tobytes()
        with self._lock:
            found = self._made.pop(key, None)
            if found is None:
                while len(self._made) >= KEPT:  # before the next one needs their memory
                    del self._made[next(iter(self._made))]
                found = FlatIndex(scorer, gallery, self._gpu)
            self._made[key] = found  # behind the others
            return found

    @cached_property
    def _gpu(self) -> Gpu | None:
        return first_gpu(self.driver)

    def order_of(self, scorer: Scorer, queries: Int, k: int, gallery: Int | None) -> Tops:
        """The k best of some queries, as ``order.order``; k is at most ``deepest`` of the gallery."""
        return self.with_ties(scorer, queries, k, gallery).cut(k)

    def with_ties(self, scorer: Scorer, queries: Int, k: int, gallery: Int | None) -> Tops:
        """As ``order_of``, with the items that tie with the last one."""
        assert isinstance(scorer, Dot)
        return certified(self.of(scorer, gallery), queries, k)
