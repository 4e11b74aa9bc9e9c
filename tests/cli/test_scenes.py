"""``vsebench data`` for scenes, the splits of scenes in other commands, and the export in the layout of COCO."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.commands import cli, document, printed, refused
from tests.messages import Pinned
from vsebench.files.atomic import hidden_of
from vsebench.scenes import folder
from vsebench.scenes.build import build
from vsebench.scenes.settings import parse
from vsebench.sets import stored
from vsebench.sets.published import SETS

SMALL = "scenes-60-size16"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


# --- build -------------------------------------------------------------------------------------------------


def test_build_says_what_there_is(cache: Path) -> None:
    first = printed("data", "build", SMALL).splitlines()
    assert first[0].startswith(f"{SMALL} is in {cache / 'scenes' / SMALL} (")
    assert first[3].startswith("next: vsebench ") and f"{SMALL}-test" in first[3]
    assert printed("data", "build", SMALL).splitlines() == first
    about = document("data", "build", f"{SMALL}-val")
    assert (about["scenes"], about["images"], about["captions"]) == (SMALL, 60, 300)
    assert about["splits"] == {f"{SMALL}-train": 30, f"{SMALL}-val": 15, f"{SMALL}-test": 15}
    assert about["bytes"] == sum(path.stat().st_size for path in Path(about["folder"]).iterdir())


def test_settings_as_options_give_the_name() -> None:
    settings = [
        "images=50",
        "seed=2",
        "size=16",
        "near=0.2",
        "tail=0",
        "wrong=0.1",
        "generic=0",
        "noise=1",
        "miss=0",
        "leaks=1",
    ]
    about = document("data", "build", "scenes", *(word for one in settings for word in ("--set", one)))
    assert about["scenes"] == "scenes-50-seed2-size16-near0.2-tail0-wrong0.1-generic0-noise1-miss0-leaks"
    built = parse(about["scenes"])
    assert (built.images, built.seed, built.wrong, built.leaks) == (50, 2, 0.1, True)


@pytest.mark.parametrize(
    "args",
    [
        "scenes-tiny --set seed=3", "coco-5k --set near=0.1", "mine --from x.json --set leaks=1",
        "scenes-tiny --from x.json",
        "scenes-tiny --part val", "scenes --set images=5", "scenes --set near=1.5", "scenes --set near=nan",
        "scenes --set near=1e-250", "scenes --set near", "scenes --set nera=1",
        "scenes-10q", "scenes-10k-color3", "scenes-\x1b[31m", "scenes-night --from {}/c.jsonl",
    ],
)  # fmt: skip
def test_what_is_refused(args: str, cache: Path, tmp_path: Path, pinned: Pinned) -> None:
    (tmp_path / "c.jsonl").write_text('{"image": "a", "caption": "x"}\n')
    pinned(refused("data", "build", *args.format(tmp_path).split(" ")))
    assert files(cache) == []


# --- list, verify, remove ----------------------------------------------------------------------------------


def status() -> dict[str, Any]:
    return {line["name"]: line for line in document("data", "list")["splits"]}


def test_list() -> None:
    found = status()
    for name, sizes in (("scenes-tiny", (100, 50, 50)), ("scenes-10k", (8000, 1000, 1000))):
        for part, images in zip(("train", "val", "test"), sizes, strict=True):
            assert found[f"{name}-{part}"] == {
                "name": f"{name}-{part}", "images": images, "captions": 5 * images, "available": "absent",
                "texts": False, "needs": f"vsebench data build {name}", "files": "",
            }  # fmt: skip
    assert not any(name.startswith(SMALL) for name in found)
    build(parse(SMALL))
    (folder.root() / ".scenes-70-size16.partial").mkdir()  # interrupted
    (folder.root() / "notes").mkdir()
    found = status()
    assert found[f"{SMALL}-val"] == {
        "name": f"{SMALL}-val", "images": 15, "captions": 75, "available": "cached", "texts": True,
        "needs": "", "files": "",
    }  # fmt: skip
    assert found["scenes-70-size16-test"]["needs"] == "vsebench data build scenes-70-size16"
    assert len(found) == len(set(found)) == 3 + len(SETS) + 4 * 3 and f"{SMALL}-train" in printed("data", "list")


def test_verify(cache: Path, pinned: Pinned) -> None:
    build(parse(SMALL))
    for name, splits in ((SMALL, 3), (f"{SMALL}-val", 1)):
        checks = document("data", "verify", name)["checks"]
        assert all(check["ok"] for check in checks) and len(checks) == 8 + 6 * splits
        assert {"images.npy", "captions.jsonl"} < {check["check"] for check in checks}
    path = folder.folder_of(SMALL) / "images.npy"
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    (wrong,) = [line for line in cli("data", "verify", SMALL, code=1).out.splitlines() if line.startswith("FAIL")]
    assert "images.npy" in wrong and f"vsebench data build {SMALL} --replace" in wrong
    pinned(refused("data", "verify", "scenes-tiny", code=4))
    shutil.rmtree(folder.folder_of(SMALL))  # deleted by hand
    pinned(refused("data", "verify", f"{SMALL}-test", code=4))
    assert stored.stored_path(f"{SMALL}-test").exists()
    printed("data", "remove", SMALL)
    assert files(cache) == []


def test_remove(cache: Path, pinned: Pinned) -> None:
    pinned(refused("data", "remove", SMALL))
    assert not cache.exists()
    build(parse(SMALL))
    pinned(refused("data", "remove", f"{SMALL}-test"))
    assert printed("data", "remove", SMALL) == f"removed {cache / 'scenes' / SMALL}\n"
    assert files(cache) == [] and list((cache / "scenes").iterdir()) == []
    killed = hidden_of(folder.folder_of(SMALL))[0]  # what a killed build leaves
    killed.mkdir()
    (killed / "captions.jsonl").write_text("{}")
    assert document("data", "remove", SMALL)["split"] == SMALL and files(cache) == []


def interrupt(*args: Any) -> None:
    raise KeyboardInterrupt


# --- the splits in other commands --------------------------------------------------------------------------


def vectors(path: Path, split: str, ids: bool = True) -> Path:
    """Random vectors of a split; with ids in another order."""
    rng = np.random.default_rng(0)
    items = vsebench.load_split(split)
    images = rng.standard_normal((len(items.rows.ids), 8))
    texts = images[items.image_of] + 0.3 * rng.standard_normal((len(items.columns.ids), 8))
    i, c = (rng.permutation(len(side)) if ids else np.arange(len(side)) for side in (images, texts))
    named = {"image_ids": items.rows.ids[i], "text_ids": items.columns.ids[c]} if ids else {}
    np.savez(path, image_embeddings=images[i], text_embeddings=texts[c], **named)
    return path


def test_eval_knows_the_split(tmp_path: Path) -> None:
    build(parse(SMALL))
    by_id = vectors(tmp_path / "ids.npz", f"{SMALL}-test")
    by_row = vectors(tmp_path / "rows.npz", f"{SMALL}-test", ids=False)
    found = document("eval", by_id, "--metrics", "R@1,NCS@5", "--ci", "0", "-o", tmp_path / "A.json")
    given = vsebench.evaluate(by_row, split=f"{SMALL}-test", metrics="R@1,NCS@5", ci=0)
    assert found["split"] == given.split == f"{SMALL}-test" and found["signature"] == given.signature
    assert [r["value"] for r in found["results"]] == [r.value for r in given.results]
    assert given["R@1", "i2t"].value > 0.5
    assert "R@1" in printed("slice", tmp_path / "A.json", "--by", "length", "--metrics", "R@1", "--bins", "2")
    assert document("inspect", by_id)["matched"]["split"] == f"{SMALL}-test"


SPLITS = ["10k-test 4", "2500-seed3-val 4", "10k-tset 2", "10k 2", "10q-test 2", "200-test 2"]


@pytest.mark.parametrize("case", SPLITS)
def test_splits_that_are_not_there(case: str, tmp_path: Path, pinned: Pinned) -> None:
    split, code = case.split()
    np.savez(tmp_path / "e.npz", image_embeddings=np.eye(5), text_embeddings=np.repeat(np.eye(5), 5, axis=0))
    pinned(refused("eval", tmp_path / "e.npz", "--split", f"scenes-{split}", code=int(code)))


@pytest.mark.parametrize("file", [f"scenes/{SMALL}/about.json", f"splits/{SMALL}-test.npz"])
def test_a_description_replaces_no_file_of_the_data_set(file: str, cache: Path, pinned: Pinned) -> None:
    build(parse(SMALL))
    before = (cache / file).read_bytes()
    pinned(refused("data", "describe", SMALL, "--format", "json", "-o", cache / file))
    assert (cache / file).read_bytes() == before


def test_ids_of_scenes_that_are_no_whole_split(tmp_path: Path, pinned: Pinned) -> None:
    build(parse(SMALL))
    path = vectors(tmp_path / "e.npz", f"{SMALL}-test")
    whole = dict(np.load(path))
    images, own = whole["image_ids"], [text.rpartition("-")[0] for text in whole["text_ids"].tolist()]
    kept = np.isin(own, images[:6])
    half = {key: array[kept] if key.startswith("text") else array[:6] for key, array in whole.items()}
    np.savez(path, **half)
    command = ("eval", path, "--metrics", "R@1", "--ci", "0")
    pinned(refused(*command, code=3))
    by_split = printed(*command, "--split", "custom")
    np.savez(path, **half, image_of_text=np.array(own)[kept])
    assert "R@1" in by_split == printed(*command, "--split", "custom")
    printed("data", "remove", SMALL)
    np.savez(path, **whole)
    pinned(refused(*command, code=3))


@pytest.mark.parametrize("file", ["scenes.npy", "facts.npy", "captions.jsonl", "images.npy"])
def test_damaged_content_is_refused_where_it_is_used(file: str, tmp_path: Path, pinned: Pinned) -> None:
    """Codes out of their range would be read by compiled code, which does not check them."""
    path = build(parse(SMALL)) / file
    given = vectors(tmp_path / "e.npz", f"{SMALL}-test")
    content = path.read_bytes()
    path.write_bytes(content[:-400] + bytes(byte ^ 0x55 for byte in content[-400:]))
    commands: list[list[Any]] = [
        ["data", "describe", SMALL],
        ["eval", given, "--metrics", "entails", "--ci", "0"],
        ["eval", given, "--metrics", "match:NCS@5", "--ci", "0"],
    ]
    if file in ("captions.jsonl", "images.npy"):
        stored.stored_path(f"{SMALL}-val").unlink()
        pytest.importorskip("PIL")
        commands = [["data", "export", SMALL, "-o", tmp_path / "out"]]
        commands += [["data", "build", SMALL, "--quiet"]] * (file == "captions.jsonl")
    for command in commands:
        pinned(refused(*command, code=3))
    assert not (tmp_path / "out").exists()


# --- export ------------------------------------------------------------------------------------------------


def test_export(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    scenes = vsebench.build_scenes(SMALL)
    out = tmp_path / "coco"
    assert printed("data", "export", SMALL, "-o", out).startswith(f"{SMALL} is in {out}\n")
    told = [json.loads(line) for line in (scenes.folder / "scenes.jsonl").read_text().splitlines()]
    seen: list[int] = []
    for part, first, last in (("train", 0, 30), ("val", 30, 45), ("test", 45, 60)):
        instances = json.loads((out / f"annotations/instances_{part}.json").read_text())
        captions = json.loads((out / f"annotations/captions_{part}.json").read_text())
        assert [i["id"] for i in instances["images"]] == list(range(first + 1, last + 1))
        assert captions["images"] == instances["images"]
        for entry in instances["images"]:
            with image.open(out / "images" / part / entry["file_name"]) as opened:
                assert (opened.mode, opened.size) == ("RGB", (entry["width"], entry["height"])) == ("RGB", (16, 16))
                assert np.array_equal(np.asarray(opened), scenes.images[entry["id"] - 1])
        assert [a["image_id"] for a in captions["annotations"]] == [n + 1 for n in range(first, last) for _ in range(5)]
        split = vsebench.load_split(f"{SMALL}-{part}", captions=True)
        assert tuple(a["caption"] for a in captions["annotations"]) == split.columns.texts
        shapes = {c["id"]: c["name"] for c in instances["categories"]}
        wanted = [
            (n + 1, group["shape"], group["colour"], [box[0], box[1], box[2] - box[0], box[3] - box[1]])
            for n in range(first, last) for group in told[n]["groups"] for box in group["boxes"]
        ]  # fmt: skip
        found = [
            (a["image_id"], shapes[a["category_id"]], a["attributes"]["colour"], a["bbox"])
            for a in instances["annotations"]
        ]
        assert found == wanted
        seen += [a["id"] for a in instances["annotations"]]
    assert seen == list(range(1, len(seen) + 1))
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "cache") == ["coco"]


def test_a_part_that_is_exported_is_read_back(tmp_path: Path) -> None:
    """Also the lines of captions of the data set."""
    pytest.importorskip("PIL")
    captions = build(parse(SMALL)) / "captions.jsonl"
    all_of_it, out = tmp_path / "all", tmp_path / "test only"
    printed("data", "export", SMALL, "-o", all_of_it)
    printed("data", "export", SMALL, "-o", out, "--part", "test")
    for path in (p.relative_to(out) for p in out.rglob("*") if p.is_file()):
        assert (out / path).read_bytes() == (all_of_it / path).read_bytes()
    assert sorted(p.name for p in (out / "annotations").iterdir()) == ["captions_test.json", "instances_test.json"]
    printed("data", "build", "mine", "--from", out / "annotations/captions_test.json")
    printed("data", "build", "lines", "--from", captions, "--part", "val")
    for name, part in (("mine", "test"), ("lines", "val")):
        found, split = (vsebench.load_split(n, captions=True) for n in (name, f"{SMALL}-{part}"))
        assert found.columns.texts == split.columns.texts and found.image_of.tolist() == split.image_of.tolist()
        if name == "mine":
            assert found.rows.ids.tolist() == list(range(46, 61))
        else:
            assert found.columns.ids.tolist() == split.columns.ids.tolist()


def test_exports_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    pytest.importorskip("PIL")
    refused("data", "export", SMALL, "-o", tmp_path / "x", code=4)
    build(parse(SMALL))
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").write_text("mine")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for out, code in ((full, 2), (full / "a", 2), (full / "a" / "b", 6), (".", 2)):
        pinned(refused("data", "export", SMALL, "-o", out, code=code))
    assert (full / "a").read_text() == "mine"
    for words in (f"{SMALL} --part tset", "coco-5k"):
        pinned(refused("data", "export", *words.split(), "-o", tmp_path / "x"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    pinned(refused("data", "export", SMALL, "-o", tmp_path / "x", code=4))
    assert not (tmp_path / "x").exists()


def test_an_interrupted_export_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    from vsebench.scenes.coco import export_scenes

    build(parse(SMALL))
    empty = tmp_path / "empty"
    empty.mkdir()
    left = tmp_path / ".empty.partial"  # of an export that was killed
    (left / "images").mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt):
        export_scenes(SMALL, empty, progress=interrupt)
    assert list(empty.iterdir()) == [] and not left.exists()
    assert export_scenes(SMALL, empty) == empty
    assert sorted(p.name for p in empty.iterdir()) == ["annotations", "images"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "empty"]
