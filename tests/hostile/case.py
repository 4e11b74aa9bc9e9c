"""One hostile input: how it is made, and the exit code that is expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Make = Callable[[Path], Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A malformed or hostile input.

    Attributes:
        name: what is wrong with it.
        make: writes it into an empty folder and returns the command line.
        code: the documented exit code; what is said stands in ``messages.json`` of the test.
        needs: packages without which it cannot be made or read.
    """

    name: str
    make: Make
    code: int = 3
    needs: tuple[str, ...] = ()
