"""A description of a data set: images, captions and words; of scenes also what is true of what. Its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .format import fixed
from .grid import Cell, Grid
from .render import Rendered

SCHEMA = "vsebench/description/1"
SHOWN = 20  # words of the list of the most frequent ones


@dataclass(frozen=True)
class Spread:
    """Numbers of items: their mean, and the values that 5 %, half and 95 % of the items do not exceed."""

    mean: float
    p5: float
    median: float
    p95: float


def spread(values: npt.NDArray[Any]) -> Spread:
    """The spread of (item,) integers; zeros without items."""
    if not len(values):
        return Spread(0.0, 0.0, 0.0, 0.0)
    low, median, high = np.percentile(values, (5, 50, 95), method="inverted_cdf").tolist()
    return Spread(float(values.mean()), low, median, high)


@dataclass(frozen=True)
class SceneFacts:
    """What is known of a part of scenes.

    A pair of an image and a caption is true when all facts of the caption, at least one, hold in the image.

    Attributes:
        facts: facts of a caption, generic ones left out.
        kinds: share of captions by kind: true, wrong, generic.
        false_negatives: of all true pairs, the share whose caption was written for another image.
        ambiguous: of the captions that are true of their image, the share that is true of another one, too.
        images_a_caption: images that a caption is true of, for the captions that are true of their own.
        captions_an_image: mean number of captions that are true of an image and were written for another one.
        step: pairs were counted for every ``step``-th caption.
    """

    facts: Spread
    kinds: dict[str, float]
    false_negatives: float
    ambiguous: float
    images_a_caption: Spread
    captions_an_image: float
    step: int


@dataclass(frozen=True)
class Part:
    """What one split consists of.

    Attributes:
        name: ``train``, ``val`` or ``test``, or the name of the split.
        images, captions: how many.
        captions_per_image: the least and the most.
        words: of a caption.
        vocabulary: different words.
        repeated: share of captions that have the same words as another one of the split.
        frequent: the most frequent words, with their number.
        scenes: what is known of scenes; None for other data.
    """

    name: str
    images: int
    captions: int
    captions_per_image: tuple[int, int]
    words: Spread
    vocabulary: int
    repeated: float
    frequent: tuple[tuple[str, int], ...]
    scenes: SceneFacts | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found = {"part": self.name, **asdict(self), "frequent": dict(self.frequent)}
        found["captions_per_image"] = list(self.captions_per_image)
        left_out = ("name", *(["scenes"] if self.scenes is None else []))
        return {key: value for key, value in found.items() if key not in left_out}


@dataclass(frozen=True, repr=False)
class Description(Rendered):
    """What a data set consists of.

    Attributes:
        name: of the data set or split.
        parts: train, val and test of scenes; otherwise one.
    """

    heading: ClassVar = "{name}"
    name: str
    parts: tuple[Part, ...]

    def grids(self) -> list[Grid]:
        """A table with one column a part."""
        lines = [(Cell(heading), *map(of, self.parts)) for heading, of in _ROWS]
        notes = list(_NOTES)
        scenes = {part.name: part.scenes for part in self.parts if part.scenes is not None}
        if len(scenes) == len(self.parts):
            lines += [(Cell(heading), *map(of_scenes, scenes.values())) for heading, of_scenes in _SCENE_ROWS]
            notes += _SCENE_NOTES
            steps = {name: facts.step for name, facts in scenes.items() if facts.step > 1}
            notes += [f"True pairs of {name} were counted for one caption in {step}." for name, step in steps.items()]
        last = self.parts[-1]
        notes.append(f"Most frequent words of {last.name}: {', '.join(word for word, _ in last.frequent[:SHOWN])}.")
        headings = (self.name, *(part.name for part in self.parts)) if len(self.parts) > 1 else ("", last.name)
        return [Grid("", headings, 1, tuple(lines), tuple(notes))]

    def records(self) -> list[dict[str, Any]]:
        """One a part: part, images, captions, ..., and of scenes facts_mean, ..., true, ..., false_negatives, ..."""
        return [_flat(part) for part in self.parts]

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/description/1``."""
        return {"schema": SCHEMA, "name": self.name, "parts": [part.to_dict() for part in self.parts]}


def _flat(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = {}
    facts = part.to_dict()
    facts |= facts.pop("scenes", {})
    facts["fewest_captions"], facts["most_captions"] = facts.pop("captions_per_image")
    for key, value in facts.items():
        if key == "kinds":
            found |= value
        elif key != "frequent":
            found |= {f"{key}_{name}": v for name, v in value.items()} if isinstance(value, dict) else {key: value}
    return found


def _number(value: float) -> Cell:
    return Cell(f"{value:,}" if isinstance(value, int) else fixed(value, 1, form=","))


def _share(value: float) -> Cell:
    return Cell(f"{fixed(value, 1, times=100)} %")


def _spread(spread: Spread) -> Cell:
    return Cell(
        fixed(spread.mean, 1, form=","),
        aside=f"[{fixed(spread.p5, 0, form=',')}, {fixed(spread.p95, 0, form=',')}]",
    )


_ROWS: list[tuple[str, Callable[[Part], Cell]]] = [
    ("images", lambda p: _number(p.images)),
    ("captions", lambda p: _number(p.captions)),
    ("captions an image", lambda p: Cell(" to ".join(map(str, dict.fromkeys(p.captions_per_image))))),
    ("words a caption, mean [5 %, 95 %]", lambda p: _spread(p.words)),
    ("different words", lambda p: _number(p.vocabulary)),
    ("repeated captions", lambda p: _share(p.repeated)),
]
_SCENE_ROWS: list[tuple[str, Callable[[SceneFacts], Cell]]] = [
    ("facts a caption, mean [5 %, 95 %]", lambda s: _spread(s.facts)),
    ("true captions", lambda s: _share(s.kinds["true"])),
    ("wrong captions", lambda s: _share(s.kinds["wrong"])),
    ("generic captions", lambda s: _share(s.kinds["generic"])),
    ("false negatives", lambda s: _share(s.false_negatives)),
    ("captions true of several images", lambda s: _share(s.ambiguous)),
    ("images a caption is true of, mean [5 %, 95 %]", lambda s: _spread(s.images_a_caption)),
    ("images a caption is true of, median", lambda s: _number(int(s.images_a_caption.median))),
    ("true captions an image, beyond its own", lambda s: _number(float(s.captions_an_image))),
]
_NOTES = (
    "In brackets: the values that 5 % and 95 % do not exceed. Words are in lower case and without punctuation, as for "
    "CIDEr; a repeated caption has the words of another one.",
)
_SCENE_NOTES = (
    "A caption is true of an image when all its facts hold there. False negatives: of all true pairs of an image and a "
    "caption, those whose caption was written for another image.",
)
