"""A saved FAISS index of any kind: what it lists for some queries.

A damaged file can end the process that reads or searches it, so a child process does both (``search``).
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from ..errors import BadInput
from ..numeric.parallel import kernels_of_numpy
from ..types import NO_INDICES, Int, Vectors

CHILD_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from vsebench.rank.saved_index import main; main(*sys.argv[2:])"
)
ROOT = str(Path(__file__).resolve().parents[2])
SPARE_BYTES = 4 << 30  # memory for reading and searching an index, in addition to its file
SAMPLED_VECTORS = 2000  # vectors of an index that are compared
QUERIES_PER_SEARCH = 4096  # queries that are searched together
# Kinds that keep the added vectors; others quantise them.
EXACT_INDEXES = (
    "IndexFlat",
    "IndexFlatIP",
    "IndexFlatL2",
    "IndexHNSWFlat",
    "IndexIVFFlat",
    "IndexNSGFlat",
    "IndexRefineFlat",
)
METRICS = {0: "inner product", 1: "squared distance"}  # numbers of FAISS
_PLACE = re.compile(r"^Error in .*?\.(?:cpp|h):\d+: |(?<=read error) in .*")  # in the code of FAISS, or in the file


class Found(NamedTuple):
    """What an index lists.

    Attributes:
        items: (query, k) int64 ids, -1 for none; empty if the vectors have another dimension, or there are no queries.
        scores: (query, k) float32, inner products or squared distances.
        ids: (item,) int64 that were stored with the vectors, or None if they are numbered.
        kind: in words, such as ``IVF100,Flat nprobe=8``.
        size: number of vectors.
        dim: their dimension.
        distances: ``scores`` are squared distances.
        exact: ``scores`` are of the added vectors themselves.
        sampled: (some,) int64 ids of some vectors that an exact index can give back.
        vectors: (some, dim) float32, these vectors.
    """

    items: Int
    scores: Vectors
    ids: Int | None
    kind: str
    size: int
    dim: int
    distances: bool
    exact: bool
    sampled: Int
    vectors: Vectors


def search(path: Path, parameters: str, queries: Vectors, k: int, threads: int) -> Found:
    """The first k items of some queries.

    Args:
        path: the file.
        parameters: of the search, such as ``nprobe=16``; empty: as saved.
        queries: (query, dim) float32.
        k: depth.
        threads: of the search.

    Raises:
        BadInput: FAISS cannot read or search the file, does not know the parameters, or it is of another metric.
    """
    with tempfile.TemporaryDirectory(prefix="vsebench-") as name, kernels_of_numpy():
        folder = Path(name)
        np.save(folder / "queries.npy", queries)
        command = [sys.executable, "-c", CHILD_CODE, ROOT, str(path), name, parameters, str(k), str(threads)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        facts = json.loads((folder / "facts.json").read_text()) if not done.returncode else {}
        if facts.pop("refused", False):
            fix = "leave it out, or give one of this kind of index, such as nprobe=16 (IVF) or efSearch=64 (HNSW)"
            raise BadInput(f"{facts['kind']} does not take {parameters}", where=path, fix=fix)
        if done.returncode:
            fix = "write it again with faiss.write_index(index, FILE), or download it again"
            raise BadInput(f"FAISS cannot read this index: {last_words(done)}", where=path, fix=fix)
        if (metric := facts.pop("metric")) not in METRICS:
            what = f"is an index of metric {metric} of FAISS"
            raise BadInput(what, where=path, fix="build one of METRIC_INNER_PRODUCT, or of METRIC_L2 for unit vectors")
        numbered = facts.pop("numbered")
        arrays = {path.stem: np.load(path) for path in folder.glob("*.npy") if path.stem != "queries"}
        ids = None if numbered else arrays["ids"]
    return Found(**{**arrays, "ids": ids}, distances=METRICS[metric] != METRICS[0], **facts)


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    """Why a child process failed: its last line, and the signal that ended it."""
    last = (done.stderr.strip() or "no message").splitlines()[-1][:200]
    signals = [one.name for one in signal.Signals if one == -done.returncode]
    return "".join(f"it ended the process by {name}: " for name in signals) + last


def main(path: str, folder: str, parameters: str, k: str, threads: str) -> None:
    """Read and search an index; the lists are written to files, for ``search``."""
    import faiss

    try:
        _limit_memory(Path(path).stat().st_size)
        index = faiss.read_index(path)
        facts = {"size": index.ntotal, "dim": index.d, "metric": index.metric_type}
        layers = _layers(index)
        facts |= {"kind": _kind(layers)}
        facts["exact"] = type(layers[-1]).__name__ in EXACT_INDEXES and not any(hasattr(one, "chain") for one in layers)
    except Exception as error:
        sys.exit(_PLACE.sub("", str(error).strip()))
    try:
        if parameters:
            faiss.ParameterSpace().set_index_parameters(index, parameters)
            facts["kind"] = " ".join(dict.fromkeys([*_kind(layers).split(" "), *parameters.split(",")]))
    except Exception:
        facts["refused"] = True
    queries, ids = np.load(Path(folder, "queries.npy")), _ids(layers)
    if "refused" in facts or queries.shape[1] != index.d or index.metric_type not in METRICS:
        queries = queries[:0]
    faiss.omp_set_num_threads(int(threads))
    most = min(int(k), index.ntotal)
    items, scores = np.full((len(queries), most), -1, np.int64), np.zeros((len(queries), most), np.float32)
    for a in range(0, len(queries) if most else 0, QUERIES_PER_SEARCH):
        scores[a : a + QUERIES_PER_SEARCH], items[a : a + QUERIES_PER_SEARCH] = index.search(
            queries[a : a + QUERIES_PER_SEARCH], most
        )
    sampled, vectors = _sample(layers, ids) if facts["exact"] else (NO_INDICES, np.zeros((0, 0), np.float32))
    arrays = {"items": items, "scores": scores, "ids": NO_INDICES if ids is None else ids}
    for name, array in (arrays | {"sampled": sampled, "vectors": vectors}).items():
        np.save(Path(folder, f"{name}.npy"), array)
    Path(folder, "facts.json").write_text(json.dumps({**facts, "numbered": ids is None}))


def _limit_memory(size: int) -> None:
    """Let a damaged file of ``size`` bytes not take all memory."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    most = psutil.Process().memory_info().vms + 8 * size + SPARE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _layers(index: Any) -> list[Any]:
    """The index below every map of ids and transform, outermost first."""
    import faiss

    found = [faiss.downcast_index(index)]
    while hasattr(found[-1], "index") and isinstance(found[-1].index, faiss.Index):
        found.append(faiss.downcast_index(found[-1].index))
    return found


