"""The recipes of papers: they are complete configurations, and name a row that was published."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")

from train_reference import config, start  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.sources import SOURCES  # noqa: E402
from vsebench.relevance.kinds import parse_spec  # noqa: E402

RECIPES = sorted(path.relative_to(config.FOLDER).with_suffix("").as_posix() for path in config.FOLDER.rglob("*.toml"))
PAPERS = [name for name in RECIPES if not name.startswith(("scenes/", "coco-objects/"))]


def comment(name: str) -> list[str]:
    """The lines of the comment at the start of a recipe."""
    lines = (config.FOLDER / f"{name}.toml").read_text().splitlines()
    return [line.removeprefix("# ") for line in lines[: next(n for n, x in enumerate(lines) if not x.startswith("#"))]]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_complete_configuration(name):
    found = config.read(name)
    assert set(found.loss.settings) <= set(get_loss(found.loss.name).settings)
    if get_loss(found.loss.name).needs_degree:
        parse_spec(found.loss.relevance)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_settings_of_pixels_only_with_pixels(name):
    for found in (config.read(name).model, start.configured(config=name, smoke=True).model):
        of_pixels = found.crop, found.pretrained, found.finetune
        assert found.image != "linear" or of_pixels == ("center", True, False)


@pytest.mark.parametrize("name", PAPERS)
def test_a_recipe_of_a_paper_says_what_it_reproduces_and_what_is_inferred(name):
    lines = comment(name)
    assert any(line.startswith("Inferred: ") for line in lines)
    assert any(line.startswith("Row: ") for line in lines) or name == "logratio/f30k-wmd"
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
    assert {name.partition("/")[0] for name in PAPERS} >= {
        "vsepp",
        "vse0",
        "order",
        "ladder",
        "sam",
        "bcls",
        "logratio",
    }
