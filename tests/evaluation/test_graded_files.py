"""Graded metrics of files: the row order of files without ids, and the ties of retrieved lists."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vsebench
from tests.evaluation.test_graded_eval import values, world


def test_equal_scores_of_a_trec_run_are_ties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with scores gives the tau of the scores; lists without scores give a note that their ties are not known."""
    split, images, captions = world()
    monkeypatch.setattr("vsebench.sets.align.splits.load_split", lambda name: split)
    scores = np.round(images @ captions.T, 1)  # every item has many ties
    paths: dict[str, list[Path]] = {"trec": [], "json": []}
    for name, table in (("i2t", scores), ("t2i", scores.T)):
        order = np.argsort(-table, axis=1, kind="stable")
        lines = [
            f"{q} Q0 {x} {r} {table[q, x]:.1f} tag\n" for q, row in enumerate(order.tolist()) for r, x in enumerate(row)
        ]
        paths["trec"].append(tmp_path / f"{name}.run")
        paths["trec"][-1].write_text("".join(lines))
        paths["json"].append(tmp_path / f"{name}.json")
        paths["json"][-1].write_text(json.dumps({name: {str(q): row for q, row in enumerate(order.tolist())}}))
    metrics = "CS@7,CS[captions=all]@50,CS[captions=all,gt=out,tau=c]@9,CS[on=folds]@3,Kendall[tau=b],nDCG@10"
    np.save(tmp_path / "s.npy", scores)
    want = vsebench.evaluate(scores=tmp_path / "s.npy", split="coco-5k", metrics=metrics, ci=0)
    with_scores, without = (
        vsebench.evaluate(
            run=dict(zip(("i2t", "t2i"), paths[kind], strict=True)), split="coco-5k", metrics=metrics, ci=0
        )
        for kind in ("trec", "json")
    )
    assert values(with_scores) == pytest.approx(values(want), abs=1e-12) and len(values(want)) == 12
    differ = {m for (m, _), v in values(without).items() if abs(v - values(want)[m, _]) > 1e-6}
    assert differ and all("CS" in m or "Kendall" in m for m in differ)
    no_scores = "the lists of i2t and t2i have no scores, so no two items are tied"
    assert any(no_scores in note and "nDCG" not in note for note in without.notes)
    assert not any("no scores" in note for note in with_scores.notes)


@pytest.mark.parametrize(
    "gains", ["{}", "{}:negative=zero", "coarse:{}:above=0.4:cider", "coarse:cider:above=0.2:{}", "sentence:{}"]
)
def test_files_without_ids_follow_the_rows_of_the_vectors(gains: str, tmp_path: Path) -> None:
    """Users do not see the order of a custom split: other files have the row order of the vectors, not of ids."""
    split, images, captions = world()
    rng = np.random.default_rng(6)
    texts = np.array(split.captions)
    table = rng.random((60, 7)) if gains.startswith("sentence") else rng.random((12, 60))
    found = []
    for name, image, caption in (("a", np.arange(12), np.arange(60)), ("b", rng.permutation(12), rng.permutation(60))):
        owner = np.argsort(image)[caption // 5]
        np.savez(
            tmp_path / f"{name}.npz", image_embeddings=images[image], text_embeddings=captions[caption],
            image_ids=image, text_ids=caption, image_index=owner,
        )  # fmt: skip
        np.save(tmp_path / f"{name}.npy", table[caption] if gains.startswith("sentence") else table[image][:, caption])
        (tmp_path / f"{name}.txt").write_text("\n".join(texts[caption]))
        report = vsebench.evaluate(
            tmp_path / f"{name}.npz", metrics="ncs", gains=[gains.format(tmp_path / f"{name}.npy")],
            captions=tmp_path / f"{name}.txt", ci=0,
        )  # fmt: skip
        found.append(values(report))
    assert found[0] == pytest.approx(found[1], abs=1e-12) and len(found[0]) > 6
