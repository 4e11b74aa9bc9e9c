"""What the graded relevances share: an array out of a file, its fingerprint, and which rows and pairs exist."""

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
from ..errors import BadInput, UsageError
from ..types import Direction, Ids, Int

Array = npt.NDArray[Any]
CHUNK = 1 << 22  # numbers looked at together, so that a memory-mapped file is never copied whole


@dataclass(frozen=True, eq=False)
class Stored:
    """A two-dimensional array of a file, memory-mapped where the format allows, with the ids beside it.

    Attributes:
        values: (row, column) float16, float32 or float64.
        image_ids, text_ids: (item,) or None.
        notes: what was decided in reading.
    """

    values: Array
    image_ids: Ids | None
    text_ids: Ids | None
    notes: tuple[str, ...]


def read_array(path: Path, field: Field, fix: str) -> Stored:
    """The array of a file that goes by one of the names of ``field``, else the only two-dimensional one.

    Args:
        path: .npy, .npz, .safetensors, torch or HDF5 file.
        field: what is looked for, in words and by its usual names.
        fix: what to do when the file does not hold it.

    Raises:
        BadInput: no such file, another kind of file, damaged, not floating point, not two-dimensional, or it
            is not clear which array is meant.
        MissingPackage: the package that reads this format is not installed.
    """
    kind = sniff(path)
    expect(path, kind, kind.arrays is not None, f"a file of {field.words}", fix)
    members = members_of(path, kind)
    if kind.single:
        return Stored(_matrix(members[0], field, path, fix), None, None, ())
    chosen = pick(members, field, path)
    notes: tuple[str, ...] = ()
    if chosen is None:
        flat = [m for m in members if len(m.shape) == 2]
        if len(flat) != 1:
            raise BadInput(
                f"has no {field.words} under a known name; it holds {describe(members)}",
                where=path,
                fix=f"name the array {field.names[0]}",
            )
        chosen = flat[0]
        notes = (f"{field.words} are read from '{chosen.name}', the only two-dimensional array",)
    ids = [pick(members, names, path, beside=chosen) for names in (IMAGE_IDS, TEXT_IDS)]
    check_size([chosen, *(m for m in ids if m is not None)], path)
    image_ids, text_ids = (None if m is None else as_ids(m.load(), m.name, path) for m in ids)
    return Stored(_matrix(chosen, field, path, fix), image_ids, text_ids, notes)


def _matrix(member: Member, field: Field, path: Path, fix: str) -> Array:
    if len(member.shape) != 2 or 0 in member.shape:
        raise BadInput(
            f"array '{member.name}' has shape {member.shape}; {field.words} have two dimensions", where=path, fix=fix
        )
    return floats(member, path)


def inspect(values: Array, row: str, where: str | Path | None = None) -> tuple[str, float]:
    """Eight hexadecimal digits of what an array holds, and its smallest number, once all are found finite in float32.

    Args:
        values: (row, column) floats; read in chunks, so it may be memory-mapped.
        row: what a row is in words, for the message.
        where: the file, for the message.

    Raises:
        BadInput: a NaN, an infinity, or a number outside float32; the first row and its column are named.
    """
    digest = hashlib.sha256(f"{values.shape} {values.dtype.str}".encode())
    largest = np.finfo(np.float32).max
    step = max(1, CHUNK // max(values.shape[1], 1))
    smallest = np.inf
    for start in range(0, len(values), step):
        block = np.ascontiguousarray(values[start : start + step])
        # Compared this way round a NaN fails too, and nothing is converted that could overflow.
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
            raise BadInput(
                f"{row} {start + r} holds {block[r, c]} in column {c}, which is 0 in float32",
                where=where,
                fix="scale the values, or save as 0 what is 0",
            )
        digest.update(block.data)
        smallest = min(smallest, float(block.min(initial=np.inf)))
    return digest.hexdigest()[:8], smallest


def check_range(shape: tuple[int, int], direction: Direction, start: int, stop: int) -> None:
    """Refuse rows that do not exist; raises UsageError."""
    n = shape[0] if direction == "i2t" else shape[1]
    if not 0 <= start <= stop <= n:
        raise UsageError(f"rows {start}:{stop} of {n} queries ({direction})", fix=f"ask for rows within 0:{n}")


def as_pairs(shape: tuple[int, int], direction: Direction, queries: Int, items: Int) -> tuple[Int, Int]:
    """(pair,) images and (pair,) captions of queries (query,) and items (query, k), row by row.

    Raises:
        UsageError: the shapes do not fit, or an index lies outside the split.
    """
    queries, items = np.asarray(queries, np.int64), np.asarray(items, np.int64)
    if items.ndim != 2 or queries.shape != items.shape[:1]:
        raise UsageError(f"items of shape {items.shape} for queries of shape {queries.shape}", fix="give (query, k)")
    first, second = np.repeat(queries, items.shape[1]), items.ravel()
    images, captions = (first, second) if direction == "i2t" else (second, first)
    for what, index, n in (("image", images, shape[0]), ("caption", captions, shape[1])):
        if len(index) and not 0 <= int(index.min()) <= int(index.max()) < n:
            worst = int(index.min()) if int(index.min()) < 0 else int(index.max())
            raise UsageError(f"{what} {worst} of {n}", fix=f"count {what}s from 0 to {n - 1}")
    return images, captions
