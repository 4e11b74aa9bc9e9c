"""Models of images alone, trained and evaluated by the distances of their labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from tests.training import silent, small  # noqa: E402
from train_reference import config, data, sources, train  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.sources import GRID  # noqa: E402

KIND = {"text": "none", "similarity": "euclidean"}


def images(loss: dict | None = None, model: dict | None = None, **sections: dict) -> config.Config:
    """A run of images alone that takes a second."""
    given = {"name": "log_ratio", "relevance": "labels", "settings": {"similarity": "euclidean"}, **(loss or {})}
    more = {"select": "labels:nDCG@5", **sections.pop("train", {})}
    return small(loss=given, model={**KIND, **(model or {})}, train=more, **sections)


def test_images_are_trained_by_the_distances_of_their_layouts(tmp_path, refuses):
    report = train.train(images(train={"epochs": 8, "lr": 0.02}), tmp_path / "run", say=silent)
    untrained = train.train(images(train={"epochs": 0}), tmp_path / "none", say=silent)
    assert report["labels:nDCG@10", "i2i"].value > untrained["labels:nDCG@10", "i2i"].value
    file = tmp_path / "run" / "embeddings.npz"
    again = vb.evaluate_unimodal(file, file, label_distance="miou")
    assert again["labels:nDCG@10", "i2i"].value == report["labels:nDCG@10", "i2i"].value
    assert again.signature == report.signature
    refuses(BadInput, vb.evaluate, tmp_path / "run")


def test_a_resumed_run_has_the_same_bits(tmp_path):
    loss = {"neighbours": 6}
    train.train(images(loss, train={"epochs": 1}), tmp_path / "a", say=silent)
    train.train(images(loss, train={"epochs": 2}), tmp_path / "a", resume=True, say=silent)
    train.train(images(loss, train={"epochs": 2}), tmp_path / "b", say=silent)
    found = [np.load(tmp_path / name / "embeddings.npz")["image_embeddings"] for name in "ab"]
    assert np.array_equal(*found)


def test_a_layout_is_where_objects_are():
    settings = images(data={"name": "scenes-20", "features": "pixels"})
    part = sources.open_data(settings)["val"]
    assert part.labels is not None and part.labels.shape[1:] == (GRID, GRID)
    for pixels, layout in zip(
        part.images.take(np.arange(len(part.images)))["images"].numpy(), part.labels, strict=True
    ):
        cells = pixels.reshape(3, GRID, 2, GRID, 2).mean(axis=(2, 4))
        difference = np.abs(cells - np.median(cells[:, layout == 0], axis=1)[:, None, None]).max(axis=0)
        assert difference[layout == 0].mean() < 0.2 * difference[layout == 1].mean()


def test_anchors_are_compared_with_candidates_by_their_labels():
    run = train.prepare(images({"neighbours": 4}, train={"batch": 12}))
    batch = next(run.loader(0))
    assert batch["degree"].shape == batch["positive"].shape == (6, 6) and not batch["positive"].any()
    labels = run.parts["train"].labels[batch["items"]].astype(bool)
    one, other = labels[0], labels[6]
    overlap = np.mean([(a & b).sum() / (a | b).sum() for a, b in ((one, other), (~one, ~other))])
    assert batch["degree"][0, 0] == pytest.approx(overlap, abs=1e-6)
    near, others = batch["degree"][:, 2:].max(axis=1).values.mean(), batch["degree"][:, :2].mean()
    assert near > others, "the last ones are chosen near anchors"


def test_labels_of_a_file(tmp_path: Path, refuses: Refuses):
    ids = np.concatenate([part.split.rows.ids for part in sources.open_data(images()).values()])
    positions = np.random.default_rng(0).random((len(ids), 2))
    np.savez(tmp_path / "labels.npz", image_ids=ids[::-1], labels=positions[::-1])
    settings = images(data={"labels": str(tmp_path / "labels.npz")})
    pairs = data.relevance_of(settings, sources.open_data(settings)["train"])
    expected = 1 - np.linalg.norm(positions[2] - positions[5])
    assert pairs(np.array([2]), np.array([5]))[0, 0] == pytest.approx(expected)
    assert "labels:euclidean" in train.train(settings, tmp_path / "run", say=silent).signature
    np.save(tmp_path / "labels.npy", positions)
    refuses(BadInput, sources.open_data, images(data={"labels": str(tmp_path / "labels.npy")}))


@pytest.mark.parametrize(
    "sections",
    [
        {"model": {"text": "gru"}},
        {"loss": {"relevance": "match"}},
        {"loss": {"name": "mh", "settings": {}}},
        {"loss": {"warmup": 1}},
        {"train": {"select": "RSum"}},
    ],
)
def test_settings_that_do_not_fit_images_alone(sections, refuses):
    refuses(UsageError, train.prepare, images(**sections))


def test_every_loss_on_label_distances_has_a_recipe_of_images():
    for name in ("log_ratio", "dense_triplet", "nearest_triplet"):
        found = config.read(f"scenes/{name},images")
        assert (found.model.text, found.loss.relevance) == ("none", "labels")
        assert get_loss(found.loss.name).degree == "label"
