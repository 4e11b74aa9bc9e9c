"""Result files of MTEB as published entries: their numbers as they are written, nothing is computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import leaderboard_worlds as worlds
from vsebench.errors import BadInput, UsageError
from vsebench.leaderboard import site, submit
from vsebench.leaderboard.store import check, read

# As mteb 2 writes a file: five digits, hit_rate as well as recall.
I2T = {
    "ndcg_at_1": 0.612, "ndcg_at_10": 0.54321, "map_at_5": 0.4, "recall_at_1": 0.1224, "recall_at_5": 0.42,
    "recall_at_10": 0.5, "hit_rate_at_1": 0.612, "hit_rate_at_5": 0.85, "hit_rate_at_10": 1, "main_score": 0.54321,
    "nauc_recall_at_1_max": None, "mrr_at_10": 0.7, "hf_subset": "default", "languages": ["eng-Latn"],
}  # fmt: skip
T2I = {"recall_at_1": 0.5, "recall_at_5": 0.78, "recall_at_10": 5e-05, "ndcg_at_10": 0.6, "hf_subset": "default"}


def result(path: Path, task: str, part: dict[str, Any], **more: Any) -> Path:
    document = {"dataset_revision": "abc", "task_name": task, "mteb_version": "2.1.0", "scores": {"test": [part]}}
    return worlds.write(path, document | {"evaluation_time": 1.5, "kg_co2_emissions": None} | more)


@pytest.fixture
def folder(tmp_path) -> Path:
    return worlds.folder(tmp_path / "board")


def test_both_directions_become_one_published_entry(tmp_path, folder):
    a = result(tmp_path / "I.json", "Flickr30kI2TRetrieval", I2T)
    b = result(tmp_path / "T.json", "Flickr30kT2IRetrieval", T2I)
    done = worlds.run(
        "leaderboard", "add", str(a), "--name", "CLIP", "--image-input", "pixels", "--folder", str(folder)
    )
    assert done.stdout == f"{folder / 'published' / 'mteb-flickr30kretrieval-of-clip.json'}\n"
    entry = submit.add(b, "CLIP", image_input="pixels", folder=folder)
    assert entry.level == "published" and (entry.paper, entry.benchmark) == ("mteb", "f30k")
    assert {(v.metric, v.direction): v.printed for v in entry.values} == {
        ("R@1", "i2t"): "61.2", ("R@5", "i2t"): "85", ("R@10", "i2t"): "100",
        ("Recall@1", "i2t"): "12.24", ("Recall@5", "i2t"): "42", ("Recall@10", "i2t"): "50",
        ("gt:nDCG@1", "i2t"): "61.2", ("gt:nDCG@10", "i2t"): "54.321", ("mAP@5", "i2t"): "40",
        ("R@1", "t2i"): "50", ("R@5", "t2i"): "78", ("R@10", "t2i"): "0.005", ("gt:nDCG@10", "t2i"): "60",
    }  # fmt: skip
    board, wrong = check(folder)
    assert wrong == [] and board.files[entry.id] == "published/mteb-flickr30kretrieval-of-clip.json"
    page = site.build(board)["f30k.html"].decode()
    assert "Flickr30kI2TRetrieval of mteb 2.1.0" in page and "embeddings-benchmark" in page


def test_every_subset_of_a_task_is_a_row(tmp_path, folder):
    parts = [
        {**T2I, "hf_subset": code, "recall_at_1": value} for code, value in (("ja", 0.25), ("de", 0.5), ("xx", 0.9))
    ]
    task = "XFlickr30kCo{}Retrieval"
    first = result(tmp_path / "T.json", task.format("T2I"), {}, scores={"test": parts})
    entry = submit.add(first, "CLIP", folder=folder)
    assert (entry.benchmark, entry.value_of("R@1", "t2i").printed) == ("xflickrco:de", "50")
    submit.add(result(tmp_path / "I.json", task.format("I2T"), {**I2T, "hf_subset": "de"}), "CLIP", folder=folder)
    board, wrong = check(folder)
    assert wrong == []
    found = {
        e.benchmark: {(v.metric, v.direction): v.value for v in e.values} for e in board.entries if e.paper == "mteb"
    }
    assert set(found) == {"xflickrco:de", "xflickrco:ja"}
    assert found["xflickrco:ja"]["R@1", "t2i"] == 0.25 and ("R@1", "i2t") not in found["xflickrco:ja"]
    assert found["xflickrco:de"]["R@1", "t2i"] == 0.5 and found["xflickrco:de"]["R@1", "i2t"] == 0.612
    again = result(tmp_path / "T.json", task.format("T2I"), {}, scores={"test": parts[:1]})
    submit.add(again, "CLIP", folder=folder, replace_old=True)
    kept = {e.benchmark: {v.direction for v in e.values} for e in read(folder).entries if e.paper == "mteb"}
    assert kept == {"xflickrco:ja": {"t2i"}, "xflickrco:de": {"i2t"}}


def test_a_file_of_vsebench_export_is_not_published_by_mteb(tmp_path, folder):
    file = result(tmp_path / "I.json", "Flickr30kI2TRetrieval", I2T, dataset_revision="vsebench:0.1.0|split:f30k#1")
    with pytest.raises(BadInput, match=r"was written by vsebench export.*\n  fix: add the report itself"):
        submit.add(file, "CLIP", folder=folder)


def test_coco_says_that_its_captions_are_not_those_of_coco_5k(tmp_path, folder):
    entry = submit.add(result(tmp_path / "I.json", "MSCOCOI2TRetrieval", I2T), "CLIP", folder=folder)
    assert "M-BEIR" in entry.value_of("R@1", "i2t").note


def test_numbers_are_replaced_only_when_asked_for(tmp_path, folder):
    file = result(tmp_path / "I.json", "Flickr30kI2TRetrieval", I2T)
    submit.add(file, "CLIP", folder=folder)
    with pytest.raises(
        UsageError, match=r"has numbers of i2t already\n  fix: add replace=True, or choose another name"
    ):
        submit.add(file, "CLIP", folder=folder)
    other = result(tmp_path / "J.json", "Flickr30kI2TRetrieval", {**I2T, "hit_rate_at_1": 0.7})
    entry = submit.add(other, "CLIP", folder=folder, replace_old=True)
    assert entry.value_of("R@1", "i2t").value == 0.7 and len(read(folder).entries) == 3


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "NaN", "Infinity", '"0.5x"', "true", "[0.5]", "null"])
def test_what_is_no_number_of_a_few_digits_is_refused(tmp_path, folder, text, pinned):
    file = result(tmp_path / "I.json", "Flickr30kI2TRetrieval", {**I2T, "hit_rate_at_1": "HERE"})
    file.write_text(file.read_text().replace('"HERE"', text))
    with pytest.raises(BadInput) as caught:
        submit.add(file, "CLIP", folder=folder)
    pinned(caught.value)


@pytest.mark.parametrize(
    ("direction", "change"),
    [
        ("I2T", {"hit_rate_at_1": 0.12}),
        ("I2T", {"hit_rate_at_1": None, "cv_recall_at_1": 0.12}),
        ("T2I", {"hit_rate_at_1": 0.9}),
        ("T2I", {"hit_rate_at_5": 0.7}),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(tmp_path, folder, direction, change, pinned):
    part = {**(I2T if direction == "I2T" else T2I), **change}
    part = {key: value for key, value in part.items() if value is not None}
    with pytest.raises(BadInput) as caught:
        submit.add(result(tmp_path / "R.json", f"Flickr30k{direction}Retrieval", part), "CLIP", folder=folder)
    pinned(caught.value)
    fitting = {**T2I, "hit_rate_at_1": 0.50001, "hit_rate_at_5": 0.78}  # two numbers of five digits that are equal
    entry = submit.add(result(tmp_path / "R.json", "Flickr30kT2IRetrieval", fitting), "CLIP", folder=folder)
    assert entry.value_of("R@1", "t2i").printed == "50.001"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task_name": "ImageNet"}, "is the result of the task 'ImageNet' of MTEB, which no board shows"),
        ({"scores": {"validation": [I2T]}}, "has no hit_rate, recall, ndcg or map of the part 'test'"),
        ({"scores": {"test": [{**I2T, "hf_subset": "de"}]}}, "has no hit_rate, recall, ndcg or map of the part 'test'"),
        ({"scores": []}, "has no hit_rate, recall, ndcg or map of the part 'test'"),
        ({"scores": {"test": [{**I2T, "hit_rate_at_1": 61.2}]}}, "R@1 (i2t) is 61.2, and its range is 0 to 1"),
    ],
)
def test_what_is_wrong_with_a_result_is_named(tmp_path, folder, change, message):
    file = result(tmp_path / "I.json", "Flickr30kI2TRetrieval", I2T, **change)
    with pytest.raises(BadInput) as caught:
        submit.add(file, "CLIP", folder=folder)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert [e.paper for e in read(folder).entries] == ["doe2020thing"] * 2


def test_options_of_reports_are_refused(tmp_path, folder):
    file = result(tmp_path / "I.json", "Flickr30kI2TRetrieval", I2T)
    with pytest.raises(UsageError, match="is a result of MTEB, whose entry has a name"):
        submit.add(file, "CLIP", folder=folder, notes=["x"])


def test_a_file_that_is_no_result_is_read_as_a_report(tmp_path, folder):
    for text in ("[1, 2]", "{", json.dumps({"scores": {}})):
        (tmp_path / "X.json").write_text(text)
        with pytest.raises(BadInput, match=r"X\.json: is not a vsebench/report/1 document"):
            submit.add(tmp_path / "X.json", "CLIP", folder=folder)
