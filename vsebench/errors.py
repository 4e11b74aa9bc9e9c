"""What can go wrong, and the exit code each kind of failure ends with.

Every message is written for the person at the terminal: where it came from, what was wrong (with the
value), and what to do next.
"""

from __future__ import annotations

import os

OK = 0
GATE_NOT_MET = 1
USAGE = 2
BAD_INPUT = 3
MISSING_PACKAGE = 4
ENGINE_FAILURE = 5
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    OK: "everything asked for was done",
    GATE_NOT_MET: "a check found a fault (`doctor`, `data verify`)",
    USAGE: "the command line is wrong: unknown option, metric, split or value",
    BAD_INPUT: "the data is wrong: unreadable, misshapen, unmatched or suspicious",
    MISSING_PACKAGE: "an optional package, tool or data set is not installed; the message says how to get it",
    ENGINE_FAILURE: "an unexpected failure inside vsebench",
    INTERRUPTED: "interrupted from the keyboard",
}


class VsebenchError(Exception):
    """Base of every error vsebench raises on purpose.

    Args:
        what: what was wrong, with the offending value, shape or id.
        where: the file (or option) it came from; put in front of the message.
        fix: what to do next, one imperative sentence; put behind the message.
    """

    exit_code = ENGINE_FAILURE

    def __init__(self, what: str, *, where: str | os.PathLike[str] | None = None, fix: str | None = None):
        self.what = what
        self.where = None if where is None else os.fspath(where)
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  fix: {self.fix}" if self.fix else head


class UsageError(VsebenchError, ValueError):
    """The caller asked for something that does not exist or does not fit together."""

    exit_code = USAGE


class BadInput(VsebenchError, ValueError):
    """The data cannot be evaluated as it is."""

    exit_code = BAD_INPUT


class MissingPackage(VsebenchError, ImportError):
    """An optional package, tool or data set is needed and absent; `fix` holds the exact command."""

    exit_code = MISSING_PACKAGE
