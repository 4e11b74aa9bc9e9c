"""Captions as records with named fields (JSON objects, rows of a table) -> caption rows."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import BadInput, count_of
from ..memory import text_array
from ..options import spell
from ..types import Ids
from .caption_rows import CaptionRows
from .ids import as_ids, refuse_destroyed
from .textfile import field, shown

# The usual names of fields, the first that a file has is taken; compared without case.
CAPTION = ("caption", "captions", "text", "sentence", "sentences", "raw", "comment", "caption_tok")
OTHER = ("description", "descriptions", "encap")  # captions, where no other field has them
_FILE = (
    "image_path",
    "img_path",
    "file_path",
    "filepath",
    "video_path",
    "audio_path",
    "path",
    "image_file",
)  # the image, where nothing else is
IMAGE_ID = (
    "image", "image_id", "img_id", "imgid", "image_name", "file_name", "filename", "video_id", "videoid", "youtube_id",
    "video", "clip_id", "audio_id", "img", *_FILE,
)  # fmt: skip
IMAGES = ("image_ids", "img_ids", "video_ids", "item_ids")  # a list, of the one image of a caption
CAPTION_ID = ("caption_id", "sentence_id", "sentid", "sen_id", "text_id", "id")
INDEX = ("caption_index", "caption_number", "comment_number")
FILE = ("file_name", "filename", "image_name", *_FILE, "file")
PART = ("split", "part", "subset")
EVERY = "all"  # the name of all parts together
_WIDE = re.compile(r"(?:caption|text|sentence|comment|raw)[_ ]?\d+")  # a column for each caption of an image
_LIST = re.compile(r"\s*\[\s*(?:[\"'].*[\"']\s*,?\s*)?\]\s*", re.S)
_LISTS = ("captions", "sentences", "descriptions", "encap")  # names of fields of all captions of an image
SHARED = 0.8  # distinct ids of captions, as a share, from which an id is not one of captions
LAYOUT = "call the caption caption or text, its image image_id or image, and its own id caption_id or id"

Record = tuple[str, Mapping[str, Any]]  # where it is, such as "line 7", and its fields


@dataclass(frozen=True)
class Fields:
    """The names of the fields of a file, None for those it does not have; captions may be in several.

    Without a field of the image it is what the id of a caption begins with, before ``#``.
    """

    captions: tuple[str, ...]
    image: str | None
    caption_id: str | None
    index: str | None
    part: str | None


def find_fields(names: Iterable[str]) -> Fields | None:
    """Which fields hold what, by the names of the first record; None when there is no caption or no image."""
    known = {name.strip().lower(): name for name in reversed(list(names))}

    def first(usual: Sequence[str]) -> str | None:
        return next((known[name] for name in usual if name in known), None)

    image, caption_id = first(IMAGE_ID) or first(IMAGES) or first(("example_id",)), first(CAPTION_ID)
    wide = tuple(name for key, name in reversed(known.items()) if _WIDE.fullmatch(key))
    one = first(CAPTION) or (None if wide else first(OTHER))
    captions = wide if one is None else (one,)
    several = len(captions) > 1 or (one is not None and one.strip().lower() in _LISTS)
    if several and caption_id is not None and caption_id.strip().lower() == "id":
        image, caption_id = image or caption_id, None  # a record is an image with all its captions
    if not captions or (image is None and caption_id in (None, first(("id",)))):
        return None
    # Flickr30K has no ids of captions: image and caption_index are one.
    if {"image", "caption_index"} <= known.keys():
        image, caption_id = known["image"], None
    return Fields(captions, image, caption_id, first(INDEX), first(PART))


def record_rows(records: Iterable[Record], fields: Fields, where: str, part: str | None = None) -> CaptionRows:
    """One row a caption, in the order of the records; further fields are ignored.

    A caption may also be a list of captions; an image with an empty list is a candidate that belongs to no query.
    Without ids of captions the id is ``<image id>#<index>``, where the index is that of the record, or counts the
    captions of the image from 0. Ids are numbers when all of them are.

    Args:
        records: one a caption or one an image.
        fields: from ``find_fields``.
        where: the file, for messages.
        part: only records whose field ``split`` is this one; None for all, as ``EVERY`` where no part has this name.

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
    records = list(records)
    fields = _without_class_ids(records, fields)
    if part == EVERY and EVERY not in parts_of(records, fields):
        part = None
    for at, record in records:
        spot = f"{where}: {at}"
        if part is not None and fields.part is not None:
            found = str(record.get(fields.part))
            parts[found] = None
            if found != part:
                continue
        image = _image(record, fields, spot)
        own = _captions(record, fields, spot)
        if not own:
            others[image] = None
        for caption in own:
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
        if name is not None and name != fields.image and fields.image and isinstance(record[name], str):
            found[str(record.get(fields.image)).strip()] = record[name].strip()
    return found


