"""Compiled: how many facts of a caption hold in a scene, for many scenes at once.

The same as ``vsebench.scenes.facts.matched``, which is the definition. One caption is compared with ``STRIP`` scenes in
loops over int8, so that one instruction serves as many scenes as a vector register has bytes. On one core, for 5,000 x
25,000, rows of captions take 8 ns a pair and rows of images 12, where CIDEr-D takes 60 and 15. Arrays are indexed, not
sliced, in all loops: counting the references to a slice takes as long as a loop.

Every way to give each mention a group of its own is tried, 24 for four mentions. Where a scene has fewer groups than
the caption mentions, a mention may have a group that is absent, of which no fact holds.

A scene is a column of ``columns`` (SCENE_WIDTH, scene), a caption a row of ``facts`` (caption, FACTS_WIDTH), both int8
in the code of ``vsebench.scenes.folder``.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

from itertools import permutations

import numpy as np

from ..numeric import compiled as nb
from .facts import AT_LEAST_TWO, MAX_MENTIONS, MAX_STATED_RELATIONS, UNSAID
from .folder import (
    FACTS_BACKGROUND,
    FACTS_FIRST,
    FACTS_MENTIONS,
    FACTS_RELATED,
    FACTS_RELATIONS,
    MENTION_COLUMNS,
    SCENE_BACKGROUND,
    SCENE_FIRST,
    SCENE_RELATIONS,
    SCENE_WIDTH,
)
from .world import MAX_GROUPS

STRIP = 128  # scenes compared with a caption at once, always so many: loops of constant length need no remainder
NUMBER_COLUMN = MENTION_COLUMNS - 1  # the number in a mention, and in a group
TWO = np.int8(2)
ASSIGNMENTS = np.array(list(permutations(range(MAX_GROUPS))), np.int64)  # (assignment, mention) group


@nb.njit(nogil=True)
def matched_rows(columns, facts, scenes, captions, out):
    """Matched facts of ranges of scenes and of captions; ``out`` (caption, scene) int8 is filled.

    Args:
        columns, facts: see above.
        scenes, captions: (start, stop) each.
    """
    strip, best, total, holds, meant, related = _scratch()
    for first in range(scenes[0], scenes[1], STRIP):
        n = min(STRIP, scenes[1] - first)
        strip[:, :n] = columns[:, first : first + n]
        for c in range(captions[0], captions[1]):
            _matched(strip, facts, c, best, total, holds, meant, related)
            for i in range(n):
                out[c - captions[0], first - scenes[0] + i] = best[i]


@nb.njit(nogil=True)
def matched_pairs(columns, facts, scene, caption, out):
    """Matched facts of pairs of a scene and a caption, (pair,) int64 each; ``out`` (pair,) int8 is filled.

    Following pairs of the same caption are computed together: they take as long as one.
    """
    strip, best, total, holds, meant, related = _scratch()
    p = 0
    while p < len(out):
        n = 1
        while n < STRIP and p + n < len(out) and caption[p + n] == caption[p]:
            n += 1
        for k in range(SCENE_WIDTH):
            for i in range(n):
                strip[k, i] = columns[k, scene[p + i]]
        _matched(strip, facts, caption[p], best, total, holds, meant, related)
        for i in range(n):
            out[p + i] = best[i]
        p += n


@nb.njit(nogil=True)
def _scratch():
    """The scenes of a strip, and the other arrays of ``_matched``."""
    return (
        np.zeros((SCENE_WIDTH, STRIP), np.int8),
        np.empty(STRIP, np.int8),
        np.empty(STRIP, np.int8),
        np.empty((MAX_MENTIONS, MAX_GROUPS, STRIP), np.int8),
        np.empty((MAX_MENTIONS, MAX_GROUPS, STRIP), np.int8),
        np.empty((MAX_STATED_RELATIONS, MAX_GROUPS, MAX_GROUPS, STRIP), np.int8),
    )


@nb.njit(nogil=True)
def _matched(strip, facts, c, best, total, holds, meant, related):
    """The facts of a caption that hold in the scenes of a strip.

    Args:
        strip: (SCENE_WIDTH, scene) int8.
        facts: (caption, FACTS_WIDTH) int8.
        c: the caption.
        best: (scene,) int8, filled.
        total: (scene,) int8, overwritten.
        holds, meant: (mention, group, scene) int8, overwritten, see ``_mention``.
        related: (relation, group, group, scene) int8, overwritten, see ``_relation``.
    """
    mentions, relations = facts[c, FACTS_MENTIONS], facts[c, FACTS_RELATED]
    for m in range(mentions):
        _mention(strip, facts, c, m, holds, meant, best, total)
    for k in range(relations):
        _relation(strip, facts, c, k, meant, related)
    for i in range(STRIP):
        best[i] = 0
    step = 1
    for free in range(2, MAX_GROUPS - mentions + 1):
        step *= free  # so many ways differ only in the groups of mentions that there are not
    for way in range(0, len(ASSIGNMENTS), step):
        for i in range(STRIP):
            total[i] = 0
        for m in range(mentions):
            g = ASSIGNMENTS[way, m]
            for i in range(STRIP):
                total[i] += holds[m, g, i]
        for k in range(relations):
            at = FACTS_RELATIONS + 3 * k
            g, h = ASSIGNMENTS[way, facts[c, at + 1]], ASSIGNMENTS[way, facts[c, at + 2]]
            for i in range(STRIP):
                total[i] += related[k, g, h, i]
        for i in range(STRIP):
            best[i] = max(best[i], total[i])
    stated = facts[c, FACTS_BACKGROUND]
    for i in range(STRIP):
        best[i] += np.int8(strip[SCENE_BACKGROUND, i] == stated)


@nb.njit(nogil=True)
def _mention(strip, facts, c, m, holds, meant, fitting, total):
    """What holds of every group when mention ``m`` means it.

    Args:
        strip, facts, c: as for ``_matched``.
        m: index of the mention.
        holds: (mention, group, scene) int8; of ``m`` filled with how many of the stated attributes and number hold.
        meant: (mention, group, scene) int8; of ``m`` filled with the set of groups meant: bit g for group g.
        fitting, total: (scene,) int8, overwritten.
    """
    first = FACTS_FIRST + m * MENTION_COLUMNS
    stated = 0
    for g in range(MAX_GROUPS):
        for i in range(STRIP):
            holds[m, g, i] = 0
    for a in range(NUMBER_COLUMN):
        value = facts[c, first + a]
        if value != UNSAID:
            stated += 1
            for g in range(MAX_GROUPS):
                at = SCENE_FIRST + g * MENTION_COLUMNS + a
                for i in range(STRIP):
                    holds[m, g, i] += np.int8(strip[at, i] == value)
    number = facts[c, first + NUMBER_COLUMN]
    if number == UNSAID:
        for g in range(MAX_GROUPS):
            at = SCENE_FIRST + g * MENTION_COLUMNS + NUMBER_COLUMN
            for i in range(STRIP):
                meant[m, g, i] = np.int8(1 << g) if strip[at, i] > 0 else np.int8(0)
        return
    several, every = number == AT_LEAST_TWO, np.int8(stated)
    for i in range(STRIP):
        fitting[i] = 0
        total[i] = 0
    for g in range(MAX_GROUPS):
        at = SCENE_FIRST + g * MENTION_COLUMNS + NUMBER_COLUMN
        for i in range(STRIP):
            fits = (holds[m, g, i] == every) & (strip[at, i] > 0)
            fitting[i] |= np.int8(1 << g) if fits else np.int8(0)
            total[i] += strip[at, i] if fits else np.int8(0)
    for g in range(MAX_GROUPS):
        at = SCENE_FIRST + g * MENTION_COLUMNS + NUMBER_COLUMN
        for i in range(STRIP):
            fits = (fitting[i] & np.int8(1 << g)) != 0
            counted = total[i] if fits else strip[at, i]
            holds[m, g, i] += np.int8((counted == number) | (several & (counted >= TWO)))
            alone = np.int8(1 << g) if strip[at, i] > 0 else np.int8(0)
            meant[m, g, i] = fitting[i] if fits else alone


@nb.njit(nogil=True)
def _relation(strip, facts, c, k, meant, related):
    """Whether relation ``k`` holds of its two mentions, for every two groups that they may mean.

    Args:
        strip, facts, c: as for ``_matched``.
        k: index of the relation.
        meant: (mention, group, scene) int8, the sets of groups that the mentions mean.
        related: (relation, group, group, scene) int8; of ``k`` filled with 1 if all groups of one set have the
            relation to all of the other, else 0.
    """
    at = FACTS_RELATIONS + 3 * k
    before = SCENE_RELATIONS + facts[c, at] * MAX_GROUPS
    a, b = facts[c, at + 1], facts[c, at + 2]
    for g in range(MAX_GROUPS):
        for h in range(MAX_GROUPS):
            if g == h:
                continue
            for i in range(STRIP):
                # the members of the first set that do not have the relation, where the second set has the group
                first, second = meant[a, g, i], meant[b, h, i]
                fails = first & ~strip[before, i] & -(second & 1)
                fails |= first & ~strip[before + 1, i] & -((second >> 1) & 1)
                fails |= first & ~strip[before + 2, i] & -((second >> 2) & 1)
                fails |= first & ~strip[before + 3, i] & -((second >> 3) & 1)
                related[k, g, h, i] = np.int8((fails == 0) & (first != 0) & (second != 0))
