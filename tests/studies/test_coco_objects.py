"""The folder of COCO's objects: the numbers of a file, the parts, and the objects that other people have counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from studies import coco_objects
from vsebench import load_split
from vsebench.sets import packages
from vsebench.types import Split

INSTANCES = {
    "images": [{"id": 7, "height": 10, "width": 20}, {"id": 9, "height": 4, "width": 5}],
    "categories": [{"id": 3, "name": "dog"}, {"id": 1, "name": "cat"}],
    "annotations": [{"image_id": 7, "category_id": 3, "area": area} for area in (50.0, 8.0, 2)],
}


def test_a_folder_of_made_up_objects(tmp_path, monkeypatch, refuses):
    test = Split("coco-5k", np.array([9]), np.array([95, 91, 92, 93, 94]), np.zeros(5, int))
    captions = {image: {10 * image + n: f"a dog {n}" for n in range(6)} for image in (7, 8, 9)}
    monkeypatch.setattr(coco_objects, "load_split", lambda name: test)
    monkeypatch.setattr(coco_objects, "read_captions", lambda: captions)
    (tmp_path / "i.json").write_text(json.dumps(INSTANCES))
    (tmp_path / "t.tsv").write_text("9\tdog\n7\tzebra, dog\n")
    (tmp_path / "val.txt").write_text("8\n")
    (tmp_path / "val.json").write_text(json.dumps({"images": [{"cocoid": 8, "split": "val"}, {"split": "test"}]}))
    coco_objects.main([str(tmp_path / name) for name in ("i.json", "val.txt", "one")])
    coco_objects.main([str(tmp_path / name) for name in ("t.tsv", "val.json", "two")])
    found = [[np.load(tmp_path / f / f"{part}_ims.npy").tolist() for part in ("train", "dev", "testall")]
             for f in ("one", "two")]  # fmt: skip
    # three dogs: log2(1 + 3) = 2; the largest one covers 50 of 200 pixels, whose root is 0.5
    assert found == [[[[0, 2, 0, 0.5]], [[0, 0, 0, 0]], [[0, 0, 0, 0]]], [[[1, 1]], [[0, 0]], [[1, 0]]]]
    assert (tmp_path / "one" / "train_ids.tsv").read_text().splitlines() == [f"7\t{n}" for n in range(70, 75)]
    assert (tmp_path / "one" / "testall_caps.txt").read_text().splitlines()[:2] == ["a dog 5", "a dog 1"]
    (tmp_path / "val.txt").write_text("9\n")
    refuses(SystemExit, coco_objects.main, [str(tmp_path / name) for name in ("i.json", "val.txt", "three")])


@pytest.mark.slow
@pytest.mark.real_data
def test_the_folder_of_the_test_data(real_data: Path, tmp_path: Path) -> None:
    """Other files with the same content, made by other people."""
    if not (packages.has_ids() and packages.has_captions()):
        pytest.skip("eccv_caption and pycocoevalcap are not installed (extra: text)")
    pytest.importorskip("torch", reason="torch is not installed (extra: train)")
    from train_reference.config import from_dict
    from train_reference.sources import open_data

    np.savetxt(tmp_path / "val.txt", np.load(real_data / "coco_splits/karpathy_val_image_ids.npz")["image_ids"], "%d")
    labels = real_data / "coco_val2014_labels/labels.tsv.gz"
    coco_objects.main([str(labels), str(tmp_path / "val.txt"), str(tmp_path / "objects")])
    parts = open_data(from_dict({"data": {"name": str(tmp_path / "objects")}}))
    sizes = {name: (len(part.images), len(part.captions), part.split.name) for name, part in parts.items()}
    assert sizes == {
        "train": (30504, 152520, "objects-train"), "val": (5000, 25000, "objects-val"), "test": (5000, 25000, "coco-5k")
    }  # fmt: skip
    assert np.array_equal(parts["test"].split.fold, load_split("coco-5k").fold)  # its signature is that of the set
    ids = np.load(real_data / "coco_splits/karpathy_caption_ids.npz")
    assert parts["val"].split.caption_ids.tolist() == ids["dev"].tolist()
    assert set(parts["train"].split.caption_ids.tolist()) <= set(ids["restval"].tolist())
    matrix = np.load(real_data / "coco5k/label_matrix.npy")
    assert np.array_equal(parts["test"].images.take(np.arange(5000))["images"].numpy(), matrix)
