"""Small reports on disk for the commands that read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vsebench
from vsebench.report.report import Report
from vsebench.types import Split

IMAGES = 24


def split(images: int = IMAGES, offset: int = 100) -> Split:
    """A custom split of so many images with three captions each, in two folds."""
    owner = np.repeat(np.arange(images), 3)
    return Split(
        "custom", np.arange(images) + offset, np.arange(3 * images) + 1000 + offset, owner,
        fold=np.arange(images) * 2 // images,
    )  # fmt: skip


def report(noise: float, seed: int = 0, world: Split | None = None, **options: object) -> Report:
    """A model whose captions are its images plus noise: less noise is better."""
    world = world or split()
    rng = np.random.default_rng(9)
    images = rng.standard_normal((len(world.image_ids), 8))
    captions = images[world.image_of] + noise * np.random.default_rng(seed).standard_normal((len(world.image_of), 8))
    return vsebench.evaluate(images, captions, split=world, **{"metrics": "all", "resamples": 50, **options})


def write(path: Path, done: Report, per_query: bool = True) -> str:
    """The report as a file; returns its name."""
    path.write_text(done.to_json(per_query), encoding="utf-8")
    return str(path)


def files(folder: Path, **noise: float) -> list[str]:
    """One file a model: its name and how noisy it is."""
    return [write(folder / f"{name}.json", report(n, seed)) for seed, (name, n) in enumerate(noise.items())]
