"""Captions as tokens: a flat array of word numbers; and warnings about captions that have none."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import frozen
from ..types import Int

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of a list of captions.

    Attributes:
        words: the distinct tokens, in no particular order.
        word: (token,) int32, index into ``words``; the captions are concatenated.
        start: (caption + 1,) int64, index in ``word`` of the first token of every caption, and the end.
        notes: reservations about the tokens, one sentence each.
    """

    words: tuple[str, ...]
    word: Int32
    start: Int
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", frozen(self.word, np.int32))
        object.__setattr__(self, "start", frozen(self.start, np.int64))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def length(self) -> Int:
        """(caption,) int64 number of tokens."""
        return np.diff(self.start)

    def lists(self) -> list[list[str]]:
        """The tokens of every caption as strings."""
        flat = [self.words[i] for i in self.word.tolist()]
        return [flat[a:b] for a, b in zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True)]


class Numbers(dict[str, int]):
    """String -> number; a new string gets the next number."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number

    def numbers_of(self, strings: Sequence[str]) -> Int32:
        """(string,) int32 numbers."""
        return np.fromiter(map(self.__getitem__, strings), np.int32, len(strings))


def from_lists(lists: Iterable[Sequence[str]], notes: tuple[str, ...] = ()) -> Tokens:
    """Tokens of captions that are given as lists of strings."""
    numbers, flat, lengths = Numbers(), list[str](), list[int]()
    for tokens in lists:
        flat.extend(tokens)
        lengths.append(len(tokens))
    word = numbers.numbers_of(flat)
    return Tokens(tuple(numbers), word, np.cumsum([0, *lengths]), notes)


# Share of the letters of scripts without spaces between words, from which captions are examined.
MAX_UNSPACED_SHARE = 0.2
MIN_UNSPACED_RUN = 4  # such letters in a row, on average, that are more than a word
MAX_FOREIGN_SHARE = 0.01  # letters that English does not have
MAX_EQUAL_SHARE = 0.5  # share of the captions that are one string
MIN_CAPTIONS = 10  # with fewer captions it means nothing that many are equal
SAMPLED_CAPTIONS = 2000  # captions that are examined
UNSPACED_SCRIPTS = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
)  # beginnings of the names of characters


def of_captions(captions: Sequence[str]) -> list[str]:
    """Why gains that are made from the words of captions may be meaningless, one sentence each; empty as a rule."""
    some = captions[:: max(1, len(captions) // SAMPLED_CAPTIONS)]
    found = []
    string, times = Counter(some).most_common(1)[0] if some else ("", 0)
    if len(some) >= MIN_CAPTIONS and times > MAX_EQUAL_SHARE * len(some):
        found.append(f"{times:,} of {len(some):,} sampled captions are the string '{string[:40]}'")
    count = Counter(c for caption in some for c in caption if c.isalpha())
    total = max(1, count.total())
    foreign = {c: n for c, n in count.items() if not c.isascii()}
    unspaced = sum(n for c, n in foreign.items() if unicodedata.name(c, "").startswith(UNSPACED_SCRIPTS))
    runs = sum(
        any(unicodedata.name(c, "").startswith(UNSPACED_SCRIPTS) for c in word)
        for text in some
        for word in text.split()
    )
    if unspaced > MAX_UNSPACED_SHARE * total and unspaced > MIN_UNSPACED_RUN * runs:
        found.append(
            f"{unspaced / total:.0%} of the letters of the captions are in a script without spaces between words, "
            "so the tokeniser reads phrases as words: give captions with spaces between words"
        )
    elif (share := sum(foreign.values()) / total) > MAX_FOREIGN_SHARE:
        example = max(foreign, key=lambda c: (foreign[c], c))
        found.append(
            f"{share:.0%} of the letters of the captions are not English (such as '{example}'), but the tokeniser "
            "was made for English: forms of a word count as different words"
        )
    return found
