"""Arrays that lie in a file as they are in memory: read where they fit, else memory-mapped.

Numbers at a byte that is no multiple of their size, as in most .npz files, cannot be used where they are: they are
copied (``spool``).

A mapped file that another process truncates ends this process (SIGBUS), and one that is written to gives numbers of
two versions. So a file is mapped only where reading it would take too much of the memory.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...errors import BadInput
from . import spool
from .guard import reading
from .raw import Array


def stored_array(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, order: Literal["C", "F"] = "C"
) -> Array:
    """The array that lies at byte ``offset`` of a file; read-only.

    Raises:
        BadInput: it cannot be read, or the file ends before the array does.
        DiskError: it has to be copied, and the copy does not fit on the disk.
    """
    count = math.prod(shape)
    if count * dtype.itemsize == 0:  # nothing to read
        return np.empty(shape, dtype, order=order)
    aligned = offset % dtype.alignment == 0
    if aligned and not spool.fits(count * dtype.itemsize):
        with reading(path, "cannot be memory-mapped", OSError, ValueError):
            return np.memmap(path, dtype, mode="r", offset=offset, shape=shape, order=order)
    with reading(path, "cannot be read", OSError, ValueError), path.open("rb", buffering=0) as stream:
        why = f"{path.name}: numbers from byte {offset:,} on, no multiple of {dtype.alignment}: copied"
        array = spool.room((count,), dtype, why)
        stream.seek(offset)
        left = memoryview(array.view(np.uint8).data)
        while left:
            read = stream.readinto(left[: spool.PIECE])
            if not read:
                raise BadInput("ends before its data does", where=path, fix="write or download the file again")
            left = left[read:]
    array.flags.writeable = False
    return array.reshape(shape, order=order)
