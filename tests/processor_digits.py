"""``python -m tests.processor_digits``: digests of the gains of every kind, of functions, and of complete evaluations.

Run by ``test_any_processor`` in processes that simulate other processors; all digests must be equal.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

import vsebench as vb
from tests.hard_vectors import faults
from tests.scene_worlds import world
from vsebench import environment
from vsebench.human import models
from vsebench.human.protocols import Task
from vsebench.metrics.discounted import discounted_gain
from vsebench.numeric import elementary, parallel
from vsebench.numeric.parallel import one_blas_thread
from vsebench.rank.faiss_index import package
from vsebench.relevance.gains import Gains
from vsebench.relevance.sources import kinds_of_gains, load_gains
from vsebench.relevance.spice.file import Tuples
from vsebench.relevance.spice.spice import gains as spice_gains
from vsebench.scenes.shares import holds, match
from vsebench.scenes.truth import Truth
from vsebench.types import Embeddings, TestSet

IMAGES, EACH, DIM = 60, 5, 300
WORDS = [f"{a}{b}" for a in ("ba", "do", "ki", "lu", "me", "no", "pi", "ra", "su", "ty") for b in "abcdefghijkl"]


def digest(*arrays: Any) -> str:
    """Of the numbers of some arrays."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:16]


def captions(rng: np.random.Generator) -> list[str]:
    """Captions that share words, common ones more often."""
    often = 1 / np.arange(1, len(WORDS) + 1)
    of_image = [rng.choice(WORDS, 12, p=often / often.sum()) for _ in range(IMAGES)]
    return [" ".join(rng.choice(of_image[i // EACH], rng.integers(4, 12))) for i in range(IMAGES * EACH)]


def every_kind(folder: Path, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """(specification, gains) of every kind."""
    texts = captions(rng)
    split = TestSet.captioned(
        "custom", np.arange(IMAGES), np.arange(len(texts)), np.arange(len(texts)) // EACH, tuple(texts)
    )
    glove, vectors, matrix = folder / "glove.txt", folder / "vectors.npy", folder / "matrix.npy"
    glove.write_text("".join(f"{w} {' '.join(map(repr, rng.standard_normal(50).tolist()))}\n" for w in WORDS))
    np.save(vectors, rng.standard_normal((len(texts), DIM)).astype(np.float32) + 0.3)
    np.save(matrix, rng.random((IMAGES, len(texts))))
    named = ["cider", "cider:variant=plain:tokens=whitespace", f"{matrix}", f"bow:{glove}:idf=yes", f"wmd:{glove}"]
    named += [f"sentence:{vectors}:agg={agg}:own={own}" for agg in ("max", "mean", "first") for own in ("in", "out")]
    named += [f"coarse:bow:{glove}:above=0.8:sentence:{vectors}"]
    for spec in named:
        yield spec.replace(str(folder), ""), load_gains(spec, split)
    synsets = {w: frozenset((ord(w[-1]) % 7,)) for w in WORDS}
    parsed = Tuples(
        tuple(dict.fromkeys(texts)), tuple(tuple((w,) for w in t.split()) for t in dict.fromkeys(texts)), synsets
    )
    yield "spice", spice_gains(split, parsed)
    truth = Truth(*world()[2:])
    for name, share in (("match", match(truth)), ("holds", holds(truth))):
        yield name, Gains(name, {}, (len(truth.scenes), len(truth.facts)), share)


def libraries() -> dict[str, Any]:
    """What faiss is loaded with, by eight threads at once and where there seems to be a GPU; empty without it."""
    if find_spec("faiss") is None:
        return {}
    environment.DRIVERS = (Path(sys.executable),)
    ready = Barrier(8)

    def first(_: int) -> str:
        ready.wait()
        return str(package().IndexFlatIP.__name__)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(first, range(8))) == ["IndexFlatIP"] * 8
    loaded = list(sys.modules)
    found = [(i["filepath"], i["architecture"]) for i in threadpool_info() if i["internal_api"] == "openblas"]
    return {
        "kernels": {name: kernels for path, kernels in found for name in ("numpy", "faiss") if name in path},
        "torch is first": "torch" not in loaded or loaded.index("torch") < loaded.index("faiss"),
        "variable": os.environ.get(parallel.VARIABLE),
    }


def main() -> None:
    """Print the libraries and the digests as JSON."""
    loaded = libraries()
    rng = np.random.default_rng(7)
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        for spec, gains in every_kind(Path(folder), rng):
            images, texts = (min(n, 40 if spec.startswith("wmd") else n) for n in gains.shape)
            queries, items = rng.integers(0, images, 30), rng.integers(0, texts, (30, 7))
            rows = gains.rows(0, images), gains.T.rows(0, texts)
            found[spec] = digest(*rows, gains.at(queries, items))
            assert gains.name in kinds_of_gains() and not np.isnan(rows[0]).any()
        found["hard vectors"] = str(faults())
    n = np.arange(1, 30_000)
    found["functions"] = digest(elementary.log(n), elementary.log2(n), elementary.exp(-(n[:300] ** 2) / 72))
    gained = rng.random((20, 5000)).astype(np.float64)
    found["nDCG"] = digest(
        discounted_gain(gained, np.full(20, 5000), -np.sort(-gained, axis=1), [10, 1620, 2000, 5000])
    )
    images = rng.standard_normal((IMAGES, DIM)).astype(np.float32)
    of_texts = np.repeat(images, EACH, axis=0) + 3 * rng.standard_normal((IMAGES * EACH, DIM)).astype(np.float32)
    split = TestSet.captioned("custom", np.arange(IMAGES), np.arange(len(of_texts)), np.arange(len(of_texts)) // EACH)
    rated = rng.integers(0, IMAGES, 500)
    task = Task("SITS", split, ("caption", "image"), rated * EACH, rated[::-1], np.ones((500, 1)), split.image_of)
    both: Any = {"image": Embeddings("image", split.rows.ids, images)}
    both["caption"] = Embeddings("caption", split.columns.ids, of_texts)
    found["rated pairs"] = digest(models.similarities(task, both))
    for similarity in ("cosine", "euclidean"):
        report = vb.evaluate_unimodal(images, images[:, :7].astype(np.float64), similarity=similarity)
        found[f"unimodal {similarity}"] = digest(*_numbers(report))
    report = vb.evaluate(images, of_texts, captions=captions(rng), metrics="recall,cs,ncs,ndcg,sr")
    found["evaluation"] = digest(*_numbers(report))
    print(json.dumps([loaded, found]))


def _numbers(report: Any) -> Iterator[Any]:
    for result in report.results:
        yield result.value
        yield result.interval or ()
        if result.per_query is not None:
            yield result.per_query


if __name__ == "__main__":
    main()
