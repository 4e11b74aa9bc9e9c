"""Captions as JSON lines, one caption or one image with its captions a line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..errors import BadInput
from .caption_records import Record, find_fields
from .textfile import parse_json, shown


def is_jsonl(text: str) -> bool:
    """Whether the first line is a JSON object that has the fields of a caption or is followed by another object."""
    first, *rest = text.lstrip().split("\n", 1)
    if len(first) > 1_000_000:  # a complete document on one line
        return False
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict):
        return False
    return find_fields(record) is not None or (bool(rest) and rest[0].lstrip().startswith("{"))


def jsonl_records(text: str, where: str) -> Iterator[Record]:
    """The objects of the lines, with their line numbers; raises BadInput for a line that is no JSON object."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = parse_json(line, f"{where}: line {number}")
            if not isinstance(record, dict):
                what = f"a JSON object is expected, found {shown(record)}"
                raise BadInput(what, where=f"{where}: line {number}", fix="write one JSON object a line")
            yield f"line {number}", record
