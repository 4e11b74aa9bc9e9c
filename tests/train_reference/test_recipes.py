"""The recipes of papers: they are complete configurations, and name a row that was published."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")

from train_reference import config  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.sources import SOURCES  # noqa: E402
from vsebench.errors import BadInput, UsageError  # noqa: E402
from vsebench.relevance import parse_spec  # noqa: E402

RECIPES = config.recipes()
PAPERS = [name for name in RECIPES if not name.startswith("scenes/")]


def comment(name: str) -> list[str]:
    """The lines of the comment at the start of a recipe."""
    lines = (config.FOLDER / f"{name}.toml").read_text().splitlines()
    return [line.removeprefix("# ") for line in itertools.takewhile(lambda line: line.startswith("#"), lines)]


def bases(name: str) -> list[str]:
    """A recipe, its base, the base of that one, and so on."""
    base = re.search(r'^base = "(.+)"$', (config.FOLDER / f"{name}.toml").read_text(), re.M)
    return [name, *(bases(base[1]) if base else [])]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_complete_configuration(name):
    found = config.read(name)
    assert set(found.loss.settings) <= set(get_loss(found.loss.name).settings)
    if get_loss(found.loss.name).needs_degree:
        parse_spec(found.loss.relevance)
    for model in (found.model, config.configured(config=name, smoke=True).model):
        of_pixels = model.crop, model.pretrained, model.finetune
        assert model.image != "linear" or of_pixels == ("center", True, False)


@pytest.mark.parametrize("name", PAPERS)
def test_a_recipe_of_a_paper_says_what_it_reproduces_and_what_is_inferred(name):
    assert any(line.startswith("Inferred: ") for line in comment(name)) and "Never trained here." in comment(name)
    assert any(line.startswith("Row: ") for line in comment(name)) or name == "logratio/f30k-wmd"
    data = config.read(name).data
    assert any(source.fits(data.name) for source in SOURCES) or data.name.endswith("_precomp")
    assert bool(data.images) == data.name.endswith(".json")


@pytest.mark.real_data
@pytest.mark.parametrize("name", PAPERS)
def test_the_row_of_a_recipe_was_published(name, real_data: Path):
    file = real_data.parent / "spec" / "published_results.csv"
    if not file.is_file():
        pytest.skip(f"no table of published results: {file.name}")
    with file.open(encoding="utf-8") as stream:
        columns = ("paper", "table", "dataset", "split", "model", "setting")
        known = {tuple(row[c] for c in columns) for row in csv.DictReader(stream)}
    for line in comment(name):
        if line.startswith("Row: "):
            row = line.removeprefix("Row: ").split(" | ")
            assert (*row, *[""] * (6 - len(row))) in known


def test_every_paper_has_recipes():
    papers = {"vsepp", "vse0", "order", "ladder", "sam", "bcls", "logratio"}
    assert {name.partition("/")[0] for name in PAPERS} == papers


def test_a_recipe_of_several_bases_is_the_published_row():
    """VSE0 (ResNet, FT) on Flickr30K, row 3.16 of VSE++: what its four bases say, and what it says itself."""
    assert len(bases("vse0/f30k-resnet152-ft")) == 5
    found = config.read("vse0/f30k-resnet152-ft")
    assert (found.data.images, found.model.image, found.model.finetune) == ("flickr30k-images", "resnet152", True)
    assert (found.model.normalise_images, found.loss.name, found.loss.settings) == (False, "sh", {"margin": 0.2})
    assert (found.train.epochs, found.train.finetune_from, found.train.decay_every) == (45, 30, 15)


def test_a_file_changes_some_values_of_its_base(tmp_path, monkeypatch):
    """A base is a recipe, whatever folders there are, or a file beside; errors name the file that has the fault."""
    (tmp_path / "sam" / "f30k").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    mine, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    other.write_text('base = "sam/f30k"\n[loss]\nsettings = { tau = 5.0 }\n')
    mine.write_text('base = "other.toml"\n[train]\nlr = 1\n')
    found, recipe = config.read(mine), config.read(config.FOLDER / "sam" / "f30k.toml")
    assert found == config.override(recipe, train_lr=1.0, loss_settings={"tau": 5.0})
    for text, message in (
        ('base = "mine.toml"', r"mine\.toml: is a base of itself"),
        ('base = "sam/f30"', r"other\.toml: unknown base 'sam/f30'\n  fix: did you mean 'sam/f30k'"),
        ("base = 3", r"other\.toml: base is 3(.|\n)*fix: name a file"),
        ("[train]\nepocs = 3", r"other\.toml: unknown key of \[train\] 'epocs'(.|\n)*epochs"),
    ):
        other.write_text(text)
        with pytest.raises((UsageError, BadInput), match=message):
            config.read(mine)
