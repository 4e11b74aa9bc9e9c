"""What the captions of a scene state: which groups, which of their attributes, which relations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .facts import AT_LEAST_TWO, MAX_STATED_RELATIONS, UNSAID, Facts, Mention, holding, matched
from .sample import Draws
from .settings import Settings
from .world import ATTRIBUTES, BACKGROUNDS, Scene

Kind = Literal["true", "wrong", "generic"]
KINDS: tuple[Kind, ...] = ("true", "wrong", "generic")
LARGEST_NUMBER = 9  # stated as a number word

# Probabilities, by how much a caption covers (little, some, most): of naming a shape (else "object"), its colour, size
# and texture, a number where there are several objects, the background, and every relation that is possible.
MENTION_PROBABILITY = {
    "shape": (0.92, 0.95, 0.98),
    "colour": (0.85, 0.88, 0.95),
    "size": (0.2, 0.35, 0.65),
    "texture": (0.35, 0.5, 0.85),
    "number": (0.4, 0.6, 0.9),
    "background": (0.05, 0.2, 0.5),
    "relation": (0.5, 0.6, 0.8),
}
COVERAGE_WEIGHTS = (15, 45, 40)  # captions that mention little, some or most
PLAIN_FACTOR = 0.25  # a plain texture is mentioned this much less often than others
SINGLE_PROBABILITY = 0.08  # that a caption says that there is a single object
VAGUE_SHARE = 0.01  # captions such as "some shapes"
ATTEMPTS = 20  # to make a caption false by replacing one of its facts


@dataclass(frozen=True)
class Content:
    """What one caption states, and whether that is meant to be true, wrong or nothing at all."""

    kind: Kind
    facts: Facts


def content(scene: Scene, settings: Settings, draws: Draws) -> Content:
    """What one caption of a scene states."""
    if draws.chance(settings.generic):
        return Content("generic", Facts())
    # Relative to the captions that are not generic, so that all captions have the requested share.
    if draws.chance(settings.wrong / (1 - settings.generic)):
        return Content("wrong", wrong(true(scene, draws), scene, draws))
    return Content("true", vague(scene) if draws.chance(VAGUE_SHARE) else true(scene, draws))


def vague(scene: Scene) -> Facts:
    """As little as possible: an object of this colour, or at least two objects."""
    if sum(group.number for group in scene.groups) >= 2:
        return Facts((Mention(number=AT_LEAST_TWO),))
    return Facts((Mention(colour=scene.groups[0].colour),))


def true(scene: Scene, draws: Draws) -> Facts:
    """Facts that hold, at least one."""
    level = draws.weighted(COVERAGE_WEIGHTS)
    count = len(scene.groups)
    most = count if level == 2 else min(count, level + 1)
    chosen = draws.shuffled(range(count))[: most if level == 2 else draws.between(1, most)]
    mentions = [_apart(_mention(scene, g, level, draws), scene, g, chosen) for g in chosen]
    for n, g in enumerate(chosen):
        if any(mentions[n].attributes == mention.attributes for mention in mentions[:n]):  # "a circle and a circle"
            mentions[n] = replace(mentions[n], shape=scene.groups[g].shape, colour=scene.groups[g].colour)
    background = scene.background if draws.chance(MENTION_PROBABILITY["background"][level]) else UNSAID
    facts = Facts(tuple(mentions), (), background)
    for n in range(min(len(chosen) - 1, MAX_STATED_RELATIONS)):
        # In a chain: the first mention and the second, the second and the third.
        if n > len(facts.relations) or not draws.chance(MENTION_PROBABILITY["relation"][level]):
            break
        more = (replace(facts, relations=(*facts.relations, r)) for r in _between(scene, n, chosen))
        possible = [stated for stated in more if holding(stated, scene, tuple(chosen)) == stated.count]
        if possible:
            facts = draws.pick(possible)
    return facts


def wrong(facts: Facts, scene: Scene, draws: Draws) -> Facts:
    """The facts with one of them replaced, so that the caption is false of the scene."""
    for _ in range(ATTEMPTS):
        other = _replaced(facts, draws)
        distinct = len({mention.attributes for mention in other.mentions}) == len(other.mentions)
        if distinct and matched(other, scene) < other.count:
            return other
    # No replaced fact may be false: "a small shape", if there are small and large ones.
    return replace(facts, background=_other(scene.background, len(BACKGROUNDS), draws))


def _mention(scene: Scene, g: int, level: int, draws: Draws) -> Mention:
    """A true mention of one group, with a true number."""
    group = scene.groups[g]
    mentioned = {name: draws.chance(MENTION_PROBABILITY[name][level]) for name in ATTRIBUTES}
    if group.texture == 0 and mentioned["texture"]:
        mentioned["texture"] = draws.chance(PLAIN_FACTOR)
    if not any(mentioned.values()):
        mentioned["shape"] = True
    mention = Mention(**{name: getattr(group, name) if mentioned[name] else UNSAID for name in ATTRIBUTES})
    total = sum(scene.groups[k].number for k in mention.fits(scene))
    if group.number == 1:
        single = total == 1 and draws.chance(SINGLE_PROBABILITY)
        return replace(mention, number=1) if single else mention
    exact = total <= LARGEST_NUMBER and draws.chance(MENTION_PROBABILITY["number"][level])
    return replace(mention, number=total if exact else AT_LEAST_TWO)


def _apart(mention: Mention, scene: Scene, g: int, chosen: list[int]) -> Mention:
    """The mention with shape and colour, which no other group has, when its number counts another mentioned group.

    "Two circles and a red circle" would be read as three circles.
    """
    if mention.number == UNSAID or mention.fits(scene).isdisjoint(set(chosen) - {g}):
        return mention
    group = scene.groups[g]
    number = mention.number if mention.number == AT_LEAST_TWO else group.number
    return replace(mention, shape=group.shape, colour=group.colour, number=number)


def _between(scene: Scene, n: int, chosen: list[int]) -> list[tuple[int, int, int]]:
    """The relations of the groups of mentions n and n + 1, as relations of the mentions."""
    a, b = chosen[n], chosen[n + 1]
    ahead = [(r, n, n + 1) for r, g, h in sorted(scene.relations) if (g, h) == (a, b)]
    return ahead + [(r, n + 1, n) for r, g, h in sorted(scene.relations) if (g, h) == (b, a)]


def _replaced(facts: Facts, draws: Draws) -> Facts:
    """One fact replaced by another of its kind: an attribute, the direction of a relation, or the background."""
    places: list[tuple[int, str]] = [
        (n, name)
        for n, mention in enumerate(facts.mentions)
        for name in (*ATTRIBUTES, "number")
        if getattr(mention, name) not in (UNSAID, AT_LEAST_TWO)
    ]
    places += [(n, "relation") for n in range(len(facts.relations))]
    if facts.background != UNSAID or not places:
        places.append((0, "background"))
    n, what = draws.pick(places)
    if what == "background":
        return replace(facts, background=_other(facts.background, len(BACKGROUNDS), draws))
    if what == "relation":
        relations = list(facts.relations)
        r, a, b = relations[n]
        relations[n] = (r, b, a)
        return replace(facts, relations=tuple(relations))
    mentions = list(facts.mentions)
    old = getattr(mentions[n], what)
    if what == "number":
        # A number of one turns the noun into the singular, which says something else of the groups that are meant.
        new = draws.pick([k for k in range(2, 5) if k != old])
    else:
        new = _other(old, len(ATTRIBUTES[what]), draws)
    mentions[n] = replace(mentions[n], **{what: new})
    return replace(facts, mentions=tuple(mentions))


def _other(code: int, count: int, draws: Draws) -> int:
    """Another code than ``code``."""
    return draws.pick([other for other in range(count) if other != code])
