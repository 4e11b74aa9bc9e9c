"""Graded metrics of ``vsebench.evaluate``: equal values from vectors, scores and lists; notes, warnings and errors."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from typer.testing import CliRunner

import vsebench
from tests.messages import Pinned
from vsebench.cli import app
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.graded.engine import run
from vsebench.rank.scorers import Matrix
from vsebench.relevance import load_gains
from vsebench.sets.captions import with_captions
from vsebench.types import Split

WORDS = ["a", "man", "dog", "rides", "red", "bike", "on", "the", "street", "two", "children", "play", "ball", "water"]


def world(images: int = 12, seed: int = 3) -> tuple[Split, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A split with captions of random words, and random vectors that do not depend on them."""
    rng = np.random.default_rng(seed)
    captions = tuple(" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(5 * images))
    split = Split(
        "custom", np.arange(images), np.arange(5 * images), np.repeat(np.arange(images), 5), captions,
        np.arange(images) * 3 // images,
    )  # fmt: skip
    return split, unit(rng.standard_normal((images, 16))), unit(rng.standard_normal((5 * images, 16)))


def unit(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Unit rows of float32, as float64: inner product and cosine are equal."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32).astype(np.float64)


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


def test_vectors_scores_and_lists_give_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split, images, captions = world()
    monkeypatch.setattr("vsebench.sets.align.splits.load_split", lambda name: split)
    captions_file = tmp_path / "captions.txt"
    captions_file.write_text("\n".join(split.captions or ()) + "\n")
    scores = (images @ captions.T).astype(np.float64)
    np.save(tmp_path / "s.npy", scores)
    lists = {
        "i2t": {str(q): np.argsort(-scores[q]).tolist() for q in range(12)},
        "t2i": {str(q): np.argsort(-scores[:, q]).tolist() for q in range(60)},
    }
    (tmp_path / "run.json").write_text(json.dumps(lists))
    metrics = "graded,cider:NCS[gt=out]@3,cider:CS[tau=a,captions=all]@7,cider:SR[m=2,unit=image]@5"
    options: dict[str, Any] = {"metrics": metrics, "captions": captions_file, "ci": 0}
    a = vsebench.evaluate(images.astype(np.float32), captions.astype(np.float32), split="custom", **options)
    b = vsebench.evaluate(scores=tmp_path / "s.npy", split="custom", **options)
    c = vsebench.evaluate(run=[tmp_path / "run.json"], split="coco-5k", **options)
    assert set(values(a)) == set(values(b)) == set(values(c))
    assert len(values(a)) > 30
    for key, value in values(a).items():
        assert values(b)[key] == pytest.approx(value, abs=1e-12), key
        assert values(c)[key] == pytest.approx(value, abs=1e-12), key


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


def test_short_lists_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    split, images, captions = world()
    monkeypatch.setattr("vsebench.sets.align.splits.load_split", lambda name: split)
    lists = {"i2t": {str(q): np.argsort(-(images @ captions.T)[q]).tolist()[:4] for q in range(12)}}
    (tmp_path / "run.json").write_text(json.dumps(lists))
    options: dict[str, Any] = {"metrics": "cider:NCS@3,cider:NCS@5", "direction": "i2t", "split": "coco-5k"}
    with pytest.raises(BadInput) as caught:
        vsebench.evaluate(run=[tmp_path / "run.json"], **options)
    pinned(caught.value)
    with pytest.raises(BadInput) as caught:
        vsebench.evaluate(run=[tmp_path / "run.json"], short_lists="miss", **options)
    pinned(caught.value)


def test_captions_have_the_row_order_of_the_vectors_and_are_in_the_signature(tmp_path: Path) -> None:
    split, images, captions = world()
    order = np.random.default_rng(5).permutation(60)
    lines = np.array(split.captions)
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


def test_all_leaves_graded_metrics_out_with_a_note_when_captions_are_not_known(pinned: Pinned) -> None:
    split, images, captions = world()
    without_captions = Split("custom", split.image_ids, split.caption_ids, split.image_of)
    report = vsebench.evaluate(images, captions, split=without_captions, metrics="all")
    assert not any(str(r.metric).startswith("cider:") for r in report.results)
    assert any("graded relevance left out: the captions of a custom split are not known" in n for n in report.notes)
    with pytest.raises(UsageError) as caught:
        vsebench.evaluate(images, captions, split=without_captions, metrics="ncs")
    pinned(caught.value)


def test_all_has_every_graded_metric_when_captions_are_known() -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="all")
    names = {str(r.metric) for r in report.results}
    assert {"cider:CS@100", "cider:NCS@10", "cider:Nsum", "cider:NsumN", "cider:SR@5", "cider:Kendall"} <= names
    assert "cider:MLD@10" not in names  # CIDEr-D is no distance
    assert any("k is larger than a gallery of 12" in w for w in report.warnings)
    assert "cider:tokens=ptb" in report.signature
    assert report["cider:NCS@1", "t2i"].interval is not None
    assert report["cider:Nsum"].value == pytest.approx(
        sum(report[f"cider:NCS@{k}", d].value for k in (1, 5, 10) for d in ("i2t", "t2i"))
    )


def test_one_direction_leaves_sums_out(pinned: Pinned) -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="ncs", direction="i2t")
    assert [str(r.metric) for r in report.results] == ["cider:NCS@1", "cider:NCS@5", "cider:NCS@10"]
    for name in ("cider:Nsum", "Nsum", "R@1,Nsum"):
        with pytest.raises(UsageError) as caught:
            vsebench.evaluate(images, captions, split=split, metrics=name, direction="t2i")
        pinned(caught.value)
    for name in ("ncs", "all"):
        report = vsebench.evaluate(images, captions, split=split, metrics=name, direction="t2i", ci=0)
        assert ("cider:NCS@1", "t2i") in {(str(r.metric), r.direction) for r in report.results}, "suites leave sums out"


