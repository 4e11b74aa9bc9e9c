"""Graded metrics by their definitions: one query at a time, pairs by two loops, sets as sets.

Shares no code with the library but the types ``TestSet`` and ``Candidates``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests import oracle
from vsebench.types import EVERYTHING, Both, Candidates, TestSet, Which

Matrix = npt.NDArray[np.float64]  # (image, caption)


def tau(scores: Sequence[float], gains: Sequence[float], variant: str) -> float:
    """Kendall's tau by a loop over all pairs; NaN where it is undefined."""
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
        product = (pairs - tied_score) * (pairs - tied_gain)
        return (concordant - discordant) / math.sqrt(product) if product else math.nan
    kinds = min(len(set(scores)), len(set(gains)))
    return 2 * (concordant - discordant) / (n * n * (kinds - 1) / kinds) if kinds > 1 else math.nan


@dataclass
class Spec:
    """One graded metric with all its options."""

    stem: str
    k: int | None = None
    tau: str = "b"
    captions: str = "all"
    gt: str = "in"
    on: str = "split"
    m: int = 5
    unit: str = "item"
    gain: str = "linear"


@dataclass
class World:
    """Scores and gains of all pairs."""

    split: TestSet
    scores: Matrix
    gains: Matrix
    table: dict[int, float] = field(default_factory=dict)
    removed: int | None = None  # an image that is no query and no candidate
    candidates: Both[Candidates] = (EVERYTHING, EVERYTHING)
    outside: Both[Matrix | None] = (None, None)  # (query, any) gains of items that cannot be retrieved, of both sides

    def items(self, spec: Spec, side: Which, fold: int | None) -> tuple[list[int], list[int]]:
        """(queries, gallery) of one fold."""
        split = self.split
        images = [i for i in range(len(split.rows.ids)) if fold is None or split.row_folds[i] == fold]  # type: ignore[index]
        images = [i for i in images if i != self.removed]
        captions = [c for c in range(len(split.columns.ids)) if split.image_of[c] in images]
        if spec.captions == "first":
            captions = [c for c in captions if c == min(np.flatnonzero(split.image_of == split.image_of[c]))]
        return (images, captions) if side == 0 else (captions, images)

    def pair(self, table: Matrix, side: Which, query: int, item: int) -> float:
        """The entry of a query and a gallery item."""
        return float(table[query, item] if side == 0 else table[item, query])

    def values(self, spec: Spec, side: Which) -> dict[int, float]:
        """Query -> value."""
        folds: list[int | None] = [None]
        if spec.on != "split":
            folds = sorted(set(self.split.row_folds.tolist()))  # type: ignore[union-attr]
            folds = folds[:1] if spec.on == "block" else folds
        out = {}
        for fold in folds:
            queries, gallery = self.items(spec, side, fold)
            for query in queries:
                out[query] = self.value(spec, side, query, gallery, fold)
        return out

    def value(
        self,
        spec: Spec,
        side: Which,
        query: int,
        gallery: list[int],
        fold: int | None,
        left_out: int | None = None,
    ) -> float:
        """One query; ``left_out`` is an image whose items are taken out of the first k."""
        image_of = self.split.image_of
        own_image = query if side == 0 else int(image_of[query])
        every = len(self.scores) if side else self.scores.shape[1]
        among = set(oracle.candidates_of(query, every, self.candidates[side]))
        gallery = [g for g in gallery if g in among]
        if spec.gt == "out":
            gallery = [g for g in gallery if (int(image_of[g]) if side == 0 else g) != own_image]
        score = {g: self.pair(self.scores, side, query, g) for g in gallery}
        gain = {g: self.pair(self.gains, side, query, g) for g in gallery}
        order = sorted(gallery, key=lambda g: (-score[g], g))[: spec.k]
        order = [g for g in order if (int(image_of[g]) if side == 0 else g) != left_out]
        away = self.outside[side]
        ideals = sorted([*gain.values(), *([] if away is None else away[query].tolist())], reverse=True)
        if spec.stem in ("CS", "Kendall"):
            return tau([score[g] for g in order], [gain[g] for g in order], spec.tau)
        if not gallery:
            return math.nan
        if spec.stem == "NCS":
            ideal = sum(ideals[: spec.k])
            return sum(gain[g] for g in order) / ideal if ideal else 0.0
        if spec.stem in ("SR", "R"):
            total = gain if spec.unit == "item" else self.totals(spec, own_image, fold)
            images = {int(image_of[g]) if side == 0 else g for g in gallery}
            total = total if spec.unit == "item" else {i: x for i, x in total.items() if i in images}
            first = sorted((i for i in total if total[i] > 0), key=lambda i: (-total[i], i))[: spec.m]
            chosen = first
            if spec.unit == "image" and side == 0:
                chosen = [g for g in gallery if int(image_of[g]) in first]
            hits = len(set(order) & set(chosen))
            return float(hits > 0) if spec.stem == "R" else hits / max(1, len(chosen))
        if spec.stem == "nDCG":

            def discounted(gains: list[float]) -> float:
                found = [2**g - 1 if spec.gain == "exp" else g for g in gains]
                return sum(x / math.log2(rank + 1) for rank, x in enumerate(found, 1))

            ideal = discounted(ideals[: spec.k])
            return discounted([gain[g] for g in order]) / ideal if ideal else 0.0
        assert spec.stem == "MLD", f"define {spec.stem} in World.value of tests/oracle_graded.py, by a plain loop"
        return sum(1 / gain[g] - 1 for g in order) / len(order)

    def totals(self, spec: Spec, own_image: int, fold: int | None) -> dict[int, float]:
        """Image -> its gains summed over the captions of the query's image."""
        images, captions = self.items(spec, 0, fold)
        written = [c for c in captions if self.split.image_of[c] == own_image]
        return {
            i: sum(float(self.gains[i, c]) for c in written)
            for i in images
            if not (spec.gt == "out" and i == own_image)
        }
