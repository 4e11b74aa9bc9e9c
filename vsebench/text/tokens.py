"""Captions as tokens: a flat array of word numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, frozen

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

    def of(self, strings: Sequence[str]) -> Int32:
        """(string,) int32 numbers."""
        return np.fromiter(map(self.__getitem__, strings), np.int32, len(strings))


def from_lists(lists: Iterable[Sequence[str]], notes: tuple[str, ...] = ()) -> Tokens:
    """Tokens of captions that are given as lists of strings."""
    numbers, flat, lengths = Numbers(), list[str](), list[int]()
    for tokens in lists:
        flat.extend(tokens)
        lengths.append(len(tokens))
    word = numbers.of(flat)
    return Tokens(tuple(numbers), word, np.cumsum([0, *lengths]), notes)
