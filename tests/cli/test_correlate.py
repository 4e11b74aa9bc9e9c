"""``vsebench correlate``: its tables, JSON, figures and every message."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests import human_files as files
from tests.commands import cli, refused
from tests.messages import Pinned
from vsebench.errors import MISSING_PACKAGE, USAGE
from vsebench.human import sources
from vsebench.log import note
from vsebench.types import Float, Int, TestSet

needs_figures = pytest.mark.skipif(
    find_spec("altair") is None or find_spec("vl_convert") is None, reason="vsebench[report] is not installed"
)


class Lengths:
    """A stand-in for CIDEr: the product of the numbers of letters of a caption and of the image's captions."""

    name, settings = "cider", {"tokens": "ptb", "df": "split"}

    def __init__(self, split: TestSet) -> None:
        note("cider: a stand-in")
        letters = np.array([len(t) for t in split.columns.texts or ()], float)
        self.caption = letters
        self.image = np.bincount(split.image_of, letters, len(split.rows.ids))

    def at(self, queries: Int, items: Int) -> Float:
        return (self.image[queries][:, None] * self.caption[items]).astype(np.float32)


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "load_gains", lambda spec, split, progress=None: Lengths(split))
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VSEBENCH_HUMAN_DATA", raising=False)


@pytest.fixture
def flickr(tmp_path: Path) -> str:
    return str(files.flickr8k(tmp_path / "flickr8k"))


def test_the_document(flickr: str) -> None:
    def document(*more: str) -> Any:
        return cli("correlate", "flickr8k", "--human-data", flickr, "--gains", "binary,cider", "--json", *more).json

    found = document()
    assert found["schema"] == "vsebench/correlation/2" and found["data"] == "flickr8k"
    assert (found["level"], found["over"]) == (95.0, "images")
    assert found["gains"] == {"binary": {}, "cider": {"tokens": "ptb", "df": "ratings"}}
    rows = {(r["task"], r["relevance"], r["coefficient"]): r for r in found["tables"]["coefficients"]}
    kinds = ("pearson", "spearman", "kendall")
    assert list(rows) == [(t, g, c) for t in ("Expert", "CrowdFlower") for g in ("binary", "cider") for c in kinds]
    flat = rows["Expert", "binary", "kendall"]
    assert (flat["value"], flat["low"], flat["high"], flat["variant"]) == (None, None, None, "c")
    cider = rows["CrowdFlower", "cider", "pearson"]
    assert (cider["pairs"], cider["points"], cider["subset"]) == (6, 6, "all")
    assert -1 <= cider["low"] <= cider["value"] <= cider["high"] <= 1
    bare = document("--ci", "0", "--tasks", "expert")
    assert bare["level"] is None
    assert {(r["task"], r["low"]) for r in bare["tables"]["coefficients"]} == {("Expert", None)}


def test_scores_of_captioning_are_for_captions_and_images(
    tmp_path: Path, coco: TestSet, monkeypatch: Any, pinned: Pinned
) -> None:
    monkeypatch.setattr(sources, "pair_scores", lambda *args, **kwargs: np.arange(len(args[3]), dtype=float))
    caption, image = ([name(i) for i in ids[:10].tolist()] for name, ids in of_coco(coco))
    files.cxc(tmp_path, "sits", [(caption[k], image[k % 3], k % 5, "c2i_intrasim") for k in range(6)])
    files.cxc(tmp_path, "sts", [(caption[k], caption[k + 8], k, "c2c_isim") for k in (0, 1)])
    monkeypatch.setattr("vsebench.sets.catalogue.load_split", lambda name, captions=False: coco)
    words = "--tasks sits,sts --gains rouge,binary --ci 0"
    done = cli("correlate", "cxc", "--human-data", tmp_path, *words.split())
    pinned(done.err)
    assert done.out.count("rouge") == 1 and done.out.count("binary") == 2


def of_coco(coco: TestSet) -> tuple[tuple[Any, Int], tuple[Any, Int]]:
    return (files.caption, coco.columns.ids), (files.image, coco.rows.ids)


def test_a_model(tmp_path: Path, coco: TestSet, rng: np.random.Generator) -> None:
    sides = {"images": rng.normal(size=(5000, 4)), "captions": rng.normal(size=(25_000, 4))}
    np.savez(tmp_path / "a.npz", **sides, image_ids=coco.rows.ids, caption_ids=coco.columns.ids)
    captions, images = of_coco(coco)
    pick = rng.integers(0, 200, (60, 2)).tolist()
    for task, (left, x), (right, y), how in (
        ("sits", captions, images, "c2i_intrasim"), ("sts", captions, captions, "c2c_isim"),
        ("sis", images, images, "i2i_csim"),
    ):  # fmt: skip
        rows = [(left(x[a]), right(y[b]), round(5 * float(rng.random()), 2), how) for a, b in pick]
        files.cxc(tmp_path, task, rows)
    command = ["correlate", "cxc", "--human-data", tmp_path, "--embeddings", tmp_path / "a.npz"]
    found = cli(*command, "--json").json["tables"]
    assert [r["task"] for r in found["coefficients"][::3]] == ["SITS", "STS", "SIS"]
    assert all(row["samples"] == 1000 and -1 < row["value"] < 1 for row in found["sampled"][:-1])
    shown = cli(*command, "--ci", "0").out
    assert "CxC correlation · sampled Spearman ρ" in shown and "a.npz" in shown


@needs_figures
@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_the_figures(flickr: str, tmp_path: Path, kind: str, start: bytes) -> None:
    study = vsebench.correlate("flickr8k", human_data=flickr, gains="binary,cider", ci=0)
    files = study.figures(tmp_path, kind)
    assert files and all(file.read_bytes().lstrip().startswith(start) for file in files)
    if kind == "svg":
        text = "".join(file.read_text() for file in files)
        assert "Flickr8k Expert" in text and "cider" in text and "Spearman" in text


WRONG = [
    "cxc --gains binary", "flickr8k", "cxc --human-data nowhere", "cxc --gains ciderr",
    "cxc --tasks sits,expert", "coco",
    "cxc --similarity l2", "cxc --texts x.npy", "flickr8k --embeddings x.npz",
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_messages(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    monkeypatch.chdir(tmp_path)
    code = MISSING_PACKAGE if words in WRONG[:2] else USAGE
    pinned(refused("correlate", *words.split(), code=code))
