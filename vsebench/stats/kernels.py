"""Kernels of resampling: the images of a resample and the signs of a permutation.

Random numbers are those of splitmix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
OOPSLA 2014), implemented here: a resample is a function of the seed and of its own number alone, so blocks,
threads, machines and versions of other packages cannot change it.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ..numeric import compiled as numba

_STEP = np.uint64(0x9E3779B97F4A7C15)
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@numba.njit(nogil=True)
def mix(word):
    """A bijection of 64-bit words in which every bit of the result depends on every bit of ``word``."""
    word = (word ^ (word >> np.uint64(30))) * _A
    word = (word ^ (word >> np.uint64(27))) * _B
    return word ^ (word >> np.uint64(31))


@numba.njit(nogil=True)
def start(seed, number):
    """The first state of the random numbers of one resample."""
    return mix(mix(seed + _STEP) + np.uint64(number) * _B)


@numba.njit(nogil=True)
def draw_words(seed, number, out):
    """The first random words of resample ``number``; ``out`` (word,) uint64 is overwritten."""
    state = start(seed, number)
    for i in range(len(out)):
        state += _STEP
        out[i] = mix(state)


@numba.njit(nogil=True)
def draw_counts(seed, first, edges, out):
    """How often every image is drawn, with replacement, inside its stratum.

    Args:
        seed: uint64.
        first: number of the resample in row 0.
        edges: (stratum + 1,) int64, images ``edges[s]`` up to ``edges[s + 1]`` are drawn from among themselves.
        out: (block, image) float64, overwritten.
    """
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = 0.0
        state = start(seed, first + r)
        for s in range(len(edges) - 1):
            low = edges[s]
            images = edges[s + 1] - low
            size = np.uint64(images)
            # two draws a word; of 32 bits, so no image is more likely than another by more than size / 2^32
            for _ in range(images // 2):
                state += _STEP
                word = mix(state)
                out[r, low + np.int64(((word >> _HALF) * size) >> _HALF)] += 1.0
                out[r, low + np.int64(((word & _LOW) * size) >> _HALF)] += 1.0
            if images % 2:
                state += _STEP
                out[r, low + np.int64(((mix(state) >> _HALF) * size) >> _HALF)] += 1.0


@numba.njit(nogil=True)
def draw_signs(seed, first, out):
    """+1 or -1 for every image, each with probability one half; ``out`` (block, image) float64."""
    for r in range(out.shape[0]):
        state = start(seed, first + r)
        word = np.uint64(0)
        for i in range(out.shape[1]):
            if i % 64 == 0:
                state += _STEP
                word = mix(state)
            out[r, i] = 1.0 if word & np.uint64(1) else -1.0
            word = word >> np.uint64(1)


@numba.njit(nogil=True)
def all_signs(first, out):
    """Row r is the binary digits of ``first + r`` as signs; 2^image rows are all combinations."""
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = -1.0 if ((first + r) >> i) & 1 else 1.0
