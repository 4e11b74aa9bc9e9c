"""Whether a folder of leaderboards is right: every file, and whether per-query files reproduce the numbers."""

from __future__ import annotations

from pathlib import Path

from ..data.regular import read_bytes
from ..errors import BadInput, VsebenchError
from ..metrics import parse
from ..report import document
from . import submitted
from .schema import Entry
from .store import ENTRIES, Board, Fault, read

_AGAIN = "make the entry again: vsebench leaderboard add RESULT.json"


def check(folder: Path, only: str | None = None) -> tuple[Board, list[Fault]]:
    """Read a folder and check everything in it.

    Args:
        folder: of the leaderboards.
        only: the id of one entry whose per-query values are checked; None for all. Files are read all the same.

    Returns:
        The board, and all faults of its files and numbers.

    Raises:
        BadInput: no such folder.
    """
    board = read(folder)
    faults = list(board.faults)
    for entry in board.entries:
        if only is None or entry.id == only:
            faults += of_entry(board, entry)
    faults += _left_over(board)
    return board, faults


def of_entry(board: Board, entry: Entry) -> list[Fault]:
    """What the per-query file of an entry does not reproduce; nothing for other levels."""
    if entry.per_query is None:
        return []
    name = f"{ENTRIES}/{entry.per_query.name}"
    try:
        data = read_bytes(board.folder / name, "add the file that belongs to the entry")
    except BadInput as error:
        return [Fault(name, error.what, error.fix or _AGAIN)]
    faults = []
    if submitted.sha256(data) != entry.per_query.sha256:
        what = f"its sha256 is {submitted.sha256(data)[:12]}..., and the entry says {entry.per_query.sha256[:12]}..."
        faults.append(Fault(name, what, _AGAIN))
    try:
        report = document.read(board.folder / name, parse)
        return faults + [Fault(board.files[entry.id], what, _AGAIN) for what in submitted.differences(entry, report)]
    except VsebenchError as error:
        return [*faults, Fault(name, error.what, error.fix or _AGAIN)]


def _left_over(board: Board) -> list[Fault]:
    """Per-query files that belong to no entry."""
    used = {entry.per_query.name for entry in board.entries if entry.per_query is not None}
    broken = {fault.file for fault in board.faults}
    found = []
    for path in sorted((board.folder / ENTRIES).glob(f"*{submitted.PER_QUERY}")):
        owner = f"{ENTRIES}/{path.name.removesuffix(submitted.PER_QUERY)}.json"
        if path.name not in used and owner not in broken:
            found.append(Fault(f"{ENTRIES}/{path.name}", "belongs to no entry", "delete it, or add its entry"))
    return found
