"""Gains computed elsewhere: a matrix in a file, memory-mapped, or an array in memory; the check of their values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..files.members import SCORES, Field, floats, read_array
from ..files.raw import Member, Raw
from ..files.regular import expanded
from ..log import note
from ..sets import owners
from ..sets.match import rows_of
from ..types import BOTH, Ids, Int, TestSet, Vectors, Which
from .gains import Gains, Values

FIELD = Field("gains", ("gains", "gain", "relevance", "phi", "judgements", "qrels", *SCORES.names))
CHUNK_NUMBERS = 1 << 22  # checked at a time, so that a memory-mapped file is never copied completely


@dataclass(frozen=True, eq=False)
class Stored(Values):
    """An array that reads only the requested rows and pairs.

    Attributes:
        values: (row, column) float16, float32 or float64, in any memory order, maybe memory-mapped; each value is
            rounded to float32.
        row_order, column_order: (row,) and (column,) int64 row and column in ``values`` of every item of the split, or
            None when ``values`` is in the order of the split.
    """

    values: npt.NDArray[Any]
    row_order: Int | None = None
    column_order: Int | None = None

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        block = self.values[start:stop] if self.row_order is None else self.values[self.row_order[start:stop]]
        out = np.empty(block.shape, np.float32)
        out[...] = block
        return out if self.column_order is None else np.ascontiguousarray(out[:, self.column_order])

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """See ``Values.pairs``."""
        rows = rows if self.row_order is None else self.row_order[rows]
        columns = columns if self.column_order is None else self.column_order[columns]
        return np.asarray(self.values[rows, columns], np.float32)

    @property
    def T(self) -> Stored:
        """See ``Values.T``."""
        return Stored(self.values.T, self.column_order, self.row_order)


def load(test: TestSet, argument: str, settings: Mapping[str, str]) -> Gains:
    """Gains of a file, see ``of_matrix``.

    Args, see ``sources.Loader``:
        argument: a file of any format that holds arrays; see ``files.formats``.
        settings: ``rows``; ``negative`` is handled by the caller.
    """
    return of_matrix(test, expanded(argument), settings["rows"])


def of_matrix(test: TestSet, source: Path | npt.NDArray[Any], rows_are: str = "auto", turned: str = "") -> Gains:
    """Gains with one row an image and one column a caption, or one row a caption and one column an image.

    If the file has ``image_ids`` and ``text_ids``, rows and columns are matched by id. Otherwise they are in the order
    of the split (for a custom split, the order of the user's file).

    Args:
        test: the items.
        source: a file, or an array of numbers or truth values.
        rows_are: ``images`` or ``captions``; by default the shape decides, and they are images if it is square.
        turned: the fix if the rows may be captions: a square matrix without ids is refused.

    Raises:
        BadInput: a shape that does not fit the split, a value that is not finite (at a row and column), unknown ids.
    """
    path = source if isinstance(source, Path) else None
    if isinstance(source, Path):
        fix = "save a .npy array with one row per image and one column per caption"
        stored = read_array(source, FIELD, fix, load=_numbers)
    else:
        stored = Raw((source.astype(np.float32) if source.dtype.kind in "iub" else source,))
    values, shape = stored.values, test.shape
    by_images, by_captions = values.shape == shape, values.shape == shape[::-1]
    if not {"images": by_images, "captions": by_captions, "auto": by_images or by_captions}[rows_are]:
        raise BadInput(
            f"gains of shape {values.shape} for {test.counts} of split '{test.name}'"
            + ("" if rows_are == "auto" else f" with rows={rows_are}"),
            where=path,
            fix=f"save a row for every {test.rows.name} and a column for every {test.columns.name} of the split",
        )
    if by_images and by_captions and rows_are == "auto":
        if turned and stored.image_ids is None and stored.text_ids is None:
            what = f"the rows of a square t2i matrix {shape} may be {test.rows.plural} or {test.columns.plural}"
            raise BadInput(what, where=path, fix=turned)
        turn = "transpose it" if path is None else "add :rows=captions"
        note(f"the matrix of gains is square: its rows are read as images (else {turn})")
    if values.dtype.itemsize > 4:
        note("float64: rounded to float32", weight="detail")
    transposed = rows_are == "captions" or not by_images
    fingerprint, lowest, judged = check_values(values, f"{test.sides[transposed].name} row", path or "gains")
    ids = stored.image_ids, stored.text_ids
    orders = [
        rows_in_order(ids_of_side, test, side, path or Path("gains"))
        for side, ids_of_side in zip(BOTH, ids, strict=True)
    ]
    unnamed = [side.name for side, ids_of_side in zip(test.sides, ids, strict=True) if ids_of_side is None]
    note(owners.order_note(path.name if path is not None else "the matrix", unnamed, test))
    identity = {"sha256": fingerprint, "rows": "captions" if transposed else "images"}
    identity = identity if path is None else {"file": path.name, **identity}
    found = Stored(values.T if transposed else values, *orders)
    return Gains("matrix", identity, shape, found, lowest=lowest, of_judgements=judged)


def rows_in_order(ids: Ids | None, test: TestSet, which: Which, where: Path) -> Int | None:
    """(item,) int64 row of a file for every item of one side, by ids or in order; None if they are in its order.

    Raises:
        BadInput: unknown ids, or no order is known.
    """
    side, other = test.sides[which], test.sides[1 - which]
    if ids is None:
        order = owners.order(test, side.name)
    else:
        what = "text" if side.name == "caption" else side.name
        order = rows_of(ids, side.ids, other.ids, what, test.name, where)
    return None if order is None or np.array_equal(order, np.arange(len(order))) else order


def _numbers(member: Member, where: Path) -> npt.NDArray[Any]:
    """The numbers of an array, integers and truth values as float32."""
    if member.dtype.startswith(("int", "uint", "bool")):
        return member.load().astype(np.float32)
    return floats(member, where)


def check_values(values: npt.NDArray[Any], row: str, where: str | Path | None = None) -> tuple[str, float, bool]:
    """Check that every value is finite in float32; give a fingerprint of the array and what its values are.

    Args:
        values: (row, column) floats, maybe memory-mapped; read in chunks.
        row: what a row is, in words, for errors.
        where: the file, for errors.

    Returns:
        Eight hexadecimal digits of the SHA-256 of shape, dtype and values; the smallest value; whether all are 0 or 1.

    Raises:
        BadInput: a NaN, an infinity, a value beyond the range of float32, or one that float32 rounds to 0; the first
            such row and column are named.
    """
    digest = hashlib.sha256(f"{values.shape} {values.dtype.str}".encode())
    largest = np.finfo(np.float32).max
    step = max(1, CHUNK_NUMBERS // max(values.shape[1], 1))
    smallest, binary = np.inf, True
    for start in range(0, len(values), step):
        block = np.ascontiguousarray(values[start : start + step])
        # The comparison is also false for NaN, and needs no conversion that could overflow.
        bad = ~((block <= largest) & (block >= -largest)) if block.itemsize > 2 else ~np.isfinite(block)
        if block.itemsize > 4 and not bad.any():
            bad = (block != 0) & (block.astype(np.float32) == 0)
        if bad.any():
            r, c = (int(x[0]) for x in np.nonzero(bad))
            what = f"{row} {start + r} holds {block[r, c]} in column {c}"
            fix = "find out what produced it and save the array again, every value finite"
            if np.isfinite(block[r, c]):
                what, fix = f"{what}, which float32 does not hold", "scale the values to 1e-38 to 3.4e38"
            raise BadInput(what, where=where, fix=fix)
        digest.update(block.data)
        smallest = min(smallest, float(block.min(initial=np.inf)))
        binary = binary and bool(((block == 0) | (block == 1)).all())
    return digest.hexdigest()[:8], smallest, binary
