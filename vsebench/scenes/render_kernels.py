"""Compiled: the pixels of an image from its samples. Integers only, so that all machines agree."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as nb


@nb.njit(nogil=True, cache=True)
def develop(samples, palette, light, noise, pixels):
    """Average the colours of the samples of every pixel, add light and noise.

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
