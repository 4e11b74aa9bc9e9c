"""Graded metrics of ``vsebench.evaluate``: equal values from vectors, scores and lists; notes, warnings and errors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import vsebench
from tests import worlds
from tests.commands import cli, document, printed
from tests.graded_worlds import FakeGains, run
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.rank.scorers import Matrix, System
from vsebench.relevance import load_gains
from vsebench.sets.match import with_captions
from vsebench.types import Side, TestSet


def unit(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Unit rows of float32, as float64: inner product and cosine are equal."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32).astype(np.float64)


def world(images: int = 12, seed: int = 3) -> tuple[TestSet, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A split in folds, with captions, and random unit vectors that do not depend on them."""
    split, rng = worlds.world(images, 5, seed=seed).split, np.random.default_rng(seed)
    sides = (unit(rng.standard_normal((n, 16))) for n in (images, 5 * images))
    return dataclasses.replace(split, folds=(fold := np.arange(images) * 3 // images, fold[split.image_of])), *sides


def values(report: vsebench.Report) -> dict[tuple[str, str | None], float]:
    return {(str(r.metric), r.direction): r.value for r in report.results}


def test_names_without_a_view_take_the_first_gains(tmp_path: Path) -> None:
    split, images, captions = world()
    gains = np.random.default_rng(0).random((12, 60)).astype(np.float32)
    np.save(tmp_path / "g.npy", gains)
    options = {"gains": (str(tmp_path / "g.npy"), "cider"), "metrics": "NCS@3,cider:NCS@3"}
    report = vsebench.evaluate(images, captions, split=split, **options)
    assert [str(r.metric) for r in report.results] == ["matrix:NCS@3"] * 2 + ["cider:NCS@3"] * 2
    scores = images @ captions.T
    top = np.argsort(-scores, axis=1)[:, :3]
    want = np.take_along_axis(gains, top, 1).sum(1) / np.sort(gains, axis=1)[:, -3:].sum(1)
    assert report["matrix:NCS@3", "i2t"].per_query == pytest.approx(want, abs=1e-6)


def test_cs_of_one_caption_an_image_is_that_of_the_authors_code(tmp_path: Path) -> None:
    """``doTau`` of the ladder loss: every fifth caption, its similarity to every fifth caption, tau-b of the K best."""
    split, images, captions = world()
    vectors = unit(np.random.default_rng(4).standard_normal((60, 8))).astype(np.float32)
    np.save(tmp_path / "vectors.npy", vectors)
    scores, sts = images @ captions[::5].T, vectors[::5].astype(np.float64) @ vectors[::5].T.astype(np.float64)
    options = {"split": split, "metrics": "CS@6", "ci": 0}
    one, every = (
        vsebench.evaluate(images, captions, gains=f"sentence:{tmp_path / 'vectors.npy'}{agg}", **options)
        for agg in (":agg=first", "")
    )
    for direction, s in (("i2t", scores), ("t2i", scores.T)):
        best = np.argsort(-s, axis=1)[:, :6]
        taus = [scipy.stats.kendalltau(s[q, items], sts[q, items]).statistic for q, items in enumerate(best)]
        assert one["CS@6", direction].value == pytest.approx(np.mean(taus), abs=1e-9)
        assert abs(every["CS@6", direction].value - np.mean(taus)) > 0.01


def test_captions_have_the_row_order_of_the_vectors_and_are_in_the_signature(tmp_path: Path) -> None:
    split, images, captions = world()
    order = np.random.default_rng(5).permutation(60)
    lines = np.array(split.columns.texts)
    found = []
    for name, rows in (("a", np.arange(60)), ("b", order)):
        np.savez(
            tmp_path / f"{name}.npz", image_embeddings=images, text_embeddings=captions[rows], image_ids=np.arange(12),
            text_ids=rows, image_of_text=rows // 5,
        )  # fmt: skip
        (tmp_path / f"{name}.txt").write_text("\n".join(lines[rows]))
        found.append(
            vsebench.evaluate(tmp_path / f"{name}.npz", metrics="cider:NCS@5", captions=tmp_path / f"{name}.txt", ci=0)
        )
    assert values(found[0]) == values(found[1])
    assert found[0].signature == found[1].signature
    (tmp_path / "a.txt").write_text("\n".join(lines[order]))
    other = vsebench.evaluate(tmp_path / "a.npz", metrics="cider:NCS@5", captions=tmp_path / "a.txt", ci=0)
    assert other.signature != found[0].signature


def test_all_has_graded_metrics_when_captions_are_known_else_a_note(refuses: Refuses) -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="all")
    names = {str(r.metric) for r in report.results}
    assert {"cider:CS@100", "cider:NCS@10", "cider:Nsum", "cider:NsumN", "cider:SR@5", "cider:Kendall"} <= names
    assert "cider:MLD@10" not in names  # CIDEr-D is no distance
    assert any("larger than the gallery of 12" in w for w in report.warnings)
    assert "cider:tokens=ptb" in report.signature
    assert report["cider:NCS@1", "t2i"].interval is not None
    parts = [report[f"cider:NCS@{k}", d].value for k in (1, 5, 10) for d in ("i2t", "t2i")]
    assert report["cider:Nsum"].value == pytest.approx(sum(parts))
    without_captions = TestSet.captioned("custom", split.rows.ids, split.columns.ids, split.image_of)
    report = vsebench.evaluate(images, captions, split=without_captions, metrics="all")
    assert not any(str(r.metric).startswith("cider:") for r in report.results)
    assert any("graded relevance left out: the captions of a custom test set are unknown" in n for n in report.notes)
    refuses(UsageError, vsebench.evaluate, images, captions, split=without_captions, metrics="ncs")


def test_one_direction_leaves_sums_out(refuses: Refuses) -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="ncs", direction="i2t")
    assert [str(r.metric) for r in report.results] == ["cider:NCS@1", "cider:NCS@5", "cider:NCS@10"]
    for name in ("cider:Nsum", "Nsum", "R@1,Nsum"):
        refuses(UsageError, vsebench.evaluate, images, captions, split=split, metrics=name, direction="t2i")
    for name in ("ncs", "all"):
        report = vsebench.evaluate(images, captions, split=split, metrics=name, direction="t2i", ci=0)
        assert ("cider:NCS@1", "t2i") in {(str(r.metric), r.direction) for r in report.results}, "suites leave sums out"


