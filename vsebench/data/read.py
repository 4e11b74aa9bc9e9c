"""Reads embeddings and score matrices of any format into arrays as the file stores them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import BadInput, UsageError
from ..options import spell
from ..types import Ids
from . import sides
from .formats.aliases import (
    CAPTIONS,
    IMAGE_IDS,
    IMAGE_OF_TEXT,
    IMAGES,
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
from .formats.members import ArrayFile, check_matrix, floats, ids_of, opened, stored
from .formats.raw import Member, RawArray, RawEmbeddings
from .formats.sniff import expect
from .formats.table import FORMATS, suffixes

StrPath = str | os.PathLike[str]

ENCODER = "encoder"  # the array in which ``vsebench encode`` describes its model, as JSON


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
    file = opened(path)
    kind = file.kind
    if texts is not None:
        return sides.read_pair(file, opened(Path(texts)), image_key, text_key)
    if kind.sides is None and not kind.keyed and (image_key or text_key):
        raise UsageError(
            f"{spell('image_key')} and {spell('text_key')} name arrays inside a file", where=path, fix="leave them out"
        )
    if kind.single:
        raise sides.without_texts(file)
    if kind.embeddings is not None:
        kind.require(path)
        return kind.embeddings(path, *_column_of_vectors(path, image_key, text_key))
    fix = f"{_vectors_as_text()}; give retrieved lists with {spell('run')}, and saved reports to vsebench compare"
    expect(path, kind, kind.keyed, "a file of embeddings", fix)
    return _keyed(file, image_key, text_key)


def _column_of_vectors(path: Path, image_key: str | None, text_key: str | None) -> tuple[str, ...]:
    """The column of a table that the user names for both modalities; raises UsageError for two."""
    named = {key for key in (image_key, text_key) if key is not None}
    if len(named) > 1:
        what = (
            f"{spell('image_key', image_key)} and {spell('text_key', text_key)}: a table has one column for all vectors"
        )
        raise UsageError(what, where=path, fix="name it once, or give a file of the images and one of the texts")
    return tuple(named)


def read_scores(path: StrPath, *, key: str | None = None) -> RawArray:
    """A score matrix, one row an image and one column a text.

    Args:
        path: a file of any format of ``formats.table.FORMATS`` that holds arrays.
        key: name of the array; by default a known name, or else the only two-dimensional array.

    Raises:
        BadInput: the file is not readable, or it is not clear which array holds the scores.
        UsageError: ``key`` was given for a file that holds a single array.
        MissingPackage: the package that reads this format is not installed.
    """
    file = opened(Path(path))
    fix = (
        f"save it with np.save, or give retrieved lists with {spell('run')}"
        if file.kind.name in ("json", "text")
        else "save it with np.save"
    )
    expect(file.path, file.kind, file.kind.arrays is not None, "a score matrix", fix)
    file.refuse_key(key, SCORES)
    chosen = file.members[0] if file.kind.single else pick(file.members, SCORES, file.path, key)
    notes: tuple[str, ...] = ()
    if chosen is None:
        chosen = _only_matrix(file)
        notes = (f"scores are read from '{chosen.name}', the only two-dimensional array",)
    check_matrix(chosen, SCORES, file.path, "save one row an image and one column a text")
    return stored(file, [chosen], notes=notes, captions=True)


def read_captions(path: StrPath) -> tuple[Ids | None, tuple[str, ...]] | None:
    """The text ids, if there are any, and the captions in a file of embeddings, in the order of its text rows.

    Returns None for a file that is not of a format of embeddings.

    Raises:
        BadInput: the file is damaged, or of such a format and without captions.
        MissingPackage: the package that reads its format is not installed.
    """
    file = opened(Path(path))
    path, kind = file.path, file.kind
    if kind.embeddings is not None:
        raw = read_embeddings(path)
        ids, captions = raw.text_ids, raw.captions
    elif kind.keyed:
        found, named = pick_strings(file.members, CAPTIONS), pick(file.members, TEXT_IDS, path)
        check_size([m for m in (found, named) if m is not None], path)
        ids, captions = ids_of(named, path), None if found is None else as_strings(found.load(), found.name, path)
    else:
        return None
    if captions is None:
        fix = f"save them under the name {CAPTIONS.names[0]} as np.array([...]), or give a file of captions"
        raise BadInput(f"is {kind.words} without captions (an array of strings)", where=path, fix=fix)
    return ids, captions


def _keyed(file: ArrayFile, image_key: str | None, text_key: str | None) -> RawEmbeddings:
    path, members = file.path, file.members
    images = pick(members, IMAGES, path, image_key)
    texts = pick(members, TEXTS, path, text_key, beside=images)
    if images is None or texts is None:
        raise _not_found(file, images, texts)
    if images is texts:
        raise UsageError(
            f"{spell('image_key')} and {spell('text_key')} both name '{images.name}'", where=path, fix="name two arrays"
        )
    encoder = _encoder(members)
    raw = stored(file, [images, texts, *encoder], captions=True)
    return RawEmbeddings(
        raw.values, floats(texts, path), raw.image_ids, raw.text_ids, raw.image_of_text, raw.format, raw.sources,
        (*raw.notes, *filter(None, map(_encoded_by, encoder))), raw.holds, raw.captions,
    )  # fmt: skip


def _not_found(file: ArrayFile, images: Member | None, texts: Member | None) -> BadInput:
    missing = [field for field, member in ((IMAGES, images), (TEXTS, texts)) if member is None]
    words = " and no ".join(field.words for field in missing)
    flags = " and ".join(f"{field.flag} KEY" for field in missing)
    fix = f"name them with {flags}"
    if texts is None and not sides.holds_both(file):
        fix += ", or give the file of the text vectors behind that of the images"
    if any(m.base in SCORES.names for m in file.members) and len(missing) == 2:
        fix = f"give a score matrix with {spell('scores')}, or {fix}"
    what = f"has no {words} under a known name; it holds {describe(file.members)}"
    return BadInput(what, where=file.path, fix=fix)


def _encoder(members: Sequence[Member]) -> list[Member]:
    """The string in which ``vsebench encode`` says which model the vectors are of; none where it is not there."""
    found = (m for m in members if m.name == ENCODER and m.dtype == "str" and m.shape == () and m.stored < 1 << 20)
    return list(found)[:1]


def _encoded_by(member: Member) -> str:
    """A note that names the model; empty where the string is not as ``vsebench encode`` writes it."""
    try:
        about = json.loads(str(member.load()))
        return f"encoded by {about['model']} (weights {about['weights_sha256']}, {about['library']})"[:300]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _only_matrix(file: ArrayFile) -> Member:
    known: tuple[Field, ...] = (IMAGE_IDS, TEXT_IDS, IMAGE_OF_TEXT)
    matrices = [m for m in file.members if len(m.shape) == 2 and not any(m.base in field.names for field in known)]
    if not any(m.base in (*IMAGES.names, *TEXTS.names) for m in matrices):
        return file.only(matrices, SCORES)
    name = spell("scores_key", "KEY")
    fix = f"leave out {spell('scores')} if the file holds embeddings, or name the scores with {name}"
    return file.only([], SCORES, fix)
