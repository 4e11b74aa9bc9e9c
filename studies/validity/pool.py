"""Pooled judgements: of the candidates that a few systems retrieve first, those that are true are positives.

So were the judgements of ECCV Caption made: five models proposed candidates, people accepted some. What no system of
the pool retrieved stays a false negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studies.validity.systems import LEVELS, Corruption, Oracle, System, vectors
from studies.validity.world import World
from vsebench.types import Bool, Direction

DEPTH = 10  # candidates of a query that a system of the pool proposes


def pool_systems() -> list[System]:
    """Five systems that are not among those that are compared: the base, and weak corruptions of four kinds."""
    kinds = {"popularity": LEVELS["popularity"][2], "hubness": LEVELS["hubness"][2], "noise": LEVELS["noise"][2]}
    corruptions = [
        Corruption(),
        *(Corruption(**{kind: strength}) for kind, strength in kinds.items()),
        Corruption(removed=frozenset({"relations"})),
    ]
    return [System("pool", n, 900 + n, c) for n, c in enumerate(corruptions)]


def pooled(world: World, oracle: Oracle, systems: Sequence[System], depth: int = DEPTH) -> dict[Direction, Bool]:
    """(image, caption) by direction: the pairs of the ground truth, and true ones among the first of a pool system."""
    found: dict[Direction, Bool] = {d: np.zeros(world.entails.shape, bool) for d in ("i2t", "t2i")}
    for system in systems:
        images, captions = vectors(system, oracle)
        scores = images @ captions.T
        first = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
        np.put_along_axis(found["i2t"], first, True, axis=1)
        first = np.argpartition(-scores, depth - 1, axis=0)[:depth]
        np.put_along_axis(found["t2i"], first, True, axis=0)
    for positive in found.values():
        positive &= world.entails
        positive[world.split.image_of, np.arange(positive.shape[1])] = True
    return found
