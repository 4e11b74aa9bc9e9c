"""Reads captions of scenes: all readings of a caption that a careful reader could come to.

The grammar is that of English noun phrases and relations, and wider than what captions use: "with dots" may belong to
one noun or to a list, an adjective to one noun or to several, a relation to one object or to a list. A caption is
unambiguous when one reading is left. Errors of grammar (articles, agreement of nouns and verbs) leave none.

It shares no code and no tables with the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

NOTHING = -1
SOME = 99

NOUNS = [  # by code of shape
    ["circle circles", "disc discs"],
    ["square squares", "box boxes"],
    ["triangle triangles"],
    ["diamond diamonds", "rhombus rhombuses"],
    ["star stars"],
    ["cross crosses", "plus_sign plus_signs"],
    ["ring rings", "hoop hoops"],
    ["heart hearts"],
    ["moon moons", "crescent crescents"],
    ["arrow arrows", "arrow_sign arrow_signs"],
]
ANYTHING = ["shape shapes", "object objects", "thing things", "figure figures"]
COLOURS = [["red"], ["orange"], ["yellow"], ["green"], ["blue"], ["purple", "violet"], ["pink"], ["white"], ["black"]]
SIZES = [["small", "little", "tiny"], ["large", "big", "huge"]]
TEXTURES = [["plain", "solid"], ["striped", "stripy"], ["dotted", "spotted"], ["checked", "checkered"]]
GROUNDS = [["grey", "gray"], ["beige"], ["brown"], ["teal"]]
PATTERNS = {  # "with ..." -> (texture, whether the words are a plural)
    "stripes": (1, True), "dots": (2, True), "spots": (2, True),
    "a checked pattern": (3, False), "a checkered pattern": (3, False),
}  # fmt: skip
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
WHERE = {  # -> (left 0 / above 1 / in front 2, whether the first is the subject of the fact)
    "to the left of": (0, True), "left of": (0, True), "further left than": (0, True),
    "to the right of": (0, False), "right of": (0, False), "further right than": (0, False),
    "above": (1, True), "higher up than": (1, True), "below": (1, False), "lower down than": (1, False),
    "in front of": (2, True), "partly covering": (2, True),
    "behind": (2, False), "partly covered by": (2, False), "partly hidden by": (2, False),
}  # fmt: skip
NO_FACTS = {
    "a picture of something colorful", "an abstract image", "a simple computer drawing", "this is a picture",
    "a nice little illustration", "an image made by a computer", "a drawing with a background", "modern art",
}  # fmt: skip
FRAMES = ["a picture of", "an image with", "this picture shows", "a drawing of", "the image contains"]

Noun = dict[str, tuple[int, bool]]
_NOUN: Noun = {
    word: (code, plural)
    for code, pairs in [*enumerate(NOUNS), (NOTHING, ANYTHING)]
    for pair in pairs
    for plural, word in enumerate(pair.split())
}
_CODE = [{word: code for code, words in enumerate(kind) for word in words} for kind in (SIZES, TEXTURES, COLOURS)]

# A mention is (shape, colour, size, texture, number). A reading is what a caption states, in whatever order: (sorted
# mentions, sorted relations of two mentions, background).
Mention = tuple[int, int, int, int, int]
Relation = tuple[int, Mention, Mention]
Reading = tuple[tuple[Mention, ...], tuple[Relation, ...], int]
Facts = tuple[list[Mention], list[Relation]]


@dataclass(frozen=True)
class Phrase:
    """A noun phrase."""

    mention: Mention
    subject: str  # the verb when it is the subject
    there: str  # the verb after "there"
    bare: bool  # a plural without determiner
    pattern: bool | None  # "with dots" (True: a plural), "with a checked pattern" (False), or nothing


def readings(caption: str) -> set[Reading]:
    """Everything that a caption may mean."""
    text = re.sub(r" ?\.$", "", caption)
    sentences = text.split(". ")
    starts = {not sentence[0].islower() for sentence in sentences if not sentence[0].isdigit()}
    if len(starts) > 1 or re.search(r"[^a-zA-Z0-9 ,]|  |^ | $| ,", " ".join(sentences)):
        return set()
    sentences = [sentence[0].lower() + sentence[1:] for sentence in sentences]
    if any(sentence != sentence.lower() for sentence in sentences):
        return set()
    if len(sentences) == 1 and sentences[0] in NO_FACTS:
        return {((), (), NOTHING)}
    found = set()
    for parts in product(*(list(_sentence(sentence, n > 0)) for n, sentence in enumerate(sentences))):
        grounds = [ground for _, ground in parts if ground != NOTHING]
        mentions = [m for facts, _ in parts for m in facts[0]]
        relations = [r for facts, _ in parts for r in facts[1]]
        if len(grounds) <= 1:
            found.add((tuple(sorted(mentions)), tuple(sorted(relations)), grounds[0] if grounds else NOTHING))
    return found


def _sentence(text: str, later: bool) -> Iterator[tuple[Facts, int]]:
    """A sentence with the background, wherever it is stated."""
    colour = "|".join(word for words in GROUNDS for word in words)
    code = {word: n for n, words in enumerate(GROUNDS) for word in words}
    for pattern in (rf"the background is ({colour})", rf"(?:a picture|an image) with a ({colour}) background"):
        if match := re.fullmatch(pattern, text):
            yield ([], []), code[match[1]]
    place = rf"(?:on|against) a ({colour}) background"
    if match := re.match(rf"{place}, ", text):
        for facts in _clauses(text[match.end() :], later):
            yield facts, code[match[1]]
    if match := re.search(rf" {place}", text):
        for facts in _clauses(text[: match.start()] + text[match.end() :], later):
            yield facts, code[match[1]]
    for facts in _clauses(text, later):
        yield facts, NOTHING


def _clauses(text: str, later: bool) -> Iterator[Facts]:
    """What is said, and "there is also ..."."""
    also = re.fullmatch(r"(?:(.*), and )?there (is|are) also (.*)", text)
    if also is None:
        if not later:
            yield from _clause(text)
        return
    if bool(also[1]) == later:
        return
    first = _clause(also[1]) if also[1] else [([], [])]
    for (mentions, relations), phrases in product(list(first), list(_list(also[3]))):
        if phrases[0].there == also[2]:
            yield [*mentions, *(p.mention for p in phrases)], relations


def _clause(text: str) -> Iterator[Facts]:
    for where, (relation, ahead) in WHERE.items():  # "above a square there is a circle"
        if match := re.fullmatch(rf"{where} (.*) there (is|are) (.*)", text):
            for objects, subjects in product(list(_list(match[1])), list(_list(match[3]))):
                if subjects[0].there == match[2]:
                    yield from _related(relation, ahead, subjects, objects)
    for frame in FRAMES:
        if text.startswith(f"{frame} "):
            yield from _listed(text[len(frame) + 1 :], "")
    if match := re.match(r"there (is|are) ", text):
        yield from _listed(text[match.end() :], match[1])
    else:
        yield from _listed(text, "")
        yield from _stated(text)


def _listed(text: str, there: str) -> Iterator[Facts]:
    """ "a circle above a square", "a circle and a square"."""
    for phrases in _list(text):
        if there in ("", phrases[0].there):
            yield [p.mention for p in phrases], []
    yield from _relation(text, "", there)


def _stated(text: str) -> Iterator[Facts]:
    """ "a circle is drawn above a square"."""
    for verb in ("is", "are"):
        yield from _relation(text, verb, "")


def _relation(text: str, verb: str, there: str) -> Iterator[Facts]:
    for where, (relation, ahead) in WHERE.items():
        between = rf" {verb}(?: placed| drawn| shown)? " if verb and not where.startswith("partly") else f" {verb} "
        for match in re.finditer(re.sub(" +", " ", f"{between}{where} "), text):
            left, right = text[: match.start()], text[match.end() :]
            for subjects in _list(left):
                if verb not in ("", subjects[-1].subject) or there not in ("", subjects[0].there):
                    continue
                if not verb and subjects[-1].pattern is not None:  # "a star with dots above a box": dots above a box?
                    yield [p.mention for p in subjects], [(relation, subjects[0].mention, subjects[0].mention)]
                for mentions, relations, objects, more in _objects(right):
                    found = next(_related(relation, ahead, subjects, objects))
                    yield [*found[0], *mentions, *more], [*found[1], *relations]


def _objects(text: str) -> Iterator[tuple[list[Mention], list[Relation], list[Phrase], list[Mention]]]:
    """What a relation relates to: a list, all of it or its first part, and perhaps ", which is above a star"."""
    if match := re.search(r", which (is|are) ", text):
        before, rest = text[: match.start()], text[match.end() :]
        for where, (relation, ahead) in WHERE.items():
            if rest.startswith(f"{where} "):
                for objects, others in product(list(_list(before)), list(_list(rest[len(where) + 1 :]))):
                    last = objects[-1]
                    if last.subject == match[1]:
                        mentions, relations = next(_related(relation, ahead, [last], others))
                        yield mentions[1:], relations, objects, []
                    if last.pattern is not None and last.pattern == (match[1] == "are"):  # "with dots, which are"
                        yield [], [(relation, last.mention, last.mention)], objects, []
        return
    for phrases in _list(text):
        for count in range(1, len(phrases) + 1):
            yield [], [], phrases[:count], [p.mention for p in phrases[count:]]


def _related(relation: int, ahead: bool, subjects: list[Phrase], objects: list[Phrase]) -> Iterator[Facts]:
    pairs = [(s.mention, o.mention) if ahead else (o.mention, s.mention) for s in subjects for o in objects]
    yield [p.mention for p in (*subjects, *objects)], [(relation, a, b) for a, b in pairs]


def _list(text: str) -> Iterator[list[Phrase]]:
    """ "a circle", "a circle and a square", "a circle, a square, and a star"."""
    *first, last = re.split(r",? and | as well as | along with ", text)
    if len(first) > 1 or (first and "," in last):
        return
    parts = [*(first[0].split(", ") if first else []), last]
    if (len(parts) == 2 and ", and " in text) or (len(parts) > 2 and " and " not in text):
        return
    phrases = [phrase for phrase in map(_phrase, parts) if phrase is not None]
    if len(phrases) < len(parts):
        return
    yield phrases
    for n, phrase in enumerate(phrases[1:], 1):  # "red stars and hearts": red hearts?
        if phrase.bare:
            pairs = zip(phrases[n - 1].mention[1:4], phrase.mention[1:4], strict=True)
            shared = [before if own == NOTHING else own for before, own in pairs]
            yield [*phrases[:n], replace(phrase, mention=(phrase.mention[0], *shared, SOME)), *phrases[n + 1 :]]
    for n, phrase in enumerate(phrases):
        # "a star and a ring with dots": both with dots? "arrows with dots and discs": with discs on them?
        if phrase.pattern is not None and len(phrases) > 1:
            dotted = [replace(p, mention=(*p.mention[:3], phrase.mention[3], p.mention[4])) for p in phrases]
            yield dotted if n else phrases[:1]


def _phrase(text: str) -> Phrase | None:
    """ "two small striped red circles"."""
    text, _, pattern = text.partition(" with ")
    if pattern and pattern not in PATTERNS:
        return None
    words = re.sub(r"\b(plus|arrow) (signs?)\b", r"\1_\2", text)
    start = re.match(r"(a single|only one|exactly one|a pair of|a group of|some|multiple|an?|[2-9]|[a-z]+) ", words)
    determiner = start[1] if start else ""
    subject = there = "are"
    if determiner in ("a", "an"):
        number, subject, there = NOTHING, "is", "is"
    elif determiner in ("a single", "only one", "exactly one"):
        number, subject, there = 1, "is", "is"
    elif determiner in ("a pair of", "a group of"):
        number, there = (2 if "pair" in determiner else SOME), "is"
        subject = "are" if number == 2 else "is"
    elif determiner in ("some", "multiple"):
        number = SOME
    elif determiner.isdigit() or determiner in NUMBERS:
        number = int(determiner) if determiner.isdigit() else NUMBERS[determiner]
    else:
        determiner, number = "", SOME
    rest = words[len(determiner) :].split()
    codes = []
    vowel = bool(rest) and rest[0][0] in "aeiou"
    for kind in _CODE:  # size, texture, colour
        codes.append(kind[rest.pop(0)] if rest and rest[0] in kind else NOTHING)
    if len(rest) != 1 or rest[0] not in _NOUN or determiner == ("a" if vowel else "an"):
        return None
    size, texture, colour = codes
    shape, plural = _NOUN[rest[0]]
    if plural != (number not in (NOTHING, 1)) or (pattern and texture != NOTHING):
        return None
    many = None
    if pattern:
        texture, many = PATTERNS[pattern]
    return Phrase((shape, colour, size, texture, number), subject, there, not determiner, many)
