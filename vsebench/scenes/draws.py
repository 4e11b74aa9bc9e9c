"""Random integers that are the same on every machine and under every version of Python and numpy."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_RANGE = 1 << 32
_COUNT = 256  # integers of one call of the hash function
_UNPACK = struct.Struct(f"<{_COUNT}I").unpack


class Draws:
    """A stream of random integers, determined by what it is for: ``Draws(seed, "caption", image, number)``.

    The bits are the output of SHAKE-128 (FIPS 202) of these parts. Streams of numpy may change between its versions,
    and one generator for all images would make every image depend on those before it.

    Args:
        parts: strings and integers, in this order.
    """

    def __init__(self, *parts: str | int) -> None:
        self._name = "/".join(map(str, parts))
        self._block = 0
        self._words: list[int] = []

    def _word(self) -> int:
        """The next 32 bits."""
        if not self._words:
            bits = hashlib.shake_128(f"{self._name}#{self._block}".encode()).digest(4 * _COUNT)
            self._words = list(_UNPACK(bits))
            self._block += 1
        return self._words.pop()

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1, each equally probable up to n / 2**32."""
        return self._word() * n // _RANGE

    def bytes(self, n: int) -> bytes:
        """The next ``n`` bytes, from a call of the hash function of their own: 0.5 GB a second."""
        self._block += 1
        return hashlib.shake_128(f"{self._name}#{self._block - 1}".encode()).digest(n)

    def between(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """True with the probability ``share``, in [0, 1]."""
        return self._word() < share * _RANGE

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, each equally probable."""
        return items[self.below(len(items))]

    def weighted(self, weights: Sequence[int]) -> int:
        """An index, with the probability weights[index] / sum(weights)."""
        left = self.below(sum(weights))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        raise ValueError("no weight is positive")

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a random order, a new list."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found
