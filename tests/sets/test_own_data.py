"""Data sets of one's own: captions as JSON lines, tables and other files, declared once and known to every command."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.commands import cli, document
from tests.messages import Pinned, Refuses
from tests.worlds import world
from vsebench.errors import BadInput, UsageError
from vsebench.files.captions import all_of_file, from_file
from vsebench.files.raw import Raw
from vsebench.sets import catalogue, match, stored
from vsebench.sets.catalogue import split_of_ids
from vsebench.sets.match import with_captions

IMAGES, EACH = 30, 3
WORDS = ["a", "dog", "cat", "runs", "on", "the", "grass", "near", "big", "red", "house", "with", "two", "men"]


pytestmark = pytest.mark.usefixtures("cache")


def records() -> list[dict[str, Any]]:
    """One a caption: string ids, captions with commas, quotes and line breaks."""
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, 4 + i % 5)) for i in range(IMAGES * EACH)]
    texts[4], texts[5], texts[7] = 'he said "hi", then left', " two\nlines", "semi;colon | bar"
    return [
        {"caption_id": f"c-{i}", "image_id": f"photo {i // EACH:02}.jpg", "caption": text}
        for i, text in enumerate(texts)
    ]


def as_jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_table(rows: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return stream.getvalue()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def embeddings(path: Path, seed: int = 0, **more: Any) -> Path:
    """Vectors in another order than that of the captions, with ids."""
    made, rng = world(IMAGES, EACH, seed=seed), np.random.default_rng(seed)
    i, c = rng.permutation(IMAGES), rng.permutation(IMAGES * EACH)
    ids = {"image_ids": [f"photo {n:02}.jpg" for n in i], "text_ids": [f"c-{n}" for n in c]}
    np.savez(path, image_embeddings=made.images[i], text_embeddings=made.texts[c], **{**ids, **more})
    return path


def in_rows(file: Path, field: str) -> list[str]:
    """The captions, or their images, in the order of the text rows of ``embeddings``."""
    said = {r["caption_id"]: r[field] for r in records()}
    return [said[name] for name in np.load(file)["text_ids"].tolist()]


# --- files of captions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "image_ids", "caption_ids"),
    [
        ([{"image": "a", "text": "x"}, {"image": "b", "text": "y"}, {"image": "a", "text": "z"}],
         ["a", "b", "a"], ["a#0", "b#0", "a#1"]),
        ([{"id": 5, "image_id": "7", "caption": "x"}, {"id": "6", "image_id": 7, "caption": "y"}], [7, 7], [5, 6]),
        ([{"id": 5, "image_id": 1, "caption": "x"}, {"id": "06", "image_id": 1, "caption": "y"}], [1, 1], ["5", "06"]),
        ([{"id": "a", "captions": ["x", "y"]}, {"id": "b", "captions": ["z"]}], ["a", "a", "b"], ["a#0", "a#1", "b#0"]),
        ([{"filename": "f.jpg", "sentid": 3, "raw": "x", "caption_tok": "q"}], ["f.jpg"], [3]),
        ([{"image": "f", "caption_index": 1, "caption": "x", "caption_id": 9}], ["f"], ["f#1"]),
        ([{"Image_ID": " f ", "Caption_ID": "k", "Caption": "x"}], ["f"], ["k"]),
        ([{"image_name": "f", "comment_number": "2", "comment": "x"}], ["f"], ["f#2"]),
    ],
)  # fmt: skip
def test_the_usual_names_of_fields(tmp_path, rows, image_ids, caption_ids):
    found = from_file(write(tmp_path / "c.jsonl", as_jsonl(rows)))
    assert (found.image_id.tolist(), found.caption_id.tolist()) == (image_ids, caption_ids)
    if not any(isinstance(value, list) for row in rows for value in row.values()):
        table = from_file(write(tmp_path / "c.csv", as_table(rows)))
        assert (table.image_id.tolist(), table.caption_id.tolist()) == (image_ids, caption_ids)
        assert table.captions == found.captions


def karpathy_image(i: int, sentences: int = 5, split: str = "test", coco: bool = True) -> dict[str, Any]:
    image: dict[str, Any] = {"filename": f"{i}.jpg", "split": split}
    image["sentences"] = [{"raw": f"image {i} text {j}", "sentid": 100 * i + j} for j in range(sentences)]
    image["sentids"] = [100 * i + j for j in range(sentences)]
    return {**image, "cocoid": i} if coco else image


def test_karpathy_files_and_official_annotations(tmp_path, refuses):
    """The first five sentences of test images; the wanted captions in their order."""
    images = [karpathy_image(3, 6), karpathy_image(1, split="val"), karpathy_image(2)]
    rows = from_file(write(tmp_path / "k.json", json.dumps({"images": images, "dataset": "coco"})))
    assert rows.image_id.tolist() == [3] * 5 + [2] * 5
    assert rows.caption_id.tolist() == [300, 301, 302, 303, 304, 200, 201, 202, 203, 204]
    assert rows.captions is not None and rows.captions[4] == "image 3 text 4"
    rows = from_file(write(tmp_path / "f.json", json.dumps({"images": [karpathy_image(4, coco=False)]})))
    assert rows.caption_id.tolist() == [f"4.jpg#{j}" for j in range(5)]
    notes = [{"id": i, "image_id": i // 10, "caption": f"c{i}"} for i in range(40)]
    path = write(tmp_path / "a.json", json.dumps({"annotations": notes, "images": []}))
    rows = from_file(path)
    assert rows.image_id.tolist() == [i // 10 for i in range(40)] and rows.captions == tuple(f"c{i}" for i in range(40))
    split = vsebench.TestSet.captioned("custom", np.array([3, 0]), np.array([31, 2]), np.array([0, 1]))
    assert with_captions(split, path).columns.texts == ("c31", "c2")
    refuses(
        BadInput,
        with_captions,
        vsebench.TestSet.captioned("custom", np.array([3, 0]), np.array([31, 99]), np.array([0, 1])),
        path,
    )


LINES = [{"caption_id": 10 + i, "image_id": 7, "caption": f"words {i}"} for i in range(5)]
BAD_FILES: dict[str, bytes] = {
    "empty": b" \n",
    "zip": b"PK\x03\x04rest",
    "pickle": b"\x80\x04\x95",
    "page": b"<!DOCTYPE html><html>",
    "lfs": b"version https://git-lfs.github.com/spec/v1\n",
    "binary": b"{\xff\xfe",
    "gzip": gzip.compress(b'{"a": 1}' * 99)[:-9],
    "truncated": b'{"images": [{"split": "test", "sent',
    "nested": b"[" * 100_000,
    "number": b"[" + b"9" * 5000 + b"]",
    "list": b"[1, 2]",
    "other": b'{"info": 1}',
    "lines": b'{"id": 1, "text": "a dog"}\n{"id": 2, "text": "a cat"}\n',
    "instances": b'{"annotations": [{"id": 1, "category_id": 2}]}',
    "untested": json.dumps({"images": [karpathy_image(1, split="val")]}).encode(),
    "short": json.dumps({"images": [karpathy_image(1, 0)]}).encode(),
    "no raw": json.dumps({"images": [{**karpathy_image(1), "sentences": [{}] * 5}]}).encode(),
    "line": as_jsonl(LINES).encode() + b'{"caption_id": 3, "image',
    "field": as_jsonl([*LINES, {"caption_id": 99, "caption": "x"}]).encode(),
    "text": as_jsonl([{"caption_id": 1, "image_id": 1, "caption": None}]).encode(),
    "record": as_jsonl(LINES).encode() + b"[1]\n",
    "huge id": as_jsonl([{"caption_id": 10**30, "image_id": 1, "caption": ""}]).encode(),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused_by_name(tmp_path, content, refuses):
    path = tmp_path / "captions.json"
    path.write_bytes(content)
    assert str(refuses(BadInput, from_file, path)).startswith(str(path))


BAD = [
    'id,image_id,caption\n1,2,"a dog\n',
    "id,image_id,caption\n1,2,a\n\n3,4,b, c\n",
    "id,image_id,caption\n1,2,a\n,4,b\n",
    "id,image_id,caption\n",
    "name,words\n1,a\n",
    '{"id": 1, "image_id": 2, "caption": "a"}\n{"id": 1.5, "image_id": 2, "caption": "a"}\n',
    '{"id": 1, "image_id": 2, "captions": ["a", 3]}\n{}\n',
    '{"id": "a", "image_id": 2, "caption": "a"}\n{"id": "a", "image_id": 2, "caption": "a"}\n',
]


@pytest.mark.parametrize("text", BAD)
def test_errors_name_the_line(tmp_path: Path, text: str, refuses: Refuses) -> None:
    refuses(BadInput, from_file, write(tmp_path / "c.csv", text))


# --- declaring ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [as_jsonl, as_table])
def test_a_declared_data_set_is_known_to_every_command(tmp_path: Path, make: Any, pinned: Pinned) -> None:
    source, file = write(tmp_path / "c", make(records())), embeddings(tmp_path / "e.npz")
    built = cli("data", "build", "mine", "--from", source)
    assert built.out.splitlines()[1] == "30 images, 90 captions; use it with --split mine"
    split = vsebench.load_split("mine", captions=True)
    assert split.columns.texts == tuple(r["caption"] for r in records()) and split.image_of.tolist()[:4] == [0, 0, 0, 1]
    (listed,) = (one for one in json.loads(cli("data", "list", "--json").out)["splits"] if one["name"] == "mine")
    assert listed == {
        "name": "mine", "images": 30, "captions": 90, "available": "own", "texts": True, "needs": "", "files": ""
    }  # fmt: skip
    assert "mine" in cli("data", "list").out and cli("data", "verify", "mine", code=None).code == 0
    assert json.loads(cli("inspect", file, "--json").out)["matched"]["split"] == "mine"  # by its ids

    report = tmp_path / "r.json"
    metrics = ["--metrics", "R@1,R@5,NCS@5,CS@10", "--ci", "0"]
    cli("eval", file, "--split", "mine", *metrics, "-o", report, "--save-run", tmp_path / "t.json",
                  "--depth", "90")  # fmt: skip
    done = vsebench.load(report)
    assert done.split == "mine"
    alone = vsebench.evaluate(file, split="mine", captions=source, metrics="NCS@5", ci=0)
    assert alone["cider:NCS@5", "i2t"].value == done["cider:NCS@5", "i2t"].value
    lists = vsebench.evaluate(run=tmp_path / "t.json", metrics="R@1,R@5", ci=0)  # found by its ids
    assert lists.split == "mine" and lists["R@5", "t2i"].value == done["R@5", "t2i"].value
    for by in ("length", "positives"):
        cli("slice", report, "--by", by)
    other = vsebench.evaluate(embeddings(tmp_path / "f.npz", 1), split="mine", metrics="R@1", ci=0)
    assert vsebench.compare({"a": done, "b": other}, metrics="R@1").settings["split"] == "mine"

    cli("data", "remove", "mine")
    pinned(cli("eval", file, "--split", "mine", code=2).err)


def test_values_are_those_of_the_same_split_in_memory(tmp_path: Path) -> None:
    rows = records()
    catalogue.build("mine", write(tmp_path / "c.jsonl", as_jsonl(rows)))
    names = list(dict.fromkeys(r["image_id"] for r in rows))
    captions, owners = [r["caption_id"] for r in rows], [names.index(r["image_id"]) for r in rows]
    strings = tuple(r["caption"] for r in rows)
    split = vsebench.TestSet.captioned("mine", np.array(names), np.array(captions), np.array(owners), strings)
    a, b = (vsebench.evaluate(embeddings(tmp_path / "e.npz"), split=s, metrics="all", ci=0) for s in ("mine", split))
    assert (
        a.signature == b.signature and a.document(per_query=False)["results"] == b.document(per_query=False)["results"]
    )


def test_without_ids_rows_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    catalogue.build("mine", write(tmp_path / "c.csv", as_table(records())))
    images = np.random.default_rng(0).standard_normal((IMAGES, 4))
    report = vsebench.evaluate(images, np.repeat(images, EACH, axis=0), split="mine", metrics="R@1", ci=0)
    assert report["R@1", "t2i"].value == 1.0
    order = "in the order of mine (the order of the file it was built from)"
    assert f"no image and text ids: rows are assumed to be {order}" in report.notes


def test_parts_and_numbers_of_captions(tmp_path: Path, refuses: Refuses) -> None:
    images = [
        {"filename": f"{i}.jpg", "split": part, "sentences": [{"raw": f"{i} {j}"} for j in range(2 + i)]}
        for i, part in enumerate(["train", "test", "val", "val"])
    ]
    karpathy = write(tmp_path / "k.json", json.dumps({"images": images}))
    assert all_of_file(karpathy).caption_id.tolist() == ["1.jpg#0", "1.jpg#1", "1.jpg#2"]
    assert len(all_of_file(karpathy, "val").caption_id) == 4 + 5
    every = all_of_file(karpathy, "all")
    assert len(every.caption_id) == 2 + 3 + 4 + 5 and every.images()[0].tolist() == [f"{i}.jpg" for i in range(4)]
    catalogue.build("k-val", karpathy, part="val", captions_per_image=4)
    assert vsebench.load_split("k-val", captions=True).columns.texts == tuple(
        f"{i} {j}" for i in (2, 3) for j in range(4)
    )
    refuses(BadInput, catalogue.build, "k-val", karpathy, part="val", captions_per_image=5, replace=True)
    refuses(BadInput, catalogue.build, "dev", karpathy, part="dev")
    lines = [{**r, "split": "test" if i >= 60 else "train"} for i, r in enumerate(records())]
    for path in (write(tmp_path / "c.jsonl", as_jsonl(lines)), write(tmp_path / "c.csv", as_table(lines))):
        refuses(UsageError, catalogue.build, "mine", path)
        assert len(all_of_file(path, "test").caption_id) == 30 and len(all_of_file(path, "all").caption_id) == 90
        refuses(BadInput, all_of_file, path, "val")
        assert len(from_file(path).caption_id) == 90  # --captions takes what it needs by id
    plain = write(tmp_path / "p.jsonl", as_jsonl(records()))
    refuses(UsageError, all_of_file, plain, "test")


def test_names_that_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    source = write(tmp_path / "c.csv", as_table(records()))
    for name in ("custom", "Mine", "../x", "", ".x"):
        refuses(UsageError, catalogue.build, name, source)
    refuses(BadInput, catalogue.build, "f30k", source)
    refuses(UsageError, catalogue.build, "coco-5k", source, part="test")
    refuses(UsageError, catalogue.build, "mine")
    assert stored.stored_names() == []
    for name in ("coco-5k", "f30"):  # a split of vsebench is not removed without a file
        refuses(UsageError, catalogue.remove, name)


def test_a_failed_build_leaves_the_older_one(tmp_path: Path, cache: Path, refuses: Refuses) -> None:
    path = catalogue.build("mine", write(tmp_path / "c.jsonl", as_jsonl(records())))
    before = path.read_bytes()
    refuses(UsageError, catalogue.build, "mine", tmp_path / "none")
    with pytest.raises(BadInput, match="line 2"):
        catalogue.build("mine", write(tmp_path / "d.jsonl", as_jsonl(records()[:1] * 2)), replace=True)
    assert path.read_bytes() == before and [p.name for p in (cache / "splits").iterdir()] == ["mine.npz"]
    catalogue.build("mine", write(tmp_path / "d.jsonl", as_jsonl(records()[:6])), replace=True)
    assert len(vsebench.load_split("mine").columns.ids) == 6


def test_a_damaged_file_is_named_and_disturbs_no_other(tmp_path: Path, cache: Path, refuses: Refuses) -> None:
    source = write(tmp_path / "c.jsonl", as_jsonl(records()))
    path = catalogue.build("mine", source)
    catalogue.build("yours", write(tmp_path / "d.jsonl", as_jsonl(records()[:60])))
    path.write_bytes(path.read_bytes()[:-40])
    (cache / "splits" / "other.npz").write_bytes((cache / "splits" / "yours.npz").read_bytes())
    status = {s.name: s for s in catalogue.status()}
    assert status["mine"].available == status["other"].available == "damaged" and status["yours"].available == "own"
    refuses(BadInput, vsebench.load_split, "mine")
    refuses(BadInput, vsebench.load_split, "other")
    damaged = path.read_bytes()
    catalogue.build("mine", source, replace=True)
    assert len(vsebench.load_split("mine").columns.ids) == len(records())
    path.write_bytes(damaged)
    report = vsebench.evaluate(embeddings(tmp_path / "e.npz"), captions_per_image=EACH, trust=True, metrics="R@1", ci=0)
    assert report.split == "custom"
    for name in ("mine", "other"):
        catalogue.remove(name)
    assert stored.stored_names() == ["yours"]


def test_ids_of_two_data_sets_are_refused_and_numbers_of_rows_decide_nothing(tmp_path: Path, refuses: Refuses) -> None:
    for name in ("mine", "copy"):
        catalogue.build(name, write(tmp_path / "c.jsonl", as_jsonl(records())))
    ids = np.array([r["image_id"] for r in records()]), np.array([r["caption_id"] for r in records()])
    images = np.unique(ids[0])
    raw = Raw((images[:, None], ids[1][:, None]), images, ids[1], sources=(tmp_path,))
    refuses(UsageError, match.match_rows, raw)
    assert match.match_rows(raw, "copy").split.name == "copy"
    catalogue.remove("copy")
    assert split_of_ids(*ids) == ["mine"] == split_of_ids(ids[0][::-1], ids[1][::-1])
    assert not split_of_ids(None, ids[1]) and not split_of_ids(ids[0], None)
    counted = [{"image_id": i // 2, "id": i, "caption": "x"} for i in range(20)]
    catalogue.build("rows", write(tmp_path / "n.jsonl", as_jsonl(counted)))
    assert not split_of_ids(np.arange(10), np.arange(20))


# --- captions in a file of embeddings ----------------------------------------------------------------------


def test_the_file_of_embeddings_may_have_the_captions_and_their_images(tmp_path: Path, refuses: Refuses) -> None:
    file = embeddings(tmp_path / "ids.npz")
    strings, owners = np.array(in_rows(file, "caption")), np.array(in_rows(file, "image_id"))
    with_all = embeddings(tmp_path / "all.npz", captions=strings, image_of=owners)
    lines = write(tmp_path / "c.jsonl", as_jsonl(records()))
    metrics = {"metrics": "R@1,NCS@5,CS@10", "ci": 0}
    a = vsebench.evaluate(with_all, **metrics)
    b = vsebench.evaluate(embeddings(tmp_path / "b.npz", image_of_text=owners), captions=lines, **metrics)
    assert a.signature == b.signature and a.split == "custom"
    assert a.document(per_query=False)["results"] == b.document(per_query=False)["results"]
    captions = document("inspect", with_all)["arrays"][-1]
    assert captions == {"name": "captions", "shape": [90], "dtype": "text", "first": strings[:3].tolist()}
    assert not any("ignored" in note for note in a.notes)
    catalogue.build("mine", lines)  # a declared split has captions of its own
    known = vsebench.evaluate(with_all, **metrics)
    assert "the captions in the file are not used: mine has its own captions" in known.notes
    short = embeddings(tmp_path / "short.npz", captions=strings[:-1], image_of=owners)
    refuses(BadInput, vsebench.evaluate, short, split="custom", **metrics)


def test_scores_and_tables_may_have_them_too(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made, strings = world(IMAGES, EACH), [r["caption"] for r in records()]
    owner = made.split.image_of
    np.savez(tmp_path / "s.npz", scores=made.images @ made.texts.T, image_of=owner, captions=np.array(strings))
    rows = [{"modality": "image", "id": f"i{n}", "embedding": v} for n, v in enumerate(made.images)]
    rows += [
        {"modality": "text", "id": f"c{n}", "image_id": f"i{owner[n]}", "caption": strings[n], "embedding": v}
        for n, v in enumerate(made.texts)
    ]
    names = ("modality", "id", "image_id", "caption", "embedding")
    parquet.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), tmp_path / "t.parquet")
    one = vsebench.evaluate(scores=tmp_path / "s.npz", metrics="NCS@5", ci=0)
    other = vsebench.evaluate(tmp_path / "t.parquet", metrics="NCS@5", ci=0, similarity="dot")
    means = [report["cider:NCS@5", "t2i"].value for report in (one, other)]
    assert means[0] == pytest.approx(means[1]) and 0 < means[0] < 1


@pytest.mark.parametrize("form", ["c.txt", "all.npz", "ids.npz", "c.jsonl", "c.csv"])
def test_slice_takes_the_captions_that_eval_took(tmp_path: Path, form: str) -> None:
    """Of a custom split with ids too, whose captions the report has in the order of the ids."""
    file = embeddings(tmp_path / "e.npz")
    strings, owners = in_rows(file, "caption"), np.array(in_rows(file, "image_id"))
    strings = [s.replace("\n", " ") for s in strings]  # one a line
    embeddings(file, image_of_text=owners)
    embeddings(tmp_path / "ids.npz", captions=np.array(strings))
    np.savez(tmp_path / "all.npz", captions=np.array(strings))
    write(tmp_path / "c.txt", "".join(s + "\n" for s in strings))
    write(tmp_path / "c.jsonl", as_jsonl(records()))
    write(tmp_path / "c.csv", as_table(records()))
    done = vsebench.evaluate(file, captions=tmp_path / form, metrics="R@1,NCS@5", ci=0)
    done.save(tmp_path / "r.json")
    expected = np.array([len(r["caption"].split()) for r in sorted(records(), key=lambda r: r["caption_id"])])
    for report in (done, tmp_path / "r.json"):
        slices = vsebench.slice(report, "length", direction="t2i", captions=tmp_path / form, bins="0,6,100")
        few = slices.to_frame().set_index("slice").loc["0 to 5"]
        assert few.n == (expected < 6).sum()
        assert few.value == pytest.approx(done["R@1", "t2i"].per_query[expected < 6].mean())


def test_a_report_with_wrong_rows_of_captions_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    file = embeddings(tmp_path / "e.npz", image_of_text=np.array(in_rows(embeddings(tmp_path / "o.npz"), "image_id")))
    report = vsebench.evaluate(file, metrics="R@1", ci=0)
    document = report.document()
    document["per_query"]["caption_rows"] = document["per_query"]["image_of"]
    (tmp_path / "r.json").write_text(json.dumps(document))
    refuses(BadInput, vsebench.load, tmp_path / "r.json")


def test_lines_may_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    text = "image,caption\na.jpg,a dog\na.jpg,a cat\n"
    assert from_file(write(tmp_path / "old.csv", text.replace("\n", "\r"))).captions == ("a dog", "a cat")
