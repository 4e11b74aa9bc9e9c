"""A file of vectors of images, such as those of ``vsebench encode``, and a file of their captions.

    vsebench encode open_clip:ViT-B-32/openai --images photos --captions captions.jsonl -o features.npz
    vsebench train-reference --data features.npz --captions captions.jsonl

Images are matched by their ids; vectors without ids are those of the images in the order in which the captions name
them. An .npy file may have several vectors an image, (image, region, width), and is memory-mapped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import BadInput, UsageError, count_of
from vsebench.files.caption_rows import CaptionRows
from vsebench.files.regular import check_file
from vsebench.files.textfile import read_text
from vsebench.sets.caption_files import CaptionFile
from vsebench.types import Ids
from vsebench.unimodal.files import read_vectors

from ..config import Config
from ..data import PARTS, Bar, Part, PartName, Vectors
from .karpathy import joined, split_named
from .precomp import mapped

SUFFIXES = (".npz", ".npy", ".safetensors", ".pt", ".pth", ".h5", ".hdf5")
NAMES: dict[PartName, tuple[str, ...]] = {
    "train": ("train", "restval"),
    "val": ("val", "dev", "valid", "validation"),
    "test": ("test",),
}
Places = dict[str, int]
HELD_OUT = 0.1  # of the images for each of val and test, where the captions have no parts


def fits(name: str) -> bool:
    """Whether a name is that of a file of arrays."""
    return Path(name).suffix.lower() in SUFFIXES


def open_vectors(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts; ``data.name`` is the file of vectors and ``data.captions`` that of the captions.

    Parts are those of the captions (Karpathy's file, or a field ``split``). Without parts a tenth of the images, drawn
    at random and always the same ones, is ``val``, and another one ``test``.

    Raises:
        UsageError: no file of captions is named.
        BadInput: a file is damaged, a part is missing, or images have no vector.
    """
    path, file = Path(config.data.name).expanduser(), Path(config.data.captions).expanduser()
    if not config.data.captions:
        raise UsageError("no file of captions", where=path, fix="name it: --captions FILE")
    check_file(file, "give a file of captions")
    array, ids = _vectors(path)
    captions = CaptionFile(str(file), read_text(file))
    rows = _parts(captions, config.data.restval)
    place = _places(rows, ids, len(array), path, captions)
    found: dict[PartName, Part] = {}
    for part in PARTS:
        split = split_named(rows[part], f"{path.stem}-{part}")
        index = np.array([place[image] for image in map(str, split.image_ids.tolist())], np.int64)
        found[part] = Part(split, Vectors(array, "regions" if array.ndim == 3 else "vectors", path, index))
    return found


def _vectors(path: Path) -> tuple[npt.NDArray[Any], Ids | None]:
    check_file(path, "give a file of vectors")
    if path.suffix == ".npy":
        return mapped(path), None
    raw = read_vectors(path, "image")
    return raw.values, raw.image_ids


def _parts(file: CaptionFile, restval: bool) -> dict[PartName, CaptionRows]:
    """The captions of every part."""
    there = file.parts
    if not there:
        rows = file.rows(None)
        images, image_of = rows.images()
        count = max(1, round(HELD_OUT * len(images)))
        drawn = np.random.default_rng(0).permutation(len(images))[image_of]  # of the image of every caption
        train, val, test = drawn >= 2 * count, (drawn >= count) & (drawn < 2 * count), drawn < count
        return {"train": rows.take(np.flatnonzero(train)), "val": rows.take(np.flatnonzero(val)),
                "test": rows.take(np.flatnonzero(test))}  # fmt: skip
    found: dict[PartName, CaptionRows] = {}
    for part, names in NAMES.items():
        known = [name for name in names if name in there and (restval or name != "restval")]
        if not known:
            what = f"has no part {' or '.join(names)}, but {', '.join(there[:6])}"
            raise BadInput(what, where=file.where, fix="give captions of three parts, or without parts")
        found[part] = joined([file.rows(name) for name in known])
    return found


def _places(rows: dict[PartName, CaptionRows], known: Ids | None, count: int, path: Path, file: CaptionFile) -> Places:
    """The row of the vector of every image, by its id as text."""
    named = file.rows(None).images()[0] if known is None else known
    if len(named) != count:
        what = f"{count_of(count, 'vector')} without ids, and {count_of(len(named), 'image')} in {file.where}"
        raise BadInput(what, where=path, fix="save the ids of the images beside the vectors: image_ids")
    place = {str(name): n for n, name in enumerate(named.tolist())}
    images = [str(image) for part in rows.values() for image in part.images()[0].tolist()]
    lost = [image for image in images if image not in place]
    if lost:
        what = f"{count_of(len(lost), 'image')} of {file.where} have no vector (first: {lost[0]})"
        raise BadInput(what, where=path, fix="encode the images of these captions")
    return place
