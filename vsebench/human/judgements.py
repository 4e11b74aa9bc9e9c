"""Where the files of human judgements are, and reading their lines with errors that name file and line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import BadInput, MissingPackage, UsageError
from ..files.regular import cache_dir, expanded
from ..files.textfile import read_text
from ..options import spell

VARIABLE = "VSEBENCH_HUMAN_DATA"
SUBFOLDERS = ("", "cxc", "flickr8k", "data", "Crisscrossed-Captions/data", "Flickr8k_text")


def find(names: Sequence[str], folder: str | os.PathLike[str] | None, fetch: str) -> list[Path]:
    """The files of some judgements, plain or with ``.gz`` behind the name.

    Args:
        names: file names without ``.gz``.
        folder: searched together with the subfolders that the sources use; by default the folder of the environment
            variable ``VSEBENCH_HUMAN_DATA``, else ``human`` in the cache.
        fetch: the command that gets the files, for the message.

    Raises:
        UsageError: ``folder``, or the value of the variable, is not a folder.
        MissingPackage: a file is absent; the message has the command.
    """
    named = folder or os.environ.get(VARIABLE, "").strip() or None
    root = expanded(named) if named else cache_dir() / "human"
    if named and not root.is_dir():
        origin = spell("human_data") if folder else VARIABLE
        raise UsageError(f"{origin}: folder not found", where=root, fix="pass the folder of the judgements")
    found, absent = [], []
    for name in names:
        places = [root / sub / (name + end) for sub in SUBFOLDERS for end in ("", ".gz")]
        here = [p for p in places if p.is_file()]
        found += here[:1]
        absent += [] if here else [name]
    if absent:
        what = f"no {', '.join(absent)} (plain or .gz) in {root}"
        raise MissingPackage(what, fix=f"{fetch} (or put the files into {root})")
    return found


def rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """(line number from 1, cells) of every line that is not blank.

    Raises:
        BadInput: the file is unreadable, damaged or of another kind.
    """
    try:
        text = read_text(path)
    except BadInput as error:
        raise BadInput(error.what, where=path, fix="download the file again") from error
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line.strip():
            yield number, line.split(separator)


def number(cell: str, low: float, high: float, what: str, path: Path, line: int) -> float:
    """The number in a cell.

    Raises:
        BadInput: not a number from ``low`` to ``high``.
    """
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise bad(path, line, f"{what} is '{cell[:40]}', expected a number from {low:g} to {high:g}")
    return value


def bad(path: Path, line: int, what: str) -> BadInput:
    """The error for one line of a file of judgements."""
    return BadInput(f"line {line:,}: {what}", where=path, fix="download the file again, or correct this line")
