"""Folders of precomputed features, as VSE++ and SCAN read them.

``train_ims.npy`` and ``train_caps.txt``, and the same for ``dev`` and ``test`` (``testall`` where there is one: it is
COCO's complete test part). Features are (image, width), or (image, region, width); some folders repeat every image for
each of its captions. They are memory-mapped: a batch reads its rows from the disk, and nothing reads the others.

``train_ids.tsv`` may have the ids, a line ``image id <TAB> caption id`` a caption: with those of ``coco-5k`` or
``f30k`` the test part is that split.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import BadInput, count_of
from vsebench.files.caption_rows import CaptionRows
from vsebench.files.ids import as_ids, places
from vsebench.files.regular import check_file, reading
from vsebench.files.textfile import read_text, text_lines
from vsebench.types import expanded

from ..config import Config
from ..data import Bar, Part, PartName, of_features
from .files import mapped, split_named

STEMS: dict[PartName, tuple[str, ...]] = {"train": ("train",), "val": ("dev", "val"), "test": ("testall", "test")}
GROUPS = 200  # groups of rows that are compared to see whether images are repeated


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
    repeats = _repeats(array, len(captions), features, file)
    images = len(array) // repeats
    image_of = np.arange(len(captions)) // (len(captions) // images)
    rows = CaptionRows(image_of, np.arange(len(captions)), captions, str(file))
    if ids.is_file():
        with reading(ids, "is no table", "write a line 'image id <TAB> caption id' a caption"):
            image_id, caption_id = np.loadtxt(ids, str, comments=None, delimiter="\t", ndmin=2, encoding="utf-8").T
        given = as_ids(image_id, "image ids", ids), as_ids(caption_id, "caption ids", ids)
        rows = CaptionRows(*given, captions, str(ids))
        if not np.array_equal(rows.images()[1], image_of):
            raise BadInput("ids of other images than the captions", where=ids, fix=f"give them in the order of {file}")
    split = split_named(rows, name)
    return Part(split, of_features(array, features, repeats * places(rows.images()[0], split.image_ids)))


def _repeats(array: npt.NDArray[Any], captions: int, features: Path, file: Path) -> int:
    """How often every image is repeated: 1, or the number of its captions.

    As many rows as captions mean either one caption an image, or five rows an image that are equal.

    Raises:
        BadInput: the captions cannot be divided among the images, or some images are repeated and others not.
    """
    rows = len(array)
    if captions % rows:
        what = f"{count_of(captions, 'caption')}, and {count_of(rows, 'image')} in {features}"
        raise BadInput(what, where=file, fix="give the same number of captions for every image, one a line")
    if rows != captions or rows % 5:
        return 1
    starts = np.unique(np.linspace(0, rows // 5 - 1, min(rows // 5, GROUPS)).astype(np.int64)) * 5
    equal = np.array([(array[start : start + 5] == array[start]).all() for start in starts])
    if equal.any() and not equal.all():
        odd = int(starts[~equal][0])
        what = f"rows {odd} to {odd + 4} differ, and rows {starts[equal][0]} to {starts[equal][0] + 4} are one image"
        raise BadInput(what, where=features, fix="repeat every image five times, or none")
    return 5 if equal.all() else 1
