"""Systems of graded quality: an oracle embedding, and what is done to it.

The oracle knows the gains ``match`` of all pairs, the F-score of the facts of a caption and those of a scene: its
vectors are a truncated singular value decomposition of their matrix, so that inner products order candidates nearly as
``match`` does. It is not made from ``holds``, by which systems are judged: as that is 1 for every caption that is true,
however little it states, an embedding of it would see no difference between these. A corruption takes knowledge of the
content away, in one of six ways and with a strength each. System a is truly better than system b when no corruption of
a is stronger and at least one is weaker: an order that no measure of relevance is needed for.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from studies.validity.world import REMOVABLE, World, match
from vsebench.types import Float, Vectors

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
FAMILIES = tuple(LEVELS)
TITLES = {
    "noise": "noise",
    "removed": "missing attributes",
    "popularity": "popularity bias",
    "hubness": "hubness",
    "vague": "bias to vague captions",
    "pair": "overfitting to the pairs",
}
MIXED = "mixed"


@dataclass(frozen=True)
class Corruption:
    """What a system does not know, and what it prefers for no reason.

    Attributes:
        noise: standard deviation of Gaussian noise in the vectors of both sides, relative to the root mean square of
            those of the oracle.
        removed: kinds of facts that the system does not see, of ``REMOVABLE``.
        popularity: standard deviation of a random bias of every candidate, in standard deviations of the scores.
        hubness: how far all vectors are pulled to the mean of their side, 0 to 1.
        vague: weight of a bias to captions that state few facts and to images with many, in the same unit.
        pair: share of a cue that an image has in common with its own captions, and that says nothing about its content.
    """

    noise: float = BASE_NOISE
    removed: frozenset[str] = field(default_factory=frozenset)
    popularity: float = 0.0
    hubness: float = 0.0
    vague: float = 0.0
    pair: float = 0.0

    def better_than(self, other: Corruption) -> bool:
        """Whether no corruption is stronger than that of ``other``, and one at least is weaker."""
        weaker = self.removed <= other.removed and all(
            a <= b for a, b in zip(self._amounts, other._amounts, strict=True)
        )
        return weaker and self != other

    @property
    def _amounts(self) -> tuple[float, ...]:
        return self.noise, self.popularity, self.hubness, self.vague, self.pair

    def as_json(self) -> dict[str, float | list[str]]:
        """Plain values; what is not corrupted is left out."""
        amounts = {f: getattr(self, f) for f in FAMILIES if f != "removed" and getattr(self, f)}
        removed = {"removed": [name for name in REMOVABLE if name in self.removed]} if self.removed else {}
        return {**amounts, **removed}


@dataclass(frozen=True)
class System:
    """One system.

    Attributes:
        family: a key of ``LEVELS``, ``base`` or ``mixed``.
        level: of the strength, from 0; of a mixed system the number of corruptions.
        seed: of everything random about it.
    """

    family: str
    level: int
    seed: int
    corruption: Corruption

    @property
    def name(self) -> str:
        """Such as ``noise-3-s0``."""
        return f"{self.family}-{self.level}-s{self.seed}"


def family_systems(seed: int, levels: dict[str, tuple[float, ...]] = LEVELS) -> list[System]:
    """The base, and all levels of every family."""
    found = [System("base", 0, seed, Corruption())]
    for family, strengths in levels.items():
        found += [System(family, n, seed, _one(family, strengths[n], seed)) for n in range(1, len(strengths))]
    return found


def mixed_systems(count: int) -> list[System]:
    """Systems with two or three corruptions of random strength each."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng((seed, 1))
        chosen = rng.choice(FAMILIES, int(rng.integers(2, 4)), replace=False).tolist()
        strength = {family: LEVELS[family][int(rng.integers(1, len(LEVELS[family])))] for family in chosen}
        parts = [_one(family, strength[family], seed) for family in chosen]
        merged = {family: getattr(part, family) for family, part in zip(chosen, parts, strict=True)}
        found.append(System(MIXED, len(chosen), seed, Corruption(**merged)))
    return found


