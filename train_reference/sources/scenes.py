"""The built-in scenes, as sets of regions or as pixels."""

from __future__ import annotations

import numpy as np

from vsebench import load_split
from vsebench.scenes.build import build_scenes
from vsebench.scenes.settings import is_name, split_name

from ..config import Config
from ..data import PARTS, Bar, Images, Part, PartName, Pixels, Regions


def fits(name: str) -> bool:
    """Whether a name is one of scenes."""
    return is_name(name)


def open_scenes_data(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts of a data set of scenes, which is built where it is not there yet.

    Features are ``regions`` (also with ``auto``) or ``pixels``.

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
        images: Images
        if data.features == "pixels":
            images = Pixels(stored.images[rows])
        else:
            start = np.asarray(stored.region_start[rows.start : rows.stop + 1])
            images = Regions(stored.regions, start)
        found[part] = Part(load_split(split_name(stored.name, part), captions=True), images)
    return found
