"""The recipes of papers: they are complete configurations, and give rows that were published."""

from __future__ import annotations

import csv
import dataclasses
import shlex
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")

from tests.devices import DEVICES  # noqa: E402
from tests.train_reference.test_sources import karpathy  # noqa: E402
from train_reference import config, encoders, train  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.sources import OF_CAPTIONS  # noqa: E402
from vsebench.errors import BadInput, UsageError  # noqa: E402

RECIPES = config.recipes()


class Row(NamedTuple):
    """A line of ``configs/rows.csv``: a recipe, settings of ``--set``, and the published row."""

    recipe: str
    settings: str
    row: tuple[str, ...]

    @property
    def config(self) -> config.Config:
        return config.assign(config.read(self.recipe), shlex.split(self.settings))


with (config.FOLDER / "rows.csv").open(encoding="utf-8", newline="") as stream:
    ROWS = [Row(recipe, settings, tuple(row)) for recipe, settings, *row in list(csv.reader(stream))[1:]]
PARTS = {"f30k", "ft", "images", "resnet152", "smoke", "ten"}  # which change a recipe, and are none themselves


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_complete_configuration(name):
    """It says what was inferred, has settings of its loss, and starts on a GPU."""
    found = config.read(name)
    assert set(found.loss.settings) <= set(get_loss(found.loss.name).settings)
    if name not in PARTS and "/" not in name:
        assert "# Inferred: " in (config.FOLDER / f"{name}.toml").read_text()
    for c in (found, config.configured(config=name, smoke=True)):
        of_pixels = c.model.crop, c.model.pretrained, c.model.finetune
        assert name in PARTS or c.model.image != "linear" or of_pixels == ("center", True, False)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.recipe} {row.settings}")
def test_a_published_row_is_a_complete_configuration(row):
    found = row.config
    assert found.loss.entry.name == found.loss.name
    assert found.data.name.endswith((*OF_CAPTIONS, "_precomp"))
    assert bool(found.data.images) == found.data.name.endswith(".json")
    assert not (found.model.trained and found.model.image_encoder.pooling and found.train.deterministic)
    assert not (found.model.finetune and found.model.crop == "ten"), "it would train on ten crops of every image"
    assert found.train.deterministic is not (found.model.finetune and found.model.image == "vgg19")
    assert ("f30k" in row.recipe) == ("Flickr30K" in row.row)


@pytest.mark.real_data
def test_the_rows_were_published(real_data: Path):
    file = real_data.parent / "spec" / "published_results.csv"
    if not file.is_file():
        pytest.skip(f"no table of published results: {file.name}")
    with file.open(encoding="utf-8") as stream:
        columns = ("paper", "table", "dataset", "split", "model", "setting")
        known = {tuple(row[c] for c in columns) for row in csv.DictReader(stream)}
    assert {row.row for row in ROWS} <= known


def test_every_recipe_of_a_paper_has_a_row():
    used = {name for row in ROWS for name in row.recipe.split(",")}
    assert used == {name for name in RECIPES if "/" not in name} - {
        "log_ratio",
        "images",
        "smoke",
    }  # figure 3 has no numbers


def test_a_recipe_of_several_parts_is_the_published_row():
    """VSE0 (ResNet, FT) on Flickr30K, row 3.16 of VSE++; the later part counts."""
    found = config.read("vse0,ft,resnet152,f30k")
    assert (found.data.images, found.model.image, found.model.finetune) == ("flickr30k-images", "resnet152", True)
    assert (found.model.normalise_images, found.loss.name, found.loss.settings) == (False, "sh", {"margin": 0.2})
    assert (found.train.epochs, found.train.finetune_from, found.train.decay_every) == (45, 30, 15)
    assert config.read("resnet152,vsepp").model.image == "vgg19"


PIXELS = sorted(
    {row.recipe for row in ROWS if not row.recipe.startswith("sam") and "f30k" not in row.recipe} | {"log_ratio"}
)
NETWORKS = {(c.model.image, c.model.crop, c.model.finetune): name for name in PIXELS for c in [config.read(name)]}


def takes_a_step(recipe: str, device: str, folder: Path) -> None:
    """Without ImageNet weights, and with CIDEr-D for gains that need a model or a file."""
    near = min(1, config.read(recipe).loss.neighbours)
    changes = [f"data.name={karpathy(folder, 8)}", f"data.images={folder / 'photos'}", "data.word_count=2"]
    changes += ["model.pretrained=false", "train.batch=3", "loss.relevance=cider", "loss.scale=0.1"]
    changes += [f"train.device={device}"]
    found = config.assign(config.read(recipe), [*changes, f"loss.neighbours={near}"])
    run = train.prepare(found)
    train.schedule(run, found.train.finetune_from)
    before = {name: weight.clone() for name, weight in run.model.named_parameters()}
    assert train.step(run, next(iter(run.loader(0))), found.train.finetune_from)[0] >= 0
    moved = {name for name, weight in run.model.named_parameters() if not torch.equal(weight, before[name])}
    assert "images.project.weight" in moved
    assert any(name.startswith("images.network") for name in moved) == found.model.finetune
    assert {weight.device.type for weight in run.model.parameters()} == {device}


@pytest.mark.nightly
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("recipe", NETWORKS.values())
def test_networks_of_torchvision_take_a_step_on_drawn_images(recipe, device, tmp_path, monkeypatch):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    takes_a_step(recipe, device, tmp_path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("recipe", PIXELS)
def test_a_recipe_of_pixels_takes_a_step_on_drawn_images(recipe, device, tmp_path, monkeypatch):
    """With a small network in place of that of torchvision."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    for name in ("vgg19", "resnet152"):
        entry = encoders.get_encoder(name)
        make = partial(torch.nn.Sequential, torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())
        small = dataclasses.replace(
            entry, make=lambda out=entry.width, make=make: make(torch.nn.Linear(12, out)), side=32
        )
        monkeypatch.setitem(encoders.ENCODERS, name, small)
    takes_a_step(recipe, device, tmp_path)


def test_a_file_changes_some_values_of_its_base(tmp_path, monkeypatch, refuses):
    """A base is a recipe, whatever folders there are, or a file beside; errors name the file that has the fault."""
    (tmp_path / "sam-f30k").mkdir()
    monkeypatch.chdir(tmp_path)
    mine, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    other.write_text('base = "sam-f30k"\n[loss]\nsettings = { tau = 5.0 }\n')
    mine.write_text('base = "other.toml"\n[train]\nlr = 1\n')
    found, recipe = config.read(mine), config.read(config.FOLDER / "sam-f30k.toml")
    assert found == config.override(recipe, {"train.lr": 1.0, "loss.settings": {"tau": 5.0}})
    for text in ('base = "mine.toml"', 'base = "sam-f30"', 'base = "sam-f30k,f3k"', "base = 3", "[train]\nepocs = 3"):
        other.write_text(text)
        refuses((UsageError, BadInput), config.read, mine)
