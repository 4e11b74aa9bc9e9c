"""Reads embeddings and score matrices of any format into arrays as the file stores them.

A file has both sides when arrays in it have the usual names of image and of text vectors, or the rows of a table both
modalities. A single array, an archive with one matrix and a table of one modality have one side; they come in pairs.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError
from ..log import note
from ..memory import require
from ..options import spell
from ..signature import encoder_field
from ..types import QUERIES, Ids
from .arrow_tables import SHARD, has_vectors
from .formats import FORMATS, expect, suffixes
from .ids import as_ids, as_strings
from .members import (
    CAPTIONS,
    CORPUS_IDS,
    IDS,
    IMAGE_IDS,
    IMAGE_OF_TEXT,
    IMAGE_TEXT_SIDES,
    IMAGES,
    QUERY_CORPUS_SIDES,
    QUERY_IDS,
    SCORES,
    TEXT_IDS,
    TEXTS,
    ArrayFile,
    Field,
    describe,
    floats,
    ids_beside,
    ids_of,
    names_beside,
    no_floats,
    opened,
    pick,
    pick_strings,
    read_array,
    stored,
)
from .raw import FLOATS, Member, Raw
from .regular import expanded
from .textfile import parse_json, read_text, text_lines

StrPath = str | os.PathLike[str]

ENCODER = "encoder"  # the array in which ``vsebench encode`` describes its model, as JSON
_BARE_IDS = Field("ids", ("ids", "id", "keys"))  # in a file of one side
Sides = tuple[tuple[Field, Field, str], tuple[Field, Field, str]]
_MASK = re.compile(r"(?<!image_)masks?$|^(valid|exists)$")
_COUNTS = ("lengths", "caption_lengths", "num_captions", "n_captions", "caption_counts", "counts")
# The image ids of a file of texts are those of the images they belong to.
_OWNERS: dict[Sides, tuple[Field, ...]] = {IMAGE_TEXT_SIDES: (IMAGE_OF_TEXT, IMAGE_IDS), QUERY_CORPUS_SIDES: ()}
_NAMES = {IMAGE_TEXT_SIDES: ("image", "text"), QUERY_CORPUS_SIDES: QUERIES}


def _vectors_as_text() -> str:
    return f"save vectors as {suffixes([kind for kind in FORMATS.values() if kind.holds])}, such as np.savez(...)"


def read_embeddings(
    path: StrPath, *, texts: StrPath | None = None, image_key: str | None = None, text_key: str | None = None
) -> Raw:
    """Embeddings of images and texts from a file, a pair of files, or a clip-retrieval folder.

    Args:
        path: a file of any format of ``FORMATS`` that holds embeddings, a folder of shards, or a file of image vectors
            alone.
        texts: the file of the text vectors, if ``path`` has image vectors only.
        image_key: name of the array of image vectors, when it is not one of the known names.
        text_key: likewise for the text vectors.

    Raises:
        BadInput: the file is not readable, in another format, or does not hold the vectors of both modalities.
        UsageError: an argument does not fit the format of the file.
        MissingPackage: the package that reads this format is not installed.
    """
    file = opened(Path(path))
    if texts is not None:
        return read_pair(file, opened(Path(texts)), image_key, text_key)
    if file.kind.single:
        raise _without_texts(file)
    fix = f"{_vectors_as_text()}; give retrieved lists with {spell('run')}, and saved reports to vsebench compare"
    expect(file.path, file.kind, file.kind.keyed, "a file of embeddings", fix)
    if file.kind.table:  # a column has the vectors of both
        image_key, text_key = image_key or text_key, text_key or image_key
    return _keyed(file, image_key, text_key)


def read_scores(path: StrPath, *, key: str | None = None) -> Raw:
    """A score matrix, one row an image and one column a text.

    Args:
        path: a file of any format of ``FORMATS`` that holds arrays.
        key: name of the array; by default a known name, or else the only two-dimensional array.

    Raises:
        BadInput: the file is not readable, or it is not clear which array holds the scores.
        UsageError: ``key`` was given for a file that holds a single array.
        MissingPackage: the package that reads this format is not installed.
    """
    fix = (
        "save it with np.save, one row per image and one column per text; retrieved lists are given with "
        f"{spell('run')}"
    )
    file = opened(Path(path))
    named = {m.base for m in file.members} if file.kind.arrays is not None else set()
    of_queries = any(named & {*field.names} for field in (QUERY_IDS, CORPUS_IDS))
    sides = (
        IMAGE_TEXT_SIDES
        if any(named & {*field.names} for field in (IMAGE_IDS, TEXT_IDS)) or not of_queries
        else QUERY_CORPUS_SIDES
    )
    ids = (sides[0][1:2], sides[1][1:2], _OWNERS[sides][:1])
    return replace(read_array(Path(path), SCORES, fix, key=key, ids=ids, captions=True), sides=_NAMES[sides])


def read_captions(path: StrPath) -> tuple[Ids | None, tuple[str, ...]] | None:
    """The text ids, if there are any, and the captions in a file of embeddings, in the order of its text rows.

    Returns None for a file that is not of a format of embeddings: the reader of texts says what it is.

    Raises:
        BadInput: the file is damaged, or of such a format and without captions.
        MissingPackage: the package that reads its format is not installed.
    """
    path = Path(path)
    try:
        file = opened(path)
    except BadInput:
        return None
    if path.is_dir() or not file.kind.keyed:
        return None
    if file.kind in (FORMATS["parquet"], FORMATS["arrow"]):
        file.kind.require(path)
        if not has_vectors(path):
            return None
    captions = pick_strings(file.members, CAPTIONS)
    if captions is None:
        fix = f"save them under the name {CAPTIONS.names[0]} as np.array([...]), or give a file of captions"
        raise BadInput(f"is {file.kind.words} without captions (an array of strings)", where=path, fix=fix)
    named = pick(file.members, TEXT_IDS, path) or pick(file.members, _BARE_IDS, path)
    named = named if named is not None and named.size == captions.size else None
    require(sum(m.nbytes for m in (captions, named) if m is not None), path)
    return ids_of(named, path), as_strings(captions.load(), captions.name, path)


def read_ids(path: StrPath) -> Ids:
    """Ids of rows: the only array of a file, a JSON list, or a text with one a line.

    Raises:
        BadInput: missing, damaged, several arrays, or no ids.
        MissingPackage: the package that reads its format is not installed.
    """
    path = Path(path)
    file = opened(path)
    if file.kind.arrays is not None:
        listed = [m for m in file.members if 1 in (len(m.shape), *m.shape)]
        return as_ids(file.only(listed, _BARE_IDS).load(), "ids", path)
    text = read_text(path, "ids")
    found = parse_json(text, path) if text.lstrip().startswith(("[", "{")) else [x.strip() for x in text_lines(text)]
    if not isinstance(found, list) or len({*map(type, found)} - {int, str}) > 0:
        raise BadInput("is not a list of ids", where=path, fix="write a JSON list of ids, or one id per line")
    return as_ids(np.array(found), "ids", path)


def _keyed(file: ArrayFile, image_key: str | None, text_key: str | None) -> Raw:
    path, members = file.path, file.members
    (first, ids_of_first, one), (second, ids_of_second, other) = sides = _sides(members, image_key, text_key)
    images = pick(members, first, path, image_key)
    texts = pick(members, second, path, text_key, beside=images)
    if images is None or texts is None:
        raise _not_found(file, images, texts)
    if images is texts:
        raise UsageError(
            f"{spell('image_key')} and {spell('text_key')} are both '{images.name}'", where=path, fix="give two arrays"
        )
    _refuse_mask(members, images, texts, path)
    described = _encoder(members)
    common, ids, named_sides = pick(members, _BARE_IDS, path), list[Sequence[Field]](), list[str]()
    for array, field, side in ((images, ids_of_first, one), (texts, ids_of_second, other)):
        fields: Sequence[Field] = ids_beside(array, field)
        known = any(pick(members, one, path, beside=images) for one in fields)
        if common is not None and (common.size,) == array.shape[:1] and not known:
            fields, named_sides = (_BARE_IDS,), [*named_sides, side]
        elif not known:
            fields = names_beside(array, members, field)
        ids.append(fields)
    if common is not None and named_sides:
        note(f"'{common.name}' holds the ids of the {' and '.join(named_sides)}", weight="detail")
    raw = stored(file, [images, texts, *described], (ids[0], ids[1], _OWNERS[sides][:1]), captions=True)
    encoder = _encoded_by(described[0]) if described else ""
    return replace(raw, arrays=(raw.values, floats(texts, path)), encoder=encoder, sides=_NAMES[sides])


def _sides(members: Sequence[Member], image_key: str | None, text_key: str | None) -> Sides:
    """The sides of the rows: queries and a corpus if arrays have both names and none has the name of images."""
    named = {m.base for m in members if len(m.shape) > 1 and m.dtype in FLOATS}
    keys = zip(QUERY_CORPUS_SIDES, (image_key, text_key), strict=True)
    fits = all(named & {*field.names} and key in (None, *field.names) for (field, *_), key in keys)
    return QUERY_CORPUS_SIDES if fits and not named & {*IMAGES.names} else IMAGE_TEXT_SIDES


def _refuse_mask(members: Sequence[Member], images: Member, texts: Member, path: Path) -> None:
    """Refuse texts beside an array that tells captions from padding: its values have no common meaning."""
    n, rows, name = (images.shape or (0,))[0], texts.shape[:-1], texts.base
    for m in members:
        mask = _MASK.search(m.base) is not None and m.size == math.prod(rows)
        if not (mask or (m.base in _COUNTS and len(rows) > 1 and m.shape == rows[:1])):
            continue
        values = m.load()
        if (values == (values.flat[0] if mask else rows[1])).all():
            continue
        keep = f"{m.base}.ravel() > 0" if mask else f"(np.arange({rows[1]}) < {m.base}[:, None]).ravel()"
        owner = f"np.repeat(np.arange({n}), {math.prod(rows) // max(n, 1)})"
        owner = next((one.base for one in members if one.base in IMAGE_OF_TEXT.names and one.shape == rows), owner)
        fix = f"save the captions alone, without {m.base}: keep = {keep} (true for a caption); {name} = "
        fix += f"{name}.reshape(-1, {texts.shape[-1]})[keep]; image_of_text = {owner}[keep]"
        raise BadInput(f"texts {texts.shape} are padded, by '{m.name}' {m.shape}", where=path, fix=fix)


def _not_found(file: ArrayFile, images: Member | None, texts: Member | None) -> BadInput:
    if len(file.members) == 1 and file.members[0].dtype in ("object", "structured"):
        return no_floats(file.members[0], file.path)
    missing = [field for field, member in ((IMAGES, images), (TEXTS, texts)) if member is None]
    words = " and no ".join(field.words for field in missing)
    flags = " and ".join(spell(field.flag, "KEY") for field in missing)
    fix = "add the column modality, image or text, or " * file.kind.table + f"name them with {flags}"
    if texts is None and not holds_both(file):
        fix += ", or give the file of the text vectors after the file of the image vectors"
    if any(m.base in field.names for m in file.members for field, *_ in QUERY_CORPUS_SIDES):
        fix += ", or save queries as query_embeddings and their corpus as corpus_embeddings"
    if any(m.base in SCORES.names for m in file.members) and len(missing) == 2:
        fix = f"give a score matrix with {spell('scores')}, or {fix}"
    what = f"has no {words} under a known name; it holds {describe(file.members)}"
    return BadInput(what, where=file.path, fix=fix)


def _encoder(members: Sequence[Member]) -> list[Member]:
    """The model of the vectors as stored by ``vsebench encode``, if it is stored."""
    found = (m for m in members if m.name == ENCODER and m.dtype == "str" and m.shape == () and m.nbytes < 1 << 20)
    return list(found)[:1]


def _encoded_by(member: Member) -> str:
    """The choices of the model for a signature, with a note on it; empty if ``vsebench encode`` did not write it."""
    try:
        about = json.loads(str(member.load()))
        model = f"encoded by {about['model']} (weights {about['weights_sha256']}, {about['library']})"[:300]
        choices = encoder_field(dict(about.get("choices", {})))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    note(model)
    return choices


def holds_both(file: ArrayFile) -> bool:
    """Whether a file has image and text vectors; also True for a file of another kind.

    Args:
        file: the file or folder; only names, shapes and modalities are read.

    Raises:
        BadInput: missing or damaged.
        MissingPackage: the package that reads its format is not installed.
    """
    if not file.kind.keyed:
        return not file.kind.single
    named = [m.base for m in file.members if len(m.shape) > 1 and m.dtype in FLOATS]
    found = [any(name in field.names for name in named) for field, *_ in _sides(file.members, None, None)]
    return all(found) or (not any(found) and len(_matrices(file)) != 1)


def group(
    files: Sequence[tuple[str | None, Path]], alone: Callable[[Path], bool] = lambda path: False
) -> list[tuple[str | None, Path, Path | None]]:
    """Files as systems: (name, file, None) of a file with both sides, (name, images, texts) of two with one each.

    Args:
        files: with the name of the system, if one was given.
        alone: whether a file is a system for another reason than having both sides.

    Raises:
        BadInput: a file of one side has no other of one side behind it; shards of a table; or as ``holds_both``.
    """
    shards = [path for _, path in files if SHARD.fullmatch(path.name)]
    if len(shards) > 1 and len({path.parent for path in shards}) == 1:
        what = f"is one of {len(shards):,} shards of a table, not a system"
        raise BadInput(what, where=shards[0], fix=f"give their folder: {shards[0].parent}{os.sep}")
    systems: list[tuple[str | None, Path, Path | None]] = []
    left = list(files)
    while left:
        name, path = left.pop(0)
        if alone(path) or holds_both(opened(path)):
            systems.append((name, path, None))
            continue
        if not left or left[0][0] is not None or alone(left[0][1]) or holds_both(opened(left[0][1])):
            raise BadInput(
                "holds only one side, and no file of the other side follows it", where=path,
                fix="give the images and then the texts of a system, or files that hold both",
            )  # fmt: skip
        systems.append((name, path, left.pop(0)[1]))
    return systems


def read_pair(images: ArrayFile, texts: ArrayFile, image_key: str | None = None, text_key: str | None = None) -> Raw:
    """The vectors of two files, one of the images and one of the texts, of any formats.

    Args:
        images, texts: the files.
        image_key, text_key: the names of the arrays, if they are not the usual ones or the only matrix.

    Raises:
        BadInput: a file is not readable, holds the other side, or it is not clear which array is meant.
        UsageError: the first file holds both sides.
        MissingPackage: the package that reads a format is not installed.
    """
    for file, key in ((images, image_key), (texts, text_key)):
        expect(file.path, file.kind, file.kind.arrays is not None, "a file of vectors", "save a matrix")
        if key is None and holds_both(file):
            what = "holds image and text vectors, so it is not a file of one side"
            raise UsageError(what, where=file.path, fix="give only this file, or two files with one side each")
    sides = _sides([*images.members, *texts.members], image_key, text_key)
    one, other = _matrix(images, sides, image_key), _matrix(texts, sides[::-1], text_key)
    image_ids, text_ids = (
        (ids, _BARE_IDS, *names_beside(member, file.members, ids))
        for (_, ids, _), member, file in zip(sides, (one, other), (images, texts), strict=True)
    )
    image = stored(images, [one], (image_ids, (), ()), captions=True)
    text = stored(texts, [other], ((), text_ids, _OWNERS[sides]), captions=True)
    formats = " + ".join(dict.fromkeys((images.kind.name, texts.kind.name)))
    return replace(
        text, arrays=(image.values, text.values), image_ids=image.image_ids, format=f"{formats} pair",
        sources=(*image.sources, *text.sources), sides=_NAMES[sides],
    )  # fmt: skip


def _without_texts(file: ArrayFile) -> BadInput:
    """The error for an array of image vectors that is given alone."""
    what = f"holds one array {file.members[0].shape}; the text vectors are missing"
    fix = "give the file of the texts after it: vsebench eval images.npy texts.npy"
    fix += f"; or give it with {spell('scores')} if it is a score matrix"
    return BadInput(what, where=file.path, fix=fix)


def _matrix(file: ArrayFile, sides: Sides, key: str | None) -> Member:
    """The vectors of the first of two sides: the array chosen by the user, of a usual name, or the only matrix."""
    (field, *_), (other, *_) = sides
    file.refuse_key(key, field)
    if file.kind.single:
        return file.members[0]
    matrices = _matrices(file)
    found = pick(matrices if key is None else file.members, field, file.path, key)
    if found is not None:
        return found
    wrong = [m for m in matrices if m.base in other.names]
    if wrong:
        ordered = sides if sides in _NAMES else sides[::-1]
        place = "first" if sides is ordered else "second"
        what = f"holds {other.words} ('{wrong[0].name}'), and is the {place} of two files"
        fix = f"give the file of the {ordered[0][2]} first and the file of the {ordered[1][2]} second"
        raise BadInput(what, where=file.path, fix=fix)
    return file.only(matrices, field)


def _matrices(file: ArrayFile) -> list[Member]:
    return [m for m in file.members if len(m.shape) == 2 and m.dtype in FLOATS and m.base not in IDS]


def read_vectors(path: StrPath, key: str | None = None) -> tuple[np.ndarray, Ids | None]:
    """The vectors of the images in a file of any format, and the ids of its rows.

    Args:
        path: .npy, .npz, safetensors, torch or HDF5.
        key: the name of the array, if it has no usual name and is not the only one.

    Returns:
        (row, width) numbers in the type of the file, and (row,) ids, which may repeat, or None without ids.

    Raises:
        BadInput: unreadable, another kind of file, or not as many ids as rows.
        UsageError: ``key`` for a file of one array without a name.
        MissingPackage: the package that reads this format is not installed.
    """
    names = ("embeddings", "embeds", "embs", "features", "vectors")
    field = Field(IMAGES.words, (*IMAGES.names, *names), "key")
    ids = Field(IMAGE_IDS.words, (*IMAGE_IDS.names, *_BARE_IDS.names, "item_ids"))
    raw = read_array(expanded(path), field, key=key, ids=((ids,), (), ()))
    if raw.image_ids is not None and len(raw.image_ids) != len(raw.values):
        what = f"holds {len(raw.image_ids):,} ids for {len(raw.values):,} rows"
        raise BadInput(what, where=path, fix="save one id per row")
    return raw.values, raw.image_ids
