"""The official COCO caption annotations (``captions_val2014.json``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from ..types import Ids
from .caption_rows import CaptionRows
from .textfile import field


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
