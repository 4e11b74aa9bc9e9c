"""COCO val2014 images as the objects that people have marked in them: real language and images without pixels.

An image is a vector over the 80 categories. The captions are those of the installed packages, five an image. The parts
are Karpathy's: test is the split ``coco-5k``, val is read from a file, and train is ``restval``, all other images of
val2014.
"""

from __future__ import annotations

import numpy as np

from vsebench import load_split
from vsebench.data.splits import packages
from vsebench.data.splits.rows import CaptionRows, first_captions
from vsebench.errors import BadInput, MissingPackage, UsageError, count_of
from vsebench.options import spell
from vsebench.types import Ids, Split

from ..config import Config
from ..data import Bar, Part, PartName, Vectors
from .karpathy_val import VAL_FILES, val_image_ids
from .object_files import read_objects

NAME = "coco-objects"
CAPTIONS_PER_IMAGE = 5


def fits(name: str) -> bool:
    """Whether a name is ``coco-objects:FILE``, where FILE has the images of the validation part."""
    return name.partition(":")[0] == NAME


def open_coco_objects(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The parts; ``data.images`` is the file of objects, see ``object_files``, and ``data.name`` has that of val.

    Raises:
        UsageError: one of the files is not named.
        MissingPackage: the captions or the ids of the test part are not installed. All that is missing is in one
            message.
        BadInput: a file is damaged or of another kind, or has no objects of the images of val2014.
    """
    val_file = config.data.name.partition(":")[2]
    _check_complete(config.data.images, val_file)
    with bar("COCO captions") as update:
        objects = read_objects(config.data.images)
        val = val_image_ids(val_file)
        test = load_split("coco-5k", captions=True)
        rows = packages.val2014_rows()
        # By image and id: Karpathy keeps the first five captions of this order.
        rows = first_captions(rows.take(np.lexsort((rows.caption_id, rows.image_id))), CAPTIONS_PER_IMAGE)
        if update is not None:
            update(1, 1)
    known = rows.image_id[::CAPTIONS_PER_IMAGE]
    objects.check(known)
    _check_val(val, known, test, val_file)
    train = np.setdiff1d(np.setdiff1d(known, test.image_ids), val)
    splits: dict[PartName, Split] = {
        "train": _split("coco-restval", train, rows),
        "val": _split("coco-val", val, rows),
        "test": test,
    }
    return {part: Part(split, Vectors(objects.vectors(split.image_ids))) for part, split in splits.items()}


def _check_complete(objects: str, val_file: str) -> None:
    """Name everything that is missing, in one error."""
    files, package = [], []
    if not objects:
        files.append("the objects of the images: --set data.images=instances_val2014.json, or a table of image ids "
                     "and names")  # fmt: skip
    if not val_file:
        files.append(
            f"the images of Karpathy's val, which no package holds: {spell('data', NAME)}:FILE with {VAL_FILES}"
        )
    if not packages.has_ids():
        package.append("the ids of the test part (eccv_caption)")
    if not packages.has_captions():
        package.append("the captions (pycocoevalcap)")
    missing = files + package
    if not missing:
        return
    if package:
        fix = f"{packages.INSTALL}{' and name the files' if files else ''}"
        raise MissingPackage(f"{NAME} lacks {'; '.join(missing)}", fix=fix)
    raise UsageError(f"{NAME} lacks {'; '.join(missing)}", fix="name the files")


def _check_val(val: Ids, known: Ids, test: Split, where: str) -> None:
    """Refuse images that are not in val2014, or are in the test part; raises BadInput."""
    for wrong, what in ((np.setdiff1d(val, known), "not of COCO val2014"),
                        (np.intersect1d(val, test.image_ids), "of the test part")):  # fmt: skip
        if len(wrong):
            raise BadInput(
                f"{count_of(len(wrong), 'image is', 'images are')} {what} (first: {wrong[0]})",
                where=where,
                fix=f"give {VAL_FILES}",
            )


def _split(name: str, image_ids: Ids, rows: CaptionRows) -> Split:
    """A split of some images, with their captions in the order of the images; ``rows`` has five of every image."""
    first = CAPTIONS_PER_IMAGE * np.searchsorted(rows.image_id[::CAPTIONS_PER_IMAGE], image_ids)
    own = rows.take((first[:, None] + np.arange(CAPTIONS_PER_IMAGE)).ravel())
    image_of = np.repeat(np.arange(len(image_ids)), CAPTIONS_PER_IMAGE)
    return Split(name, image_ids, own.caption_id, image_of, own.captions)
