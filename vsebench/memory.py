"""Memory: how much may be taken, and input that needs more is refused before the memory is taken.

That is what is free, or what is left of a budget (``budget``).

A file can take far more memory than disk: compressed, with one long text among short ones in an array of texts of one
width, or as JSON. Two rules hold for every reader: what takes more than ``LARGE`` bytes and more than ``RATIO`` times
its size in the file is damaged or made to do harm; and nothing is read that needs more memory than is free.
"""

from __future__ import annotations

import contextlib
import contextvars
import gzip
import io
import mmap
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .errors import BadInput, LowMemory, UsageError
from .options import spell

MOST = 64 << 30  # bytes that are used at most where it is not known how much is free
LARGE = 16 << 20  # bytes that any file may take
RATIO = 200  # bytes in memory by bytes in the file; captions and lists shrink to a third up to a thirtieth
WIDE = 16  # bytes of an array of texts of one width by those of the texts themselves
RELEASED = 256 << 20  # bytes of a mapped file that are used before its pages are released
SMALLEST = 64 << 20  # a budget leaves at least so much
JSON_BYTES = 10  # in memory for a byte of text that is decoded, cut into lines and parsed; measured 3 to 9
Where = str | os.PathLike[str] | None


def free_memory() -> int | None:
    """Bytes that this process can still take without swapping; None when not known.

    The least of what the system has, what the limits of the container leave and what ``ulimit -v`` leaves.
    """
    found = []
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        found.append(int(re.findall(r"MemAvailable:\s+(\d+) kB", text)[0]) << 10)
    except (OSError, IndexError, ValueError):
        try:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
        except (AttributeError, OSError, ValueError):
            return None
    return min([*found, *_container(), *_address_space()])


def _container() -> list[int]:
    """Free bytes (limit - used) in every control group of this process, version 1 and 2."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").split("\n")
    except OSError:
        return []
    left = []
    for line in filter(None, lines):
        _, controllers, inside = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        base = Path("/sys/fs/cgroup", controllers)
        names = ("memory.max", "memory.current") if not controllers else (
            "memory.limit_in_bytes", "memory.usage_in_bytes")  # fmt: skip
        group = base / inside.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(base):
                break
            try:
                limit, used = (int((folder / name).read_text(encoding="ascii")) for name in names)
                cached = re.findall(r"^(?:total_)?inactive_file (\d+)", (folder / "memory.stat").read_text(), re.M)
            except (OSError, ValueError):  # "max": no limit here
                continue
            left.append(max(limit - used + int(cached[-1] if cached else 0), 0))
    return left


def _address_space() -> list[int]:
    """Bytes that ``ulimit -v`` leaves, if it is set."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, AttributeError, OSError, ValueError, IndexError):
        return []
    return [] if limit == resource.RLIM_INFINITY else [max(limit - pages * resource.getpagesize(), 0)]


_BUDGET: contextvars.ContextVar[int | None] = contextvars.ContextVar("budget", default=None)
_RELEASES: contextvars.ContextVar[bool] = contextvars.ContextVar("releases", default=False)
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


@contextlib.contextmanager
def budget(nbytes: int | None, releases: bool = False) -> Iterator[None]:
    """Within it this process takes at most ``nbytes`` of memory, or what is free where this is None.

    What counts is memory of the process itself, modules and compiled kernels included. Pages of mapped files do not
    count: the system takes them back whenever memory is short. They are released now and then (``release``), so that
    the resident memory does not grow to the size of the files.

    Args:
        nbytes: the budget.
        releases: release pages also without one, in a process whose resident memory is watched, such as a worker.

    Raises:
        UsageError: the process has taken so much already that less than ``SMALLEST`` is left.
    """
    if nbytes is not None and nbytes - used_memory() < SMALLEST:
        taken = f"the process has taken {size(used_memory())} before it reads anything"
        what = f"{spell('memory')} is {size(nbytes)}, and {taken}"
        raise UsageError(what, fix=f"give at least {size(used_memory() + 2 * SMALLEST)}, such as 1G")
    tokens = _BUDGET.set(nbytes), _RELEASES.set(releases or nbytes is not None)
    try:
        yield
    finally:
        _BUDGET.reset(tokens[0])
        _RELEASES.reset(tokens[1])


def used_memory() -> int:
    """Bytes of memory that this process has taken, without pages of mapped files; 0 where it is not known."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
        return sum(int(kb) << 10 for kb in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", text, re.M))
    except (OSError, ValueError):
        return 0


def memory_limit() -> int:
    """Bytes that may be taken: what is free, at most 64 GiB, and at most what is left of the budget."""
    free = free_memory()
    limit = MOST if free is None else min(free, MOST)
    given = _BUDGET.get()
    return limit if given is None else max(0, min(limit, given - used_memory()))


def is_limited() -> bool:
    """Whether there is a budget."""
    return _BUDGET.get() is not None


def releases_pages() -> bool:
    """Whether pages of mapped files are released while the files are used, see ``budget``."""
    return _RELEASES.get()


def mapping(array: npt.NDArray[Any]) -> mmap.mmap | None:
    """The mapped file that an array is a part of; None for an array in memory."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def release(*arrays: npt.NDArray[Any]) -> None:
    """Give the resident pages of arrays that are mapped from files back to the system.

    They are read again, from its cache or from the file, when they are used. Nothing happens to other arrays.
    """
    for array in arrays:
        base = mapping(array)
        if base is not None and hasattr(base, "madvise"):
            base.madvise(mmap.MADV_DONTNEED)


class Pages:
    """Releases the pages of arrays whenever so much of them has been used, in threads, where pages are released.

    Args:
        arrays: (row, ...), maybe mapped from files.
    """

    def __init__(self, *arrays: npt.NDArray[Any]):
        self.arrays = arrays if releases_pages() else ()
        self.row = sum(a.shape[-1] * a.itemsize for a in self.arrays)
        self.used, self._lock = 0, threading.Lock()

    def add(self, rows: int) -> None:
        """Count ``rows`` more that have been used of every array."""
        with self._lock:
            self.used += rows * self.row
            due = self.used > RELEASED
            self.used = 0 if due else self.used
        if due:
            release(*self.arrays)


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
    free = memory_limit()
    if needed > free:
        left = f"{size(free)} are left of the budget ({spell('memory')})" if is_limited() else f"{size(free)} are free"
        raise LowMemory(f"needs some {size(needed)} of memory, and {left}", where=where, fix=fix)


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
        self.harmless, self.free = max(large, RATIO * stored), memory_limit()

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
