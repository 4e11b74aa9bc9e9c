"""What a file of captions holds, by its content: records with named fields, or captions one a line.

The ending of a name decides nothing. A line that has the id of a caption or of an image in front is never taken for a
sentence, and a line of a plain file may have tabs and commas: a file has ids where each of its lines has one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import BadInput
from .caption_records import CAPTION, LAYOUT, Record, find_fields
from .tables import is_jsonl, is_table, jsonl_records, table_header, table_records
from .textfile import shown, text_lines

_MARKED = re.compile(r"[^\t]*\S#\d+")  # 1007.jpg#0, and 1007#zhm#0
_FILE = re.compile(r".*\.(?:jpe?g|png|gif|webp|bmp|tiff?|mp4|avi|webm|mkv|mov|wav|mp3|flac|ogg|m4a)", re.I)
_WORD = re.compile(r"\S+")
_NUMBERED = re.compile(r"\s*(\d{1,12})(?:\s*[\t,|;:.)]\s*|\s+)(\S.*)")
_DOCUMENT = re.compile(r"\s*(?:\{\s*\"|\[\s*[{\"])")
_PARTS = {"train", "val", "test", "restval", "dev"}
_CLOSED = re.compile(r'"((?:[^"]|"")*)"')


def records_of(text: str, where: str) -> Iterator[Record] | None:
    """The records of a text, one a caption or one an image; None where it has no such fields.

    They are JSON lines, a table with names of columns, or lines with an id in front; of one JSON document see
    ``of_document``.

    Raises:
        BadInput: a line of JSON lines is none, or the first column of a table without names could be anything.
    """
    if is_jsonl(text):
        return jsonl_records(text, where) if find_fields(next(jsonl_records(text, where))[1]) else None
    if is_table(text):
        return table_records(text, where)
    return _headless(_not_numbered(text), where)


def of_document(document: Any) -> Iterator[Record] | None:
    """The records of one JSON document: an array, captions by image, or ``sentences`` of videos; None for others."""
    if isinstance(document, dict) and isinstance(document.get("sentences"), list):
        document = _with_parts(document["sentences"], document.get("videos"))  # MSR-VTT
    if isinstance(document, list):
        first = next(iter(document), None)
        if not isinstance(first, dict) or find_fields(first) is None:
            return None
        return ((f"[{at}]", record) for at, record in enumerate(document))
    if isinstance(document, dict) and document and all(map(_captions, document.values())):
        return ((f"image {shown(image)}", {"image": image, "captions": document[image]}) for image in document)
    return None


def _with_parts(sentences: list[Any], videos: Any) -> list[Any]:
    """The records of sentences, with the ``split`` of their video where that has one and they have not."""
    known = [video for video in videos if isinstance(video, dict)] if isinstance(videos, list) else []
    parts = {str(video.get("video_id")): video["split"] for video in known if "split" in video}
    return [
        {"split": parts[str(said.get("video_id"))], **said}
        if isinstance(said, dict) and str(said.get("video_id")) in parts
        else said
        for said in sentences
    ]


def _captions(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(x, str) for x in value))


def plain_lines(text: str) -> tuple[str, ...] | None:
    """The captions of a text that has one a line, maybe numbered; None for a text with ids or fields.

    A number in front is left out where the lines are numbered from 0 or 1. A JSON array of strings, and a table of one
    column that is called ``caption``, have one a line, too.
    """
    if (alone := _strings(text) or _column(text)) is not None:
        return alone
    if text.lstrip()[:1] in ("{", "[") and _is_json(text):
        return None
    text = _not_numbered(text)
    ids = is_table(text) or _separated(text) or _separated(_last_first(text))
    return None if ids else tuple(text_lines(text))


def _strings(text: str) -> tuple[str, ...] | None:
    """The strings of a JSON array of these."""
    if not re.match(r'\s*\[\s*"', text):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tuple(found) if all(isinstance(x, str) for x in found) else None


def _column(text: str) -> tuple[str, ...] | None:
    """The captions below a heading that names captions alone; commas in them are theirs."""
    heading, _, rest = text.lstrip().partition("\n")
    if _bare(heading).lower() not in CAPTION or not rest.strip():
        return None
    try:
        rows = list(csv.reader(io.StringIO(rest, newline="")))
    except csv.Error:
        return None
    return tuple(",".join(row) for row in rows if row)


def _not_numbered(text: str) -> str:
    """A text without the numbers in front of its lines, where they count from 0 or 1 and are of no file (``0.jpg``)."""
    if (_separated(text) or ("", ""))[1]:
        return text
    found = [_NUMBERED.fullmatch(line) for line in text_lines(text)]
    for first in (0, 1):
        if len(found) > 1 and all(hit and int(hit[1]) == first + n for n, hit in enumerate(found)):
            return "".join(f"{hit[2]}\n" for hit in found if hit)
    return text


def _is_json(text: str) -> bool:
    if _DOCUMENT.match(text) or is_jsonl(text):  # a large document is parsed once, by who reads it
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text.lstrip()[:2].rstrip() in ("{", "[")  # a document that is cut off
    return True


def _separated(text: str) -> tuple[str, str] | None:
    """The mark behind the first field of every line, and what that field is: ``caption_id``, ``image`` or nothing."""
    lines = [line for line in text_lines(text) if line.strip()]
    kinds: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("caption_id", _MARKED.fullmatch), ("image", _FILE.fullmatch), ("", _WORD.fullmatch),
    )  # fmt: skip
    for mark in "\t|,; ":
        heads = [line.strip().partition(mark) for line in lines]
        if not lines or not all(separator and rest.strip() for _, separator, rest in heads):
            continue
        for kind, fits in kinds:
            # A word is an id before a tab alone: captions begin with a word and a comma.
            if (kind or mark == "\t") and all(fits(_bare(head)) for head, *_ in heads):
                return mark, kind
        if mark in "|,;" and len(lines) > 1 and all(_bare(head).isdecimal() for head, *_ in heads):
            return mark, ""
    return None


def _bare(head: str) -> str:
    """The first field of a line without quotes and a colon behind it."""
    return head.strip().strip("\"'").rstrip(":")


def _last_first(text: str) -> str:
    """A text with the last field of its lines in front, where that is the id of a caption or the file of an image."""
    lines = [line for line in text_lines(text) if line.strip()]
    for mark in "\t|,;":
        tails = [line.rpartition(mark) for line in lines]
        for fits in (_MARKED.fullmatch, _FILE.fullmatch):
            if lines and all(said.strip() and fits(_bare(tail)) for said, _, tail in tails):
                return "".join(f"{_bare(tail)}\t{said.strip()}\n" for said, _, tail in tails)
    return text


def _headless(text: str, where: str) -> Iterator[Record] | None:
    """The records of lines with an id in front, and maybe the number of the caption behind it."""
    if (found := _separated(text)) is None:
        text = _last_first(text)
        found = _separated(text)
    if found is None:
        return None
    mark, kind = found
    rows = [(f"line {n}", line) for n, line in enumerate(text_lines(text), 1) if line.strip()]
    heads = [_bare(line.strip().partition(mark)[0]) for _, line in rows]
    if not kind:
        if all(head.isdecimal() for head in heads):
            what = f"line 1 begins with {shown(heads[0])}, which may be the id of a caption, of an image, or a number"
            raise BadInput(what, where=where, fix=f"name the columns in the first line: {LAYOUT}")
        kind = "image"
    fields = [line.split(mark, 2) for _, line in rows]
    numbered = mark != " " and all(len(of) > 2 and of[1].strip().isdecimal() for of in fields)
    parts = {line.rpartition(mark)[2].strip() for _, line in rows}
    if mark == "\t" and parts <= _PARTS and all(line.count(mark) == 2 for _, line in rows):
        rows = [(at, line.rpartition(mark)[0]) for at, line in rows]  # the part behind the caption
    return (_record(at, line.strip(), mark, kind, numbered) for at, line in rows)


def _record(at: str, line: str, mark: str, kind: str, numbered: bool) -> Record:
    head, *middle, rest = line.split(mark, 2 if numbered else 1)
    rest = re.sub(r"\A(?:->|[:|-]) +", "", rest.strip()) if mark == " " else rest.strip()
    if len(rest) > 1 and rest[0] == rest[-1] == "'":
        rest = rest[1:-1]
    if _CLOSED.fullmatch(rest):
        rest = next(csv.reader(io.StringIO(rest), delimiter=mark))[0]
    number = {"caption_index": middle[0].strip()} if middle else {}
    return at, {kind: _bare(head), "caption": rest, **number}


def header_of(text: str, where: str) -> list[str]:
    """The names of the fields of the first record of JSON lines or of a table."""
    return list(next(jsonl_records(text, where))[1]) if is_jsonl(text) else table_header(text)
