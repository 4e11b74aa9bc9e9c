"""Which captions of a part of scenes are true of which of its images, counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..numeric.parallel import each
from ..results.description import SceneFacts, spread
from ..scenes.content import KINDS
from ..scenes.encode import FACTS_COUNT, FACTS_KIND
from ..scenes.truth import Truth
from ..types import Bool, Int

MOST_PAIRS = 1 << 30  # that are compared, 15 s on 2 cores; of larger parts, every second, third, ... caption is
_BLOCK = 1 << 22  # pairs at once: 4 MB


@dataclass(frozen=True, eq=False)
class TruePairs:
    """True pairs of an image and a caption, for every ``step``-th caption.

    Attributes:
        images: (counted caption,) int64 number of images that it is true of.
        own: (counted caption,) bool, whether it is true of the image that it was written for.
        step: 1 when all captions are counted.
    """

    images: Int
    own: Bool
    step: int


def count_true(known: Truth, image_of: Int, progress: Callable[[int, int], None] | None) -> TruePairs:
    """Compare every image with every caption, or with some of them where there are many.

    Args:
        known: of the split.
        image_of: (caption,) int64, the image that it was written for.
        progress: called with (captions done, captions in all).
    """
    step = max(1, math.ceil(len(known.scenes) * len(known.facts) / MOST_PAIRS))
    facts, owner = known.facts[::step], image_of[::step]
    truth, stated = Truth(known.scenes, facts), facts[:, FACTS_COUNT]
    images, own = np.zeros(len(facts), np.int64), np.zeros(len(facts), np.bool_)
    size, done = max(1, _BLOCK // len(known.scenes)), 0

    def compare(start: int) -> None:
        nonlocal done
        stop = min(start + size, len(facts))
        holds = (truth.matched_rows("t2i", start, stop) == stated[start:stop, None]) & (stated[start:stop, None] > 0)
        images[start:stop] = holds.sum(axis=1)
        own[start:stop] = holds[np.arange(stop - start), owner[start:stop]]
        done += stop - start
        if progress is not None:
            progress(done, len(facts))

    each(compare, range(0, len(facts), size))
    return TruePairs(images, own, step)


def scene_facts(known: Truth, pairs: TruePairs) -> SceneFacts:
    """The numbers for the table."""
    every, own = int(pairs.images.sum()), int(pairs.own.sum())
    of_own = pairs.images[pairs.own]
    stated, share = known.facts[:, FACTS_COUNT], np.bincount(known.facts[:, FACTS_KIND], minlength=len(KINDS))
    return SceneFacts(
        facts=spread(stated[stated > 0]),
        kinds=dict(zip(KINDS, (share / len(stated)).tolist(), strict=True)),
        false_negatives=1 - own / every if every else 0.0,
        ambiguous=float((of_own > 1).mean()) if own else 0.0,
        images_a_caption=spread(of_own),
        captions_an_image=pairs.step * (every - own) / len(known.scenes),
        step=pairs.step,
    )
