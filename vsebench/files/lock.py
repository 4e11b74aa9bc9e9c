"""Locks between processes that write the same files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import DiskError
from .atomic import refused


@contextlib.contextmanager
def locked(path: Path, what: str, waiting: Callable[[str], object] | None = None) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs; the system releases it when the process is killed.

    Args:
        path: made here, and removed at the end; its folder must exist.
        what: what another process does when it holds the lock, for the message.
        waiting: called once with a message when another process holds the lock, whose end is then awaited.

    Raises:
        DiskError: another process holds the lock and ``waiting`` is None, or the file cannot be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if waiting is None:
                fix = "wait until it has finished, then run the command again"
                raise DiskError(f"{what} by another process", where=path, fix=fix) from None
            waiting(f"{what} by another process; waiting for it")
            lock.acquire()
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # before it is released: who waits for it finds that the file is gone, and makes another
        lock.release()
