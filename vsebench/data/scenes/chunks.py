"""Some images of a data set as bytes: a piece of each of its files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...scenes.captions import captions
from ...scenes.draws import Draws
from ...scenes.encode import encode_facts, encode_scene
from ...scenes.regions import regions
from ...scenes.render import render
from ...scenes.settings import Settings
from ...scenes.world import Scene
from .folder import CAPTIONS, SCENES
from .records import caption_line, scene_line

Pieces = dict[str, list[bytes]]  # file -> what follows in it


def add_image(pieces: Pieces, settings: Settings, image: int, scene: Scene, regions_before: int) -> int:
    """Add one image to the pieces of all files.

    Args:
        pieces: of all files; changed.
        settings: of the data set.
        image: its number.
        scene: what it shows.
        regions_before: the number of regions of all images before it.

    Returns:
        The number of regions, with those of this image.
    """
    name, part = settings.name, settings.part_of(image)
    found = regions(scene, settings, Draws(settings.seed, "regions", image))
    after = regions_before + len(found.boxes)
    described = captions(scene, image, settings)
    lines = (caption_line(name, image, number, part, caption) for number, caption in enumerate(described))
    for file, piece in (
        ("images.npy", render(scene, settings.size, Draws(settings.seed, "pixels", image)).tobytes()),
        ("scenes.npy", encode_scene(scene).tobytes()),
        ("facts.npy", b"".join(encode_facts(c.content.facts, c.content.kind).tobytes() for c in described)),
        ("regions.npy", found.vectors.astype("<f4").tobytes()),
        ("boxes.npy", found.boxes.astype("<f4").tobytes()),
        ("region_start.npy", np.array(after, "<i8").tobytes()),
        (SCENES, scene_line(name, image, part, scene, settings.size).encode()),
        (CAPTIONS, "".join(lines).encode()),
    ):
        pieces[file].append(piece)
    return after


def images_a_chunk(settings: Settings, most: int = 16 << 20) -> int:
    """How many images are generated before they are written: 500, or so many that their pixels take 16 MiB."""
    return max(1, min(500, most // (3 * settings.size**2)))


def empty(files: Sequence[str]) -> Pieces:
    """Pieces of these files to which nothing was added."""
    return {file: [] for file in files}
