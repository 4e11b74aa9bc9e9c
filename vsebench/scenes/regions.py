"""Features of regions, as an object detector would give: a vector and a box for every object, and for the image.

A region has ``DIM`` = 32 features, in this order:

==========  =========================================================================================
features    meaning
==========  =========================================================================================
0 to 9      indicators of the shape, in the order of ``world.SHAPES``: 1 for the object's shape, else 0
10 to 18    indicators of the colour
19, 20      indicators of the size
21 to 24    indicators of the texture
25 to 28    indicators of the background, of the region of the image; all others are 0 there
29, 30, 31  x and y of the centre and the side of the box, in [0, 1]: shares of the side of the image
==========  =========================================================================================

Noise is added to every feature: approximately normal, with the standard deviation ``settings.noise``; a quarter of it
for x, y and the side. An object that another one partly covers has twice the noise. The vector of a region is its
features times ``MIXING / 8``, so that no attribute is a separate dimension; ``vectors @ MIXING / 4`` gives the
features back. Which of two objects is in front is no feature.

Everything is computed with integers in units of 2**-32 and rounded once, at the end, to float32: the same bytes on
every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, Vectors
from .sample import Draws
from .settings import Settings
from .world import BACKGROUNDS, COLOURS, FRONT, RADIUS, SHAPES, SIDE, SIZES, TEXTURES, Scene

DIM = 32
_COLOUR = len(SHAPES)
_SIZE = _COLOUR + len(COLOURS)
_TEXTURE = _SIZE + len(SIZES)
_BACKGROUND = _TEXTURE + len(TEXTURES)
_BOX = _BACKGROUND + len(BACKGROUNDS)  # x, y, side
_ONE = 1 << 32  # the integer that stands for 1
_UNIFORMS = 12  # their sum has the variance 1
_GEOMETRY = 4  # how many times less noise the box has

# (feature, dim) of 1 and -1: Sylvester's Hadamard matrix, symmetric; its square is 32 times the identity.
MIXING: Int = np.array([[1 - 2 * ((r & c).bit_count() % 2) for c in range(DIM)] for r in range(DIM)], np.int64)


@dataclass(frozen=True, eq=False)
class Regions:
    """What a detector found in an image: objects in random order, then the image as the last region.

    Attributes:
        vectors: (region, DIM) float32.
        boxes: (region, 4) float32: left, top, right and bottom, in [0, 1].
    """

    vectors: Vectors
    boxes: npt.NDArray[np.float32]


def regions(scene: Scene, settings: Settings, draws: Draws) -> Regions:
    """The regions of a scene.

    Args:
        scene: what the image shows.
        settings: standard deviation of the noise, and the share of objects that are missed; at least one is not.
        draws: the source of random integers.
    """
    behind = {b for relation, _, b in scene.relations if relation == FRONT}
    objects = [(group, n) for group, centres in enumerate(scene.centres) for n in range(len(centres))]
    found = [one for one in objects if not draws.chance(settings.miss)] or [draws.pick(objects)]
    found = draws.shuffled(found)

    features = np.zeros((len(found) + 1, DIM), np.int64)
    boxes = np.zeros((len(found) + 1, 4), np.int64)
    spread = np.ones((len(found) + 1, 1), np.int64)
    for row, (group, n) in enumerate(found):
        shape, colour, size, texture = scene.groups[group].attributes
        features[row, [shape, _COLOUR + colour, _SIZE + size, _TEXTURE + texture]] = _ONE
        (x, y), radius = scene.centres[group][n], RADIUS[size]
        boxes[row] = x - radius, y - radius, x + radius, y + radius
        spread[row] = 2 if group in behind else 1
    features[-1, _BACKGROUND + scene.background] = _ONE
    boxes[-1] = 0, 0, SIDE, SIDE
    left, top, right, bottom = boxes.T
    features[:, _BOX:] = np.stack([left + right, top + bottom, 2 * (right - left)], 1) * (_ONE // (2 * SIDE))

    features += _noise(features.shape, settings.noise, draws) * spread
    mixed = features @ MIXING  # of integers below 2**53, which float64 has exactly, as it has the power of 2
    return Regions((mixed / (8 * _ONE)).astype(np.float32), (boxes / SIDE).astype(np.float32))


def _noise(shape: tuple[int, int], deviation: float, draws: Draws) -> Int:
    """(region, DIM) int64, in units of 1 / _ONE: sums of 12 uniform numbers of 16 bits, less their mean."""
    drawn = np.frombuffer(draws.bytes(2 * _UNIFORMS * shape[0] * shape[1]), "<u2").reshape(*shape, _UNIFORMS)
    sums = drawn.sum(axis=2, dtype=np.int64) - _UNIFORMS // 2 * 0xFFFF  # 2**16 times a number of variance 1
    noise: Int = sums * round(deviation * (1 << 16))
    noise[:, _BOX:] //= _GEOMETRY
    return noise
