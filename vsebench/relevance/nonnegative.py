"""Gains with nothing below zero: what metrics that add gains up need of cosines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..types import Direction, Int, Vectors
from .gains import Gains

NEGATIVE = ("keep", "zero")


@dataclass(frozen=True, eq=False)
class NonNegative:
    """The gains of another relevance, those below zero counted as zero.

    Attributes:
        gains: the other relevance.
    """

    gains: Gains
    lowest: float = 0.0

    @property
    def name(self) -> str:
        """That of the other."""
        return self.gains.name

    @property
    def settings(self) -> Mapping[str, str]:
        """Those of the other, and that zero is the least."""
        return {**self.gains.settings, "negative": "zero"}

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        return self.gains.shape

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the other, and that zero is the least."""
        return (*self.gains.notes, "gains below zero count as zero (negative=zero)")

    @property
    def pairs_only(self) -> bool:
        """As the other."""
        return bool(getattr(self.gains, "pairs_only", False))

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop``; raises what the other raises."""
        return np.maximum(self.gains.rows(direction, start, stop), np.float32(0))

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` for ``queries``; raises what the other raises."""
        return np.maximum(self.gains.at(direction, queries, items), np.float32(0))
