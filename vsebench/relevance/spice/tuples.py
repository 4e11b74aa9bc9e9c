"""The scene-graph tuples of captions, and the tools that parse them.

A tuple is ``(object,)``, ``(object, attribute)`` or ``(subject, object, relation)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...errors import MissingPackage
from ...types import composed

# What the tuples depend on. The versions are checked when captions are parsed (parser.install).
TOOLS = "SPICE 1.0; CoreNLP 3.6.0 tokenize,ssplit,parse,lemma; METEOR 1.5"
BUILD = "vsebench spice build"
ANY = "--split NAME"


class NotParsed(MissingPackage):
    """Captions without tuples in the cache; the fix is the command that parses them.

    Args:
        what: how many.
        source: the origin of the captions: ``--split NAME`` or ``--captions FILE``.
        text: the form that is parsed, ``original`` or ``ptb``.
    """

    def __init__(self, what: str, source: str = ANY, text: str = "original"):
        self.text = text
        command = f"{BUILD} {source}" + (" --text ptb" if text == "ptb" else "")
        super().__init__(what, fix=f"run: {command}  (about 60 captions a second, once)")

    def about(self, source: str) -> NotParsed:
        """The same error with another origin of the captions."""
        return NotParsed(self.what, source, self.text)


@dataclass(frozen=True)
class Tuples:
    """The tuples of distinct captions and the synsets of their words.

    Attributes:
        texts: (caption,) distinct captions in the form in which they were parsed, see ``normal``.
        tuples: (caption,) tuples of a caption in the order of the parser, with repetitions.
        synsets: METEOR synset ids of every word of a tuple; a word is an element of a tuple, a relation without its
            leading "be ". A word that METEOR lacks has none.
        broken: captions that the parser failed on, and the reason; they have no tuples.
    """

    texts: tuple[str, ...]
    tuples: tuple[tuple[tuple[str, ...], ...], ...]
    synsets: Mapping[str, frozenset[int]]
    broken: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def row(self) -> Mapping[str, int]:
        """Caption -> its index in ``texts``."""
        return {text: i for i, text in enumerate(self.texts)}


def normal(text: str) -> str:
    """A caption as it is parsed: in Unicode NFC, without white space at the ends, runs of white space as one space."""
    return " ".join(composed(text).split())


def unique(texts: Iterable[str]) -> list[str]:
    """The distinct normal forms of captions, in the order of first occurrence."""
    return list(dict.fromkeys(map(normal, texts)))


def words(item: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a tuple whose synsets are compared: its elements, a relation without its leading "be "."""
    return (*item[:2], item[2].removeprefix("be ")) if len(item) == 3 else item


def select(tuples: Tuples, texts: Iterable[str]) -> Tuples:
    """The given (normal, distinct) captions, in that order, and the synsets of their words.

    Raises:
        KeyError: a caption is missing.
    """
    texts = tuple(texts)
    chosen = tuple(tuples.tuples[tuples.row[text]] for text in texts)
    distinct = {item for items in chosen for item in items}
    used = {word for item in distinct for word in words(item)}
    broken = {text: tuples.broken[text] for text in texts if text in tuples.broken}
    return Tuples(texts, chosen, {word: tuples.synsets[word] for word in sorted(used)}, broken)
