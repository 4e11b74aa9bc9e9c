"""Scores of a second stage in one direction, by which the top of every ranking is ordered again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..rank.scorers import Matrix
from ..relevance.grades import Entries
from ..types import Direction, Float, Int


@dataclass(frozen=True, eq=False)
class SecondScores:
    """Scores of a second stage in one direction.

    Attributes:
        direction: ``i2t`` or ``t2i``.
        scores: of the pairs that have one: a matrix, in which ``missing`` stands for none, or entries.
        missing: the number that stands for no score in a matrix, besides NaN and infinite values; or None.
        each: (query,) int64, how many items a query has scores for.
        depth: how many items a query are re-ranked, at most.
        complete: these are the first items of the first stage; otherwise those that have scores.
        gallery: the size of the gallery.
        where: the file, for messages.
        weight: of these scores where they are added to those of the first stage; None where they replace them.
    """

    direction: Direction
    scores: Matrix | Entries
    missing: float | None
    each: Int
    depth: int
    complete: bool
    gallery: int
    where: str
    weight: float | None = None

    @property
    def reach(self) -> int:
        """How many items of the first stage are needed.

        Scores made with another precision of the first stage are of items some places behind the top as well.
        """
        return self.depth if self.complete else min(2 * self.depth, self.gallery)

    def of(self, query: Int, item: Int) -> Float:
        """(pair,) float64 scores; NaN where there is none."""
        if isinstance(self.scores, Entries):
            return self.scores.of(query, item, np.nan)
        found = self.scores.pairs(*((query, item) if self.direction == "i2t" else (item, query)), 1)
        return np.where(np.isfinite(found) & (found != self.missing), found, np.nan)
