"""Fusion of systems and scores of each direction: values are those of matrices that numpy adds, and of ranx."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import document, printed
from tests.messages import Refuses
from tests.worlds import world
from vsebench.errors import BadInput, VsebenchError
from vsebench.results.report import Report

METRICS = "recall,mAP,matrix:NCS@3,matrix:CS@20"
N, M = 60, 120


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two systems of vectors of different dimensions, which are not of unit length, and their files."""
    folder, rng = tmp_path_factory.mktemp("fusion"), np.random.default_rng(11)
    found: dict[str, Any] = {"folder": folder, "gains": rng.random((N, M)).astype(np.float32)}
    for name, dim in (("A", 6), ("B", 9)):
        model = world(N, dim=dim, seed=dim)
        order = np.arange(M) if name == "A" else rng.permutation(M)  # the ids of B say which text is where
        texts = np.array(model.ids["text_ids"])[order]
        model.save(folder / f"{name}.npz", text_embeddings=model.texts[order], text_ids=texts)
        found[name] = model.cosines
    return found


def values(report: Report) -> list[tuple[str, Any]]:
    return [(f"{r.metric} {r.direction}", r.per_query) for r in report.results if r.direction is not None]


def assert_same(one: Report, other: Report) -> None:
    assert [name for name, _ in values(one)] == [name for name, _ in values(other)] != []
    for (name, a), (_, b) in zip(values(one), values(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12, err_msg=name)


def test_weighted_scores_are_those_of_the_sum(systems: dict[str, Any]):
    a, b = (systems["folder"] / name for name in ("A.npz", "B.npz"))
    same = {"metrics": METRICS, "gains": systems["gains"], "ci": 0}
    wanted = vb.evaluate(scores=0.7 * systems["A"] + 0.3 * systems["B"], captions_per_image=2, **same)
    found = vb.evaluate(a, fuse=b, weights="0.7,0.3", **same)
    assert "|fuse:sum,0.7,0.3|" in found.signature
    assert {f["file"] for f in found.provenance["inputs"]} >= {"A.npz", "B.npz"}
    np.save(systems["folder"] / "B.npy", systems["B"])
    mixed = [vb.evaluate(a, fuse=[x], weights="0.7,0.3", **same) for x in (systems["folder"] / "B.npy", systems["B"])]
    for report in (found, *mixed, vb.evaluate(a, fuse=[b, a], weights="0.5,0.3,0.2", **same)):
        assert_same(report, wanted)


def test_runs_are_fused(systems: dict[str, Any], tmp_path: Path):
    split = vb.TestSet.captioned(
        "own", np.arange(9), np.arange(18), np.arange(18) // 2,
    )  # fmt: skip
    rng = np.random.default_rng(8)
    for name in "AB":
        lists = {d: {q: rng.permutation(n).tolist() for q in range(27 - n)} for d, n in (("i2t", 18), ("t2i", 9))}
        (tmp_path / f"{name}.json").write_text(json.dumps(lists))
    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in "AB")
    report = vb.evaluate(
        run=tmp_path / "A.json", fuse=tmp_path / "B.json", weights="2,1", split=split, metrics="MRR", ci=0
    )
    for direction in ("i2t", "t2i"):
        found = report["MRR", direction]
        for query, value in zip(found.queries.tolist(), found.per_query.tolist(), strict=True):
            score: dict[int, float] = {}
            for weight, lists in ((2, first), (1, second)):
                for rank, item in enumerate(lists[direction][str(query)], start=1):
                    score[item] = score.get(item, 0) + weight / (60 + rank)
            order = sorted(score, key=lambda i: (-round(score[i], 14), i))
            right = [i for i in order if (i // 2 == query if direction == "i2t" else i == query // 2)]
            assert value == pytest.approx(1 / (1 + order.index(right[0])))
    assert "|fuse:rrf60,2,1|" in report.signature


def test_scores_of_each_direction(systems: dict[str, Any], tmp_path: Path):
    scores = {"i2t": systems["A"], "t2i": systems["B"]}
    same: dict[str, Any] = {"metrics": METRICS, "gains": systems["gains"], "captions_per_image": 2}
    both = vb.evaluate(scores=scores, **same)
    for direction, matrix in scores.items():
        for result in vb.evaluate(scores=matrix, direction=direction, **same).results:
            other = both[result.metric, result.direction]
            np.testing.assert_array_equal(result.per_query, other.per_query)
            assert result.interval == other.interval
        np.save(tmp_path / f"{direction}.npy", matrix)
    words = [x for d in scores for x in ("--scores", f"{d}={tmp_path}/{d}.npy")]
    line = ["eval", "--captions-per-image", "2", "--metrics", "R@1", "--ci", "0"]
    found = {r["direction"]: r["value"] for r in document(*line, *words)["results"]}
    assert found == {d: both["R@1", d].value for d in scores}
    one = printed(*line, *words[2:])
    assert "image→text" not in one and "text→image" in one
    same = {"metrics": "R@1", "ci": 0, "captions_per_image": 2}
    again = vb.evaluate(scores=scores, rerank={"i2t": systems["B"]}, rerank_depth=M, **same)
    assert again["R@1", "i2t"].value == vb.evaluate(scores=systems["B"], **same)["R@1", "i2t"].value


REFUSED: dict[str, dict[str, Any]] = {
    "weights alone": {"weights": "1"},
    "too few weights": {"fuse": "B.npz", "weights": "1"},
    "a weight of 0": {"fuse": "B.npz", "weights": "1,0"},
    "words": {"fuse": "B.npz", "weights": "much,little"},
    "no file": {"fuse": "C.npz"},
    "other items": {"fuse": [np.ones((4, 8))]},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, systems: dict[str, Any], monkeypatch: pytest.MonkeyPatch, refuses: Refuses):
    monkeypatch.chdir(systems["folder"])
    refuses(VsebenchError, vb.evaluate, "A.npz", metrics="R@1", **REFUSED[case])


def test_systems_of_each_direction(systems: dict[str, Any]):
    given: dict[str, Any] = {"captions_per_image": 2, "metrics": "R@1,MedR", "ci": 0, "trust": True}
    each = {"i2t": systems["A"], "t2i": systems["B"]}
    found = vb.evaluate(scores=each, fuse={"i2t": systems["B"], "t2i": systems["A"]}, weights="3,1", **given)
    for direction, total in (("i2t", 3 * systems["A"] + systems["B"]), ("t2i", 3 * systems["B"] + systems["A"])):
        one = vb.evaluate(scores=total, **given)
        for name in ("R@1", "MedR"):
            assert found[name, direction].value == one[name, direction].value
    one_sided = vb.evaluate(scores=each, fuse=[systems["B"]], **given)
    total = vb.evaluate(scores=systems["A"] + systems["B"], **given)
    assert one_sided["MedR", "i2t"].value == total["MedR", "i2t"].value


def test_a_system_in_another_order_is_warned_of(rng: np.random.Generator) -> None:
    content, order, own = rng.standard_normal((120, 16)), rng.permutation(120), np.repeat(np.arange(120), 5)
    first, second = ([x + 0.9 * rng.standard_normal(x.shape) for x in (content, content[own])] for _ in range(2))
    moved = second[0][order], second[1].reshape(120, 5, 16)[order].reshape(600, 16)
    scores, right, wrong = (images @ texts.T for images, texts in (first, second, moved))
    assert not vb.evaluate(scores=scores, fuse=[right], metrics="R@1", ci=0).warnings
    (warning,) = vb.evaluate(scores=scores, fuse=[wrong], metrics="R@1", ci=0).warnings
    assert warning.startswith("system 2: apart from relevant items") and "in another order" in warning


def test_scores_of_one_direction_are_fused(systems: dict[str, Any]) -> None:
    one, other = systems["A"], systems["B"]
    of: dict[str, Any] = {"captions_per_image": 2, "metrics": "recall", "ci": 0, "direction": "i2t"}
    right = vb.evaluate(scores=one + other, **of)
    for scores, fused in ((one, other), ({"i2t": one}, other), (one, {"i2t": other}), ({"i2t": one}, {"i2t": other})):
        assert_same(vb.evaluate(scores=scores, fuse=[fused], **of), right)


@pytest.mark.parametrize("given", ["fuse", "scores"])
def test_a_direction_without_scores_is_named_and_the_fix_measures_the_other(
    systems: dict[str, Any], given: str, refuses: Refuses
) -> None:
    of: dict[str, Any] = {"scores": systems["A"], "captions_per_image": 2, "metrics": "R@1", "ci": 0}
    of |= {"fuse": {"i2t": systems["B"]}} if given == "fuse" else {"scores": {"i2t": systems["A"]}, "direction": "t2i"}
    refuses(BadInput, vb.evaluate, **of)
    assert len(vb.evaluate(**of | {"direction": "i2t"}).results) == 1
