"""Files that hold captions, recognised by their content: Karpathy's, official annotations, and all with records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import BadInput, UsageError
from ..files.caption_records import EVERY, Fields, Record, files_of, find_fields, no_fields, parts_of, record_rows
from ..files.caption_rows import CaptionRows
from ..files.caption_text import header_of, of_document, plain_lines, records_of
from ..files.ids import counts_rows
from ..files.karpathy import (
    annotation_files,
    annotation_rows,
    is_annotations,
    is_karpathy,
    karpathy_files,
    karpathy_rows,
)
from ..files.tables import is_jsonl
from ..files.textfile import parse_json, read_text, shown
from ..options import spell
from ..types import Ids
from . import stored

USUAL = "captions as JSON lines or a JSON array, a table (.csv, .tsv), captions_val2014.json or dataset_coco.json, "
USUAL += "dataset_flickr30k.json"


@dataclass(frozen=True)
class CaptionFile:
    """A file of captions: its path, for messages, and its content, which decides what it is.

    Karpathy's files and COCO's official annotations have rules of their own; every other file has records, and so have
    annotations of other captions.
    """

    where: str
    text: str

    @cached_property
    def document(self) -> Any:
        """The content where it is one JSON document, and not JSON lines; else None. Raises BadInput for a bad one."""
        document = self.text.lstrip()[:1] in ("{", "[") and not is_jsonl(self.text)
        return parse_json(self.text, self.where) if document else None

    @cached_property
    def karpathy(self) -> bool:
        """Whether it is a file like Karpathy's."""
        return is_karpathy(self.document)

    @cached_property
    def records(self) -> tuple[list[Record], Fields]:
        """Its records and their fields; raises BadInput where it has none, or no caption, or no image."""
        if is_annotations(self.document):
            found = [(f"annotations[{i}]", note) for i, note in enumerate(self.document["annotations"])]
            first: Iterable[str] = next((note for _, note in found if isinstance(note, dict)), {})
            at = "annotations[0]"
        else:
            of = records_of(self.text, self.where) if self.document is None else of_document(self.document)
            if of is None and self.document is not None:
                raise self._unknown()
            found = list(of or ())
            first, at = (found[0][1], found[0][0]) if found else (header_of(self.text, self.where), "line 1")
        fields = find_fields(first)
        if fields is None:
            raise no_fields(first, self.where, at)
        return found, fields

    @property
    def parts(self) -> list[str]:
        """The parts it has, in the order of the file; none when it has no such field."""
        if not self.karpathy:
            return parts_of(*self.records)
        images = (image for image in self.document["images"] if isinstance(image, dict))
        return list(dict.fromkeys(str(image.get("split")) for image in images))

    @property
    def images(self) -> dict[str, str]:
        """The names of the image files that it states beside their ids, by the id as a string."""
        if self.karpathy:
            return karpathy_files(self.document)
        return annotation_files(self.document) if is_annotations(self.document) else files_of(*self.records)

    def rows(self, part: str | None) -> CaptionRows:
        """All captions, or those of a part, or of ``EVERY`` one; without one the test images of a Karpathy file."""
        if self.karpathy:
            return karpathy_rows(self.document, self.where, None if part == EVERY else part or "test", None)
        return record_rows(*self.records, self.where, part)

    def _unknown(self) -> BadInput:
        what = f"JSON, but {shown(self.document)}"
        if isinstance(self.document, dict):
            what = f"a JSON object with the fields {', '.join(list(self.document)[:8]) or '(none)'}"
        return BadInput(f"not a file of captions: {what}", where=self.where, fix=f"give {USUAL}")


def from_file(path: str | os.PathLike[str], caption_ids: Ids | None = None) -> CaptionRows:
    """The caption rows of a file, plain or gzip.

    Args:
        path: a file of captions.
        caption_ids: (caption,) int64 caption ids to take from official annotations, which do not list which images
            are in the test set; by default the ids in the installed package ``eccv_caption``.

    Raises:
        BadInput: unreadable, malformed, truncated or another kind of file.
        MissingPackage: official annotations without a list of the test ids.
    """
    file = CaptionFile(os.fspath(path), read_text(path))
    if file.karpathy:
        return karpathy_rows(file.document, file.where)
    if is_annotations(file.document):
        first = next((note.get("id") for note in file.document["annotations"] if isinstance(note, dict)), None)
        ids = stored.coco_id_rows().caption_id if caption_ids is None else caption_ids
        if caption_ids is None or not (ids.dtype.kind != "i" or isinstance(first, str) or counts_rows(ids)):
            return annotation_rows(file.document, file.where, ids)
    return file.rows(None)


def all_of_file(path: str | os.PathLike[str], part: str | None = None) -> CaptionRows:
    """All captions of a file, plain or gzip, for a data set of one's own.

    Args:
        path: a file of captions.
        part: the captions whose field ``split`` has this value, ``all`` for those of every part; by default ``test`` of
            a Karpathy file and all of others, which then must not have several parts.

    Raises:
        BadInput: unreadable, malformed, truncated, another kind of file, or without the part.
        UsageError: a part of a file without parts, or several parts of which none was chosen.
    """
    return _with_part(path, part).rows(part)


def with_image_files(path: str | os.PathLike[str], part: str | None = None) -> tuple[CaptionRows, dict[str, str]]:
    """As ``all_of_file``, with the names of image files that the file states, by the id of the image as a string."""
    file = _with_part(path, part)
    return file.rows(part), file.images


def _with_part(path: str | os.PathLike[str], part: str | None) -> CaptionFile:
    file = CaptionFile(os.fspath(path), read_text(path))
    check_part(file.where, part, file.parts, not file.karpathy)
    return file


def check_part(path: str, part: str | None, parts: list[str], chooses: bool = True) -> None:
    """Refuse a part of captions without parts, and with ``chooses`` no part of several; raises UsageError."""
    if part is not None and not parts:
        raise UsageError(
            f"{spell('part')} is '{part}', and the file has no field split", where=path, fix="leave it out"
        )
    if part is None and chooses and len(parts) > 1:
        what = f"holds {len(parts)} parts: {', '.join(parts[:6])}"
        raise UsageError(
            what, where=path,
            fix=f"choose one with {spell('part', 'test' if 'test' in parts else parts[0])}, or {EVERY}",
        )  # fmt: skip


def lines_of(path: str | os.PathLike[str]) -> tuple[str, ...] | None:
    """The captions of a text file with one a line, plain or gzip; None for another kind of file. Raises BadInput."""
    return plain_lines(read_text(path))
