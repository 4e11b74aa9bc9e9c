"""``vsebench correlate``: its tables, JSON, figure and every message."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from tests import commands
from tests import human_files as files
from tests.messages import Pinned
from vsebench.errors import MISSING_PACKAGE, OK, USAGE
from vsebench.human import sources
from vsebench.log import note
from vsebench.types import Float, Int, Split

needs_figures = pytest.mark.skipif(
    find_spec("altair") is None or find_spec("vl_convert") is None, reason="vsebench[report] is not installed"
)


class Lengths:
    """A stand-in for CIDEr: the product of the numbers of letters of a caption and of the image's captions."""

    name, settings = "cider", {"tokens": "ptb", "df": "split"}

    def __init__(self, split: Split) -> None:
        note("cider: a stand-in")
        letters = np.array([len(t) for t in split.captions or ()], float)
        self.caption = letters
        self.image = np.bincount(split.image_of, letters, len(split.image_ids))

    def at(self, direction: str, queries: Int, items: Int) -> Float:
        assert direction == "t2i"
        return (self.caption[queries][:, None] * self.image[items]).astype(np.float32)


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "load_gains", lambda spec, split, progress=None: Lengths(split))
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VSEBENCH_HUMAN_DATA", raising=False)


@pytest.fixture
def flickr(tmp_path: Path) -> str:
    return str(files.flickr8k(tmp_path / "flickr8k"))


def invoke(*args: str) -> Result:
    return commands.invoke("correlate", *args)


def document(*args: str) -> dict[str, Any]:
    return commands.document("correlate", *args)


def test_the_table(flickr: str, pinned: Pinned) -> None:
    result = invoke("flickr8k", "--data", flickr, "--gains", "binary,cider")
    assert result.exit_code == OK, result.stderr
    out = result.stdout
    assert "Flickr8k Expert · 5 pairs, 15 judgements" in out
    assert "Flickr8k CrowdFlower · 6 pairs" in out and "6 pairs," not in out
    assert "Kendall τ-c" in out and "Kendall τ-b" in out
    expert = out[: out.index("CrowdFlower")]
    row = next(line for line in expert.splitlines() if line.strip().startswith("binary"))
    assert row.split() == ["binary", "—", "—", "—"]
    assert "— undefined: one side has the same value for all of these pairs." in out
    assert "Brackets: 95 % jackknife over images on Fisher's z scale." in " ".join(out.split())
    pinned(result.stderr)


def test_the_document(flickr: str) -> None:
    args = ("flickr8k", "--data", flickr, "--gains", "binary,cider")
    found = document(*args)
    assert found["schema"] == "vsebench/correlation/2" and found["data"] == "flickr8k"
    assert (found["level"], found["over"]) == (95.0, "images")
    assert found["gains"] == {"binary": {}, "cider": {"tokens": "ptb", "df": "ratings"}}
    coefficients = found["tables"]["coefficients"]
    rows = {(r["task"], r["relevance"], r["coefficient"]): r for r in coefficients}
    kinds = ("pearson", "spearman", "kendall")
    assert list(rows) == [(t, g, c) for t in ("Expert", "CrowdFlower") for g in ("binary", "cider") for c in kinds]
    flat = rows["Expert", "binary", "kendall"]
    assert (flat["value"], flat["low"], flat["high"], flat["variant"]) == (None, None, None, "c")
    cider = rows["CrowdFlower", "cider", "pearson"]
    assert (cider["pairs"], cider["points"], cider["subset"]) == (6, 6, "all")
    assert -1 <= cider["low"] <= cider["value"] <= cider["high"] <= 1
    assert document(*args, "--seed", "1") == found
    assert document(*args, "--over", "pairs")["tables"] != found["tables"]
    bare = document(*args, "--ci", "0", "--tasks", "expert")
    assert bare["level"] is None and {r["task"] for r in bare["tables"]["coefficients"]} == {"Expert"}
    assert all(r["low"] is None for r in bare["tables"]["coefficients"])


def test_scores_of_captioning_are_for_captions_and_images(
    tmp_path: Path, coco: Split, monkeypatch: Any, pinned: Pinned
) -> None:
    monkeypatch.setattr(sources, "pair_scores", lambda *args, **kwargs: np.arange(len(args[3]), dtype=float))
    ids = coco.caption_ids.tolist(), coco.image_ids.tolist()
    rows = [(files.caption(ids[0][k]), files.image(ids[1][k % 3]), k % 5, "c2i_intrasim") for k in range(6)]
    files.cxc(tmp_path, "sits", rows)
    files.cxc(
        tmp_path, "sts", [(files.caption(ids[0][k]), files.caption(ids[0][k + 9]), k, "c2c_isim") for k in (0, 1)]
    )
    monkeypatch.setattr("vsebench.sets.catalogue.load_split", lambda name, captions=False: coco)
    result = invoke("cxc", "--data", str(tmp_path), "--tasks", "sits,sts", "--gains", "rouge,binary", "--ci", "0")
    assert result.exit_code == OK, result.stderr
    pinned(result.stderr)
    assert result.stdout.count("rouge") == 1 and result.stdout.count("binary") == 2


