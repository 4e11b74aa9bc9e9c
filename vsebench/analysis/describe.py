"""What a data set consists of: its captions and words; of scenes also which captions are true of which images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ..arguments import public
from ..results.description import Description, Part, SceneFacts, spread
from ..scenes import settings
from ..scenes.truth import truth_of
from ..sets.catalogue import load_split
from ..text.tokenise import tokenise
from ..types import Split
from .true_pairs import count_true, scene_facts

Progress = Callable[[int, int], None]
FREQUENT = 100  # words


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


def _part(label: str, split: Split, progress: Progress | None) -> Part:
    """What a split consists of."""
    captions = split.captions or ()
    tokens = tokenise(captions)
    count = np.bincount(tokens.word, minlength=len(tokens.words)).tolist()
    frequent = sorted(zip(tokens.words, count, strict=True), key=lambda pair: (-pair[1], pair[0]))
    scenes: SceneFacts | None = None
    if settings.of_split(split.name) is not None:
        known = truth_of(split)
        scenes = scene_facts(known, count_true(known, split.owners, progress))
    same_words = [n for n in Counter(map(tuple, tokens.lists())).values() if n > 1]
    per_image = np.bincount(split.owners, minlength=len(split.image_ids))
    return Part(
        label, len(split.image_ids), len(captions), (int(per_image.min()), int(per_image.max())),
        spread(tokens.length), sum(n > 0 for n in count), sum(same_words) / len(tokens),
        tuple(pair for pair in frequent[:FREQUENT] if pair[1]), scenes,
    )  # fmt: skip
