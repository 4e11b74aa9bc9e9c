"""The vectors of one gallery in a flat index of FAISS, which finds the largest float32 inner products of a query.

An index of a GPU where there is one that FAISS can use, else the search of the processor. FAISS ends the process on a
GPU that it has no code for, so a child process tries it first (``fault``). The products are float32 sums in an
order that FAISS chooses, so they are within the error bound of the canonical scores (``exact``), and ``certified``
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
from typing import Any

import numpy as np

from ..environment import has_driver, local_rank
from ..errors import BadInput
from ..memory import require
from ..numeric.openblas import kernels_of_numpy
from ..options import spell
from ..types import Direction, Float, Int, Vectors
from .order import exact_scores
from .scorers import Dot, rows_of, unit_vectors

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
    """The module ``faiss``; when it is first imported, its BLAS takes the kernels of numpy's (``numeric.openblas``).

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
    """The index of the gallery of one direction.

    Args:
        scorer: inner products of vectors.
        direction: side of the queries.
        gallery: (gallery,) int64 indices of the candidates, ascending; the complete gallery if None.
        gpu: where it is, or None: it is searched on the processor.

    Raises:
        BadInput: the vectors of the gallery need more memory than is free, of the machine or of the GPU.
    """

    def __init__(self, scorer: Dot, direction: Direction, gallery: Int | None = None, gpu: Gpu | None = None):
        self.scorer, self.direction, self.gallery = scorer, direction, gallery
        turn = 1 if direction == "i2t" else -1
        (self.own, items), (self.scale, scales) = (scorer.images, scorer.captions)[::turn], scorer.scales[::turn]
        if gallery is not None or scorer.cosine:
            copied = 4 * items.shape[1] * (len(items) if gallery is None else len(gallery))
            require(copied, fix=f"use {spell('backend', 'numpy')}, which needs no copy of the vectors")
        if gallery is not None:
            items, scales = items[gallery], scales[gallery]
        self.vectors = np.ascontiguousarray(_scaled(items, scales) if scorer.cosine else items)
        self.error = scorer.error[0 if direction == "i2t" else 1]
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
        return exact_scores(self.scorer, self.direction, queries, items)

    def rows(self, queries: Int) -> Vectors:
        """(query, candidate) float32 scores, as ``search`` and with the same error bound, of numpy."""
        scores = rows_of(self.scorer, self.direction, queries)
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
