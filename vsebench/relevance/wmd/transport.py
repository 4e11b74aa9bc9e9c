"""Word mover's distance of two captions: the minimum cost of transporting the words of one onto those of the other.

Kusner et al., From Word Embeddings To Document Distances, ICML 2015, eq. 1: a caption is a distribution over its
words, and the cost of moving a word to another is the Euclidean distance of their vectors. Words that both captions
contain are not moved, which is optimal because the cost obeys the triangle inequality.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MissingPackage, VsebenchError
from ...types import Bool, Float, Int
from ..embedding.bow import Bags
from . import kernels

INSTALL = "pip install 'vsebench[wmd]'"
_OPTIMAL = 1  # status of POT for a minimum
_MOST_STEPS = 1_000_000
_BELOW = 1 - 1e-9  # factor that keeps a computed lower bound below the exact one in spite of rounding


@dataclass(frozen=True, eq=False)
class Transport:
    """Distances between the distinct bags of words of a split; constructed by ``prepare``.

    Attributes:
        start: (bag + 1,) int64, where the entries of each bag start.
        word: (entry,) int64 rows of ``vectors``, ascending within a bag; none for captions without a vector.
        mass: (entry,) float64, the number of occurrences of the word.
        vectors: (word, dim) float64.
        bag_of: (caption,) int64.
        solver: POT's transport solver.
    """

    start: Int
    word: Int
    mass: Float
    vectors: Float
    bag_of: Int
    solver: Any

    @cached_property
    def filled(self) -> Bool:
        """(bag,) whether a bag has a word."""
        return np.asarray(np.diff(self.start) > 0)

    @cached_property
    def total(self) -> Float:
        """(bag,) number of words of a bag, with repetitions."""
        sums = np.concatenate([[0.0], np.cumsum(self.mass)])
        return np.asarray(sums[self.start[1:]] - sums[self.start[:-1]])

    @cached_property
    def _square(self) -> Float:
        return np.asarray(np.einsum("ij,ij->i", self.vectors, self.vectors))

    def lower(self, bag: int) -> Float:
        """(bag,) lower bounds of the distances to one bag: relaxed transport (section 4.3); infinite for empty ones."""
        words = self.word[self.start[bag] : self.start[bag + 1]]
        scale = self._square[words][:, None] + self._square
        squared = scale * (1 - 1e-11) - 2.0 * (self.vectors[words] @ self.vectors.T)
        out = np.empty(len(self.start) - 1)
        table = np.sqrt(np.maximum(squared, 0.0))
        kernels.relaxed_to_all(bag, table, self.start, self.word, self.mass, self.total, out)
        return out * _BELOW

    def distance(self, a: int, b: int, limit: float = np.inf) -> float:
        """The exact distance of two bags, or a lower bound of it that exceeds ``limit``.

        Symmetric to the bit; infinite when a bag is empty.
        """
        a, b = min(a, b), max(a, b)
        size_a, size_b = int(self.start[a + 1] - self.start[a]), int(self.start[b + 1] - self.start[b])
        if not size_a or not size_b:
            return np.inf
        if a == b:
            return 0.0
        left, right, cost = np.empty(size_a), np.empty(size_b), np.empty(size_a * size_b)
        m, n, relaxed = kernels.reduce_pair(
            a, b, self.start, self.word, self.mass, self.total, self.vectors, left, right, cost
        )
        if m == 1 or n == 1:  # a single transport plan
            return float(relaxed)
        if relaxed * _BELOW > limit:
            return float(relaxed * _BELOW)
        # The solver reads contiguous arrays in place.
        table = cost[: m * n].reshape(m, n)
        _, work, _, _, state = self.solver(left[:m], right[:n], table, _MOST_STEPS, 1)[:5]
        if state != _OPTIMAL:
            raise VsebenchError(f"POT found no optimal transport of {m} words to {n} (code {state})")
        return float(work / (self.total[a] * self.total[b]))


def prepare(bags: Bags) -> Transport:
    """The distinct bags of words of a split, for computing their distances.

    Raises:
        MissingPackage: POT is not installed.
    """
    try:
        from ot.lp.emd_wrap import emd_c
    except ImportError as error:
        raise MissingPackage("POT is not installed; it computes word mover's distances", fix=INSTALL) from error
    number: dict[bytes, int] = {}
    words: list[Int] = []
    mass: list[Float] = []
    bag_of = np.empty(len(bags.start) - 1, np.int64)
    for caption in range(len(bag_of)):
        part = slice(int(bags.start[caption]), int(bags.start[caption + 1]))
        count = bags.count[part]
        if len(count):  # "a dog" and "a dog a dog" are the same distribution
            count = count / np.gcd.reduce(count.astype(np.int64))
        key = bags.word[part].tobytes() + count.tobytes()
        if key not in number:
            number[key] = len(words)
            words.append(bags.word[part])
            mass.append(count)
        bag_of[caption] = number[key]
    start = np.cumsum([0, *map(len, words)], dtype=np.int64)
    vectors = bags.vectors.astype(np.float64)
    return Transport(start, np.concatenate(words), np.concatenate(mass), vectors, bag_of, emd_c)


def distances(transport: Transport, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Float:
    """(pair,) float64 exact distances of bags ``a`` and ``b``; every unordered pair is computed once."""
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    size = len(transport.start) - 1
    keys, inverse = np.unique(low * size + high, return_inverse=True)
    values = np.array([transport.distance(*divmod(key, size)) for key in keys.tolist()], np.float64)
    return values[inverse]
