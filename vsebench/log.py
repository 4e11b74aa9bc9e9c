"""Notes and warnings of a run: one channel from where something is decided to the report.

Whatever reads, matches, ranks or measures calls ``note`` or ``warn``; ``logged`` collects these notes and warnings::

    with logged() as log:
        data = read(...)          # note("no image ids: rows are assumed to be in the order of coco-5k")
    log.notes                     # ["no image ids: ..."]

A ``logged`` inside another one keeps what it collects to itself, so that its sentences can be changed or dropped.
Outside of any, notes and warnings are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, get_args

Weight = Literal["result", "decision", "detail"]
WEIGHTS: tuple[Weight, ...] = get_args(Weight)


@dataclass(frozen=True)
class Log:
    """The notes and warnings so far, each sentence once.

    Attributes:
        weights: the weight of every note, in the order of first occurrence.
        warnings: what may be wrong.
    """

    weights: dict[str, Weight] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What was decided: results of a step first, then what changes numbers, then details."""
        return sorted(self.weights, key=lambda sentence: WEIGHTS.index(self.weights[sentence]))


_CURRENT: ContextVar[Log | None] = ContextVar("log", default=None)


@contextmanager
def logged() -> Iterator[Log]:
    """Collect the notes and warnings of everything that runs inside."""
    token = _CURRENT.set(log := Log())
    try:
        yield log
    finally:
        _CURRENT.reset(token)


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Prefix inner notes and warnings with a subject, notes as details: ``cider: one image has no captions``."""
    with logged() as log:
        yield
    note(*(f"{subject}: {sentence}" for sentence in log.notes), weight="detail")
    warn(*(f"{subject}: {sentence}" for sentence in log.warnings))


def collected() -> Log:
    """The notes and warnings collected so far; empty outside ``logged``."""
    return _CURRENT.get() or Log()


def note(*sentences: str, weight: Weight = "decision") -> None:
    """Add notes, one sentence each; empty sentences are ignored.

    Args:
        sentences: the notes.
        weight: ``result`` for what a step gained or left out, ``decision`` for what numbers depend on, ``detail`` for
            what explains them. Commands print the first notes in this order.
    """
    if (log := _CURRENT.get()) is not None:
        for sentence in filter(None, sentences):
            log.weights.setdefault(sentence, weight)


def warn(*sentences: str) -> None:
    """Warn of possible errors, one sentence each; empty ones are ignored."""
    if (log := _CURRENT.get()) is not None:
        log.warnings.extend(dict.fromkeys(s for s in sentences if s and s not in log.warnings))
