"""Memory: how much is free, and input that needs more is refused before the memory is taken.

A file can take far more memory than disk: compressed, with one long text among short ones in an array of texts of one
width, or as JSON. Two rules hold for every reader: what takes more than ``LARGE`` bytes and more than ``RATIO`` times
its size in the file is damaged or made to do harm; and nothing is read that needs more memory than is free.
"""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .errors import BadInput, LowMemory, UsageError

LARGE = 16 << 20  # bytes that any file may take
RATIO = 200  # bytes in memory by bytes in the file; captions and lists shrink to a third up to a thirtieth
WIDE = 16  # bytes of an array of texts of one width by those of the texts themselves
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
        UsageError: anything else; ``what`` names the option or variable.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if match is None:
        fix = "give a number with K, M, G or T, such as 500M or 4G"
        raise UsageError(f"{what} is '{text[:40]}', which is no size", fix=fix)
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
        what = f"needs some {size(needed)} of memory, and {size(free)} are free"
        raise LowMemory(what, where=where, fix=fix)


class Growth:
    """Counts the memory that a file takes while it is read.

    Args:
        where: the file.
        stored: its size in bytes.
        factor: bytes in memory for every byte that is counted.
        large: bytes that it may take whatever its size.
    """

    def __init__(self, where: Where, stored: int, factor: int = 1, large: int = LARGE):
        self.where, self.stored, self.used, self.factor = where, stored, 0, factor
        self.harmless, self.free = max(large, RATIO * stored), free_memory()

    def add(self, nbytes: int) -> None:
        """Count ``nbytes`` more.

        Raises:
            BadInput: they are far more than the file has, or together need more memory than was free at the start.
        """
        self.used += nbytes
        if self.used > self.harmless:
            what = f"takes {size(self.stored)} and unpacks to more than {size(self.harmless)}: damaged, or a zip bomb"
            raise BadInput(what, where=self.where, fix="make the file again from its origin")
        if self.used * self.factor > self.free:
            what = f"needs more than {size(self.used * self.factor)} of memory, and {size(self.free)} are free"
            raise BadInput(what, where=self.where, fix="give a smaller file, or free memory")


class _Counted(io.RawIOBase):
    """A stream that counts what is read from it."""

    def __init__(self, stream: Any, growth: Growth):
        self.stream, self.growth = stream, growth

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self.stream.readinto(buffer)
        self.growth.add(n)
        return n


def unpacked(raw: BinaryIO, where: Where, factor: int = 1) -> BinaryIO:
    """The content of an open file, unpacked if it is gzip, by its first bytes.

    Args:
        raw: at its start.
        where: the file, for messages.
        factor: bytes in memory for every byte of the content.

    Raises:
        BadInput: when read: a gzip file unpacks to far more than it takes, or to more than fits into the free memory.
    """
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    if not packed:
        return raw
    growth = Growth(where, os.fstat(raw.fileno()).st_size, factor)
    return io.BufferedReader(_Counted(gzip.GzipFile(fileobj=raw), growth), 1 << 18)


def text_array(values: Sequence[str], name: str, where: Where = None) -> npt.NDArray[np.str_]:
    """Strings as an array, in which all take the room of the longest one.

    Raises:
        BadInput: one is so much longer than the others that they would take many times their size, or the array does
            not fit into the free memory.
    """
    longest = max(map(len, values), default=0)
    needed = 4 * longest * len(values)
    if needed > LARGE:
        if needed > WIDE * 4 * sum(map(len, values)):
            row = next(i for i, value in enumerate(values) if len(value) == longest)
            what = f"{name}[{row}] has {longest:,} characters, and with it all {len(values):,} need {size(needed)}"
            raise BadInput(what, where=where, fix="shorten it: ids are short texts or integers")
        require(needed, where)
    return np.array(values, dtype=np.str_)
