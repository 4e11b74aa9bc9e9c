"""What functions say while they run, for tests."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from vsebench.log import logged


def with_notes(function: Callable[..., Any], *args: Any, **options: Any) -> SimpleNamespace:
    """The fields of what a function returns, with the notes and the warnings that it has said."""
    with logged() as log:
        found = function(*args, **options)
    return SimpleNamespace(**vars(found), notes=tuple(log.notes), warnings=tuple(log.warnings))
