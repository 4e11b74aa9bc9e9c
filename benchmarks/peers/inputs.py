"""What the peers and the library start from: vectors, ground truth, graded judgements and retrieved lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vsebench.types import DIRECTIONS, Direction, Split

from ..synthetic import CAPTIONS, World

DEPTH = 100  # of retrieved lists
GRADED_IMAGES = 3  # other images whose captions have a gain
BLOCK = 500  # queries whose scores are in memory at a time

Array = npt.NDArray[Any]
Values = Mapping[str, Any]  # "R@1 i2t" -> a mean, (query,) values or (query, k) retrieved items


class Outcome(NamedTuple):
    """What a timed function returns.

    Attributes:
        values: numbers by name; the last word of a name is the direction.
        scale: cost of all queries over that of the queries measured; 1 when all were.
        fixed: seconds that do not grow with the queries.
    """

    values: Values
    scale: float = 1.0
    fixed: float = 0.0


Work = Callable[[], Outcome]


def sample(images: int, fraction: float) -> Array:
    """(query,) int64 indices of evenly spread images, the first and the last among them unless there is one only."""
    return np.unique(np.linspace(0, images - 1, max(1, round(fraction * images))).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of one comparison.

    Attributes:
        world: the vectors, five captions an image, in order.
        fraction: of the images that are queries, 0 to 1; their captions are the queries of the other direction.
        thorough: a peer computes every value that can be compared, and not only those that are timed.
    """

    world: World
    fraction: float = 1.0
    thorough: bool = False

    @cached_property
    def split(self) -> Split:
        """The images and captions."""
        return self.world.split()

    @cached_property
    def scale(self) -> float:
        """Number of queries over number of queries measured."""
        return len(self.world.images) / len(self.queries("i2t"))

    def queries(self, direction: str) -> Array:
        """(query,) int64 indices of the queries that are measured."""
        images = sample(len(self.world.images), self.fraction)
        return images if direction == "i2t" else (images[:, None] * CAPTIONS + np.arange(CAPTIONS)).ravel()

    def sides(self, direction: str) -> tuple[Array, Array]:
        """(query, dim) and (gallery, dim) float32 vectors of all queries and of the gallery."""
        both = (self.world.images, self.world.captions)
        return both if direction == "i2t" else both[::-1]

    def labels(self, direction: str) -> tuple[Array, Array]:
        """(query,) and (gallery,) int64: items with one label belong to one image."""
        both = (np.arange(len(self.world.images)), self.split.image_of.copy())  # torch warns of read-only arrays
        return both if direction == "i2t" else both[::-1]

    @cached_property
    def lists(self) -> dict[Direction, tuple[Array, Array]]:
        """Direction -> (query, DEPTH) int64 gallery indices and float64 scores of all queries, best first."""
        return {d: _lists(*self.sides(d)) for d in DIRECTIONS}

    @cached_property
    def judgements(self) -> tuple[Array, Array, Array]:
        """(pair,) image, caption and integer gain: 3 for captions of the image, 1 or 2 for those of three others."""
        n = len(self.world.images)
        rng = np.random.default_rng(1)
        others = np.stack([rng.permutation(n) for _ in range(GRADED_IMAGES)], axis=1)
        image = np.repeat(np.arange(n), (GRADED_IMAGES + 1) * CAPTIONS)
        of = np.repeat(np.column_stack((others, np.arange(n))), CAPTIONS, axis=1)
        caption = (of * CAPTIONS + np.tile(np.arange(CAPTIONS), GRADED_IMAGES + 1)).ravel()
        gain = np.where(np.repeat(np.arange(n), of.shape[1]) == of.ravel(), 3, rng.integers(1, 3, of.size))
        _, first = np.unique(image * (n * CAPTIONS) + caption, return_index=True)
        return image[first], caption[first], gain[first]

    @cached_property
    def gains(self) -> Array:
        """(image, caption) float32 gains of ``judgements``, 0 elsewhere."""
        image, caption, gain = self.judgements
        out = np.zeros((len(self.world.images), len(self.world.captions)), np.float32)
        out[image, caption] = gain
        return out


def _lists(queries: Array, gallery: Array) -> tuple[Array, Array]:
    """The DEPTH largest float64 inner products of every query, by plain sorting."""
    depth = min(DEPTH, len(gallery))
    exact = gallery.astype(np.float64).T
    items, scores = np.empty((len(queries), depth), np.int64), np.empty((len(queries), depth))
    for start in range(0, len(queries), BLOCK):
        block = queries[start : start + BLOCK].astype(np.float64) @ exact
        top = np.argpartition(-block, depth - 1, axis=1)[:, :depth]
        found = np.take_along_axis(block, top, axis=1)
        order = np.lexsort((top, -found), axis=1)
        items[start : start + BLOCK] = np.take_along_axis(top, order, axis=1)
        scores[start : start + BLOCK] = np.take_along_axis(found, order, axis=1)
    return items, scores
