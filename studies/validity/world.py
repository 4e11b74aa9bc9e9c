"""The world of the study: the scenes of a split, and what is true of every pair, also for those who see only a part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vsebench.scenes import encode
from vsebench.scenes.build import build_scenes
from vsebench.scenes.encode import Codes
from vsebench.scenes.facts import MAX_MENTIONS, UNSAID
from vsebench.scenes.settings import of_split
from vsebench.scenes.store import open_scenes
from vsebench.scenes.truth import Truth
from vsebench.scenes.world import ATTRIBUTES
from vsebench.sets.catalogue import load_split
from vsebench.types import Bool, Float, Split

REMOVABLE = (*ATTRIBUTES, "number", "relations", "background")


@dataclass(frozen=True, eq=False)
class World:
    """A split of scenes.

    Attributes:
        split: with its captions.
        scenes: (image, SCENE_WIDTH) int8 rows of ``encode_scene``.
        facts: (caption, FACTS_WIDTH) int8 rows of ``encode_facts``.
    """

    split: Split
    scenes: Codes
    facts: Codes

    @property
    def stated(self) -> Float:
        """(caption,) float64, how many facts a caption states."""
        return self.facts[:, encode.FACTS_COUNT].astype(np.float64)

    @property
    def shown(self) -> Float:
        """(image,) float64, how many facts hold in a scene."""
        return self.scenes[:, encode.SCENE_FACTS].astype(np.float64)

    @cached_property
    def match(self) -> Float:
        """(image, caption) float64 in [0, 1], the F-score of the facts of the caption and those of the scene."""
        return match(self)

    @cached_property
    def holds(self) -> Float:
        """(image, caption) float64 in [0, 1], the share of the caption's facts that hold; 0 where it states none."""
        return np.asarray(matched_facts(self.scenes, self.facts) / np.maximum(self.stated, 1))

    @cached_property
    def entails(self) -> Bool:
        """(image, caption), whether a caption is true of an image: it states facts, and all of them hold."""
        return np.asarray(self.holds == 1)


def open_world(split: str) -> World:
    """The world of a split such as ``scenes-10k-test``; its data set is built where it is not there."""
    name, part = of_split(split) or (split, "test")
    build_scenes(name)
    stored = open_scenes(name)
    images = stored.part(part)
    first = 5 * images.start
    captions = slice(first, first + 5 * (images.stop - images.start))
    return World(load_split(split, captions=True), np.array(stored.scenes[images]), np.array(stored.facts[captions]))


def match(world: World, removed: frozenset[str] = frozenset()) -> Float:
    """(image, caption) float64 in [0, 1]: the match of every pair when facts of the kinds ``removed`` never match.

    Without the number, all mentions are read as of one group; without an attribute, more groups fit a mention.
    """
    facts = without(world.facts, removed)
    return np.asarray(2 * matched_facts(world.scenes, facts) / (world.stated + world.shown[:, None]))


def matched_facts(scenes: Codes, facts: Codes) -> Float:
    """(image, caption) float64, how many facts of a caption hold in a scene."""
    return Truth(scenes, facts).matched_rows("i2t", 0, len(scenes)).astype(np.float64)


def without(facts: Codes, removed: frozenset[str]) -> Codes:
    """The facts of captions without some kinds, in the code of ``encode_facts``."""
    facts = facts.copy()
    for kind in removed:
        if kind == "relations":
            facts[:, encode.FACTS_RELATED] = 0
        elif kind == "background":
            facts[:, encode.FACTS_BACKGROUND] = UNSAID
        else:
            place = (*ATTRIBUTES, "number").index(kind)
            facts[:, [encode.FACTS_FIRST + n * encode.MENTION + place for n in range(MAX_MENTIONS)]] = UNSAID
    return facts
