"""Graded relevance: the interface of gains, and a specification of which gains are meant.

Gains are a matrix with one number for every image and caption of a split, 125 million of them at the size of COCO 5K.
The matrix is never stored: rows and pairs are computed on request. The value of a pair does not depend on the
direction, the block, the thread or the method (``rows`` or ``at``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from ..types import Direction, Int, Vectors

Progress = Callable[[float], None]  # called with the fraction of the work that is done, 0 to 1


class Gains(Protocol):
    """Graded relevance of every caption for every image of a split, and of every image for every caption."""

    @property
    def name(self) -> str:
        """The view in a metric's name, e.g. ``cider`` in ``cider:NCS@10``."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that changes a value, in a fixed order, for the signature."""

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Defaults and edge cases that the user is informed of."""

    @property
    def lowest(self) -> float | None:
        """The smallest gain, or a lower bound, when it is known without computing every pair; else None."""

    @property
    def rows_affordable(self) -> bool:
        """Whether ``rows`` may be called; False where all pairs of this split would take hours."""

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop`` with the complete gallery, a new array.

        Runs on the calling thread, without the interpreter lock where it takes long, and may be called from several
        threads at once.

        Raises:
            UsageError: no such queries.
        """

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``queries`` (query,) with ``items`` (query, k); bit for bit those of ``rows``.

        Raises:
            UsageError: an index is out of range, or the shapes do not match.
        """


@dataclass(frozen=True)
class Spec:
    """Which gains are meant, for example ``cider``, ``sentence:all-MiniLM-L6-v2:own=one`` or ``gains.npy``."""

    kind: str  # a key of ``vsebench.relevance.kinds.GAINS``
    argument: str | None  # a model or a file
    settings: Mapping[str, str]  # the ``key=value`` parts
    values: npt.NDArray[Any] | None = field(default=None, compare=False, repr=False)  # a matrix in memory
