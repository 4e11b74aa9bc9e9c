"""A flat index of FAISS lists the top of every ranking; it never changes a digit.

The index is on a GPU if FAISS can use one, else on the processor. FAISS has no code for some GPUs and ends the process
there, so a child process tries the GPU first (``fault``). The first k items and some spare ones are scored canonically.
They prove the list of a query if every listed score is within the error bound of its canonical score (``scorers``), and
the last one plus the bound is below the k-th canonical score. Other queries, deeper lists and parts of a gallery are
ordered by the exact engine (``order``).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import subprocess
import sys
import threading
from typing import Any

import numpy as np

from ..environment import has_driver, local_rank
from ..errors import BadInput
from ..memory import require
from ..numeric.parallel import kernels_of_numpy
from ..options import spell
from ..types import Float, Int, Tops, Vectors
from .order import exact_scores, order
from .saved_index import last_words
from .scorers import Dot, Scorer, unit_vectors

GPU_MAX_ITEMS = 2048  # longest list of an index on a GPU
CPU_MAX_ITEMS = 100  # longest list on a processor: from about 200 on, FAISS takes longer than computing all scores
SPARE_ITEMS = 16  # listed beyond k
MAX_INDEXES = 6  # a block of queries has the complete gallery, one or two folds, the first captions of these
TEMPORARY_BYTES = 256 << 20  # GPU memory that FAISS reserves for temporary arrays; its default is 0.5 to 1.5 GiB
# Scores of an index, for factors that need more digits than TF32 has; their sums are known in integers.
TRIAL_CODE = """
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
TRIAL_SECONDS = 600  # the driver compiles code once for a GPU newer than the package
_IMPORT = threading.Lock()


