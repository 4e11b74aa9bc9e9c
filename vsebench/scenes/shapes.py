"""The outlines and the patterns of objects, as stamps: small pictures that are copied to where the objects are.

Lengths are in thousandths of the radius of an object, measured from its centre; x grows to the right, y downwards.
Everything is computed with integers, so that it is the same on every machine.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..types import Bool, Int
from .world import RADIUS, SHAPES, SIDE, TEXTURES

Codes = npt.NDArray[np.uint8]
SAMPLES = 4  # along each side of a pixel
EMPTY, MAIN, SECOND, EDGE = range(4)  # what a sample of a stamp shows
EDGE_WIDTH = 5  # in halves of a unit of layout
_KEPT = 2 * len(SHAPES) * len(TEXTURES)  # stamps: all of one size of images, 10 MB at 512 pixels

# A square root or a sine is rounded differently by different libraries: the corners are written down.
_POLYGONS: dict[str, tuple[tuple[int, int], ...]] = {
    "square": ((-880, -880), (880, -880), (880, 880), (-880, 880)),
    "triangle": ((0, -940), (1000, 800), (-1000, 800)),
    "diamond": ((0, -1000), (740, 0), (0, 1000), (-740, 0)),
    "star": (
        (0, -1000), (273, -276), (1000, -240), (441, 213), (628, 900),
        (0, 530), (-628, 900), (-441, 213), (-1000, -240), (-273, -276),
    ),
    "cross": (
        (-340, -1000), (340, -1000), (340, -340), (1000, -340), (1000, 340), (340, 340),
        (340, 1000), (-340, 1000), (-340, 340), (-1000, 340), (-1000, -340), (-340, -340),
    ),
    "heart": ((0, -480), (880, 20), (0, 960), (-880, 20)),
    "arrow": ((-1000, -290), (50, -290), (50, -850), (1000, 0), (50, 850), (50, 290), (-1000, 290)),
}  # fmt: skip


@lru_cache(_KEPT)
def stamp(shape: int, size: int, texture: int, pixels: int) -> Codes:
    """One object.

    Args:
        shape: its code, like ``size`` and ``texture``.
        pixels: side of the image.

    Returns:
        (sample, sample) uint8: EMPTY outside, MAIN in its colour, SECOND in the other colour of its pattern, EDGE.
    """
    side, inside = _outline(shape, size, pixels)
    x = _coordinates(side, size, pixels)
    found = np.where(_pattern(TEXTURES[texture], *np.meshgrid(x, x)), SECOND, MAIN).astype(np.uint8)
    found[inside & ~_eroded(inside, max(1, EDGE_WIDTH * SAMPLES * pixels // (2 * SIDE)))] = EDGE
    found[~inside] = EMPTY
    found.flags.writeable = False
    return found


def start(centre: int, side: int, pixels: int) -> int:
    """The first sample of a stamp of ``side`` samples whose centre is at a coordinate in units of layout."""
    return (2 * centre * SAMPLES * pixels - (side - 1) * SIDE) // (2 * SIDE)


@lru_cache(_KEPT)
def _outline(shape: int, size: int, pixels: int) -> tuple[int, Bool]:
    side = -(-2 * RADIUS[size] * SAMPLES * pixels // SIDE)
    x = _coordinates(side, size, pixels)
    return side, _inside(SHAPES[shape], *np.meshgrid(x, x))


def _coordinates(side: int, size: int, pixels: int) -> Int:
    """The coordinates of the centres of the samples."""
    doubled = 2 * np.arange(side, dtype=np.int64) + 1 - side  # twice the distance from the centre, in samples
    unit = RADIUS[size] * SAMPLES * pixels
    return (doubled * (1000 * SIDE) + unit) // (2 * unit)


def _inside(shape: str, x: Int, y: Int) -> Bool:
    if shape == "circle":
        return _disc(x, y, 0, 0, 1000)
    if shape == "ring":
        return _disc(x, y, 0, 0, 1000) & ~_disc(x, y, 0, 0, 430)
    if shape == "moon":
        return _disc(x, y, 230, 0, 1000) & ~_disc(x, y, 660, 0, 850)
    inside = _polygon(x, y, _POLYGONS[shape])
    if shape == "heart":
        inside |= _disc(x, y, -480, -350, 520) | _disc(x, y, 480, -350, 520)
    return inside


def _disc(x: Int, y: Int, centre_x: int, centre_y: int, radius: int) -> Bool:
    found: Bool = (x - centre_x) ** 2 + (y - centre_y) ** 2 <= radius**2
    return found


def _polygon(x: Int, y: Int, corners: tuple[tuple[int, int], ...]) -> Bool:
    """Where a line to the left crosses the sides of the polygon an odd number of times."""
    inside = np.zeros(x.shape, np.bool_)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        spans = (y0 > y) != (y1 > y)
        right_of_side = ((x - x0) * (y1 - y0) > (y - y0) * (x1 - x0)) == (y1 > y0)
        inside ^= spans & right_of_side
    return inside


def _pattern(texture: str, x: Int, y: Int) -> Bool:
    """Where the second colour is."""
    if texture == "striped":
        return np.asarray((y + 170) % 667 >= 333)
    if texture == "dotted":
        return _disc((x + 333) % 667, (y + 333) % 667, 333, 333, 210)
    if texture == "checked":
        return np.asarray((x // 500 + y // 500) % 2 == 1)
    return np.zeros(x.shape, np.bool_)


def _eroded(inside: Bool, width: int) -> Bool:
    """What is at least ``width`` samples from the outside."""
    side = len(inside)
    padded = np.pad(inside, width)
    slope = width * 7 // 10
    found: Bool = inside
    for dy, dx in ((0, width), (width, 0), (slope, slope), (slope, -slope)):
        for sign in (1, -1):
            top, left = width + sign * dy, width + sign * dx
            found = np.logical_and(found, padded[top : top + side, left : left + side])
    return found
