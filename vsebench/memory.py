"""Memory: how much is free, and input that needs more is refused before the memory is taken.

Tiles and blocks have fixed sizes. Other limits are left to ``ulimit``, control groups and schedulers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .errors import LowMemory, UsageError

JSON_BYTES = 10  # in memory for a byte of text that is decoded, cut into lines and parsed; measured 3 to 9
Where = str | os.PathLike[str] | None


def free_memory() -> int:
    """Bytes that can be taken without swapping."""
    import psutil

    return int(psutil.virtual_memory().available)


_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_size(text: str, what: str) -> int:
    """Bytes of ``500M``, ``2.5GiB`` or ``1000000``; K, M, G and T are powers of 1024.

    Raises:
        UsageError: anything else; ``what`` is the option or variable.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if match is None:
        fix = "give a number with K, M, G or T, such as 500M or 4G"
        raise UsageError(f"{what} is '{text[:40]}', which is not a size", fix=fix)
    return int(float(match[1]) * _UNITS[match[2]])


def size(nbytes: float) -> str:
    """A number of bytes as a person reads it, such as ``1.5 GiB``."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):,.1f} {unit}"
    return f"{int(nbytes)} byte{'s' * (int(nbytes) != 1)}"


def require(needed: int, where: Where = None, fix: str = "give a smaller file, or free memory") -> None:
    """Refuse what needs more memory than is free.

    Raises:
        LowMemory: naming both.
    """
    free = free_memory()
    if needed > free:
        what = f"needs about {size(needed)} of memory, but {size(free)} are free"
        raise LowMemory(what, where=where, fix=fix)


def text_array(values: Sequence[str], name: str, where: Where = None) -> npt.NDArray[np.str_]:
    """Strings as an array, in which all take the room of the longest one.

    Raises:
        LowMemory: the array does not fit into the free memory.
    """
    longest = max(map(len, values), default=0)
    fix = f"shorten {name}: each takes as much as the longest one, of {longest:,} characters"
    require(4 * longest * len(values), where, fix)
    return np.array(values, dtype=np.str_)
