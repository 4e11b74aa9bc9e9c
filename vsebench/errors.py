"""The errors of vsebench and their exit codes.

A message has three parts for the user: the file or option it is about, what is wrong (with the value), and the fix.
"""

from __future__ import annotations

import os

OK = 0
GATE_NOT_MET = 1
USAGE = 2
BAD_INPUT = 3
MISSING_PACKAGE = 4
ENGINE_FAILURE = 5
DISK = 6
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    OK: "success",
    GATE_NOT_MET: "a check found a fault (`doctor`, `data verify`)",
    USAGE: "the command line is wrong: unknown option, metric, split or value",
    BAD_INPUT: "the data is wrong: unreadable, misshapen, unmatched or suspicious",
    MISSING_PACKAGE: "an optional package, tool or data set is not installed; the message has the command",
    ENGINE_FAILURE: "an unexpected failure inside vsebench",
    DISK: "the disk or the system refuses to write or read: no space, no permission, a read-only folder",
    INTERRUPTED: "interrupted from the keyboard",
}


class VsebenchError(Exception):
    """Base of the errors that vsebench raises.

    Args:
        what: what is wrong, with the value, shape or id.
        where: the file or option; printed before the message.
        fix: what to do, an imperative sentence; printed after the message.
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
    """An option, name or combination of arguments is not valid."""

    exit_code = USAGE


class BadInput(VsebenchError, ValueError):
    """The data cannot be evaluated as it is."""

    exit_code = BAD_INPUT


class MissingPackage(VsebenchError, ImportError):
    """A required optional package, tool or data set is missing; ``fix`` is the command that installs it."""

    exit_code = MISSING_PACKAGE


class DiskError(VsebenchError):
    """The system refuses to write a file: no space is left, no permission, a read-only file system."""

    exit_code = DISK
