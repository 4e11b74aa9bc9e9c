"""Reading a two-dimensional array from a file, checking its values, and its fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.formats.aliases import IMAGE_IDS, TEXT_IDS, Field, describe, pick
from ..data.formats.guard import check_size
from ..data.formats.ids import as_ids
from ..data.formats.members import floats, members_of
from ..data.formats.raw import Member
from ..data.formats.sniff import expect, sniff
from ..errors import BadInput
from ..types import Ids

Array = npt.NDArray[Any]
CHUNK = 1 << 22  # numbers checked at a time, so that a memory-mapped file is never copied completely


@dataclass(frozen=True, eq=False)
class StoredArray:
    """A two-dimensional array of a file, memory-mapped where the format allows it, and the ids saved with it.

    Attributes:
        values: (row, column) float16, float32 or float64.
        image_ids, text_ids: (item,) or None.
        notes: decisions made in reading.
    """

    values: Array
    image_ids: Ids | None
    text_ids: Ids | None
    notes: tuple[str, ...]


def read_array(path: Path, field: Field, fix: str, integers: bool = False) -> StoredArray:
    """The array of a file with one of the names of ``field``, else its only two-dimensional array.

    Args:
        path: .npy, .npz, .safetensors, torch or HDF5 file.
        field: the content in words, and its usual names.
        fix: how to save such a file, for errors.
        integers: integers and truth values are taken too, as float32.

    Raises:
        BadInput: no such file, another kind of file, damaged, not floating point, not two-dimensional, or several
            arrays of which none has a known name.
        MissingPackage: the package that reads this format is not installed.
    """
    kind = sniff(path)
    expect(path, kind, kind.arrays is not None, f"a file of {field.words}", fix)
    members = members_of(path, kind)
    if kind.single:
        return StoredArray(_matrix(members[0], field, path, fix, integers), None, None, ())
    chosen = pick(members, field, path)
    notes: tuple[str, ...] = ()
    if chosen is None:
        matrices = [m for m in members if len(m.shape) == 2]
        if len(matrices) != 1:
            what = f"has no {field.words} under a known name; it holds {describe(members)}"
            raise BadInput(what, where=path, fix=f"name the array {field.names[0]}")
        chosen = matrices[0]
        notes = (f"{field.words} are read from '{chosen.name}', the only two-dimensional array",)
    ids = [pick(members, names, path, beside=chosen) for names in (IMAGE_IDS, TEXT_IDS)]
    check_size([chosen, *(m for m in ids if m is not None)], path)
    image_ids, text_ids = (None if m is None else as_ids(m.load(), m.name, path) for m in ids)
    return StoredArray(_matrix(chosen, field, path, fix, integers), image_ids, text_ids, notes)


def _matrix(member: Member, field: Field, path: Path, fix: str, integers: bool) -> Array:
    if len(member.shape) != 2 or 0 in member.shape:
        what = f"array '{member.name}' has shape {member.shape}; {field.words} have two dimensions"
        raise BadInput(what, where=path, fix=fix)
    if integers and member.dtype.startswith(("int", "uint", "bool")):
        return member.load().astype(np.float32)
    return floats(member, path)


def check_values(values: Array, row: str, where: str | Path | None = None) -> tuple[str, float]:
    """Check that every value is finite in float32; give a fingerprint of the array and its smallest value.

    Args:
        values: (row, column) floats, maybe memory-mapped; read in chunks.
        row: what a row is, in words, for errors.
        where: the file, for errors.

    Returns:
        Eight hexadecimal digits of the SHA-256 of shape, dtype and values, and the smallest value.

    Raises:
        BadInput: a NaN, an infinity, a value beyond the range of float32, or one that float32 rounds to 0; the first
            such row and column are named.
    """
    digest = hashlib.sha256(f"{values.shape} {values.dtype.str}".encode())
    largest = np.finfo(np.float32).max
    step = max(1, CHUNK // max(values.shape[1], 1))
    smallest = np.inf
    for start in range(0, len(values), step):
        block = np.ascontiguousarray(values[start : start + step])
        # The comparison is also false for NaN, and needs no conversion that could overflow.
        bad = ~((block <= largest) & (block >= -largest)) if block.itemsize > 2 else ~np.isfinite(block)
        if bad.any():
            r, c = (int(x[0]) for x in np.nonzero(bad))
            large = bool(np.isfinite(block[r, c]))
            raise BadInput(
                f"{row} {start + r} holds {block[r, c]} in column {c}" + (", beyond float32" if large else ""),
                where=where,
                fix="scale the values to within 3.4e38, the limit of float32"
                if large
                else "find out what produced it and save the array again, every value finite",
            )
        if block.itemsize > 4 and (lost := (block != 0) & (block.astype(np.float32) == 0)).any():
            r, c = (int(x[0]) for x in np.nonzero(lost))
            what = f"{row} {start + r} holds {block[r, c]} in column {c}, which is 0 in float32"
            raise BadInput(what, where=where, fix="scale the values, or save 0 in its place")
        digest.update(block.data)
        smallest = min(smallest, float(block.min(initial=np.inf)))
    return digest.hexdigest()[:8], smallest
