"""Input files that change while they are evaluated: an error, instead of numbers from two versions of a file."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput


class State(NamedTuple):
    """What tells two versions of a file apart: which file it is, its size, and when it was last written to."""

    file: tuple[int, int]
    size: int
    written: int  # ns


@contextmanager
def unchanged(paths: Iterable[Path]) -> Iterator[None]:
    """Refuse the work of a block when one of its input files was changed meanwhile; also where the block fails.

    Args:
        paths: files, and folders of shards. What is not there is left to whoever reads it.

    Raises:
        BadInput: a file was written to, replaced or removed.
    """
    before = states(paths)
    try:
        yield
    except Exception:
        refuse_changed(before)  # the change may be what the other error is about
        raise
    refuse_changed(before)


def states(paths: Iterable[Path]) -> dict[Path, State]:
    """The state of every file, also of those in folders; what is not there is left out."""
    return {path: state for path in _files(paths) if (state := _state(path)) is not None}


def refuse_changed(before: dict[Path, State]) -> None:
    """Refuse files that are not as they were; raises BadInput."""
    for path, old in before.items():
        new = _state(path)
        if new == old:
            continue
        how = "removed" if new is None else "replaced" if new.file != old.file else "written to"
        sizes = f" ({old.size:,} bytes, then {new.size:,})" if new is not None and new.size != old.size else ""
        fix = "evaluate it again when nothing else writes it"
        raise BadInput(f"was {how} while it was evaluated{sizes}", where=path, fix=fix) from None


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield path
        with suppress(OSError, ValueError):  # no folder; of a name that the system does not take as well
            yield from sorted(path.glob("*/*")) if path.is_dir() else []


def _state(path: Path) -> State | None:
    """The state of a regular file; None for anything else."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return State((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)
