"""Rows without ids beside rows with ids in any order: they are in the order of the rows that are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from vsebench.sets import placing

N, M = 30, 60
OWNER = np.arange(M) // 2
WORDS = ["dog", "cat", "red", "runs", "grass", "tree", "old", "two", "sits", "blue"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Vectors, ids that are not ascending, what is given beside them without ids, and files of these."""
    folder, rng = tmp_path_factory.mktemp("placing"), np.random.default_rng(5)
    images = rng.standard_normal((N, 8))
    texts = images[OWNER] + 1.3 * rng.standard_normal((M, 8))
    images, texts = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, texts))
    names = np.array([f"i{k:02}" for k in rng.permutation(N)])
    captions = [" ".join(rng.choice(WORDS, 6)) for _ in range(M)]
    (folder / "captions.txt").write_text("\n".join(captions) + "\n")
    scores = images @ texts.T + 0.3 * rng.standard_normal((N, M))
    np.save(folder / "scores.npy", scores)
    np.savez(folder / "B.npz", image_embeddings=images + 0.2, text_embeddings=texts + 0.1)
    np.save(folder / "sentence.npy", texts.astype(np.float32))
    return {
        "folder": folder, "images": images.astype(np.float32), "texts": texts.astype(np.float32), "scores": scores,
        "captions": captions, "labels": (rng.integers(0, 4, N), rng.integers(0, 4, M)),
        "judged": (rng.random((N, M)) < 0.1).astype(np.float32), "gains": rng.random((N, M)).astype(np.float32),
        "ids": {"image_ids": names, "text_ids": [f"{names[k]}#{n % 2}" for n, k in enumerate(OWNER)]},
    }  # fmt: skip


BESIDE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "fused array": lambda w: {"fuse": [w["scores"]], "metrics": "recall,MRR"},
    "fused file of scores": lambda w: {"fuse": w["folder"] / "scores.npy", "metrics": "recall,MRR"},
    "fused file of vectors": lambda w: {"fuse": w["folder"] / "B.npz", "metrics": "recall,MRR"},
    "fused by direction": lambda w: {"fuse": {"i2t": w["scores"], "t2i": -w["scores"]}, "metrics": "recall,MRR"},
    "second stage": lambda w: {
        "rerank": {"i2t": w["scores"], "t2i": w["folder"] / "scores.npy"}, "rerank_depth": 9, "metrics": "MRR",
    },
    "matrix of judgements": lambda w: {"judgements": {"j": w["judged"]}, "metrics": "j:MRR,j:mAP"},
    "labels": lambda w: {"judgements": {"j": {"labels": w["labels"]}}, "metrics": "j:mAP"},
    "gains": lambda w: {"gains": w["gains"], "metrics": "matrix:NCS@3"},
    "vectors of captions": lambda w: {"gains": f"sentence:{w['folder'] / 'sentence.npy'}", "metrics": "sentence:CS@5"},
    "captions": lambda w: {"captions": w["captions"], "metrics": "cider:NCS@3"},
    "file of captions": lambda w: {"captions": w["folder"] / "captions.txt", "metrics": "cider:NCS@3"},
}  # fmt: skip


def values(report: vb.Report) -> list[tuple[str, Any, float]]:
    return [(str(r.metric), r.direction, round(r.value, 12)) for r in report.results]


@pytest.mark.parametrize("what", BESIDE)
def test_ids_of_the_base_do_not_move_what_has_none(what: str, world: dict[str, Any]):
    """Without ids the order of the rows is the only one there is; with ids the values are the same."""
    given = {"ci": 0, "trust": True, **BESIDE[what](world)}
    plain = vb.evaluate(world["images"], world["texts"], captions_per_image=2, **given)
    named = vb.evaluate(world["images"], world["texts"], **world["ids"], **given)
    assert values(named) == values(plain)
    for report in (plain, named):
        assert any("ids: rows are taken to be in the order of those that are evaluated" in n for n in report.notes)


def test_a_system_fused_with_itself_has_its_own_values(world: dict[str, Any]):
    given = {"ci": 0, "metrics": "recall,MRR,mAP", **world["ids"]}
    own = world["images"].astype(float) @ world["texts"].T.astype(float)
    for fuse in ([own], {"i2t": own, "t2i": own}):
        fused = vb.evaluate(world["images"], world["texts"], fuse=fuse, **given)
        assert values(fused) == values(vb.evaluate(world["images"], world["texts"], **given))


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_scores_of_each_direction_have_their_own_order(direction: str, world: dict[str, Any], tmp_path: Path):
    """One file a direction, in different orders: what is given by direction has the order of that file."""
    rng, scores, ids = np.random.default_rng(1), world["scores"], world["ids"]
    files, beside = {}, {}
    second, bank = rng.standard_normal((N, M)), rng.standard_normal((N if direction == "t2i" else 5, M))
    bank = bank[:, :5] if direction == "t2i" else bank
    for d in ("i2t", "t2i"):
        rows, columns = rng.permutation(N), rng.permutation(M)
        files[d] = tmp_path / f"{d}.npz"
        np.savez(
            files[d], scores=scores[rows][:, columns], image_ids=np.array(ids["image_ids"])[rows],
            text_ids=np.array(ids["text_ids"])[columns],
        )  # fmt: skip
        beside[d] = second[rows][:, columns]
        if d == direction:
            np.save(tmp_path / "bank.npy", bank[rows] if d == "t2i" else bank[:, columns])
    np.save(tmp_path / "plain.npy", bank)
    same: dict[str, Any] = {"metrics": "MRR,mAP", "ci": 0, "trust": True, "direction": direction}
    plain: dict[str, Any] = {"scores": scores, "captions_per_image": 2, **same}
    for option, plain_option in (
        (
            {"rerank": {direction: beside[direction]}, "rerank_depth": 7},
            {"rerank": {direction: second}, "rerank_depth": 7},
        ),
        ({"fuse": beside}, {"fuse": [second]}),
        ({"normalise": f"csls:{tmp_path}/bank.npy:k=2"}, {"normalise": f"csls:{tmp_path}/plain.npy:k=2"}),
    ):
        found = vb.evaluate(scores=files, **same, **option)
        assert values(found) == values(vb.evaluate(**plain, **plain_option)), option
        assert any("rows differently" in note and "the order of i2t" in note for note in found.notes)


def test_a_test_set_with_an_order_of_its_own_keeps_it():
    split = vb.Split("mine", ["a", "b", "c"], np.arange(3), np.arange(3))
    placed = placing.with_places(split, (np.array([2, 0, 1]), None))
    assert placing.order(placed, "image") is None
    assert placing.order_note("G.npy", ["image", "caption"], placed) == (
        "G.npy: no image and text ids: rows are taken to be in the order of mine (that of the file it was built from); "
        "those that are evaluated have another order"
    )
