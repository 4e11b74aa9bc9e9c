"""Captions as records with named fields (JSON objects, rows of a table) -> caption rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BadInput
from ...memory import text_array
from ...options import spell
from ...types import Ids
from ..formats.ids import as_ids
from ..textfile import field, shown
from .rows import CaptionRows

# The usual names of fields, the first that a file has is taken; compared without case.
CAPTION = ("caption", "captions", "text", "sentence", "sentences", "raw", "comment", "caption_tok")
IMAGE_ID = ("image_id", "image", "img_id", "imgid", "image_name", "file_name", "filename", "video_id", "youtube_id")
CAPTION_ID = ("caption_id", "sentence_id", "sentid", "text_id", "id")
INDEX = ("caption_index", "caption_number", "comment_number")
FILE = ("file_name", "filename", "image_name", "image_path", "path", "file")
PART = ("split", "part", "subset")
LAYOUT = "call the caption caption or text, its image image_id or image, and its own id caption_id or id"

Record = tuple[str, Mapping[str, Any]]  # where it is, such as "line 7", and its fields


@dataclass(frozen=True)
class Fields:
    """The names of the fields of a file, None for those it does not have."""

    caption: str
    image: str
    caption_id: str | None
    index: str | None
    part: str | None


def find_fields(names: Iterable[str]) -> Fields | None:
    """Which fields hold what, by the names of the first record; None when there is no caption or no image."""
    known = {name.strip().lower(): name for name in reversed(list(names))}

    def first(usual: Sequence[str]) -> str | None:
        return next((known[name] for name in usual if name in known), None)

    caption, image, caption_id = first(CAPTION), first(IMAGE_ID), first(CAPTION_ID)
    if image is None and caption is not None and caption.strip().lower() in ("captions", "sentences"):
        image, caption_id = first(("id",)), None  # a record is an image with all its captions
    if caption is None or image is None:
        return None
    # Flickr30K has no ids of captions: image and caption_index are one.
    if {"image", "caption_index"} <= known.keys():
        image, caption_id = known["image"], None
    return Fields(caption, image, caption_id, first(INDEX), first(PART))


def record_rows(records: Iterable[Record], fields: Fields, where: str, part: str | None = None) -> CaptionRows:
    """One row a caption, in the order of the records; further fields are ignored.

    A caption may also be a list of captions; an image with an empty list is a candidate that belongs to no query.
    Without ids of captions the id is ``<image id>#<index>``, where the index is that of the record, or counts the
    captions of the image from 0. Ids are numbers when all of them are.

    Args:
        records: one a caption or one an image.
        fields: from ``find_fields``.
        where: the file, for messages.
        part: only records whose field ``split`` is this one; None for all.

    Raises:
        BadInput: a field is missing or of another type, a caption id occurs twice (the records are named), or there is
            no record.
    """
    image_ids: list[int | str] = []
    caption_ids: list[int | str] = []
    others: dict[int | str, None] = {}
    captions: list[str] = []
    seen: dict[int | str, str] = {}
    counted: dict[int | str, int] = {}
    parts: dict[str, None] = {}
    for at, record in records:
        spot = f"{where}: {at}"
        if part is not None and fields.part is not None:
            found = str(record.get(fields.part))
            parts[found] = None
            if found != part:
                continue
        image = _id(record, fields.image, spot)
        own = field(record, fields.caption, (str, list), spot)
        if not own and isinstance(own, list):
            others[image] = None
        for caption in [own] if isinstance(own, str) else own:
            if not isinstance(caption, str):
                raise BadInput(f"a caption is {shown(caption)}, expected a text", where=spot, fix="write it in quotes")
            name = _caption_id(record, fields, image, counted, spot)
            if name in seen:
                raise BadInput(
                    f"caption id {shown(name)} is that of {seen[name]} already", where=spot,
                    fix="give every caption an id of its own, or leave the ids out",
                )  # fmt: skip
            seen[name] = at
            image_ids.append(image)
            caption_ids.append(name)
            captions.append(caption)
    if not captions:
        words = f"part '{part}' ({fields.part} is {', '.join(list(parts)[:6])})" if parts else "caption"
        raise BadInput(
            f"holds no {words}", where=where, fix=f"give a file that holds captions, or another {spell('part')}"
        )
    captioned = set(image_ids)
    without = [name for name in others if name not in captioned]
    images = _ids([*image_ids, *without], "image ids", where)  # together: ids are numbers when all of them are
    own_image, other = images[: len(image_ids)], images[len(image_ids) :]
    return CaptionRows(own_image, _ids(caption_ids, "ids", where), tuple(captions), where, other)


def parts_of(records: Iterable[Record], fields: Fields) -> list[str]:
    """The distinct values of the field ``split``, none without it."""
    if fields.part is None:
        return []
    return list(dict.fromkeys(str(record.get(fields.part)) for _, record in records))


def files_of(records: Iterable[Record], fields: Fields) -> dict[str, str]:
    """The name of the image file in a field of its own, by the id of the image as a string; none without the field."""
    found: dict[str, str] = {}
    for _, record in records:
        known = {name.strip().lower(): name for name in reversed(list(record))}
        name = next((known[usual] for usual in FILE if usual in known), None)
        if name is not None and name != fields.image and isinstance(record[name], str):
            found[str(record.get(fields.image)).strip()] = record[name].strip()
    return found


def no_fields(names: Iterable[str], where: str, at: str) -> BadInput:
    """The error for records in which ``find_fields`` finds nothing."""
    listed = ", ".join(str(name) for name in list(names)[:12]) or "of nothing"
    return BadInput(f"{at} has the fields {listed}, not a caption and its image", where=where, fix=LAYOUT)


def _caption_id(
    record: Mapping[str, Any], fields: Fields, image: int | str, counted: dict[int | str, int], spot: str
) -> int | str:
    if fields.caption_id is not None:
        return _id(record, fields.caption_id, spot)
    if fields.index is not None:
        index = record.get(fields.index)
        if isinstance(index, str) and (digits := index.strip()).isdecimal() and len(digits) < 19:
            return f"{image}#{int(digits)}"
        return f"{image}#{field(record, fields.index, int, spot)}"
    number = counted.get(image, 0)
    counted[image] = number + 1
    return f"{image}#{number}"


def _id(record: Mapping[str, Any], name: str, spot: str) -> int | str:
    value: int | str = field(record, name, (int, str), spot)
    if isinstance(value, str) and not (value := value.strip()):
        raise BadInput(f"field '{name}' is empty", where=spot, fix="give every caption an id and the id of its image")
    return value


def _ids(values: Sequence[int | str], name: str, where: str) -> Ids:
    if all(isinstance(value, int) for value in values):
        return np.asarray(values)
    return as_ids(text_array([str(value) for value in values], name, where), name, where)
