"""Locks between processes that write the same files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import DiskError
from .atomic import lock_handle, refused

POLL = 0.2  # seconds between two attempts of a process that waits


@contextlib.contextmanager
def locked(path: Path, what: str, waiting: Callable[[str], object] | None = None) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs; the system releases it when the process is killed.

    Where files cannot be locked (Windows, some network file systems) the block runs without a lock.

    Args:
        path: made here, and removed at the end; its folder must exist.
        what: what another process does when it holds the lock, for the message.
        waiting: called once with a message when another process holds the lock, whose end is then awaited.

    Raises:
        DiskError: another process holds the lock and ``waiting`` is None, or the file cannot be made.
    """
    handle = _taken(path)
    if handle is None and waiting is None:
        fix = "wait until it has finished, then run the command again"
        raise DiskError(f"{what} by another process", where=path, fix=fix)
    if handle is None and waiting is not None:
        waiting(f"{what} by another process; waiting for it")
    while handle is None:
        time.sleep(POLL)
        handle = _taken(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # before the lock is released, so that nobody's lock is removed
        os.close(handle)


def _taken(path: Path) -> int | None:
    """The lock file, open and locked; None when another process has locked it, or had until now."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        raise refused(path, error) from error
    free = lock_handle(handle)
    if free is None:
        return handle
    with contextlib.suppress(OSError):
        if free and os.path.samestat(os.fstat(handle), path.stat()):
            return handle
    os.close(handle)  # the file is locked, or was removed by the process that had it
    return None