def test_a_model(tmp_path: Path, coco: Split, rng: np.random.Generator) -> None:
    vectors = {"images": rng.normal(size=(5000, 4)), "captions": rng.normal(size=(25_000, 4))}
    ids = {"image_ids": coco.image_ids, "caption_ids": coco.caption_ids}
    order = {"image_ids": rng.permutation(5000), "caption_ids": rng.permutation(25_000)}
    np.savez(tmp_path / "a.npz", **ids, **{k: v.astype(np.float32) for k, v in vectors.items()})
    shuffled = {
        "images": vectors["images"][order["image_ids"]], "captions": vectors["captions"][order["caption_ids"]],
        **{k: ids[k][order[k]] for k in ids},
    }  # fmt: skip
    np.savez(tmp_path / "b.npz", **{k: v.astype(np.float32) if v.ndim == 2 else v for k, v in shuffled.items()})
    captions, images = coco.caption_ids.tolist(), coco.image_ids.tolist()
    pick = rng.integers(0, 200, (60, 2)).tolist()
    for task, left, right, how in (
        ("sits", captions, images, "c2i_intrasim"),
        ("sts", captions, captions, "c2c_isim"),
        ("sis", images, images, "i2i_csim"),
    ):
        word = {id(captions): files.caption, id(images): files.image}
        rows = [
            (word[id(left)](left[a]), word[id(right)](right[b]), round(5 * float(rng.random()), 2), how)
            for a, b in pick
        ]
        files.cxc(tmp_path, task, rows)
    a, b = (
        document("cxc", "--embeddings", str(tmp_path / name), "--data", str(tmp_path)) for name in ("a.npz", "b.npz")
    )
    a, b = a["tables"], b["tables"]
    assert [r["task"] for r in a["coefficients"][::3]] == ["SITS", "STS", "SIS"]
    for name in ("coefficients", "sampled"):
        for x, y in zip(a[name], b[name], strict=True):
            same = ({k: v for k, v in row.items() if k not in ("relevance", "model")} for row in (x, y))
            assert next(same) == next(same)
    for row in a["sampled"][:-1]:
        assert row["samples"] == 1000 and -1 < row["value"] < 1
    shown = invoke("cxc", "--embeddings", str(tmp_path / "a.npz"), "--data", str(tmp_path), "--ci", "0").stdout
    assert "CxC correlation · sampled Spearman ρ" in shown and "a.npz" in shown
    assert "Sampled: mean ± standard deviation of 1,000 samples" in shown


@needs_figures
@pytest.mark.parametrize(("name", "start"), [("f.png", b"\x89PNG"), ("f.svg", b"<svg"), ("f.html", b"<!DOCTYPE html>")])
def test_the_figure(flickr: str, tmp_path: Path, name: str, start: bytes) -> None:
    result = invoke("flickr8k", "--data", flickr, "--gains", "binary,cider", "--figure", str(tmp_path / name))
    assert result.exit_code == OK, result.stderr
    content = (tmp_path / name).read_bytes()
    assert content.lstrip().startswith(start)
    if name == "f.svg":
        text = content.decode()
        assert "Agreement with human judgements" in text and "cider" in text and "Spearman" in text


@needs_figures
def test_nothing_to_draw(flickr: str, tmp_path: Path, pinned: Pinned) -> None:
    args = ("flickr8k", "--data", flickr, "--gains", "binary", "--tasks", "expert", "--figure", str(tmp_path / "f.svg"))
    result = invoke(*args)
    assert result.exit_code == USAGE
    pinned(result.stderr)
    assert not (tmp_path / "f.svg").exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["cxc", "--gains", "binary"], MISSING_PACKAGE),
        (["flickr8k"], MISSING_PACKAGE),
        (["cxc", "--data", "nowhere"], USAGE),
        (["cxc", "--gains", "ciderr"], USAGE),
        (["cxc", "--tasks", "sits,expert"], USAGE),
        (["coco"], USAGE),
        (["cxc", "--over", "captions"], USAGE),
        (["cxc", "--similarity", "l2"], USAGE),
        (["cxc", "--texts", "x.npy"], USAGE),
        (["flickr8k", "--embeddings", "x.npz"], USAGE),
        (["cxc", "--figure", "f.pdf"], USAGE),
        (["cxc", "--figure", "absent/f.png"], USAGE),
    ],
)
def test_messages(args: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(*args)
    assert (result.exit_code, result.stdout) == (code, "")
    pinned(result.stderr)


def test_a_figure_without_the_packages(
    flickr: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    result = invoke("flickr8k", "--data", flickr, "--figure", str(tmp_path / "f.png"))
    assert result.exit_code == MISSING_PACKAGE
    pinned(result.stderr)
