"""``vsebench data`` for scenes, the splits of scenes in other commands, and the export in the layout of COCO."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.commands import invoke, printed
from tests.messages import Pinned
from vsebench.files.atomic import hidden_of
from vsebench.scenes import folder
from vsebench.scenes.build import build
from vsebench.scenes.settings import parse
from vsebench.sets import stored
from vsebench.sets.published import SETS

ROOT = Path(__file__).resolve().parents[2]
SMALL = "scenes-60-size16"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for every test."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def refused(*args: str | Path) -> tuple[int, str]:
    done = invoke(*args)
    assert done.stdout == ""
    return done.exit_code, done.stderr


def files(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


# --- build -------------------------------------------------------------------------------------------------


def test_build_says_what_there_is(cache: Path) -> None:
    first = printed("data", "build", SMALL).splitlines()
    assert first[0].startswith(f"{SMALL} is in {cache / 'scenes' / SMALL} (")
    assert first[1].startswith("60 images of 16 x 16 pixels, 300 captions, ") and first[1].endswith(" regions")
    sizes = {"train": 30, "val": 15, "test": 15}
    assert first[2] == "splits: " + ", ".join(f"{SMALL}-{part} ({n} images)" for part, n in sizes.items())
    assert first[3].startswith("next: vsebench ") and f"{SMALL}-test" in first[3]
    assert printed("data", "build", SMALL).splitlines() == first
    about = json.loads(printed("data", "build", f"{SMALL}-val", "--json"))
    assert (about["scenes"], about["images"], about["captions"]) == (SMALL, 60, 300)
    assert about["splits"] == {f"{SMALL}-{part}": n for part, n in sizes.items()}
    assert about["bytes"] == sum(path.stat().st_size for path in Path(about["folder"]).iterdir())


def test_settings_as_options_give_the_name() -> None:
    options = "--images 50 --seed 2 --size 16 --near 0.2 --tail 0 --wrong 0.1 --generic 0 --noise 1 --miss 0 --leaks"
    about = json.loads(printed("data", "build", "scenes", *options.split(), "--json"))
    assert about["scenes"] == "scenes-50-seed2-size16-near0.2-tail0-wrong0.1-generic0-noise1-miss0-leaks"
    settings = parse(about["scenes"])
    assert (settings.images, settings.seed, settings.wrong, settings.leaks) == (50, 2, 0.1, True)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("scenes-tiny --seed 3", 2),
        ("coco-5k --near 0.1", 2),
        ("mine --from x.json --leaks", 2),
        ("scenes-tiny --from x.json", 2),
        ("scenes-tiny --part val", 2),
        ("scenes --images 5", 2),
        ("scenes --near 1.5", 2),
        ("scenes --near nan", 2),
        ("scenes --near 1e-250", 2),
        ("scenes-10q", 2),
        ("scenes-10k-color3", 2),
        ("scenes-\x1b[31m", 2),
    ],
)
def test_what_is_refused(args: str, code: int, cache: Path, pinned: Pinned) -> None:
    found, message = refused("data", "build", *args.split(" "))
    assert found == code
    pinned(message)
    assert files(cache) == []


def test_no_data_set_of_ones_own_is_called_scenes(tmp_path: Path, pinned: Pinned) -> None:
    (tmp_path / "c.jsonl").write_text('{"image": "a", "caption": "x"}\n')
    code, message = refused("data", "build", "scenes-night", "--from", tmp_path / "c.jsonl")
    assert code == 2
    pinned(message)


def test_a_bar_on_a_terminal() -> None:
    """The library reports from 0 to all images, never backwards."""
    seen: list[tuple[int, int]] = []
    vsebench.build_scenes(SMALL, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 60) and seen[-1] == (60, 60) and seen == sorted(seen) and len(seen) > 3


# --- list, verify, remove ----------------------------------------------------------------------------------


def status() -> dict[str, Any]:
    return {line["name"]: line for line in json.loads(printed("data", "list", "--json"))["splits"]}


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


def test_verify(pinned: Pinned) -> None:
    build(parse(SMALL))
    for name, splits in ((SMALL, 3), (f"{SMALL}-val", 1)):
        checks = json.loads(printed("data", "verify", name, "--json"))["checks"]
        assert all(check["ok"] for check in checks) and len(checks) == 8 + 6 * splits
        assert {"images.npy", "captions.jsonl"} < {check["check"] for check in checks}
    path = folder.folder_of(SMALL) / "images.npy"
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    done = invoke("data", "verify", SMALL)
    assert done.exit_code == 1
    wrong = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert len(wrong) == 1 and "images.npy" in wrong[0] and f"vsebench data build {SMALL} --replace" in wrong[0]
    code, message = refused("data", "verify", "scenes-tiny")
    assert code == 4
    pinned(message)


def test_remove(cache: Path, pinned: Pinned) -> None:
    code, message = refused("data", "remove", SMALL)
    assert code == 2
    pinned(message)
    assert not cache.exists()
    build(parse(SMALL))
    code, message = refused("data", "remove", f"{SMALL}-test")
    assert code == 2
    pinned(message)
    assert printed("data", "remove", SMALL) == f"removed {cache / 'scenes' / SMALL}\n"
    assert files(cache) == [] and list((cache / "scenes").iterdir()) == []
    killed = hidden_of(folder.folder_of(SMALL))[0]  # what a killed build leaves
    killed.mkdir()
    (killed / "captions.jsonl").write_text("{}")
    assert json.loads(printed("data", "remove", SMALL, "--json"))["split"] == SMALL
    assert files(cache) == []


def interrupt(*args: Any) -> None:
    raise KeyboardInterrupt


def test_a_folder_that_was_deleted_by_hand(cache: Path, pinned: Pinned) -> None:
    build(parse(SMALL))
    for path in folder.folder_of(SMALL).iterdir():
        path.unlink()
    folder.folder_of(SMALL).rmdir()
    code, message = refused("data", "verify", f"{SMALL}-test")
    assert code == 4
    pinned(message)
    assert stored.stored_path(f"{SMALL}-test").exists()
    printed("data", "remove", SMALL)
    assert files(cache) == []


def test_splits_are_known_without_compiled_code() -> None:
    """Only a build imports it: listing and loading splits stay fast."""
    code = "import sys, vsebench.sets.catalogue as c; c.status(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "False\n", done.stderr


# --- the splits in other commands --------------------------------------------------------------------------


def vectors(path: Path, split: str, ids: bool = True) -> Path:
    """Random vectors of a split; with ids in another order."""
    rng = np.random.default_rng(0)
    items = vsebench.load_split(split)
    images = rng.standard_normal((len(items.image_ids), 8))
    texts = images[items.image_of] + 0.3 * rng.standard_normal((len(items.caption_ids), 8))
    if not ids:
        np.savez(path, image_embeddings=images, text_embeddings=texts)
        return path
    i, c = rng.permutation(len(images)), rng.permutation(len(texts))
    np.savez(
        path, image_embeddings=images[i], text_embeddings=texts[c], image_ids=items.image_ids[i],
        text_ids=items.caption_ids[c],
    )  # fmt: skip
    return path


def test_eval_knows_the_split(tmp_path: Path) -> None:
    build(parse(SMALL))
    by_id = vectors(tmp_path / "ids.npz", f"{SMALL}-test")
    by_row = vectors(tmp_path / "rows.npz", f"{SMALL}-test", ids=False)
    options = ("--metrics", "R@1,NCS@5", "--ci", "0", "--json")
    found = json.loads(printed("eval", by_id, *options))
    given = json.loads(printed("eval", by_row, "--split", f"{SMALL}-test", *options))
    assert found["split"] == given["split"] == f"{SMALL}-test"
    assert found["signature"] == given["signature"] and found["results"] == given["results"]
    report = vsebench.evaluate(by_row, split=f"{SMALL}-test", metrics="R@1", ci=0)
    assert report.split == f"{SMALL}-test" and report["R@1", "i2t"].value > 0.5
    printed("eval", by_id, "--metrics", "R@1", "-o", tmp_path / "A.json")
    assert "R@1" in printed("slice", tmp_path / "A.json", "--by", "length", "--metrics", "R@1", "--bins", "2")
    matched = json.loads(printed("inspect", by_id, "--json"))["matched"]
    assert matched["split"] == f"{SMALL}-test"


@pytest.mark.parametrize(
    ("split", "code"),
    [
        ("scenes-10k-test", 4),
        ("scenes-2500-seed3-val", 4),
        ("scenes-10k-tset", 2),
        ("scenes-10k", 2),
        ("scenes-10q-test", 2),
        ("scenes-200-test", 2),
    ],
)
def test_splits_that_are_not_there(split: str, code: int, tmp_path: Path, pinned: Pinned) -> None:
    np.savez(tmp_path / "e.npz", image_embeddings=np.eye(5), text_embeddings=np.repeat(np.eye(5), 5, axis=0))
    found, message = refused("eval", tmp_path / "e.npz", "--split", split)
    assert found == code
    pinned(message)


@pytest.mark.parametrize("file", [f"scenes/{SMALL}/about.json", f"splits/{SMALL}-test.npz"])
def test_a_description_replaces_no_file_of_the_data_set(file: str, cache: Path, pinned: Pinned) -> None:
    build(parse(SMALL))
    before = (cache / file).read_bytes()
    code, message = refused("data", "describe", SMALL, "--format", "json", "-o", cache / file)
    assert code == 2
    pinned(message)
    assert (cache / file).read_bytes() == before


def test_ids_of_scenes_that_are_no_whole_split(tmp_path: Path, pinned: Pinned) -> None:
    build(parse(SMALL))
    path = vectors(tmp_path / "e.npz", f"{SMALL}-test")
    whole = dict(np.load(path))
    images, own = whole["image_ids"], [text.rpartition("-")[0] for text in whole["text_ids"].tolist()]
    kept = np.isin(own, images[:6])
    half = {key: array[kept] if key.startswith("text") else array[:6] for key, array in whole.items()}
    np.savez(path, **half)
    options = ("--metrics", "R@1", "--ci", "0")
    code, message = refused("eval", path, *options)
    assert code == 3
    pinned(message)
    np.savez(path, **half, image_of_text=np.array(own)[kept])
    assert "R@1" in printed("eval", path, *options)
    printed("data", "remove", SMALL)
    np.savez(path, **whole)
    code, message = refused("eval", path, *options)
    assert code == 3
    pinned(message)


@pytest.mark.parametrize("file", ["scenes.npy", "facts.npy", "captions.jsonl", "images.npy"])
def test_damaged_content_is_refused_where_it_is_used(file: str, tmp_path: Path, pinned: Pinned) -> None:
    """Codes out of their range would be read by compiled code, which does not check them."""
    path = build(parse(SMALL)) / file
    given = vectors(tmp_path / "e.npz", f"{SMALL}-test")
    content = path.read_bytes()
    path.write_bytes(content[:-400] + bytes(byte ^ 0x55 for byte in content[-400:]))
    commands = {
        "data describe": ["data", "describe", SMALL],
        "eval": ["eval", given, "--metrics", "entails", "--ci", "0"],
        "eval of gains": ["eval", given, "--metrics", "match:NCS@5", "--ci", "0"],
    }
    if file in ("captions.jsonl", "images.npy"):
        stored.stored_path(f"{SMALL}-val").unlink()
        pytest.importorskip("PIL")
        commands = {"data export": ["data", "export", SMALL, "-o", tmp_path / "out"]}
        if file == "captions.jsonl":
            commands["data build"] = ["data", "build", SMALL, "--quiet"]
    for name, command in commands.items():
        code, message = refused(*command)
        assert code == 3, name
        pinned(message)
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
        assert tuple(a["caption"] for a in captions["annotations"]) == split.captions
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
    pytest.importorskip("PIL")
    build(parse(SMALL))
    all_of_it, out = tmp_path / "all", tmp_path / "test only"
    printed("data", "export", SMALL, "--out", all_of_it)
    printed("data", "export", SMALL, "--out", out, "--part", "test")
    for path in (p.relative_to(out) for p in out.rglob("*") if p.is_file()):
        assert (out / path).read_bytes() == (all_of_it / path).read_bytes()
    assert sorted(p.name for p in (out / "annotations").iterdir()) == ["captions_test.json", "instances_test.json"]
    printed("data", "build", "mine", "--from", out / "annotations/captions_test.json")
    mine, split = (vsebench.load_split(name, captions=True) for name in ("mine", f"{SMALL}-test"))
    assert mine.captions == split.captions and mine.image_of.tolist() == split.image_of.tolist()
    assert mine.image_ids.tolist() == list(range(46, 61))


def test_the_lines_of_captions_are_read_back() -> None:
    captions = build(parse(SMALL)) / "captions.jsonl"
    printed("data", "build", "mine", "--from", captions, "--part", "val")
    mine, split = (vsebench.load_split(name, captions=True) for name in ("mine", f"{SMALL}-val"))
    assert mine.captions == split.captions and mine.caption_ids.tolist() == split.caption_ids.tolist()


def test_exports_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    pytest.importorskip("PIL")
    assert refused("data", "export", SMALL, "-o", tmp_path / "x")[0] == 4
    build(parse(SMALL))
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").write_text("mine")
    code, message = refused("data", "export", SMALL, "-o", full)
    assert code == 2 and (full / "a").read_text() == "mine"
    pinned(message)
    code, message = refused("data", "export", SMALL, "-o", full / "a")
    assert code == 2
    pinned(message)
    code, message = refused("data", "export", SMALL, "-o", full / "a" / "b")
    assert code == 6
    pinned(message)
    (tmp_path / "here").mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path / "here")
        code, message = refused("data", "export", SMALL, "-o", ".")
    assert code == 2
    pinned(message)
    code, message = refused("data", "export", SMALL, "-o", tmp_path / "x", "--part", "tset")
    assert code == 2
    pinned(message)
    code, message = refused("data", "export", "coco-5k", "-o", tmp_path / "x")
    assert code == 2
    pinned(message)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    code, message = refused("data", "export", SMALL, "-o", tmp_path / "x")
    assert code == 4
    pinned(message)
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
