"""The captions and words of a data set; for scenes also which captions are true of which images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ..options import public
from ..results.model import fixed
from ..results.render import Result
from ..results.table import Column, Entry, Table, Value
from ..scenes import settings
from ..scenes.truth import truth_of
from ..sets.catalogue import load_split
from ..text.ptb import tokenise
from ..types import TestSet
from .true_pairs import SceneFacts, Spread, count_true, scene_facts, spread

Progress = Callable[[int, int], None]
FREQUENT = 100  # words
SHOWN = 20  # words of the list of the most frequent ones


@public
def describe(name: str, *, progress: Progress | None = None) -> Result:
    """Describe a test set: images, captions and words.

    Args:
        name: a test set such as coco-5k, or a data set of scenes with all of its parts.
        progress: called with (done, in all).

    >>> import vsebench
    >>> [row["value"] for row in vsebench.describe("coco-5k").records() if row["fact"] == "captions"]
    [25000]

    Raises:
        UsageError: no such split.
        MissingPackage: it is not built or installed, or its captions are not.
        BadInput: its files are damaged.
    """
    splits = {name: name}
    if settings.is_name(name) and settings.of_split(name) is None:
        name = settings.parse(name).name
        splits = {part: settings.split_name(name, part) for part in settings.PARTS}
    parts = {}
    for n, (part, split) in enumerate(splits.items()):
        done = None if progress is None else _of_all(progress, n, len(splits))
        parts[part] = _part(load_split(split, captions=True), done)
    of_scenes = all(facts is not None for _, _, facts in parts.values())
    notes = [*_NOTES, *_SCENE_NOTES * of_scenes]
    shown = [{**facts, **_of_scenes(scenes)} if scenes and of_scenes else facts for facts, _, scenes in parts.values()]
    notes += [
        f"True pairs of {part} were counted for one caption in {scenes.step}."
        for part, (_, _, scenes) in parts.items()
        if scenes is not None and scenes.step > 1
    ]
    last, (_, frequent, _) = list(parts.items())[-1]
    notes.append(f"Most frequent words of {last}: {', '.join(list(frequent)[:SHOWN])}.")
    head = Column(name if len(parts) > 1 else "", "fact", words=True)
    columns = (head, *(Column(part, fields={"part": part}) for part in parts))
    lines: tuple[tuple[Entry, ...], ...] = tuple((fact, *(facts[fact] for facts in shown)) for fact in shown[0])
    words = tuple((word, Value(n, "count"), part) for part, (_, of, _) in parts.items() for word, n in of.items())
    tables = (
        Table("facts", "", columns, lines, notes=tuple(notes)),
        Table("words", "", tuple(map(Column, ("word", "n", "part"))), words, shown=False),
    )
    return Result(kind="description", title=name, main="facts", tables=tables, settings={"name": name})


def _of_all(progress: Progress, before: int, parts: int) -> Progress:
    """The progress of one part as progress of all parts."""
    return lambda done, of: progress(before * of + done, parts * of)


def _part(split: TestSet, progress: Progress | None) -> tuple[dict[str, Value], dict[str, int], SceneFacts | None]:
    """The counts of a split, its most frequent words, and for scenes the counts of true pairs."""
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
    least, most = int(per_image.min()), int(per_image.max())
    several = least < most
    facts = {
        "images": _number(len(split.rows.ids)),
        "captions": _number(len(captions)),
        "captions an image": Value(least, "count", (least, most) if several else None, aside=f"to {most:,}" * several),
        "words a caption, mean [5 %, 95 %]": _spread(spread(tokens.length)),
        "different words": _number(sum(n > 0 for n in count)),
        "repeated captions": Value(sum(same_words) / len(tokens), "share"),
    }
    return facts, dict(pair for pair in frequent[:FREQUENT] if pair[1]), scenes


def _of_scenes(scenes: SceneFacts) -> dict[str, Value]:
    shares = {
        **{f"{kind} captions": scenes.kinds[kind] for kind in ("true", "wrong", "generic")},
        "false negatives": scenes.false_negatives,
        "captions true of several images": scenes.ambiguous,
    }
    return {
        "facts a caption, mean [5 %, 95 %]": _spread(scenes.facts),
        **{name: Value(share, "share") for name, share in shares.items()},
        "images a caption is true of, mean [5 %, 95 %]": _spread(scenes.images_a_caption),
        "images a caption is true of, median": _number(int(scenes.images_a_caption.median)),
        "true captions an image, beyond its own": _number(float(scenes.captions_an_image)),
    }


def _number(value: float) -> Value:
    return Value(value, "count" if isinstance(value, int) else "mean")


def _spread(spread: Spread) -> Value:
    ends = f"[{fixed(spread.p5, 0, form=',')}, {fixed(spread.p95, 0, form=',')}]"
    return Value(spread.mean, "mean", (spread.p5, spread.p95), aside=ends, facts={"median": spread.median})


_NOTES = (
    "In brackets: the values that 5 % and 95 % do not exceed. Words are in lower case and without punctuation, as for "
    "CIDEr; a repeated caption has the words of another one.",
)
_SCENE_NOTES = (
    "A caption is true of an image when all its facts hold there. False negatives: of all true pairs of an image and a "
    "caption, those whose caption was written for another image.",
)
