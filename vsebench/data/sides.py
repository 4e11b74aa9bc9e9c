"""Image vectors in one file and text vectors in another, in any format; and whether a file has both.

A file has both sides when arrays in it have the usual names of image and of text vectors, or the rows of a table both
modalities. A single array, an archive with one matrix and a table of one modality have one side; they come in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import BadInput, UsageError
from ..options import spell
from .formats.aliases import FLOATS, IMAGE_IDS, IMAGE_OF_TEXT, IMAGES, TEXT_IDS, TEXTS, Field, pick
from .formats.members import ArrayFile, Ids3, opened, stored
from .formats.raw import Member, RawArray, RawEmbeddings
from .formats.sniff import expect

_BARE_IDS = Field("ids", ("ids", "id", "keys"))  # in a file of one side
# The image ids of a file of texts are those of the images they belong to.
_IDS: dict[str, Ids3] = {
    "image": ((IMAGE_IDS, _BARE_IDS), (), ()),
    "text": ((), (TEXT_IDS, _BARE_IDS), (IMAGE_OF_TEXT, IMAGE_IDS)),
}


def holds_both(file: ArrayFile) -> bool:
    """Whether a file has image and text vectors; also True for a file that is no file of embeddings at all.

    Args:
        file: the file or folder; only names, shapes and modalities are read.

    Raises:
        BadInput: missing or damaged.
        MissingPackage: the package that reads its format is not installed.
    """
    kind = file.kind
    if kind.single:
        return False
    if kind.sides is not None:
        kind.require(file.path)
        return len(kind.sides(file.path)) > 1
    if not kind.keyed:
        return True
    found = [any(m.base in field.names for m in _matrices(file)) for field in (IMAGES, TEXTS)]
    return all(found) or (not any(found) and len(_matrices(file)) != 1)


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
        if holds_both(opened(path)):
            systems.append((name, path, None))
            continue
        if not left or left[0][0] is not None or holds_both(opened(left[0][1])):
            raise BadInput(
                "holds one side only, and no file of the other side is behind it", where=path,
                fix="give the images and then the texts of a system, or files that hold both",
            )  # fmt: skip
        systems.append((name, path, left.pop(0)[1]))
    return systems


def read_pair(
    images: ArrayFile, texts: ArrayFile, image_key: str | None = None, text_key: str | None = None
) -> RawEmbeddings:
    """The vectors of two files, one of the images and one of the texts, of any formats.

    Args:
        images, texts: the files.
        image_key, text_key: the names of the arrays, where they are not the usual ones or the only matrix.

    Raises:
        BadInput: a file is not readable, holds the other side, or it is not clear which array is meant.
        UsageError: the first file holds both sides.
        MissingPackage: the package that reads a format is not installed.
    """
    for file, key in ((images, image_key), (texts, text_key)):
        kind = file.kind
        expect(file.path, kind, kind.arrays is not None or kind.side is not None, "a file of vectors", "save a matrix")
        if key is None and holds_both(file):
            what = "holds image and text vectors, so it is no file of one side"
            raise UsageError(what, where=file.path, fix="give it alone, or two files that hold one side each")
    image, text = _side(images, "image", image_key), _side(texts, "text", text_key)
    formats = " + ".join(dict.fromkeys((images.kind.name, texts.kind.name)))
    return RawEmbeddings(
        image.values, text.values, image.image_ids, text.text_ids, text.image_of_text, f"{formats} pair",
        (images.path, texts.path), (*image.notes, *text.notes), text.holds, text.captions,
    )  # fmt: skip


def without_texts(file: ArrayFile) -> BadInput:
    """The error for an array of image vectors that is given alone."""
    shape = file.members[0].shape
    if len(shape) == 2 and shape[0] and shape[1] == 5 * shape[0]:
        what = f"holds one array {shape}, five columns a row: this looks like a score matrix"
        return BadInput(
            what, where=file.path, fix=f"give it with {spell('scores')}, or the file of the texts behind it"
        )
    what = f"holds one array {shape}; the text vectors are missing"
    fix = "give the file of the texts behind it: vsebench eval images.npy texts.npy"
    return BadInput(what, where=file.path, fix=fix)


def _side(file: ArrayFile, side: str, key: str | None) -> RawArray:
    path, kind = file.path, file.kind
    if kind.side is not None:
        kind.require(path)
        stated = kind.sides(path) if kind.sides is not None else frozenset()
        if stated and side not in stated:
            raise _exchanged(path, f"rows of modality '{next(iter(stated))}'", side)
        return kind.side(path, side, *([] if key is None else [key]))
    return stored(file, [_matrix(file, side, key)], _IDS[side], captions=True)


def _matrix(file: ArrayFile, side: str, key: str | None) -> Member:
    """The array of vectors: as named by the user, of a usual name, or the only matrix."""
    field, other = (IMAGES, TEXTS) if side == "image" else (TEXTS, IMAGES)
    file.refuse_key(key, field)
    if file.kind.single:
        return file.members[0]
    matrices = _matrices(file)
    found = pick(matrices if key is None else file.members, field, file.path, key)
    if found is not None:
        return found
    wrong = [m for m in matrices if m.base in other.names]
    if wrong:
        raise _exchanged(file.path, f"{other.words} ('{wrong[0].name}')", side)
    return file.only(matrices, field)


def _exchanged(path: Path, what: str, side: str) -> BadInput:
    place = "first" if side == "image" else "second"
    return BadInput(
        f"holds {what}, and is the {place} of two files", where=path,
        fix="give the file of the images first and that of the texts second",
    )  # fmt: skip


def _matrices(file: ArrayFile) -> list[Member]:
    return [m for m in file.members if len(m.shape) == 2 and m.dtype in FLOATS]
