"""Penn Treebank tokens of captions, equal to those of the PTBTokenizer of ``pycocoevalcap``, without Java.

The original writes all captions into one file, a line each, runs a lexer over it, lowers the case and drops 17
punctuation tokens. Nearly every piece between two spaces gives the same tokens wherever it stands, so each distinct
piece is cut once and remembered. The few captions with a piece that depends on what follows are cut as a whole. As in
the original, the end of a caption may look at the start of the next ("Wii U." before "A man" has no initial).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np

from ..types import Int
from .ptb_rules import BEFORE_STOP, LOOKS_AHEAD, RULES, SPLIT_WORDS, Rule
from .tokens import Int32, Numbers, Tokens

# Bracket names are dropped in capitals only, and tokens are lower-case by then: brackets stay.
DROPPED = frozenset(("''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"))
# Where the rules were compared with the original character by character; elsewhere identity is not promised.
CERTAIN = r"\t\n\r\x20-\x7e\u00a0-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20b8\u2100-\u214f\u2190-\u22ff"
_UNCERTAIN = re.compile(rf"[^{CERTAIN}]")
_STRANGE = re.compile(r"[^\x20-\x7e\n\r]")
LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029\x0b\x0c\x85]")
_NEEDED = "".join(sorted({rule.needs for rule in RULES}))


def tokenise(texts: Sequence[str]) -> Tokens:
    """Lower-case Penn Treebank tokens without punctuation.

    They equal ``PTBTokenizer().tokenize`` of ``pycocoevalcap`` 1.2 on the same captions in the same order, each split
    at white space, as its metrics do. A line end inside a caption counts as a space.

    Args:
        texts: the captions.

    Returns:
        Tokens, with a note when a caption holds characters for which equality is not promised.
    """
    pieces = [text.split() for text in texts]
    numbers = Numbers()
    flat = numbers.of(list(chain.from_iterable(pieces)))
    owner = np.repeat(np.arange(len(texts)), np.fromiter(map(len, pieces), np.int64, len(texts)))
    cut = [_piece(piece) for piece in numbers]
    whole = _looking_ahead(texts, list(numbers), flat, owner)
    if len(whole):
        keep = np.isin(owner, whole, invert=True)
        flat = np.concatenate([flat[keep], np.arange(len(cut), len(cut) + len(whole), dtype=np.int32)])
        owner = np.concatenate([owner[keep], whole])
        order = np.argsort(owner, kind="stable")
        flat, owner = flat[order], owner[order]
        cut += [_kept(scan(*_in_context(texts, i))) for i in whole.tolist()]
    return _assemble(cut, flat, owner, len(texts), _notes(texts))


def scan(text: str, stop: int | None = None) -> Iterator[str]:
    """The tokens of running text as the lexer gives them: in the case of the text, with punctuation.

    Args:
        text: the text.
        stop: tokens start before this place; what follows is only looked at.
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
        if found is None or rule is None:  # a character that is in no rule is left out
            at += 1
            continue
        token = found[found.lastindex or 0]
        at += len(token)
        if rule.normalise is not None:
            yield rule.normalise(token)


@cache  # at most one entry a subset of the few marks
def _usable(marks: str) -> dict[str, tuple[Rule, ...]]:
    """By kind of first character, the rules that can match in a text that has these marks."""
    return {kind: tuple(r for r in RULES if kind in r.starts and r.needs in marks) for kind in "a0."}


def _kept(tokens: Iterator[str]) -> list[str]:
    """Lower-case, without punctuation; a token with spaces in it (a tag) counts as several."""
    low = (token.lower() for token in tokens)
    return list(chain.from_iterable(token.split() for token in low if token not in DROPPED))


def _piece(piece: str) -> list[str]:
    """The tokens of what stands between two spaces, when it stands for itself."""
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
    return _kept(scan(piece + "\n", len(piece)))


def _looking_ahead(texts: Sequence[str], pieces: list[str], flat: Int32, owner: Int) -> Int:
    """Captions that cannot be cut piece by piece: (caption,) int64, ascending."""
    odd = set[int]()
    if _STRANGE.search("".join(texts)):
        odd.update(i for i, text in enumerate(texts) if _STRANGE.search(text))
    n = len(pieces)
    ahead = np.fromiter(((p[-1] == "." or "<" in p) and bool(LOOKS_AHEAD.match(p)) for p in pieces), bool, n)
    ends_digit = np.fromiter((p[-1].isdigit() or p[-1] == ")" for p in pieces), bool, n)
    starts_digit = np.fromiter((p[0].isdigit() for p in pieces), bool, n)
    ends_dot = np.fromiter((p[-1] == "." for p in pieces), bool, n)
    starts_dot = np.fromiter((p[0] == "." for p in pieces), bool, n)
    left, right = flat[:-1], flat[1:]
    joined = (ends_digit[left] & starts_digit[right]) | (ends_dot[left] & starts_dot[right])
    odd.update(owner[ahead[flat]].tolist(), owner[:-1][joined].tolist())
    if texts:
        odd.add(len(texts) - 1)  # the original has no line end behind the last caption
    return np.array(sorted(odd), np.int64)


def _in_context(texts: Sequence[str], i: int) -> tuple[str, int]:
    """Caption ``i`` with the line end and the next caption that is not empty, and the length of caption ``i``."""
    text = LINE_ENDS.sub(" ", texts[i])
    seen, last = [text], len(texts) - 1
    for following in range(i + 1, len(texts)):
        seen.append(LINE_ENDS.sub(" ", texts[following]))
        if seen[-1].strip():
            break
    ended = i < last and i + len(seen) - 1 < last
    return "\n".join(seen) + ("\n" if ended else ""), len(text)


def _assemble(cut: list[list[str]], flat: Int32, owner: Int, captions: int, notes: tuple[str, ...]) -> Tokens:
    """Put the tokens ``cut[flat]`` one after the other; ``owner`` is the caption of every piece."""
    words = Numbers()
    every = words.of(list(chain.from_iterable(cut)))
    size = np.fromiter(map(len, cut), np.int64, len(cut))
    first = np.cumsum(size) - size
    count = size[flat]
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    word = every[np.repeat(first[flat], count) + place]
    per_caption = np.bincount(owner, weights=count, minlength=captions).astype(np.int64)
    return Tokens(tuple(words), word, np.concatenate([[0], np.cumsum(per_caption)]), notes)


def _notes(texts: Sequence[str]) -> tuple[str, ...]:
    odd = [text for text in texts if not text.isascii() and _UNCERTAIN.search(text)]
    if not odd:
        return ()
    seen = sorted(set(_UNCERTAIN.findall("".join(odd))))
    shown = ", ".join(f"U+{ord(c):04X}" for c in seen[:3]) + (" ..." if len(seen) > 3 else "")
    return (
        f"{len(odd):,} captions hold characters for which the tokens may differ from those of the Java tokeniser "
        f"({shown}); tokens=ptb-java asks that one",
    )
