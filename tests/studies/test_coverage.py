"""The study of coverage runs, and its test sets are as it says."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from studies import coco_objects, coverage
from studies.validity.systems import judged, rated, ratings_of, sampled
from vsebench.scenes.sample import Draws
from vsebench.types import TestSet


def test_a_test_set_is_measured_with_all_metrics():
    found = coverage.one(30, 0)
    names = {name.rpartition(" ")[0] for name in found.index}
    assert names == {*coverage.BINARY, *coverage.GRADED}
    for name, value, low, high, p in found.itertuples():
        assert 0 <= p <= 1 and (np.isnan(low) or low <= value <= high), name
    assert coverage.one(30, 0).equals(found) and not coverage.one(30, 1).equals(found)


def test_relevance_grows_with_the_place_in_the_latent_space():
    test = coverage.draw(40, np.random.default_rng(0))
    own = test.gains[test.split.image_of, np.arange(len(test.split.image_of))]
    assert own.mean() > 3 * test.gains.mean() and test.gains.min() >= 0


# Simulated ratings of scenes: the same digits everywhere, and the judgements made of them.


def test_ratings_are_the_same_on_every_machine(scenes_split: TestSet) -> None:
    gains = np.float32(np.arange(200) * 37 % 97 / 97)
    chosen = sampled(gains, np.arange(200) < 5, Draws(0, "a", 1))
    assert chosen.tolist() == [0, 1, 2, 3, 4, 55, 76, 152, 173, 102, 123, 165, 18, 64, 162]
    scores = rated(gains[:9], np.array([0.0, 0.1, -0.1]), Draws(0, "b", 1))
    assert scores.dtype == np.int8 and scores.tolist() == [
        [0, 1, 0], [4, 5, 3], [5, 5, 5], [2, 2, 0], [4, 4, 5], [3, 5, 4], [2, 2, 2], [4, 5, 4], [0, 2, 0]
    ]  # fmt: skip
    made = b"".join(np.ascontiguousarray(a, a.dtype.newbyteorder("<")).tobytes() for a in ratings_of(scenes_split))
    assert hashlib.sha256(made).hexdigest()[:16] == "180f92ca904547fa"


def test_judged_are_the_pairs_rated_three_or_more(scenes_split: TestSet) -> None:
    images, captions, scores = ratings_of(scenes_split)
    pairs = zip(images.tolist(), captions.tolist(), scores.tolist(), strict=True)
    good = {(image, caption) for image, caption, of_pair in pairs if sum(of_pair) >= 3 * len(of_pair)}
    assert set(zip(*(x.tolist() for x in np.nonzero(judged(scenes_split))), strict=True)) == good


# The folder of COCO's objects: the numbers of a file, the parts, and the objects that other people have counted.


INSTANCES = {
    "images": [{"id": 7, "height": 10, "width": 20}, {"id": 9, "height": 4, "width": 5}],
    "categories": [{"id": 3, "name": "dog"}, {"id": 1, "name": "cat"}],
    "annotations": [{"image_id": 7, "category_id": 3, "area": area} for area in (50.0, 8.0, 2)],
}


def test_a_folder_of_made_up_objects(tmp_path, monkeypatch, refuses):
    test = TestSet.captioned("coco-5k", np.array([9]), np.array([95, 91, 92, 93, 94]), np.zeros(5, int))
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
