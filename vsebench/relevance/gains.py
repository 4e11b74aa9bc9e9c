"""How much is a caption about an image: the interface of graded relevance.

A ``Gains`` is a matrix that nobody holds: 125 million values at COCO 5K size, computed row by row when they are
looked at. Queries stand in rows, in either direction; a pair has the same value whichever way, block size and
thread it is asked through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..errors import UsageError
from ..types import Direction, Int, Vectors

Progress = Callable[[float], None]  # told the share that is done, from 0 to 1


class Gains(Protocol):
    """Graded relevance of every caption to every image of a split.

    Attributes:
        name: the view in a metric's name, e.g. ``cider`` in ``cider:NCS@10``.
        settings: everything that can move a digit, in a fixed order, for the signature.
        shape: (images, captions).
        notes: what the user should know: defaults taken, edge cases met.
    """

    @property
    def name(self) -> str:
        """The view in a metric's name."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """What can move a digit, for the signature."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        ...

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop`` against everything.

        Runs on the calling thread, without the interpreter lock where it takes long, and may be called from
        several threads at once. The array is the caller's.
        """
        ...

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` (query, k) for ``queries`` (query,); the values of ``rows``."""
        ...


@dataclass(frozen=True)
class Spec:
    """Which gains are meant: ``cider``, ``sentence:all-MiniLM-L6-v2:own=one``, ``gains.npy``.

    Attributes:
        kind: a key of the registry of graded relevances, or ``matrix`` for a file of gains.
        argument: what follows the first colon and is no setting: a model, a file; None when there is none.
        settings: the ``key=value`` parts.
    """

    kind: str
    argument: str | None
    settings: Mapping[str, str]


def choice(settings: Mapping[str, str], key: str, allowed: tuple[str, ...]) -> str:
    """The value of a setting, the first of ``allowed`` when it is not given; raises UsageError for another."""
    value = settings.get(key, allowed[0])
    if value not in allowed:
        raise UsageError(f"setting {key} is '{value}'", fix=f"use {', '.join(allowed)}")
    return value
