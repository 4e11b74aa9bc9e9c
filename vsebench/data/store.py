"""What took long to compute, kept in the user cache: one file an entry, found by a hash of what it was made from.

There is no lock that could go stale. An entry appears whole by a rename, never changes, and means the same
whoever wrote it, so two processes that build the same thing end up with one good file. The modification time
of a file is when it was last used; when the store outgrows its limit the entries unused for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..errors import UsageError
from .atomic import write_atomically
from .cache import cache_dir

LIMIT_VARIABLE = "VSEBENCH_CACHE_LIMIT"
DEFAULT_LIMIT = 4 << 30  # bytes
IN_USE = 3600.0  # seconds after its last use during which an entry is taken to be in use by someone
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,100}")


@dataclass(frozen=True)
class Entry:
    """One file of the store: its kind, its key, where it is, its size in bytes, when it was last used (seconds)."""

    kind: str
    key: str
    path: Path
    size: int
    used: float


def fingerprint(*parts: str | bytes | int | Mapping[str, Any] | Collection[str]) -> str:
    """64 hexadecimal digits that identify contents, settings and versions of tools.

    Args:
        parts: texts, bytes, numbers, mappings of plain values (in any order) or sequences of texts. Boundaries
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
    """The file of an entry, which now counts as used; None when there is none."""
    path = _path(kind, key)
    return path if touch(path) else None


def put(kind: str, key: str, write: Callable[[IO[bytes]], object], *, keep: Collection[Path] = ()) -> Path:
    """Make an entry, and let go of old ones when the store has outgrown its limit.

    Args:
        kind: lower-case letters, digits, dots and dashes; the folder of the entry.
        key: likewise; usually a ``fingerprint``.
        write: writes the content to the open binary file it is given. Nothing is stored when it raises.
        keep: files that stay whatever their age.

    Raises:
        UsageError: the cache cannot be written, or ``VSEBENCH_CACHE_LIMIT`` is no size.
    """
    most = limit()
    path = _path(kind, key)
    with write_atomically(path, parents=True) as stream:
        write(stream)
    trim(most, keep={path, *keep})
    return path


def touch(path: Path) -> bool:
    """Mark a file as used now; False when it is not there."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:  # a cache shared read-only: usable, its age is its owner's business
        return path.is_file()
    return True


def entries(kind: str | None = None) -> list[Entry]:
    """All entries, or those of one kind, longest unused first."""
    folders = sorted(_folders()) if kind is None else [root() / kind]
    found = []
    for folder in folders:
        for path in _files(folder):
            if path.name.startswith("."):
                continue
            with contextlib.suppress(FileNotFoundError):  # another process was quicker
                state = path.stat()
                found.append(Entry(folder.name, path.name, path, state.st_size, state.st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path))


def trim(most: int | None = None, *, keep: Collection[Path] = ()) -> list[Entry]:
    """Remove the entries unused for longest until the store fits its limit.

    What has been used within the last hour stays, and so does ``keep``: a store whose recent entries alone
    exceed the limit stays too large until they age.

    Args:
        most: bytes; ``limit()`` when None.
        keep: files that stay.

    Returns:
        The removed entries.
    """
    most = limit() if most is None else most
    now = time.time()
    for folder in _folders():  # what killed writers have left
        for path in _files(folder):
            if path.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    if now - path.stat().st_mtime > IN_USE:
                        path.unlink()
    present = entries()
    excess = sum(entry.size for entry in present) - most
    removed = []
    for entry in present:
        if excess <= 0:
            break
        if entry.path in keep or now - entry.used < IN_USE:
            continue
        if remove(entry.path):
            removed.append(entry)
            excess -= entry.size
    return removed


def remove(path: Path) -> bool:
    """Remove the file of an entry; False when it was gone already or the system holds it."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def clear(kind: str | None = None) -> list[Entry]:
    """Remove every entry, or those of one kind, in use or not; returns what was removed."""
    removed = [entry for entry in entries(kind) if remove(entry.path)]
    for folder in _folders() if kind is None else [root() / kind]:
        with contextlib.suppress(OSError):  # not empty: someone is writing
            folder.rmdir()
    return removed


def limit() -> int:
    """The size the store may have in bytes: ``VSEBENCH_CACHE_LIMIT`` (``500M``, ``2.5GiB``), 4 GiB by default.

    Raises:
        UsageError: the variable is no size.
    """
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    return parse_size(text, LIMIT_VARIABLE) if text else DEFAULT_LIMIT


def parse_size(text: str, what: str) -> int:
    """Bytes of ``500M``, ``2.5GiB`` or ``1000000``; K, M, G and T are powers of 1024.

    Raises:
        UsageError: anything else; ``what`` names the option or variable.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if match is None:
        raise UsageError(f"{what} is '{text[:40]}', which is no size", fix="give a size such as 500M or 4G")
    return int(float(match[1]) * _UNITS[match[2]])


def _path(kind: str, key: str) -> Path:
    for word in (kind, key):
        if not _NAME.fullmatch(word):
            raise UsageError(
                f"'{word[:40]}' cannot name an entry of the store", fix="use lower-case letters and digits"
            )
    return root() / kind / key


def _folders() -> list[Path]:
    return [path for path in _files(root()) if path.is_dir()]


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