def package() -> Any:
    """The module ``faiss``; when it is first imported, its BLAS takes the kernels of numpy's (``numeric.parallel``).

    With a GPU torch is imported first: both load CUDA libraries, of different versions.
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


def device() -> tuple[int | None, str]:
    """The GPU for FAISS (number ``LOCAL_RANK``, else the first), None for the CPU; and the same in words."""
    if not has_driver():  # older versions then end the process that counts devices (facebookresearch/faiss, issue 4251)
        return None, "the index of the processor"
    if not (found := int(package().get_num_gpus())):
        return None, f"the processor, as FAISS {package().__version__} finds no GPU"
    gpu = (local_rank() or 0) % found
    if (failed := fault(gpu)) is not None:
        return None, f"the processor, as FAISS fails on the GPU: {failed}"
    return gpu, f"GPU {gpu} of {found}"


@functools.cache
def fault(device: int) -> str | None:
    """Why an index on a GPU cannot be used, tried in a child process because FAISS may end it; or None."""
    command = [sys.executable, "-c", TRIAL_CODE, str(device)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TRIAL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the process that tests it failed: {error}"
    return last_words(done) if done.returncode else None


class Indexes:
    """The indexes of one evaluation, each made when it is first searched; the ``MAX_INDEXES`` last used are kept.

    All of them are on one device. On a GPU they share memory for temporary arrays, and serve one thread at a time.

    Raises:
        BadInput: from every method, if the machine or the GPU is out of memory.
    """

    def __init__(self) -> None:
        self.gpu = device()[0]
        self._resources = None if self.gpu is None else _failing(package().StandardGpuResources)
        if self._resources is not None:
            _failing(self._resources.setTempMemory, TEMPORARY_BYTES)
        self._made: dict[Scorer, Any] = {}
        self._making, self._gpu_in_use = threading.Lock(), threading.Lock()

    def deepest(self, gallery: int) -> int:
        """The largest depth of lists from an index of so many items."""
        most = gallery if gallery <= GPU_MAX_ITEMS else GPU_MAX_ITEMS - SPARE_ITEMS
        return min(most, CPU_MAX_ITEMS) if self.gpu is None else most

    def order(self, scorer: Scorer, queries: Int, k: int, gallery: Int | None = None, *, ties: bool = False) -> Tops:
        """The k best of some queries, as ``order.order``; with ``ties`` all items that tie with the last one, too."""
        if gallery is not None or k > self.deepest(scorer.shape[1]):
            return order(scorer, queries, k, gallery)
        n, error = scorer.shape[1], scorer.error[queries]
        scores, items = self.search(scorer, queries, min(k + SPARE_ITEMS, n))
        row, column = np.nonzero((items >= 0) & (items < n))
        exact = np.full(scores.shape, np.nan)
        exact[row, column] = exact_scores(scorer, queries[row], items[row, column])
        kth = -np.partition(-exact, k - 1, axis=1)[:, k - 1]
        # An index that rounds more than float32, or lists an item twice or none, proves nothing.
        right = (np.abs(scores - exact) <= error[:, None]).all(axis=1) & (np.diff(np.sort(items)) > 0).all(axis=1)
        proven = right & ((scores.min(axis=1) + error < kth) | (scores.shape[1] == n))
        row, column = np.nonzero((exact >= kth[:, None]) & proven[:, None])
        others = _with_ties(scorer, queries, np.flatnonzero(~proven), k)
        found = zip((row, items[row, column], exact[row, column]), others, strict=True)
        row, entries, exact = map(np.concatenate, found)
        by = np.lexsort((entries, -exact, row))
        row, entries, exact = row[by], entries[by].astype(np.int32), exact[by]
        tied = (np.diff(row, prepend=-1) == 0) & (np.diff(exact, prepend=0) == 0)
        top = Tops(np.searchsorted(row, np.arange(len(queries) + 1)), entries, tied, n, exact, int(queries[0]))
        return top if ties else top.cut(k)

    def search(self, scorer: Scorer, queries: Int, k: int) -> tuple[Vectors, Int]:
        """(query, k) float32 scores and items of the index; no other item has a larger score than the smallest one."""
        assert isinstance(scorer, Dot)
        vectors, index = scorer.x[queries], self._index_of(scorer)
        if scorer.cosine:
            vectors = unit_vectors(vectors, scorer.scales[0][queries])
        if self.gpu is not None:
            with self._gpu_in_use:
                scores, items = _failing(index.search, vectors, k)
            return scores, items
        faiss = package()
        # Blocks of queries are searched in threads, so every search uses one; the setting holds for this thread.
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            scores, items = faiss.knn(vectors, index, k, metric=faiss.METRIC_INNER_PRODUCT)
        finally:
            faiss.omp_set_num_threads(before)
        return scores, items

    def _index_of(self, scorer: Dot) -> Any:
        """The index of a gallery; its vectors on a processor."""
        with self._making:
            found = self._made.pop(scorer, None)
            if found is None:
                while len(self._made) >= MAX_INDEXES:  # before the next one needs their memory
                    del self._made[next(iter(self._made))]
                found = np.ascontiguousarray(scorer.y)
                if scorer.cosine:
                    require(found.nbytes, fix=f"use {spell('backend', 'numpy')}, which needs no copy of the vectors")
                    found = unit_vectors(found, scorer.scales[1])
                found = found if self.gpu is None else _failing(self._on_gpu, found)
            self._made[scorer] = found  # behind the others
            return found

    def _on_gpu(self, vectors: Vectors) -> Any:
        config = package().GpuIndexFlatConfig()
        config.device = self.gpu
        with self._gpu_in_use:
            index = package().GpuIndexFlatIP(self._resources, vectors.shape[1], config)
            index.add(vectors)
            return index


def _with_ties(scorer: Scorer, queries: Int, some: Int, k: int) -> tuple[Int, Int, Float]:
    """(entry,) query, item and score: the k best of some of the queries and their ties, by the exact engine."""
    deep, n = k, scorer.shape[1]
    while len(some):
        deep = min(2 * deep, n)
        items = order(scorer, queries[some], deep).items.astype(np.int64)
        exact = exact_scores(scorer, np.repeat(queries[some], deep), items.ravel()).reshape(-1, deep)
        if deep == n or (exact[:, -1] < exact[:, k - 1]).all():
            row, column = np.nonzero(exact >= exact[:, k - 1 : k])
            return some[row], items[row, column], exact[row, column]
    return some, some, np.zeros(0)


def _failing(call: Any, *arguments: Any) -> Any:
    """The result of a call of FAISS on a GPU; raises BadInput if it fails, for example out of memory."""
    try:
        return call(*arguments)
    except RuntimeError as error:
        what = f"FAISS failed on the GPU: {str(error).strip().splitlines()[-1][:200]}"
        raise BadInput(
            what, fix=f"use {spell('backend', 'numpy')}, or hide the GPU with CUDA_VISIBLE_DEVICES="
        ) from None
