"""The HDF5 format: data sets at any depth, described without being read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..memory import text_array
from .raw import Array, Member, dtype_name
from .regular import reading

_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_hdf5(head: bytes) -> bool:
    """Whether the signature is at the start of a file, or after a user block of 512, 1024 or 2048 bytes."""
    return any(head[at : at + len(_SIGNATURE)] == _SIGNATURE for at in (0, 512, 1024, 2048))


def hdf5_members(path: Path) -> list[Member]:
    """The data sets of an HDF5 file at any depth. Links to other places and other files are not followed.

    Raises:
        BadInput: the file is damaged.
    """
    import h5py

    found: list[Member] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            found.append(_member(path, name, node))

    with reading(path, "is a truncated or damaged HDF5 file"), h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def _member(path: Path, name: str, node: Any) -> Member:
    import h5py

    text = h5py.check_string_dtype(node.dtype) is not None
    outside = bool(node.external) or node.is_virtual
    shape = tuple(node.shape or ())

    def load() -> Array:
        if outside:
            fix = "copy the data into one file"
            raise BadInput(f"data set '{name}' is stored in another file", where=path, fix=fix)
        with reading(path, f"data set '{name}' cannot be read"), h5py.File(path, "r") as file:
            if not text:
                found: Array = file[name][...]
                return found
            strings = np.asarray(file[name].asstr()[...])
            return text_array(strings.ravel().tolist(), name, path).reshape(strings.shape)

    nbytes = math.prod(shape) * int(node.dtype.itemsize)
    return Member(name, shape, "str" if text else dtype_name(node.dtype), nbytes, load)
