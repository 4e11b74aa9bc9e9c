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

import numpy as np

from ...errors import UsageError
from ...types import Int, TestSet, Vectors
from ..embedding.bow import bags_of
from ..gains import Gains, Progress, Values, captions_of
from .transport import Transport, distances, prepare

MOST_PAIRS = 100_000  # images x captions of the largest split whose rows are computed


@dataclass(frozen=True, eq=False)
class WordMover(Values):
    """Gains 1 / (1 + W).

    Attributes:
        transport: distances of captions.
        members: (caption,) int64 captions, sorted by image.
        first: (image + 1,) int64, where the captions of each image start in ``members``.
        own_out: whether a caption is compared with the other captions of its own image only.
    """

    transport: Transport
    members: Int
    first: Int
    own_out: bool

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``; raises UsageError when the split has more than 100,000 pairs."""
        return self._all(np.arange(start, stop)[:, None], np.arange(len(self.members)))

    def columns(self, start: int, stop: int) -> Vectors:
        """See ``rows``."""
        return self._all(np.arange(len(self.first) - 1), np.arange(start, stop)[:, None])

    def _all(self, images: Int, captions: Int) -> Vectors:
        n, m = len(self.first) - 1, len(self.members)
        if n * m > MOST_PAIRS:
            raise UsageError(
                f"wmd of all {n:,} x {m:,} pairs would take hours; it is computed for given pairs, and for all pairs "
                f"of up to {MOST_PAIRS:,}",
                fix="take another relevance for metrics that need every pair, such as cider or sentence",
            )
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
        distance = distances(self.transport, bag[member], bag[captions[pair]])
        total = np.bincount(pair, distance, len(images))
        smallest = np.full(len(images), np.inf)
        np.minimum.at(smallest, pair, distance)
        return np.asarray(1.0 / (1.0 + (total + smallest)), np.float32)


def load(test: TestSet, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
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
    own = settings["own"]
    bags = bags_of(test, argument, settings["tokens"], "wmd", progress)
    shape = test.shape
    first, members = captions_of(test.owners, shape[0])
    found = WordMover(prepare(bags), members, first, own == "out")
    few = shape[0] * shape[1] <= MOST_PAIRS
    return Gains("wmd", {**bags.settings, "own": own}, shape, found, lowest=0.0, rows_affordable=few)
