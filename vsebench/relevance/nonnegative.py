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
    """max(g, 0) of other gains g, with the other properties of g."""

    gains: Gains
    lowest: float = 0.0

    @property
    def name(self) -> str:
        """See ``Gains.name``."""
        return self.gains.name

    @property
    def settings(self) -> Mapping[str, str]:
        """See ``Gains.settings``."""
        return {**self.gains.settings, "negative": "zero"}

    @property
    def shape(self) -> tuple[int, int]:
        """See ``Gains.shape``."""
        return self.gains.shape

    @property
    def notes(self) -> tuple[str, ...]:
        """See ``Gains.notes``."""
        return (*self.gains.notes, "gains below zero count as zero (negative=zero)")

    @property
    def positives(self) -> int:
        """Of judgements of 0 and 1, see ``MatrixGains``; else 0."""
        return getattr(self.gains, "positives", 0)

    @property
    def rows_affordable(self) -> bool:
        """See ``Gains.rows_affordable``."""
        return self.gains.rows_affordable

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Gains.rows``."""
        return np.maximum(self.gains.rows(direction, start, stop), np.float32(0))

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """See ``Gains.at``."""
        return np.maximum(self.gains.at(direction, queries, items), np.float32(0))
