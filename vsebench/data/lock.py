"""Locks between processes that write the same files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import DiskError
from .atomic import refused


@contextlib.contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs; the system releases it when the process is killed.

    Where files cannot be locked (Windows, some network file systems) the block runs without a lock.

    Args:
        path: made here, and removed at the end; its folder must exist.
        what: what another process does when it holds the lock, for the message.

    Raises:
        DiskError: another process holds the lock, or the file cannot be made.
    """
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        raise refused(path, error) from error
    try:
        if not _taken(handle, path):
            fix = "wait until it has finished, then run the command again"
            raise DiskError(f"{what} by another process", where=path, fix=fix)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()  # before the lock is released, so that nobody's lock is removed
    finally:
        os.close(handle)


def _taken(handle: int, path: Path) -> bool:
    """Lock an open file without waiting; False when another process has locked it, or had until now."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:  # removed by the process that had it
        return False
