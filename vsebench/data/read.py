"""Reads embeddings and score matrices of any format into arrays as the file stores them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError
from ..types import Ids
from . import sides
from .formats.aliases import (
    CAPTIONS,
    IMAGE_IDS,
    IMAGE_OF_TEXT,
    IMAGES,
    OWNER_IDS,
    OWNER_ROWS,
    SCORES,
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
from .formats.raw import Holds, Member, RawEmbeddings, RawScores
from .formats.sniff import expect, sniff
from .formats.table import FORMATS, Format, suffixes

StrPath = str | os.PathLike[str]

ENCODER = "encoder"  # the array in which ``vsebench encode`` describes its model, as JSON
_RUN = "give retrieved lists with --run"


def _vectors_as_text() -> str:
    return f"save vectors as {suffixes([kind for kind in FORMATS.values() if kind.holds])}, such as np.savez(...)"


def read_embeddings(
    path: StrPath, *, texts: StrPath | None = None, image_key: str | None = None, text_key: str | None = None
) -> RawEmbeddings:
    """Embeddings of images and texts from a file, a pair of files, or a clip-retrieval folder.

    Args:
        path: a file of any format of ``formats.table.FORMATS`` that holds embeddings, a folder of shards, or a
            file of image vectors alone.
        texts: the file of the text vectors, when ``path`` has those of the images alone.
        image_key: name of the array of image vectors, when it is not one of the known names.
        text_key: likewise for the text vectors.

    Raises:
        BadInput: the file is not readable, in another format, or does not hold the vectors of both modalities.
        UsageError: an argument does not fit the format of the file.
        MissingPackage: the package that reads this format is not installed.
    """
    path = Path(path)
    kind = sniff(path)
    if texts is not None:
        return sides.read_pair(path, Path(texts), image_key, text_key)
    if kind.sides is not None and kind.embeddings is not None:
        kind.require(path)
        return kind.embeddings(path, *_column_of_vectors(path, image_key, text_key))
    if not kind.keyed and (image_key or text_key):
        raise UsageError("--image-key and --text-key name arrays inside a file", where=path, fix="leave them out")
    if kind.single:
        raise sides.without_texts(path)
    if kind.embeddings is not None:
        kind.require(path)
        return kind.embeddings(path)
    fix = f"{_vectors_as_text()}; {_RUN}, and saved reports to vsebench compare"
    expect(path, kind, kind.keyed, "a file of embeddings", fix)
    return _keyed(path, kind, image_key, text_key)


def _column_of_vectors(path: Path, image_key: str | None, text_key: str | None) -> tuple[str, ...]:
    """The column of a table that the user names for both modalities; raises UsageError for two."""
    named = {key for key in (image_key, text_key) if key is not None}
    if len(named) > 1:
        what = f"--image-key {image_key} and --text-key {text_key}: a table has one column for all vectors"
        raise UsageError(what, where=path, fix="name it once, or give a file of the images and one of the texts")
    return tuple(named)


def read_scores(path: StrPath, *, key: str | None = None) -> RawScores:
    """A score matrix, one row an image and one column a text.

    Args:
        path: a file of any format of ``formats.table.FORMATS`` that holds arrays.
        key: name of the array; by default a known name, or else the only two-dimensional array.

    Raises:
        BadInput: the file is not readable, or it is not clear which array holds the scores.
        UsageError: ``key`` was given for a file that holds a single array.
        MissingPackage: the package that reads this format is not installed.
    """
    path = Path(path)
    kind = sniff(path)
    if kind.single:
        if key is not None:
            raise UsageError("an .npy file holds a single array without a name", where=path, fix="leave the key out")
        (member,) = members_of(path, kind)
        _check_matrix(member, path)
        return RawScores(floats(member, path), None, None, None, "npy", (path,))
    fix = f"save it with np.save, or {_RUN}" if kind.name in ("json", "text") else "save it with np.save"
    expect(path, kind, kind.keyed, "a score matrix", fix)
    members = members_of(path, kind)
    chosen = pick(members, SCORES, path, key)
    notes: list[str] = []
    if chosen is None:
        chosen = _only_matrix(members, path)
        notes.append(f"scores are read from '{chosen.name}', the only two-dimensional array")
    _check_matrix(chosen, path)
    ids, holds, used = _id_fields(members, path, chosen)
    captions = pick_strings(members, CAPTIONS)
    used += [] if captions is None else [captions]
    check_size([chosen, *used], path)
    notes += _ignored(members, [chosen, *used])
    strings = None if captions is None else as_strings(captions.load(), captions.name, path)
    return RawScores(floats(chosen, path), *ids, kind.name, (path,), tuple(notes), holds, strings)


def read_captions(path: StrPath) -> tuple[Ids | None, tuple[str, ...]] | None:
    """The text ids, if there are any, and the captions in a file of embeddings, in the order of its text rows.

    Returns None for a file that is not of a format of embeddings.

    Raises:
        BadInput: the file is damaged, or of such a format and without captions.
        MissingPackage: the package that reads its format is not installed.
    """
    path = Path(path)
    kind = sniff(path)
    if kind.embeddings is not None:
        raw = read_embeddings(path)
        ids, captions = raw.text_ids, raw.captions
    elif kind.keyed:
        members = members_of(path, kind)
        found, named = pick_strings(members, CAPTIONS), pick(members, TEXT_IDS, path)
        check_size([m for m in (found, named) if m is not None], path)
        ids, captions = ids_of(named, path), None if found is None else as_strings(found.load(), found.name, path)
    else:
        return None
    if captions is None:
        fix = f"save them under the name {CAPTIONS.names[0]} as np.array([...]), or give a file of captions"
        raise BadInput(f"is {kind.words} without captions (an array of strings)", where=path, fix=fix)
    return ids, captions


def _keyed(path: Path, kind: Format, image_key: str | None, text_key: str | None) -> RawEmbeddings:
    members = members_of(path, kind)
    images = pick(members, IMAGES, path, image_key)
    texts = pick(members, TEXTS, path, text_key, beside=images)
    if images is None or texts is None:
        raise _not_found(members, images, texts, path)
    if images is texts:
        raise UsageError(f"--image-key and --text-key both name '{images.name}'", where=path, fix="name two arrays")
    ids, holds, used = _id_fields(members, path, images)
    captions = pick_strings(members, CAPTIONS)
    used += [] if captions is None else [captions]
    check_size([images, texts, *used], path)
    # Members of a zip start at any byte: numbers off their own size would be copied in every product.
    image_vectors, text_vectors = (np.require(floats(member, path), requirements="A") for member in (images, texts))
    encoder = _encoder(members)
    used += [] if encoder is None else [encoder]
    notes = (*_ignored(members, [images, texts, *used]), *_encoded_by(encoder))
    strings = None if captions is None else as_strings(captions.load(), captions.name, path)
    return RawEmbeddings(image_vectors, text_vectors, *ids, kind.name, (path,), notes, holds, strings)


def _not_found(members: Sequence[Member], images: Member | None, texts: Member | None, path: Path) -> BadInput:
    missing = [field for field, member in ((IMAGES, images), (TEXTS, texts)) if member is None]
    words = " and no ".join(field.words for field in missing)
    flags = " and ".join(f"{field.flag} KEY" for field in missing)
    fix = f"name them with {flags}"
    if texts is None and not sides.holds_both(path):
        fix += ", or give the file of the text vectors behind that of the images"
    if any(m.base in SCORES.names for m in members) and len(missing) == 2:
        fix = f"give a score matrix with --scores, or {fix}"
    return BadInput(f"has no {words} under a known name; it holds {describe(members)}", where=path, fix=fix)


def _id_fields(
    members: Sequence[Member], path: Path, beside: Member
) -> tuple[tuple[Ids | None, Ids | None, Ids | None], Holds, list[Member]]:
    found = [pick(members, field, path, beside=beside) for field in (IMAGE_IDS, TEXT_IDS, IMAGE_OF_TEXT)]
    used = [member for member in found if member is not None]
    check_size(used, path)
    image_ids, text_ids, image_of_text = (ids_of(member, path) for member in found)
    name = "" if found[2] is None else found[2].base
    holds: Holds = "rows" if name in OWNER_ROWS else "ids" if name in OWNER_IDS else "rows or ids"
    return (image_ids, text_ids, image_of_text), holds, used


def _encoder(members: Sequence[Member]) -> Member | None:
    """The string in which ``vsebench encode`` says which model the vectors are of."""
    found = (m for m in members if m.name == ENCODER and m.dtype == "str" and m.shape == () and m.stored < 1 << 20)
    return next(found, None)


def _encoded_by(member: Member | None) -> tuple[str, ...]:
    """A note that names the model; none where the string is not as ``vsebench encode`` writes it."""
    if member is None:
        return ()
    try:
        about = json.loads(str(member.load()))
        return (f"encoded by {about['model']} (weights {about['weights_sha256']}, {about['library']})"[:300],)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def _only_matrix(members: Sequence[Member], path: Path) -> Member:
    known: tuple[Field, ...] = (IMAGE_IDS, TEXT_IDS, IMAGE_OF_TEXT)
    matrices = [m for m in members if len(m.shape) == 2 and not any(m.base in field.names for field in known)]
    if len(matrices) == 1 and matrices[0].base not in (*IMAGES.names, *TEXTS.names):
        return matrices[0]
    fix = f"name it {SCORES.names[0]}, or choose an array with {SCORES.flag} KEY"
    if any(m.base in (*IMAGES.names, *TEXTS.names) for m in matrices):
        fix = f"leave out --scores if the file holds embeddings, or {fix}"
    raise BadInput(f"has no scores under a known name; it holds {describe(members)}", where=path, fix=fix)


def _check_matrix(member: Member, path: Path) -> None:
    if len(member.shape) != 2:
        what = f"array '{member.name}' has shape {member.shape}; scores are two-dimensional"
        raise BadInput(what, where=path, fix="save one row an image and one column a text")


def _ignored(members: Sequence[Member], used: Sequence[Member]) -> tuple[str, ...]:
    rest = [member for member in members if not any(member is u for u in used)]
    return (f"ignored arrays: {describe(rest)}",) if rest else ()
