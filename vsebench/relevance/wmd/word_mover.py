"""Word mover's distance between a caption and the captions of an image, as gains.

    W(X, Y) = sum over x in X of min over y of WMD(x, y)  +  sum over y in Y of min over x of WMD(x, y)

Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, eq. 13: a sum of minima, not a mean. The gain of
image i for caption j is 1 / (1 + W(C(i), {j})); W is then the sum of the distances from j to all captions of i, plus
the smallest of them. Exact transport takes tens of microseconds a pair of captions, so the pairs of a test set would
take hours: rows are only offered for small splits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import MissingPackage, VsebenchError, install
from ...types import Bool, Float, Int, TestSet, Vectors
from ..embedding.bow import Bags, bags_of
from ..gains import Gains, Values, captions_of
from . import kernels

MAX_PAIRS = 100_000  # images x captions; rows of larger splits are not computed


@dataclass(frozen=True, eq=False)
class WordMover(Values):
    """Gains 1 / (1 + W).

    Attributes:
        transport: distances of captions.
        members: (caption,) int64 captions, sorted by image.
        first: (image + 1,) int64, where the captions of each image start in ``members``.
        own_out: whether a caption is compared only with the other captions of its image.
    """

    transport: Transport
    members: Int
    first: Int
    own_out: bool

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        return self._all(np.arange(start, stop)[:, None], np.arange(len(self.members)))

    def columns(self, start: int, stop: int) -> Vectors:
        """See ``Values.columns``."""
        return self._all(np.arange(len(self.first) - 1), np.arange(start, stop)[:, None])

    def _all(self, images: Int, captions: Int) -> Vectors:
        images, captions = np.broadcast_arrays(images, captions)
        return self.pairs(images.ravel(), captions.ravel()).reshape(images.shape)

    def pairs(self, images: Int, captions: Int) -> Vectors:
        """See ``Values.pairs``."""
        count = self.first[images + 1] - self.first[images]
        pair = np.repeat(np.arange(len(images)), count)
        offset = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        member = self.members[self.first[images][pair] + offset]
        bag = self.transport.bag_of
        keep = self.transport.filled[bag[member]]  # captions with a word that has a vector
        if self.own_out:
            keep &= member != captions[pair]
        pair, member = pair[keep], member[keep]
        both = np.sort(np.stack([bag[member], bag[captions[pair]]], axis=1))
        distinct, inverse = np.unique(both, axis=0, return_inverse=True)  # every unordered pair is computed once
        distance = np.array([self.transport.distance(a, b) for a, b in distinct.tolist()])[inverse.reshape(-1)]
        total = np.bincount(pair, distance, len(images))
        smallest = np.full(len(images), np.inf)
        np.minimum.at(smallest, pair, distance)
        return np.asarray(1.0 / (1.0 + (total + smallest)), np.float32)


def load(test: TestSet, argument: str | None, settings: Mapping[str, str]) -> Gains:
    """Gains from a file of word vectors.

    Captions without a word that has a vector are left out of the sums; their own gains are 0.

    Args, see ``sources.Loader``:
        argument: a file of word vectors in GloVe or word2vec text format, plain or gzip.
        settings: ``tokens`` (ptb, whitespace) and ``own`` (in, out).

    Raises:
        MissingPackage: POT is not installed.
        UsageError: no file is named.
        BadInput: the file has no word vectors, or none of the words of the captions.
    """
    own_captions = settings["own"]
    bags = bags_of(test, argument, settings["tokens"], "wmd")
    shape = test.shape
    first, members = captions_of(test.owners, shape[0])
    found = WordMover(prepare(bags), members, first, own_captions == "out")
    few = shape[0] * shape[1] <= MAX_PAIRS
    return Gains("wmd", {**bags.settings, "own": own_captions}, shape, found, lowest=0.0, rows_affordable=few)


_OPTIMAL = 1  # status of POT for a minimum
_MAX_STEPS = 1_000_000
_ROUNDING_FACTOR = 1 - 1e-9  # keeps a computed lower bound below the exact one despite rounding


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
        return out * _ROUNDING_FACTOR

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
        if relaxed * _ROUNDING_FACTOR > limit:
            return float(relaxed * _ROUNDING_FACTOR)
        # The solver reads contiguous arrays in place.
        table = cost[: m * n].reshape(m, n)
        _, work, _, _, state = self.solver(left[:m], right[:n], table, _MAX_STEPS, 1)[:5]
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
        raise MissingPackage("POT is not installed; it computes word mover's distances", fix=install("wmd")) from error
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
