"""Folders of precomputed features, as VSE++ and SCAN read them.

``train_ims.npy`` and ``train_caps.txt``, and the same for ``dev`` and ``test`` (``testall`` where there is one: it is
COCO's complete test part). Features are (image, width), or (image, region, width); some folders repeat every image for
each of its captions. They are memory-mapped: a batch reads its rows from the disk, and nothing reads the others.

``train_ids.tsv`` may have the ids, a line ``image id <TAB> caption id`` a caption: with those of ``coco-5k`` or
``f30k``, in their order, the test part is that split.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import BadInput, count_of
from vsebench.files.caption_rows import CaptionRows, rows_sha256
from vsebench.files.ids import as_ids
from vsebench.files.npy import npy_member
from vsebench.files.regular import check_file, reading
from vsebench.files.textfile import read_text, text_lines
from vsebench.sets.catalogue import split_of
from vsebench.sets.declared import DECLARED
from vsebench.types import Split

from ..config import Config
from ..data import Bar, Part, PartName, Vectors

STEMS: dict[PartName, tuple[str, ...]] = {"train": ("train",), "val": ("dev", "val"), "test": ("testall", "test")}
GROUPS = 200  # groups of rows that are compared to see whether images are repeated


def fits(name: str) -> bool:
    """Whether a name is a folder with features."""
    return any((Path(name).expanduser() / f"{stem}_ims.npy").is_file() for stems in STEMS.values() for stem in stems)


def open_precomp(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts; ``data.name`` is the folder.

    Raises:
        BadInput: a file is missing or damaged, or images and captions differ in number.
    """
    folder = Path(config.data.name).expanduser()
    files = {part: _files(folder, stems) for part, stems in STEMS.items()}  # all are there before one is read
    return {part: _part(f"{folder.name}-{part}", *found) for part, found in files.items()}


def _files(folder: Path, stems: tuple[str, ...]) -> tuple[Path, Path, Path]:
    stem = next((s for s in stems if (folder / f"{s}_ims.npy").is_file()), stems[-1])
    features, captions = folder / f"{stem}_ims.npy", folder / f"{stem}_caps.txt"
    for file in (features, captions):
        check_file(file, "a folder of features has train, dev and test, each with _ims.npy and _caps.txt")
    return features, captions, folder / f"{stem}_ids.tsv"


def _part(name: str, features: Path, file: Path, ids: Path) -> Part:
    captions = text_lines(read_text(file))
    array = mapped(features)
    repeats = _repeats(array, len(captions), features, file)
    array = array[::repeats]
    images = Vectors(array, "regions" if array.ndim == 3 else "vectors", features)
    image_of = np.arange(len(captions)) // (len(captions) // len(array))
    if not ids.is_file():
        return Part(Split(name, np.arange(len(array)), np.arange(len(captions)), image_of, tuple(captions)), images)
    rows = _rows(ids, tuple(captions))
    image_ids, found = rows.images()
    if not np.array_equal(found, image_of):
        raise BadInput("ids of other images than the captions", where=ids, fix=f"give them in the order of {file}")
    sha256 = rows_sha256(rows)
    known = [s for s in DECLARED.values() if s.built_as == s.name and s.rows_sha256 == sha256]
    split = split_of(rows, known[0]) if known else Split(name, image_ids, rows.caption_id, image_of, rows.captions)
    return Part(split, images)


def _rows(path: Path, captions: tuple[str, ...]) -> CaptionRows:
    """The captions with their ids; raises BadInput."""
    with reading(path, "is no table", "write a line 'image id <TAB> caption id' a caption"):
        image_id, caption_id = np.loadtxt(path, str, comments=None, delimiter="\t", ndmin=2, encoding="utf-8").T
    given = as_ids(image_id, "image ids", path), as_ids(caption_id, "caption ids", path)
    return CaptionRows(*given, captions, str(path))


def mapped(path: Path) -> npt.NDArray[Any]:
    """Features (image, width) or (image, region, width) of an .npy file, memory-mapped; raises BadInput."""
    array = npy_member(path).load()
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiu" or 0 in array.shape:
        what = f"an array {array.shape} of {array.dtype}"
        raise BadInput(what, where=path, fix="give features (image, width) or (image, region, width), float32")
    return array


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
