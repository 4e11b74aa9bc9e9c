"""numba's ``njit`` with its cache of machine code, where a cache that fails costs time and never the command.

numba itself ends with an error if no cache folder can be written, if the disk is full, or if a file of the cache is
damaged. Here the function is compiled again.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, event

FIX = "set NUMBA_CACHE_DIR to a folder that you can write"
NO_CACHE = f"kernels are compiled in every run, as their cache cannot be written ({FIX})"
notes: list[str] = []  # ``NO_CACHE``, once


class Cache(caching.FunctionCache):
    """A cache that is empty if it cannot be read, and keeps nothing if it cannot be written."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, None if it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged pickle raises anything
            return self._forget()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception:  # as on a full disk
            notes[:] = [NO_CACHE]
            self._forget()  # it may name a file by now that was not written, and that has the code of an older source

    def _forget(self) -> None:
        with suppress(OSError):
            Path(self._cache_file._index_path).unlink(missing_ok=True)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with these options and, if possible, a cache.

    No function has a wrapper for calls from C, and those whose name begins with an underscore can only be called by
    compiled ones: they have none for calls from Python either. The wrappers take a tenth of the time of compiling.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        inner = function.__name__.startswith("_")
        settings: dict[str, Any] = {**options, "no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
        dispatcher = numba.njit(**settings)(function)
        try:
            dispatcher._cache = Cache(function)
        except (RuntimeError, OSError):  # no folder that numba knows of can be written
            notes[:] = [NO_CACHE]
        return dispatcher

    return decorate


def folder() -> Path | None:
    """Where compiled code is kept, None if it is not kept."""
    try:
        return Path(Cache(njit).cache_path)
    except (RuntimeError, OSError):
        return None


class _Listener(event.Listener):
    """Counts the kernels that are not in the cache, for the progress of a command."""

    running = started = 0  # a kernel and the functions that it calls, one in the other

    def on_start(self, _event: Any) -> None:
        self.started += not self.running
        self.running += 1

    def on_end(self, _event: Any) -> None:
        self.running -= 1


_listener = _Listener()
event.register("numba:compile", _listener)


def words() -> str:
    """What is being compiled now, for people; empty if nothing is."""
    return f"compiling kernels, once after installation: {_listener.started}" if _listener.running else ""
