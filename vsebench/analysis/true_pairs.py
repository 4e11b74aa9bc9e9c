"""Which captions of a part of scenes are true of which of its images, counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..data.scenes.folder import check_content
from ..data.scenes.store import open_scenes
from ..numeric.parallel import each
from ..relevance.scenes.truth import Truth
from ..report.description_parts import Histogram, SceneFacts, bars, spread
from ..scenes.alike import near_duplicates
from ..scenes.content import KINDS
from ..scenes.encode import FACTS_COUNT, FACTS_KIND, Codes
from ..types import Bool, Int, Split

MOST_PAIRS = 1 << 30  # that are compared, 15 s on 2 cores; of larger parts, every second, third, ... caption is
_BLOCK = 1 << 22  # pairs at once: 4 MB
_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a split of scenes.

    Attributes:
        scenes: (image, SCENE_WIDTH) int8.
        facts: (caption, FACTS_WIDTH) int8.
        images: (image, size, size, 3) uint8, RGB; a memory map.
    """

    scenes: Codes
    facts: Codes
    images: npt.NDArray[np.uint8]

    @cached_property
    def truth(self) -> Truth:
        """Which facts hold where."""
        return Truth(self.scenes, self.facts)

    @property
    def stated(self) -> npt.NDArray[np.int8]:
        """(caption,) int8 number of facts."""
        return self.facts[:, FACTS_COUNT]

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(caption,) int8 index in ``KINDS``."""
        return self.facts[:, FACTS_KIND]


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


def known_scenes(split: Split) -> Known:
    """What is known of a split of scenes; raises as ``open_scenes``."""
    stored = open_scenes(split.name)
    check_content(stored.name, "scenes.npy", "facts.npy")  # the kernels take codes as they are
    rows = stored.image_rows(split.image_ids)
    start, stop = int(rows[0]), int(rows[-1]) + 1  # a part is a run of images
    images = stored.images[start:stop] if len(rows) == stop - start else stored.images[rows]
    facts = np.asarray(stored.facts[stored.caption_rows(split.caption_ids)])
    return Known(np.asarray(stored.scenes[rows]), facts, images)


def count_true(known: Known, image_of: Int, progress: Callable[[int, int], None] | None) -> TruePairs:
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
        holds = _all_hold(truth.matched_rows("t2i", start, stop), stated[start:stop, None])
        images[start:stop] = holds.sum(axis=1)
        own[start:stop] = holds[np.arange(stop - start), owner[start:stop]]
        done += stop - start
        if progress is not None:
            progress(done, len(facts))

    each(compare, range(0, len(facts), size))
    return TruePairs(images, own, step)


def true_of(known: Known, image: int) -> Bool:
    """(caption,) bool: which captions are true of an image."""
    return _all_hold(known.truth.matched_rows("i2t", image, image + 1)[0], known.stated)


def _all_hold(matched: Codes, stated: Codes) -> Bool:
    """Whether all facts hold, at least one."""
    found: Bool = (matched == stated) & (stated > 0)
    return found


def scene_facts(known: Known, pairs: TruePairs) -> SceneFacts:
    """The numbers for the table."""
    every, own = int(pairs.images.sum()), int(pairs.own.sum())
    of_own = pairs.images[pairs.own]
    share = np.bincount(known.kinds, minlength=len(KINDS)) / len(known.kinds)
    return SceneFacts(
        facts=spread(known.stated[known.stated > 0]),
        kinds=dict(zip(KINDS, share.tolist(), strict=True)),
        near_duplicates=float(near_duplicates(known.scenes).mean()),
        false_negatives=1 - own / every if every else 0.0,
        ambiguous=float((of_own > 1).mean()) if own else 0.0,
        images_a_caption=spread(of_own),
        captions_an_image=pairs.step * (every - own) / len(known.scenes),
        step=pairs.step,
    )


def scene_bars(known: Known, pairs: TruePairs) -> list[Histogram]:
    """Histograms for the page."""
    of_own = pairs.images[pairs.own]
    edges = [edge for edge in _EDGES if edge <= max(1, of_own.max(initial=1))]
    stops = [*edges[1:], math.inf]
    labels = [f"{a:,}" if b == a + 1 else f"{a:,}–{b - 1:,}" for a, b in zip(edges, stops, strict=True) if b < math.inf]
    counts = [int(((of_own >= a) & (of_own < b)).sum()) for a, b in zip(edges, stops, strict=True)]
    last = f"{edges[-1]:,}+" if of_own.max(initial=1) > edges[-1] else f"{edges[-1]:,}"
    facts = bars("facts a caption", known.stated[known.stated > 0])
    return [facts, Histogram("images that a caption is true of", (*labels, last), tuple(counts))]
