"""Word mover's distance between sets of captions: as gains of images for captions, and as a distance of images.

    W(X, Y) = sum over x in X of min over y of WMD(x, y)  +  sum over y in Y of min over x of WMD(x, y)

Kim et al., Deep Metric Learning Beyond Binary Supervision, CVPR 2019, eq. 13: a sum of minima, not a mean. The gain of
image i for caption j is 1 / (1 + W(C(i), {j})): the sum of the distances from j to all of the image's captions plus
the smallest of them. Exact transport takes tens of microseconds a pair of captions, so all pairs of a test set are out
of reach; what is offered is given pairs and the best k, found with lower bounds.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import BadInput, UsageError
from ...types import Bool, Direction, Float, Int, Split, TopK, Vectors
from ..arrays import as_pairs, check_range
from ..embedding.bow import TOKENS, bags_of
from ..gains import Progress, choice
from .transport import Transport, between_sets, distances, prepare

MOST_PAIRS = 100_000  # images x captions of a split whose rows are computed
OWN = ("in", "out")


@dataclass(frozen=True, eq=False)
class WordMover:
    """Gains 1 / (1 + W); made by ``load``.

    Attributes:
        name: ``wmd``.
        settings: for the signature.
        notes: what the user should know.
        shape: (images, captions).
        transport: distances of captions.
        members: (caption,) int64 captions in order of images.
        first: (image + 1,) int64, where the captions of each image start in ``members``.
        image_of: (caption,) int64.
        own_out: whether a caption is taken out of its own image's.
    """

    settings: Mapping[str, str]
    notes: tuple[str, ...]
    shape: tuple[int, int]
    transport: Transport
    members: Int
    first: Int
    image_of: Int
    own_out: bool
    name: str = "wmd"

    @property
    def pairs_only(self) -> bool:
        """Whether rows are refused: those of a whole test set take hours."""
        return self.shape[0] * self.shape[1] > MOST_PAIRS

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop``, for small splits.

        Raises:
            UsageError: there are no such queries, or the split has more than 100,000 pairs.
        """
        check_range(self.shape, direction, start, stop)
        if self.pairs_only:
            raise UsageError(
                f"wmd of all {self.shape[0]:,} x {self.shape[1]:,} pairs would take hours; it is computed for given "
                f"pairs, for the best k of a query, and for all pairs of up to {MOST_PAIRS:,}",
                fix="take another relevance for metrics that need every pair, such as cider or sentence",
            )
        gallery = np.arange(self.shape[1] if direction == "i2t" else self.shape[0])
        queries = np.arange(start, stop)
        return self.at(direction, queries, np.broadcast_to(gallery, (len(queries), len(gallery))))

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` for ``queries``; raises UsageError for an index outside."""
        images, captions = as_pairs(self.shape, direction, queries, items)
        count = self.first[images + 1] - self.first[images]
        pair = np.repeat(np.arange(len(images)), count)
        inside = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        member = self.members[self.first[images][pair] + inside]
        keep = self._counts(member)
        if self.own_out:
            keep &= member != captions[pair]
        pair, member = pair[keep], member[keep]
        bag = self.transport.bag_of
        away = distances(self.transport, bag[member], bag[captions[pair]])
        total = np.bincount(pair, away, len(images))
        least = np.full(len(images), np.inf)
        np.minimum.at(least, pair, away)
        return _gain(total + least).reshape(np.shape(items))

    def top(self, direction: Direction, k: int, queries: Int | None = None, progress: Progress | None = None) -> TopK:
        """The k largest gains of some queries, ties to the lower index.

        Relaxed transport bounds every distance from below; pairs that it rules out are not computed.

        Args:
            direction: ``i2t`` or ``t2i``.
            k: how many; clipped to the gallery.
            queries: (query,) int64; all of them when None, which takes long.
            progress: told the share of the queries that is done.

        Returns:
            items (query, k) and scores (query, k), the gains.

        Raises:
            UsageError: k is less than 1, or a query does not exist.
        """
        n_query, n_gallery = self.shape if direction == "i2t" else self.shape[::-1]
        if k < 1:
            raise UsageError(f"top {k}", fix="ask for at least one")
        asked = np.arange(n_query) if queries is None else np.asarray(queries, np.int64)
        as_pairs(self.shape, direction, asked, np.zeros((len(asked), 1), np.int64))
        k = min(k, n_gallery)
        items, scores = np.empty((len(asked), k), np.int64), np.empty((len(asked), k))
        for row, query in enumerate(asked.tolist()):
            items[row], scores[row] = self._best(direction, query, k)
            if progress is not None:
                progress((row + 1) / len(asked))
        return TopK(items, scores)

    def _best(self, direction: Direction, query: int, k: int) -> tuple[list[int], list[float]]:
        asked = self._partners(query, -1).tolist() if direction == "i2t" else [query]
        lower = {caption: self.transport.lower(int(self.transport.bag_of[caption])) for caption in asked}
        bounds = self._bounds(direction, query, lower)
        best: list[tuple[float, int]] = []  # (gain, -item), the worst on top
        for item in np.argsort(bounds, kind="stable").tolist():
            floor = best[0][0] if len(best) == k else -1.0
            if float(_gain(bounds[item])) < floor:
                break
            image, caption = (query, item) if direction == "i2t" else (item, query)
            entry = (self._at_least(image, caption, floor, lower), -item)
            if len(best) < k:
                heapq.heappush(best, entry)
            elif entry > best[0]:
                heapq.heapreplace(best, entry)
        best.sort(reverse=True)
        return [-item for _, item in best], [gain for gain, _ in best]

    def _bounds(self, direction: Direction, query: int, lower: Mapping[int, Float]) -> Float:
        """(gallery,) lower bounds of W; infinite where the gain is 0."""
        bag = self.transport.bag_of
        if direction == "t2i":
            counted = self._counts(self.members)
            owner, away = self.image_of[self.members][counted], lower[query][bag[self.members]][counted]
            least = np.full(self.shape[0], np.inf)
            np.minimum.at(least, owner, away)
            bounds = np.bincount(owner, away, self.shape[0]) + least
            own = self.image_of[[query]]
        else:
            table = np.array([*lower.values(), np.full(len(self.transport.start) - 1, np.inf)])
            bounds = (table[:-1].sum(axis=0) + table.min(axis=0))[bag]
            own = np.flatnonzero(self.image_of == query)
        bounds = np.asarray(bounds * (1 - 1e-9))
        if self.own_out:
            bounds[own] = 0.0  # a distance less than was summed up; decided exactly
        return bounds

    def _at_least(self, image: int, caption: int, floor: float, lower: Mapping[int, Float]) -> float:
        """The gain of a pair, or -1 when it is below ``floor``; ``lower`` has bounds from either of the two."""
        others, bag = self._partners(image, caption), self.transport.bag_of
        here = int(bag[caption])
        if not len(others) or not self.transport.filled[here]:
            return 0.0
        if caption in lower:
            away = lower[caption][bag[others]]
        else:
            away = np.array([lower[other][here] for other in others.tolist()])
        # The largest W whose gain float32 may still round up to the floor.
        most = (1.0 + 1e-6) / floor - 1.0 if floor > 0 else np.inf
        for at in np.argsort(away, kind="stable").tolist():
            # This distance may take so much before W is too large whatever the rest is.
            room = most - (away.sum() - away[at])
            away[at] = self.transport.distance(here, int(bag[others[at]]), room)
            if float(_gain((away.sum() + away.min()) * (1 - 1e-9))) < floor:
                return -1.0
        # Summed as at() does, for the same bits.
        return float(_gain(np.bincount(np.zeros(len(away), np.int64), away)[0] + away.min()))

    def _partners(self, image: int, caption: int) -> Int:
        """The captions of an image that a caption is compared with, ascending."""
        members = self.members[self.first[image] : self.first[image + 1]]
        members = members[self._counts(members)]
        return members[members != caption] if self.own_out else members

    def _counts(self, captions: Int) -> Bool:
        """Whether captions have a word with a vector."""
        return self.transport.filled[self.transport.bag_of[captions]]


def load(split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> WordMover:
    """Gains from a file of word vectors.

    Captions without a word that has a vector are left out of the sums; their own gains are 0.

    Args:
        split: with its captions.
        argument: a file of word vectors in GloVe or word2vec text form, plain or gzip.
        settings: ``tokens`` (ptb, whitespace) and ``own`` (in, out).
        progress: told the share of the file that is read.

    Raises:
        MissingPackage: POT is not installed.
        UsageError: no file was named, or a wrong setting.
        BadInput: the file is not one of word vectors, or holds no word of the captions.
    """
    own = choice(settings, "own", OWN)
    bags = bags_of(split, argument, choice(settings, "tokens", TOKENS), "wmd", progress)
    members, first = _grouped(split)
    return WordMover(
        {**bags.settings, "own": own}, bags.notes, (len(split.image_ids), len(split.caption_ids)), prepare(bags),
        members, first, split.image_of, own == "out",
    )  # fmt: skip


def wmd_distance(
    split: Split, images_a: Int, images_b: Int, vectors: str, *, tokens: str = "ptb", progress: Progress | None = None
) -> Float:
    """W of the captions of pairs of images: the label distance of image captioning.

    Args:
        split: with its captions.
        images_a, images_b: (pair,) int64 rows of images.
        vectors: a file of word vectors in GloVe or word2vec text form, plain or gzip.
        tokens: ``ptb`` or ``whitespace``.
        progress: told the share of the pairs that is done.

    Returns:
        (pair,) float64, 0 or more; 0 for an image with itself, and the same either way round.

    Raises:
        MissingPackage: POT is not installed.
        UsageError: an index outside, or arrays of different lengths.
        BadInput: not a file of word vectors, or an image without a caption that has a vector.
    """
    transport = prepare(bags_of(split, str(vectors), choice({"tokens": tokens}, "tokens", TOKENS), "wmd", None))
    members, first = _grouped(split)
    a, b = np.asarray(images_a, np.int64), np.asarray(images_b, np.int64)
    n = len(split.image_ids)
    if a.shape != b.shape or a.ndim != 1 or (len(a) and not 0 <= min(a.min(), b.min()) <= max(a.max(), b.max()) < n):
        raise UsageError(f"pairs of images of shapes {a.shape} and {b.shape}", fix=f"give two rows below {n} a pair")
    sets = {}
    for image in np.union1d(a, b).tolist():
        held = transport.bag_of[members[first[image] : first[image + 1]]]
        sets[image] = held[transport.filled[held]]
        if not len(sets[image]):
            raise BadInput(
                f"image {split.image_ids[image]} has no caption with a word that has a vector", where=vectors
            )
    out = np.empty(len(a))
    for pair, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        # The smaller index first: the same order of summation either way round.
        out[pair] = between_sets(transport, sets[min(x, y)], sets[max(x, y)])
        if progress is not None:
            progress((pair + 1) / len(a))
    return out


def _grouped(split: Split) -> tuple[Int, Int]:
    first = np.zeros(len(split.image_ids) + 1, np.int64)
    np.cumsum(np.bincount(split.image_of, minlength=len(split.image_ids)), out=first[1:])
    return np.argsort(split.image_of, kind="stable"), first


def _gain(distance: float | Float) -> Vectors:
    return np.asarray(1.0 / (1.0 + np.asarray(distance, np.float64)), np.float32)
