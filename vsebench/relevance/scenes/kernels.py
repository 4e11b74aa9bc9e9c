"""Compiled: how many facts of a caption hold in a scene, for many scenes at once.

The same as ``vsebench.scenes.facts.matched``, which is the definition. One caption is compared with ``STRIP`` scenes in
loops over int8, so that one instruction serves as many scenes as a vector register has bytes. Every way to give each
mention a group of its own is tried, 24 for four mentions. Where a scene has fewer groups than the caption mentions, a
mention may have a group that is absent, of which no fact holds.

A scene is a column of ``columns`` (SCENE_WIDTH, scene), a caption a row of ``facts`` (caption, FACTS_WIDTH), both int8
in the code of ``vsebench.scenes.encode``.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ...numeric import compiled as nb
from ...scenes.encode import (
    FACTS_BACKGROUND,
    FACTS_FIRST,
    FACTS_MENTIONS,
    FACTS_RELATED,
    FACTS_RELATIONS,
    MENTION,
    SCENE_BACKGROUND,
    SCENE_FIRST,
    SCENE_RELATIONS,
    SCENE_WIDTH,
)
from ...scenes.facts import AT_LEAST_TWO, MAX_MENTIONS, MAX_STATED_RELATIONS, UNSAID
from ...scenes.world import MAX_GROUPS

STRIP = 256  # scenes compared with a caption at once; fewer cost as much as about 16
NUMBER = MENTION - 1  # column of the number in a mention, and in a group
TWO = np.int8(2)
WAYS = np.array(list(permutations(range(MAX_GROUPS))), np.int64)  # (way, mention) group


@nb.njit(nogil=True, cache=True)
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
            _matched(strip, n, facts[c], best, total, holds, meant, related)
            out[c - captions[0], first - scenes[0] : first - scenes[0] + n] = best[:n]


@nb.njit(nogil=True, cache=True)
def matched_pairs(columns, facts, scene, caption, out):
    """Matched facts of pairs of a scene and a caption, (pair,) int64 each; ``out`` (pair,) int8 is filled."""
    strip, best, total, holds, meant, related = _scratch()
    for p in range(len(out)):
        strip[:, 0] = columns[:, scene[p]]
        _matched(strip, 1, facts[caption[p]], best, total, holds, meant, related)
        out[p] = best[0]


@nb.njit(nogil=True, cache=True)
def _scratch():
    """The scenes of a strip, and the other arrays of ``_matched``."""
    return (
        np.empty((SCENE_WIDTH, STRIP), np.int8),
        np.empty(STRIP, np.int8),
        np.empty(STRIP, np.int8),
        np.empty((MAX_MENTIONS, MAX_GROUPS, STRIP), np.int8),
        np.empty((MAX_MENTIONS, MAX_GROUPS, STRIP), np.int8),
        np.empty((MAX_STATED_RELATIONS, MAX_GROUPS, MAX_GROUPS, STRIP), np.int8),
    )


@nb.njit(nogil=True, cache=True)
def _matched(strip, n, row, best, total, holds, meant, related):
    """The facts of a caption that hold in the first ``n`` scenes of a strip.

    Args:
        strip: (SCENE_WIDTH, scene) int8.
        n: number of scenes.
        row: (FACTS_WIDTH,) int8.
        best: (scene,) int8, filled.
        total: (scene,) int8, overwritten.
        holds, meant: (mention, group, scene) int8, overwritten, see ``_mention``.
        related: (relation, group, group, scene) int8, overwritten, see ``_relation``.
    """
    mentions, relations = row[FACTS_MENTIONS], row[FACTS_RELATED]
    for m in range(mentions):
        _mention(strip, n, row[FACTS_FIRST + m * MENTION : FACTS_FIRST + (m + 1) * MENTION], holds[m], meant[m])
    for k in range(relations):
        at = FACTS_RELATIONS + 3 * k
        first = SCENE_RELATIONS + row[at] * MAX_GROUPS
        _relation(strip[first : first + MAX_GROUPS], n, meant[row[at + 1]], meant[row[at + 2]], related[k])
    best[:n] = 0
    step = 1
    for free in range(2, MAX_GROUPS - mentions + 1):
        step *= free  # so many ways differ only in the groups of mentions that there are not
    for way in range(0, len(WAYS), step):
        total[:n] = 0
        for m in range(mentions):
            held = holds[m, WAYS[way, m]]
            for i in range(n):
                total[i] += held[i]
        for k in range(relations):
            at = FACTS_RELATIONS + 3 * k
            held = related[k, WAYS[way, row[at + 1]], WAYS[way, row[at + 2]]]
            for i in range(n):
                total[i] += held[i]
        for i in range(n):
            best[i] = max(best[i], total[i])
    background, said = strip[SCENE_BACKGROUND], row[FACTS_BACKGROUND]
    for i in range(n):
        best[i] += np.int8(background[i] == said)


@nb.njit(nogil=True, cache=True)
def _mention(strip, n, mention, holds, meant):
    """What holds of every group when a mention means it.

    Args:
        strip, n: as for ``_matched``.
        mention: (MENTION,) int8.
        holds: (group, scene) int8, filled with how many of the stated attributes and number hold.
        meant: (group, scene) int8, filled with the set of groups that are then meant: bit g for group g.
    """
    stated = 0
    holds[:, :n] = 0
    for a in range(NUMBER):
        said = mention[a]
        if said != UNSAID:
            stated += 1
            for g in range(MAX_GROUPS):
                is_, held = strip[SCENE_FIRST + g * MENTION + a], holds[g]
                for i in range(n):
                    held[i] += np.int8(is_[i] == said)
    number = mention[NUMBER]
    if number == UNSAID:
        for g in range(MAX_GROUPS):
            objects, set_ = strip[SCENE_FIRST + g * MENTION + NUMBER], meant[g]
            for i in range(n):
                set_[i] = np.int8(1 << g) if objects[i] > 0 else np.int8(0)
        return
    several, every = number == AT_LEAST_TWO, np.int8(stated)
    fitting, total = np.zeros(n, np.int8), np.zeros(n, np.int8)
    for g in range(MAX_GROUPS):
        objects, held = strip[SCENE_FIRST + g * MENTION + NUMBER], holds[g]
        for i in range(n):
            fits = (held[i] == every) & (objects[i] > 0)
            fitting[i] |= np.int8(1 << g) if fits else np.int8(0)
            total[i] += objects[i] if fits else np.int8(0)
    for g in range(MAX_GROUPS):
        objects, held, set_ = strip[SCENE_FIRST + g * MENTION + NUMBER], holds[g], meant[g]
        for i in range(n):
            fits = (fitting[i] & np.int8(1 << g)) != 0
            counted = total[i] if fits else objects[i]
            held[i] += np.int8((counted == number) | (several & (counted >= TWO)))
            alone = np.int8(1 << g) if objects[i] > 0 else np.int8(0)
            set_[i] = fitting[i] if fits else alone


@nb.njit(nogil=True, cache=True)
def _relation(before, n, a, b, related):
    """Whether a relation holds of two mentions, for every two groups that they may mean.

    Args:
        before: (group, scene) int8, the set of groups that have the relation to the group.
        n: number of scenes.
        a, b: (group, scene) int8, the sets of groups that the mentions mean.
        related: (group of a, group of b, scene) int8, filled with 1 where all groups of one set have the relation to
            all of the other, else 0.
    """
    for g in range(MAX_GROUPS):
        for h in range(MAX_GROUPS):
            if g == h:
                continue
            first, second, out = a[g], b[h], related[g, h]
            p, q, r, s = before[0], before[1], before[2], before[3]
            for i in range(n):
                # the members of the first set that do not have the relation, where the second set has the group
                fails = first[i] & ~p[i] & -(second[i] & 1)
                fails |= first[i] & ~q[i] & -((second[i] >> 1) & 1)
                fails |= first[i] & ~r[i] & -((second[i] >> 2) & 1)
                fails |= first[i] & ~s[i] & -((second[i] >> 3) & 1)
                out[i] = np.int8((fails == 0) & (first[i] != 0) & (second[i] != 0))
