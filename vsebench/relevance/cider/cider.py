"""CIDEr-D and plain CIDEr of every caption with every image of a split, and document frequencies of a corpus."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import count_of
from ...files.captions import ALL_PARTS, caption_file
from ...files.regular import sha256_of
from ...log import note
from ...numeric import elementary
from ...numeric.elementary import ascending
from ...text.ptb import tokenise
from ...text.tokens import Int32, Tokens
from ...types import Float, Int, TestSet, Vectors
from ..gains import Gains, Replaced, Values, captions_of, offsets

MAX_NGRAM = 4  # words of an n-gram
SIGMA = 6.0  # bigrams; the width of the penalty for a difference in length
# A feature in a larger fraction of the images is frequent: it is added as a dense row over images.
MIN_IMAGE_FRACTION = 0.15
MIN_CAPTION_FRACTION = 0.15  # a feature in more captions is added as a dense row over captions
TABLE_BYTES = 32 << 20  # limit of the dense rows over images
DENSE_BYTES = 16 << 20  # limit of the dense rows over captions
REFERENCE = np.dtype([("weight", "f8"), ("image", "i4"), ("length", "i4")])
CANDIDATE = np.dtype([("weight", "f8"), ("position", "i4"), ("length", "i4")])

Records = npt.NDArray[Any]
_PREPARING = threading.Lock()


@dataclass(frozen=True, eq=False)
class Grams:
    """The n-grams of a list of captions.

    An n-gram is a number. Words have the numbers of ``tokens``; a longer n-gram is given by its ``parent`` (the n-gram
    without its last word) and its ``last`` word.

    Attributes:
        tokens: the captions in tokens.
        parent: (n-gram,) int32, -1 for a word.
        last: (n-gram,) int32 number of the last word.
        order: (n-gram,) int8, n - 1.
        start: (caption + 1,) int64, rows of the captions in ``gram`` and ``count``.
        gram: (entry,) int32, the distinct n-grams of a caption, ascending.
        count: (entry,) int32, how often each occurs in the caption.
        table: keys, values and shift of the hash table from (parent, last) to n-gram.
    """

    tokens: Tokens
    parent: Int32
    last: Int32
    order: npt.NDArray[np.int8]
    start: Int
    gram: Int32
    count: Int32
    table: tuple[npt.NDArray[np.uint64], Int32, Any]

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def caption(self) -> Int:
        """(entry,) int64."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def grams(tokens: Tokens) -> Grams:
    """Number and count the n-grams of captions."""
    from .kernels import EMPTY, count_grams

    n_words, n_tokens = len(tokens.words), len(tokens.word)
    most = n_words + (MAX_NGRAM - 1) * n_tokens
    bits = max(4, int(most).bit_length() + 1)  # the table is at most half full
    keys, values, shift = np.full(1 << bits, EMPTY), np.empty(1 << bits, np.int32), np.uint64(64 - bits)
    parent, last, order = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int8)
    start = np.empty(len(tokens) + 1, np.int64)
    gram, count = np.empty(MAX_NGRAM * n_tokens, np.int32), np.empty(MAX_NGRAM * n_tokens, np.int32)
    used, entries = count_grams(
        tokens.word, tokens.start, n_words, keys, values, shift, parent, last, order, start, gram, count
    )
    rows = (parent[:used].copy(), last[:used].copy(), order[:used].copy())
    return Grams(tokens, *rows, start, gram[:entries].copy(), count[:entries].copy(), (keys, values, shift))


