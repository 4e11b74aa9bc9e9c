"""``--ties docid-desc``: the digits of trec_eval and MTEB where scores tie, of runs, matrices and vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.types import ONE_WAY

N, ITEMS, DIM = 30, 240, 8
RNG = np.random.default_rng(3)
QUERY_IDS = [f"q{n}" for n in range(N)]
CORPUS_IDS = [*map(str, range(ITEMS - 20)), *(f"é{n}" for n in range(10)), *(f"Z{n}" for n in range(10))]
QRELS = {
    query: {str(item): int(RNG.integers(0, 4)) for item in RNG.choice(CORPUS_IDS, 12, replace=False)} | {"7": 2}
    for query in QUERY_IDS
}
NAMES = {
    "ndcg_cut.10": "nDCG@10", "P.10": "P@10", "recall.10": "Recall@10", "map": "mAP", "recip_rank": "MRR",
    "map_cut.100": "mAP@100",
}  # fmt: skip


def clusters() -> tuple[Any, Any]:
    """Vectors in groups of eight that differ by one unit in the last place: float64 tells them apart."""
    centres = RNG.standard_normal((ITEMS // 8, DIM)).astype(np.float32)
    items = np.repeat(centres, 8, axis=0)
    items[:, 0] = np.where(RNG.random(ITEMS) < 0.5, np.nextafter(items[:, 0], np.float32(9)), items[:, 0])
    return RNG.standard_normal((N, DIM)).astype(np.float32), items[RNG.permutation(ITEMS)]


QUERIES, CORPUS = clusters()
PRODUCTS = QUERIES.astype(np.float64) @ CORPUS.T.astype(np.float64)
ROUNDED = np.round(RNG.random((N, ITEMS)), 1) + RNG.choice([0, 1e-9], (N, ITEMS))


def as_run(scores: Any) -> dict[str, dict[str, float]]:
    return {q: dict(zip(CORPUS_IDS, map(float, row), strict=True)) for q, row in zip(QUERY_IDS, scores, strict=True)}


def by_trec_eval(scores: Any) -> dict[str, float]:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    found = pytrec_eval.RelevanceEvaluator(QRELS, set(NAMES)).evaluate(as_run(scores))
    means = {name: np.mean([found[q][name.replace(".", "_")] for q in QUERY_IDS]) for name in NAMES}
    return {NAMES[name]: pytest.approx(value, abs=1e-12) for name, value in means.items()}


def ours(ties: str = "docid-desc", **given: Any) -> dict[str, float]:
    metrics = [f"j:{name}" for name in NAMES.values()]
    report = vb.evaluate(**given, judgements={"j": QRELS}, ties=ties, metrics=metrics, ci=0, trust=True)
    return {r.metric.name: r.value for r in report.results}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ties")
    ids = {"query_ids": QUERY_IDS, "corpus_ids": CORPUS_IDS}
    np.savez(made / "vectors.npz", query_embeddings=QUERIES, corpus_embeddings=CORPUS, **ids)
    np.savez(made / "scores.npz", scores=ROUNDED, **ids)
    return made


def test_runs_have_the_digits_of_trec_eval():
    assert ours(run={"t2i": as_run(ROUNDED)}) == by_trec_eval(ROUNDED)
    assert ours("index", run={"t2i": as_run(ROUNDED)}) != by_trec_eval(ROUNDED)


def test_matrices_have_the_digits_of_trec_eval(folder: Path):
    assert ours(scores=folder / "scores.npz") == by_trec_eval(ROUNDED)
    assert ours("index", scores=folder / "scores.npz") != by_trec_eval(ROUNDED)


@pytest.mark.parametrize("backend", ["numpy", "torch:cpu", "faiss"])
def test_vectors_have_the_digits_of_trec_eval(folder: Path, backend: str):
    pytest.importorskip({"numpy": "numpy", "torch:cpu": "torch", "faiss": "faiss"}[backend])
    given = {"images": folder / "vectors.npz", "similarity": "dot", "backend": backend}
    assert ours(**given) == by_trec_eval(PRODUCTS)
    assert ours("index", **given) != by_trec_eval(PRODUCTS)


def test_cosines_have_the_digits_of_trec_eval(folder: Path):
    lengths = np.linalg.norm(QUERIES.astype(np.float64), axis=1), np.linalg.norm(CORPUS.astype(np.float64), axis=1)
    cosines = PRODUCTS / lengths[0][:, None] / lengths[1]
    assert ours(images=folder / "vectors.npz", similarity="cosine") == by_trec_eval(cosines)


@pytest.mark.parametrize("seed", range(2))
def test_ndcg_of_short_lists_and_of_items_that_are_not_there(seed: int, pinned: Refuses):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    rng = np.random.default_rng(seed)
    gallery, judged = [f"d{n}" for n in range(25)], [f"d{n}" for n in range(40)]  # the last ones are in no list
    qrels = {
        q: {d: int(rng.integers(0, 4)) for d in rng.choice(judged, 9, replace=False)} | {"d0": 1} for q in QUERY_IDS
    }
    run = {
        q: {d: round(float(rng.random()), 1) for d in rng.choice(gallery, rng.integers(1, 25), replace=False)}
        for q in QUERY_IDS
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.3,5,10,30"}).evaluate(run)
    metrics = "j:nDCG@3,j:nDCG@5,j:nDCG@10,j:nDCG@30"
    given = {"run": {"t2i": run}, "judgements": {"j": qrels}, "ties": "docid-desc", "metrics": metrics, "ci": 0}
    report = vb.evaluate(**given, short_lists="miss", trust=True)
    for k in (3, 5, 10, 30):
        result = report[f"j:nDCG@{k}", report.results[0].direction]
        want = [theirs[q][f"ndcg_cut_{k}"] for q in result.queries]
        assert result.per_query == pytest.approx(want, abs=1e-12), k
    with pytest.raises(BadInput) as caught:
        vb.evaluate(**given, trust=True)
    pinned(caught.value)


def test_mteb_has_these_digits_rounded_to_five():
    metrics = pytest.importorskip("mteb._evaluators.retrieval_metrics", reason="mteb is not installed")
    found = metrics.calculate_retrieval_scores(as_run(ROUNDED), QRELS, [10])
    run = ours(run={"t2i": as_run(np.float32(ROUNDED))})
    assert found.ndcg["NDCG@10"] == pytest.approx(run["nDCG@10"], abs=5.1e-6)
    assert found.recall["Recall@10"] == pytest.approx(run["Recall@10"], abs=5.1e-6)


def test_images_and_texts_keep_their_queries(folder: Path):
    """The order of items is a matter of ties alone: values of single queries stay with their ids."""
    world = {"image_embeddings": QUERIES, "text_embeddings": np.repeat(QUERIES, 2, axis=0) + np.float32(0.3)}
    ids = {"image_ids": QUERY_IDS, "image_id_of_text": np.repeat(QUERY_IDS, 2)}
    np.savez(folder / "both.npz", **world, **ids, text_ids=[f"t{n}" for n in range(2 * N)])
    one, other = (vb.evaluate(folder / "both.npz", metrics="MRR", ties=ties, ci=0) for ties in ("index", "docid-desc"))
    frames = [report.per_query().set_index(["direction", "query"])["value"].sort_index() for report in (one, other)]
    assert len(frames[0]) == 3 * N and (frames[0] == frames[1]).all()
    assert one.signature != other.signature


def test_vectors_and_a_run_are_compared(folder: Path, pinned: Refuses):
    given: dict[str, Any] = {"judgements": {"j": QRELS}, "metrics": "j:mAP", "ci": 0, "trust": True}
    listed = {"candidates": {query: CORPUS_IDS[: ITEMS - n] for n, query in enumerate(QUERY_IDS)}}
    for more in ({}, listed):
        matrix = vb.evaluate(scores=folder / "scores.npz", ties="docid-desc", **given, **more)
        run = vb.evaluate(run={ONE_WAY: as_run(ROUNDED)}, ties="docid-desc", short_lists="miss", **given, **more)
        (test,) = vb.compare({"matrix": matrix, "run": run}).records()
        assert test["difference"] == test["differing"] == 0
    with pytest.raises(UsageError) as caught:
        vb.compare(matrix, vb.evaluate(scores=folder / "scores.npz", **given, **listed))
    pinned(caught.value)


def test_what_has_no_rounded_scores_is_refused(folder: Path, pinned: Refuses):
    with pytest.raises(UsageError) as caught:
        vb.evaluate(
            folder / "vectors.npz", judgements={"j": QRELS}, ties="docid-desc", normalise="csls:k=3", trust=True
        )
    pinned(caught.value)
    with pytest.raises(UsageError) as caught:
        vb.evaluate(scores=np.where(ROUNDED > 0.9, 1e300, ROUNDED), captions_per_image=8, ties="docid-desc", trust=True)
    pinned(caught.value)


def test_the_direction_of_queries_is_not_reversed(folder: Path):
    report = vb.evaluate(folder / "vectors.npz", judgements={"j": QRELS}, ties="docid-desc", trust=True, ci=0)
    assert {r.direction for r in report.results} == {ONE_WAY}


def test_items_that_cannot_be_retrieved_are_ideal_ones(pinned: Refuses):
    """Of vectors and scores: judged items without a vector, candidates without relevant items, excluded ones."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    rng, there = np.random.default_rng(5), np.arange(ITEMS) % 3 > 0
    kept = [d for d, inside in zip(CORPUS_IDS, there, strict=True) if inside]
    allowed, out = ({q: {*rng.choice(CORPUS_IDS, n, replace=False)} for q in QUERY_IDS} for n in (60, 40))
    for limits in ({}, {"candidates": allowed}, {"exclude": out}, {"candidates": allowed, "exclude": out}):
        kinds = {name: {q: sorted(items) for q, items in one.items()} for name, one in limits.items()}
        gone = limits.get("exclude", dict.fromkeys(QUERY_IDS, ()))
        may = limits.get("candidates", dict.fromkeys(QUERY_IDS, kept))
        judged = {q: {d: g for d, g in own.items() if d not in gone[q] or d not in kept} for q, own in QRELS.items()}
        found = {
            q: {d: s for d, s in own.items() if d in kept and d in may[q] and d not in gone[q]}
            for q, own in as_run(ROUNDED).items()
        }
        theirs = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "map"}).evaluate(found)
        report = vb.evaluate(
            scores=ROUNDED[:, there], query_ids=QUERY_IDS, corpus_ids=kept, judgements={"j": QRELS}, ties="docid-desc",
            metrics="j:nDCG@10,j:mAP", ci=0, trust=True, **kinds,
        )  # fmt: skip
        for ours, name in (("nDCG@10", "ndcg_cut_10"), ("mAP", "map")):
            result = report[f"j:{ours}", ONE_WAY]
            assert result.per_query == pytest.approx([theirs[q][name] for q in result.queries], abs=1e-12), limits
        pinned("\n".join((*report.notes, *report.warnings)))


def test_fused_runs_break_ties_by_id():
    """Reciprocal ranks of two runs often tie: the larger id goes first."""
    first, second = ({"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, {"q": {"d2": 3.0, "d1": 2.0, "d3": 1.0}})
    given = {"fuse": [{"query2corpus": second}], "judgements": {"j": {"q": {"d1": 1}}}, "metrics": "j:R@1", "ci": 0}
    for ties, value in (("index", 1.0), ("docid-desc", 0.0)):
        report = vb.evaluate(run={"query2corpus": first}, ties=ties, trust=True, **given)
        assert report["j:R@1", ONE_WAY].value == value
