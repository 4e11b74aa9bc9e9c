"""Karpathy's ``dataset_coco.json`` and ``dataset_flickr30k.json`` (Karpathy and Fei-Fei, CVPR 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from .caption_rows import CaptionRows
from .textfile import field, shown

CAPTIONS_PER_IMAGE = 5


def is_karpathy(document: Any) -> bool:
    """Whether a parsed JSON document has the shape of a Karpathy file."""
    if not isinstance(document, dict) or not isinstance(document.get("images"), list):
        return False
    first = next(iter(document["images"]), None)
    return isinstance(first, dict) and "sentences" in first and "split" in first


def karpathy_rows(
    document: dict[str, Any], where: str, part: str | None = "test", most: int | None = CAPTIONS_PER_IMAGE
) -> CaptionRows:
    """The images of one part of a Karpathy file, in file order, five captions each.

    Args:
        document: the parsed file.
        where: the file, for messages.
        part: ``train``, ``restval``, ``val`` or ``test``, as ``split`` in the file; None for all of them.
        most: sentences of every image; None for all that it has, as where an image has fewer.

    Images with more than five sentences (10 of COCO's 5,000 have six) keep the first five in file order,
    which is the common protocol of 25,000 captions. COCO's ids are ``cocoid`` and ``sentids``, the official
    annotation ids (int64). Flickr30K has none, so the image id is the file name and the caption id is
    ``<file name>#<0-4>`` (unicode).

    Raises:
        BadInput: a field is missing or of another type (the image is named), an image has no sentence, or there is no
            image of that part.
    """
    test = [
        (f"{where}: images[{i}]", image)
        for i, image in enumerate(document["images"])
        if part in (None, field(image, "split", str, f"{where}: images[{i}]"))
    ]
    if not test:
        there = ", ".join(dict.fromkeys(str(image["split"]) for image in document["images"]))
        what = f"no image has split '{part}' (there are {there})"
        raise BadInput(what, where=where, fix="give the complete Karpathy file")
    coco = "cocoid" in test[0][1]
    image_ids: list[int | str] = []
    caption_ids: list[int | str] = []
    captions: list[str] = []
    fewest = min(len(field(image, "sentences", list, at)) for at, image in test)
    for at, image in test:
        sentences = image["sentences"] if fewest < (most or 0) else image["sentences"][:most]
        if not sentences:
            raise BadInput("has no sentence", where=at, fix="copy or download the file again")
        name: int | str = field(image, "cocoid", int, at) if coco else field(image, "filename", str, at)
        for j, sentence in enumerate(sentences):
            spot = f"{at}.sentences[{j}]"
            image_ids.append(name)
            captions.append(field(sentence, "raw", str, spot))
            caption_ids.append(_sentence_id(image, sentence, j, spot) if coco else f"{name}#{j}")
    return CaptionRows(np.asarray(image_ids), np.asarray(caption_ids), tuple(captions), where)


def karpathy_files(document: dict[str, Any]) -> dict[str, str]:
    """The path of every image below the folder of images, by its id as a string."""
    images = [image for image in document["images"] if isinstance(image, dict)]
    names = [(image.get("cocoid", image.get("filename")), image.get("filepath", ""), image) for image in images]
    return {str(name): f"{folder}/{image.get('filename')}".lstrip("/") for name, folder, image in names}


def _sentence_id(image: dict[str, Any], sentence: dict[str, Any], j: int, spot: str) -> int:
    if "sentid" in sentence:
        return int(field(sentence, "sentid", int, spot))
    ids = field(image, "sentids", list, spot)
    if j >= len(ids) or not isinstance(ids[j], int) or isinstance(ids[j], bool):
        what = f"no sentence id at index {j} of 'sentids' ({shown(ids)})"
        raise BadInput(what, where=spot, fix="copy or download the file again")
    return int(ids[j])
