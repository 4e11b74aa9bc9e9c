"""How a caption is worded: synonyms, number words, passives, places of adjectives, and frames of the sentence.

Every wording states exactly the facts it is given, and a reader can recover them from the words alone. Therefore:

- All mentions of a caption use the same word for a code: "a circle and a disc" would be read as two shapes.
- A mention without a relation to the rest is a separate sentence: "a star left of a ring and a box" could be read as a
  star that is left of both.
- "with dots" and plurals without a determiner do not occur in lists: "arrows with dots and discs" could be read as
  arrows with discs on them, "a star and a ring with dots" as two dotted objects, "red stars and hearts" as red hearts.
- Words that are used both of places in the image and of what covers what ("under", "beneath") do not occur, nor those
  that are used of parts ("on the left side of a box").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .content import Content, content
from .facts import AT_LEAST_TWO, UNSAID, Facts, Mention
from .sample import Draws
from .settings import CAPTIONS, Settings
from .world import ABOVE, BACKGROUNDS, COLOURS, FRONT, LEFT, SHAPES, SIZES, TEXTURES, Scene

T = TypeVar("T")

# Wordings of a code, the usual one repeated so that it is the most frequent. Nouns are (singular, plural).
NOUNS: dict[str, tuple[tuple[str, str], ...]] = {
    "circle": (("circle", "circles"), ("circle", "circles"), ("disc", "discs")),
    "square": (("square", "squares"), ("square", "squares"), ("box", "boxes")),
    "triangle": (("triangle", "triangles"),),
    "diamond": (("diamond", "diamonds"), ("diamond", "diamonds"), ("rhombus", "rhombuses")),
    "star": (("star", "stars"),),
    "cross": (("cross", "crosses"), ("cross", "crosses"), ("plus sign", "plus signs")),
    "ring": (("ring", "rings"), ("ring", "rings"), ("hoop", "hoops")),
    "heart": (("heart", "hearts"),),
    "moon": (("moon", "moons"), ("moon", "moons"), ("crescent", "crescents")),
    "arrow": (("arrow", "arrows"), ("arrow", "arrows"), ("arrow sign", "arrow signs")),
}
ANY_NOUN = (("shape", "shapes"), ("object", "objects"), ("thing", "things"), ("figure", "figures"))
COLOUR_WORDS = {"purple": ("purple", "purple", "violet")}
SIZE_WORDS = {"small": ("small", "small", "little", "tiny"), "large": ("large", "large", "big", "huge")}
TEXTURE_WORDS = {
    "plain": ("plain", "solid"),
    "striped": ("striped", "striped", "stripy"),
    "dotted": ("dotted", "spotted"),
    "checked": ("checked", "checkered"),
}
TEXTURE_PHRASES = {
    "striped": ("with stripes",),
    "dotted": ("with dots", "with spots"),
    "checked": ("with a checked pattern", "with a checkered pattern"),
}
BACKGROUND_WORDS = {"grey": ("grey", "gray")}
NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
PLURALS = ("some", "some", "multiple", "a group of", "")
SINGLES = ("a single", "only one", "exactly one")
# Relations between a and b, seen from a and seen from b.
AHEAD = {
    LEFT: ("to the left of", "to the left of", "left of", "further left than"),
    ABOVE: ("above", "above", "higher up than"),
    FRONT: ("in front of", "partly covering"),
}
BACK = {
    LEFT: ("to the right of", "to the right of", "right of", "further right than"),
    ABOVE: ("below", "below", "lower down than"),
    FRONT: ("behind", "partly covered by", "partly hidden by"),
}
FRONTED = ("to the left of", "to the right of", "above", "below", "in front of", "behind")
PARTICIPLES = ("", "", "placed", "drawn", "shown")  # passive: "a circle is drawn above a square"
FRAMES = (
    "{}", "{}", "{}", "a picture of {}", "an image with {}", "this picture shows {}", "a drawing of {}",
    "the image contains {}",
)  # fmt: skip
GENERIC = (
    "a picture of something colorful", "an abstract image", "a simple computer drawing", "this is a picture",
    "a nice little illustration", "an image made by a computer", "a drawing with a background", "modern art",
)  # fmt: skip

Chosen = dict[str, int]  # of one caption: which wording of a code it uses


@dataclass(frozen=True)
class Caption:
    """A caption, and what it states."""

    text: str
    content: Content


def captions(scene: Scene, image: int, settings: Settings) -> list[Caption]:
    """The captions of image number ``image``, which shows ``scene``."""
    found = []
    for number in range(CAPTIONS):
        draws = Draws(settings.seed, "caption", image, number)
        states = content(scene, settings, draws)
        found.append(Caption(worded(states.facts, draws), states))
    return found


def worded(facts: Facts, draws: Draws) -> str:
    """A caption that states these facts; without facts, a caption that fits any image."""
    sentences = _sentences(facts, draws) if facts.count else [draws.pick(GENERIC)]
    if draws.chance(0.6):
        sentences = [text[0].upper() + text[1:] for text in sentences]
    return ". ".join(sentences) + (" ." if draws.chance(0.1) else "." if draws.chance(0.6) else "")


def _sentences(facts: Facts, draws: Draws) -> list[str]:
    """One sentence, or two or three, without their full stops."""
    if not facts.mentions:
        return [f"{draws.pick(('a picture', 'an image'))} with {_background(facts.background, draws)}"]
    clause = bool(facts.relations) and draws.chance(0.5)  # "a circle is above a square", not "a circle above a square"
    phrases = _noun_phrases(facts, clause, draws)
    stated = _stated_first(facts)
    text, precedable = _first(facts, phrases[:stated], clause, draws)
    found = []
    if phrases[stated:]:
        also = f"there {_there(facts.mentions[stated], phrases[stated])} also {_enumerated(phrases[stated:], draws)}"
        if draws.chance(0.5):
            found = [also]
        else:
            text += f", and {also}"
    if facts.background != UNSAID:
        ground = _background(facts.background, draws)
        if draws.chance(0.1):
            return [text, *found, f"the background is {ground.split()[1]}"]
        place = f"{draws.pick(('on', 'on', 'against'))} {ground}"
        text = f"{place}, {text}" if precedable and draws.chance(0.2) else f"{text} {place}"
    return [text, *found]


def _stated_first(facts: Facts) -> int:
    """The number of mentions in the first sentence: mentions with relations, or all if there are no relations."""
    return len(facts.relations) + 1 if facts.relations else len(facts.mentions)


def _first(facts: Facts, phrases: list[str], clause: bool, draws: Draws) -> tuple[str, bool]:
    """The mentions of the first sentence with their relations; and whether "on a grey background, " may precede it."""
    verb, there = _verb(facts.mentions[0], phrases[0]), _there(facts.mentions[0], phrases[0])
    if not facts.relations:
        text = _enumerated(phrases, draws)
    else:
        where, chained = _related(facts, 0, draws), ""
        if len(facts.relations) > 1:
            chained = f", which {_verb(facts.mentions[1], phrases[1])} {_related(facts, 1, draws)} {phrases[2]}"
        if clause:
            if where in FRONTED and not chained and draws.chance(0.3):
                return f"{where} {phrases[1]} there {there} {phrases[0]}", False
            participle = "" if where.startswith("partly") else draws.pick(PARTICIPLES)
            return f"{phrases[0]} {f'{verb} {participle}'.strip()} {where} {phrases[1]}{chained}", True
        text = f"{phrases[0]} {where} {phrases[1]}{chained}"
    if draws.chance(0.15):
        return f"there {there} {text}", True
    return draws.pick(FRAMES).format(text), False


def _related(facts: Facts, n: int, draws: Draws) -> str:
    """Relation n in words, as seen from mention n."""
    relation, a, _ = facts.relations[n]
    return draws.pick((AHEAD if a == n else BACK)[relation])


def _enumerated(phrases: list[str], draws: Draws) -> str:
    if len(phrases) == 1:
        return phrases[0]
    if len(phrases) == 2:
        return f"{phrases[0]} {draws.pick(('and', 'and', 'and', 'as well as', 'along with'))} {phrases[1]}"
    return f"{', '.join(phrases[:-1])}{draws.pick((' and', ', and'))} {phrases[-1]}"


def _background(code: int, draws: Draws) -> str:
    """ "a teal background"."""
    name = BACKGROUNDS[code]
    return f"a {draws.pick(BACKGROUND_WORDS.get(name, (name,)))} background"


def _noun_phrases(facts: Facts, clause: bool, draws: Draws) -> list[str]:
    """The words for every mention."""
    related = len(facts.relations)
    stated, count = _stated_first(facts), len(facts.mentions)
    # If "with dots" can only refer to this mention: not in a list, and not before ", which" or "above".
    dots = {related} if related or count == 1 else set()
    if clause:
        dots.add(0)
    if count - stated == 1:
        dots.add(stated)
    # If a plural without "some" can only be read so: "red stars and hearts" could be read as red hearts.
    bare = {*range(related + 1), stated}
    chosen: Chosen = {}
    return [_noun_phrase(m, n in dots, n in bare, chosen, draws) for n, m in enumerate(facts.mentions)]


def _noun_phrase(mention: Mention, dots: bool, bare: bool, chosen: Chosen, draws: Draws) -> str:
    """ "two small striped red circles"; "a red circle with stripes", if ``dots``; "red circles", if ``bare``."""
    words, after = [], ""
    if mention.size != UNSAID:
        name = SIZES[mention.size]
        words.append(_word(name, SIZE_WORDS[name], chosen, draws))
    if mention.texture != UNSAID:
        name = TEXTURES[mention.texture]
        if dots and name in TEXTURE_PHRASES and draws.chance(0.4):
            after = " " + draws.pick(TEXTURE_PHRASES[name])
        else:
            words.append(_word(name, TEXTURE_WORDS[name], chosen, draws))
    if mention.colour != UNSAID:
        name = COLOURS[mention.colour]
        words.append(_word(name, COLOUR_WORDS.get(name, (name,)), chosen, draws))
    name = "" if mention.shape == UNSAID else SHAPES[mention.shape]
    words.append(_word(name, NOUNS[name] if name else ANY_NOUN, chosen, draws)[_is_plural(mention)])
    return f"{_determiner(mention, words[0], bare, draws)} {' '.join(words)}{after}".strip()


def _word(name: str, wordings: Sequence[T], chosen: Chosen, draws: Draws) -> T:
    """The wording of a code: the one that the caption has used before, if any."""
    return wordings[chosen.setdefault(name, draws.below(len(wordings)))]


def _determiner(mention: Mention, following: str, bare: bool, draws: Draws) -> str:
    if mention.number == UNSAID:
        return "an" if following[0] in "aeiou" else "a"
    if mention.number == AT_LEAST_TWO:
        return draws.pick(PLURALS if bare else PLURALS[:-1])
    if mention.number == 1:
        return draws.pick(SINGLES)
    if mention.number == 2 and draws.chance(0.2):
        return "a pair of"
    return str(mention.number) if draws.chance(0.1) else NUMBER_WORDS[mention.number - 2]


def _verb(mention: Mention, phrase: str) -> str:
    """ "a group of circles is above a square", "a pair of circles are above a square"."""
    return "are" if _is_plural(mention) and not phrase.startswith("a group ") else "is"


def _there(mention: Mention, phrase: str) -> str:
    """ "there is a pair of circles"."""
    return "are" if _is_plural(mention) and not phrase.startswith("a ") else "is"


def _is_plural(mention: Mention) -> bool:
    return mention.number not in (UNSAID, 1)
