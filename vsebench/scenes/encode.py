"""Scenes and facts as rows of small integers, for storage and for compiled code.

The columns of a scene and of the facts of a caption are named below. A mention and a group take ``MENTION`` columns:
shape, colour, size, texture, number; ``UNSAID`` where nothing is stated or there is no such group.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .content import KINDS, Kind
from .facts import MAX_MENTIONS, MAX_STATED_RELATIONS, UNSAID, Facts
from .world import MAX_GROUPS, RELATIONS, Scene

Codes = npt.NDArray[np.int8]

MENTION = 5  # columns of a mention, and of a group
# of a scene: (number of groups, groups, background, relations, number of facts)
SCENE_GROUPS = 0
SCENE_FIRST = 1  # groups
SCENE_BACKGROUND = SCENE_FIRST + MAX_GROUPS * MENTION
# Relation r of group a to group b holds when bit a of column SCENE_RELATIONS + r * MAX_GROUPS + b is set.
SCENE_RELATIONS = SCENE_BACKGROUND + 1
SCENE_FACTS = SCENE_RELATIONS + len(RELATIONS) * MAX_GROUPS
SCENE_WIDTH = SCENE_FACTS + 1
# of a caption: (number of mentions, mentions, background, number of relations, (relation, a, b) each, number of facts,
# index in KINDS)
FACTS_MENTIONS = 0
FACTS_FIRST = 1  # mentions
FACTS_BACKGROUND = FACTS_FIRST + MAX_MENTIONS * MENTION
FACTS_RELATED = FACTS_BACKGROUND + 1
FACTS_RELATIONS = FACTS_RELATED + 1
FACTS_COUNT = FACTS_RELATIONS + 3 * MAX_STATED_RELATIONS
FACTS_KIND = FACTS_COUNT + 1
FACTS_WIDTH = FACTS_KIND + 1


def encode_scene(scene: Scene) -> Codes:
    """(SCENE_WIDTH,) int8."""
    row = np.full(SCENE_WIDTH, UNSAID, np.int8)
    row[SCENE_GROUPS] = len(scene.groups)
    for n, group in enumerate(scene.groups):
        row[SCENE_FIRST + n * MENTION :][:MENTION] = (*group.attributes, group.number)
    row[SCENE_BACKGROUND] = scene.background
    row[SCENE_RELATIONS:SCENE_FACTS] = 0
    for relation, a, b in scene.relations:
        row[SCENE_RELATIONS + relation * MAX_GROUPS + b] |= 1 << a
    row[SCENE_FACTS] = scene.facts
    return row


def encode_facts(facts: Facts, kind: Kind) -> Codes:
    """(FACTS_WIDTH,) int8."""
    row = np.full(FACTS_WIDTH, UNSAID, np.int8)
    row[FACTS_MENTIONS] = len(facts.mentions)
    for n, mention in enumerate(facts.mentions):
        row[FACTS_FIRST + n * MENTION :][:MENTION] = (*mention.attributes, mention.number)
    row[FACTS_BACKGROUND] = facts.background
    row[FACTS_RELATED] = len(facts.relations)
    for n, relation in enumerate(facts.relations):
        row[FACTS_RELATIONS + 3 * n :][:3] = relation
    row[FACTS_COUNT] = facts.count
    row[FACTS_KIND] = KINDS.index(kind)
    return row
