"""Safetensors and HDF5: named arrays, described without being read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput, MissingPackage
from .guard import reading
from .raw import Array, Member, dtype_name

_SAFETENSORS = {
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "BOOL": "?", "I8": "i1", "U8": "u1",
    "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8",
}  # fmt: skip
_HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError)


def safetensors_members(path: Path) -> list[Member]:
    """The tensors of a safetensors file, memory-mapped when loaded (bfloat16 is copied to float32).

    Raises:
        MissingPackage: safetensors is not installed.
        BadInput: the header is damaged or does not fit the file.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise MissingPackage(
            "reading .safetensors needs safetensors", where=path, fix="pip install 'vsebench[formats]'"
        ) from None
    with reading(path, "is a truncated or damaged safetensors file", SafetensorError, OSError, ValueError, KeyError):
        with safe_open(path, framework="numpy"):
            pass  # the library validates the header: offsets, overlaps, sizes, length of the file
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header: dict[str, Any] = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    return [_tensor(path, name, entry, 8 + length) for name, entry in header.items()]


def _tensor(path: Path, name: str, entry: dict[str, Any], data: int) -> Member:
    code, shape = entry["dtype"], tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    half = code == "BF16"
    dtype = "bfloat16" if half else dtype_name(np.dtype(_SAFETENSORS[code])) if code in _SAFETENSORS else code

    def load() -> Array:
        if math.prod(shape) == 0:
            return np.empty(shape, np.float32 if half else _SAFETENSORS[code])
        with reading(path, f"tensor '{name}' cannot be mapped", OSError, ValueError):
            raw = np.memmap(path, _SAFETENSORS[code], mode="r", offset=data + begin, shape=shape)
            return widened(raw) if half else raw

    return Member(name, shape, dtype, math.prod(shape) * 4 if half else 0, end - begin, load)


def widened(bits: Array) -> Array:
    """float32 values of bfloat16 bit patterns (uint16, any shape): they are the upper half of a float32."""
    out = bits.astype(np.uint32)
    out <<= 16
    return out.view(np.float32)


def hdf5_members(path: Path) -> list[Member]:
    """The data sets of an HDF5 file at any depth. Links to other places and other files are not followed.

    Raises:
        MissingPackage: h5py is not installed.
        BadInput: the file is damaged.
    """
    try:
        import h5py
    except ImportError:
        raise MissingPackage("reading HDF5 needs h5py", where=path, fix="pip install 'vsebench[formats]'") from None
    found: list[Member] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            found.append(_dataset(path, name, node))

    with reading(path, "is a truncated or damaged HDF5 file", *_HDF5_ERRORS), h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def _dataset(path: Path, name: str, node: Any) -> Member:
    import h5py

    shape = node.shape or ()
    text = h5py.check_string_dtype(node.dtype) is not None
    dtype = "str" if text else dtype_name(node.dtype)

    def load() -> Array:
        what = f"data set '{name}' cannot be read"
        with (
            reading(path, what, OSError, RuntimeError, KeyError, ValueError, TypeError),
            h5py.File(path, "r") as file,
        ):
            dataset = file[name]
            if dataset.external or dataset.is_virtual:
                raise BadInput(
                    f"data set '{name}' lives in another file", where=path, fix="copy the data into one file"
                )
            if text:
                strings = np.asarray(dataset.asstr()[...])
                return np.array(strings.ravel().tolist(), dtype=np.str_).reshape(strings.shape)
            return np.asarray(dataset[...])

    return Member(name, shape, dtype, math.prod(shape) * node.dtype.itemsize, node.id.get_storage_size(), load)
