"""The errors of vsebench and their exit codes.

A message has three parts for the user: the file or option it is about, what is wrong (with the value), and the fix.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import unicodedata
from collections.abc import Iterable
from functools import cache

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
    ENGINE_FAILURE: "an unexpected failure inside vsebench, lost workers (`--engine dask`), or training that diverges",
    DISK: "the disk or the system refuses to write or read: no space, no permission, a read-only folder",
    INTERRUPTED: "interrupted from the keyboard",
}


def printable(text: str) -> str:
    """Text from outside, such as an id or the name of a file, as it may be shown: one line without control characters.

    Newlines, terminal escapes, marks of writing direction and lone surrogates become escape sequences such as
    ``\\x1b``; letters, spaces and joiners of every script stay. Everything that is printed, or written as HTML,
    LaTeX or Markdown, passes here: tables in ``results.table``, the rest in ``cli.terminal``.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_cell(value: object) -> object:
    """A value as a cell of CSV: printable, and with an apostrophe if a spreadsheet would read it as a formula.

    Numbers, also negative ones that are text, and a dash alone stay as they are.
    """
    if not isinstance(value, str):
        return value
    formula = _FORMULA.match(value) and value != "-" and not _NUMBER.fullmatch(value)
    return "'" * bool(formula) + printable(value)


def first_line(error: BaseException) -> str:
    """What an error of another package says, as a part of a message."""
    lines = str(error).strip().splitlines()
    return printable(lines[0][:200]) if lines else type(error).__name__


def count_of(number: int, one: str, many: str | None = None) -> str:
    """A number and what it counts, in the singular or the plural: ``1 fault``, ``2,000 faults``.

    Args:
        number: at least 0.
        one: behind a 1, with the verb or more if that depends on the number: ``entry``, ``caption has``.
        many: behind all other numbers; ``one`` with an s by default.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_value(value: object) -> str:
    """A value for a message: its type, and the value or the shape."""
    kind, shape = type(value).__name__, getattr(value, "shape", ())
    if shape:
        return f"a {kind} of shape {tuple(shape)}"
    text = repr(value)
    return "None" if value is None else f"{text if len(text) <= 60 else text[:59] + '…'} ({kind})"


JOINERS = "\u200c\u200d"  # emoji and several scripts need them; they move nothing


def _escaped(character: str) -> str:
    if character.isprintable() or character in JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


class VsebenchError(Exception):
    """Base of the errors that vsebench raises.

    Args:
        what: the problem, with the value, shape or id.
        where: the file or option; printed before the message.
        fix: what to do, an imperative sentence; printed after the message.
    """

    exit_code = ENGINE_FAILURE

    def __init__(self, what: str, *, where: str | os.PathLike[str] | None = None, fix: str | None = None):
        self.what = what
        self.where = None if where is None else os.fspath(where)
        self.fix = fix
        super().__init__(what)

    def also(self, fix: str) -> VsebenchError:
        """This error with one more way out."""
        self.fix = f"{self.fix}; {fix}" if self.fix else fix
        return self

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else f"{self.what}"
        return f"{head}\n  fix: {self.fix}" if self.fix else head


class VsebenchWarning(UserWarning):
    """What may be wrong with a result, and can be mended; the result has it too, as ``result.warnings``.

    Functions of the public API raise every warning of their result once, as Python does (``warnings.warn``), so that
    ``warnings.filterwarnings("error", category=vb.VsebenchWarning)`` makes them errors.

    Args:
        what: what may be wrong, with the value.
    """

    def __init__(self, what: str):
        super().__init__(what)


class UsageError(VsebenchError, ValueError):
    """An option, name or combination of arguments is not valid."""

    exit_code = USAGE


class BadInput(VsebenchError, ValueError):
    """The data cannot be evaluated as it is."""

    exit_code = BAD_INPUT


class LowMemory(BadInput):
    """Less memory is free than the input needs."""


class DeviceFault(BadInput):
    """The device that ranks, a GPU, fails, or its products are less precise than they have to be."""


class DeviceMemory(DeviceFault):
    """The device that ranks, a GPU, has too little free memory."""


def is_of_torch(error: Exception) -> bool:
    """Whether an error is of a class of torch's own, such as ``torch.OutOfMemoryError``, without importing torch."""
    return type(error).__module__.split(".")[0] == "torch"


class MissingPackage(VsebenchError, ImportError):
    """A required optional package, tool or data set is missing; ``fix`` is the command that installs it."""

    exit_code = MISSING_PACKAGE


def install(extra: str) -> str:
    """The command that adds an extra to this installation.

    It names the folder, archive or repository that this installation was made from (PEP 610), because a package index
    is asked for the name only if the package itself came from one.
    """
    return f"pip install {_source()}".replace("{extra}", extra)


@cache
def _source() -> str:
    """What pip is given, with ``{extra}`` in place of the extra."""
    from importlib import metadata
    from urllib.parse import urlparse
    from urllib.request import url2pathname

    try:
        text = metadata.distribution("vsebench").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # a checkout on PYTHONPATH
        return "'.[{extra}]'"
    if text is None:
        return "'vsebench[{extra}]'"
    found = json.loads(text)
    url, vcs = str(found["url"]), found.get("vcs_info", {}).get("vcs")
    if url.startswith("file:") and vcs is None:
        editable = "-e " * bool(found.get("dir_info", {}).get("editable"))
        return editable + shlex.quote(url2pathname(urlparse(url).path) + "[{extra}]")
    return f"'vsebench[{{extra}}] @ {vcs + '+' if vcs else ''}{url}'"


class DiskError(VsebenchError):
    """The system refuses to write a file: no space is left, no permission, a read-only file system."""

    exit_code = DISK


class WorkersLost(VsebenchError):
    """The other processes of an evaluation cannot be reached, or end before their work does."""

    exit_code = ENGINE_FAILURE


class Diverged(VsebenchError):
    """The loss of a training run is not a finite number."""

    exit_code = ENGINE_FAILURE


def closest(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Up to ``n`` of the known names that resemble ``name``, best first, ignoring case."""
    known = list(known)
    by_lower = {k.lower(): k for k in known}
    hits = difflib.get_close_matches(name.lower(), by_lower, n=n, cutoff=0.5)
    return [by_lower[h] for h in hits]


def unknown(kind: str, name: str, known: Iterable[str], where: str | None = None) -> UsageError:
    """The error for an unknown name: suggests close matches, else lists the known names."""
    known = list(known)
    near = closest(name, known)
    hint = f"did you mean {' or '.join(repr(x) for x in near)}?" if near else f"known: {', '.join(known)}"
    return UsageError(f"unknown {kind} '{name}'", where=where, fix=hint)
