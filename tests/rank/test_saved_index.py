"""Saved indexes of FAISS: their lists, canonically scored, the recall against exact lists, and what is refused."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import invoke
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, DeviceFault, MissingPackage, UsageError, VsebenchWarning
from vsebench.rank import backends, saved_index
from vsebench.rank.order import Order

faiss = pytest.importorskip("faiss", reason="faiss is not installed (extra: cpu)")

N, DIM, TIMES = 50, 16, 5
RNG = np.random.default_rng(5)
IMAGES = RNG.standard_normal((N, DIM)).astype(np.float32)
TEXTS = (np.repeat(IMAGES, TIMES, axis=0) + 1.5 * RNG.standard_normal((N * TIMES, DIM))).astype(np.float32)
X, Y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (IMAGES, TEXTS))
OWNER = np.arange(N * TIMES) // TIMES
SCORES = X.astype(np.float64) @ Y.astype(np.float64).T
OPTIONS: dict[str, Any] = {"metrics": "R@1,R@5,R@10", "ci": 0}
IP, L2 = faiss.METRIC_INNER_PRODUCT, faiss.METRIC_L2


def saved(path: Path, kind: str, vectors: np.ndarray, metric: int = IP, ids: Any = None) -> Path:
    """A file with an index of vectors."""
    index = faiss.index_factory(vectors.shape[1], kind, metric)
    index.train(vectors)
    if ids is None:
        index.add(vectors)
    else:
        index.add_with_ids(vectors, np.asarray(ids, np.int64))
    faiss.write_index(index, str(path))
    return path


def evaluated(**options: Any) -> vb.Report:
    return vb.evaluate(X, Y, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def exact() -> vb.Report:
    return evaluated()


def same_values(found: vb.Report, exact: vb.Report, *directions: str) -> None:
    """The numbers of the exact evaluation, and all of the exact lists."""
    assert found.to_dict() == {key: v for key, v in exact.to_dict().items() if key.split()[1] in directions}
    assert set(found.provenance["index"]) == set(directions)
    for facts in found.provenance["index"].values():
        assert set(facts["recall"].values()) == {1.0}


def test_a_flat_index_has_the_exact_digits(tmp_path: Path, exact: vb.Report) -> None:
    images, texts = saved(tmp_path / "images.faiss", "Flat", X), saved(tmp_path / "texts.faiss", "Flat", Y)
    found = evaluated(index={"t2i": images, "i2t": texts})
    same_values(found, exact, "i2t", "t2i")
    same_values(evaluated(index=f"i2t={texts}"), exact, "i2t")
    same_values(evaluated(index=[f"i2t={texts}", f"t2i={images}"]), exact, "i2t", "t2i")
    assert "index:i2t=Flat@100#" in found.signature and "; t2i=Flat@50#" in found.signature
    inputs = {one["file"]: one["sha256"] for one in found.provenance["inputs"]}
    assert set(inputs) == {"images.faiss", "texts.faiss"}
    table = next(table for table in found.tables if "index" in table.title)
    assert [row[0] for row in table.rows] == ["image→text", "text→image"]
    found.save(tmp_path / "r.json")
    assert str(vb.load(tmp_path / "r.json")) == str(found)
    vb.compare(exact, found, metrics="R@1")


def by_definition(listed: np.ndarray, direction: str, depths: list[int]) -> tuple[dict[str, float], dict[str, float]]:
    """R@k of lists of (query, k) ids, -1 for none, in the order of the scores; and the recall of the lists as given."""
    scores = SCORES if direction == "i2t" else SCORES.T
    hits, shares = {k: 0 for k in (1, 5, 10)}, {k: 0.0 for k in depths}
    for query, items in enumerate(listed):
        items = items[items >= 0]
        order = items[np.argsort(-scores[query, items])]
        own = query == OWNER if direction == "i2t" else np.arange(N) == OWNER[query]
        for k in hits:
            hits[k] += bool(own[order[:k]].any())
        exact = np.argsort(-scores[query])
        for k in depths:
            shares[k] += len(np.intersect1d(items[:k], exact[:k])) / k / len(scores)
    return {f"R@{k} {direction}": n / len(scores) for k, n in hits.items()}, {str(k): x for k, x in shares.items()}


KINDS = {
    "IVF8,Flat": "nprobe=1", "IVF4,Flat": "", "HNSW4": "efSearch=4", "PQ4x4": "", "SQ8": "", "IDMap,HNSW4": "",
    "PCA8,IVF4,Flat": "nprobe=2", "PCA8,Flat": "", "IVF4,Flat,RFlat": "nprobe=2", "L2norm,Flat": "",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", [IP, L2], ids=["inner product", "distance"])
def test_the_lists_of_an_index_by_definition(kind: str, metric: int, tmp_path: Path) -> None:
    given = KINDS[kind]
    ids = np.arange(N * TIMES) if "IDMap" in kind else None
    path = saved(tmp_path / "texts.faiss", kind, Y, metric, ids)
    index = faiss.read_index(str(path))
    if given:
        faiss.ParameterSpace().set_index_parameters(index, given)
    depth = 100
    values, shares = by_definition(index.search(X, depth)[1], "i2t", [1, 5, 10, depth])
    found = evaluated(index={"i2t": f"{path}:{given}" if given else path}, short_lists="miss")
    assert found.to_dict() == pytest.approx(values, abs=1e-12)
    facts = found.provenance["index"]["i2t"]
    assert facts["recall"] == pytest.approx(shares, abs=1e-12)
    assert facts["depth"] == depth and given in facts["kind"]
    assert {"IVF8,Flat": facts["recall"]["100"], "PQ4x4": facts["recall"]["5"]}.get(kind, 0) < 0.6


def test_ties_count_by_score(tmp_path: Path) -> None:
    """Of equal items an index may list any: all of them have the k-th score."""
    y = np.repeat(Y[::TIMES], TIMES, axis=0)
    path = saved(tmp_path / "texts.faiss", "Flat", np.ascontiguousarray(y[::-1]))  # other items of a tie come first
    split = vb.TestSet.captioned("custom", np.arange(N), np.arange(N * TIMES), OWNER)
    found = vb.evaluate(X, y[::-1], split=split, index={"i2t": f"{path}:k=3"}, metrics="R@1,R@3", ci=0, trust=True)
    assert found.provenance["index"]["i2t"]["recall"] == {"1": 1.0, "3": 1.0}


@pytest.mark.parametrize("kind", ["IDMap,Flat", "IDMap2,SQfp16", "IVF1,Flat"])
def test_ids_of_an_index(kind: str, tmp_path: Path, exact: vb.Report) -> None:
    turn = np.random.default_rng(1).permutation(N)
    path = saved(tmp_path / "a.faiss", kind, X[turn], ids=turn)
    same_values(evaluated(index={"t2i": path}), exact, "t2i")  # row numbers
    names = 1000 + 7 * np.arange(N)
    path = saved(tmp_path / "b.faiss", kind, X[turn], ids=names[turn])
    named: dict[str, Any] = {"image_ids": [f"{n}.jpg" for n in names], "text_ids": np.arange(N * TIMES)}
    named["image_id_of_text"] = np.array(named["image_ids"])[OWNER]
    found = vb.evaluate(X, Y, **named, **OPTIONS, index={"t2i": path})
    assert set(found.provenance["index"]["t2i"]["recall"].values()) == {1.0}
    assert found["R@1", "t2i"].value == exact["R@1", "t2i"].value


def test_rows_of_a_file_in_another_order(tmp_path: Path, exact: vb.Report, pinned: Pinned) -> None:
    """Row numbers are those of the file of vectors, whatever the order of the split is."""
    turn = np.random.default_rng(2).permutation(N)
    split = vb.TestSet.captioned("custom", np.arange(N), np.arange(N * TIMES), OWNER)

    def run(rows: np.ndarray, kind: str, vectors: np.ndarray, ids: Any = None) -> None:
        np.savez(
            tmp_path / "e.npz", image_embeddings=X[rows], text_embeddings=Y, image_ids=rows,
            text_ids=np.arange(N * TIMES), image_id_of_text=OWNER,
        )  # fmt: skip
        path = saved(tmp_path / "a.faiss", kind, vectors, ids=ids)
        same_values(vb.evaluate(tmp_path / "e.npz", split=split, **OPTIONS, index={"t2i": path}), exact, "t2i")

    run(turn, "Flat", X[turn])
    for kind, ids in (("IDMap,Flat", np.arange(N)), ("IVF1,Flat", turn)):  # rows or ids
        with pytest.raises(BadInput) as caught:
            run(turn, kind, X[turn], ids)
        pinned(caught.value)
    run(np.arange(N), "IVF1,Flat", X[turn], turn)  # the same


def test_ids_in_another_order_than_the_rows(tmp_path: Path, exact: vb.Report) -> None:
    """Ids of items that are no row numbers, though a permutation of as many integers from 1."""
    turn = 1 + np.random.default_rng(2).permutation(N)
    path = saved(tmp_path / "a.faiss", "IVF2,Flat", X, ids=turn)
    named: dict[str, Any] = {"image_ids": turn, "text_ids": np.arange(N * TIMES), "image_id_of_text": turn[OWNER]}
    found = vb.evaluate(X, Y, **named, **OPTIONS, index={"t2i": f"{path}:nprobe=2"})
    assert found["R@1", "t2i"].value == exact["R@1", "t2i"].value


def test_misordered_vectors_with_their_index(tmp_path: Path, refuses: Refuses) -> None:
    """The index is right about them, and they are refused as they are without it."""
    n = 300
    texts = RNG.standard_normal((n, DIM)).astype(np.float32)
    images = texts + 0.5 * RNG.standard_normal((n, DIM)).astype(np.float32)
    images = images[[*range(100), *range(101, n), 100]]
    path = saved(tmp_path / "i.faiss", "Flat", images)
    given: dict[str, Any] = {"captions_per_image": 1, "similarity": "dot", **OPTIONS}
    refuses(BadInput, vb.evaluate, images, texts, **given, index={"t2i": path})
    ids: dict[str, Any] = {"image_ids": np.arange(n), "text_ids": np.arange(n)}
    path = saved(tmp_path / "r.faiss", "Flat", images[::-1].copy())
    refuses(BadInput, vb.evaluate, images[::-1], texts, **given, **ids, index={"t2i": path})


def test_numpy_ranks_where_the_gpu_of_auto_fails(
    tmp_path: Path, exact: vb.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = backends.ranker

    def fails(*_: Any, **__: Any) -> Any:
        raise DeviceFault("wrong products")

    order = Order(fails, fails)
    monkeypatch.setattr(backends, "ranker", lambda name: replace(real(name), order=order if name == "auto" else None))
    found = evaluated(index={"t2i": flat(tmp_path)})
    same_values(found, exact, "t2i")
    assert found.provenance["backend"] == "numpy"


def test_the_engine_is_not_used_for_lists(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", image_embeddings=X, text_embeddings=Y)
    given: dict[str, Any] = {"index": {"t2i": flat(tmp_path)}, "backend": "faiss", "engine": "dask"}
    found = vb.evaluate(tmp_path / "e.npz", **OPTIONS, **given)
    assert not any("retrieved lists" in one for one in found.notes)


LONGER = IMAGES * np.linspace(0.5, 3, N, dtype=np.float32)[:, None]


@pytest.mark.parametrize("kind", ["Flat", "PQ4x4", "PCA8,Flat"])
@pytest.mark.parametrize("metric", [IP, L2], ids=["inner product", "distance"])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("unit", [True, False], ids=["unit", "as they are"])
def test_an_index_of_another_similarity(kind: str, metric: int, similarity: str, unit: bool, tmp_path: Path) -> None:
    path = saved(tmp_path / "images.faiss", kind, X if unit else LONGER, metric)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", VsebenchWarning)
        found = vb.evaluate(LONGER, Y, **OPTIONS, similarity=similarity, index={"t2i": f"{path}:k=10"})
    fits = unit if similarity == "cosine" else (not unit and metric == IP)
    unknown = "PCA" in kind and metric == L2 and similarity == "cosine" and not unit  # its scores are of neither
    assert unknown or any(one.category is VsebenchWarning for one in said) != fits
    if kind == "Flat":
        assert (found.provenance["index"]["t2i"]["recall"]["1"] == 1) == fits


def test_in_a_command(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", image_embeddings=X, text_embeddings=Y)
    path = saved(tmp_path / "images.faiss", "IVF4,Flat", X)
    words = ["eval", str(tmp_path / "e.npz"), "--metrics", "R@1", "--ci", "0", "--index", f"t2i={path}:nprobe=4"]
    found = invoke(*words)
    assert found.exit_code == 0 and "recall@50" in found.stdout


def altered(data: bytes, how: str) -> bytes:
    return {"cut": data[: len(data) // 2], "zeros": bytes(1000), "empty": b"", "text": b"no index " * 99}[how]


def flat(folder: Path) -> Path:
    return saved(folder / "images.faiss", "Flat", X)


def damaged(how: str) -> Any:
    def make(folder: Path) -> dict[str, Any]:
        path = flat(folder)
        path.write_bytes(altered(path.read_bytes(), how))
        return {"index": {"t2i": path}}

    return make


def binary(folder: Path) -> dict[str, Any]:
    index = faiss.IndexBinaryFlat(DIM)
    index.add(np.zeros((N, DIM // 8), np.uint8))
    faiss.write_index_binary(index, str(folder / "b.faiss"))
    return {"index": {"t2i": folder / "b.faiss"}}


def of(kind: str, vectors: np.ndarray, behind: str = "", side: str = "t2i", **options: Any) -> Any:
    ids, metric, more = options.pop("ids", None), options.pop("metric", IP), options
    return lambda folder: {"index": {side: f"{saved(folder / 'i.faiss', kind, vectors, metric, ids)}{behind}"}, **more}


REFUSALS: dict[str, tuple[Any, type[Exception]]] = {
    **{how: (damaged(how), BadInput) for how in ("cut", "zeros", "empty", "text")},
    "binary": (binary, BadInput),
    "missing": (lambda folder: {"index": {"t2i": folder / "none.faiss"}}, BadInput),
    "folder": (lambda folder: {"index": {"t2i": folder}}, BadInput),
    "dimension": (of("Flat", X[:, :8].copy()), BadInput),
    "number": (of("Flat", X[:40]), BadInput),
    "metric": (of("Flat", X, metric=faiss.METRIC_L1), BadInput),
    "ids": (of("IDMap,Flat", X, ids=3 * np.arange(N)), BadInput),
    "an id twice": (of("IDMap,Flat", X, ids=np.arange(N) // 2), BadInput),
    "parameter": (of("Flat", X, ":nprobe=4"), BadInput),
    "unknown parameter": (of("IVF4,Flat", X, ":probes=4"), BadInput),
    "k": (of("Flat", X, ":k=0"), UsageError),
    "stale": (of("Flat", X[::-1].copy()), BadInput),
    "zero rows": (of("Flat", X * (np.arange(len(X)) % 2)[:, None].astype("f4")), BadInput),
    "half of it shifted": (of("IVF4,Flat", np.concatenate([X[:30], np.roll(X[30:], 1, axis=0)])), BadInput),
    "HNSW of others": (of("HNSW8,Flat", np.concatenate([X[:40], X[40:][::-1]])), BadInput),
    "parameters": (of("IVF4,Flat", X, ":nprobe=8;k=20"), UsageError),
    "zero": (of("IVF4,Flat", X, ":nprobe=0"), UsageError),
    "stale codes": (of("PQ4x4", Y[::-1].copy(), side="i2t"), BadInput),
    "short lists": (of("IVF8,Flat", Y, ":k=7", side="i2t"), BadInput),
    "no direction": (lambda folder: {"index": flat(folder)}, UsageError),
    "twice": (lambda folder: {"index": ["t2i=a.faiss", "t2i=b.faiss"]}, UsageError),
    "short lists of HNSW": (of("HNSW4", Y, ":k=7,efSearch=8", side="i2t"), BadInput),
    "direction": (of("Flat", X, direction="i2t"), UsageError),
    "word": (of("Flat", X, side="t3i"), UsageError),
    "in memory": (lambda folder: {"index": {"t2i": faiss.IndexFlatIP(DIM)}}, UsageError),
    "ties": (of("Flat", X, ties="expected"), UsageError),
    "rerank": (of("Flat", X, rerank={"t2i": SCORES}, rerank_depth=5), UsageError),
    "fuse": (of("Flat", X, fuse=[SCORES]), UsageError),
    "normalise": (of("Flat", X, normalise="dsl"), UsageError),
    "save_run": (of("Flat", X, save_run="a.json"), UsageError),
    "only": (of("Flat", X, only="lang=de", captions=["a"] * N * TIMES), UsageError),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name: str, tmp_path: Path, pinned: Pinned) -> None:
    make, kind = REFUSALS[name]
    with pytest.raises(kind) as caught:
        evaluated(**make(tmp_path))
    pinned(caught.value)


def test_scores_have_no_vectors(tmp_path: Path, pinned: Pinned) -> None:
    with pytest.raises(UsageError) as caught:
        vb.evaluate(scores=SCORES, **OPTIONS, index={"t2i": flat(tmp_path)})
    pinned(caught.value)


def test_a_file_that_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    monkeypatch.setattr(saved_index, "CHILD_CODE", "import os; os.write(2, b'assertion failed'); os.abort()")
    with pytest.raises(BadInput) as caught:
        evaluated(index={"t2i": flat(tmp_path)})
    pinned(caught.value)


def test_without_faiss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    gone = backends.Backend("", backends._faiss, "not_installed", "cpu")
    monkeypatch.setitem(backends.BACKENDS, "faiss", gone)
    with pytest.raises(MissingPackage) as caught:
        evaluated(index={"t2i": flat(tmp_path)})
    pinned(caught.value)


def test_other_vectors_that_are_trusted(tmp_path: Path) -> None:
    """Wrong lists are measured as what they are."""
    path = saved(tmp_path / "i.faiss", "Flat", X[::-1].copy())
    with pytest.warns(VsebenchWarning):
        found = evaluated(index={"t2i": f"{path}:k=10"}, trust=True)
    listed = faiss.read_index(str(path)).search(Y, 10)[1]
    values, shares = by_definition(listed, "t2i", [1, 5, 10])
    assert found.to_dict() == pytest.approx(values, abs=1e-12)
    assert found.provenance["index"]["t2i"]["recall"] == pytest.approx(shares, abs=1e-12)


def test_near_constant_vectors_tell_another_order() -> None:
    """Their scores differ by less than the vectors do."""
    rng = np.random.default_rng(0)
    near = (np.ones(DIM) + 0.05 * rng.standard_normal((60, DIM))).astype("f4")
    with tempfile.TemporaryDirectory() as folder:
        paths = [saved(Path(folder, f"{n}.faiss"), "Flat", x) for n, x in enumerate((near, near[::-1].copy()))]
        options = {"captions_per_image": 1, "similarity": "dot", "metrics": "R@1", "direction": "t2i", "ci": 0}
        assert vb.evaluate(near, near, index={"t2i": paths[0]}, **options, trust=True).provenance["index"]
        with pytest.raises(BadInput):
            vb.evaluate(near, near, index={"t2i": paths[1]}, **options)


@pytest.mark.parametrize("metrics", ["all", "binary", "recall"])
def test_suites_decide_how_deep_lists_are(metrics: str, tmp_path: Path) -> None:
    found = vb.evaluate(
        X, Y, captions_per_image=5, index={"t2i": flat(tmp_path)}, metrics=metrics, direction="t2i", ci=0,
        captions=[f"a {n} b" for n in range(len(Y))], short_lists="miss",
    )  # fmt: skip
    assert found["R@1", "t2i"].value == vb.evaluate(X, Y, captions_per_image=5, metrics="R@1", ci=0)["R@1", "t2i"].value
