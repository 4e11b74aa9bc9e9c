"""What functions say while they run, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vsebench.log import Log, logged


class Noted:
    """What a function has returned, with the notes and the warnings that it has said."""

    def __init__(self, found: Any, log: Log):
        self.found, self.notes, self.warnings = found, tuple(log.notes), tuple(log.warnings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.found, name)


def with_notes(function: Callable[..., Any], *args: Any, **options: Any) -> Noted:
    """What a function returns, with what it has said."""
    with logged() as log:
        found = function(*args, **options)
    return Noted(found, log)