def test_folds_are_averaged() -> None:
    split, images, captions = world()
    names = ("cider:NCS[on=folds]@2", "cider:NCS[on=block]@2")
    report = vsebench.evaluate(images, captions, split=split, metrics=names, ci=0)
    gains, means = load_gains("cider", split), []
    for f in range(3):
        of_image, of_caption = (np.flatnonzero(fold == f) for fold in split.folds)
        part = np.ix_(of_image, of_caption)
        folded = run(
            System(Matrix((images @ captions.T)[part])),
            TestSet.captioned("custom", of_image, of_caption, np.repeat(np.arange(len(of_image)), 5)),
            [vsebench.parse("cider:NCS@2")],
            {"cider": FakeGains(gains.rows(0, 12)[part])},
            (0,),
        )
        means.append(next(iter(folded.values())).mean)
    assert report[names[0], "i2t"].value == pytest.approx(np.mean(means), abs=1e-9)
    assert (report[names[1], "i2t"].value, report[names[1], "i2t"].n) == (pytest.approx(means[0], abs=1e-9), 4)


def test_the_command_takes_captions_and_gains(tmp_path: Path, pinned: Pinned) -> None:
    split, images, captions = world()
    np.savez(tmp_path / "e.npz", image_embeddings=images, text_embeddings=captions)
    (tmp_path / "c.txt").write_text("\n".join(split.columns.texts or ()))
    command = ("eval", tmp_path / "e.npz", "--captions", tmp_path / "c.txt", "--metrics")
    found = document(*command, "cs,ncs")
    assert {r["metric"] for r in found["results"]} >= {"cider:NCS@10", "cider:NsumN"}
    assert "CS[tau=a]@10" in printed(*command, "CS[tau=a]@10")
    pinned(cli(*command, "CS[tau=a]@10", "--gains", ",", code=2).err)
    (tmp_path / "c.txt").write_text("one\ntwo\n")
    pinned(cli(*command, "cs,ncs", code=3).err)


def lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_captions_are_matched_by_id_and_missing_ones_are_named(tmp_path: Path, refuses: Refuses) -> None:
    rows = [{"image_id": i // 5, "caption_id": 100 + i, "caption": f"text {i}"} for i in range(10)]
    split = TestSet.captioned("custom", np.arange(2), np.arange(100, 110), np.repeat([0, 1], 5))
    path = lines(tmp_path / "captions.jsonl", reversed(rows))
    assert with_captions(split, path).columns.texts == tuple(f"text {i}" for i in range(10))
    refuses(BadInput, with_captions, split, lines(path, rows[:-1]))


def test_captions_that_contradict_the_embeddings_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    sides: Any = (Side(name, np.arange(n), numbered=True) for name, n in (("image", 2), ("caption", 10)))
    split = TestSet("custom", *sides, np.repeat([0, 1], 5))
    named = dataclasses.replace(split, columns=Side("caption", np.arange(100, 110)))
    rows = [{"image_id": 7 + i // 5, "caption_id": 100 + i, "caption": f"text {i}"} for i in range(10)]
    path = tmp_path / "captions.jsonl"
    for of, wrong in ((split, [rows[i] for i in (5, 1, 2, 3, 4, 0, 6, 7, 8, 9)]),
                      (named, [*rows[:-1], {**rows[-1], "image_id": 7}])):  # fmt: skip
        assert with_captions(of, lines(path, rows)).columns.texts == tuple(f"text {i}" for i in range(10))
        refuses(BadInput, with_captions, of, lines(path, wrong))


def test_captions_by_image_in_another_order_of_the_images_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    """As many captions of every image, so that the ids of images alone tell."""
    images: Any = [f"im{i}" for i in range(12)]
    split = TestSet("custom", Side("image", images), Side("caption", np.arange(24), numbered=True), np.arange(24) // 2)
    rows = [{"image_id": f"im{i // 2}.jpg", "caption": f"text {i}"} for i in range(24)]
    found = with_captions(split, lines(tmp_path / "captions.jsonl", rows)).columns.texts
    assert found == tuple(f"text {i}" for i in range(24))
    rows.sort(key=lambda row: str(row["image_id"]))
    refuses(BadInput, with_captions, split, lines(tmp_path / "captions.jsonl", rows))


def test_a_part_of_coco_finds_its_captions(coco: TestSet) -> None:
    part = TestSet.captioned("custom", coco.rows.ids[:3], coco.columns.ids[:15], np.repeat(np.arange(3), 5))
    try:
        found = with_captions(part).columns.texts
    except (MissingPackage, UsageError):
        pytest.skip("pycocoevalcap is not installed (pip install 'vsebench[text]')")
    assert found is not None and len(found) == 15 and all(t.strip() for t in found)


def test_the_rules_of_ranks_are_no_part_of_the_signature_of_graded_metrics() -> None:
    split, images, captions = world()

    def signature(metrics: str, ties: str) -> str:
        return vsebench.evaluate(images, captions, split=split, metrics=metrics, ties=ties).signature

    assert signature("ncs", "optimistic") == signature("ncs", "index")
    assert signature("ncs,R@1", "optimistic") != signature("ncs,R@1", "index")
    assert signature("ncs", "expected") != signature("ncs", "index")


def test_more_pseudo_positives_than_the_gallery_give_a_warning() -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="SR[m=40]@3,SR[m=70]@3")
    assert [w for w in report.warnings if "larger" in w] == [
        "cider:SR[m=70]@3 i2t: k, or the number of pseudo-positives, is larger than the gallery of 60; the "
        "complete gallery is used",
        "cider:SR[m=40]@3 t2i, cider:SR[m=70]@3 t2i: k, or the number of pseudo-positives, is larger than the "
        "gallery of 12; the complete gallery is used",
    ]


def test_captions_that_no_metric_uses_give_a_note(tmp_path: Path, refuses: Refuses) -> None:
    split, images, captions = world()
    path = tmp_path / "c.txt"
    path.write_text("a dog\n" * 60)
    report = vsebench.evaluate(images, captions, split=split, metrics="R@1", captions=path)
    assert "captions: no metric uses them" in report.notes
    refuses(BadInput, vsebench.evaluate, images, captions, split=split, metrics="R@1", captions=tmp_path / "d.txt")


# Graded metrics of files: the row order of files without ids, and the ties of retrieved lists.


def test_lists_without_scores_have_no_ties() -> None:
    """The doors have the values of lists with scores; without scores a note says which metrics read no ties."""
    split, images, captions = world()
    scores = np.round(images @ captions.T, 1)  # every item has many ties
    metrics = "CS@7,CS[captions=all]@50,CS[captions=all,gt=out,tau=c]@9,CS[on=folds]@3,Kendall[tau=b],nDCG@10"
    run: dict[str, dict[int, dict[int, float]]] = {}
    for name, table in (("i2t", scores), ("t2i", scores.T)):
        order = np.argsort(-table, axis=1, kind="stable")
        run[name] = {q: {int(x): float(table[q, x]) for x in row} for q, row in enumerate(order)}
    lists = {name: {q: list(row) for q, row in rows.items()} for name, rows in run.items()}
    same: dict[str, Any] = {"split": split, "metrics": metrics, "ci": 0}
    want = values(vsebench.evaluate(scores=scores, **same))
    with_scores, without = (vsebench.evaluate(run=given, **same) for given in (run, lists))
    assert values(with_scores) == pytest.approx(want, abs=1e-12) and len(want) == 12
    differ = {m for (m, _), v in values(without).items() if abs(v - want[m, _]) > 1e-6}
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
    texts = np.array(split.columns.texts)
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
