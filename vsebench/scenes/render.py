"""Images of scenes: the same pixels on every machine.

Objects are drawn group by group on a grid of 4 x 4 samples per pixel; their colours are averaged. Light that changes
from edge to edge and noise are added to the pixels: no fact states them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..numeric import compiled as nb
from .sample import Draws
from .shapes import SAMPLES, stamp, start
from .world import BACKGROUNDS, COLOURS, Scene

Pixels = npt.NDArray[np.uint8]  # (size, size, 3), RGB
MAX_LIGHT_DIFFERENCE = 16  # brightness difference of opposite edges, of 255

BACKGROUND_RGB = {"grey": (124, 124, 124), "beige": (208, 188, 148), "brown": (112, 74, 48), "teal": (24, 120, 120)}
# The colour, the second colour of patterns and the colour of the edge.
OBJECT_RGB = {
    "red": ((224, 32, 32), (112, 0, 0), (84, 0, 0)),
    "orange": ((255, 140, 0), (255, 216, 150), (180, 90, 0)),
    "yellow": ((255, 230, 0), (160, 146, 0), (116, 100, 0)),
    "green": ((48, 190, 48), (0, 92, 0), (0, 64, 0)),
    "blue": ((36, 70, 230), (150, 190, 255), (10, 30, 150)),
    "purple": ((136, 44, 176), (218, 170, 242), (84, 10, 120)),
    "pink": ((255, 130, 190), (255, 224, 240), (200, 70, 140)),
    "white": ((250, 250, 250), (184, 184, 184), (104, 104, 104)),
    "black": ((12, 12, 12), (84, 84, 84), (60, 60, 60)),
}


def render(scene: Scene, size: int, draws: Draws) -> Pixels:
    """The image of a scene.

    Args:
        scene: what it shows.
        size: its width and height in pixels, 16 to 512. Patterns of small objects can be seen from 64.
        draws: the source of light and noise.

    Returns:
        (size, size, 3) uint8, RGB.
    """
    samples = np.zeros((SAMPLES * size, SAMPLES * size), np.uint8)
    palette = [BACKGROUND_RGB[BACKGROUNDS[scene.background]]]
    for group, centres in zip(scene.groups, scene.centres, strict=True):
        picture = stamp(group.shape, group.size, group.texture, size)
        before = len(palette) - 1
        palette += OBJECT_RGB[COLOURS[group.colour]]
        for centre in centres:
            left, top = (start(c, len(picture), size) for c in centre)
            part = samples[top : top + len(picture), left : left + len(picture)]
            np.copyto(part, picture + np.uint8(before), where=picture > 0)  # the colours before its own
    light = np.array([draws.between(-MAX_LIGHT_DIFFERENCE, MAX_LIGHT_DIFFERENCE) for _ in range(2)])
    noise = np.frombuffer(draws.bytes(size * size * 3), np.uint8)
    pixels = np.empty((size, size, 3), np.uint8)
    develop(samples, np.array(palette, np.int32), light, noise, pixels)
    return pixels


@nb.njit(nogil=True)
def develop(samples, palette, light, noise, pixels):
    """Compiled: average the colours of the samples of every pixel, add light and noise; integers only.

    Args:
        samples: (n * size, n * size) uint8, indices of colours; n samples along each side of a pixel.
        palette: (colour, 3) int32.
        light: two integers: how much brighter the right edge is than the left one, and the bottom than the top.
        noise: (size * size * 3) uint8 random bytes.
        pixels: (size, size, 3) uint8, the result.
    """
    size = pixels.shape[0]
    n = samples.shape[0] // size
    half = n * n // 2
    total = np.zeros(3, np.int32)
    for y in range(size):
        for x in range(size):
            total[:] = half  # so that the average is rounded to the nearest
            for v in range(n * y, n * y + n):
                for u in range(n * x, n * x + n):
                    colour = samples[v, u]
                    for c in range(3):
                        total[c] += palette[colour, c]
            shade = (light[0] * (2 * x + 1 - size) + light[1] * (2 * y + 1 - size)) // (2 * size)
            for c in range(3):
                byte = np.int32(noise[(y * size + x) * 3 + c])
                value = total[c] // (n * n) + shade + ((byte >> 4) - (byte & 15)) // 2
                pixels[y, x, c] = min(max(value, 0), 255)
