"""Notes and warnings of a run: one channel from where something is decided to the report.

Whatever reads, matches, ranks or measures calls ``note`` or ``warn``; ``logged`` collects what is said inside it::

    with logged() as log:
        data = read(...)          # note("no image ids: rows are taken to be in the order of coco-5k")
    log.notes                     # ["no image ids: ..."]

A ``logged`` inside another one keeps what it collects to itself, so that its sentences can be changed or dropped.
Outside of any, notes and warnings are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Log:
    """What was said, each sentence once, in the order in which it was said first.

    Attributes:
        notes: what was decided.
        warnings: what may be wrong.
    """

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


_CURRENT: ContextVar[Log | None] = ContextVar("log", default=None)


@contextmanager
def logged() -> Iterator[Log]:
    """Collect the notes and warnings of everything that runs inside."""
    token = _CURRENT.set(log := Log())
    try:
        yield log
    finally:
        _CURRENT.reset(token)


def said() -> Log:
    """What has been collected so far; nothing outside of ``logged``."""
    return _CURRENT.get() or Log()


def note(*sentences: str) -> None:
    """Say what was decided, one sentence each; empty ones are none."""
    if (log := _CURRENT.get()) is not None:
        log.notes.extend(dict.fromkeys(s for s in sentences if s and s not in log.notes))


def warn(*sentences: str) -> None:
    """Say what may be wrong, one sentence each; empty ones are none."""
    if (log := _CURRENT.get()) is not None:
        log.warnings.extend(dict.fromkeys(s for s in sentences if s and s not in log.warnings))