def no_fields(names: Iterable[str], where: str, at: str) -> BadInput:
    """The error for records in which ``find_fields`` finds nothing."""
    listed = ", ".join(str(name) for name in list(names)[:12]) or "of nothing"
    return BadInput(f"{at} has the fields {listed}, not a caption and its image", where=where, fix=LAYOUT)


def _without_class_ids(records: Sequence[Record], fields: Fields) -> Fields:
    """The fields, without an ``id`` that many captions share: it is that of a class, such as a person."""
    known = {key.strip().lower(): key for key in reversed(list(records[0][1]))} if records else {}
    file = next((known[usual] for usual in FILE if usual in known and known[usual] != fields.image), None)
    if file is not None and fields.image is not None:
        named = {(str(record.get(fields.image)), str(record.get(file))) for _, record in records}
        if len({image for image, _ in named}) < len({path for _, path in named}) == len(named):
            fields = replace(fields, image=file)  # several files under one id are several images
    name = fields.caption_id
    if name is None or name.strip().lower() != "id" or fields.image is None:
        return fields
    ids = [str(record.get(name)) for _, record in records]
    pairs = {(own, str(record.get(fields.image))) for own, (_, record) in zip(ids, records, strict=True)}
    shared = len(set(ids)) <= SHARED * len(ids) and len(pairs) > len(set(ids))
    return replace(fields, caption_id=None) if shared else fields


def _image(record: Mapping[str, Any], fields: Fields, spot: str) -> int | str:
    """The id of the image of a record."""
    if fields.image is None:
        assert fields.caption_id is not None
        own = str(_id(record, fields.caption_id, spot))
        if "#" not in own:
            fix = f"add a column with the image of every caption; {LAYOUT}"
            raise BadInput(f"caption id {shown(own)} has no image in front, before #", where=spot, fix=fix)
        return own.partition("#")[0]
    if not isinstance(record.get(fields.image), list):
        return _id(record, fields.image, spot)
    listed = record[fields.image]
    if len(listed) != 1:
        what = f"field '{fields.image}' lists {count_of(len(listed), 'image')}: a caption of a data set has one"
        fix = f"give the images of a caption as judgements of your vectors: {spell('judgements', 'NAME=FILE')}"
        raise BadInput(what, where=spot, fix=fix)
    return _id({fields.image: listed[0]}, fields.image, spot)


def _captions(record: Mapping[str, Any], fields: Fields, spot: str) -> list[Any]:
    """The captions of a record: of one field or list, or of several fields, of which the last may be empty."""
    if len(fields.captions) == 1:
        own = field(record, fields.captions[0], (str, list), spot)
        return _listed(own) if isinstance(own, str) else own
    values = [record.get(name) for name in fields.captions]
    return [value for value in values if value is not None and not (isinstance(value, str) and not value.strip())]


def _listed(text: str) -> list[Any]:
    """The captions of a cell, which may have a list of texts as JSON or Python write it."""
    for read in (json.loads, ast.literal_eval) if _LIST.fullmatch(text) else ():
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            found = read(text.strip())
            if isinstance(found, list) and all(isinstance(x, str) for x in found):
                return found
    return [text]


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
    refuse_destroyed([value], spot, lambda _: f"field '{name}'")
    return value


def _ids(values: Sequence[int | str], name: str, where: str) -> Ids:
    if all(isinstance(value, int) for value in values):
        return np.asarray(values)
    return as_ids(text_array([str(value) for value in values], name, where), name, where)
