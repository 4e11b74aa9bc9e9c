"""How many kernels were not in the cache and had to be compiled, for the progress of a command; imports no numba."""

from __future__ import annotations

_running = 0  # a kernel and the functions that it calls, one in the other
_started = 0


def start() -> None:
    """A compilation begins."""
    global _running, _started
    _started += _running == 0
    _running += 1


def end() -> None:
    """The last compilation that began is over."""
    global _running
    _running -= 1


def words() -> str:
    """What is being compiled now, for people; empty when nothing is."""
    return f"compiling kernels, once after installation: {_started}" if _running else ""
