"""Gains whose negative values count as zero, for metrics that add gains up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..types import Direction, Int, Vectors
from .gains import Gains

NEGATIVE = ("keep", "zero")  # values of the setting ``negative``


@dataclass(frozen=True, eq=False)
class NonNegative:
    """max(g, 0) of other gains g.

    Attributes:
        gains: the other gains.
        lowest: 0.
    """

    gains: Gains
    lowest: float = 0.0

    @property
    def name(self) -> str:
        """That of the other gains."""
        return self.gains.name

    @property
    def settings(self) -> Mapping[str, str]:
        """Those of the other gains, and ``negative``."""
        return {**self.gains.settings, "negative": "zero"}

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        return self.gains.shape

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the other gains, and that negative gains count as zero."""
        return (*self.gains.notes, "gains below zero count as zero (negative=zero)")

    @property
    def rows_affordable(self) -> bool:
        """As the other gains."""
        return self.gains.rows_affordable

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop``; raises the errors of the other gains."""
        return np.maximum(self.gains.rows(direction, start, stop), np.float32(0))

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``queries`` with ``items``; raises the errors of the other gains."""
        return np.maximum(self.gains.at(direction, queries, items), np.float32(0))
