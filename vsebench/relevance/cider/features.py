"""Weighted n-grams, arranged to compute CIDEr of rows of captions, rows of images and single pairs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...numeric import elementary
from ...text.tokens import Int32
from ...types import Direction, Float, Int, Vectors
from ..gains import captions_of
from .ngrams import Grams

FREQUENT = 0.15  # fraction of the images from which a feature is frequent, and is added as a dense row over images
DENSE = 0.15  # fraction of the captions from which a feature is added as a dense row over captions
TABLE_BYTES = 32 << 20  # limit of the dense rows over images
DENSE_BYTES = 16 << 20  # limit of the dense rows over captions
REFERENCE = np.dtype([("weight", "f8"), ("image", "i4"), ("length", "i4")])
CANDIDATE = np.dtype([("weight", "f8"), ("position", "i4"), ("length", "i4")])

Records = npt.NDArray[Any]
_PREPARING = threading.Lock()


@dataclass(frozen=True, eq=False)
class Features:
    """Weighted features of captions, and their inverted index.

    A feature is an n-gram; for CIDEr-D it is an n-gram and the number t of its earlier occurrences in the caption (see
    ``kernels``).

    Attributes:
        image_of: (caption,) int64.
        length: (caption,) int32, the number of bigrams; 0 for plain CIDEr, which has no penalty of length.
        row: (caption + 1,) int64, where each caption starts in ``feature``, ``query`` and ``reference``.
        shared: (caption,) int64, where within its row the features of this caption alone start.
        feature: (entry,) int32, ascending within a caption.
        query: (entry,) float64, weight of the feature when the caption is the candidate.
        reference: (entry,) float64, weight of the feature when the caption is a reference.
        start: (shared feature + 1,) int64, where the postings of each feature start.
        frequent: number of frequent features; these have the lowest numbers, the most frequent first.
        penalty: (difference,) float64, the factor for a difference in length.
        scale: (image,) float64, the factor of the sum of an image: 10 / 4 / number of references.
    """

    image_of: Int
    length: Int32
    row: Int
    shared: Int
    feature: Int32
    query: Float
    reference: Float
    start: Int
    frequent: int
    penalty: Float
    scale: Float

    def rows(self, direction: Direction, first: int, last: int) -> Vectors:
        """(last - first, gallery) float32 values of queries ``first:last``."""
        from .kernels import caption_rows, image_rows

        self.prepare(direction)
        if direction == "t2i":
            out = np.empty((last - first, len(self.scale)), np.float32)
            # Sorted by length: captions of one length use the same rows of the table.
            captions = first + np.argsort(self.length[first:last], kind="stable")
            caption_rows(
                captions, first, self.image_of, self.length, self.row, self.shared, self.feature, self.query,
                self.reference, self.start, self._references, self.penalty, *self._table,
                np.empty((self.frequent, len(self.scale))), np.empty(len(self.scale)), self.scale, out,
            )  # fmt: skip
        else:
            out = np.empty((last - first, len(self.length)), np.float32)
            image_rows(
                first, last, *self.captions_of, self.row, self.shared, self.query, self.reference, *self._by_image,
                self.start, self._references, self.penalty, *self._by_length[1:], self._candidates, self.frequent,
                self._dense, np.empty((len(self.penalty), self.frequent)), np.empty(len(self.length)), self.scale, out,
            )  # fmt: skip
        return out

    def pairs(self, direction: Direction, images: Int, captions: Int) -> Vectors:
        """(pair,) float32 values, the same in both directions."""
        from .kernels import pair_values

        self.prepare("pairs")
        out = np.empty(len(captions), np.float32)
        pair_values(
            captions, images, self.image_of, self.length, self.row, self.shared, self.feature, self.query,
            self.reference, *self._by_image, self.start, self._references, self.frequent, self.penalty,
            self.scale, out,
        )  # fmt: skip
        return out

    def without_itself(self) -> Vectors:
        """(caption,) float32 value of every caption with its own image, computed from the image's other captions."""
        from .kernels import others_values

        out = np.empty(len(self.length), np.float32)
        others_values(
            np.arange(len(out)), *self.captions_of, self.image_of, self.length, self.row, self.feature, self.query,
            self.reference, self.penalty, out,
        )  # fmt: skip
        return out

    def prepare(self, use: Direction | Literal["pairs"]) -> None:
        """Compute the arrays that rows of a direction, or pairs, are computed from, in one thread at a time."""
        needed = {"t2i": ("_table",), "i2t": ("_by_image", "_dense"), "pairs": ("_by_image",)}
        with _PREPARING:
            for name in needed[use]:
                getattr(self, name)

    @cached_property
    def captions_of(self) -> tuple[Int, Int]:
        """(image + 1,) starts and (caption,) captions, sorted by image."""
        return captions_of(self.image_of, len(self.scale))

    @cached_property
    def _references(self) -> Records:
        """Postings of references, by feature, then image: weight, image, length."""
        from .kernels import reference_postings

        posting = np.empty(int(self.start[-1]), REFERENCE)
        fill = self.start[:-1].copy()
        reference_postings(
            *self.captions_of, self.row, self.shared, self.feature, self.reference, self.length, fill, posting
        )
        return posting

    @cached_property
    def _by_image(self) -> tuple[Int, Int32, Int32]:
        """(image + 1,) starts; the features of every image, ascending; the first posting of each in this image."""
        from .kernels import by_image

        row, none = np.zeros(len(self.scale) + 1, np.int64), np.empty(0, np.int32)
        by_image(self.start, self._references, True, row, none, none)
        row = np.cumsum(row)
        feature, posting = np.empty(row[-1], np.int32), np.empty(row[-1], np.int32)
        by_image(self.start, self._references, False, row[:-1].copy(), feature, posting)
        return row, feature, posting

    @cached_property
    def _by_length(self) -> tuple[Int, Int, Int32, Int]:
        """Captions sorted by length, the position of each, the distinct lengths, where each starts (and the end)."""
        order = np.argsort(self.length, kind="stable")
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        lengths, first = np.unique(self.length[order], return_index=True)
        return order, position, lengths, np.append(first, len(order))

    @cached_property
    def _candidates(self) -> Records:
        """Postings of captions, by feature, then position in ``_by_length``: weight, position, length."""
        from .kernels import candidate_postings

        posting = np.empty(int(self.start[-1]), CANDIDATE)
        fill, order = self.start[:-1].copy(), self._by_length[0]
        candidate_postings(order, self.row, self.shared, self.feature, self.query, self.length, fill, posting)
        return posting

    @cached_property
    def _dense(self) -> Float:
        """(feature, caption) weights of the most frequent features, captions sorted by length."""
        size, n = np.diff(self.start[: self.frequent + 1]), len(self.length)
        most = min(int((size > DENSE * n).sum()), DENSE_BYTES // (8 * max(n, 1)))
        dense = np.zeros((most, n))
        for f in range(most):
            posting = self._candidates[self.start[f] : self.start[f + 1]]
            dense[f, posting["position"]] = posting["weight"]
        return dense

    @cached_property
    def _table(self) -> tuple[Int32, npt.NDArray[np.float64]]:
        """(length,) row in the table or -1, and the table (row, frequent feature, image) of summed weights."""
        n = np.bincount(self.length)
        capacity = TABLE_BYTES // (8 * max(self.frequent * len(self.scale), 1))
        common = np.argsort(-n, kind="stable")[: min(capacity, int((n > 0).sum()))]
        slot = np.full(len(self.penalty), -1, np.int32)
        slot[common] = np.arange(len(common))
        table = np.zeros((len(common), self.frequent, len(self.scale)))
        posting = self._references[: self.start[self.frequent]]
        sizes = np.diff(self.start[: self.frequent + 1])
        cell = np.repeat(np.arange(self.frequent), sizes) * len(self.scale) + posting["image"]
        for size, sums in zip(common, table, strict=True):
            values = posting["weight"] * self.penalty[np.abs(size - posting["length"])]
            sums.flat = np.bincount(cell, values, sums.size)  # adds in the order of the postings, as the kernels
        return slot, table


def features(found: Grams, image_of: Int, images: int, idf: Float, *, clip: bool, sigma: float) -> Features:
    """Weighted features of captions.

    Args:
        found: the n-grams of the captions.
        image_of: (caption,) int64.
        images: number of images.
        idf: (n-gram,) float64.
        clip: True for CIDEr-D, with the minimum of the counts and the penalty of length; False for plain CIDEr.
        sigma: width of the penalty, in bigrams.
    """
    from .kernels import renumber, weigh

    most = np.ones(len(found), np.int64)
    np.maximum.at(most, found.gram[found.count > 1], found.count[found.count > 1])
    first_repeat = len(found) + np.cumsum(most - 1) - (most - 1)
    n_feature = len(found) + (int((most - 1).sum()) if clip else 0)
    entries = int(found.count.sum()) if clip else len(found.gram)
    row, feature = np.empty(len(found.start), np.int64), np.empty(entries, np.int32)
    query, reference = np.empty(entries), np.empty(entries)
    used = weigh(
        found.start, found.gram, found.count, found.order, idf, first_repeat, clip, row, feature, query, reference
    )
    feature, query, reference = feature[:used], query[:used], reference[:used]
    start, frequent, number = _numbering(row, feature, n_feature, image_of, images)
    shared = renumber(row, number, len(start) - 1, feature, query, reference)
    length = np.maximum(found.tokens.length - 1, 0).astype(np.int32) if clip else np.zeros(len(shared), np.int32)
    distance = np.arange(int(length.max(initial=0)) + 1, dtype=np.float64)
    penalty = elementary.exp(-(distance**2) / (2 * sigma**2))
    scale = 10.0 / 4.0 / np.maximum(np.bincount(image_of, minlength=images), 1)
    return Features(image_of, length, row, shared, feature, query, reference, start, frequent, penalty, scale)


def _numbering(row: Int, feature: Int32, n_feature: int, image_of: Int, images: int) -> tuple[Int, int, Int32]:
    """Starts of the postings in the new order, the number of frequent features, and the new number of each feature."""
    from .ngram_kernels import document_frequency

    images_with = np.zeros(n_feature, np.int32)
    document_frequency(*captions_of(image_of, images), row, feature, images_with)
    size = np.bincount(feature, minlength=n_feature)
    frequent = (images_with > FREQUENT * images) & (size > 1)
    order = np.lexsort((-size, ~frequent))
    number = np.empty(n_feature, np.int32)
    number[order] = np.arange(n_feature)
    size = size[order]
    start = np.concatenate([[0], np.cumsum(size[: int((size > 1).sum())])])
    return start, int(frequent.sum()), number
