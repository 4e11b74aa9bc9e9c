"""A file of captions, with a folder of image files, or with a file of vectors of the images.

    vsebench train-reference --data dataset_coco.json --set data.images=FOLDER
    vsebench encode open_clip:ViT-B-32/openai --images photos --captions captions.jsonl -o features.npz
    vsebench train-reference --data features.npz --captions captions.jsonl

Parts are those of the captions: of a Karpathy file, or of a field ``split``. Without parts a tenth of the images, drawn
at random and always the same ones, is ``val``, and another one ``test``. A part with the ids of ``coco-5k`` or ``f30k``
is that split. Of a Karpathy file every image has five captions.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import BadInput, UsageError, count_of
from vsebench.files.caption_rows import CaptionRows
from vsebench.files.captions import EVERY, OF_KARPATHY, CaptionFile, caption_file
from vsebench.files.ids import places
from vsebench.files.image_files import find_images, read_image
from vsebench.files.npy import npy_member
from vsebench.files.raw import Raw
from vsebench.files.records import missing, spot
from vsebench.files.regular import check_file, expanded
from vsebench.sets.catalogue import declared, split_of, split_of_ids
from vsebench.sets.items import equal_rows, refuse_ids_of_pairs
from vsebench.sets.stored import settle
from vsebench.types import Int, TestSet
from vsebench.unimodal.files import read_vectors

from ..config import Config
from ..data import PARTS, Bar, Images, Part, PartName, of_features
from ..encoders import get_encoder
from ..own_file import spelled
from .image_files import ImageFiles

OF_VECTORS = (".npz", ".npy", ".safetensors", ".pt", ".pth", ".h5", ".hdf5")
OF_CAPTIONS = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow")
NAMES: dict[PartName, tuple[str, ...]] = {
    "train": ("train", "restval"),
    "val": ("val", "dev", "valid", "validation"),
    "test": ("test",),
}
READ_FIRST = 16  # images, evenly spaced, that are read before training: a wrong kind of file shows at once
HELD_OUT = 0.1  # of the images for each of val and test, where the captions have no parts


def open_vectors(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts; ``data.name`` is the file of vectors and ``data.captions`` that of the captions.

    Images are matched by their ids; vectors without ids are those of the images in the order in which the captions name
    them. An .npy file may have several vectors an image, (image, region, width), and is memory-mapped.

    Raises:
        UsageError: no file of captions is named.
        BadInput: a file is damaged, a part is missing, or images have no vector.
    """
    path = expanded(config.data.name)
    if not config.data.captions:
        raise UsageError("no file of captions", where=path, fix=f"name it: {spelled('data.captions', 'FILE')}")
    captions = caption_file(expanded(config.data.captions))
    key = config.data.key or None
    raw = Raw((mapped(path),)) if path.suffix == ".npy" and key is None else read_vectors(path, "image", key, True)
    array, ids = raw.values, raw.image_ids
    if ids is None:
        ids, image_of = captions.rows(EVERY).images()
        if len(image_of) == len(array) > len(ids):  # one for each caption
            one_vector(array, image_of, path)
            ids = ids[image_of]
        if len(ids) != len(array):
            what = f"{count_of(len(array), 'vector')} without ids, and {count_of(len(ids), 'image')}"
            fix = "save the ids of the images beside the vectors: image_ids"
            raise BadInput(f"{what} in {config.data.captions}", where=path, fix=fix)
    elif len(unique := np.unique(ids, return_inverse=True)[1]) > unique.max() + 1:
        one_vector(array, unique, path)
    elif array.ndim == 2:
        group = equal_rows(array)
        refuse_ids_of_pairs(raw, float((np.bincount(group)[group] > 1).mean()))
    found: dict[PartName, Part] = {}
    for part, split in _splits(captions, path.stem, config.data.restval).items():
        index = places(ids, split.rows.ids)
        if len(lost := split.rows.ids[index < 0]):
            what = f"{count_of(len(lost), 'image')} of {config.data.captions} have no vector (first: {lost[0]})"
            raise BadInput(what, where=path, fix="encode the images of these captions")
        found[part] = Part(split, of_features(array, path, index))
    return found


