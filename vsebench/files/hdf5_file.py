"""The HDF5 format, data sets at any depth, described without being read; and MATLAB 5, whose version 7.3 is HDF5."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..memory import require, text_array
from .raw import Array, Member, dtype_name
from .regular import SAVE_NPY, reading


def hdf5_members(path: Path) -> list[Member]:
    """The data sets of an HDF5 file at any depth. Links to other places and other files are not followed.

    Those that MATLAB has written (version 7.3) have their axes as in MATLAB, and its texts are strings.

    Raises:
        BadInput: the file is damaged.
    """
    import h5py

    found: list[Member] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and not name.startswith("#"):  # where MATLAB has the content of cells
            found.append(_member(path, name, node, again))

    again = cache(partial(h5py.File, path, "r"))  # once, as a file may have thousands of data sets
    with reading(path, "is a truncated or damaged HDF5 file"), h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def _member(path: Path, name: str, node: Any, again: Callable[[], Any]) -> Member:
    import h5py

    kind = node.attrs.get("MATLAB_class", b"")
    kind = bytes(kind) if isinstance(kind, bytes) else b""
    text = h5py.check_string_dtype(node.dtype) is not None or kind in (b"cell", b"char")
    outside = bool(node.external) or node.is_virtual
    shape = tuple(node.shape or ())
    shape = shape[:0:-1] if kind == b"char" and len(shape) == 2 else shape[::-1] if kind else shape

    def load() -> Array:
        if outside:
            fix = "copy the data into one file"
            raise BadInput(f"data set '{name}' is stored in another file", where=path, fix=fix)
        with reading(path, f"data set '{name}' cannot be read"):
            file = again()
            if kind in (b"cell", b"char"):
                return text_array(_texts(file, file[name][...].T, kind), name, path).reshape(shape)
            if not text:
                found: Array = file[name][...]
                return found.T if kind else found
            strings = np.asarray(file[name].asstr("utf-8")[...])
            return text_array(strings.ravel().tolist(), name, path).reshape(strings.shape)

    nbytes = math.prod(shape) * int(node.dtype.itemsize)
    return Member(name, shape, "str" if text else dtype_name(node.dtype), nbytes, load)


def _texts(file: Any, values: Array, kind: bytes) -> list[str]:
    """The texts of a cell array (its cells are elsewhere in the file), or the rows of a character array."""
    rows = [file[cell][...].T for cell in values.ravel()] if kind == b"cell" else values
    return [np.asarray(row, "<u2").tobytes().decode("utf-16-le").rstrip("\0") for row in rows]


def mat_members(path: Path) -> list[Member]:
    """The variables of a MATLAB 5 file (``save -v6`` and ``-v7``, SciPy, Octave) in its shapes, which are all loaded.

    Cells of texts and rows of characters are strings.

    Raises:
        BadInput: the file is damaged, or larger than the memory.
    """
    from scipy.io import loadmat, whosmat

    out: list[Member] = []
    with reading(path, "is a truncated or damaged MATLAB file"):
        kinds = {name: kind for name, _, kind in whosmat(path)}
        require(sum(8 * math.prod(shape) for _, shape, _ in whosmat(path)), path, SAVE_NPY)
        loaded = loadmat(path)
        for name, kind in kinds.items():
            array = np.asarray(loaded[name])
            if kind in ("single", "double") and array.dtype.kind in "iuf":  # integral numbers are stored as integers
                array = array.astype(kind)
            elif kind == "cell" and all(isinstance(cell, np.ndarray) and cell.dtype.kind == "U" for cell in array.flat):
                array = text_array(["".join(cell.tolist()) for cell in array.flat], name, path).reshape(array.shape)
            out.append(Member(name, array.shape, dtype_name(array.dtype), 0, partial(np.asarray, array)))
    return out
