"""Named arrays of any format that has names, and the one check every vector or score array passes."""

from __future__ import annotations

from pathlib import Path

from ...errors import BadInput
from .aliases import FLOATS
from .raw import Array, Member
from .sniff import Kind


def members_of(path: Path, kind: Kind) -> list[Member]:
    """The named arrays of a file whose format has names."""
    if kind == "npz":
        from .npz import npz_members

        return npz_members(path)
    if kind in ("torch", "torch-legacy"):
        from .torch_file import torch_members

        return torch_members(path, legacy=kind == "torch-legacy")
    from .named import hdf5_members, safetensors_members

    return hdf5_members(path) if kind == "hdf5" else safetensors_members(path)


def floats(member: Member, where: Path) -> Array:
    """The data of a member that must be floating point, in native byte order.

    Raises:
        BadInput: any other dtype; integers are often quantised or the wrong array, so they are not converted.
    """
    if member.dtype not in FLOATS:
        fix = "save it as float32"
        if member.dtype == "object":
            fix = "save it as float32; object arrays are pickles, which are never read"
        raise BadInput(
            f"array '{member.name}' {member.shape} is {member.dtype}, expected float16, float32 or float64",
            where=where,
            fix=fix,
        )
    array = member.load()
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
