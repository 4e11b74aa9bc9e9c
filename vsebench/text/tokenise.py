"""The tokenisers by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..registry import unknown
from ..types import composed
from . import ptb
from .tokens import Tokens, from_lists


def whitespace(captions: Sequence[str]) -> Tokens:
    """Lower case, split at white space; punctuation stays attached to its word."""
    return from_lists(caption.lower().split() for caption in captions)


TOKENISERS: dict[str, Callable[[Sequence[str]], Tokens]] = {
    "ptb": ptb.tokenise,
    "whitespace": whitespace,
}


def tokenise(captions: Sequence[str], how: str = "ptb") -> Tokens:
    """The tokens of captions in Unicode NFC.

    Args:
        captions: (caption,) strings; their order can matter, see ``ptb``.
        how: ``ptb``: lower-case Penn Treebank tokens without punctuation, those of the PTBTokenizer of
            ``pycocoevalcap``; ``whitespace``: lower case, split at white space.

    Raises:
        UsageError: no such tokeniser.
    """
    if how not in TOKENISERS:
        raise unknown("tokeniser", how, TOKENISERS)
    return TOKENISERS[how](list(map(composed, captions)))