def image_frequency(item: Int | Int32, image: Int, n: int) -> Int32:
    """(item below ``n``,) int32 number of different images of (entry,) items."""
    order = ascending(image, item)
    item, image = item[order], image[order]
    first = (np.diff(item, prepend=-1) != 0) | (np.diff(image, prepend=-1) != 0)
    return np.bincount(item[first], minlength=n).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Features(Values):
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

    def rows(self, start: int, stop: int) -> Vectors:
        """(image, caption) float32 values of some images."""
        from .kernels import image_rows

        self._prepare("_by_image", "_dense")
        out = np.empty((stop - start, len(self.length)), np.float32)
        image_rows(
            start, stop, *self.captions_of, self.row, self.shared, self.query, self.reference, *self._by_image,
            self.start, self._references, self.penalty, *self._by_length[1:], self._candidates, self.frequent,
            self._dense, np.empty((len(self.penalty), self.frequent)), np.empty(len(self.length)), self.scale, out,
        )  # fmt: skip
        return out

    def columns(self, start: int, stop: int) -> Vectors:
        """(caption, image) float32 values of some captions."""
        from .kernels import caption_rows

        self._prepare("_table")
        out = np.empty((stop - start, len(self.scale)), np.float32)
        # Sorted by length: captions of one length use the same rows of the table.
        captions = start + np.argsort(self.length[start:stop], kind="stable")
        caption_rows(
            captions, start, self.image_of, self.length, self.row, self.shared, self.feature, self.query,
            self.reference, self.start, self._references, self.penalty, *self._table,
            np.empty((self.frequent, len(self.scale))), np.empty(len(self.scale)), self.scale, out,
        )  # fmt: skip
        return out

    def pairs(self, images: Int, captions: Int) -> Vectors:
        """See ``Values.pairs``."""
        from .kernels import pair_values

        self._prepare("_by_image")
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

    def _prepare(self, *arrays: str) -> None:
        """Compute the arrays that values are computed from, in one thread at a time."""
        with _PREPARING:
            for name in arrays:
                getattr(self, name)

    @cached_property
    def captions_of(self) -> tuple[Int, Int]:
        """(image + 1,) starts and (caption,) captions, sorted by image."""
        return captions_of(self.image_of, len(self.scale))

    @cached_property
    def _references(self) -> Records:
        """Postings of references, by feature, then image, then caption: weight, image, length."""
        caption, entry = self._entries
        order = ascending(self.image_of[caption], self.feature[entry])
        caption, entry = caption[order], entry[order]
        return _records(REFERENCE, self.reference[entry], self.image_of[caption], self.length[caption])

    @property
    def _entries(self) -> tuple[Int, Int]:
        """(shared entry,) captions, ascending, and indices in ``feature``, ``query`` and ``reference``."""
        caption = np.repeat(np.arange(len(self.shared)), self.shared - self.row[:-1])
        starts = self.row[:-1] - offsets(self.shared - self.row[:-1])[:-1]
        return caption, np.arange(len(caption)) + starts[caption]

    @cached_property
    def _by_image(self) -> tuple[Int, Int32, Int32]:
        """(image + 1,) starts; the features of every image, ascending; the first posting of each in this image."""
        image = self._references["image"]
        feature = np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))
        first = np.flatnonzero((np.diff(feature, prepend=-1) != 0) | (np.diff(image, prepend=-1) != 0))
        posting = first[ascending(image[first])]
        row = offsets(np.bincount(image[first], minlength=len(self.scale)))
        return row, feature[posting], posting.astype(np.int32)

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
        caption, entry = self._entries
        order = ascending(self._by_length[1][caption], self.feature[entry])
        caption, entry = caption[order], entry[order]
        return _records(CANDIDATE, self.query[entry], self._by_length[1][caption], self.length[caption])

    @cached_property
    def _dense(self) -> Float:
        """(feature, caption) weights of the most frequent features, captions sorted by length."""
        size, n = np.diff(self.start[: self.frequent + 1]), len(self.length)
        most = min(int((size > MIN_CAPTION_FRACTION * n).sum()), DENSE_BYTES // (8 * max(n, 1)))
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
            # Added in the order of the postings, as in the kernels.
            sums[:] = np.bincount(cell, values, sums.size).reshape(sums.shape)
        return slot, table


def features(found: Grams, image_of: Int, images: int, idf: Float, *, clip: bool) -> Features:
    """Weighted features of captions.

    Args:
        found: the n-grams of the captions.
        image_of: (caption,) int64.
        images: number of images.
        idf: (n-gram,) float64.
        clip: True for CIDEr-D, with the minimum of the counts and the penalty of length; False for plain CIDEr.
    """
    again = found.count - 1 if clip else np.zeros_like(found.count)
    most = np.zeros(len(found), np.int64)
    np.maximum.at(most, found.gram[again > 0], again[again > 0])
    first_repeat = (len(found) + offsets(most)).astype(np.int32)
    weight = found.count * idf[found.gram]
    cell = 4 * found.caption + found.order[found.gram]
    norm = np.sqrt(np.bincount(cell, weight**2))
    entry = np.flatnonzero(weight)
    repeated = np.repeat(entry, again[entry])
    t = np.arange(len(repeated), dtype=np.int32) - np.repeat(offsets(again[entry])[:-1], again[entry])  # from 0
    feature = np.concatenate([found.gram[entry], first_repeat[found.gram[repeated]] + t])
    entry = np.concatenate([entry, repeated])
    caption, norm = found.caption[entry], norm[cell[entry]]
    start, frequent, number = _numbering(feature, image_of[caption], int(first_repeat[-1]), images)
    feature = number[feature]
    order = ascending(feature, caption)
    reference = (weight[entry] / norm)[order]
    query = (idf[found.gram[entry]] / norm)[order] if clip else reference
    row = offsets(np.bincount(caption, minlength=len(image_of)))
    shared = row[:-1] + np.bincount(caption[feature < len(start) - 1], minlength=len(image_of))
    length = np.maximum(found.tokens.length - 1, 0).astype(np.int32) if clip else np.zeros(len(shared), np.int32)
    distance = np.arange(int(length.max(initial=0)) + 1, dtype=np.float64)
    penalty = elementary.exp(-(distance**2) / (2 * SIGMA**2))
    scale = 10.0 / 4.0 / np.maximum(np.bincount(image_of, minlength=images), 1)
    return Features(image_of, length, row, shared, feature[order], query, reference, start, frequent, penalty, scale)


def _numbering(feature: Int, image: Int, n_feature: int, images: int) -> tuple[Int, int, Int32]:
    """Starts of the postings in the new order, the number of frequent features, and the new number of each feature."""
    size = np.bincount(feature, minlength=n_feature)
    often = np.flatnonzero(size[feature] > MIN_IMAGE_FRACTION * images)  # the others cannot be frequent
    frequent = (image_frequency(feature[often], image[often], n_feature) > MIN_IMAGE_FRACTION * images) & (size > 1)
    order = np.lexsort((-size, ~frequent))
    number = np.empty(n_feature, np.int32)
    number[order] = np.arange(n_feature)
    size = size[order]
    return offsets(size[: int((size > 1).sum())]), int(frequent.sum()), number


def _records(kind: np.dtype[np.void], *columns: npt.NDArray[Any]) -> Records:
    """Records of a dtype from its columns."""
    found = np.empty(len(columns[0]), kind)
    for name, column in zip(kind.fields or (), columns, strict=True):
        found[name] = column
    return found


def load(test: TestSet, argument: None, settings: Mapping[str, str]) -> Gains:
    """CIDEr-D (or plain CIDEr) of every caption c against the captions S of an image, from 0 to 10.

    CIDEr-D(c, S) = 10 mean_{n=1..4} mean_{r in S} sum_g min(w_g(c), w_g(r)) w_g(r) / (|w(c)|_n |w(r)|_n)
    exp(-(l_c - l_r)^2 / (2 sigma^2)), with w_g = count_g (log N - log max(1, df_g)), l the number of bigrams and
    sigma = 6; plain CIDEr has neither the minimum nor the penalty. Values are float32, equal to the values of
    ``pycocoevalcap`` to 1e-6. Source: Vedantam et al., CVPR 2015, and the released code, which averages where the
    paper's eq. 3-4 weigh the n-gram lengths equally.

    Args, see ``sources.Loader``:
        settings: ``tokens`` (ptb, whitespace); ``variant``: ``d`` (CIDEr-D) or ``plain``; ``df``: ``split``
            or a file of captions (see ``corpus_df``); ``own``: ``in``, or ``out`` to
            compare a caption with the other captions of its image.

    Raises:
        BadInput: the file is damaged.
    """
    tokens, own_captions = settings["tokens"], settings["own"]
    found = grams(tokenise(test.columns.texts or (), tokens))
    note(*found.tokens.notes)
    length, column = found.tokens.length, test.columns
    if empty := np.flatnonzero(length == 0).tolist():
        note(f"{column.have(len(empty))} no tokens (first: id {column.ids[empty[0]]}): CIDEr 0, also as a reference")
    if short := int(((length > 0) & (length < 4)).sum()):
        note(f"{column.have(short)} fewer than 4 tokens; longer n-grams count as 0")
    idf, corpus = _weights(found, test, settings["df"], tokens)
    clip = settings["variant"] == "d"
    weighted = features(found, test.owners, len(test.rows), idf, clip=clip)
    values = Replaced(weighted, test.owners, weighted.without_itself()) if own_captions == "out" else weighted
    return Gains("cider", {**settings, "df": corpus}, test.shape, values, lowest=0.0)


def _weights(found: Grams, test: TestSet, source: str, tokens: str) -> tuple[Float, str]:
    """(n-gram,) float64 log N - log max(1, df); the corpus, for the signature."""
    if source == "split":
        df: npt.NDArray[np.int32] = image_frequency(found.gram, test.owners[found.caption], len(found))
        images, corpus, where = len(np.unique(test.owners)), "split", "the split"  # those with captions
    else:
        df, images = corpus_df(source, tokens, found)
        corpus, where = f"{Path(source).name}#{sha256_of(source)[:12]}", source
    if images == 1:
        note(f"there is one image in {where}, so every n-gram has weight 0 and CIDEr is 0 for every pair")
    elif len(df) and (everywhere := int((df >= images).sum())):
        counted = count_of(everywhere, "n-gram occurs", "n-grams occur")
        note(f"{counted} with every image of {where}: weight 0")
    if source != "split" and len(df) and (unseen := float((df == 0).mean())) > 0.5:
        note(f"{unseen:.0%} of the n-grams of the captions do not occur in {where}")
    return elementary.log(images) - elementary.log(np.maximum(df, 1)), corpus


def corpus_df(path: str | os.PathLike[str], tokens: str, wanted: Grams) -> tuple[Int32, int]:
    """In how many images of a corpus each n-gram occurs, and the number of these images.

    Args:
        path: a file of captions with the ids of their images, see ``docs/formats.md``.
        tokens: the tokeniser.
        wanted: the n-grams.

    Returns:
        (n-gram,) int32, 0 for those that do not occur; the number of images, N.

    Raises:
        BadInput: no such file, or damaged.
    """
    from .kernels import find_grams

    rows = caption_file(path).rows(ALL_PARTS)
    images = rows.images()[1]
    found = grams(tokenise(rows.captions or (), tokens))
    df = image_frequency(found.gram, images[found.caption], len(found))
    words, number = found.tokens.words, {word: i for i, word in enumerate(wanted.tokens.words)}
    number_of = np.fromiter((number.get(word, -1) for word in words), np.int32, len(words))
    place = np.empty(len(found), np.int32)
    find_grams(*wanted.table, len(number), found.parent, number_of[found.last], place)
    out = np.zeros(len(wanted), np.int32)
    out[place[place >= 0]] = df[place >= 0]
    return out, int(images.max()) + 1