def _one(family: str, strength: float, seed: int) -> Corruption:
    if family != "removed":
        return Corruption(**{family: float(strength)})
    order = np.random.default_rng((seed, 2)).permutation(REMOVABLE).tolist()
    return Corruption(removed=frozenset(order[: int(strength)]))


class Oracle:
    """The oracle embeddings of a world, one for every set of kinds of facts that a system does not see."""

    def __init__(self, world: World, dimensions: int = DIMENSIONS) -> None:
        self.world = world
        self.dimensions = dimensions
        self._known: dict[frozenset[str], tuple[Float, Float]] = {}

    def vectors(self, removed: frozenset[str] = frozenset()) -> tuple[Float, Float]:
        """(image, dim) and (caption, dim) float64; inner products are nearly ``match`` without ``removed``."""
        if removed not in self._known:
            self._known[removed] = decomposed(match(self.world, removed), self.dimensions)
        return self._known[removed]


def decomposed(matrix: Float, dimensions: int) -> tuple[Float, Float]:
    """Two factors of so many columns, those beyond the rank 0: the best approximation of (image, caption) numbers."""
    squares, left = np.linalg.eigh(matrix @ matrix.T)
    kept = np.flatnonzero(squares > 1e-9 * squares[-1])[::-1][:dimensions]
    size = np.sqrt(np.sqrt(squares[kept]))  # square roots of the singular values
    left = left[:, kept] * np.where(left[:, kept].sum(axis=0) < 0, -1, 1)  # the sign of a vector is arbitrary
    missing = ((0, 0), (0, dimensions - len(kept)))
    return np.pad(left * size, missing), np.pad(matrix.T @ left / size, missing)


def vectors(system: System, oracle: Oracle) -> tuple[Vectors, Vectors]:
    """(image, dim) and (caption, dim) float32 vectors of a system; their inner products are its scores."""
    c = system.corruption
    rng = np.random.default_rng(list(hashlib.blake2b(system.name.encode(), digest_size=16).digest()))
    sizes = [np.sqrt((side**2).mean()) for side in oracle.vectors()]
    sides = [
        side + c.noise * size * rng.standard_normal(side.shape)
        for side, size in zip(oracle.vectors(c.removed), sizes, strict=True)
    ]
    images, captions = ((1 - c.hubness) * side + c.hubness * side.mean(axis=0) for side in sides)
    if c.pair:
        images, captions = _with_cue(images, captions, c.pair, oracle.world, rng)
    unit = spread(images, captions)
    stated, shown = _standard(oracle.world.stated), _standard(oracle.world.shown)
    of_image = unit * (c.popularity * rng.standard_normal(len(images)) + c.vague * shown)
    of_caption = unit * (c.popularity * rng.standard_normal(len(captions)) - c.vague * stated)
    # Two more dimensions add a number of the image, and one of the caption, to every score.
    images = np.column_stack([images, of_image, np.ones(len(images))])
    captions = np.column_stack([captions, np.ones(len(captions)), of_caption])
    return images.astype(np.float32), captions.astype(np.float32)


def spread(images: Float, captions: Float) -> float:
    """The standard deviation of the scores of a query image, the mean over images."""
    return float((images @ captions.T).std(axis=1).mean())


def _with_cue(
    images: Float, captions: Float, share: float, world: World, rng: np.random.Generator
) -> tuple[Float, Float]:
    """The scores become (1 - share) of themselves plus ``share`` of the product of random unit vectors of images."""
    cue = rng.standard_normal((len(images), CUE))
    cue /= np.linalg.norm(cue, axis=1, keepdims=True)
    kept = np.sqrt((1 - share) / spread(images, captions))
    added = np.sqrt(share * CUE_WEIGHT)
    return (
        np.column_stack([kept * images, added * cue]),
        np.column_stack([kept * captions, added * cue[world.split.image_of]]),
    )


def _standard(values: Float) -> Float:
    width = values.std()
    return (values - values.mean()) / (width if width > 0 else 1.0)
