"""Evaluation by labels: the published worked case, the definition in loops, and what changes no digit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests import oracle_unimodal as oracle
from tests.messages import Refuses
from vsebench import evaluate_unimodal
from vsebench.errors import BadInput, UsageError
from vsebench.metrics.discounted import discounted_gain, gain_of_distance, label_distance
from vsebench.results.report import Report
from vsebench.types import Embeddings
from vsebench.unimodal.distances import euclidean, precomputed
from vsebench.unimodal.evaluate import KS, label_metrics
from vsebench.unimodal.masks import miou
from vsebench.unimodal.scorers import SIMILARITIES


def evaluate(vectors: Any, labels: Any, queries: Any = None, metrics: str | None = None, **options: Any) -> Report:
    """A report without intervals."""
    return evaluate_unimodal(vectors, labels, queries=queries, metrics=metrics, ci=0, **options)


def values(report: Report) -> dict[str, float]:
    """Every metric without its view."""
    return {str(r.metric).removeprefix("labels:"): r.value for r in report.results}


def test_the_worked_case(golden: Callable[[str], dict[str, Any]]) -> None:
    case = golden("unimodal_ndcg_mld_2x6")
    given, want = case["inputs"], case["expected"]
    metrics = [f"{stem}@{k}" for k in given["ks"] for stem in ("nDCG", "MLD")]
    report = evaluate(
        given["embeddings"], precomputed(given["label_distance"]), range(given["n_query"]), metrics=",".join(metrics)
    )
    found = values(report)
    for k in given["ks"]:
        assert found[f"nDCG@{k}"] == pytest.approx(want["ndcg"][str(k)], abs=1e-12)
        assert found[f"MLD@{k}"] == pytest.approx(want["mean_label_distance"][str(k)], abs=1e-12)


def test_the_published_code(golden: Callable[[str], dict[str, Any]]) -> None:
    case = golden("unimodal_ndcg_mld_2x6")
    given, published = case["inputs"], case["published_code"]
    metrics = ",".join(f"MLD@{k}" for k in range(1, 6))
    found = values(evaluate(given["embeddings"], precomputed(given["label_distance"]), [0, 1], metrics=metrics))
    assert [found[f"MLD@{k}"] * 224 / 288 for k in range(1, 6)] == pytest.approx(
        published["mean_distance_times_224_288"], abs=1e-12
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], list[int] | None, bool]:
    """Vectors and labels of small integers: many ties of both, and every squared distance is exact."""
    n = draw(st.integers(3, 12))
    vectors = draw(arrays(np.float32, (n, draw(st.integers(1, 3))), elements=st.integers(-2, 2).map(float)))
    labels = draw(arrays(np.float64, (n, draw(st.integers(1, 3))), elements=st.integers(0, 3).map(float)))
    queries = draw(st.none() | st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    return vectors, labels, queries, draw(st.booleans())


@given(worlds(), st.integers(1, 12))
def test_by_definition(
    world: tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], list[int] | None, bool], k: int
) -> None:
    vectors, labels, queries, keep = world
    n = len(vectors)
    report = evaluate(vectors, euclidean(labels), queries, metrics=f"nDCG@{k},MLD@{k}", keep_queries=keep)
    every = list(range(n)) if queries is None else queries
    gallery = range(n) if keep or queries is None else [i for i in range(n) if i not in every]
    rows = vectors.astype(np.float64).tolist()
    for result, function in zip(report.results, (oracle.ndcg, None), strict=True):
        want = []
        for q in every:
            distance = {g: oracle.squared(labels[q].tolist(), labels[g].tolist()) ** 0.5 for g in gallery if g != q}
            found = [distance[g] for g in oracle.ranking(rows, q, gallery)]
            want.append(function(found, list(distance.values()), k) if function else oracle.mean(found, k))
        assert result.per_query is not None and result.queries is not None
        np.testing.assert_allclose(result.per_query, want, rtol=1e-12, atol=1e-12)
        assert result.queries.tolist() == every and result.n == len(every) and result.undefined == 0
        assert result.value == pytest.approx(sum(want) / len(want), abs=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_every_similarity(rng: np.random.Generator, similarity: str) -> None:
    vectors, labels = rng.standard_normal((30, 7)).astype(np.float32), rng.standard_normal((30, 4))
    report = evaluate(vectors, euclidean(labels), range(6), metrics="MLD@5", similarity=similarity)
    rows = vectors.astype(np.float64).tolist()
    want = []
    for q in range(6):
        found = oracle.ranking(rows, q, range(6, 30), similarity)[:5]
        want.append(np.linalg.norm(labels[found] - labels[q], axis=1).mean())
    assert report.results[0].value == pytest.approx(np.mean(want), abs=1e-12)


@given(worlds(), st.integers(1, 12))
def test_ranges(world: tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], list[int] | None, bool], k: int) -> None:
    vectors, labels, queries, keep = world
    report = evaluate(vectors, euclidean(labels), queries, metrics=f"nDCG@{k},MLD@{k}", keep_queries=keep)
    gain, distance = (r.per_query for r in report.results)
    assert gain is not None and distance is not None
    assert ((gain > 0) & (gain <= 1 + 1e-12)).all() and (distance >= 0).all()
    # Ranking by the labels themselves gives the ideal that nDCG is normalised by.
    best = evaluate(labels, euclidean(labels), queries, metrics=f"nDCG@{k},MLD@{k}", keep_queries=keep)
    assert best.results[0].value == pytest.approx(1.0, abs=1e-12)
    assert best.results[1].per_query is not None and (best.results[1].per_query <= distance + 1e-12).all()


def test_equal_distances_give_one(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((8, 3))
    report = evaluate(vectors, precomputed(7 * (1 - np.eye(8))), metrics="nDCG@3,MLD@3")
    assert values(report) == {"nDCG@3": 1.0, "MLD@3": 7.0}


def test_blocks_threads_and_depth_change_nothing(rng: np.random.Generator) -> None:
    vectors = rng.integers(-2, 3, (150, 5)).astype(np.float32)
    labels = rng.standard_normal((150, 3))
    metrics = "nDCG@1,nDCG@10,MLD@1,MLD@10"
    want = evaluate(vectors, euclidean(labels), range(60), metrics, threads=1)
    options: dict[str, Any]
    for options in (
        {"metrics": metrics, "threads": 3, "block": 1},
        {"metrics": metrics, "threads": 2, "block": 17},
        {"metrics": f"{metrics},nDCG@90,MLD@90", "threads": 2},
    ):
        got = evaluate(vectors, euclidean(labels), range(60), **options)
        assert got.signature == want.signature
        for a, b in zip(got.results, want.results, strict=False):
            assert a.value == b.value and np.array_equal(a.per_query, b.per_query)  # type: ignore[arg-type]


def test_row_order_changes_no_value(rng: np.random.Generator) -> None:
    vectors, labels = rng.standard_normal((40, 6)).astype(np.float32), rng.standard_normal((40, 2))
    order = rng.permutation(40)
    a, b = (
        evaluate(Embeddings("image", row, vectors[row]), euclidean(labels[row]), metrics="nDCG@5,MLD@5")
        for row in (np.arange(40), order)
    )
    for one, two in zip(a.results, b.results, strict=True):
        assert one.per_query is not None and two.per_query is not None
        np.testing.assert_allclose(one.per_query[order], two.per_query, rtol=1e-13)


def test_masks_rank_layouts(rng: np.random.Generator) -> None:
    masks = rng.integers(0, 3, (12, 6, 6))
    vectors = rng.standard_normal((12, 4))
    (result,) = evaluate(vectors, miou(masks), range(2), metrics="MLD@10").results
    flat = masks.reshape(12, -1).tolist()
    want = [np.mean([oracle.mask_distance(flat[q], flat[g]) for g in range(2, 12)]) for q in range(2)]
    assert result.value == pytest.approx(np.mean(want), abs=1e-12)


def test_the_report(rng: np.random.Generator) -> None:
    vectors, labels = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    report = evaluate_unimodal(vectors, euclidean(labels), queries=range(5), metrics="all")
    assert [str(r.metric) for r in report.results] == [f"labels:{s}@{k}" for s in ("nDCG", "MLD") for k in KS]
    assert {r.direction for r in report.results} == {"i2i"}
    assert [r.unit for r in report.results] == ["fraction"] * 11 + ["distance"] * 11
    assert [r.higher_is_better for r in report.results] == [True] * 11 + [False] * 11
    assert all(r.interval is not None and r.interval[0] <= r.value <= r.interval[1] for r in report.results)
    # 15 items can be retrieved: with a larger k all of them count, and there is a warning
    assert values(report)["MLD@100"] == values(report)["MLD@20"]
    (warning,) = report.warnings
    assert "nDCG@20" in warning and "MLD@100: k is larger than the 15 items that a query can retrieve" in warning
    head, tail = report.signature.split("|labels:euclidean#")
    assert head.startswith("vsebench:") and "|split:custom#" in head
    assert tail[8:] == "|score:euclidean|order:f64|ties:index|queries:apart"
    sizes, alone = report.notes
    assert sizes == "5 queries, 15 items in the gallery; no query is among them"
    assert alone == (
        "intervals of labels:nDCG@1, labels:nDCG@10, labels:nDCG@20 and 19 more metrics account for the choice "
        "of queries only: other test images would also change the candidates, so they may be too optimistic"
    )
    kept = evaluate(vectors, euclidean(labels), metrics="nDCG@1", modality="caption")
    assert kept.results[0].direction == "t2t" and kept.signature.endswith("|queries:kept")
    assert kept.notes == ("20 queries, 20 items in the gallery; a query is not a candidate in its own list",)


def test_the_signature_depends_on_the_queries(rng: np.random.Generator) -> None:
    vectors, labels = rng.standard_normal((9, 3)), euclidean(rng.standard_normal((9, 2)))
    signatures = [evaluate(vectors, labels, q, metrics="MLD@1").signature for q in ([0, 1], [0, 2], None)]
    assert len(set(signatures)) == 3


def test_intervals_are_reproducible(rng: np.random.Generator) -> None:
    vectors, labels = rng.standard_normal((60, 3)), euclidean(rng.standard_normal((60, 2)))

    def ends(seed: int, threads: int, method: str = "percentile") -> list[tuple[float, float] | None]:
        report = evaluate_unimodal(
            vectors, labels, metrics="nDCG@5,MLD@5", ci=90, resamples=200, seed=seed, interval=method, threads=threads
        )
        return [r.interval for r in report.results]

    assert ends(1, 1) == ends(1, 3) != ends(2, 1)
    assert ends(1, 1, "bca") == ends(1, 2, "bca") != ends(1, 1)


def test_metric_names(refuses: Refuses) -> None:
    def names(words: str | None) -> list[str]:
        return [str(m) for m in label_metrics(words)]

    assert names("nDCG@3, labels:MLD@7,ndcg@3") == ["labels:nDCG@3", "labels:MLD@7"]
    assert names(None) == names("all") == [f"labels:{s}@{k}" for s in ("nDCG", "MLD") for k in KS]
    assert names("MLD") == [f"labels:MLD@{k}" for k in KS]
    refuses(UsageError, label_metrics, "NDCGG@10")
    for name in ("R@1", "cider:nDCG@3", "nDCG[gt=out]@3"):
        refuses(UsageError, label_metrics, name)
    for k in ("0", "-1", "1.5", "x"):
        refuses(UsageError, label_metrics, f"MLD@{k}")
    refuses(UsageError, label_metrics, "MLD@")
    for empty in ("", " , "):
        refuses(UsageError, label_metrics, empty)


def test_wrong_inputs(rng: np.random.Generator, refuses: Refuses) -> None:
    vectors, labels = rng.standard_normal((4, 3)), euclidean(np.eye(4))
    refuses(BadInput, evaluate, vectors, labels, range(4))
    assert evaluate(vectors, labels, range(4), keep_queries=True, metrics="MLD@1").results
    refuses(BadInput, evaluate, vectors[:1], euclidean([[1.0]]))
    refuses(BadInput, evaluate, vectors, labels, [0, 4])
    refuses(BadInput, evaluate, vectors, labels, [1, 1])
    refuses(BadInput, evaluate, vectors, labels, [])
    refuses(BadInput, evaluate, np.zeros(4), labels)
    vectors[2] = 0
    refuses(BadInput, evaluate, vectors, labels, metrics="MLD@1", similarity="cosine")
    evaluate(vectors, labels, metrics="MLD@1")
    for wrong in ({"similarity": "l2"}, {"modality": "video"}, {"metrics": "R@1"}, {"interval": "exact"}):
        with pytest.raises(UsageError):
            evaluate(vectors, labels, **wrong)


def test_worked_values() -> None:
    gains = gain_of_distance(np.array([[1.0, 0.0, 3.0]]))
    assert gains.tolist() == [[0.5, 1.0, 0.25]]
    ideal = np.array([[1.0, 0.5, 0.25]])
    first, third = discounted_gain(gains, np.array([3]), ideal, [1, 3])[0]
    assert first == 0.5
    log3 = np.log2(3)
    assert third == pytest.approx((0.5 + 1 / log3 + 0.25 / 2) / (1 + 0.5 / log3 + 0.25 / 2), abs=1e-15)
    assert label_distance(np.array([[1.0, 0.0, 3.5]]), np.array([3]), [3, 1]).tolist() == [[1.5, 1.0]]
    assert (discounted_gain(np.zeros((1, 2)), np.array([2]), np.zeros((1, 2)), [1, 2]) == 0).all()


@pytest.mark.real_data
def test_sentence_embeddings_judged_by_object_labels(real_data: Path) -> None:
    vectors = np.load(real_data / "proxy" / "coco5k_minilm_proxy.npz")["images"][:1500].astype(np.float32)
    labels = np.load(real_data / "coco5k" / "label_matrix.npy")[:1500].astype(np.float64)
    report = evaluate(vectors, euclidean(labels), range(150), metrics="nDCG@10,nDCG@100,MLD@10,MLD@100")
    exact = vectors.astype(np.float64)
    want: dict[str, list[float]] = {str(r.metric): [] for r in report.results}
    for q in range(150):
        order = np.argsort(((exact[150:] - exact[q]) ** 2).sum(1), kind="stable")
        distance = np.sqrt(((labels[150:] - labels[q]) ** 2).sum(1))
        for k in (10, 100):
            found = distance[order].tolist()
            want[f"labels:nDCG@{k}"].append(oracle.ndcg(found, distance.tolist(), k))
            want[f"labels:MLD@{k}"].append(oracle.mean(found, k))
    for result in report.results:
        assert result.value == pytest.approx(np.mean(want[str(result.metric)]), abs=1e-12)
