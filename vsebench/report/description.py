"""A description of a data set: images, captions and words; of scenes also what is true of what. Its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from . import description_page
from .description_parts import Example, Part, SceneFacts, Spread
from .format import fixed
from .grid import Cell, Grid
from .render import Rendered

SCHEMA = "vsebench/description/1"
SHOWN = 20  # words of the list of the most frequent ones


@dataclass(frozen=True, repr=False)
class Description(Rendered):
    """What a data set consists of.

    Attributes:
        name: of the data set or split.
        parts: train, val and test of scenes; otherwise one.
        examples: some images of the last part with their captions, for the page.
    """

    heading: ClassVar = "{name}"
    name: str
    parts: tuple[Part, ...]
    examples: tuple[Example, ...] = ()

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
        """The document of schema ``vsebench/description/1``, without the examples."""
        return {"schema": SCHEMA, "name": self.name, "parts": [part.to_dict() for part in self.parts]}

    def to_html(self) -> str:
        """A complete page that needs no other file, with histograms and example images."""
        first, *others = self._complete()
        untitled = replace(first, headings=("", *first.headings[1:]))  # the page has the name as its title
        return description_page.page(self.title, [untitled, *others], self.parts, self.examples)


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
    ("near-duplicate images", lambda s: _share(s.near_duplicates)),
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
    "caption, those whose caption was written for another image. A near-duplicate differs from another image of its "
    "part in at most one attribute, number or background.",
)
