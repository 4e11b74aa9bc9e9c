"""Opening data sets of scenes: their arrays as memory maps, and scenes and captions as lines of JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, unknown
from ..files.regular import opened
from ..options import public
from ..types import Ids, Int
from .facts import AT_LEAST_TWO, UNSAID, Facts, Mention
from .folder import Codes, arrays, damaged, folder_of, read_about
from .settings import CAPTIONS, PARTS, Part, Settings, of_split, parse
from .wording import Caption
from .world import ATTRIBUTES, BACKGROUNDS, RELATIONS, SIDE, Scene


def image_id(name: str, image: int) -> str:
    """The id of an image, such as ``scenes-10k-000017``; ids of one data set have the same length."""
    return f"{name}-{image:06d}"


def scene_line(name: str, image: int, part: Part, scene: Scene, size: int) -> str:
    """A line of ``scenes.jsonl``; boxes are (left, top, right, bottom) in pixels."""
    groups: list[dict[str, Any]] = []
    for g, group in enumerate(scene.groups):
        words: dict[str, Any] = {key: ATTRIBUTES[key][getattr(group, key)] for key in ATTRIBUTES}
        # Exact: a box is an integer, and SIDE a power of two.
        boxes = [[edge * size / SIDE for edge in box] for box in scene.boxes(g)]
        groups.append({**words, "number": group.number, "boxes": boxes})
    record = {
        "id": image_id(name, image),
        "part": part,
        "background": BACKGROUNDS[scene.background],
        "groups": groups,
        "relations": [[a, RELATIONS[relation], b] for relation, a, b in sorted(scene.relations)],
    }
    return json.dumps(record) + "\n"


def caption_line(name: str, image: int, number: int, part: Part, caption: Caption) -> str:
    """A line of ``captions.jsonl``."""
    image_name = image_id(name, image)
    record = {
        "caption_id": f"{image_name}-{number}",
        "image_id": image_name,
        "split": part,
        "caption": caption.text,
        "kind": caption.content.kind,
        "facts": in_words(caption.content.facts),
    }
    return json.dumps(record) + "\n"


def in_words(facts: Facts) -> dict[str, Any]:
    """What a caption states, as plain values: ``{"mentions": [{"shape": "circle", "number": 2}], ...}``.

    Under ``relations``, ``[0, "left of", 1]`` connects mentions by their index.
    """
    stated: dict[str, Any] = {"mentions": [_mention(mention) for mention in facts.mentions]}
    if facts.relations:
        stated["relations"] = [[a, RELATIONS[relation], b] for relation, a, b in facts.relations]
    if facts.background != UNSAID:
        stated["background"] = BACKGROUNDS[facts.background]
    return stated


def _mention(mention: Mention) -> dict[str, Any]:
    words: dict[str, Any] = {
        key: ATTRIBUTES[key][code] for key, code in zip(ATTRIBUTES, mention.attributes, strict=True) if code != UNSAID
    }
    if mention.number != UNSAID:
        words["number"] = "at least 2" if mention.number == AT_LEAST_TWO else mention.number
    return words


@dataclass(frozen=True, eq=False)
class StoredScenes:
    """A data set of scenes on disk. The arrays are memory maps: only used parts are read.

    Axes: image (of all parts: train, then val, then test), caption (five of every image, in its order), region (those
    of image i are ``region_start[i]`` to before ``region_start[i + 1]``).

    Attributes:
        name: of the data set, such as ``scenes-10k``.
        settings: what it was made with.
        folder: its place.
        images: (image, size, size, 3) uint8, RGB.
        scenes: (image, SCENE_WIDTH) int8, rows of ``vsebench.scenes.folder.encode_scene``.
        facts: (caption, FACTS_WIDTH) int8, rows of ``encode_facts``.
        regions: (region, DIM) float32, a vector for every object that was detected, and last for the image.
        boxes: (region, 4) float32: left, top, right and bottom, in [0, 1].
        region_start: (image + 1,) int64.
    """

    name: str
    settings: Settings
    folder: Path
    images: npt.NDArray[np.uint8]
    scenes: Codes
    facts: Codes
    regions: npt.NDArray[np.float32]
    boxes: npt.NDArray[np.float32]
    region_start: Int

    def part(self, part: Part) -> slice:
        """The images of a part; raises UsageError for another name."""
        if part not in PARTS:
            raise unknown("part", str(part), PARTS)
        first = self.settings.start(part)
        return slice(first, first + self.settings.sizes[part])

    def image_rows(self, ids: Ids) -> Int:
        """The row of every image, (item,) int64, by its id in a split; raises BadInput for other ids."""
        return self._rows(ids, 1)

    def caption_rows(self, ids: Ids) -> Int:
        """The row of every caption, (item,) int64, by its id in a split; raises BadInput for other ids."""
        return self._rows(ids, CAPTIONS)

    def _rows(self, ids: Ids, each: int) -> Int:
        start, rows = f"{self.name}-", np.empty(len(ids), np.int64)
        for n, text in enumerate(map(str, np.asarray(ids).tolist())):
            number, _, caption = text.removeprefix(start).partition("-")
            digits = number + caption
            known = text.startswith(start) and len(number) == 6 and digits.isdecimal() and digits.isascii()
            if not known or len(caption) != (each > 1) or int(number) >= len(self.images) or int(caption or 0) >= each:
                what = f"'{text[:80]}' is not the id of {'a caption' if each > 1 else 'an image'} of {self.name}"
                raise BadInput(what, where=self.folder)
            rows[n] = int(number) * each + int(caption or 0)
        return rows


@public
def open_scenes(name: str) -> StoredScenes:
    """Open a data set of scenes that was built here.

    Args:
        name: the data set, or one of its splits, such as ``scenes-10k-test``.

    >>> import vsebench
    >>> scenes = vsebench.build_scenes("scenes-tiny")  # once
    >>> scenes = vsebench.open_scenes("scenes-tiny-test")
    >>> scenes.images[scenes.part("test")].shape
    (50, 64, 64, 3)

    Raises:
        UsageError: no name of scenes.
        MissingPackage: not built here; the message has the command.
        BadInput: a file is damaged, or another version of vsebench has built it.
    """
    split = of_split(name)
    settings = parse(name if split is None else split[0])
    name = settings.name
    read_about(name)
    folder = folder_of(name)
    opened(folder)
    found: dict[str, Any] = {}
    for file, (descr, shape) in arrays(settings).items():
        try:
            array = np.load(folder / file, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise damaged(folder / file, name, str(error)) from error
        if array.dtype.str != descr or array.shape[1:] != shape:
            raise damaged(folder / file, name, f"{array.dtype} of shape {array.shape}")
        found[file.removesuffix(".npy")] = array
    return StoredScenes(name, settings, folder, **found)
