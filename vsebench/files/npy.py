"""The .npy format: the header is checked against the size of the file, the data is memory-mapped.

Layout: numpy.lib.format (NEP 1).
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import BadInput
from .raw import Array, Member, dtype_name
from .regular import reading, unpickle


@dataclass(frozen=True)
class Header:
    """The header of an .npy file.

    Attributes:
        shape: the declared shape.
        dtype: the declared dtype, in the byte order of the file.
        length: bytes before the first value.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    length: int

    @property
    def nbytes(self) -> int:
        """Bytes of data the header declares; Python integers, so that no product overflows."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes]) -> Header:
    """The header at the start of ``stream``; the position ends at the first value. Raises what numpy does."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version in ((2, 0), (3, 0)):  # 3.0 differs in the encoding of field names only
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"unknown version {version[0]}.{version[1]}")
    if any(n < 0 for n in shape):
        raise ValueError(f"negative shape {shape}")
    return Header(tuple(int(n) for n in shape), dtype, stream.tell())


def check_length(header: Header, found: int, where: Path, name: str) -> None:
    """Raise BadInput when the data after the header, ``found`` bytes, is shorter or longer than it declares."""
    if header.dtype.hasobject or header.nbytes == found:  # pickled objects have no fixed size; never loaded
        return
    what = "truncated" if found < header.nbytes else "damaged, or several arrays in one file"
    raise BadInput(
        f"{name} declares shape {header.shape} {dtype_name(header.dtype)} ({header.nbytes:,} bytes) but holds"
        f" {found:,} bytes of data: {what}",
        where=where,
        fix="write or download the file again",
    )


def npy_member(path: Path) -> Member:
    """The one array of an .npy file, under the file's name.

    Raises:
        BadInput: no readable header, pickled objects, or the file is shorter or longer than it declares.
    """
    with reading(path, "the file has no readable .npy header"), path.open("rb") as stream:
        header = read_header(stream)
    if header.dtype.hasobject:
        what = "holds pickled Python objects" + (", such as a dict" if header.shape == () else "")
        raise BadInput(
            f"{what}, which are never read: they could run code",
            where=path,
            fix=unpickle(f"np.load({str(path)!r}, allow_pickle=True).item()")
            if header.shape == ()
            else "if you trust the file: "
            f"np.save('NEW.npy', np.array(np.load({str(path)!r}, allow_pickle=True).tolist()))",
        )
    check_length(header, path.stat().st_size - header.length, path, "the file")

    def load() -> Array:
        with reading(path, "cannot be memory-mapped"):
            array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
            return array

    return Member(path.name, header.shape, dtype_name(header.dtype), 0, load)


def npy_members(path: Path) -> list[Member]:
    """The one array of an .npy file as a list, see ``npy_member``."""
    return [npy_member(path)]


def npz_members(path: Path) -> list[Member]:
    """The arrays of an .npz file, in the order of the archive.

    Raises:
        BadInput: the archive is damaged or encrypted, a name occurs twice, or the size of an array is not what its
            header declares.
    """
    with reading(path, "is a truncated or damaged .npz"), zipfile.ZipFile(path) as archive:
        entries = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        twice = [name for name, n in Counter(info.filename for info in entries).items() if n > 1]
        if twice:
            raise BadInput(f"holds '{twice[0]}' more than once", where=path, fix="save every array once")
        again = cache(partial(zipfile.ZipFile, path))  # once, as an archive may have thousands of arrays
        return [_member(path, archive, info, again) for info in entries]


def _member(
    path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, again: Callable[[], zipfile.ZipFile]
) -> Member:
    name = info.filename.removesuffix(".npy")
    with reading(path, f"array '{name}' has no readable .npy header"), archive.open(info) as stream:
        header = read_header(stream)
    check_length(header, info.file_size - header.length, path, f"array '{name}'")

    def load() -> Array:
        with reading(path, f"array '{name}' is damaged"), again().open(info) as stream:
            array: Array = np.lib.format.read_array(stream, allow_pickle=False)
            stream.read(1)  # the checksum is compared at the end of the member
            return array

    return Member(name, header.shape, dtype_name(header.dtype), header.nbytes, load)
