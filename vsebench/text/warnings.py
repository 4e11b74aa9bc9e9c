"""Captions that the tokenisers cannot split into words, or that say nothing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

MOST = 0.2  # share of the letters of scripts without spaces between words, from which captions are examined
LONG = 4  # such letters in a row, on average, that are more than a word
FOREIGN = 0.01  # share of the letters that English does not have
SAME = 0.5  # share of the captions that are one string
FEW = 10  # with fewer captions it means nothing that many are equal
SAMPLE = 2000  # captions that are examined
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # beginnings of the names of characters


def of_captions(captions: Sequence[str]) -> list[str]:
    """Why gains that are made from the words of captions may be meaningless, one sentence each; empty as a rule."""
    some = captions[:: max(1, len(captions) // SAMPLE)]
    found = []
    string, times = Counter(some).most_common(1)[0] if some else ("", 0)
    if len(some) >= FEW and times > SAME * len(some):
        found.append(f"{times:,} of {len(some):,} captions that were examined are the string '{string[:40]}'")
    count = Counter(c for caption in some for c in caption if c.isalpha())
    total = max(1, count.total())
    foreign = {c: n for c, n in count.items() if not c.isascii()}
    unspaced = sum(n for c, n in foreign.items() if unicodedata.name(c, "").startswith(UNSPACED))
    runs = sum(
        any(unicodedata.name(c, "").startswith(UNSPACED) for c in word) for text in some for word in text.split()
    )
    if unspaced > MOST * total and unspaced > LONG * runs:
        found.append(
            f"{unspaced / total:.0%} of the letters of the captions are of a script without spaces between words, and "
            "the tokeniser takes phrases for words: give captions with spaces between words"
        )
    elif (share := sum(foreign.values()) / total) > FOREIGN:
        example = max(foreign, key=lambda c: (foreign[c], c))
        found.append(
            f"{share:.0%} of the letters of the captions are not English (such as '{example}'), and the tokeniser was "
            "made for English: forms of a word count as different words"
        )
    return found
