"""What is evaluated: the scenes of a split, systems of graded quality, and judgements made of what is true.

The oracle knows the gains ``match`` of all pairs: its vectors are a truncated singular value decomposition of their
matrix. A corruption takes knowledge of the content away, in one of six ways and with a strength each. System a is truly
better than system b if no corruption of a is stronger and at least one is weaker: no relevance enters this order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench import TestSet, build_scenes, load_split, open_scenes
from vsebench.relevance import load_gains
from vsebench.scenes import folder, truth
from vsebench.scenes.facts import MAX_MENTIONS, UNSAID
from vsebench.scenes.folder import Codes
from vsebench.scenes.sample import Draws
from vsebench.scenes.settings import of_split
from vsebench.scenes.world import ATTRIBUTES
from vsebench.types import DIRECTIONS, Bool, Float, Int, Vectors

REMOVABLE = (*ATTRIBUTES, "number", "relations", "background")
DIMENSIONS = 256  # of the oracle embedding, as far as there are as many images
CUE = 64  # dimensions of the cue that an image and its captions share
CUE_WEIGHT = 8.0  # of the cue at strength 1, in standard deviations of the scores
BASE_NOISE = 0.8
# Strengths by level. The base, level 0, has none of them but some noise, as every system has.
LEVELS: dict[str, tuple[float, ...]] = {
    "noise": (BASE_NOISE, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75),
    "removed": (0, 1, 2, 3, 4, 5, 6),
    "popularity": (0, 0.2, 0.35, 0.5, 0.7, 0.9, 1.2),
    "hubness": (0, 0.2, 0.4, 0.55, 0.7, 0.8, 0.88),
    "vague": (0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0),
    "pair": (0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6),
}
FAMILIES, MIXED = tuple(LEVELS), "mixed"
POOL_DEPTH = 10  # candidates of a query that a system of the pool proposes


@dataclass(frozen=True, eq=False)
class World:
    """A split of scenes: (image, SCENE_WIDTH) and (caption, FACTS_WIDTH) int8 codes, see ``vsebench.scenes.folder``."""

    split: TestSet
    scenes: Codes
    facts: Codes

    @property
    def stated(self) -> Float:
        """(caption,) float64, how many facts a caption states."""
        return self.facts[:, folder.FACTS_COUNT].astype(np.float64)

    @property
    def shown(self) -> Float:
        """(image,) float64, how many facts hold in a scene."""
        return self.scenes[:, folder.SCENE_FACTS].astype(np.float64)

    @cached_property
    def match(self) -> Float:
        """(image, caption) float64 in [0, 1], the F-score of the facts of the caption and those of the scene."""
        return match(self)

    @cached_property
    def holds(self) -> Float:
        """(image, caption) float64 in [0, 1], the share of the caption's facts that hold; 0 if it states none."""
        return np.asarray(matched_facts(self.scenes, self.facts) / np.maximum(self.stated, 1))

    @cached_property
    def entails(self) -> Bool:
        """(image, caption), whether a caption is true of an image: it states facts, and all of them hold."""
        return np.asarray(self.holds == 1)


def open_world(split: str) -> World:
    """The world of a split such as ``scenes-10k-test``; its data set is built if it is not there."""
    name, part = of_split(split) or (split, "test")
    build_scenes(name)
    stored = open_scenes(name)
    images = stored.part(part)
    captions = slice(5 * images.start, 5 * images.stop)
    return World(load_split(split, captions=True), np.array(stored.scenes[images]), np.array(stored.facts[captions]))


def match(world: World, removed: frozenset[str] = frozenset()) -> Float:
    """(image, caption) float64 in [0, 1]: the match of every pair if facts of the kinds ``removed`` never match.

    Without the number, all mentions are read as of one group; without an attribute, more groups fit a mention.
    """
    facts = world.facts.copy()
    for kind in removed:
        if kind == "relations":
            facts[:, folder.FACTS_RELATED] = 0
        elif kind == "background":
            facts[:, folder.FACTS_BACKGROUND] = UNSAID
        else:
            place = (*ATTRIBUTES, "number").index(kind)
            facts[:, [folder.FACTS_FIRST + n * folder.MENTION_COLUMNS + place for n in range(MAX_MENTIONS)]] = UNSAID
    return np.asarray(2 * matched_facts(world.scenes, facts) / (world.stated + world.shown[:, None]))


