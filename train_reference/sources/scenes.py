"""The built-in scenes, as sets of regions or as pixels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench import load_split
from vsebench.relevance.sources import LABELS
from vsebench.scenes.build import build_scenes
from vsebench.scenes.folder import SCENES
from vsebench.scenes.settings import split_name
from vsebench.scenes.store import StoredScenes

from ..config import Config
from ..data import PARTS, Bar, Images, Part, PartName

GRID = 32  # cells of a side of an image, of its layout


def open_scenes_data(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts of a data set of scenes, which is built where it is not there yet.

    Features are ``regions`` (also with ``auto``) or ``pixels``. For ``loss.relevance`` ``labels`` the images have their
    layout, which is compared by mean intersection over union.

    Raises:
        UsageError: no such name.
        DiskError: it cannot be built.
    """
    data = config.data
    with bar(f"building {data.name}") as update:
        stored = build_scenes(data.name, progress=update)
    found: dict[PartName, Part] = {}
    for part in PARTS:
        rows = stored.part(part)
        if data.features == "pixels":
            images = Images(stored.images[rows], "pixels")
        else:
            start = np.asarray(stored.region_start[rows.start : rows.stop + 1])
            images = Images(stored.regions, "regions", start=start[:-1], stop=start[1:])
        found[part] = Part(load_split(split_name(stored.name, part), captions=True), images)
    if config.loss.relevance == LABELS and not data.labels:
        every = layout(stored)
        found = {n: replace(p, labels=every[stored.part(n)], label_distance="miou") for n, p in found.items()}
    return found


def layout(stored: StoredScenes) -> npt.NDArray[Any]:
    """(image, GRID, GRID) uint8: 1 where the centre of a cell is in the square of an object, 0 elsewhere."""
    found = np.zeros((len(stored.images), GRID, GRID), np.uint8)
    centres = (np.arange(GRID) + 0.5) * (stored.settings.size / GRID)
    with (stored.folder / SCENES).open(encoding="utf-8") as lines:
        for image, line in zip(found, lines, strict=True):
            for box in (box for group in json.loads(line)["groups"] for box in group["boxes"]):
                x, y = (slice(*np.searchsorted(centres, (box[side], box[side + 2]))) for side in (0, 1))
                image[y, x] = 1
    return found
