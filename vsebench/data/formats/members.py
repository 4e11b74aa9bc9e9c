"""Named arrays of any format that has them, and the one check that every array of vectors or scores passes."""

from __future__ import annotations

from pathlib import Path

from ...errors import BadInput
from ...types import Ids
from . import spool
from .aliases import FLOATS
from .ids import as_ids
from .raw import Array, Member
from .table import Format


def members_of(path: Path, kind: Format) -> list[Member]:
    """The arrays of a file of a format that has arrays, described from its header.

    Raises:
        BadInput: the file is damaged.
        MissingPackage: the package that reads the format is not installed.
    """
    kind.require(path)
    if kind.arrays is None:
        raise BadInput(f"is {kind.words}, which holds no arrays", where=path, fix="give a file of arrays")
    return kind.arrays(path)


def floats(member: Member, where: Path) -> Array:
    """The data of a member that must be floating point, in native byte order.

    Raises:
        BadInput: any other dtype; integers are often quantised or the wrong array, so they are not converted.
    """
    if member.dtype not in FLOATS:
        fix = "save it as float32"
        if member.dtype == "object":
            fix = "save it as float32; object arrays are pickles, which are never read"
        what = f"array '{member.name}' {member.shape} is {member.dtype}, expected float16, float32 or float64"
        raise BadInput(what, where=where, fix=fix)
    array = member.load()
    why = f"array '{member.name}' is of another byte order: converted"
    return spool.converted(array, array.dtype.newbyteorder("="), None, why)


def ids_of(member: Member | None, path: Path) -> Ids | None:
    """The ids in an array, (item,) int64 or unicode, None without one; raises BadInput for anything but ids."""
    if member is None:
        return None
    if not member.dtype.startswith(("int", "uint", "float", "str", "bytes")):
        raise BadInput(
            f"array '{member.name}' {member.shape} is {member.dtype}; ids are integers or strings",
            where=path,
            fix="save ids as integers or fixed-width strings, as np.array([...]) makes them",
        )
    return as_ids(member.load(), member.name, path)
