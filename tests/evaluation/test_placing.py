"""Rows without ids beside rows with ids in any order: they are in the order of the rows that are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests import worlds
from vsebench.sets import owners

N, M = 30, 60
OWNER = np.arange(M) // 2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Vectors, ids that are not ascending, what is given beside them without ids, and files of these."""
    folder, rng, model = tmp_path_factory.mktemp("placing"), np.random.default_rng(5), worlds.world(N, 2, 1.3, seed=5)
    names, captions = np.array([f"i{k:02}" for k in rng.permutation(N)]), list(model.split.columns.texts or ())
    (folder / "captions.txt").write_text("\n".join(captions) + "\n")
    scores = model.cosines + 0.3 * rng.standard_normal((N, M))
    np.save(folder / "scores.npy", scores)
    np.savez(folder / "B.npz", image_embeddings=model.images + 0.2, text_embeddings=model.texts + 0.1)
    np.save(folder / "sentence.npy", model.texts)
    return {
        "folder": folder, **model.vectors, "scores": scores, "captions": captions,
        "labels": (rng.integers(0, 4, N), rng.integers(0, 4, M)),
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
        assert any("ids: rows are assumed to be in the order of the evaluated items" in n for n in report.notes)


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_scores_of_each_direction_have_their_own_order(direction: str, world: dict[str, Any], tmp_path: Path):
    """One file a direction, in different orders: what has no ids has the order of the file that is measured."""
    rng, scores, ids = np.random.default_rng(1), world["scores"], world["ids"]
    files, beside, own = {}, {}, {}
    second, bank = rng.standard_normal((N, M)), rng.standard_normal((N if direction == "t2i" else 5, M))
    bank = bank[:, :5] if direction == "t2i" else bank
    for d in ("i2t", "t2i"):
        rows, columns = rng.permutation(N), rng.permutation(M)
        files[d] = tmp_path / f"{d}.npz"
        names = {"image_ids": np.array(ids["image_ids"])[rows], "text_ids": np.array(ids["text_ids"])[columns]}
        np.savez(files[d], scores=scores[rows][:, columns], **names)
        beside[d], own[d] = second[rows][:, columns], world["judged"][rows][:, columns]
        if d == direction:
            np.save(tmp_path / "bank.npy", bank[rows] if d == "t2i" else bank[:, columns])
    np.save(tmp_path / "plain.npy", bank)
    same: dict[str, Any] = {"metrics": "MRR,mAP", "ci": 0, "trust": True, "direction": direction}
    given: list[tuple[dict[str, Any], ...]] = [
        tuple({"rerank": {direction: x}, "rerank_depth": 7} for x in (beside[direction], second)),
        ({"fuse": beside}, {"fuse": [second]}),
        tuple({"judgements": {"j": x}, "metrics": "j:MRR"} for x in (own[direction], world["judged"])),
        tuple({"normalise": f"csls:{tmp_path}/{x}.npy:k=2"} for x in ("bank", "plain")),
    ]
    for option, plain_option in given:
        found = vb.evaluate(scores=files, **{**same, **option})
        assert values(found) == values(vb.evaluate(scores=scores, captions_per_image=2, **{**same, **plain_option}))
        assert found.results, option


def test_a_test_set_with_an_order_of_its_own_keeps_it():
    split = vb.TestSet.captioned("mine", ["a", "b", "c"], np.arange(3), np.arange(3))
    placed = owners.with_places(split, (np.array([2, 0, 1]), None))
    assert owners.order(placed, "image") is None
    assert owners.order_note("G.npy", ["image", "caption"], placed) == (
        "G.npy: no image and text ids: rows are assumed to be in the order of mine "
        "(the order of the file it was built from); the evaluated items have another order"
    )


def test_a_split_in_the_order_of_its_rows_is_kept():
    """What is kept by split, such as its judgements, is then read once."""
    split = vb.TestSet.captioned("custom", np.arange(N), np.arange(M), OWNER)
    assert owners.with_places(split, (None, np.arange(M))) is split
    moved = owners.with_places(split, (np.arange(N)[::-1], None))
    assert moved.rows.places is not None and moved.columns.places is None
    assert [side.places for side in owners.with_places(moved, (None, None)).sides] == [None, None]