def test_folds_are_averaged() -> None:
    split, images, captions = world()
    report = vsebench.evaluate(
        images, captions, split=split, metrics="cider:NCS[on=folds]@2,cider:NCS[on=block]@2", ci=0
    )
    means = []
    for f in range(3):
        of_image, of_caption = np.flatnonzero(split.fold == f), np.flatnonzero(split.caption_fold == f)
        folded = run(
            Matrix((images @ captions.T)[np.ix_(of_image, of_caption)]),
            Split("custom", of_image, of_caption, np.repeat(np.arange(len(of_image)), 5)),
            [vsebench.parse("cider:NCS@2")],
            {"cider": _Part(load_gains("cider", split), of_image, of_caption)},  # type: ignore[dict-item]
            ("i2t",),
        )
        means.append(next(iter(folded.values())).mean)
    assert report["cider:NCS[on=folds]@2", "i2t"].value == pytest.approx(np.mean(means), abs=1e-9)
    assert report["cider:NCS[on=block]@2", "i2t"].value == pytest.approx(means[0], abs=1e-9)
    assert report["cider:NCS[on=block]@2", "i2t"].n == 4


class _Part:
    """The gains of some images and captions."""

    name, settings, lowest, rows_affordable, no_query = "cider", {}, None, True, {}

    def __init__(self, gains: Any, images: Any, captions: Any) -> None:
        self.table = np.concatenate([gains.rows("i2t", 0, gains.shape[0])])[np.ix_(images, captions)]
        self.shape = self.table.shape

    def rows(self, direction: str, start: int, stop: int) -> Any:
        return np.ascontiguousarray((self.table if direction == "i2t" else self.table.T)[start:stop])

    def at(self, direction: str, queries: Any, items: Any) -> Any:
        table = self.table if direction == "i2t" else self.table.T
        return np.ascontiguousarray(table[queries[:, None], items])


