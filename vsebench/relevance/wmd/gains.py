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
from ...types import Direction, Float, Int, Split, Vectors
from ..checks import as_pairs, check_range
from ..embedding.bow import bags_of
from ..gains import Progress
from ..kinds.wmd import WMD
from .transport import Transport, distances, prepare

MOST_PAIRS = 100_000  # images x captions of the largest split whose rows are computed


@dataclass(frozen=True, eq=False)
class WordMoverGains:
    """Gains 1 / (1 + W); constructed by ``load``.

    Attributes:
        settings, notes, shape: see ``Gains``.
        transport: distances of captions.
        members: (caption,) int64 captions, sorted by image.
        first: (image + 1,) int64, where the captions of each image start in ``members``.
        own_out: whether a caption is compared with the other captions of its own image only.
    """

    settings: Mapping[str, str]
    notes: tuple[str, ...]
    shape: tuple[int, int]
    transport: Transport
    members: Int
    first: Int
    own_out: bool
    name: str = "wmd"
    lowest: float = 0.0

    @property
    def rows_affordable(self) -> bool:
        """Whether the split has at most 100,000 pairs."""
        return self.shape[0] * self.shape[1] <= MOST_PAIRS

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """As ``Gains.rows``; also raises UsageError when the split has more than 100,000 pairs."""
        check_range(self.shape, direction, start, stop)
        if not self.rows_affordable:
            raise UsageError(
                f"wmd of all {self.shape[0]:,} x {self.shape[1]:,} pairs would take hours; it is computed for given "
                f"pairs, and for all pairs of up to {MOST_PAIRS:,}",
                fix="take another relevance for metrics that need every pair, such as cider or sentence",
            )
        gallery = np.arange(self.shape[1] if direction == "i2t" else self.shape[0])
        queries = np.arange(start, stop)
        return self.at(direction, queries, np.broadcast_to(gallery, (len(queries), len(gallery))))

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """See ``Gains.at``."""
        images, captions = as_pairs(self.shape, direction, queries, items)
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
        return _gain(total + smallest).reshape(np.shape(items))


def load(split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> WordMoverGains:
    """Gains from a file of word vectors.

    Captions without a word that has a vector are left out of the sums; their own gains are 0.

    Args, see ``kinds.declare.Loader``:
        argument: a file of word vectors in GloVe or word2vec text format, plain or gzip.
        settings: ``tokens`` (ptb, whitespace) and ``own`` (in, out).

    Raises:
        MissingPackage: POT is not installed.
        UsageError: no file is named, or a setting has another value.
        BadInput: the file has no word vectors, or none of the words of the captions.
    """
    own = WMD.value(settings, "own")
    bags = bags_of(split, argument, WMD.value(settings, "tokens"), "wmd", progress)
    first = np.zeros(len(split.image_ids) + 1, np.int64)
    np.cumsum(np.bincount(split.image_of, minlength=len(split.image_ids)), out=first[1:])
    return WordMoverGains(
        {**bags.settings, "own": own}, bags.notes, (len(split.image_ids), len(split.caption_ids)), prepare(bags),
        np.argsort(split.image_of, kind="stable"), first, own == "out",
    )  # fmt: skip


def _gain(distance: Float) -> Vectors:
    return np.asarray(1.0 / (1.0 + distance), np.float32)
