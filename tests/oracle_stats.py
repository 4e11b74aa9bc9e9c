"""Statistics by loops over plain lists: nothing here is shared with the library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

WORD = 2**64
STEP = 0x9E3779B97F4A7C15


def mix(word: int) -> int:
    """The finaliser of splitmix64, on Python integers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % WORD
    return word ^ (word >> 31)


def words(seed: int, number: int) -> Iterator[int]:
    """The random words of one resample."""
    state = mix((mix((seed + STEP) % WORD) + number * 0x94D049BB133111EB) % WORD)
    while True:
        state = (state + STEP) % WORD
        yield mix(state)


def drawn(seed: int, number: int, sizes: Sequence[int]) -> list[int]:
    """The images of one resample, every stratum of consecutive images drawn from itself."""
    stream, out, first = words(seed, number), [], 0
    for size in sizes:
        halves: list[int] = []
        while len(halves) < size:
            word = next(stream)
            halves += [word >> 32, word % 2**32]
        out += [first + (h * size >> 32) for h in halves[:size]]
        first += size
    return out


def value(values: Sequence[float], image: Sequence[int], images: Sequence[int]) -> float | None:
    """Mean over the queries of some images, each as often as it is listed."""
    selected = [v for i in images for v, owner in zip(values, image, strict=True) if owner == i]
    if not selected:
        return None
    return math.fsum(selected) / len(selected)


def folded(values: Sequence[float], image: Sequence[int], images: Sequence[int], fold: Sequence[int]) -> float | None:
    """The mean over folds of the value inside a fold; folds without queries are left out."""
    inside = [value(values, image, [i for i in images if fold[i] == f]) for f in sorted(set(fold))]
    defined = [v for v in inside if v is not None]
    return sum(defined) / len(defined) if defined else None


def swap_p(first: Sequence[float], second: Sequence[float], image: Sequence[int]) -> float:
    """Exact p-value: the share of all swaps of whole images with a difference at least as large."""
    images = sorted(set(image))

    def difference(swapped: set[int]) -> float:
        a = [y if i in swapped else x for x, y, i in zip(first, second, image, strict=True)]
        b = [x if i in swapped else y for x, y, i in zip(first, second, image, strict=True)]
        return (math.fsum(b) - math.fsum(a)) / len(a)

    observed = abs(difference(set()))
    swaps = [set(s) for r in range(len(images) + 1) for s in itertools.combinations(images, r)]
    return sum(abs(difference(s)) >= observed - 1e-12 for s in swaps) / len(swaps)


def tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b by counting pairs."""
    concordant = discordant = left = right = 0
    for i, j in itertools.combinations(range(len(x)), 2):
        a, b = x[i] - x[j], y[i] - y[j]
        left += a != 0
        right += b != 0
        concordant += a * b > 0
        discordant += a * b < 0
    return (concordant - discordant) / math.sqrt(left * right) if left and right else None
