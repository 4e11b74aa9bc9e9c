"""The .npz format: a zip of .npy members, every header checked before any data is read.

Members that are stored uncompressed (`np.savez`) are read or memory-mapped as .npy files are, after their checksum has
been verified. Compressed ones that do not fit into memory are unpacked to a temporary file.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import numpy as np

from ...errors import BadInput
from . import spool
from .guard import reading
from .npy import HEADER_ERRORS, Header, array_at, check_length, read_header
from .raw import Array, Member, dtype_name
from .torch_file import is_torch_archive

MAX_MEMBERS = 4096
_CHUNK = 16 * 2**20
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    RuntimeError,  # encrypted, or a compression that zipfile cannot read
)
_LOCAL_HEADER = 30  # bytes before the file name of a zip member


def is_npz(names: Collection[str]) -> bool:
    """Whether these are the members of an .npz archive: some are .npy files, and there is no pickle of torch."""
    return any(name.endswith(".npy") for name in names) and not is_torch_archive(names)


def npz_members(path: Path) -> list[Member]:
    """The arrays of an .npz file, in the order of the archive.

    Raises:
        BadInput: the archive is damaged or encrypted, a name occurs twice, there are more than
            ``MAX_MEMBERS`` arrays, or the size of an array is not what its header declares.
    """
    with reading(path, "is a truncated or damaged .npz", *_ZIP_ERRORS, ValueError), zipfile.ZipFile(path) as archive:
        entries = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        if len(entries) > MAX_MEMBERS:
            raise BadInput(f"holds {len(entries):,} arrays", where=path, fix="save only the arrays to be evaluated")
        twice = [name for name, n in Counter(info.filename for info in entries).items() if n > 1]
        if twice:
            raise BadInput(f"holds '{twice[0]}' more than once", where=path, fix="save every array once")
        return [_member(path, archive, info) for info in entries]


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as stream:
        header = read_header(stream, path, f"array '{name}'")
    check_length(header, info.file_size - header.length, path, f"array '{name}'")
    mapped = info.compress_type == zipfile.ZIP_STORED and not header.dtype.hasobject

    def load() -> Array:
        with reading(path, f"array '{name}' is damaged", *_ZIP_ERRORS, *HEADER_ERRORS):
            return _read_stored(path, info, header) if mapped else _inflate(path, info, header, name)

    cost = 0 if mapped or not spool.fits(header.nbytes) else header.nbytes
    return Member(name, header.shape, dtype_name(header.dtype), cost, info.compress_size, load)


def _inflate(path: Path, info: zipfile.ZipInfo, header: Header, name: str) -> Array:
    with zipfile.ZipFile(path) as archive, archive.open(info) as stream:
        if header.dtype.hasobject or spool.fits(header.nbytes):
            array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        else:
            stream.read(header.length)
            shape = header.shape[::-1] if header.fortran else header.shape
            array = spool.room(shape, header.dtype, f"array '{name}' is compressed: unpacked")
            left = memoryview(array.reshape(-1).view(np.uint8).data)
            while left:
                piece = stream.read(min(len(left), spool.PIECE))
                if not piece:
                    raise EOFError("it ends before its data does")
                left[: len(piece)] = piece
                left = left[len(piece) :]
            array = array.T if header.fortran else array
        stream.read(1)  # the checksum is compared at the end of the member
        return array


def _read_stored(path: Path, info: zipfile.ZipInfo, header: Header) -> Array:
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        local = stream.read(_LOCAL_HEADER)
        name_length, extra_length = struct.unpack("<HH", local[26:30])
        start = info.header_offset + _LOCAL_HEADER + name_length + extra_length
        stream.seek(start)
        crc, left = 0, info.file_size
        while left and (chunk := stream.read(min(left, _CHUNK))):
            crc = zlib.crc32(chunk, crc)
            left -= len(chunk)
    if left or crc != info.CRC:
        raise zipfile.BadZipFile("its checksum does not match its data")
    return array_at(path, header, start + header.length)
