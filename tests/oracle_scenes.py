"""Which facts of a caption hold in a scene, by brute force over objects; shares no code with the library.

A scene is read as a list of objects, where they lie, and which groups share a cell. A caption is read as mentions,
each of which means a group of its own or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

WORDS = ("shape", "colour", "size", "texture")
PLURAL = 99


def matched(facts: Any, scene: Any) -> int:
    """The largest number of facts that hold."""
    return max(_true(facts, scene, meaning) for meaning in _meanings(len(facts.mentions), len(scene.groups)))


def match(facts: Any, scene: Any) -> Fraction:
    """Twice the matched facts over the facts of the caption and those of the scene."""
    groups = range(len(scene.groups))
    relations = sum(related(scene, r, a, b) for r in range(3) for a in groups for b in groups if a != b)
    return Fraction(2 * matched(facts, scene), stated(facts) + 5 * len(scene.groups) + 1 + relations)


def entails(facts: Any, scene: Any) -> bool:
    """Whether the caption is true of the scene."""
    return 0 < stated(facts) == matched(facts, scene)


def stated(facts: Any) -> int:
    """How many facts a caption states."""
    of_mentions = sum(getattr(m, word) >= 0 for m in facts.mentions for word in (*WORDS, "number"))
    return of_mentions + len(facts.relations) + (facts.background >= 0)


def _meanings(mentions: int, groups: int) -> Iterator[dict[int, int]]:
    """Every way to give some of the mentions (by number) a group, no group twice."""
    if not mentions:
        yield {}
        return
    for rest in _meanings(mentions - 1, groups):
        yield rest
        for g in set(range(groups)) - set(rest.values()):
            yield {**rest, mentions - 1: g}


def _true(facts: Any, scene: Any, meaning: dict[int, int]) -> int:
    objects = [(g, group) for g, group in enumerate(scene.groups) for _ in range(group.number)]
    count = 1 if facts.background == scene.background else 0
    meant: dict[int, set[int]] = {}
    for n, g in meaning.items():
        mention = facts.mentions[n]
        said = {word: getattr(mention, word) for word in WORDS if getattr(mention, word) >= 0}
        count += sum(getattr(scene.groups[g], word) == code for word, code in said.items())
        alike = [k for k, group in objects if all(getattr(group, word) == code for word, code in said.items())]
        counted = alike if g in alike else [k for k, _ in objects if k == g]
        if mention.number >= 0:
            count += len(counted) > 1 if mention.number == PLURAL else len(counted) == mention.number
        meant[n] = set(counted) if mention.number >= 0 else {g}
    for relation, a, b in facts.relations:
        if a in meant and b in meant:
            count += all(related(scene, relation, g, h) for g in meant[a] for h in meant[b])
    return count


def related(scene: Any, relation: int, a: int, b: int) -> bool:
    """Group a is left of, above or in front of group b.

    Objects are squares of 36 or 80 units: every one of a ends before every one of b begins; or b, drawn earlier, shares
    the cell of a.
    """
    if relation == 2:
        return bool(scene.cells[a] == scene.cells[b] and a > b)
    apart = sum((18, 40)[scene.groups[g].size] for g in (a, b))
    return all(q[relation] - p[relation] >= apart for p in scene.centres[a] for q in scene.centres[b])
