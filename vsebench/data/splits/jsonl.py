"""Captions as JSON lines, one caption a line."""

from __future__ import annotations

import json

import numpy as np

from ...errors import BadInput
from ..textfile import field, parse_json
from .rows import CaptionRows

COCO_FIELDS = ("caption_id", "image_id", "caption")
FILE_FIELDS = ("image", "caption_index", "caption")


def is_jsonl(text: str) -> bool:
    """Whether the first line is a JSON object that has the fields of a caption or is followed by another object."""
    first, *rest = text.lstrip().split("\n", 1)
    if len(first) > 1_000_000:  # a complete document on one line
        return False
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    has_fields = isinstance(record, dict) and len({*COCO_FIELDS, *FILE_FIELDS} & record.keys()) >= 2
    return has_fields or (isinstance(record, dict) and bool(rest) and rest[0].lstrip().startswith("{"))


def jsonl_rows(text: str, where: str) -> CaptionRows:
    """One row a line, in file order; empty lines are skipped, further fields are ignored.

    A line holds either ``caption_id`` (integer), ``image_id`` (integer) and ``caption``, or
    ``image`` (file name), ``caption_index`` (0-4) and ``caption``; the second kind gives the caption id
    ``<file name>#<index>``. The first line decides the kind for the file.

    Raises:
        BadInput: a line is no JSON, or a field is missing or of another type (with its line number).
    """
    image_ids: list[int | str] = []
    caption_ids: list[int | str] = []
    captions: list[str] = []
    named: bool | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        at = f"{where}: line {number}"
        record = parse_json(line, at)
        if named is None:
            named = isinstance(record, dict) and len(set(FILE_FIELDS) & record.keys()) == 3
            if not named and isinstance(record, dict) and not record.keys() >= set(COCO_FIELDS):
                raise BadInput(
                    f"line {number} has the fields {', '.join(map(str, record)) or 'of nothing'}",
                    where=where,
                    fix=f"give every line {', '.join(COCO_FIELDS)}, or {', '.join(FILE_FIELDS)}",
                )
        if named:
            name, index = field(record, "image", str, at), field(record, "caption_index", int, at)
            image_ids.append(name)
            caption_ids.append(f"{name}#{index}")
        else:
            image_ids.append(field(record, "image_id", int, at))
            caption_ids.append(field(record, "caption_id", int, at))
        captions.append(field(record, "caption", str, at))
    return CaptionRows(np.asarray(image_ids), np.asarray(caption_ids), tuple(captions), where)
