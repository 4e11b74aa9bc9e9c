"""Named arrays of any format that has them: one reader for vectors, scores, gains and labels, with the ids of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import BadInput, UsageError
from ...options import spell
from ...types import Ids
from . import spool
from .aliases import (
    CAPTIONS,
    FLOATS,
    IMAGE_IDS,
    IMAGE_OF_TEXT,
    OWNER_IDS,
    OWNER_ROWS,
    TEXT_IDS,
    Field,
    describe,
    pick,
    pick_strings,
)
from .guard import check_size
from .ids import as_ids, as_strings
from .raw import Array, Holds, Member, RawArray
from .sniff import expect, sniff
from .table import Format, array_suffixes

Ids3 = tuple[Sequence[Field], Sequence[Field], Sequence[Field]]
OF_BOTH: Ids3 = ((IMAGE_IDS,), (TEXT_IDS,), (IMAGE_OF_TEXT,))  # ids of images and texts, and the image of every text


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """A file or folder whose format is known: it is found out once."""

    path: Path
    kind: Format

    @cached_property
    def members(self) -> list[Member]:
        """Its arrays, described from the header; raises BadInput or MissingPackage as ``members_of``."""
        return members_of(self.path, self.kind)

    def refuse_key(self, key: str | None, field: Field) -> None:
        """Refuse the name of an array for a file that holds one without a name; raises UsageError."""
        if self.kind.single and key is not None:
            what = (
                f"an {self.kind.suffix} file holds a single array without a name, so {spell(field.flag)} has no meaning"
            )
            raise UsageError(what, where=self.path, fix="leave it out")

    def only(self, matrices: Sequence[Member], field: Field, fix: str | None = None) -> Member:
        """The only one of some arrays; raises BadInput where there is none, or several."""
        if len(matrices) == 1:
            return matrices[0]
        named = f" with {spell(field.flag, 'KEY')}" if field.flag else f" {field.names[0]}"
        fix = fix or f"name the array{named}"
        what = f"has no {field.words} under a known name; it holds {describe(self.members)}"
        raise BadInput(what, where=self.path, fix=fix)


def opened(path: Path) -> ArrayFile:
    """The file or folder at a path; raises BadInput as ``sniff``."""
    return ArrayFile(path, sniff(path))


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


def read_array(
    path: Path,
    field: Field,
    fix: str = "",
    *,
    key: str | None = None,
    matrix: bool = True,
    load: Callable[[Member, Path], Array] | None = None,
    ids: Ids3 = ((IMAGE_IDS,), (TEXT_IDS,), ()),
) -> RawArray:
    """The array of a file that the user has named, that has a usual name, or that is the only one it can be.

    Args:
        path: a file of any format that holds arrays.
        field: what the array holds, and its usual names.
        fix: how to save such a file, for errors.
        key: the name that the user gave.
        matrix: the array has two dimensions; else any number, and without a usual name two or more.
        load: reads the array; by default ``floats``.
        ids: the usual names of its ids, see ``OF_BOTH``.

    Raises:
        BadInput: another kind of file, damaged, of another type or shape, or several arrays that it may be.
        UsageError: ``key`` for a file of one array without a name.
        MissingPackage: the package that reads this format is not installed.
    """
    file = opened(path)
    expect(path, file.kind, file.kind.arrays is not None, f"a file of {field.words}", fix or f"give {array_suffixes()}")
    file.refuse_key(key, field)
    chosen = file.members[0] if file.kind.single else pick(file.members, field, path, key)
    notes: tuple[str, ...] = ()
    if chosen is None:
        several = [m for m in file.members if len(m.shape) == 2 or (len(m.shape) > 2 and not matrix)]
        chosen = file.only(several, field)
        notes = (f"{field.words} are read from '{chosen.name}'" + ", the only two-dimensional array" * matrix,)
    if matrix:
        check_matrix(chosen, field, path, fix or "save one vector a row")
    return stored(file, [chosen], ids, load, notes)


def stored(
    file: ArrayFile,
    arrays: Sequence[Member],
    ids: Ids3 = OF_BOTH,
    load: Callable[[Member, Path], Array] | None = None,
    notes: tuple[str, ...] = (),
    captions: bool = False,
) -> RawArray:
    """The first of some arrays of a file, and what the file says about its rows.

    Args:
        file: one of arrays.
        arrays: those that will be loaded; the size of all is checked.
        ids: the usual names of the ids; of several fields the first that the file has is taken.
        load: reads the array; by default ``floats``.
        notes: on the choice of the array.
        captions: also the captions, if there are any, and a note on arrays that are not used.

    Raises:
        BadInput: they do not fit into memory, or cannot be read.
    """
    path, members = file.path, [] if file.kind.single else file.members
    found = [
        next((m for field in fields if (m := pick(members, field, path, beside=arrays[0]))), None) for fields in ids
    ]
    strings = pick_strings(members, CAPTIONS) if captions else None
    used = [*arrays, *(m for m in (*found, strings) if m is not None)]
    check_size(used, path)
    rest = [m for m in members if not any(m is u for u in used)]
    if captions and rest:
        notes = (*notes, f"ignored arrays: {describe(rest)}")
    owners = "" if found[2] is None else found[2].base
    holds: Holds = (
        "rows" if owners in OWNER_ROWS else "ids" if owners in (*OWNER_IDS, *IMAGE_IDS.names) else "rows or ids"
    )
    image_ids, text_ids, image_of_text = (ids_of(m, path) for m in found)
    return RawArray(
        (load or floats)(arrays[0], path), image_ids, text_ids, image_of_text, file.kind.name, (path,), notes, holds,
        None if strings is None else as_strings(strings.load(), strings.name, path),
    )  # fmt: skip


def check_matrix(member: Member, field: Field, path: Path, fix: str) -> None:
    """Refuse an array that has another number of dimensions than two; raises BadInput."""
    if len(member.shape) != 2:
        what = f"array '{member.name}' has shape {member.shape}; {field.words} are two-dimensional"
        raise BadInput(what, where=path, fix=fix)


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
