"""Small reports on disk for the commands that read them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

import vsebench
from vsebench.results.report import Report
from vsebench.types import TestSet

IMAGES = 24


def split(images: int = IMAGES, offset: int = 100) -> TestSet:
    """A custom split of so many images with three captions each, in two folds."""
    owner = np.repeat(np.arange(images), 3)
    return TestSet.captioned(
        "custom", np.arange(images) + offset, np.arange(3 * images) + 1000 + offset, owner,
        fold=np.arange(images) * 2 // images,
    )  # fmt: skip


def report(noise: float, seed: int = 0, world: TestSet | None = None, **options: object) -> Report:
    """A model whose captions are its images plus noise: less noise is better."""
    world = world or split()
    rng = np.random.default_rng(9)
    images = rng.standard_normal((len(world.rows.ids), 8))
    captions = images[world.image_of] + noise * np.random.default_rng(seed).standard_normal((len(world.image_of), 8))
    return vsebench.evaluate(images, captions, split=world, **{"metrics": "all", "resamples": 50, **options})


def same_reports(found: Report, wanted: Report) -> None:
    """All that is measured is equal, bit for bit: values, those of queries, intervals, lists; and the signature."""
    assert found.signature == wanted.signature
    for one, other in zip((*found.results, *found.parts), (*wanted.results, *wanted.parts), strict=True):
        key = str(one.metric), one.direction
        assert key == (str(other.metric), other.direction)
        for f in dataclasses.fields(one):
            a, b = getattr(one, f.name), getattr(other, f.name)
            if isinstance(b, np.ndarray):
                assert np.array_equal(a, b, equal_nan=True), (key, f.name)
            elif f.name != "metric":
                assert a == b, (key, f.name)
    for a, b in zip(found.lists, wanted.lists, strict=True):
        assert np.array_equal(a.items, b.items) and np.array_equal(a.scores, b.scores)


def write(path: Path, done: Report, per_query: bool = True) -> str:
    """The report as a file; returns its name."""
    path.write_text(done.to_json(per_query), encoding="utf-8")
    return str(path)


def files(folder: Path, **noise: float) -> list[str]:
    """One file a model: its name and how noisy it is."""
    return [write(folder / f"{name}.json", report(n, seed)) for seed, (name, n) in enumerate(noise.items())]
