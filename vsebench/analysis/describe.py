"""What a data set consists of: its captions and words; of scenes also which captions are true of which images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..options import public
from ..results import table
from ..results.model import fixed
from ..results.render import Rendered
from ..results.table import Entry, Table, Value
from ..scenes import settings
from ..scenes.truth import truth_of
from ..sets.catalogue import load_split
from ..text.ptb import tokenise
from ..types import TestSet
from .true_pairs import SceneFacts, Spread, count_true, scene_facts, spread

Progress = Callable[[int, int], None]
FREQUENT = 100  # words
SHOWN = 20  # words of the list of the most frequent ones


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


@dataclass(frozen=True, repr=False)
class Description(Rendered):
    """What a data set consists of.

    Attributes:
        name: of the data set or split.
        parts: train, val and test of scenes; otherwise one.
    """

    kind = "description"
    heading: ClassVar = "{name}"
    main = "facts"
    settings: ClassVar = ("name",)
    name: str
    parts: tuple[Part, ...]

    @property
    def tables(self) -> list[Table]:
        """A table with one column a part; a record is a fact of a part."""
        lines = [(heading, *map(of, self.parts)) for heading, of in _ROWS]
        notes = list(_NOTES)
        scenes = {part.name: part.scenes for part in self.parts if part.scenes is not None}
        if len(scenes) == len(self.parts):
            lines += [(heading, *map(of_scenes, scenes.values())) for heading, of_scenes in _SCENE_ROWS]
            notes += _SCENE_NOTES
            steps = {name: facts.step for name, facts in scenes.items() if facts.step > 1}
            notes += [f"True pairs of {name} were counted for one caption in {step}." for name, step in steps.items()]
        last = self.parts[-1]
        notes.append(f"Most frequent words of {last.name}: {', '.join(word for word, _ in last.frequent[:SHOWN])}.")
        head = table.Column(self.name if len(self.parts) > 1 else "", "fact", words=True)
        columns = (head, *(table.Column(part.name, fields={"part": part.name}) for part in self.parts))
        words = [(word, Value(n, "count")) for part in self.parts for word, n in part.frequent]
        part_of = [part.name for part in self.parts for _ in part.frequent]
        named = (table.Column("word"), table.Column("n"), table.Column("part"))
        frequent = tuple((*row, part) for row, part in zip(words, part_of, strict=True))
        return [
            Table("facts", "", columns, tuple(lines), notes=tuple(notes)),
            Table("words", "", named, frequent, shown=False),
        ]


def _number(value: float) -> Value:
    return Value(value, "count" if isinstance(value, int) else "mean")


def _share(value: float) -> Value:
    return Value(value, "share")


def _spread(spread: Spread) -> Value:
    ends = f"[{fixed(spread.p5, 0, form=',')}, {fixed(spread.p95, 0, form=',')}]"
    return Value(spread.mean, "mean", (spread.p5, spread.p95), aside=ends, facts={"median": spread.median})


def _range(ends: tuple[int, int]) -> Value:
    """The least and the most; the least is the value."""
    several = ends[0] < ends[1]
    return Value(ends[0], "count", ends if several else None, aside=f"to {ends[1]:,}" * several)


@public
def describe(name: str, *, progress: Progress | None = None) -> Description:
    """What a data set consists of, as a table.

    Args:
        name: a split, such as ``coco-5k`` or ``scenes-10k-test``, or a data set of scenes: then all of its parts.
        progress: called with (done, in all).

    >>> import vsebench
    >>> vsebench.describe("coco-5k").parts[0].captions
    25000

    Raises:
        UsageError: no such split.
        MissingPackage: it is not built or installed, or its captions are not.
        BadInput: its files are damaged.
    """
    splits = {name: name}
    if settings.is_name(name) and settings.of_split(name) is None:
        name = settings.parse(name).name
        splits = {part: settings.split_name(name, part) for part in settings.PARTS}
    parts: list[Part] = []
    for n, (part, split) in enumerate(splits.items()):
        done = None if progress is None else _of_all(progress, n, len(splits))
        parts.append(_part(part, load_split(split, captions=True), done))
    return Description(name, tuple(parts))


def _of_all(progress: Progress, before: int, parts: int) -> Progress:
    """The progress of one part as that of all."""
    return lambda done, of: progress(before * of + done, parts * of)


def _part(label: str, split: TestSet, progress: Progress | None) -> Part:
    """What a split consists of."""
    captions = split.columns.texts or ()
    tokens = tokenise(captions)
    count = np.bincount(tokens.word, minlength=len(tokens.words)).tolist()
    frequent = sorted(zip(tokens.words, count, strict=True), key=lambda pair: (-pair[1], pair[0]))
    scenes: SceneFacts | None = None
    if settings.of_split(split.name) is not None:
        known = truth_of(split)
        scenes = scene_facts(known, count_true(known, split.owners, progress))
    same_words = [n for n in Counter(map(tuple, tokens.lists())).values() if n > 1]
    per_image = np.bincount(split.owners, minlength=len(split.rows.ids))
    return Part(
        label, len(split.rows.ids), len(captions), (int(per_image.min()), int(per_image.max())),
        spread(tokens.length), sum(n > 0 for n in count), sum(same_words) / len(tokens),
        tuple(pair for pair in frequent[:FREQUENT] if pair[1]), scenes,
    )  # fmt: skip


_ROWS: list[tuple[str, Callable[[Part], Entry]]] = [
    ("images", lambda p: _number(p.images)),
    ("captions", lambda p: _number(p.captions)),
    ("captions an image", lambda p: _range(p.captions_per_image)),
    ("words a caption, mean [5 %, 95 %]", lambda p: _spread(p.words)),
    ("different words", lambda p: _number(p.vocabulary)),
    ("repeated captions", lambda p: _share(p.repeated)),
]
_SCENE_ROWS: list[tuple[str, Callable[[SceneFacts], Entry]]] = [
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
