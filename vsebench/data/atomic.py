"""Writing of files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

from ..errors import UsageError

FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextlib.contextmanager
def write_atomically(
    path: str | os.PathLike[str], mode: Literal["w", "wb"] = "wb", *, parents: bool = False
) -> Iterator[IO[Any]]:
    """Open a new file beside ``path`` and put it in place when the block ends without an error.

    The temporary file is made in the folder of ``path``, flushed to disk and renamed over ``path``; after
    any error (an interrupt too) it is removed and an older file at ``path`` is left as it was. A symbolic
    link is followed and the permission bits of a file that is replaced are kept. Text is UTF-8, newlines
    are written as given. ``parents`` makes missing folders.

    Raises:
        UsageError: the folder does not exist, ``path`` is no regular file, or the system refuses to write (no
            space is left).
    """
    shown, target = Path(path), Path(path).expanduser().resolve()
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "not a regular file"
        raise UsageError(f"cannot be written: it is {kind}", where=shown, fix="give the name of a file")
    try:
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        old_mode = target.stat().st_mode & 0o777 if target.exists() else None
        temporary, handle = _open_beside(target)
    except OSError as error:
        raise _refused(shown, error) from error
    try:
        as_text = {"encoding": "utf-8", "newline": ""} if mode == "w" else {"encoding": None, "newline": None}
        with open(handle, mode, **as_text) as stream:  # noqa: PTH123 (a descriptor, not a path)
            yield stream
            stream.flush()
            if old_mode is not None:
                temporary.chmod(old_mode)
            os.fsync(stream.fileno())
        try:
            temporary.replace(target)
        except OSError as error:
            raise _refused(shown, error) from error
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno in FULL:
            raise _refused(shown, error) from error  # the error of a write does not name its file
        raise


def _open_beside(target: Path) -> tuple[Path, int]:
    """A new empty file in the folder of ``target``, with the permissions any new file would have."""
    # A file of the module tempfile would be readable by its owner only, also after the rename.
    temporary = target.parent / f".{target.name[:80]}.{secrets.token_hex(6)}.tmp"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return temporary, os.open(temporary, flags, 0o666)


def _refused(path: Path, error: OSError) -> UsageError:
    if not path.expanduser().resolve().parent.is_dir():
        fix = f"make the folder '{path.parent}' or choose another"
    else:
        fix = "choose a folder with write permission and free space"
    return UsageError(f"cannot be written: {error.strerror or error}", where=path, fix=fix)
