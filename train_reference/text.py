"""Captions as sequences of word numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch.nn.utils.rnn import pad_sequence

from vsebench.errors import BadInput, count_of
from vsebench.text.tokenise import tokenise

PAD, START, END, OTHER = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")


@dataclass(frozen=True)
class Vocabulary:
    """The words that have a vector; all others share that of ``<unk>``.

    Attributes:
        words: (word,) the four special ones, then the words of the training captions by frequency.
    """

    words: tuple[str, ...]

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: n for n, word in enumerate(self.words)}

    def encode(self, captions: Sequence[str]) -> list[list[int]]:
        """For every caption the numbers of its words, between those of ``<start>`` and ``<end>``."""
        number = self._number
        return [[START, *(number.get(word, OTHER) for word in words), END] for words in words_of(tuple(captions))]


@lru_cache(maxsize=1)  # the vocabulary and the first epoch read the same training captions
def words_of(captions: tuple[str, ...]) -> list[list[str]]:
    """Lower-case words by the rules of the Penn Treebank, without punctuation, as on the COCO evaluation server."""
    return tokenise(captions).lists()


def build(captions: Sequence[str], count: int) -> Vocabulary:
    """The vocabulary of training captions.

    Args:
        captions: the training captions.
        count: how often a word must occur.

    Raises:
        BadInput: no word occurs so often.
    """
    found = Counter(word for words in words_of(tuple(captions)) for word in words)
    words = [word for word, n in sorted(found.items(), key=lambda item: (-item[1], item[0])) if n >= count]
    if not words:
        what = f"no word occurs {count_of(count, 'time')} in the training captions"
        raise BadInput(what, fix="check that they are captions, or give a smaller word_count in [data]")
    return Vocabulary((*SPECIAL, *words))


def padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of one batch as (caption, word) int64 filled up with ``PAD``, and their lengths (caption,) int64."""
    found = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
    return found, torch.tensor([len(row) for row in rows])
