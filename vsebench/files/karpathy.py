"""Karpathy's ``dataset_coco.json`` and ``dataset_flickr30k.json`` (CVPR 2015), and the annotations of COCO."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from ..types import Ids
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


def is_annotations(document: Any) -> bool:
    """Whether a parsed JSON document has the shape of a COCO annotation file."""
    return isinstance(document, dict) and isinstance(document.get("annotations"), list)


def annotation_rows(document: dict[str, Any], where: str, caption_ids: Ids) -> CaptionRows:
    """The captions of a parsed file with the given annotation ids, (caption,) int64, in that order.

    Raises:
        BadInput: a field is missing or of another type, an id occurs twice, or ids are absent.
    """
    needed = set(caption_ids.tolist())
    found: dict[int, tuple[int, str]] = {}
    for i, note in enumerate(document["annotations"]):
        # The file holds eight times as many captions as the test split; the others are skipped before any check.
        if i and isinstance(note, dict) and type(note.get("id")) is int and note["id"] not in needed:
            continue
        at = f"{where}: annotations[{i}]"
        if i == 0 and isinstance(note, dict) and "caption" not in note and "category_id" in note:
            raise BadInput("these are object annotations, not captions", where=where, fix="give captions_val2014.json")
        number = field(note, "id", int, at)
        if number not in needed:
            continue
        if number in found:
            fix = "copy or download the file again"
            raise BadInput(f"caption id {number} occurs more than once", where=at, fix=fix)
        found[number] = (field(note, "image_id", int, at), field(note, "caption", str, at))
    absent = needed.difference(found)
    if absent:
        first = next(i for i in caption_ids.tolist() if i in absent)
        what = f"{len(absent):,} of {len(needed):,} test captions are absent (first: id {first})"
        raise BadInput(what, where=where, fix="give captions_val2014.json; all test images are in val2014")
    image_id, captions = zip(*(found[i] for i in caption_ids.tolist()), strict=True)
    return CaptionRows(np.asarray(image_id), caption_ids, captions, where)


def annotation_files(document: dict[str, Any]) -> dict[str, str]:
    """The names of the image files in the list ``images``, by the id of the image as a string; none without names."""
    images = document.get("images")
    listed = [image for image in images if isinstance(image, dict)] if isinstance(images, list) else []
    return {str(image.get("id")): image["file_name"] for image in listed if isinstance(image.get("file_name"), str)}
