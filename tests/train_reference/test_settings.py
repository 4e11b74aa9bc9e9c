"""What settings of a run do: seeds, mixed precision, reduced data, warm-up, neighbours, selection."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vsebench.errors import Diverged, UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from tests.training import silent, small  # noqa: E402
from train_reference import checkpoint, config, model, train  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402


def weights(out: Path) -> dict[str, bytes]:
    return {name: t.numpy().tobytes() for name, t in checkpoint.read(out / checkpoint.LAST).part("model.").items()}


def test_a_seed_decides_every_bit(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train.train(small(train={"seed": seed}), tmp_path / name, say=silent)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


def test_mixed_precision_is_close_to_single_precision(tmp_path):
    """The encoders compute in bfloat16 (8 bits of mantissa), scores and losses do not."""
    run, other = (train.prepare(small(train={"precision": p})) for p in ("float32", "bf16"))
    batch = next(iter(run.loader(0)))
    single, mixed = (train.step(r, batch, 0)[0] for r in (run, other))
    assert mixed != single
    assert mixed == pytest.approx(single, rel=0.02)
    assert {p.dtype for p in other.model.parameters()} == {torch.float32}
    report = train.train(small(train={"precision": "bf16"}), tmp_path, say=silent)
    assert report.split == "scenes-40-size16-test"


def test_reduced_data_are_the_first_captions():
    whole, part = (train.prepare(small(data={"first": share})) for share in (1.0, 0.25))
    captions = whole.parts["train"].captions
    assert part.parts["train"].captions == captions[: len(captions) // 4]
    assert {c for rows in part.loader.order(0) for c in rows.tolist()} <= set(range(len(captions) // 4))
    assert part.parts["val"].captions == whole.parts["val"].captions


@pytest.mark.parametrize(("name", "relevance"), [("log_ratio", "match"), ("sam", "cider")])
def test_neighbours_are_other_captions_and_more_relevant_than_random_ones(name, relevance):
    loss = {"name": name, "relevance": relevance, "neighbours": 8}
    run = train.prepare(small(loss=loss, data={"name": "scenes-100-size16"}))
    near, far = [], []
    image_of = run.parts["train"].split.image_of
    for rows in run.loader.order(0):
        assert len(set(rows.tolist())) == len(rows) == 20
        chosen, fresh = rows[12:], rows[:12]
        assert not set(image_of[chosen].tolist()) & set(image_of[fresh].tolist())
        degree = run.loader.relevance(rows, rows)
        other = image_of[fresh][:, None] != image_of[fresh][None]
        near.append(degree[:12, 12:].max(axis=0).mean())
        far.append(np.where(other, degree[:12, :12], -1).max(axis=0).mean())
    assert np.mean(near) > np.mean(far) + 0.02


def test_the_sum_of_hinges_comes_first():
    """In an epoch of the warm-up the value is that of ``sh`` with the margin of the loss, later that of the loss."""
    run = train.prepare(small(loss={"name": "mh", "warmup": 2, "settings": {"margin": 0.3}}))
    batch = next(iter(run.loader(0)))
    s = torch.randn(20, 20)
    for epoch, name in ((0, "sh"), (1, "sh"), (2, "mh")):
        expected = get_loss(name).function(s, batch["positive"], margin=0.3)
        assert train.loss_of(run, s, batch, epoch).item() == expected.item()


@pytest.mark.parametrize(("name", "best"), [("MedR", min), ("cider:NCS@10", max), ("RSum", max)])
def test_the_selecting_metric(name, best, tmp_path):
    """The best epoch is the first one with the best mean of both directions, as the log has it."""
    said: list[str] = []
    train.train(small(train={"select": name, "epochs": 4, "lr": 0.01}), tmp_path, say=said.append)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    values = [np.mean([v for k, v in e.items() if k in (name, f"{name} i2t", f"{name} t2i")]) for e in log]
    assert f"best epoch {1 + values.index(best(values))} of 4" in said[-1]
    assert len(checkpoint.read(tmp_path).log) == 1 + values.index(best(values))
    assert f"{name} " in said[1]


def test_epochs_of_the_warm_up_are_not_the_best(tmp_path):
    """The epochs of the sum of hinges are not those of the loss; without others the best of them is taken."""
    settings = {"loss": {"name": "mh", "warmup": 3}, "train": {"epochs": 4, "lr": 0.01}}
    train.train(small(**settings), tmp_path / "a", say=silent)
    assert len(checkpoint.read(tmp_path / "a").log) == 4
    settings["train"]["epochs"] = 2
    train.train(small(**settings), tmp_path / "b", say=silent)
    assert len(checkpoint.read(tmp_path / "b").log) in (1, 2)


def test_a_value_that_is_no_number_is_never_the_best(refuses):
    log = [{"RSum": value} for value in (np.nan, 1.0, 2.0, np.nan)]
    assert train.best_epoch(small(), log) == 3
    refuses(Diverged, train.best_epoch, small(), log[:1])


def test_the_caption_of_the_pair_stands_for_its_image(tmp_path, refuses):
    """The degree is the cosine of the captions of both pairs, also of two captions of one image; 1 for a pair."""
    count = len(train.prepare(small()).parts["train"].captions)
    vectors = np.random.default_rng(0).standard_normal((count, 6)).astype(np.float32)
    np.save(tmp_path / "vectors.npy", vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    loss = {"name": "bcls", "relevance": f"sentence:{tmp_path / 'vectors.npy'}", "degree_of": "caption"}
    run = train.prepare(small(loss=loss))
    for batch in run.loader(0):
        rows = batch["items"]
        assert np.allclose(batch["degree"].numpy(), unit[rows] @ unit[rows].T, atol=1e-5)
    refuses(
        UsageError,
        train.prepare,
        small(loss={"name": "bcls", "relevance": "match", "degree_of": "caption"}),
    )


def test_all_weights_are_fine_tuned_with_one_learning_rate():
    """VSE++, section 4.1: 15 epochs, ten times slower for another 15, then 15 with the image network, all with 2e-5."""
    torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")
    assert torchvision
    settings = config.read("vsepp,ft,resnet152,f30k")
    settings = config.override(settings, {"model.pretrained": False, "model.dim": 8})
    both = model.build(settings, "pixels", 3, 10)
    optimiser = torch.optim.Adam(model.groups(both), lr=settings.train.lr)
    run = train.Run(settings, both, optimiser, None, {}, "", (), torch.device("cpu"))  # type: ignore[arg-type]
    for epoch, rates in ((0, [2e-4, 0]), (14, [2e-4, 0]), (15, [2e-5, 0]), (30, [2e-5, 2e-5]), (44, [2e-5, 2e-5])):
        train.schedule(run, epoch)
        assert [group["lr"] for group in optimiser.param_groups] == pytest.approx(rates)
        assert all(p.requires_grad == (epoch >= 30) for p in optimiser.param_groups[1]["params"])
        both.train()  # batch statistics and dropout of a network belong to its training
        assert {m.training for m in both.images.network.modules()} == {epoch >= 30}
        assert both.images.project.training and both.captions.training


def test_a_smoke_run_of_a_recipe_needs_no_files():
    gains = config.configured(None, "bcls", smoke=True).loss
    assert (gains.relevance, gains.degree_of) == ("match", "image")
    found = config.configured(None, "sam-f30k", smoke=True)
    assert (found.data.name, found.data.first, found.loss.warmup, found.loss.name) == ("scenes-tiny", 1.0, 0, "sam")
    image = config.configured(None, "vsepp,ft,resnet152", smoke=True).model
    assert (image.image, image.finetune) == ("linear", False)
    assert config.configured("mh", smoke=True).loss.warmup == 1
