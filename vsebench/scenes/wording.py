"""How a caption is worded: synonyms, number words, passives, places of adjectives, and frames of the sentence.

Every wording states exactly the facts it is given: a reader can recover them from the words alone.
"""

from __future__ import annotations

from .draws import Draws
from .facts import AT_LEAST_TWO, UNSAID, Facts, Mention
from .world import ABOVE, BACKGROUNDS, COLOURS, FRONT, LEFT, SHAPES, SIZES, TEXTURES

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
COLOUR_WORDS = {"purple": ("purple", "purple", "violet"), "grey": ("grey", "gray")}
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
    "checked": ("with a checked pattern",),
}
NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
PLURALS = ("some", "some", "multiple", "a group of", "")
SINGLES = ("a single", "only one", "exactly one")
# Relations between a and b, seen from a and seen from b.
AHEAD = {
    LEFT: ("to the left of", "left of", "on the left side of"),
    ABOVE: ("above", "higher up than"),
    FRONT: ("in front of", "partly covering"),
}
BACK = {
    LEFT: ("to the right of", "right of", "on the right side of"),
    ABOVE: ("below", "under", "beneath"),
    FRONT: ("behind", "partly covered by", "partly hidden by"),
}
PREPOSED = ("to the left of", "to the right of", "above", "below", "in front of", "behind")
PLACED = ("", "", "placed", "drawn", "shown")  # passive: "a circle is drawn above a square"
GENERIC = (
    "a picture of something colorful", "an abstract image", "a simple computer drawing", "this is a picture",
    "a nice little illustration", "an image made by a computer", "a drawing with a background", "modern art",
)  # fmt: skip


def worded(facts: Facts, draws: Draws) -> str:
    """A caption that states these facts; without facts, one that could be said of any image."""
    text = _sentence(facts, draws) if facts.count else draws.pick(GENERIC)
    if draws.chance(0.6):
        text = text[0].upper() + text[1:]
    return text + (" ." if draws.chance(0.1) else "." if draws.chance(0.6) else "")


def _sentence(facts: Facts, draws: Draws) -> str:
    phrases = [_noun_phrase(mention, draws) for mention in facts.mentions]
    ground = _background(facts.background, draws)
    if not phrases:
        return draws.pick((f"a picture {ground}", f"an image {ground}"))
    if facts.relations and draws.chance(0.5):
        return _with_background(_clause(facts, phrases, draws), ground, draws)
    text = _listed(facts, phrases, draws)
    frames = (
        f"there {_verb(phrases[0], facts.mentions[0])} {text}",
        f"a picture of {text}",
        f"an image with {text}",
        f"this picture shows {text}",
        text,
        text,
        text,
    )
    return _with_background(draws.pick(frames), ground, draws)


def _clause(facts: Facts, phrases: list[str], draws: Draws) -> str:
    """A sentence with a verb: "a circle is drawn above a square", "above a square there is a circle"."""
    where, rest = _related(facts, 0, draws), _others(facts, phrases, draws)
    verb = _verb(phrases[0], facts.mentions[0])
    if where in PREPOSED and len(facts.relations) == 1 and draws.chance(0.3):
        return f"{where} {phrases[1]} there {verb} {phrases[0]}{rest}"
    participle = "" if where.startswith("partly") else draws.pick(PLACED)
    verb = f"{verb} {participle}".strip()
    return f"{phrases[0]} {verb} {where} {phrases[1]}{_chained(facts, phrases, draws)}{rest}"


def _listed(facts: Facts, phrases: list[str], draws: Draws) -> str:
    """A noun phrase of all mentions: "a circle above a square, and a star"."""
    if not facts.relations:
        return _enumerated(phrases)
    where = _related(facts, 0, draws)
    chained = _chained(facts, phrases, draws)
    return f"{phrases[0]} {where} {phrases[1]}{chained}{_others(facts, phrases, draws)}"


def _chained(facts: Facts, phrases: list[str], draws: Draws) -> str:
    """The second relation, that of the second and the third mention."""
    if len(facts.relations) < 2:
        return ""
    verb = _verb(phrases[1], facts.mentions[1])
    return f", which {verb} {_related(facts, 1, draws)} {phrases[2]}"


def _others(facts: Facts, phrases: list[str], draws: Draws) -> str:
    """The mentions that no relation connects with the first."""
    others = phrases[len(facts.relations) + 1 :]
    return f"{draws.pick((', and ', ', with ', ' plus '))}{_enumerated(others)}" if others else ""


def _related(facts: Facts, n: int, draws: Draws) -> str:
    """Relation n in words, as seen from mention n."""
    relation, a, _ = facts.relations[n]
    return draws.pick((AHEAD if a == n else BACK)[relation])


def _enumerated(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _with_background(text: str, ground: str, draws: Draws) -> str:
    if not ground:
        return text
    return f"{ground}, {text}" if draws.chance(0.15) else f"{text} {ground}"


def _background(code: int, draws: Draws) -> str:
    if code == UNSAID:
        return ""
    colour = draws.pick(COLOUR_WORDS.get(BACKGROUNDS[code], (BACKGROUNDS[code],)))
    return f"{draws.pick(('on', 'on', 'against'))} {_article(colour)} {colour} background"


def _noun_phrase(mention: Mention, draws: Draws) -> str:
    """ "two small striped red circles", "a red circle with stripes"."""
    plural = _is_plural(mention)
    noun = draws.pick(ANY_NOUN if mention.shape == UNSAID else NOUNS[SHAPES[mention.shape]])[plural]
    adjectives, after = [], ""
    if mention.size != UNSAID:
        adjectives.append(draws.pick(SIZE_WORDS[SIZES[mention.size]]))
    if mention.texture != UNSAID:
        name = TEXTURES[mention.texture]
        if name in TEXTURE_PHRASES and draws.chance(0.3):
            after = " " + draws.pick(TEXTURE_PHRASES[name])
        else:
            adjectives.append(draws.pick(TEXTURE_WORDS[name]))
    if mention.colour != UNSAID:
        name = COLOURS[mention.colour]
        adjectives.append(draws.pick(COLOUR_WORDS.get(name, (name,))))
    words = " ".join([*adjectives, noun])
    return f"{_determiner(mention, words, draws)} {words}{after}".strip()


def _determiner(mention: Mention, words: str, draws: Draws) -> str:
    if mention.number == UNSAID:
        return _article(words)
    if mention.number == AT_LEAST_TWO:
        return draws.pick(PLURALS)
    if mention.number == 1:
        return draws.pick(SINGLES)
    if mention.number == 2 and draws.chance(0.2):
        return "a pair of"
    return str(mention.number) if draws.chance(0.1) else NUMBER_WORDS[mention.number - 2]


def _article(words: str) -> str:
    return "an" if words[0] in "aeiou" else "a"


def _verb(phrase: str, mention: Mention) -> str:
    return "are" if _is_plural(mention) and not phrase.startswith("a ") else "is"  # "a group of circles is"


def _is_plural(mention: Mention) -> bool:
    return mention.number not in (UNSAID, 1)
