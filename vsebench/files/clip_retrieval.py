"""The folder that clip-retrieval writes: shards ``img_emb/img_emb_N.npy`` and ``text_emb/text_emb_N.npy``, metadata."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ..errors import BadInput
from .arrow_tables import read_columns
from .ids import as_ids, id_array
from .npy import npy_member
from .raw import FLOATS, Array, Member, dtype_name
from .regular import check_file, reading

_LAYOUT = "give a folder with img_emb/img_emb_0.npy, ... and text_emb/text_emb_0.npy, ..."
_IMAGE_COLUMNS = ("image_id", "image_ids", "image_path", "img_path", "file_path", "file_name", "filename")
_TEXT_COLUMNS = ("caption_id", "text_id", "caption_ids", "text_ids")


def is_folder_of_shards(folder: Path) -> bool:
    """Whether a folder has the vectors of images or of texts."""
    with reading(folder, "cannot be listed", "check the permissions"):
        return any((folder / name).is_dir() for name in ("img_emb", "text_emb"))


def folder_members(folder: Path) -> list[Member]:
    """The arrays of a clip-retrieval folder; shards are concatenated in numeric order.

    Metadata (``metadata/metadata_N.parquet``) is used for ids where a column ``image_id``/``image_ids`` or
    ``caption_id``/``text_id`` exists. Its rows describe the rows of the shards: a table as long as the
    image rows gives image ids; one as long as the text rows gives text ids and the image of every text.

    Raises:
        BadInput: the images or the texts are missing, the numbering has gaps, shards differ in width, or the metadata
            fits neither of the two.
    """
    images, texts = _side(folder, "img_emb", "image_embeddings"), _side(folder, "text_emb", "text_embeddings")
    columns, files, note = _metadata(folder)
    image_of, caption = _first(columns, _IMAGE_COLUMNS), _first(columns, _TEXT_COLUMNS)
    found = [ids for ids in (image_of, caption) if ids is not None]
    n_image, n_text = images.shape[0], texts.shape[0]
    if found and len(found[0]) not in (n_image, n_text):
        what = f"metadata has {len(found[0]):,} rows for {n_image:,} image rows and {n_text:,} text rows"
        raise BadInput(what, where=folder, fix="write the metadata of the same run again")
    named = {"image_ids": (image_of, n_image), "text_ids": (caption, n_text), "image_id_of_text": (image_of, n_text)}
    ids = [
        Member(name, array.shape, dtype_name(array.dtype), 0, partial(np.asarray, array), sources=files)
        for name, (array, rows) in named.items()
        if array is not None and len(array) == rows
    ]
    return [replace(images, note=note), texts, *ids]


def _first(columns: dict[str, Array], names: tuple[str, ...]) -> Array | None:
    return next((columns[name] for name in names if name in columns), None)


def numbered(folder: Path, stem: str, suffix: str) -> list[Path]:
    """The files ``stem_N.suffix`` of a folder, N ascending as a number; BadInput when one is missing."""
    pattern = re.compile(rf"{re.escape(stem)}_([0-9]+){re.escape(suffix)}")
    with reading(folder, "cannot be listed", "check the permissions"):
        matches = [(int(hit[1]), path) for path in folder.iterdir() if (hit := pattern.fullmatch(path.name))]
    matches.sort()
    numbers = [number for number, _ in matches]
    for at, number in enumerate(numbers):
        if number != at:
            what = "occurs twice" if at and number == numbers[at - 1] else f"is missing (found up to {numbers[-1]})"
            name = f"{stem}_{number if 'twice' in what else at}{suffix}"
            raise BadInput(f"shard {name} {what}", where=folder, fix="write all shards, numbered from 0")
    for _, path in matches:
        check_file(path, _LAYOUT)
    return [path for _, path in matches]


def _side(folder: Path, stem: str, name: str) -> Member:
    if not (folder / stem).is_dir():
        raise BadInput(f"has no folder {stem}", where=folder, fix=_LAYOUT)
    files = numbered(folder / stem, stem, ".npy")
    if not files:
        raise BadInput(f"has no {stem}_0.npy", where=folder / stem, fix=_LAYOUT)
    members = [npy_member(path) for path in files]
    for path, member in zip(files, members, strict=True):
        _check(path, member, files[0], members[0])
    dtype = np.result_type(*("float32" if m.dtype == "bfloat16" else m.dtype for m in members))
    shape = sum(m.shape[0] for m in members), members[0].shape[1]
    if len(members) == 1:
        return replace(members[0], name=name, sources=tuple(files))

    def load() -> Array:
        return np.concatenate([member.load() for member in members], dtype=dtype)

    return Member(name, shape, dtype.name, math.prod(shape) * dtype.itemsize, load, sources=tuple(files))


def _check(path: Path, member: Member, first_path: Path, first: Member) -> None:
    if len(member.shape) != 2:
        raise BadInput(f"has shape {member.shape}", where=path, fix="save shards of shape (rows, dim)")
    if member.dtype not in FLOATS:
        raise BadInput(f"is {member.dtype}", where=path, fix="save shards as float16, float32 or float64")
    if member.shape[1] != first.shape[1]:
        what = f"has {member.shape[1]} columns, {first_path.name} has {first.shape[1]}"
        raise BadInput(what, where=path, fix="write all shards with the same model")


def _metadata(folder: Path) -> tuple[dict[str, Array], tuple[Path, ...], str]:
    """The columns of ids, the files that have them, and a note where rows have no ids."""
    metadata = folder / "metadata"
    files = numbered(metadata, "metadata", ".parquet") if metadata.is_dir() else []
    if not files:
        return {}, (), "no metadata: rows have no ids"
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return {}, (), "metadata skipped, so rows have no ids: pip install 'vsebench[formats]' to read it"
    id_columns = [*_IMAGE_COLUMNS, *_TEXT_COLUMNS]
    parts: dict[str, list[Array]] = {}
    for path in files:
        for name, values in read_columns(path, id_columns).items():
            if any(value is None for value in values):
                raise BadInput(f"column '{name}' has missing values", where=path, fix="give every row an id")
            parts.setdefault(name, []).append(id_array(values, name, path))
    if not parts:
        return {}, (), f"metadata has none of the columns {', '.join(id_columns)}: rows have no ids"
    for name, arrays in parts.items():
        if len(arrays) != len(files):
            what = f"column '{name}' is missing from some files"
            raise BadInput(what, where=metadata, fix="write all metadata with the same columns")
    return {name: as_ids(np.concatenate(arrays), name, metadata) for name, arrays in parts.items()}, tuple(files), ""
