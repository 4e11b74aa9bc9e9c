"""Re-ranking: values are those of a matrix of the final places, which is ranked without a second stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vsebench as vb
from tests.messages import Refuses
from tests.worlds import Model
from vsebench.errors import BadInput, UsageError, VsebenchError
from vsebench.results.report import Report

Array = npt.NDArray[Any]
N, M, DEPTH = 60, 120, 9
SPLIT = vb.TestSet.captioned("custom", np.arange(N), np.arange(M), np.arange(M) // 2)
GAINS = np.random.default_rng(9).random((N, M)).astype(np.float32)
METRICS = (
    "recall,RSum,Recall@5,MRR,R-P,mAP@R,mAP,matrix:CS@5,matrix:CS@20,matrix:Kendall,matrix:NCS@3,matrix:NCS[gt=out]@3,"
    "matrix:SR@5,matrix:SR[captions=first]@5,matrix:nDCG@10,matrix:R[gt=out]@5"
)


@pytest.fixture(scope="module")
def stages() -> tuple[Array, Array, Array, Array]:
    """Vectors of the first stage with many equal scores, and scores of a second one, with ties too."""
    rng = np.random.default_rng(4)
    images = rng.integers(-2, 3, (N, 5)).astype(np.float32)
    images[~images.any(axis=1), 0] = 1
    captions = np.repeat(images, 2, axis=0) + rng.integers(-1, 2, (M, 5)).astype(np.float32)
    captions[~captions.any(axis=1), 0] = 1
    scores = rng.integers(0, 6, (N, M)).astype(float) + 4 * (np.arange(M) // 2 == np.arange(N)[:, None])
    return images, captions, scores, rng.integers(0, 6, (N, M)).astype(float)


def final_places(first: Array, second: Array, depth: int, weight: float | None) -> Array:
    """(query, gallery) minus the final place of every item, by sorting complete rows."""
    out = np.empty(first.shape)
    for query, (row, other) in enumerate(zip(first, second, strict=True)):
        order = sorted(range(len(row)), key=lambda i: (-row[i], i))
        score = {i: other[i] if weight is None else row[i] + weight * other[i] for i in order[:depth]}
        final = sorted(order[:depth], key=lambda i: (-score[i], i)) + order[depth:]
        out[query, final] = -np.arange(len(row))
        for ahead, item in zip(order[depth:], order[depth + 1 :], strict=False):  # ties behind the top remain ties
            if row[ahead] == row[item]:
                out[query, item] = out[query, ahead]
    return out


def values(report: Report) -> dict[tuple[str, str], Any]:
    rows = (r for r in report.results if r.direction is not None)
    return {(str(r.metric), str(r.direction)): (pytest.approx(r.value, abs=1e-12), r.n) for r in rows}


COMMON: dict[str, Any] = {"captions_per_image": 2, "ci": 0, "trust": True}


def evaluate(stages: tuple[Array, ...], metrics: str = "recall", **options: Any) -> Report:
    return vb.evaluate(*stages[:2], **{**COMMON, "similarity": "dot", "metrics": metrics, **options})


def saved(path: Path, stages: tuple[Array, ...]) -> tuple[list[str], list[str]]:
    ids = Model(*stages[:2], SPLIT).ids
    np.savez(path, image_embeddings=stages[0], text_embeddings=stages[1], **ids)  # type: ignore[arg-type]
    return ids["image_ids"], ids["text_ids"]


@pytest.mark.parametrize("weight", [None, 1.0, 0.25])
@pytest.mark.parametrize("depth", [1, DEPTH, 60])
def test_values_are_those_of_the_final_places(stages: tuple[Array, ...], depth: int, weight: float | None):
    images, captions, i2t, t2i = stages
    combine = "replace" if weight is None else f"add:{weight}"
    second: dict[str, Any] = {"rerank": {"i2t": i2t, "t2i": t2i}, "rerank_depth": depth, "combine": combine}
    report = evaluate(stages, METRICS, gains=GAINS, **second)
    first = images.astype(float) @ captions.T
    for direction, places in (
        ("i2t", final_places(first, i2t, depth, weight)),
        ("t2i", final_places(first.T, t2i.T, depth, weight).T),
    ):
        names = METRICS.replace("RSum,", "")
        expected = vb.evaluate(scores=places, direction=direction, metrics=names, gains=GAINS, **COMMON)
        assert {k: v for k, v in values(report).items() if k[1] == direction} == values(expected)
    rule = "replace" if weight is None else f"add {weight:g}"
    assert f"|rerank:{rule},i2t@{depth},t2i@{depth}#" in report.signature
    parts = [report[f"R@{k}", d].value for k in (1, 5, 10) for d in ("i2t", "t2i")]
    assert report["RSum"].value == pytest.approx(sum(parts))


def test_a_depth_of_one_and_the_order_of_the_first_stage_change_nothing(stages: tuple[Array, ...]):
    plain = evaluate(stages, "recall,R-P")
    same = stages[0].astype(float) @ stages[1].T
    for depth in (1, 20):
        again = evaluate(stages, "recall,R-P", rerank={"i2t": same, "t2i": same}, rerank_depth=depth)
        assert values(again) == values(plain)
        assert "queries better, 0 worse" in " ".join(again.notes)


def test_one_direction_alone_and_what_it_gains(stages: tuple[Array, ...], refuses: Refuses):
    second: dict[str, Any] = {"rerank": {"i2t": stages[2]}, "rerank_depth": DEPTH}
    plain, report = (evaluate(stages, "R@1", **more) for more in ({}, second))
    assert report["R@1", "t2i"].value == plain["R@1", "t2i"].value
    before, after = plain["R@1", "i2t"], report["R@1", "i2t"]
    change = after.per_query - before.per_query
    words = f"({(change > 0).sum()} queries better, {(change < 0).sum()} worse)"
    said = f"R@1 {100 * before.value:.2f} → {100 * after.value:.2f} {words}"
    assert before.value != after.value and f"re-ranking, i2t: {said}" in report.notes
    refuses(UsageError, evaluate, stages, direction="t2i", **second)


def top_only(first: Array, second: Array, depth: int, none: float) -> Array:
    out = np.full(first.shape, none)
    for query, row in enumerate(first):
        best = sorted(range(len(row)), key=lambda i: (-row[i], i))[:depth]
        out[query, best] = second[query, best]
    return out


def test_lists_without_scores_are_no_second_stage(stages: tuple[Array, ...], tmp_path: Path, refuses: Refuses):
    images, captions = saved(tmp_path / "A.npz", stages)
    (tmp_path / "lists.json").write_text(json.dumps({q: images[:3] for q in captions}))
    refuses(BadInput, vb.evaluate, tmp_path / "A.npz", rerank={"t2i": tmp_path / "lists.json"}, trust=True)


REFUSED: dict[str, dict[str, Any]] = {
    "no depth": {"rerank": {"i2t": np.random.default_rng(0).random((N, M))}},
    "another direction": {"rerank": {"i2i": np.ones((N, N))}},
    "a file without a direction": {"rerank": ["scores.npy"]},
    "another shape": {"rerank": {"i2t": np.ones((3, 4))}, "rerank_depth": 2},
    "another rule": {"rerank": {"i2t": np.ones((N, M))}, "combine": "max"},
    "no number": {"rerank": {"i2t": np.ones((N, M))}, "combine": "add:x"},
    "a rule alone": {"combine": "add"},
    "a depth alone": {"rerank_depth": 5},
    "ties": {"rerank": {"i2t": np.ones((N, M))}, "rerank_depth": 5, "ties": "expected"},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, stages: tuple[Array, ...], refuses: Refuses):
    given = {"captions_per_image": 2, "metrics": "R@1", "trust": True, **REFUSED[case]}
    assert isinstance(refuses(VsebenchError, vb.evaluate, *stages[:2], **given), UsageError | BadInput)


@pytest.mark.parametrize("ending", [".json", ".trec"])
def test_final_rankings_are_kept(stages: tuple[Array, ...], ending: str, tmp_path: Path):
    """A report keeps the final order, and what is saved is evaluated to the same values."""
    images, captions, i2t, _ = stages
    path, metrics = tmp_path / f"top{ending}", "R@1,R@5,Recall@5"
    kept: dict[str, Any] = {"lists": 12, "save_run": path, "depth": 30}
    report = evaluate(stages, metrics, rerank={"i2t": i2t}, rerank_depth=DEPTH, **kept)
    lists = report.lists[0]
    final = np.argsort(-final_places(images.astype(float) @ captions.T, i2t, DEPTH, None), axis=1, kind="stable")
    assert lists.scores is None and np.array_equal(lists.items, final[:, :12])
    assert report.lists[1].scores is not None
    runs = path if ending == ".json" else {d: tmp_path / f"top.{d}.trec" for d in ("i2t", "t2i")}
    again = vb.evaluate(run=runs, split=SPLIT, metrics=metrics, ci=0, trust=True)
    assert values(again) == values(report)


def uneven(first: Array, second: Array, none: float) -> Array:
    """Scores for the first 5 to 12 items of every query."""
    out = np.full(first.shape, none)
    for query, row in enumerate(first):
        best = sorted(range(len(row)), key=lambda i: (-row[i], i))[: 5 + query % 8]
        out[query, best] = second[query, best]
    return out


@pytest.mark.parametrize("none", [-100.0, -np.inf, np.nan])
def test_queries_with_scores_for_different_numbers_of_items(stages: tuple[Array, ...], none: float, refuses: Refuses):
    """Items without a score stand behind those with one, in the order of the first stage."""
    images, captions, i2t, _ = stages
    first, metrics = images.astype(float) @ captions.T, "R@1,R@5,MeanR,R-P"
    given = {"i2t": uneven(first, i2t, none)}
    report = evaluate(stages, metrics, rerank=given)
    places = np.concatenate([final_places(first[q : q + 1], i2t[q : q + 1], 5 + q % 8, None) for q in range(N)])
    expected = vb.evaluate(scores=places, direction="i2t", metrics=metrics, **COMMON)
    assert {k: v for k, v in values(report).items() if k[1] == "i2t"} == values(expected)
    assert "re-ranking, i2t: images have scores for 5 to 12 items" in report.notes and "i2t@12#" in report.signature
    if np.isnan(none):  # the same number for every query: as with a depth
        given = {"i2t": top_only(first, i2t, DEPTH, none)}
        one, other = evaluate(stages, rerank=given), evaluate(stages, rerank={"i2t": i2t}, rerank_depth=DEPTH)
        assert values(one) == values(other) and one.signature == other.signature
        given = {"i2t": uneven(first, i2t, none)}
    refuses(BadInput, evaluate, stages, metrics, rerank=given, rerank_depth=12)


def test_scores_of_items_that_are_not_at_the_top(stages: tuple[Array, ...], refuses: Refuses):
    first = stages[0].astype(float) @ stages[1].T
    given = top_only(first, stages[2], DEPTH, np.nan)
    worst, best = int(first[3].argmin()), int(np.flatnonzero(~np.isnan(given[3]))[0])
    given[3, [best, worst]] = given[3, [worst, best]]
    said = "1 of 540 scores are for captions that the first stage does not rank among its first 18"
    assert any(said in n for n in evaluate(stages, "R@1", rerank={"i2t": given}).notes)
    refuses(BadInput, evaluate, stages, "R@1", rerank={"i2t": np.roll(given, 7, axis=0)})


def test_scores_of_the_other_direction(stages: tuple[Array, ...], refuses: Refuses):
    images, captions, _, t2i = stages
    given = top_only((images.astype(float) @ captions.T).T, t2i.T, DEPTH, -100).T
    refuses(BadInput, evaluate, stages, "R@1", similarity="cosine", rerank={"i2t": given})


def test_a_matrix_of_two_numbers_is_complete(refuses: Refuses) -> None:
    """As many ones in every row are scores, and so are the zeros; no depth can be told from them."""
    rng = np.random.default_rng(0)
    scores, two = rng.random((20, 20)), np.zeros((20, 20))
    for row in two:
        row[rng.choice(20, 3, replace=False)] = 1
    given: dict[str, Any] = {"captions_per_image": 1, "metrics": "R@1", "ci": 0, "trust": True, "direction": "i2t"}
    refuses(UsageError, vb.evaluate, scores=scores, rerank={"i2t": two}, **given)
    report = vb.evaluate(scores=scores, rerank={"i2t": two}, rerank_depth=5, **given)
    assert len(report.results) == 1


def test_a_square_matrix_of_t2i_in_memory_needs_ids(rng: np.random.Generator, refuses: Refuses) -> None:
    images, second = rng.standard_normal((12, 4)), rng.standard_normal((12, 12))
    options: dict[str, Any] = {"direction": "t2i", "rerank": {"t2i": second}, "rerank_depth": 3, "metrics": "R@1"}
    refuses(BadInput, vb.evaluate, images, images, captions_per_image=1, ci=0, **options)
    ids = {"image_ids": np.arange(12) + 70, "text_ids": np.arange(12) + 5, "image_id_of_text": np.arange(12) + 70}
    unit = images / np.linalg.norm(images, axis=1, keepdims=True)
    top = np.argsort(-(unit @ unit.T), axis=1)[:, :3]
    best = top[np.arange(12), np.take_along_axis(second.T, top, 1).argmax(1)]
    assert vb.evaluate(images, images, ci=0, **ids, **options).results[0].value == np.mean(best == np.arange(12))
    sides = (vb.Embeddings(side, np.arange(12) + 70, images.astype(np.float32)) for side in ("image", "caption"))
    assert vb.evaluate(*sides, ci=0, **options).results[0].value == np.mean(best == np.arange(12))


@pytest.mark.parametrize("first", [0, 70])
def test_text_ids_that_name_the_images_do_so_for_every_matrix(first: int, rng: np.random.Generator) -> None:
    """Numbers from 0 could be those of captions too."""
    order, n = rng.permutation(30), 30
    images = rng.standard_normal((n, 8))
    scores, second = images @ rng.standard_normal((n, 8)).T, rng.standard_normal((n, n))
    own, good = np.arange(n), scores + 4 * np.eye(n)
    ids = {"image_ids": order + first, "text_ids": order + first}
    given: dict[str, Any] = {**ids, "metrics": "R@1", "ci": 0, "trust": True}
    both = vb.evaluate(scores={"i2t": good, "t2i": second}, **given)
    assert [r.value for r in both.results] == [np.mean(good.argmax(1) == own), np.mean(second.argmax(0) == own)]
    top = np.argsort(-good, axis=1)[:, :3]
    best = top[own, np.take_along_axis(second, top, 1).argmax(1)]
    reranked = vb.evaluate(scores=good, rerank={"i2t": second}, rerank_depth=3, direction="i2t", **given)
    assert reranked.results[0].value == np.mean(best == own)