def matched_facts(scenes: Codes, facts: Codes) -> Float:
    """(image, caption) float64, how many facts of a caption hold in a scene."""
    return truth.Truth(scenes, facts).matched((0, len(scenes)), (0, len(facts))).T.astype(np.float64)


@dataclass(frozen=True)
class Corruption:
    """What a system does not know, and what it prefers for no reason."""

    noise: float = BASE_NOISE  # deviation of Gaussian noise in the vectors, relative to the oracle's root mean square
    removed: frozenset[str] = field(default_factory=frozenset)  # kinds of facts that it does not see, of ``REMOVABLE``
    popularity: float = 0.0  # deviation of a random bias of every candidate, in standard deviations of the scores
    hubness: float = 0.0  # how far all vectors are pulled to the mean of their side, 0 to 1
    vague: float = 0.0  # bias to captions that state few facts and to images with many, in the same unit
    pair: float = 0.0  # share of a cue that an image and its captions have in common, which says nothing of its content

    def better_than(self, other: Corruption) -> bool:
        """Whether no corruption is stronger than that of ``other``, and at least one is weaker."""
        amounts = ((getattr(self, f), getattr(other, f)) for f in FAMILIES if f != "removed")
        return self != other and self.removed <= other.removed and all(a <= b for a, b in amounts)

    def as_json(self) -> dict[str, float | list[str]]:
        """Plain values; what is not corrupted is left out."""
        amounts = {f: getattr(self, f) for f in FAMILIES if f != "removed" and getattr(self, f)}
        removed = {"removed": [name for name in REMOVABLE if name in self.removed]} if self.removed else {}
        return {**amounts, **removed}


@dataclass(frozen=True)
class System:
    """One system: its family (of ``LEVELS``, ``base`` or ``mixed``), level of strength, and the seed of its noise."""

    family: str
    level: int
    seed: int
    corruption: Corruption

    @property
    def name(self) -> str:
        """Such as ``noise-3-s0``."""
        return f"{self.family}-{self.level}-s{self.seed}"


def family_systems(seed: int, levels: int = 7) -> list[System]:
    """The base, and so many levels (with the base) of every family."""
    found = [System("base", 0, seed, Corruption())]
    for family in FAMILIES:
        found += [System(family, n, seed, Corruption(**{family: _amount(family, n, seed)})) for n in range(1, levels)]
    return found


