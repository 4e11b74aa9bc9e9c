"""The command of an evaluation by labels: what is printed, written and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from vsebench.cli import labels
from vsebench.cli.talk import Talk, command
from vsebench.errors import UsageError
from vsebench.metrics import parse
from vsebench.report import document


@pytest.fixture
def files(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """30 images and their labels."""
    np.savez(tmp_path / "x.npz", images=rng.standard_normal((30, 4)).astype(np.float32), image_ids=np.arange(100, 130))
    np.save(tmp_path / "y.npy", rng.standard_normal((30, 2)))
    return tmp_path / "x.npz", tmp_path / "y.npy"


def run(files: tuple[Path, Path], as_json: bool = False, **options: Any) -> int:
    """The exit code."""
    try:
        command(labels.run)(Talk(as_json, no_progress=True), *files, **options)
    except typer.Exit as end:
        return end.exit_code
    return 0


def test_the_table(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, queries="6", metrics="nDCG@1,MLD@1,nDCG@10", ci=0) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert lines[0] == ["judged", "by", "labels"]
    assert lines[1] == ["k", "nDCG@k", "mean", "label", "distance@k", "↓", "queries"]
    assert [(row[0], row[-1]) for row in lines[3:5]] == [("1", "6"), ("10", "6")]
    assert len(lines[3]) == 4 and len(lines[4]) == 3  # MLD@10 was not asked for
    assert "nDCG is printed times 100, label distances as they are" in out
    assert "|labels:euclidean#" in out and "queries:apart" in out
    assert err == "· 6 queries, 24 items in the gallery; no query is among them\n"


def test_the_document(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, table = tmp_path / "report.json", tmp_path / "values.csv"
    assert run(files, True, metrics="nDCG@5,MLD@5", output=target, per_query=table, resamples=50) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(target.read_text(encoding="utf-8"))
    assert [(r["metric"], r["direction"], r["n"]) for r in printed["results"]] == [
        ("labels:nDCG@5", "i2i", 30),
        ("labels:MLD@5", "i2i", 30),
    ]
    assert all(r["interval"][0] <= r["value"] <= r["interval"][1] for r in printed["results"])
    assert [i["file"] for i in printed["provenance"]["inputs"]] == ["x.npz", "y.npy"]
    back = document.read(target, parse)
    assert back["labels:MLD@5", "i2i"].value == printed["results"][1]["value"]
    held = back["labels:MLD@5", "i2i"]
    assert held.queries is not None and held.queries.tolist() == list(range(100, 130))
    rows = table.read_text(encoding="utf-8").splitlines()
    assert rows[0] == "metric,direction,query,value" and len(rows) == 61
    assert rows[1].startswith("labels:nDCG@5,i2i,100,")


def test_captions_ask_for_captions(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "c.npz", captions=np.eye(30, dtype=np.float32))
    options = {"metrics": "MLD@1", "modality": "caption", "similarity": "dot", "ci": 0, "no_per_query": True}
    assert run((tmp_path / "c.npz", files[1]), True, **options) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["results"][0]["direction"] == "t2t" and "per_query" not in printed
    assert "|score:dot|" in printed["signature"]


def test_faults_end_with_their_code(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for options, code, words in (
        ({"metrics": "R@1"}, 2, "unknown metric of labels 'R@1'"),
        ({"similarity": "l2"}, 2, "similarity is 'l2'"),
        ({"modality": "video"}, 2, "modality is 'video'"),
        ({"label_distance": "cosine"}, 2, "unknown label distance 'cosine'"),
        ({"label_distance": "precomputed"}, 3, "is negative"),
        ({"label_distance": "miou"}, 3, "masks have shape (30, 2)"),
        ({"queries": "30"}, 2, "--queries is 30 for 30 items"),
        ({"queries": "nobody.txt"}, 3, "nobody.txt: does not exist"),
    ):
        assert run(files, **options) == code
        assert words in capsys.readouterr().err


def test_warnings_are_told(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    apart = np.triu(np.ones((30, 30)), 1)
    np.save(tmp_path / "d.npy", apart)
    assert run((files[0], tmp_path / "d.npy"), label_distance="precomputed", metrics="MLD@40", ci=0) == 0
    err = capsys.readouterr().err
    assert "warning: distances are not symmetric: [0, 1] is 1 and [1, 0] is 0; the row is the query" in err
    assert "warning: MLD@40: k is larger than the 29 items that a query can retrieve; all of them count" in err


def test_options_that_mean_nothing_here() -> None:
    labels.refuse({"--texts": None, "--trust": False, "--run": []})
    with pytest.raises(UsageError, match="--split has no meaning with --labels\n  fix: leave it out"):
        labels.refuse({"--texts": None, "--split": "coco-5k"})
