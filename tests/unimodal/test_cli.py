"""``vsebench unimodal``: its output, the files it writes, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vsebench
from tests.commands import cli, document, refused
from vsebench.metrics import parse
from vsebench.results.report import read as read_document


@pytest.fixture
def files(tmp_path: Path, rng: np.random.Generator) -> tuple[str | Path, ...]:
    """The command for 30 images and their labels."""
    np.savez(tmp_path / "x.npz", images=rng.standard_normal((30, 4)).astype(np.float32), image_ids=np.arange(100, 130))
    np.save(tmp_path / "y.npy", rng.standard_normal((30, 2)))
    return "unimodal", tmp_path / "x.npz", "--labels", tmp_path / "y.npy"


def test_the_table(files, pinned):
    result = cli(*files, "--queries", "6", "--metrics", "nDCG@1,MLD@1,nDCG@10", "--ci", "0")
    lines = [line.split() for line in result.out.splitlines() if line.strip()]
    assert lines[0] == ["judged", "by", "labels"]
    assert lines[1] == ["k", "nDCG@k", "mean", "label", "distance@k", "↓", "queries"]
    assert [(row[0], row[-1]) for row in lines[3:5]] == [("1", "6"), ("10", "6")]
    assert len(lines[3]) == 4 and len(lines[4]) == 3  # MLD@10 was not requested
    assert "nDCG is printed as a percentage, label distances as they are" in result.out
    assert "|labels:euclidean#" in result.out and "queries:apart" in result.out
    pinned(result.err)
    words = cli(*files, "--metrics", "nDCG@1").words
    assert "95 % BCa bootstrap interval over queries (1,000 resamples, seed 0)" in words


def test_the_document(files, tmp_path):
    target, table = tmp_path / "report.json", tmp_path / "values.csv"
    found = document(*files, "--metrics", "nDCG@5,MLD@5", "-o", target, "--per-query", table)
    assert found == json.loads(target.read_text(encoding="utf-8"))
    assert [(r["metric"], r["direction"], r["n"]) for r in found["results"]] == [
        ("labels:nDCG@5", "i2i", 30),
        ("labels:MLD@5", "i2i", 30),
    ]
    assert all(r["interval"][0] <= r["value"] <= r["interval"][1] for r in found["results"])
    assert [i["file"] for i in found["provenance"]["inputs"]] == ["x.npz", "y.npy"]
    read = read_document(target, parse)["labels:MLD@5", "i2i"]
    assert read.value == found["results"][1]["value"]
    assert read.queries is not None and read.queries.tolist() == list(range(100, 130))
    rows = table.read_text(encoding="utf-8").splitlines()
    assert rows[0] == "metric,direction,query,value" and len(rows) == 61
    assert rows[1].startswith("labels:nDCG@5,i2i,100,")


def test_values_equal_the_python_interface(files):
    found = document(*files, "--queries", "6", "--keep-queries", "--similarity", "cosine")
    same = vsebench.evaluate_unimodal(*files[1::2], queries=6, keep_queries=True, similarity="cosine")
    assert found["results"] == json.loads(same.to_json())["results"]
    assert found["signature"] == same.signature


def test_captions(files):
    np.savez(files[1], captions=np.eye(30, dtype=np.float32))
    found = vsebench.evaluate_unimodal(*files[1::2], metrics="MLD@1", modality="caption", similarity="dot", ci=0)
    assert found.results[0].direction == "t2t" and "|score:dot|" in found.signature


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--metrics", ","], 2),
        (["--similarity", "l2"], 2),
        (["--label-distance", "cosine"], 2),
        (["--label-distance", "precomputed"], 3),
        (["--queries", "30"], 2),
        (["--queries", "absent.txt"], 3),
        (["--split", "coco-5k"], 2),
    ],
)
def test_errors_and_exit_codes(files, args, code, pinned):
    pinned(refused(*files, *args, code=code))


def test_warnings_are_printed(files, pinned):
    np.save(files[3], np.triu(np.ones((30, 30)), 1))
    pinned(cli(*files, "--label-distance", "precomputed", "--metrics", "MLD@1", "--ci", "0").err)
