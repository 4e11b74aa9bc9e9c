"""A folder of images with a Karpathy file: ``dataset_coco.json``, ``dataset_flickr30k.json``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

from vsebench.errors import BadInput, UsageError
from vsebench.files.caption_rows import CaptionRows
from vsebench.files.image_files import find_images
from vsebench.files.karpathy import is_karpathy, karpathy_files, karpathy_rows
from vsebench.files.textfile import parse_json, read_text
from vsebench.sets.catalogue import declared, split_of
from vsebench.sets.identity import settle
from vsebench.sets.source import split_of_ids
from vsebench.types import Ids, Split

from ..config import Config
from ..data import Bar, Part, PartName
from ..encoders import get_encoder
from .image_files import ImageFiles

PARTS_OF: dict[PartName, tuple[str, ...]] = {"train": ("train", "restval"), "val": ("val",), "test": ("test",)}


def fits(name: str) -> bool:
    """Whether a name is a JSON file."""
    return Path(name).suffix == ".json"


def open_karpathy(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts; ``data.name`` is the Karpathy file and ``data.images`` the folder of images.

    COCO's ``restval`` is used for training, unless ``data.restval`` is false. A test part with the ids of ``coco-5k``
    or ``f30k`` is that split.

    Raises:
        UsageError: no folder of images is named.
        BadInput: the file is of another kind or damaged, or images are missing: all are looked for before training.
    """
    name, folder = str(Path(config.data.name).expanduser()), Path(config.data.images).expanduser()
    if not config.data.images:
        raise UsageError("no folder of images", where=name, fix="name it: --set data.images=FOLDER")
    document = parse_json(read_text(name), name)
    if not is_karpathy(document):
        raise BadInput("not a Karpathy file", where=name, fix="give dataset_coco.json or dataset_flickr30k.json")
    paths = karpathy_files(document)
    there = {str(image.get("split")) for image in document["images"] if isinstance(image, dict)}
    splits: dict[PartName, Split] = {}
    for part, names in PARTS_OF.items():
        rows = [karpathy_rows(document, name, n) 
                for n in names if n == names[0] or (n in there and config.data.restval)]  # fmt: skip
        splits[part] = split_named(joined(rows), f"{Path(name).stem}-{part}")
    with bar("looking for the images"):
        files = iter(_found(folder, np.concatenate([split.image_ids for split in splits.values()]), paths))
    entry, crop = get_encoder(config.model.image), config.model.crop
    return {
        part: Part(split, ImageFiles(tuple(islice(files, len(split.image_ids))), crop, entry.resize, entry.side))
        for part, split in splits.items()
    }


def _found(folder: Path, image_ids: Ids, names: dict[str, str]) -> tuple[Path, ...]:
    try:
        return find_images(folder, image_ids, names).paths
    except BadInput as error:
        fix = "copy the images into this folder, or name another: --set data.images=FOLDER"
        raise BadInput(error.what, where=error.where, fix=fix) from error


def joined(rows: list[CaptionRows]) -> CaptionRows:
    """The captions of several parts."""
    if len(rows) == 1:
        return rows[0]
    image_id, caption_id = (np.concatenate([getattr(r, n) for r in rows]) for n in ("image_id", "caption_id"))
    return CaptionRows(image_id, caption_id, tuple(c for r in rows for c in r.captions or ()), rows[0].origin)


def split_named(rows: CaptionRows, name: str) -> Split:
    """The captions as a split: ``coco-5k`` or ``f30k`` where they have its ids, else one of that name."""
    for known in split_of_ids(rows.image_id, rows.caption_id):
        if known in ("coco-5k", "f30k"):  # the declared split, with its order, judgements and folds
            return split_of(settle(rows, declared(known)), declared(known))
    image_ids, image_of = rows.images()
    return Split(name, image_ids, rows.caption_id, image_of, rows.captions)
