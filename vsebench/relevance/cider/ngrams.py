"""The n-grams (n = 1 to 4) of captions as numbers, and in how many images each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...numeric.sort import ascending
from ...text.tokens import Int32, Tokens
from ...types import Int

LONGEST = 4


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
    from .ngram_kernels import EMPTY, count_grams

    n_words, n_tokens = len(tokens.words), len(tokens.word)
    most = n_words + (LONGEST - 1) * n_tokens
    bits = max(4, int(most).bit_length() + 1)  # the table is at most half full
    keys, values, shift = np.full(1 << bits, EMPTY), np.empty(1 << bits, np.int32), np.uint64(64 - bits)
    parent, last, order = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int8)
    start = np.empty(len(tokens) + 1, np.int64)
    gram, count = np.empty(LONGEST * n_tokens, np.int32), np.empty(LONGEST * n_tokens, np.int32)
    used, entries = count_grams(
        tokens.word, tokens.start, n_words, keys, values, shift, parent, last, order, start, gram, count
    )
    rows = (parent[:used].copy(), last[:used].copy(), order[:used].copy())
    return Grams(tokens, *rows, start, gram[:entries].copy(), count[:entries].copy(), (keys, values, shift))


def image_frequency(item: Int | Int32, image: Int, n: int) -> Int32:
    """(item below ``n``,) int32 number of different images among those of (entry,) items."""
    order = ascending(image, item)
    item, image = item[order], image[order]
    first = (np.diff(item, prepend=-1) != 0) | (np.diff(image, prepend=-1) != 0)
    return np.bincount(item[first], minlength=n).astype(np.int32)
