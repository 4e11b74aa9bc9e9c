"""Image vectors in one file and text vectors in another, in any format; and whether a file has both.

A file has both sides when arrays in it have the usual names of image and of text vectors, or the rows of a table both
modalities. A single array, an archive with one matrix and a table of one modality have one side; they come in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import BadInput, UsageError
from .formats.aliases import (
    CAPTIONS,
    FLOATS,
    IMAGE_IDS,
    IMAGE_OF_TEXT,
    IMAGES,
    OWNER_IDS,
    OWNER_ROWS,
    TEXT_IDS,
    TEXTS,
    Field,
    describe,
    pick,
    pick_strings,
)
from .formats.guard import check_size
from .formats.ids import as_strings
from .formats.members import floats, ids_of, members_of
from .formats.raw import Holds, Member, RawEmbeddings, RawSide
from .formats.sniff import expect, sniff

_BARE_IDS = Field("ids", ("ids", "id", "keys"))  # in a file of one side


def holds_both(path: Path, image_key: str | None = None, text_key: str | None = None) -> bool:
    """Whether a file has image and text vectors; also True for a file that is no file of embeddings at all.

    Args:
        path: the file or folder; only names, shapes and modalities are read.
        image_key, text_key: names that the user gave to the arrays of the file.

    Raises:
        BadInput: missing or damaged.
        MissingPackage: the package that reads its format is not installed.
    """
    kind = sniff(path)
    if kind.single:
        return False
    if kind.sides is not None:
        kind.require(path)
        return len(kind.sides(path)) > 1
    if not kind.keyed:
        return True
    members = members_of(path, kind)
    names = {member.name for member in members} | {member.base for member in members}
    given = [key for key in (image_key, text_key) if key is not None]
    if len(given) == 2:
        return names.issuperset(given)
    found = [any(m.base in field.names and _is_matrix(m) for m in members) for field in (IMAGES, TEXTS)]
    return all(found) or (not any(found) and sum(map(_is_matrix, members)) != 1)


def group(files: Sequence[tuple[str | None, Path]]) -> list[tuple[str | None, Path, Path | None]]:
    """Files as systems: (name, file, None) of a file with both sides, (name, images, texts) of two with one each.

    Args:
        files: with the name of the system, if one was given.

    Raises:
        BadInput: a file of one side has no other of one side behind it; or as ``holds_both``.
    """
    systems: list[tuple[str | None, Path, Path | None]] = []
    left = list(files)
    while left:
        name, path = left.pop(0)
        if holds_both(path):
            systems.append((name, path, None))
            continue
        if not left or left[0][0] is not None or holds_both(left[0][1]):
            raise BadInput(
                "holds one side only, and no file of the other side is behind it", where=path,
                fix="give the images and then the texts of a system, or files that hold both",
            )  # fmt: skip
        systems.append((name, path, left.pop(0)[1]))
    return systems


def read_pair(images: Path, texts: Path, image_key: str | None = None, text_key: str | None = None) -> RawEmbeddings:
    """The vectors of two files, one of the images and one of the texts, of any formats.

    Args:
        images, texts: the files.
        image_key, text_key: the names of the arrays, where they are not the usual ones or the only matrix.

    Raises:
        BadInput: a file is not readable, holds the other side, or it is not clear which array is meant.
        UsageError: the first file holds both sides.
        MissingPackage: the package that reads a format is not installed.
    """
    for path, key in ((images, image_key), (texts, text_key)):
        kind = sniff(path)
        expect(path, kind, kind.arrays is not None or kind.side is not None, "a file of vectors", "save a matrix")
        if key is None and holds_both(path):
            what = "holds image and text vectors, so it is no file of one side"
            raise UsageError(what, where=path, fix="give it alone, or two files that hold one side each")
    image, text = _side(images, "image", image_key), _side(texts, "text", text_key)
    formats = " + ".join(dict.fromkeys(sniff(path).name for path in (images, texts)))
    return RawEmbeddings(
        image.vectors, text.vectors, image.ids, text.ids, text.image_of_text, f"{formats} pair", (images, texts),
        (*image.notes, *text.notes), text.holds, text.captions,
    )  # fmt: skip


def without_texts(path: Path) -> BadInput:
    """The error for an array of image vectors that is given alone."""
    (images,) = members_of(path, sniff(path))
    shape = images.shape
    if len(shape) == 2 and shape[0] and shape[1] == 5 * shape[0]:
        what = f"holds one array {shape}, five columns a row: this looks like a score matrix"
        return BadInput(what, where=path, fix="give it with --scores, or the file of the texts behind it")
    what = f"holds one array {shape}; the text vectors are missing"
    return BadInput(what, where=path, fix="give the file of the texts behind it: vsebench eval images.npy texts.npy")


def _side(path: Path, side: str, key: str | None) -> RawSide:
    kind = sniff(path)
    if kind.side is not None:
        kind.require(path)
        stated = kind.sides(path) if kind.sides is not None else frozenset()
        if stated and side not in stated:
            raise _exchanged(path, f"rows of modality '{next(iter(stated))}'", side)
        return kind.side(path, side, *([] if key is None else [key]))
    members = members_of(path, kind)
    if kind.single:
        if key is not None:
            what = "an .npy file holds a single array without a name; --image-key and --text-key have no meaning"
            raise UsageError(what, where=path, fix="leave the key out")
        return RawSide(floats(members[0], path), None)
    matrix = _matrix(members, side, key, path)
    own_ids, other_ids = (IMAGE_IDS, TEXT_IDS) if side == "image" else (TEXT_IDS, IMAGE_IDS)
    ids = pick(members, own_ids, path, beside=matrix) or pick(members, _BARE_IDS, path, beside=matrix)
    owners, captions = None, None
    if side == "text":
        # The image ids of a file of texts are those of the images they belong to.
        owners = pick(members, IMAGE_OF_TEXT, path, beside=matrix) or pick(members, other_ids, path, beside=matrix)
        captions = pick_strings(members, CAPTIONS)
    used = [m for m in (matrix, ids, owners, captions) if m is not None]
    check_size(used, path)
    rest = [m for m in members if not any(m is u for u in used)]
    name = "" if owners is None else owners.base
    of_ids = (*OWNER_IDS, *IMAGE_IDS.names)
    holds: Holds = "rows" if name in OWNER_ROWS else "ids" if name in of_ids else "rows or ids"
    return RawSide(
        floats(matrix, path), ids_of(ids, path), ids_of(owners, path),
        None if captions is None else as_strings(captions.load(), captions.name, path), holds,
        (f"ignored arrays: {describe(rest)}",) if rest else (),
    )  # fmt: skip


def _matrix(members: list[Member], side: str, key: str | None, path: Path) -> Member:
    """The array of vectors: as named by the user, of a usual name, or the only matrix."""
    field, other = (IMAGES, TEXTS) if side == "image" else (TEXTS, IMAGES)
    matrices = [m for m in members if _is_matrix(m)]
    found = pick(matrices if key is None else members, field, path, key)
    if found is not None:
        return found
    wrong = [m for m in matrices if m.base in other.names]
    if wrong:
        raise _exchanged(path, f"{other.words} ('{wrong[0].name}')", side)
    if len(matrices) != 1:
        what = f"has no {field.words} under a known name; it holds {describe(members)}"
        raise BadInput(what, where=path, fix=f"name them with {field.flag} KEY")
    return matrices[0]


def _exchanged(path: Path, what: str, side: str) -> BadInput:
    place = "first" if side == "image" else "second"
    return BadInput(
        f"holds {what}, and is the {place} of two files", where=path,
        fix="give the file of the images first and that of the texts second",
    )  # fmt: skip


def _is_matrix(member: Member) -> bool:
    return len(member.shape) == 2 and member.dtype in FLOATS
