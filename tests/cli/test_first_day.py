"""What a user tries first: a data set of one's own, ids in Python, short names, reports as arguments."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli, document, refused
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.results.report import Report
from vsebench.types import TestSet

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


BOTH = [(metric, direction) for metric in ("R@1", "NCS@10") for direction in ("i2t", "t2i")]


IDS: dict[str, Any] = {"image_ids": IMAGES, "text_ids": TEXTS, "image_id_of_text": np.array(IMAGES)[OWNER]}


def evaluated(mine: Path, file: str = "mine.npz", **options: Any) -> Report:
    return vb.evaluate(mine / file, **{"captions": mine / "mine.jsonl", "metrics": "R@1", "ci": 0, **options})


def arrays(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder / "mine.npz") as stored:
        return stored["images"], stored["texts"]


@pytest.mark.parametrize("captions", ["mine.jsonl", "mine.csv"])
def test_a_file_of_captions_gives_the_image_of_a_text(mine: Path, captions: str, refuses: Refuses) -> None:
    options: dict[str, Any] = {"captions": mine / captions, "metrics": "R@1,NCS@10"}
    report, want = evaluated(mine, **options), vb.evaluate(*arrays(mine), **IDS, **options, ci=0)
    assert f"the image of every text is known from {captions}" in report.notes
    assert all(np.array_equal(report[key].per_query, want[key].per_query) for key in BOTH)
    assert report.signature == want.signature
    refuses(BadInput, vb.evaluate, mine / "mine.npz", metrics="R@1")
    (mine / "fewer.jsonl").write_text("\n".join((mine / "mine.jsonl").read_text().splitlines()[:-1]))
    refuses(BadInput, evaluated, mine, captions=mine / "fewer.jsonl")


def test_ids_of_arrays_in_memory(mine: Path, rng: np.random.Generator, refuses: Refuses) -> None:
    images, texts = arrays(mine)
    want = vb.evaluate(images, texts, metrics="R@1,RSum", ci=0)
    i, t = rng.permutation(N), rng.permutation(5 * N)
    ids: dict[str, Any] = {
        "image_ids": np.array(IMAGES)[i].tolist(), "text_ids": np.array(TEXTS)[t],
        "image_id_of_text": IDS["image_id_of_text"][t],
    }  # fmt: skip
    shuffled = vb.evaluate(images[i], texts[t], metrics="R@1,RSum", ci=0, **ids)
    scored = vb.evaluate(scores=(images @ texts.T)[i][:, t], metrics="R@1", ci=0, **ids)
    assert shuffled["RSum"].value == want["RSum"].value
    assert scored.items is not None and scored.items.rows.ids.tolist() == IMAGES
    with_objects = vb.evaluate(
        vb.Embeddings("image", ids["image_ids"], images[i]), vb.Embeddings("text", texts[t], ids["text_ids"]),
        image_id_of_text=ids["image_id_of_text"], metrics="R@1", ci=0,
    )  # fmt: skip
    assert with_objects["R@1", "t2i"].value == shuffled["R@1", "t2i"].value
    assert with_objects.signature == shuffled.signature
    refuses(UsageError, vb.evaluate, mine / "mine.npz", text_ids=TEXTS)
    refuses(UsageError, vb.evaluate, images, vb.Embeddings("text", TEXTS, texts), text_ids=TEXTS)  # type: ignore[arg-type]
    refuses(BadInput, vb.evaluate, images, texts, image_ids=IMAGES[1:])


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
    report = evaluated(mine, only="lang=de", metrics="R@1,NCS@10")
    assert f"only lang=de: {N} of {N} images and 150 of 300 captions are the queries and the gallery" in report.notes
    (images, texts), part = arrays(mine), np.arange(1, 5 * N, 2)
    rows = map(json.loads, (mine / "mine.jsonl").read_text().splitlines())
    said = {row["caption_id"]: row["caption"] for row in rows}
    ids = {"image_ids": IMAGES, **{name: np.array(IDS[name])[part] for name in ("text_ids", "image_id_of_text")}}
    captions = [said[TEXTS[i]] for i in part]
    want = vb.evaluate(images, texts[part], captions=captions, metrics="R@1,NCS@10", ci=0, **ids)
    assert report.signature == want.signature
    assert all(np.array_equal(report[key].per_query, want[key].per_query) for key in BOTH)
    scores = images @ texts.T
    scored = vb.evaluate(scores=scores, only=f"{mine / 'mine.csv'}:lang=de", metrics="R@1", ci=0, **IDS)
    alone = vb.evaluate(scores=scores[:, part], metrics="R@1", ci=0, **ids)
    assert np.array_equal(scored["R@1", "t2i"].per_query, alone["R@1", "t2i"].per_query)


def test_a_column_of_images_keeps_all_of_their_captions(mine: Path) -> None:
    """Also beside a column of other ids."""
    rows = [f"{i},{name},{('day', 'night')[i >= 40]},{i % 3},{1234567.0 + i % 2}\n" for i, name in enumerate(IMAGES)]
    (mine / "when.csv").write_text("id,image_id,when,group,year\n" + "".join(rows))
    for part, n in (("when=night", 20), ("group=1, 2", 40), ("year=1234567", 30)):
        report = evaluated(mine, only=f"{mine / 'when.csv'}:{part}")
        assert (report["R@1", "i2t"].n, report["R@1", "t2i"].n) == (n, 5 * n)


@pytest.mark.parametrize("only", ["lang", "=de", "lang=", "lang=fr", "colour=red", "nofile.csv:lang=de"])
def test_parts_that_do_not_exist(mine: Path, only: str, refuses: Refuses) -> None:
    refuses((UsageError, BadInput), evaluated, mine, only=only)


def test_parts_that_are_refused(mine: Path, rng: np.random.Generator, refuses: Refuses) -> None:
    """Without a file or scores, of gains of all, of an untrained model."""
    refuses(UsageError, vb.evaluate, *arrays(mine), only="lang=de")
    (mine / "run.json").write_text(json.dumps({"i2t": {IMAGES[0]: [TEXTS[0]]}}))
    run = {"run": {"i2t": mine / "run.json"}, "split": evaluated(mine).items, "metrics": "R@1"}
    refuses(UsageError, vb.evaluate, **run, only=f"{mine / 'mine.csv'}:lang=de")
    refuses(UsageError, evaluated, mine, only="lang=de", gains=np.ones((N, 5 * N)))
    with np.load(mine / "mine.npz") as stored:
        np.savez(mine / "noise.npz", **{**stored, "texts": rng.standard_normal(stored["texts"].shape)})
    refuses(BadInput, evaluated, mine, "noise.npz", only="lang=de", ci=95)


def test_reports_one_by_one_and_folders_of_runs(mine: Path, refuses: Refuses) -> None:
    images, texts = arrays(mine)
    for name, noise in (("a", 0.0), ("b", 2.0)):
        (mine / "runs" / name).mkdir(parents=True)
        noisy = texts + noise * np.random.default_rng(1).standard_normal(texts.shape)
        vb.evaluate(images, noisy, metrics="R@1,R@5").save(mine / "runs" / name / "result.json")
    one, two = (mine / "runs" / name for name in "ab")
    files = [folder / "result.json" for folder in (one, two)]
    assert vb.compare(*files).to_json() == vb.compare(files).to_json()
    assert vb.compare(one, two).systems == ("a", "b") == vb.compare(one, two, tests=False).systems
    refuses(UsageError, vb.compare, files, files[0])
    refuses(BadInput, vb.compare, one, mine)
    assert document("compare", one, two)["systems"][0] == "a"


def test_a_part_protects_its_files(mine: Path) -> None:
    for only, kept in (("lang=de", "mine.jsonl"), (f"{mine / 'mine.csv'}:lang=de", "mine.csv")):
        before = (mine / kept).read_bytes()
        with pytest.raises((BadInput, UsageError)):
            evaluated(mine, only=only, save_run=mine / kept)
        assert (mine / kept).read_bytes() == before
    report = evaluated(mine, only=f"{mine / 'mine.csv'}:lang=de")
    assert {"mine.npz", "mine.jsonl", "mine.csv"} <= {file["file"] for file in report.provenance["inputs"]}


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("rouge:nDCG@10", "or give your own judgements: --judgements rouge=FILE"),
        ("cider", "give a metric of these gains, such as cider:ncs"),
        ("R@1 R@5", "separate names by commas: R@1,R@5"),
        ("eccv:R@1; R@5", "separate names by commas: eccv:R@1,R@5"),
    ],
)
def test_names_that_are_no_metrics(words: str, fix: str, pinned: Pinned) -> None:
    said = refused("eval", "absent.npz", "--metrics", words)
    pinned(said)
    assert fix in " ".join(said.split())
    assert "judged'" not in said, "judgements are no near name of a kind of gains"


def test_a_report_says_what_is_missing_and_what_it_is(mine: Path, tmp_path: Path, refuses: Refuses) -> None:
    report = evaluated(mine, metrics="R@1,RSum,cider:ncs")  # the fixes above are accepted
    refuses(KeyError, report.__getitem__, "r@1")
    assert repr(report["R@1", "i2t"]).startswith("Measurement(R@1 i2t: ")
    values = {" ".join(filter(None, (str(r.metric), r.direction))): r.value for r in report.results}
    assert report.to_dict() == values and set(report.to_dict(prefix="a/")) == {f"a/{key}" for key in values}
    for name, result, kind in (
        ("A.json", report, "report"),
        ("C.json", vb.compare({"A": report, "B": copy.deepcopy(report)}), "comparison"),
    ):
        result.save(tmp_path / name)
        found = document("inspect", tmp_path / name)
        assert found["format"] == kind and f"a {kind} of vsebench" in found["notes"][0] and found["fault"] is None


def test_ids_that_repeat_are_not_sent_to_another_split(coco: TestSet, tmp_path: Path, refuses: Refuses) -> None:
    images, ids = np.eye(8, dtype=np.float32)[np.arange(5000) % 8], coco.rows.ids.copy()
    ids[1] = ids[0]
    np.savez(tmp_path / "e.npz", image_embeddings=images, text_embeddings=np.ones((25000, 8), np.float32),
             image_ids=ids, text_ids=coco.columns.ids)  # fmt: skip
    assert "custom" not in str(refuses(BadInput, vb.evaluate, tmp_path / "e.npz").fix)


def test_the_default_page_replaces_no_input_and_says_what_it_replaces(
    mine: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    monkeypatch.chdir(mine)
    evaluated(mine).save("A.json")
    first, second = (cli("page", "A.json").err for _ in range(2))
    assert "is replaced" not in first
    pinned(second)
    Path("A.json").rename("A.html")
    pinned(refused("page", "A.html"))
    Path("A.html").rename("A.json")
    Path("A.html").mkdir()
    monkeypatch.setattr("vsebench.analysis.page.page", lambda *_, **__: pytest.fail("read first"))
    assert cli("page", "A.json", code=None).code in (2, 6)
