"""The .npz format: a zip of .npy members, every header checked before any data is read."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Collection
from functools import cache, partial
from pathlib import Path

import numpy as np

from ..errors import BadInput
from .npy import check_length, read_header
from .raw import Array, Member, dtype_name
from .regular import reading
from .torch_file import is_torch_archive


def is_npz(names: Collection[str]) -> bool:
    """Whether these are the members of an .npz archive: some are .npy files, and there is no pickle of torch."""
    return any(name.endswith(".npy") for name in names) and not is_torch_archive(names)


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
