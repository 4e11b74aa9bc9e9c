"""The slow truth of graded metrics: one query at a time, pairs by two loops, sets as sets.

Nothing here shares code with the library; of vsebench it knows only the split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vsebench.types import Direction, Split

Matrix = npt.NDArray[np.float64]  # (image, caption)


def tau(scores: Sequence[float], gains: Sequence[float], variant: str) -> float:
    """Kendall's tau by looking at every pair; NaN where it is undefined."""
    n = len(scores)
    concordant = discordant = tied_score = tied_gain = 0
    for i in range(n):
        for j in range(i):
            s, g = scores[i] - scores[j], gains[i] - gains[j]
            tied_score += s == 0
            tied_gain += g == 0
            concordant += s * g > 0
            discordant += s * g < 0
    pairs = n * (n - 1) // 2
    if n < 2:
        return math.nan
    if variant == "a":
        return (concordant - discordant) / pairs
    if variant == "b":
        room = (pairs - tied_score) * (pairs - tied_gain)
        return (concordant - discordant) / math.sqrt(room) if room else math.nan
    kinds = min(len(set(scores)), len(set(gains)))
    return 2 * (concordant - discordant) / (n * n * (kinds - 1) / kinds) if kinds > 1 else math.nan


@dataclass
class Ask:
    """One graded metric in words, with every choice it has."""

    stem: str
    k: int | None = None
    tau: str = "b"
    captions: str = "all"
    gt: str = "in"
    on: str = "split"
    m: int = 5
    unit: str = "item"
    eq5: int | None = None


@dataclass
class World:
    """Scores and gains of all pairs."""

    split: Split
    scores: Matrix
    gains: Matrix
    table: dict[int, float] = field(default_factory=dict)

    def competitors(self, ask: Ask, direction: Direction, fold: int | None) -> tuple[list[int], list[int]]:
        """(queries, gallery) of one fold."""
        split = self.split
        images = [i for i in range(len(split.image_ids)) if fold is None or split.fold[i] == fold]  # type: ignore[index]
        captions = [c for c in range(len(split.caption_ids)) if split.image_of[c] in images]
        if ask.captions == "first":
            captions = [c for c in captions if c == min(np.flatnonzero(split.image_of == split.image_of[c]))]
        return (images, captions) if direction == "i2t" else (captions, images)

    def pair(self, table: Matrix, direction: Direction, query: int, item: int) -> float:
        """One entry, whoever asks."""
        return float(table[query, item] if direction == "i2t" else table[item, query])

    def values(self, ask: Ask, direction: Direction) -> dict[int, float]:
        """Query -> value."""
        folds: list[int | None] = [None]
        if ask.on != "split":
            folds = sorted(set(self.split.fold.tolist()))  # type: ignore[union-attr]
            folds = folds[:1] if ask.on == "block" else folds
        out = {}
        for fold in folds:
            queries, gallery = self.competitors(ask, direction, fold)
            for query in queries:
                out[query] = self.value(ask, direction, query, gallery, fold)
        return out

    def value(self, ask: Ask, direction: Direction, query: int, gallery: list[int], fold: int | None) -> float:
        """One query."""
        owner = self.split.image_of
        mine = query if direction == "i2t" else int(owner[query])
        if ask.gt == "out":
            gallery = [g for g in gallery if (int(owner[g]) if direction == "i2t" else g) != mine]
        score = {g: self.pair(self.scores, direction, query, g) for g in gallery}
        gain = {g: self.pair(self.gains, direction, query, g) for g in gallery}
        order = sorted(gallery, key=lambda g: (-score[g], g))[: ask.k]
        best = sorted(gallery, key=lambda g: (-gain[g], g))
        if ask.stem in ("CS", "Kendall"):
            return tau([score[g] for g in order], [gain[g] for g in order], ask.tau)
        if ask.stem == "NCS" and ask.eq5 is None:
            room = sum(gain[g] for g in best[: ask.k])
            return sum(gain[g] for g in order) / room if room else 0.0
        if ask.stem == "NCS":
            chosen = best[: ask.eq5]
            room = sum(gain[g] for g in chosen)
            return sum(gain[g] for g in order if g in chosen) / room if room else 0.0
        if ask.stem in ("SR", "R"):
            chosen = best[: ask.m] if ask.unit == "item" else self.by_image(ask, direction, mine, gallery, fold)
            hits = len(set(order) & set(chosen))
            return float(hits > 0) if ask.stem == "R" else hits / len(chosen)
        if ask.stem == "nDCG":

            def discounted(items: list[int]) -> float:
                return sum(gain[g] / math.log2(place + 1) for place, g in enumerate(items, 1))

            room = discounted(best[: ask.k])
            return discounted(order) / room if room else math.nan
        assert ask.stem == "MLD"
        return sum(1 / gain[g] - 1 for g in order) / len(order)

    def by_image(self, ask: Ask, direction: Direction, mine: int, gallery: list[int], fold: int | None) -> list[int]:
        """The gallery items that belong to the m images most like the query's image."""
        images, captions = self.competitors(ask, "i2t", fold)
        written = [c for c in captions if self.split.image_of[c] == mine]
        total = {
            i: sum(float(self.gains[i, c]) for c in written) for i in images if not (ask.gt == "out" and i == mine)
        }
        chosen = sorted(total, key=lambda i: (-total[i], i))[: ask.m]
        return [g for g in gallery if (int(self.split.image_of[g]) if direction == "i2t" else g) in chosen]
