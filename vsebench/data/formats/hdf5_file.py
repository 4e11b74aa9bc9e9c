"""The HDF5 format: data sets at any depth, described without being read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput
from .guard import reading
from .raw import Array, Member, dtype_name

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError)


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
            found.append(_dataset(path, name, node))

    with reading(path, "is a truncated or damaged HDF5 file", *_ERRORS), h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def _dataset(path: Path, name: str, node: Any) -> Member:
    import h5py

    shape = node.shape or ()
    text = h5py.check_string_dtype(node.dtype) is not None
    dtype = "str" if text else dtype_name(node.dtype)

    def load() -> Array:
        what = f"data set '{name}' cannot be read"
        with reading(path, what, *_ERRORS), h5py.File(path, "r") as file:
            dataset = file[name]
            if dataset.external or dataset.is_virtual:
                fix = "copy the data into one file"
                raise BadInput(f"data set '{name}' is stored in another file", where=path, fix=fix)
            if text:
                strings = np.asarray(dataset.asstr()[...])
                return np.array(strings.ravel().tolist(), dtype=np.str_).reshape(strings.shape)
            return np.asarray(dataset[...])

    return Member(name, shape, dtype, math.prod(shape) * node.dtype.itemsize, node.id.get_storage_size(), load)
