"""Kernels of resampling: the images of a resample, the signs of a permutation, and weighted medians.

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


@numba.njit(nogil=True, cache=True)
def mix(word):
    """A bijection of 64-bit words in which every bit of the result depends on every bit of ``word``."""
    word = (word ^ (word >> np.uint64(30))) * _A
    word = (word ^ (word >> np.uint64(27))) * _B
    return word ^ (word >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def start(seed, number):
    """The first state of the random numbers of one resample."""
    return mix(mix(seed + _STEP) + np.uint64(number) * _B)


@numba.njit(nogil=True, cache=True)
def draw_words(seed, number, out):
    """The first random words of resample ``number``; ``out`` (word,) uint64 is overwritten."""
    state = start(seed, number)
    for i in range(len(out)):
        state += _STEP
        out[i] = mix(state)


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def all_signs(first, out):
    """Row r is the binary digits of ``first + r`` as signs; 2^image rows are all combinations."""
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = -1.0 if ((first + r) >> i) & 1 else 1.0


@numba.njit(nogil=True, cache=True)
def weighted_medians(values, image, weights, totals, out):
    """Median of ``values`` when the queries of an image count as often as the weight of the image.

    Args:
        values: (query,) float64, ascending.
        image: (query,) int64, column of ``weights``.
        weights: (block, image) float64 integers of at least 0.
        totals: (block,) float64, the weights of all queries together.
        out: (block,) float64; NaN where the total is 0. Halfway between two values when they share the middle.
    """
    for r in range(weights.shape[0]):
        if totals[r] <= 0:
            out[r] = np.nan
            continue
        low = np.floor((totals[r] - 1) / 2)
        high = np.floor(totals[r] / 2)
        seen = 0.0
        q = 0
        while seen <= low:
            seen += weights[r, image[q]]
            q += 1
        lower = values[q - 1]
        while seen <= high:
            seen += weights[r, image[q]]
            q += 1
        out[r] = (lower + values[q - 1]) / 2


@numba.njit(nogil=True, cache=True)
def swapped_medians(values, image, second, signs, first_out, second_out):
    """Medians of two systems on the same queries after their values of some images are swapped.

    Args:
        values: (2 * query,) float64, ascending: those of both systems.
        image: (2 * query,) int64, column of ``signs``.
        second: (2 * query,) bool, the value is of the second system.
        signs: (block, image) float64, -1 where an image is swapped.
        first_out, second_out: (block,) float64.
    """
    queries = len(values) // 2
    low, high = (queries - 1) // 2 + 1, queries // 2 + 1
    for r in range(signs.shape[0]):
        of_second = np.int64(0)
        want_first = want_second = low
        lower_first = lower_second = 0.0
        missing = 2
        for q in range(len(values)):
            # counted without a branch, which a processor would predict wrongly half of the time
            of_second += np.int64(second[q] != (signs[r, image[q]] < 0))
            if of_second >= want_second:
                if want_second == low:
                    lower_second = values[q]
                    want_second = high
                if of_second >= want_second:
                    second_out[r] = (lower_second + values[q]) / 2
                    want_second = len(values) + 1
                    missing -= 1
            if q + 1 - of_second >= want_first:
                if want_first == low:
                    lower_first = values[q]
                    want_first = high
                if q + 1 - of_second >= want_first:
                    first_out[r] = (lower_first + values[q]) / 2
                    want_first = len(values) + 1
                    missing -= 1
            if missing == 0:
                break