def mixed_systems(count: int) -> list[System]:
    """Systems with two or three corruptions of random strength each; their level is the number of corruptions."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng((seed, 1))
        chosen = rng.choice(FAMILIES, int(rng.integers(2, 4)), replace=False).tolist()
        amounts = {family: _amount(family, int(rng.integers(1, len(LEVELS[family]))), seed) for family in chosen}
        found.append(System(MIXED, len(chosen), seed, Corruption(**amounts)))
    return found


def _amount(family: str, level: int, seed: int) -> Any:
    """The value of a corruption at a level; kinds of facts are removed in a random order."""
    strength = LEVELS[family][level]
    if family != "removed":
        return float(strength)
    return frozenset(np.random.default_rng((seed, 2)).permutation(REMOVABLE).tolist()[: int(strength)])


class Oracle:
    """The oracle embeddings of a world, one for every set of kinds of facts that a system does not see."""

    def __init__(self, world: World, dimensions: int = DIMENSIONS) -> None:
        self.world, self.dimensions = world, dimensions
        self._known: dict[frozenset[str], tuple[Float, Float]] = {}

    def vectors(self, removed: frozenset[str] = frozenset()) -> tuple[Float, Float]:
        """(image, dim) and (caption, dim) float64; inner products are nearly ``match`` without ``removed``."""
        if removed not in self._known:
            self._known[removed] = decomposed(match(self.world, removed), self.dimensions)
        return self._known[removed]


def decomposed(matrix: Float, dimensions: int) -> tuple[Float, Float]:
    """Two factors with so many columns, 0 beyond the rank: the best approximation of (image, caption) numbers."""
    squares, left = np.linalg.eigh(matrix @ matrix.T)
    kept = np.flatnonzero(squares > 1e-9 * squares[-1])[::-1][:dimensions]
    size = np.sqrt(np.sqrt(squares[kept]))  # square roots of the singular values
    left = left[:, kept] * np.where(left[:, kept].sum(axis=0) < 0, -1, 1)  # the sign of a vector is arbitrary
    missing = ((0, 0), (0, dimensions - len(kept)))
    return np.pad(left * size, missing), np.pad(matrix.T @ left / size, missing)


def vectors(system: System, oracle: Oracle) -> tuple[Vectors, Vectors]:
    """(image, dim) and (caption, dim) float32 vectors of a system; their inner products are its scores."""
    c, world = system.corruption, oracle.world
    rng = np.random.default_rng(list(hashlib.blake2b(system.name.encode(), digest_size=16).digest()))
    sizes = [np.sqrt((side**2).mean()) for side in oracle.vectors()]
    sides = [
        side + c.noise * size * rng.standard_normal(side.shape)
        for side, size in zip(oracle.vectors(c.removed), sizes, strict=True)
    ]
    images, captions = ((1 - c.hubness) * side + c.hubness * side.mean(axis=0) for side in sides)
    if c.pair:  # scores become (1 - pair) of themselves plus ``pair`` of the product of random unit vectors of images
        cue = rng.standard_normal((len(images), CUE))
        cue /= np.linalg.norm(cue, axis=1, keepdims=True)
        kept, added = np.sqrt((1 - c.pair) / spread(images, captions)), np.sqrt(c.pair * CUE_WEIGHT)
        images = np.column_stack([kept * images, added * cue])
        captions = np.column_stack([kept * captions, added * cue[world.split.image_of]])
    unit = spread(images, captions)
    of_image = unit * (c.popularity * rng.standard_normal(len(images)) + c.vague * _standard(world.shown))
    of_caption = unit * (c.popularity * rng.standard_normal(len(captions)) - c.vague * _standard(world.stated))
    # Two more dimensions add a number of the image, and one of the caption, to every score.
    images = np.column_stack([images, of_image, np.ones(len(images))])
    captions = np.column_stack([captions, np.ones(len(captions)), of_caption])
    return images.astype(np.float32), captions.astype(np.float32)


def spread(images: Float, captions: Float) -> float:
    """The standard deviation of the scores of a query image, the mean over images."""
    return float((images @ captions.T).std(axis=1).mean())


def _standard(values: Float) -> Float:
    width = values.std()
    return (values - values.mean()) / (width if width > 0 else 1.0)


# Pooled judgements: the true ones of the candidates that a few systems retrieve first, as in ECCV Caption.


def pool_systems() -> list[System]:
    """Five systems that are not among those that are compared: the base, and weak corruptions of four kinds."""
    weak = [Corruption(**{kind: LEVELS[kind][2]}) for kind in ("popularity", "hubness", "noise")]
    corruptions = [Corruption(), *weak, Corruption(removed=frozenset({"relations"}))]
    return [System("pool", n, 900 + n, c) for n, c in enumerate(corruptions)]


def pooled(oracle: Oracle, systems: Sequence[System], depth: int = POOL_DEPTH) -> dict[str, Bool]:
    """(image, caption) by direction: the pairs of the ground truth, and true ones among the first of a pool system."""
    world = oracle.world
    found = {d: np.zeros(world.entails.shape, bool) for d in DIRECTIONS}
    for system in systems:
        images, captions = vectors(system, oracle)
        scores = images @ captions.T
        for axis, direction in ((1, "i2t"), (0, "t2i")):
            first = np.argpartition(-scores, depth - 1, axis=axis).take(range(depth), axis=axis)
            np.put_along_axis(found[direction], first, True, axis=axis)
    for positive in found.values():
        positive &= world.entails
        positive[world.split.image_of, np.arange(positive.shape[1])] = True
    return found


# Simulated ratings, after the protocol of Crisscrossed Captions (Parekh et al., EACL 2021). ``RATERS`` of ``POOL``
# raters rate the captions of an image and others of the split, by stratum of ``match``. A rating is an integer from 0
# to 5, round(5 (min(1, STEEP match) + bias of the rater + error)). Pairs with a mean of at least ``LEAST`` are
# positives. All is drawn with the seed of the data set, and is the same on every machine.

STRATA = ((4, 0.01), (3, 0.1), (3, 1.0))  # pairs an image; of this share of the other captions, the best
RATERS, POOL = 5, 20
BIAS, ERROR = 0.05, 0.15  # standard deviations; a step of the scale is 0.2
SCALE, LEAST = 5, 3.0  # the largest rating; the least mean rating of a positive, as in CxC
STEEP = 1.5  # captions state few of the facts of a scene: the match of an image and its own caption is about a half


def ratings_of(split: TestSet) -> tuple[Int, Int, npt.NDArray[np.int8]]:
    """(pair,) images and captions of the rated pairs of a split of scenes, and (pair, rater) ratings, 0 to 5."""
    n = len(split.rows.ids)
    stored, part = truth.scenes_of(split)
    seed = stored.settings.seed
    biases = BIAS * _normal(Draws(seed, "raters"), (POOL,))
    chosen, scores = [], []
    for i, gains in enumerate(load_gains("match", split).rows(0, n)):
        draws = Draws(seed, "ratings", part.start + i)
        chosen.append(sampled(gains, split.image_of == i, draws))
        raters = draws.shuffled(range(POOL))[:RATERS]
        scores.append(rated(gains[chosen[-1]], biases[raters], draws))
    return np.repeat(np.arange(n), list(map(len, chosen))), np.concatenate(chosen), np.concatenate(scores)


def sampled(gains: Vectors, own: Bool, draws: Draws) -> Int:
    """The captions that are rated for an image with (caption,) gains: its own, then others."""
    left, others, found = ~own, gains[~own], [np.flatnonzero(own)]
    for count, share in STRATA:
        rank = max(count, round(share * len(others)))
        least = np.partition(others, -rank)[-rank] if rank < len(others) else 0  # and all that are as good
        candidates = np.flatnonzero(left & (gains >= least))
        places = dict.fromkeys(range(len(candidates)) if len(candidates) <= count else ())
        while len(places) < min(count, len(candidates)):
            places[draws.below(len(candidates))] = None
        found.append(candidates[sorted(places)])
        left &= gains < least
    return np.concatenate(found)


def rated(gains: Vectors, biases: Float, draws: Draws) -> npt.NDArray[np.int8]:
    """(pair, rater) ratings of pairs, (pair,) float32 gains, by raters, (rater,) float64 biases."""
    degree = np.minimum(STEEP * gains.astype(np.float64), 1)
    error = ERROR * _normal(draws, (len(gains), len(biases)))
    return np.rint(SCALE * (degree[:, None] + biases + error)).clip(0, SCALE).astype(np.int8)


def _normal(draws: Draws, shape: tuple[int, ...]) -> Float:
    """About normal, mean 0 and standard deviation 1: sums of four uniform numbers of 16 bits."""
    uniform = np.frombuffer(draws.bytes(8 * int(np.prod(shape))), "<u2").reshape(*shape, 4)
    total = uniform.sum(axis=-1, dtype=np.int64) - 2 * 0xFFFF
    return np.asarray(total * (np.sqrt(3) / 0x10000), np.float64)


def judged(split: TestSet) -> Bool:
    """(image, caption), the rated pairs of a split of scenes with a mean rating of at least ``LEAST``."""
    images, captions, scores = ratings_of(split)
    found = np.zeros((len(split.rows.ids), len(split.columns.ids)), bool)
    found[images, captions] = scores.mean(axis=1, dtype=np.float64) >= LEAST
    return found
