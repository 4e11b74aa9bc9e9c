"""What settings of a run do: seeds, mixed precision, reduced data, warm-up, neighbours, selection."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from train_reference import checkpoint, config, train  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402

SMALL = {
    "data": {"name": "scenes-40-size16", "word_count": 2},
    "model": {"dim": 8, "word_dim": 8},
    "train": {"epochs": 1, "batch": 20, "threads": 1},
}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all tests of this file, in which the scenes are built once."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path_factory.getbasetemp() / "cache-of-training"))


def small(**sections: dict) -> config.Config:
    """A configuration that takes a second, with other values in some sections."""
    return config.from_dict({name: {**SMALL.get(name, {}), **sections.get(name, {})} for name in config.SECTIONS})


def silent(text: str) -> None:
    """Say nothing."""


def weights(out: Path) -> dict[str, bytes]:
    return {name: t.numpy().tobytes() for name, t in checkpoint.read(out / checkpoint.LAST).weights.items()}


def test_a_seed_decides_every_bit(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train.train(small(train={"seed": seed}), tmp_path / name, say=silent)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


def test_mixed_precision_is_close_to_single_precision(tmp_path):
    """The encoders compute in bfloat16 (8 bits of mantissa), scores and losses do not."""
    run, other = (train.prepare(small(train={"amp": amp}), train.no_bar) for amp in ("off", "bf16"))
    batch = next(iter(run.loader(0)))
    single, mixed = (train.step(r, batch, 0) for r in (run, other))
    assert mixed != single
    assert mixed == pytest.approx(single, rel=0.02)
    assert {p.dtype for p in other.model.parameters()} == {torch.float32}
    report = train.train(small(train={"amp": "bf16"}), tmp_path, say=silent)
    assert report.split == "scenes-40-size16-test"


def test_reduced_data_are_the_first_captions():
    whole, part = (train.prepare(small(data={"first": share}), train.no_bar) for share in (1.0, 0.25))
    captions = whole.parts["train"].captions
    assert part.parts["train"].captions == captions[: len(captions) // 4]
    assert {c for rows in part.loader.order(0) for c in rows.tolist()} <= set(range(len(captions) // 4))
    assert part.parts["val"].captions == whole.parts["val"].captions


@pytest.mark.parametrize("relevance", ["truth", "cider"])
def test_neighbours_are_other_captions_and_more_relevant_than_random_ones(relevance):
    loss = {"name": "log_ratio", "relevance": relevance, "neighbours": 8}
    run = train.prepare(small(loss=loss, data={"name": "scenes-100-size16"}), train.no_bar)
    near, far = [], []
    image_of = run.parts["train"].split.image_of
    for rows in run.loader.order(0):
        assert len(set(rows.tolist())) == len(rows) == 20
        chosen, fresh = rows[12:], rows[:12]
        assert not set(image_of[chosen].tolist()) & set(image_of[fresh].tolist())
        degree = run.loader.degree(image_of[rows], rows)
        other = image_of[fresh][:, None] != image_of[fresh][None]
        near.append(degree[:12, 12:].max(axis=0).mean())
        far.append(np.where(other, degree[:12, :12], -1).max(axis=0).mean())
    assert np.mean(near) > np.mean(far) + 0.02


def test_the_sum_of_hinges_comes_first():
    """In an epoch of the warm-up the value is that of ``sh`` with the margin of the loss, later that of the loss."""
    run = train.prepare(small(loss={"name": "mh", "warmup": 2, "settings": {"margin": 0.3}}), train.no_bar)
    batch = next(iter(run.loader(0)))
    s = torch.randn(20, 20)
    for epoch, name in ((0, "sh"), (1, "sh"), (2, "mh")):
        expected = get_loss(name).function(s, batch["positive"], margin=0.3)
        assert train._loss(run, s, batch, epoch).item() == expected.item()


@pytest.mark.parametrize(("name", "best"), [("MedR", min), ("cider:NCS@10", max), ("RSum", max)])
def test_the_selecting_metric(name, best, tmp_path):
    """The best epoch is the first one with the best mean of both directions, as the log has it."""
    said: list[str] = []
    train.train(small(train={"select": name, "epochs": 4, "lr": 0.01}), tmp_path, say=said.append)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    values = [np.mean([v for k, v in e.items() if k in (name, f"i2t_{name}", f"t2i_{name}")]) for e in log]
    assert checkpoint.read(tmp_path).progress.best_epoch == 1 + values.index(best(values))
    assert f"{name} " in said[1]


def test_epochs_of_the_warm_up_are_not_the_best(tmp_path):
    """The epochs of the sum of hinges are not those of the loss; without others the best of them is taken."""
    settings = {"loss": {"name": "mh", "warmup": 3}, "train": {"epochs": 4, "lr": 0.01}}
    train.train(small(**settings), tmp_path / "a", say=lambda text: None)
    assert checkpoint.read(tmp_path / "a").progress.best_epoch == 4
    settings["train"]["epochs"] = 2
    train.train(small(**settings), tmp_path / "b", say=lambda text: None)
    assert checkpoint.read(tmp_path / "b").progress.best_epoch in (1, 2)