def test_the_command_takes_captions_and_gains(tmp_path: Path, pinned: Pinned) -> None:
    split, images, captions = world()
    np.savez(tmp_path / "e.npz", image_embeddings=images, text_embeddings=captions)
    (tmp_path / "c.txt").write_text("\n".join(split.captions or ()))
    command = ["eval", str(tmp_path / "e.npz"), "--captions", str(tmp_path / "c.txt"), "--metrics", "cs,ncs", "--json"]
    done = CliRunner().invoke(app, [*command, "--no-per-query"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert {r["metric"] for r in document["results"]} >= {"cider:NCS@10", "cider:NsumN"}
    assert "per_query" not in document
    (tmp_path / "c.txt").write_text("one\ntwo\n")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 3
    pinned(done.stderr)


def test_captions_are_matched_by_id_and_missing_ones_are_named(tmp_path: Path, pinned: Pinned) -> None:
    rows = [{"image_id": i // 5, "caption_id": 100 + i, "caption": f"text {i}"} for i in range(10)]
    path = tmp_path / "captions.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in reversed(rows)))
    split = Split("custom", np.arange(2), np.arange(100, 110), np.repeat([0, 1], 5))
    assert with_captions(split, path).captions == tuple(f"text {i}" for i in range(10))
    path.write_text("\n".join(json.dumps(r) for r in rows[:-1]))
    with pytest.raises(BadInput) as caught:
        with_captions(split, path)
    pinned(caught.value)


def test_captions_that_contradict_the_embeddings_are_refused(tmp_path: Path, pinned: Pinned) -> None:
    split = Split("custom", np.arange(2), np.arange(10), np.repeat([0, 1], 5))
    rows = [{"image_id": 7 + i // 5, "caption_id": 100 + i, "caption": f"text {i}"} for i in range(10)]
    path = tmp_path / "captions.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in rows))
    assert with_captions(split, path).captions == tuple(f"text {i}" for i in range(10))
    path.write_text("\n".join(json.dumps(rows[i]) for i in (5, 1, 2, 3, 4, 0, 6, 7, 8, 9)))
    with pytest.raises(BadInput) as caught:
        with_captions(split, path)
    pinned(caught.value)
    # Under the same ids, too.
    named = dataclasses.replace(split, caption_ids=np.arange(100, 110))
    for changed, wrong in ((rows, False), ([*rows[:-1], {**rows[-1], "image_id": 7}], True)):
        path.write_text("\n".join(json.dumps(r) for r in changed))
        if wrong:
            with pytest.raises(BadInput) as caught:
                with_captions(named, path)
            pinned(caught.value)
        else:
            assert with_captions(named, path).captions == tuple(f"text {i}" for i in range(10))


def test_the_table_shows_options_and_empty_gains_are_refused(tmp_path: Path, pinned: Pinned) -> None:
    split, images, captions = world()
    np.savez(tmp_path / "e.npz", image_embeddings=images, text_embeddings=captions)
    (tmp_path / "c.txt").write_text("\n".join(split.captions or ()))
    command = ["eval", str(tmp_path / "e.npz"), "--captions", str(tmp_path / "c.txt"), "--metrics", "CS[tau=a]@10"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "CS[tau=a]@10" in done.stdout
    done = CliRunner().invoke(app, [*command, "--gains", ","])
    assert done.exit_code == 2
    pinned(done.stderr)


def test_a_part_of_coco_finds_its_captions(coco: Split) -> None:
    part = Split("custom", coco.image_ids[:3], coco.caption_ids[:15], np.repeat(np.arange(3), 5))
    try:
        found = with_captions(part).captions
    except (MissingPackage, UsageError):
        pytest.skip("pycocoevalcap is not installed (pip install 'vsebench[text]')")
    assert found is not None and len(found) == 15 and all(t.strip() for t in found)


def test_the_rules_of_ranks_are_no_part_of_the_signature_of_graded_metrics() -> None:
    split, images, captions = world()

    def signature(metrics: str, ties: str) -> str:
        return vsebench.evaluate(images, captions, split=split, metrics=metrics, ties=ties).signature

    assert signature("ncs", "mean-rank") == signature("ncs", "index")
    assert signature("ncs,R@1", "mean-rank") != signature("ncs,R@1", "index")
    assert signature("ncs", "expected") != signature("ncs", "index")


def test_more_pseudo_positives_than_the_gallery_give_a_warning() -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="SR[m=40]@3,SR[m=70]@3")
    assert [w for w in report.warnings if "larger" in w] == [
        "cider:SR[m=70]@3 i2t: k, or the number of pseudo-positives, is larger than a gallery of 60; all of the "
        "gallery counts",
        "cider:SR[m=40]@3 t2i, cider:SR[m=70]@3 t2i: k, or the number of pseudo-positives, is larger than a "
        "gallery of 12; all of the gallery counts",
    ]


def test_captions_that_no_metric_uses_give_a_note(tmp_path: Path, pinned: Pinned) -> None:
    split, images, captions = world()
    path = tmp_path / "c.txt"
    path.write_text("a dog\n" * 60)
    report = vsebench.evaluate(images, captions, split=split, metrics="R@1", captions=path)
    assert "captions: no metric uses them" in report.notes
    with pytest.raises(BadInput) as caught:
        vsebench.evaluate(images, captions, split=split, metrics="R@1", captions=tmp_path / "d.txt")
    pinned(caught.value)
