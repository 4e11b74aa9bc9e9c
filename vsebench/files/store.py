"""A store of computed results in the user cache: one file per entry, named by a hash of the inputs.

Several processes may use it without a lock: an entry appears complete, by a rename, and never changes. Entries stay
until ``vsebench cache --clear`` removes them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..errors import DiskError, UsageError
from .atomic import write_atomically
from .regular import cache_dir

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,100}")


@dataclass(frozen=True)
class Entry:
    """One file of the store."""

    kind: str  # the folder
    key: str  # the name of the file
    path: Path
    size: int  # bytes
    written: float  # in seconds since 1970


def fingerprint(*parts: str | bytes | int | Mapping[str, Any] | Collection[str]) -> str:
    """SHA-256 of contents, settings and versions of tools, in 64 hexadecimal digits.

    Args:
        parts: strings, bytes, numbers, mappings of plain values (in any order) or sequences of strings. Boundaries
            count: ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    digest = hashlib.sha256()
    for part in parts:
        if not isinstance(part, (bytes, str, int, Mapping)):
            part = list(part)
        packed = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        digest.update(f"{type(part).__name__} {len(packed)}:".encode() + packed)
    return digest.hexdigest()


def root() -> Path:
    """The folder of the store; it is made by the first ``put``."""
    return cache_dir() / "relevance"


def get(kind: str, key: str) -> Path | None:
    """The file of an entry; None if there is none."""
    path = _path(kind, key)
    return path if path.is_file() else None


def put(kind: str, key: str, write: Callable[[IO[bytes]], object]) -> Path:
    """Write an entry.

    Args:
        kind: lower-case letters, digits, dots and dashes; the folder of the entry.
        key: likewise; usually a ``fingerprint``.
        write: writes the content to the open binary file it is given. Nothing is stored when it raises.

    Returns:
        The file of the entry.

    Raises:
        DiskError: the cache cannot be written.
        UsageError: its folder is a file.
    """
    path = _path(kind, key)
    with write_atomically(path, parents=True) as stream:
        write(stream)
    return path


def keep(kind: str, key: str, write: Callable[[IO[bytes]], object]) -> str | None:
    """Write an entry of what has been computed already; a note, and no error, when the cache cannot be written."""
    try:
        put(kind, key, write)
    except (DiskError, UsageError) as error:
        where = "" if error.where is None else f"{error.where}: "
        return f"computed again next time, as they were not kept: {where}{error.what}"
    return None


def keep_array(kind: str, key: str, array: npt.NDArray[Any]) -> str | None:
    """``keep`` an array, as an .npz."""
    return keep(kind, key, lambda stream: np.savez(stream, array))


def get_array(kind: str, key: str) -> npt.NDArray[Any] | None:
    """The array that ``keep_array`` wrote; None if it is missing or damaged."""
    path = get(kind, key)
    arrays = None if path is None else read_arrays(path)
    return None if arrays is None else arrays.get("arr_0")


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """The arrays of an .npz by name; None when it is missing or damaged: each has a checksum."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception:  # NumPy and zipfile raise errors of many classes
        return None


def entries(kind: str | None = None) -> list[Entry]:
    """All entries, or the entries of one kind, oldest first."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        root().stat()  # glob passes over a folder that cannot be read
    for path in root().glob(f"{kind or '*'}/*"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # removed by another process
            state = path.stat()
            if not path.name.startswith("."):
                found.append(Entry(path.parent.name, path.name, path, state.st_size, state.st_mtime))
    return sorted(found, key=lambda entry: (entry.written, entry.path))


def remove(path: Path) -> bool:
    """Remove the file of an entry; False when it does not exist or the system refuses."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def clear(kind: str | None = None) -> list[Entry]:
    """Remove every entry, or the entries of one kind, in use or not; returns the removed entries."""
    removed = [entry for entry in entries(kind) if remove(entry.path)]
    for path in root().glob(f"{kind or '*'}/.*.tmp"):  # of processes that were killed
        remove(path)
    for folder in root().glob(kind or "*"):
        with contextlib.suppress(OSError):  # not empty: another process writes into it
            folder.rmdir()
    return removed


def _path(kind: str, key: str) -> Path:
    for word in (kind, key):
        if not _NAME.fullmatch(word):
            what = f"'{word[:40]}' cannot name an entry of the store"
            raise UsageError(what, fix="use lower-case letters and digits")
    return root() / kind / key
