"""The facts that a caption states, and how many of them hold in a scene.

A caption mentions groups of objects; of each it states some attributes and perhaps a number. It may state relations
between the groups that it mentions, and the background. This file is the definition, in plain Python;
``vsebench.scenes.truth`` computes the same for all pairs of a split.

How a mention is read:

- ``a red circle``: there is a group with these attributes. It may have several objects.
- ``three red circles``, ``a single red circle``: the objects with these attributes, in all groups, are so many.
- ``red circles``, ``some red circles``: they are at least two.
- A mention with a number, or in the plural, means all groups with its attributes: all of them are left of the square
  when ``the three circles are left of the square``.
- Two mentions of a caption mean different groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from .world import Scene

UNSAID = -1
AT_LEAST_TWO = 99  # the number that a plural without a number word states
MAX_MENTIONS = 4
MAX_STATED_RELATIONS = 2


@dataclass(frozen=True)
class Mention:
    """What a caption says about one group: codes of attributes, and a number; ``UNSAID`` for what it leaves open."""

    shape: int = UNSAID
    colour: int = UNSAID
    size: int = UNSAID
    texture: int = UNSAID
    number: int = UNSAID  # of objects with these attributes, or AT_LEAST_TWO

    @property
    def attributes(self) -> tuple[int, int, int, int]:
        """Shape, colour, size and texture."""
        return self.shape, self.colour, self.size, self.texture

    @property
    def facts(self) -> int:
        """How many facts are stated."""
        return sum(value != UNSAID for value in (*self.attributes, self.number))

    def fits(self, scene: Scene) -> frozenset[int]:
        """The groups of a scene that have all stated attributes."""
        return frozenset(
            g
            for g, group in enumerate(scene.groups)
            if all(stated in (UNSAID, is_) for stated, is_ in zip(self.attributes, group.attributes, strict=True))
        )


@dataclass(frozen=True)
class Facts:
    """What a caption states.

    Attributes:
        mentions: of groups, 0 to 4.
        relations: (relation, a, b), with a and b indices in ``mentions``.
        background: code of its colour, or ``UNSAID``.
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[tuple[int, int, int], ...] = ()
    background: int = UNSAID

    @property
    def count(self) -> int:
        """How many facts are stated."""
        stated = sum(mention.facts for mention in self.mentions)
        return stated + len(self.relations) + (self.background != UNSAID)


def holding(facts: Facts, scene: Scene, groups: tuple[int | None, ...]) -> int:
    """How many facts hold when mention n means the group ``groups[n]``; None for no group."""
    fits = [mention.fits(scene) for mention in facts.mentions]
    found = int(facts.background == scene.background)
    mentioned: list[frozenset[int]] = []  # by mention
    for mention, fitting, g in zip(facts.mentions, fits, groups, strict=True):
        if g is None:
            mentioned.append(frozenset())
            continue
        group = scene.groups[g]
        found += sum(stated == is_ for stated, is_ in zip(mention.attributes, group.attributes, strict=True))
        counted = fitting if g in fitting else frozenset({g})
        number = sum(scene.groups[k].number for k in counted)
        found += number >= 2 if mention.number == AT_LEAST_TWO else number == mention.number
        mentioned.append(counted if mention.number != UNSAID else frozenset({g}))
    for relation, a, b in facts.relations:
        if mentioned[a] and mentioned[b]:
            found += all((relation, g, h) in scene.relations for g in mentioned[a] for h in mentioned[b])
    return found


def matched(facts: Facts, scene: Scene) -> int:
    """How many of the facts of a caption hold in a scene: the most over all ways to tell which groups are meant.

    As Smatch does for meaning representations (Cai and Knight, Smatch: an Evaluation Metric for Semantic Feature
    Structures, ACL 2013), but exact.
    """
    return max(holding(facts, scene, groups) for groups in _meanings(len(facts.mentions), len(scene.groups)))


def _meanings(mentions: int, groups: int) -> Iterator[tuple[int | None, ...]]:
    """Every assignment of mentions to different groups; None for mentions left over."""
    choices: list[int | None] = [*range(groups), *[None] * max(0, mentions - groups)]
    return permutations(choices, mentions)
