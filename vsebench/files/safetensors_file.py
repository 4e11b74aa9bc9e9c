"""The safetensors format: tensors described from the header, memory-mapped when loaded."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from .raw import Array, Member, dtype_name
from .regular import reading

_SAFETENSORS = {
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "BOOL": "?", "I8": "i1", "U8": "u1",
    "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8",
}  # fmt: skip


def safetensors_members(path: Path) -> list[Member]:
    """The tensors of a safetensors file, memory-mapped when loaded (bfloat16 is copied to float32).

    Raises:
        BadInput: the header is damaged or does not fit the file.
    """
    from safetensors import safe_open

    with reading(path, "is a truncated or damaged safetensors file"):
        with safe_open(path, framework="numpy"):
            pass  # the library validates the header: offsets, overlaps, sizes, length of the file
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header: dict[str, Any] = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    return [_tensor(path, name, entry, 8 + length) for name, entry in header.items()]


def _tensor(path: Path, name: str, entry: dict[str, Any], data: int) -> Member:
    code, shape = entry["dtype"], tuple(entry["shape"])
    begin, _ = entry["data_offsets"]
    half = code == "BF16"
    dtype = "bfloat16" if half else dtype_name(np.dtype(_SAFETENSORS[code])) if code in _SAFETENSORS else code

    def load() -> Array:
        if math.prod(shape) == 0:
            return np.empty(shape, np.float32 if half else _SAFETENSORS[code])
        with reading(path, f"tensor '{name}' cannot be mapped"):
            raw = np.memmap(path, _SAFETENSORS[code], "r", data + begin, shape)
            return widened(raw) if half else raw

    return Member(name, shape, dtype, math.prod(shape) * 4 if half else 0, load)


def widened(bits: Array) -> Array:
    """float32 values of bfloat16 bit patterns (uint16, any shape): they are the upper half of a float32."""
    out = bits.astype(np.uint32)
    out <<= 16
    return out.view(np.float32)
