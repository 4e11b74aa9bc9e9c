"""What a user tries first: a data set of one's own, ids in Python, short names, reports as arguments."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import vsebench as vb
from tests.commands import document, invoke, refused
from tests.messages import Pinned, Refuses
from vsebench.cli import app
from vsebench.errors import BadInput, UsageError
from vsebench.types import Split

N = 60
IMAGES = [f"img{i:03d}" for i in range(N)]
TEXTS = [f"t{7 * i % (5 * N):04d}" for i in range(5 * N)]  # no order in them
OWNER = np.repeat(np.arange(N), 5)


@pytest.fixture
def mine(tmp_path: Path, rng: np.random.Generator) -> Path:
    """A folder with vectors with ids, and their captions as JSON lines and CSV."""
    images = rng.standard_normal((N, 16)).astype(np.float32)
    texts = np.repeat(images, 5, axis=0) + rng.standard_normal((5 * N, 16)).astype(np.float32)
    np.savez(tmp_path / "mine.npz", images=images, texts=texts, image_ids=np.array(IMAGES), text_ids=np.array(TEXTS))
    words = ["a", "man", "dog", "woman", "rides", "runs", "bike", "on", "the", "street", "near", "two", "with", "red"]
    rows = [
        {"image_id": IMAGES[OWNER[t]], "caption_id": TEXTS[t], "caption": " ".join(rng.choice(words, 7)),
         "lang": ("en", "de")[t % 2]}
        for t in rng.permutation(5 * N).tolist()
    ]  # fmt: skip
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    return tmp_path


def arrays(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder / "mine.npz") as stored:
        return stored["images"], stored["texts"]


@pytest.mark.parametrize("captions", ["mine.jsonl", "mine.csv"])
def test_a_file_of_captions_gives_the_image_of_a_text(mine: Path, captions: str, refuses: Refuses) -> None:
    report = vb.evaluate(mine / "mine.npz", captions=mine / captions, metrics="R@1,NCS@10", ci=0)
    assert f"the image of every text is known from {captions}" in report.notes
    images, texts = arrays(mine)
    want = vb.evaluate(images, texts, image_ids=IMAGES, text_ids=TEXTS, image_id_of_text=np.array(IMAGES)[OWNER],
                       captions=mine / captions, metrics="R@1,NCS@10", ci=0)  # fmt: skip
    for metric in ("R@1", "NCS@10"):
        for direction in ("i2t", "t2i"):
            assert np.array_equal(report[metric, direction].per_query, want[metric, direction].per_query)
    assert report.signature == want.signature
    refuses(BadInput, vb.evaluate, mine / "mine.npz", metrics="R@1")


def test_a_file_of_other_captions_does_not(mine: Path, refuses: Refuses) -> None:
    lines = (mine / "mine.jsonl").read_text().splitlines()
    (mine / "fewer.jsonl").write_text("\n".join(lines[:-1]))
    refuses(BadInput, vb.evaluate, mine / "mine.npz", captions=mine / "fewer.jsonl", metrics="R@1")


def test_scores_with_a_file_of_captions(mine: Path) -> None:
    images, texts = arrays(mine)
    np.savez(mine / "scores.npz", scores=images @ texts.T, image_ids=np.array(IMAGES), text_ids=np.array(TEXTS))
    report = vb.evaluate(scores=mine / "scores.npz", captions=mine / "mine.jsonl", metrics="R@1", ci=0)
    want = vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", metrics="R@1", ci=0, similarity="dot")
    assert report["R@1", "t2i"].value == want["R@1", "t2i"].value


def test_slices_by_a_column_of_the_captions(mine: Path) -> None:
    report = vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", metrics="R@1")
    for name in ("mine.jsonl", "mine.csv"):
        found = vb.slice(report, by="column", file=mine / name, column="lang", direction="t2i")
        frame = found.to_frame()
        assert set(frame["slice"]) >= {"de", "en"}, frame
        assert frame[frame["slice"] == "de"]["n"].iloc[0] == 150


def test_ids_of_arrays_in_memory(mine: Path, rng: np.random.Generator, refuses: Refuses) -> None:
    images, texts = arrays(mine)
    owners = np.array(IMAGES)[OWNER]
    want = vb.evaluate(images, texts, metrics="R@1,RSum", ci=0)
    i, t = rng.permutation(N), rng.permutation(5 * N)
    ids: dict[str, Any] = {
        "image_ids": np.array(IMAGES)[i].tolist(), "text_ids": np.array(TEXTS)[t], "image_id_of_text": owners[t],
    }  # fmt: skip
    shuffled = vb.evaluate(images[i], texts[t], metrics="R@1,RSum", ci=0, **ids)
    scored = vb.evaluate(scores=(images @ texts.T)[i][:, t], metrics="R@1", ci=0, **ids)
    assert shuffled["RSum"].value == want["RSum"].value
    assert scored.items is not None and scored.items.image_ids.tolist() == IMAGES
    with_objects = vb.evaluate(
        vb.Embeddings("image", ids["image_ids"], images[i]), vb.Embeddings("text", texts[t], ids["text_ids"]),
        image_id_of_text=ids["image_id_of_text"], metrics="R@1", ci=0,
    )  # fmt: skip
    assert with_objects["R@1", "t2i"].value == shuffled["R@1", "t2i"].value
    assert with_objects.signature == shuffled.signature
    refuses(UsageError, vb.evaluate, mine / "mine.npz", text_ids=TEXTS)
    refuses(UsageError, vb.evaluate, images, vb.Embeddings("text", TEXTS, texts), text_ids=TEXTS)
    refuses(BadInput, vb.evaluate, images, texts, image_ids=IMAGES[1:])


def test_embeddings_are_found(mine: Path, refuses: Refuses) -> None:
    images, texts = arrays(mine)
    for call in (
        lambda: vb.evaluate_unimodal(images, images, image_ids=IMAGES),  # type: ignore[call-arg]
        lambda: vb.evaluate_unimodal(images, images, ids=IMAGES),  # type: ignore[call-arg]
    ):
        refuses(UsageError, call)
    text = vb.Embeddings("text", TEXTS, texts)  # type: ignore[arg-type]
    assert text.modality == "caption" and text.ids.tolist() == TEXTS
    refuses(UsageError, vb.Embeddings, "sound", TEXTS, texts)


def test_the_only_view_that_has_a_metric(mine: Path, refuses: Refuses) -> None:
    gains = np.random.default_rng(0).random((N, 5 * N))
    report = vb.evaluate(
        *arrays(mine), captions=["a dog on grass", "two cats"] * 150, gains=["cider", gains],
        metrics="R@1,cider:NCS@10,cider:SR@5,matrix:SR@5,matrix:R@1", ci=0,
    )  # fmt: skip
    assert report["NCS@10", "i2t"] is report["cider:NCS@10", "i2t"]
    assert report["R@1", "i2t"].metric.view == "gt"  # by its own name
    refuses(KeyError, lambda: report["SR@5", "i2t"])
    assert report["ncs@10", "i2t"] is report["NCS@10", "i2t"]
    for key in ("RSum", ("RSum",), ("R@2", "i2t")):
        refuses(KeyError, report.__getitem__, key)


def test_a_part_is_a_gallery_of_its_own(mine: Path) -> None:
    report = vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", only="lang=de", metrics="R@1,NCS@3", ci=0)
    assert f"only lang=de: {N} of {N} images and 150 of 300 captions are the queries and the gallery" in report.notes
    images, texts = arrays(mine)
    part = np.arange(1, 5 * N, 2)
    said = {
        row["caption_id"]: row["caption"] for row in map(json.loads, (mine / "mine.jsonl").read_text().splitlines())
    }
    ids: dict[str, Any] = {"image_ids": IMAGES, "image_id_of_text": np.array(IMAGES)[OWNER][part]}
    want = vb.evaluate(
        images, texts[part], text_ids=np.array(TEXTS)[part], captions=[said[TEXTS[i]] for i in part],
        metrics="R@1,NCS@3", ci=0, **ids,
    )  # fmt: skip
    assert report.signature == want.signature
    for metric in ("R@1", "NCS@3"):
        for direction in ("i2t", "t2i"):
            assert np.array_equal(report[metric, direction].per_query, want[metric, direction].per_query)
    scores = images @ texts.T
    every: dict[str, Any] = {"image_ids": IMAGES, "text_ids": TEXTS, "image_id_of_text": np.array(IMAGES)[OWNER]}
    scored = vb.evaluate(scores=scores, only=f"{mine / 'mine.csv'}:lang=de", metrics="R@1", ci=0, **every)
    alone = vb.evaluate(scores=scores[:, part], text_ids=np.array(TEXTS)[part], metrics="R@1", ci=0, **ids)
    assert np.array_equal(scored["R@1", "t2i"].per_query, alone["R@1", "t2i"].per_query)


def test_a_column_of_images_keeps_all_of_their_captions(mine: Path) -> None:
    rows = "".join(f"{image},{'day' if i < 40 else 'night'},{i % 3}\n" for i, image in enumerate(IMAGES))
    (mine / "when.csv").write_text("image_id,when,group\n" + rows)
    report = vb.evaluate(
        mine / "mine.npz", captions=mine / "mine.jsonl", only=f"{mine / 'when.csv'}:when=night", metrics="R@1", ci=0
    )
    assert (report["R@1", "i2t"].n, report["R@1", "t2i"].n) == (20, 100)
    both = f"{mine / 'when.csv'}:group=1, 2"
    found = vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", only=both, metrics="R@1", ci=0)
    assert found["R@1", "i2t"].n == 40


@pytest.mark.parametrize("only", ["lang", "=de", "lang=", "lang=fr", "colour=red", "nofile.csv:lang=de"])
def test_parts_that_do_not_exist(mine: Path, only: str, refuses: Refuses) -> None:
    refuses(
        (UsageError, BadInput),
        vb.evaluate,
        mine / "mine.npz",
        captions=mine / "mine.jsonl",
        only=only,
        metrics="R@1",
        ci=0,
    )


def test_a_part_needs_a_file_and_scores(mine: Path, refuses: Refuses) -> None:
    images, texts = arrays(mine)
    refuses(UsageError, vb.evaluate, images, texts, only="lang=de")
    (mine / "run.json").write_text(json.dumps({"i2t": {IMAGES[0]: [TEXTS[0]]}}))
    split = vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", metrics="R@1", ci=0).items
    refuses(
        UsageError,
        vb.evaluate,
        run={"i2t": mine / "run.json"},
        split=split,
        only=f"{mine / 'mine.csv'}:lang=de",
        metrics="R@1",
    )


def test_reports_one_by_one_and_folders_of_runs(mine: Path, refuses: Refuses) -> None:
    images, texts = arrays(mine)
    for name, noise in (("a", 0.0), ("b", 2.0)):
        (mine / "runs" / name).mkdir(parents=True)
        noisy = texts + noise * np.random.default_rng(1).standard_normal(texts.shape)
        vb.evaluate(images, noisy, metrics="R@1,R@5").save(mine / "runs" / name / "result.json")
    one, two = (mine / "runs" / name for name in "ab")
    files = [folder / "result.json" for folder in (one, two)]
    assert vb.compare(*files).to_json() == vb.compare(files).to_json()
    assert vb.compare(one, two).systems == ("a", "b") == vb.joint(one, two).systems
    refuses(UsageError, vb.compare, files, files[0])
    refuses(BadInput, vb.compare, one, mine)
    done = CliRunner().invoke(app, ["compare", str(one), str(two), "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["systems"][0] == "a"


def test_a_part_of_an_untrained_model(mine: Path, rng: np.random.Generator, refuses: Refuses) -> None:
    with np.load(mine / "mine.npz") as stored:
        noise = {**stored, "texts": rng.standard_normal(stored["texts"].shape)}
    np.savez(mine / "noise.npz", **noise)
    refuses(BadInput, vb.evaluate, mine / "noise.npz", captions=mine / "mine.jsonl", only="lang=de", metrics="R@1")


def test_a_part_protects_its_files_and_refuses_gains_of_all(mine: Path, refuses: Refuses) -> None:
    options: dict[str, Any] = {"captions": mine / "mine.jsonl", "metrics": "R@1", "ci": 0}
    for only, kept in (("lang=de", "mine.jsonl"), (f"{mine / 'mine.csv'}:lang=de", "mine.csv")):
        before = (mine / kept).read_bytes()
        with pytest.raises((BadInput, UsageError)):
            vb.evaluate(mine / "mine.npz", only=only, save_run=mine / kept, **options)
        assert (mine / kept).read_bytes() == before
    report = vb.evaluate(mine / "mine.npz", only=f"{mine / 'mine.csv'}:lang=de", **options)
    assert {"mine.npz", "mine.jsonl", "mine.csv"} <= {file["file"] for file in report.provenance["inputs"]}
    refuses(UsageError, vb.evaluate, mine / "mine.npz", only="lang=de", gains=np.ones((N, 5 * N)), **options)


def test_the_column_of_ids_that_the_split_has(mine: Path) -> None:
    rows = "".join(
        f"{i},{image},{'day' if i < 40 else 'night'},{1234567.0 + i % 2}\n" for i, image in enumerate(IMAGES)
    )
    (mine / "numbered.csv").write_text("id,image_id,when,year\n" + rows)
    for part, n in (("when=night", 20), ("year=1234567", 30)):
        report = vb.evaluate(
            mine / "mine.npz", captions=mine / "mine.jsonl", only=f"{mine / 'numbered.csv'}:{part}", metrics="R@1", ci=0
        )
        assert report["R@1", "i2t"].n == n


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("rouge:nDCG@10", "or give judgements of yours: --judgements rouge=FILE"),
        ("cider", "name a metric of them, such as cider:ncs"),
        ("R@1 R@5", "separate names by commas: R@1,R@5"),
        ("eccv:R@1; R@5", "separate names by commas: eccv:R@1,R@5"),
    ],
)
def test_names_that_are_no_metrics(words: str, fix: str, pinned: Pinned) -> None:
    done = invoke("eval", "absent.npz", "--metrics", words)
    assert done.exit_code == 2 and fix in " ".join(done.stderr.split())
    pinned(done.stderr)
    assert "judged'" not in done.stderr, "judgements are no near name of a kind of gains"


def test_the_fix_of_a_suggestion_is_accepted(mine: Path) -> None:
    fixed = ("R@1,R@5", "cider:ncs")
    for words in fixed:
        done = invoke("eval", mine / "mine.npz", "--captions", mine / "mine.jsonl", "--metrics", words, "--ci", 0)
        assert done.exit_code == 0, done.stderr


def test_a_report_says_what_is_missing_and_what_it_is(mine: Path, tmp_path: Path, refuses: Refuses) -> None:
    report = vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", metrics="R@1,RSum", ci=0)
    refuses(KeyError, lambda: report["r@1"])
    assert repr(report["R@1", "i2t"]).startswith("Result(R@1 i2t: ")
    assert report.to_dict() == {
        " ".join(filter(None, (str(r.metric), r.direction))): r.value for r in report.results
    } and set(report.to_dict(prefix="a/")) == {f"a/{key}" for key in report.to_dict()}
    for name, result, kind in (
        ("A.json", report, "report"),
        ("C.json", vb.compare({"A": report, "B": report}), "comparison"),
    ):
        result.save(tmp_path / name)
        found = document("inspect", tmp_path / name)
        assert found["format"] == kind and f"a {kind} of vsebench" in found["notes"][0] and found["fault"] is None


def test_ids_that_repeat_are_not_sent_to_another_split(coco: Split, tmp_path: Path, refuses: Refuses) -> None:
    images, ids = np.eye(8, dtype=np.float32)[np.arange(5000) % 8], coco.image_ids.copy()
    ids[1] = ids[0]
    np.savez(tmp_path / "e.npz", image_embeddings=images, text_embeddings=np.ones((25000, 8), np.float32),
             image_ids=ids, text_ids=coco.caption_ids)  # fmt: skip
    refused = refuses(BadInput, vb.evaluate, tmp_path / "e.npz")
    assert "custom" not in str(refused.fix)


def test_the_default_page_replaces_no_input_and_says_what_it_replaces(
    mine: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    monkeypatch.chdir(mine)
    vb.evaluate(mine / "mine.npz", captions=mine / "mine.jsonl", metrics="R@1", ci=0).save("A.json")
    first, second = (invoke("page", "A.json", "--resamples", 20) for _ in range(2))
    assert first.exit_code == second.exit_code == 0 and "is replaced" not in first.stderr
    pinned(second.stderr)
    Path("A.json").rename("A.html")
    pinned(refused("page", "A.html"))
    Path("A.html").rename("A.json")
    Path("A.html").mkdir()
    monkeypatch.setattr("vsebench.analysis.page.page", lambda *_, **__: pytest.fail("read first"))
    assert invoke("page", "A.json").exit_code in (2, 6)
