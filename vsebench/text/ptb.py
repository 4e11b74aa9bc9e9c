"""Penn Treebank tokens of captions, equal to those of the PTBTokenizer of ``pycocoevalcap``, without Java.

The original writes all captions into one file, a line each, runs a lexer over it, converts to lower case and drops 17
punctuation tokens. Most pieces between two spaces give the same tokens in every context, so each distinct piece is
tokenised once. The few captions with a piece whose tokens depend on what follows are tokenised as one string. As in the
original, the tokens at the end of a caption may depend on the next caption ("Wii U." before "A man" is no initial).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np

from ..errors import count_of
from ..types import Int
from .ptb_rules import BEFORE_STOP, NEEDS_NEXT, REACHES_ON, RULES, SPLIT_WORDS, Rule
from .tokens import Int32, Numbers, Tokens

# The original drops the names of brackets in capitals, after the conversion to lower case: so brackets are kept.
DROPPED = frozenset(("''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"))
# Characters for which the rules were compared with the original one by one; for others equality is not certain.
CERTAIN = r"\t\n\r\x20-\x7e\u00a0-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20b8\u2100-\u214f\u2190-\u22ff"
_UNCERTAIN = re.compile(rf"[^{CERTAIN}]")
_STRANGE = re.compile(r"[^\x20-\x7e\n\r]")
LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029\x0b\x0c\x85]")
_NEEDED = "".join(sorted({rule.needs for rule in RULES}))


def tokenise(captions: Sequence[str]) -> Tokens:
    """Lower-case Penn Treebank tokens without punctuation.

    They equal ``PTBTokenizer().tokenize`` of ``pycocoevalcap`` 1.2 on the same captions in the same order, each split
    at white space, as its metrics do. A line end inside a caption counts as a space.

    Args:
        captions: (caption,) strings.

    Returns:
        Tokens, with a note when a caption holds characters for which equality is not certain.
    """
    pieces = [caption.split() for caption in captions]
    numbers = Numbers()
    flat = numbers.of(list(chain.from_iterable(pieces)))  # (piece,) number of every piece
    caption_of = np.repeat(np.arange(len(captions)), np.fromiter(map(len, pieces), np.int64, len(captions)))
    tokens = [_piece(piece) for piece in numbers]
    in_context = _context_dependent(captions, list(numbers), flat, caption_of)
    if len(in_context):
        keep = np.isin(caption_of, in_context, invert=True)
        flat = np.concatenate([flat[keep], np.arange(len(tokens), len(tokens) + len(in_context), dtype=np.int32)])
        caption_of = np.concatenate([caption_of[keep], in_context])
        order = np.argsort(caption_of, kind="stable")
        flat, caption_of = flat[order], caption_of[order]
        tokens += [_without_punctuation(scan(*_with_next(captions, i))) for i in in_context.tolist()]
    return _assemble(tokens, flat, caption_of, len(captions), _notes(captions))


def scan(text: str, stop: int | None = None) -> Iterator[str]:
    """The tokens of running text as the lexer gives them: in the case of the text, with punctuation.

    Args:
        text: the text.
        stop: tokens start before this index; what follows is only context. By default the end of the text.
    """
    at, stop = 0, len(text) if stop is None else stop
    usable = _usable("".join(mark for mark in _NEEDED if mark in text))
    while at < stop:
        first = text[at]
        kind = "a" if first.isalpha() else "0" if first.isdecimal() else "."
        reach, found, rule = at, None, None
        for candidate in usable[kind]:
            match = candidate.match(text, at)
            if match is not None and match.end() > reach:
                reach, found, rule = match.end(), match, candidate
        if found is None or rule is None:  # no rule matches: the character is skipped
            at += 1
            continue
        token = found[found.lastindex or 0]
        at += len(token)
        if rule.normalise is not None:
            yield rule.normalise(token)


@cache  # at most one entry for every subset of the few marks
def _usable(marks: str) -> dict[str, tuple[Rule, ...]]:
    """The rules that can match in a text that contains these marks, by kind of first character."""
    return {kind: tuple(r for r in RULES if kind in r.starts and r.needs in marks) for kind in "a0."}


def _without_punctuation(tokens: Iterator[str]) -> list[str]:
    """Lower-case tokens without punctuation; a token that contains spaces (a tag) counts as several."""
    low = (token.lower() for token in tokens)
    return list(chain.from_iterable(token.split() for token in low if token not in DROPPED))


def _piece(piece: str) -> list[str]:
    """The tokens of a piece between two spaces, independent of its context."""
    low = piece.lower()
    if low.isalpha():
        if low not in SPLIT_WORDS:
            return [low]
    elif (
        low[-1] in ",!?."
        and low[:-1].isalpha()
        and low[:-1] not in SPLIT_WORDS
        and not (low[-1] == "." and (len(low) == 2 or BEFORE_STOP.fullmatch(piece)))
    ):
        return [low[:-1]]
    return _without_punctuation(scan(piece + "\n", len(piece)))


def _context_dependent(captions: Sequence[str], pieces: list[str], flat: Int32, caption_of: Int) -> Int:
    """Captions that cannot be tokenised piece by piece: (caption,) int64, ascending."""
    dependent = set[int]()
    if _STRANGE.search("".join(captions)):
        dependent.update(i for i, caption in enumerate(captions) if _STRANGE.search(caption))
    n = len(pieces)
    ahead = np.fromiter(map(_depends_on_next, pieces), bool, n)
    ends_digit = np.fromiter((p[-1].isdigit() or p[-1] == ")" for p in pieces), bool, n)
    starts_digit = np.fromiter((p[0].isdigit() for p in pieces), bool, n)
    ends_dot = np.fromiter((p[-1] == "." for p in pieces), bool, n)
    starts_dot = np.fromiter((p[0] == "." for p in pieces), bool, n)
    left, right = flat[:-1], flat[1:]
    joined = (ends_digit[left] & starts_digit[right]) | (ends_dot[left] & starts_dot[right])
    dependent.update(caption_of[ahead[flat]].tolist(), caption_of[:-1][joined].tolist())
    if captions:
        dependent.add(len(captions) - 1)  # the original has no line end after the last caption
    return np.array(sorted(dependent), np.int64)


def _depends_on_next(piece: str) -> bool:
    """Whether the tokens of a piece depend on what follows the next space."""
    if piece[-1] != ".":
        return ("<" in piece or "^" in piece) and REACHES_ON.match(piece) is not None
    low = piece[:-1].lower()
    if low.isalpha() and len(low) > 1:  # one word, maybe an abbreviation
        return NEEDS_NEXT.fullmatch(piece) is not None
    tokens = list(scan(piece + "\n", len(piece)))
    last = tokens[-1] if tokens[-1] != "." or len(tokens) == 1 else tokens[-2] + "."
    return REACHES_ON.match(piece) is not None or NEEDS_NEXT.fullmatch(last) is not None


def _with_next(captions: Sequence[str], i: int) -> tuple[str, int]:
    """Caption ``i`` with the line end and the next caption that is not empty, and the length of caption ``i``."""
    caption = LINE_ENDS.sub(" ", captions[i])
    lines, last = [caption], len(captions) - 1
    for following in range(i + 1, len(captions)):
        lines.append(LINE_ENDS.sub(" ", captions[following]))
        if lines[-1].strip():
            break
    ended = i < last and i + len(lines) - 1 < last
    return "\n".join(lines) + ("\n" if ended else ""), len(caption)


def _assemble(tokens: list[list[str]], flat: Int32, caption_of: Int, captions: int, notes: tuple[str, ...]) -> Tokens:
    """Concatenate the tokens of the pieces ``flat``; ``caption_of`` is the caption of every piece."""
    words = Numbers()
    every = words.of(list(chain.from_iterable(tokens)))
    size = np.fromiter(map(len, tokens), np.int64, len(tokens))
    first = np.cumsum(size) - size
    count = size[flat]
    index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    word = every[np.repeat(first[flat], count) + index]
    per_caption = np.bincount(caption_of, weights=count, minlength=captions).astype(np.int64)
    return Tokens(tuple(words), word, np.concatenate([[0], np.cumsum(per_caption)]), notes)


def _notes(captions: Sequence[str]) -> tuple[str, ...]:
    uncertain = [caption for caption in captions if not caption.isascii() and _UNCERTAIN.search(caption)]
    if not uncertain:
        return ()
    characters = sorted(set(_UNCERTAIN.findall("".join(uncertain))))
    shown = ", ".join(f"U+{ord(c):04X}" for c in characters[:3]) + (" ..." if len(characters) > 3 else "")
    return (
        f"{count_of(len(uncertain), 'caption holds', 'captions hold')} characters for which the tokens may differ from "
        f"those of the Java tokeniser ({shown})",
    )
