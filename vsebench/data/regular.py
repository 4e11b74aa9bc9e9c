"""Files that a user names: one check before any of them is opened, for all readers.

Reading a named pipe without a writer, or a device such as /dev/zero, never ends.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from ..errors import BadInput
from ..registry import closest

_ON_DISK = "write the data to a file on disk first"


def check_file(path: Path, fix: str, missing: str | None = None) -> None:
    """Check that a path is a regular file, or a link to one.

    Raises:
        BadInput: it is missing (``missing`` is the advice, by default a close name), a folder (``fix`` is the advice),
            a named pipe, a socket or a device.
    """
    if is_folder(path, missing):
        raise BadInput("this is a folder", where=path, fix=fix)


def is_folder(path: Path, missing: str | None = None) -> bool:
    """Whether a path is a folder and not a regular file.

    Raises:
        BadInput: it is anything else, or missing (``missing`` is the advice, by default a close name).
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path, missing) from None
    except (OSError, ValueError) as error:  # a name that is too long or has a NUL, a loop of links, no permission
        raise BadInput(f"cannot be opened ({error})", where=str(path)[:300], fix="check the path") from None
    if stat.S_ISDIR(mode):
        return True
    if not stat.S_ISREG(mode):
        raise BadInput(f"is {_special(mode)}, not a regular file", where=path, fix=_ON_DISK)
    return False


def read_bytes(path: Path, fix: str, missing: str | None = None) -> bytes:
    """The content of a regular file.

    Raises:
        BadInput: as ``check_file``, or it cannot be read; ``fix`` is the advice.
    """
    check_file(path, fix, missing)
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", where=path, fix=fix) from None


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of the content of a file, in hexadecimal digits; raises OSError."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _missing(path: Path, advice: str | None) -> BadInput:
    if path.is_symlink():
        return BadInput(f"is a link to a missing file ({path.readlink()})", where=path, fix="repair the link")
    if advice is not None:
        return BadInput("no such file", where=path, fix=advice)
    folder = path.parent
    if not folder.is_dir():
        return BadInput("no such file", where=path, fix=f"check the path: there is no folder '{folder}'")
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        names = []
    near = closest(path.name, names)
    hint = f"did you mean {' or '.join(repr(str(folder / n)) for n in near)}?" if near else "check the path"
    return BadInput("no such file", where=path, fix=hint)
