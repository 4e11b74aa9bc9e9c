"""The task of a command on files that are mapped: 25,000 images and 1,000,000 captions, 4.2 GB in ``TMPDIR``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .inputs import Array, Inputs, unit
from .machine import run_command
from .scale import BLOCK, NOISE, QUERIES, blocks
from .task import Floor, Outcome, Task, Work

IMAGES, EACH = 25_000, 40  # captions of each


def size(given: Inputs) -> int:
    """Number of images."""
    return 1_000 if given.quick else IMAGES


def _images(given: Inputs, n: int) -> Array:
    return unit(np.random.default_rng(0).standard_normal((n, given.dim), dtype=np.float32))


def floor(given: Inputs) -> Work:
    """A part of the product, extrapolated."""
    part = _images(given, BLOCK)
    work, scale = blocks(part[:QUERIES], part), size(given) ** 2 * EACH / (BLOCK * QUERIES)

    def measured() -> Outcome:
        work()
        return Outcome(scale=scale)

    return measured


def command(given: Inputs) -> Work:
    """``vsebench eval`` of two .npy files; ``EACH`` captions are near every image."""
    folder, images = Path(given.folder.name), _images(given, size(given))
    rng = np.random.default_rng((0, 1))  # other numbers than those of the images
    np.save(folder / "images.npy", images)
    shape = (EACH * len(images), given.dim)
    captions = np.lib.format.open_memmap(folder / "captions.npy", "w+", np.float32, shape)
    for start in range(0, len(images), BLOCK // EACH):
        near = np.repeat(images[start : start + BLOCK // EACH], EACH, axis=0)
        noise = rng.standard_normal(near.shape, dtype=np.float32)
        captions[EACH * start : EACH * start + len(near)] = near + NOISE / given.dim**0.5 * noise
    captions.flush()
    arguments = ["eval", str(folder / "images.npy"), str(folder / "captions.npy"), "--captions-per-image", str(EACH)]
    arguments += ["--metrics", "recall", "--json", "--no-progress", "--no-per-query"]
    return lambda: Outcome(measured={"MiB": run_command(*arguments)})


WORDS = "command: vsebench eval of mapped .npy files, exact ranks of both directions"
TASKS = (Task("command", WORDS, command, Floor("F", floor), "<= 1024 MiB"),)
