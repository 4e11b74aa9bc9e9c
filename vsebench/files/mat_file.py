"""MATLAB files of version 5 (``save -v6`` and ``-v7``, SciPy, Octave); those of version 7.3 are HDF5."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np

from ..errors import BadInput
from ..memory import text_array
from .raw import Array, Member
from .regular import reading

_NUMBERS = {"single": "float32", "double": "float64", "logical": "bool"}
_BYTES = {"float32": 4, "float64": 8, "int64": 8, "uint64": 8}
_TEXTS = ("cell", "char")


def mat_members(path: Path) -> list[Member]:
    """The variables of a MATLAB 5 file, in its shapes; cells of texts and rows of characters are strings.

    Raises:
        BadInput: the file is damaged.
    """
    from scipy.io import whosmat

    with reading(path, "is a truncated or damaged MATLAB file"):
        found = whosmat(path)
    out: list[Member] = []
    for name, shape, kind in found:
        dtype = "str" if kind in _TEXTS else _NUMBERS.get(kind, kind)
        shape = tuple(map(int, shape[:1] if kind == "char" else shape))
        out.append(
            Member(name, shape, dtype, math.prod(shape) * _BYTES.get(dtype, 1), partial(_load, path, name, dtype))
        )
    return out


def _load(path: Path, name: str, dtype: str) -> Array:
    """One variable; raises BadInput for complex numbers, and cells that are no texts."""
    from scipy.io import loadmat

    with reading(path, f"variable '{name}' cannot be read"):
        found = np.asarray(loadmat(path, variable_names=[name])[name])
        if found.dtype.kind == "O":
            cells = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in found.ravel().tolist()]
            if not all(isinstance(cell, list) and all(isinstance(x, str) for x in cell) for cell in cells):
                raise BadInput(f"'{name}' has cells that are no texts", where=path, fix="save ids as a cellstr")
            return text_array(["".join(cell) for cell in cells], name, path).reshape(found.shape)
        if found.dtype.kind == "c":
            raise BadInput(f"'{name}' is complex", where=path, fix="save real numbers")
        return found.astype(dtype, copy=False) if dtype in _BYTES else found  # whole doubles are stored as integers
