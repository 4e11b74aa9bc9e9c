"""The outlines and the patterns of objects, as stamps: small pictures that are copied to the places of objects.

Lengths are in thousandths of the radius of an object, measured from its centre; x grows to the right, y downwards.
Everything is computed with integers, so that it is the same on every machine.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..types import Bool, Int
from .world import RADIUS, SHAPES, SIDE, SIZES, TEXTURES

Codes = npt.NDArray[np.uint8]
SAMPLES = 4  # along each side of a pixel
EMPTY, MAIN, SECOND, EDGE = range(4)  # what a sample of a stamp shows
EDGE_WIDTH = (3, 7)  # of a small and of a large object, in halves of a unit of layout
# Of small and of large objects: how far apart stripes (measured along x) and dots are, the side of a check, and the
# radius of a dot. Patterns of small objects are coarser, so that they can be seen in images of 64 pixels.
PITCH = {"striped": (850, 520), "dotted": (720, 560), "checked": (400, 300)}
DOT = (200, 160)
# Where the few dots of small objects are: whether some lie on the vertical and on the horizontal axis of the shape
# (1) or beside it (0). Dots beside both axes would cut off the corners of these shapes.
_ON_AXES = {"star": (1, 1), "cross": (1, 1), "ring": (1, 1), "moon": (1, 1), "arrow": (1, 1), "diamond": (1, 0)}
_KEPT = 2 * len(SHAPES) * len(TEXTURES)  # stamps: all of one size of images, 20 MB at 512 pixels

# A square root or a sine is rounded differently by different libraries: the corners are written down.
POLYGONS: dict[str, tuple[tuple[int, int], ...]] = {
    "square": ((-880, -880), (880, -880), (880, 880), (-880, 880)),
    "triangle": ((0, -940), (1000, 800), (-1000, 800)),
    "diamond": ((0, -1000), (800, 0), (0, 1000), (-800, 0)),
    "star": (
        (0, -951), (297, -308), (1000, -225), (480, 256), (618, 951),
        (0, 605), (-618, 951), (-480, 256), (-1000, -225), (-297, -308),
    ),
    "cross": (
        (-370, -1000), (370, -1000), (370, -370), (1000, -370), (1000, 370), (370, 370),
        (370, 1000), (-370, 1000), (-370, 370), (-1000, 370), (-1000, -370), (-370, -370),
    ),
    "heart": ((0, -480), (880, 20), (0, 960), (-880, 20)),
    "arrow": ((-1000, -350), (50, -350), (50, -850), (1000, 0), (50, 850), (50, 350), (-1000, 350)),
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
    x, y = np.meshgrid(*[_coordinates(side, size, pixels)] * 2)
    found = np.full((side, side), MAIN, np.uint8)
    found[_pattern(TEXTURES[texture], SHAPES[shape], size, x, y)] = SECOND
    found[~_eroded(inside, max(1, EDGE_WIDTH[size] * SAMPLES * pixels // (2 * SIDE)))] = EDGE
    found[~inside] = EMPTY
    found.flags.writeable = False
    return found


def start(centre: int, side: int, pixels: int) -> int:
    """The first sample of a stamp of ``side`` samples with its centre at a coordinate in units of layout."""
    return (2 * centre * SAMPLES * pixels - (side - 1) * SIDE) // (2 * SIDE)


@lru_cache(_KEPT)
def _outline(shape: int, size: int, pixels: int) -> tuple[int, Bool]:
    side = -(-2 * RADIUS[size] * SAMPLES * pixels // SIDE)
    x, y = np.meshgrid(*[_coordinates(side, size, pixels)] * 2)
    return side, _inside(SHAPES[shape], x, y)


def _coordinates(side: int, size: int, pixels: int) -> Int:
    """The coordinates of the centres of the samples."""
    doubled = 2 * np.arange(side, dtype=np.int64) + 1 - side  # twice the distance from the centre, in samples
    unit = RADIUS[size] * SAMPLES * pixels
    return (doubled * (1000 * SIDE) + unit) // (2 * unit)


def _inside(shape: str, x: Int, y: Int) -> Bool:
    if shape == "circle":
        return _disc(x, y, 0, 0, 1000)
    if shape == "ring":
        return _disc(x, y, 0, 0, 1000) & ~_disc(x, y, 0, 0, 400)
    if shape == "moon":
        return _disc(x, y, 120, 0, 1000) & ~_disc(x, y, 580, 0, 720)
    inside = polygon(x, y, POLYGONS[shape])
    if shape == "heart":
        inside |= _disc(x, y, -480, -350, 520) | _disc(x, y, 480, -350, 520)
    return inside


def _disc(x: Int, y: Int, centre_x: int, centre_y: int, radius: int) -> Bool:
    found: Bool = (x - centre_x) ** 2 + (y - centre_y) ** 2 <= radius**2
    return found


def polygon(x: Int, y: Int, corners: tuple[tuple[int, int], ...]) -> Bool:
    """Where a line to the left crosses the sides of the polygon an odd number of times."""
    inside = np.zeros(x.shape, np.bool_)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        spans = (y0 > y) != (y1 > y)
        right_of_side = ((x - x0) * (y1 - y0) > (y - y0) * (x1 - x0)) == (y1 > y0)
        inside ^= spans & right_of_side
    return inside


def _pattern(texture: str, shape: str, size: int, x: Int, y: Int) -> Bool:
    """Where the second colour is."""
    if texture == "plain":
        return np.zeros(x.shape, np.bool_)
    pitch = PITCH[texture][size]
    half = pitch // 2
    on_axes = _ON_AXES.get(shape, (0, 0))
    if texture == "striped":
        shift = half // 2 if any(on_axes) else 0  # such a shape has a stripe through its centre, not an edge of one
        return np.asarray((x + y + shift) % pitch >= half)
    if texture == "checked":
        return np.asarray((x // pitch + y // pitch) % 2 == 1)
    if SIZES[size] == "large":
        on_axes = (1, 1)
    return _disc((x + on_axes[0] * half) % pitch, (y + on_axes[1] * half) % pitch, half, half, DOT[size])


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