def open_images(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The three parts; ``data.name`` is the file of captions and ``data.images`` the folder of images.

    Crops are those of ``model.crop``; random ones are of the training part, and the others have the centre.

    Raises:
        UsageError: no folder of images is named.
        BadInput: the file is of another kind or damaged, or images are missing: all are looked for before training.
    """
    if not config.data.images:
        raise UsageError(
            "no folder of images", where=config.data.name, fix=f"name it: {spelled('data.images', 'FOLDER')}"
        )
    captions = caption_file(expanded(config.data.name))
    splits = _splits(captions, Path(config.data.name).stem, config.data.restval)
    every = np.concatenate([split.rows.ids for split in splits.values()])
    try:
        with bar("looking for the images"):
            paths = find_images(expanded(config.data.images), every, captions.images).paths
    except BadInput as error:
        error.fix = f"copy the images into this folder, or name another: {spelled('data.images', 'FOLDER')}"
        raise
    for path in paths[:: max(1, len(paths) // READ_FIRST)]:
        read_image(path)
    entry, found = get_encoder(config.model.image), {}
    for part, split in splits.items():
        crop = "center" if config.model.crop == "random" and part != "train" else config.model.crop
        files, paths = paths[: len(split.rows.ids)], paths[len(split.rows.ids) :]
        found[part] = Part(split, Images(ImageFiles(files, crop, entry.resize, entry.side), "pixels"))
    return found


def one_vector(array: npt.NDArray[Any], image_of: Int, where: Path) -> None:
    """Refuse rows (row, ...) of one image (row,) that differ."""
    images, first = np.unique(image_of, return_index=True)
    same = equal_rows(array)
    if len(odd := np.flatnonzero(same != same[first][np.searchsorted(images, image_of)])):
        at = int(first[np.searchsorted(images, image_of[odd[0]])])
        what = f"rows {at} and {odd[0]} are of one image, and differ"
        raise BadInput(what, where=where, fix="give every image one row, or equal ones for its captions")


def mapped(path: Path) -> npt.NDArray[Any]:
    """Features (image, width) or (image, region, width) of an .npy file, memory-mapped; raises BadInput."""
    check_file(path, "give a file of vectors (.npy)")
    array = npy_member(path).load()
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiu" or 0 in array.shape:
        what = f"an array {array.shape} of {array.dtype}"
        raise BadInput(what, where=path, fix="give features (image, width) or (image, region, width), float32")
    return array


def split_named(rows: CaptionRows, name: str) -> TestSet:
    """The captions as a split: ``coco-5k`` or ``f30k`` where they have its ids, else one of that name."""
    for known in split_of_ids(rows.image_id, rows.caption_id):
        if known in ("coco-5k", "f30k"):  # the declared split, with its order, judgements and folds
            return split_of(settle(rows, declared(known)), declared(known))
    image_ids, image_of = rows.images()
    return TestSet.captioned(name, image_ids, rows.caption_id, image_of, rows.captions)


def _splits(file: CaptionFile, stem: str, restval: bool) -> dict[PartName, TestSet]:
    """The captions of every part."""
    there, rows, where = file.parts, {}, file.found.attrs["where"]
    stated = [not missing(part) for part in file.found[file.fields.part]] if there else []
    if there and not any(stated):
        there = []
    elif not all(stated):
        at = spot(file.found, stated.index(False))
        raise BadInput("has no field split, and others have", where=at, fix="give every caption its part, or none")
    for part, names in NAMES.items() if there else ():
        known = [name for name in names if name in there and (restval or name != "restval")]
        if not known:
            what = f"has no part {' or '.join(names)}, but {', '.join(there[:6])}"
            raise BadInput(what, where=where, fix="give captions of three parts, or without parts")
        rows[part] = CaptionRows.joined([file.rows(n, OF_KARPATHY if file.karpathy else None) for n in known])
    if not there:
        every = file.rows(None)
        images, image_of = every.images()
        drawn = np.random.default_rng(0).permutation(len(images))
        block = np.minimum(drawn // max(1, round(HELD_OUT * len(images))), 2)  # of every image
        without = np.arange(len(images)) > image_of.max()  # a caption: the last ones
        for n, part in enumerate(reversed(PARTS)):
            chosen = every.take(np.flatnonzero(block[image_of] == n))
            rows[part] = dataclasses.replace(chosen, others=images[without & (block == n)])
    for part, found in rows.items():
        if not len(found.caption_id):
            fix = "give captions of more images, and of every part where they have parts"
            raise BadInput(f"has no captions for {part}", where=where, fix=fix)
    for first, second in itertools.combinations(rows, 2):
        if len(both := np.intersect1d(rows[first].image_id, rows[second].image_id)):
            what = f"{count_of(len(both), 'image is', 'images are')} in {first} and in {second} (first: {both[0]})"
            raise BadInput(what, where=where, fix="put all captions of an image into one part")
    return {part: split_named(found, f"{stem}-{part}") for part, found in rows.items()}
