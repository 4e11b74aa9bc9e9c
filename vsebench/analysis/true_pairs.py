"""Which captions of a part of scenes are true of which of its images, counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numeric.parallel import each
from ..scenes.content import KINDS
from ..scenes.folder import FACTS_COUNT, FACTS_KIND
from ..scenes.truth import Truth
from ..types import Bool, Int


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
        images_a_caption: images that a caption is true of, over captions that are true of their image.
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
    """Compare every image with every caption, or with a sample if there are many.

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
        matched, wanted = truth.matched((0, len(known.scenes)), (start, stop)), stated[start:stop, None]
        holds = (matched == wanted) & (wanted > 0)
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
