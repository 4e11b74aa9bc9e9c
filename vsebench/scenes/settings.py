"""The settings of a data set of scenes, which are its name: ``scenes-10k``, ``scenes-2000-seed3-size32``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal, get_args

from ..errors import UsageError

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = get_args(Part)
GENERATOR_VERSION = 2  # raised when the same settings give other bytes
TINY_IMAGES = 200  # images of scenes-tiny
CAPTIONS = 5  # of an image
MAX_IMAGES = 1_000_000
MIN_PART_IMAGES = 50  # images of val and of test, if there are enough
MAX_PART_IMAGES = 5_000  # as in COCO
_NAME = re.compile(r"scenes-(tiny|[1-9]\d{0,6}k?)((?:-[a-z]+[\d.]*)*)")
_SHARES = ("near", "wrong", "generic", "miss")


@dataclass(frozen=True)
class Settings:
    """What determines every byte of a data set of scenes.

    Attributes:
        images: number of images of all parts, from 10.
        seed: of everything random.
        size: width and height of the images, in pixels, 16 to 512.
        near: share of images that differ from another one of their part in one attribute or number, or the background.
        tail: exponent of Zipf's law of the combinations of shape and colour; 0 makes all equally frequent.
        wrong: share of captions that are false of their image.
        generic: share of captions that state no fact.
        noise: standard deviation of a feature of the regions; features of an object are 0 or 1.
        miss: share of objects that have no region, as a detector misses some; an image keeps at least one.
        leaks: whether a scene graph may occur in two parts.

    Raises:
        UsageError: a value out of its range.
    """

    images: int = 10_000
    seed: int = 0
    size: int = 64
    near: float = 0.1
    tail: float = 0.5
    wrong: float = 0.02
    generic: float = 0.03
    noise: float = 0.3
    miss: float = 0.05
    leaks: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("images", 10, MAX_IMAGES), ("size", 16, 512), ("seed", 0, 2**31 - 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise UsageError(f"{name} is {value}", fix=f"give an integer from {low:,} to {high:,}")
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 0.9:
                raise UsageError(f"{name} is {getattr(self, name)}", fix="give a share from 0 to 0.9")
        if self.wrong + self.generic > 0.9:
            what = f"wrong and generic add up to {self.wrong + self.generic:g}"
            raise UsageError(what, fix="give shares that add up to at most 0.9")
        for name in ("tail", "noise"):
            if not 0 <= getattr(self, name) <= 5:
                raise UsageError(f"{name} is {getattr(self, name)}", fix="give a number from 0 to 5")

    @property
    def name(self) -> str:
        """The name of the data set: the number of images, and every setting that is not the default."""
        count = f"{self.images // 1000}k" if self.images % 1000 == 0 else str(self.images)
        parts = ["scenes", "tiny" if self.images == TINY_IMAGES else count]
        default = Settings(self.images)
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value != getattr(default, field.name):
                parts.append(field.name if value is True else f"{field.name}{_written(value)}")
        return "-".join(parts)

    @property
    def sizes(self) -> dict[Part, int]:
        """The number of images of every part: a tenth each for val and test, but 50 to 5,000 where that is possible."""
        held_out = min(max(self.images // 10, min(MIN_PART_IMAGES, self.images // 4)), MAX_PART_IMAGES)
        return {"train": self.images - 2 * held_out, "val": held_out, "test": held_out}

    def part_of(self, image: int) -> Part:
        """The part of image number ``image``: train, then val, then test."""
        sizes = self.sizes
        if image < sizes["train"]:
            return "train"
        return "val" if image < sizes["train"] + sizes["val"] else "test"

    def start(self, part: Part) -> int:
        """The number of the first image of a part."""
        before = PARTS[: PARTS.index(part)]
        return sum(self.sizes[p] for p in before)


def parse(name: str) -> Settings:
    """The settings that a name states; ``parse(settings.name) == settings``.

    Raises:
        UsageError: no name of scenes, an unknown setting, or a value out of its range.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        fix = "write scenes-tiny, scenes-10k or scenes-2500, and settings as in scenes-10k-seed3-size32"
        raise UsageError(f"'{name[:80]}' is not the name of scenes", fix=fix)
    count, rest = match.groups()
    images = TINY_IMAGES if count == "tiny" else int(count[:-1]) * 1000 if count.endswith("k") else int(count)
    known = {field.name: _READ[str(field.type)] for field in fields(Settings)[1:]}
    given: dict[str, int | float | bool] = {}
    for part in rest.split("-")[1:]:
        key = part.rstrip("0123456789.")
        text = part[len(key) :]
        if key not in known or key in given:
            what = f"'{name}': {key} is given twice" if key in given else f"'{name}': there is no setting '{key}'"
            raise UsageError(what, fix=f"use {', '.join(known)}, each once")
        read, fix = known[key]
        try:
            given[key] = read(text)
        except ValueError:
            raise UsageError(f"'{name}': {key} is '{text}'", fix=fix) from None
    return Settings(images, **given)  # type: ignore[arg-type]


def is_name(name: str) -> bool:
    """Whether a name is meant for scenes: ``scenes`` or ``scenes-...``."""
    return name == "scenes" or name.startswith("scenes-")


def split_name(name: str, part: Part) -> str:
    """The name of the split of a part, such as ``scenes-10k-test``."""
    return f"{name}-{part}"


def of_split(split: str) -> tuple[str, Part] | None:
    """The data set and the part that the name of a split consists of; None for other splits."""
    name, _, part = split.rpartition("-")
    found: Part | None = next((p for p in PARTS if p == part), None)
    return (name, found) if found is not None and is_name(name) and name != "scenes" else None


def _flag(text: str) -> bool:
    if text:
        raise ValueError(text)
    return True


_READ: dict[str, tuple[Callable[[str], int | float | bool], str]] = {
    "int": (int, "give an integer, as in seed3"),
    "float": (float, "give a number, as in near0.2"),
    "bool": (_flag, "give no value"),
}


def _written(value: float) -> str:
    """Without an exponent, and so that it is read as the same number."""
    return str(value) if isinstance(value, int) else f"{Decimal(repr(float(value))).normalize():f}"
