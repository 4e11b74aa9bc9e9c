"""Arrays that are unpacked, converted or reordered while they are read: in memory where they fit, else in a temporary
file that is mapped.

The file has no name in its folder, so that it is gone when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DiskError
from ...memory import free_memory, size
from .raw import Array

SHARE = 4  # an array that takes more than one in so many of the free bytes is not kept in memory
PIECE = 16 << 20  # bytes that are copied together

_SAID: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("said", default=None)


def fits(nbytes: int) -> bool:
    """Whether an array of so many bytes is kept in memory."""
    return SHARE * nbytes <= free_memory()


@contextlib.contextmanager
def notes() -> Iterator[list[str]]:
    """A list to which a sentence is added for every temporary file that is written within."""
    said: list[str] = []
    token = _SAID.set(said)
    try:
        yield said
    finally:
        _SAID.reset(token)


def room(shape: tuple[int, ...], dtype: npt.DTypeLike, why: str) -> Array:
    """An array to be filled: in memory where it fits, else in a temporary file.

    Args:
        shape, dtype: of the array.
        why: what is written there and why, for the note, as in ``array 'x' is compressed: unpacked``.

    Raises:
        DiskError: the temporary file does not fit on its disk.
    """
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    if fits(nbytes):
        return np.empty(shape, dtype)
    folder = _folder()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, nbytes)  # else a full disk would end the process later (SIGBUS)
            else:
                file.truncate(nbytes)
            array: Array = np.memmap(file, np.dtype(dtype), mode="r+", shape=shape)
    except OSError as error:
        what = f"a temporary file of {size(nbytes)} cannot be written: {error.strerror}"
        raise DiskError(what, where=folder, fix="set TMPDIR to a folder with more space") from None
    said = _SAID.get()
    if said is not None:
        said.append(f"{why} to a temporary file of {size(nbytes)} in {folder}")
    return array


def _folder() -> str:
    """The folder of temporary files; ``/var/tmp`` where the system's is in memory and the user has named none."""
    folder, other = tempfile.gettempdir(), "/var/tmp"
    named = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    usable = not named and os.access(other, os.W_OK | os.X_OK)
    return other if usable and in_memory(folder) and not in_memory(other) else folder


def in_memory(folder: str) -> bool:
    """Whether the files of a folder are in memory (``tmpfs``); False where it is not known."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return False
    device = Path(folder).stat().st_dev
    for mount in mounts:
        with contextlib.suppress(OSError):  # of another user
            if mount[2] in ("tmpfs", "ramfs") and Path(mount[1]).stat().st_dev == device:
                return True
    return False


def converted(array: Array, dtype: npt.DTypeLike, rows: npt.NDArray[np.int64] | None, why: str) -> Array:
    """A contiguous copy of ``array``, (row, ...), in another dtype and order; the array itself where it is so already.

    Args:
        array: maybe mapped from a file.
        dtype: of the result.
        rows: (row,) which rows, None for all in order.
        why: as for ``room``.

    Raises:
        DiskError: as ``room``.
    """
    shape = array.shape if rows is None else (len(rows), *array.shape[1:])
    same = rows is None and array.dtype == np.dtype(dtype) and array.flags.c_contiguous
    if same:
        return array
    if fits(math.prod(shape) * np.dtype(dtype).itemsize):
        return np.asarray(array if rows is None else array[rows], dtype, order="C")  # no dimension is added to a number
    out = room(shape, dtype, why)
    step = max(1, PIECE // max(1, math.prod(shape[1:]) * out.itemsize))
    for start in range(0, shape[0], step):
        part: Any = slice(start, start + step) if rows is None else rows[start : start + step]
        out[start : start + step] = array[part]
    return out
