"""Folders of precomputed features, as VSE++ and SCAN read them.

``train_ims.npy`` and ``train_caps.txt``, and the same for ``dev`` and ``test`` (``testall`` where there is one: it is
COCO's complete test part). Features are (image, width), or (image, region, width); some folders repeat every image for
each of its captions: rows that are exactly equal are one image, by the rule of ``vsebench eval``. Features are
memory-mapped: a batch reads its rows from the disk, and nothing reads the others.

``train_ids.tsv`` may have the ids, a line ``image id <TAB> caption id`` a caption: images may have different numbers of
captions then, and with the ids of ``coco-5k`` or ``f30k`` the test part is that split.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import BadInput, count_of
from vsebench.files.caption_rows import CaptionRows
from vsebench.files.ids import as_ids, places
from vsebench.files.regular import check_file, expanded, reading
from vsebench.files.textfile import read_text, text_lines
from vsebench.log import note
from vsebench.sets.items import equal_rows, repeat
from vsebench.types import Int

from ..config import Config
from ..data import Bar, Part, PartName, of_features
from .files import mapped, one_vector, split_named

STEMS: dict[PartName, tuple[str, ...]] = {"train": ("train",), "val": ("dev", "val"), "test": ("testall", "test")}
FEW_BLOCKS = 0.1  # below this share, blocks whose rows differ are damaged: all other blocks repeat one image
IDS = "a file of ids beside it, such as train_ids.tsv"


def is_folder(name: str) -> bool:
    """Whether a name is a folder with features."""
    return any((expanded(name) / f"{stem}_ims.npy").is_file() for stems in STEMS.values() for stem in stems)


def open_precomp(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts; ``data.name`` is the folder.

    Raises:
        BadInput: a file is missing or damaged, or images and captions differ in number.
    """
    folder = expanded(config.data.name)
    files: dict[PartName, list[Path]] = {}
    for part, stems in STEMS.items():  # all are there before one is read
        stem = next((s for s in stems if (folder / f"{s}_ims.npy").is_file()), stems[-1])
        files[part] = [folder / f"{stem}_{rest}" for rest in ("ims.npy", "caps.txt", "ids.tsv")]
        for file in files[part][:2]:
            check_file(file, "a folder of features has train, dev and test, each with _ims.npy and _caps.txt")
    return {part: _part(f"{folder.name}-{part}", *found) for part, found in files.items()}


def _part(name: str, features: Path, file: Path, ids: Path) -> Part:
    array, captions = mapped(features), tuple(text_lines(read_text(file)))
    number = np.arange(len(captions))
    if ids.is_file():
        with reading(ids, "is no table", "write a line 'image id <TAB> caption id' a caption"):
            image_id, caption_id = np.loadtxt(ids, str, comments=None, delimiter="\t", ndmin=2, encoding="utf-8").T
        given = as_ids(image_id, "image ids", ids), as_ids(caption_id, "caption ids", ids)
        rows = CaptionRows(*given, captions, str(ids))
        image_of = rows.images()[1]
    else:
        image_of = _image_of(array, len(captions), features, file)
        rows = CaptionRows(image_of, number, captions, str(file))
    row = np.unique(image_of, return_index=True)[1] if len(array) == len(captions) else np.arange(image_of.max() + 1)
    once = len(array) == len(row)
    if not once and len(array) != len(captions):
        what = f"ids of {count_of(len(row), 'image')}, and {count_of(len(array), 'row')} in {features}"
        raise BadInput(what, where=ids, fix="give features of every image, or of every caption")
    if once and (np.diff(image_of) < 0).any():
        raise BadInput("ids of other images than the captions", where=ids, fix=f"give them in the order of {file}")
    if not once:
        one_vector(array, image_of, features)
    split = split_named(rows, name)
    return Part(split, of_features(array, features, row[places(rows.images()[0], split.rows.ids)]))


def _image_of(array: npt.NDArray[Any], captions: int, features: Path, file: Path) -> Int:
    """(caption,) the image of every caption: as many for each row, or a row a caption, of which some are equal.

    Raises:
        BadInput: the captions cannot be divided among the rows; or some images are repeated and others not.
    """
    rows = len(array)
    if captions % rows:
        what = f"{count_of(captions, 'caption')}, and {count_of(rows, 'image')} in {features}"
        raise BadInput(what, where=file, fix=f"give as many captions for every image, one a line, or {IDS}")
    if rows != captions:
        return np.arange(captions) // (captions // rows)
    image_of = equal_rows(array)
    items = int(image_of.max()) + 1
    if not repeat(image_of):
        return np.arange(rows)
    times = int(np.argmax(np.bincount(np.bincount(image_of))))  # the usual number of rows of an image
    blocks = image_of[: rows - rows % times].reshape(-1, times)
    odd = np.flatnonzero((blocks != blocks[:, :1]).any(axis=1)) * times
    if 0 < len(odd) < FEW_BLOCKS * len(blocks):
        what = f"rows {odd[0]} to {odd[0] + times - 1} differ, and {times} rows are one image elsewhere"
        raise BadInput(what, where=features, fix=f"repeat every image {times} times, or none; or write {IDS}")
    note(f"image rows of {features.name} repeat, one for each caption: {rows:,} rows are {items:,} images")
    return image_of