def _sample(layers: list[Any], ids: Int | None) -> tuple[Int, Vectors]:
    """Ids of some items, and their vectors as they were added; none if the index cannot give them back."""
    import faiss

    ivf, inner = faiss.try_extract_index_ivf(layers[0]), layers[-1]
    some = np.random.default_rng(0).permutation(inner.ntotal)[:SAMPLED_VECTORS]
    try:
        if ivf is not None:
            ivf.make_direct_map()
            ids_by_position = np.asarray(_ids([ivf]))
            keys, positions = ids_by_position[some], some if len(layers) == 1 else ids_by_position[some]
        else:
            keys, positions = some, some
        vectors = np.stack([inner.reconstruct(int(key)) for key in keys.tolist()])
    except Exception:  # of every kind another one
        return NO_INDICES, np.zeros((0, 0), np.float32)
    return np.asarray(positions if ids is None else ids[positions], np.int64), vectors


def _kind(layers: list[Any]) -> str:
    """The string of ``faiss.index_factory`` if there is one, else the class; and the parameters of the search."""
    import faiss
    from faiss.contrib.factory_tools import reverse_index_factory

    try:
        words = str(reverse_index_factory(layers[0]))
    except Exception:  # it does not know every kind
        words = ",".join(type(one).__name__ for one in layers)
    ivf, hnsw = faiss.try_extract_index_ivf(layers[0]), getattr(layers[-1], "hnsw", None)
    words += f" nprobe={ivf.nprobe}" if ivf is not None else ""
    return words + (f" efSearch={hnsw.efSearch}" if hnsw is not None else "")


def _ids(layers: list[Any]) -> Int | None:
    """(item,) the ids that were stored with the vectors; None if they are numbered in the order of adding."""
    import faiss

    for one in layers:
        if hasattr(one, "id_map"):
            return np.array(faiss.vector_to_array(one.id_map))
    ivf = faiss.try_extract_index_ivf(layers[0])
    if ivf is None:
        return None
    lists = ivf.invlists
    parts = [faiss.rev_swig_ptr(lists.get_ids(i), lists.list_size(i)).copy() for i in range(ivf.nlist)]
    return np.concatenate([np.zeros(0, np.int64), *parts])
