"""The kinds of files that hold captions, each declared once and recognised by content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import BadInput, UsageError
from ..files.caption_records import Fields, Record, files_of, find_fields, no_fields, parts_of, record_rows
from ..files.caption_rows import CaptionRows
from ..files.caption_text import header_of, of_document, plain_lines, records_of
from ..files.coco_annotations import annotation_files, annotation_rows, is_annotations
from ..files.ids import counts_rows
from ..files.jsonl import is_jsonl
from ..files.karpathy import is_karpathy, karpathy_files, karpathy_rows
from ..files.textfile import parse_json, read_text, shown
from ..options import spell
from ..types import Ids
from . import packages


@dataclass(frozen=True)
class CaptionFile:
    """A file of captions: its path, for messages, and its content."""

    where: str
    text: str

    @cached_property
    def is_document(self) -> bool:
        """Whether it is one JSON document, and not JSON lines."""
        return self.text.lstrip()[:1] in ("{", "[") and not is_jsonl(self.text)

    @cached_property
    def document(self) -> Any:
        """The content as one JSON document; raises BadInput when it is none."""
        return parse_json(self.text, self.where)

    @cached_property
    def records(self) -> list[Record] | None:
        """Its records, see ``caption_text``; None where it has none, as Karpathy's files and annotations."""
        found = of_document(self.document) if self.is_document else records_of(self.text, self.where)
        return None if found is None else list(found)


@dataclass(frozen=True)
class FileSource:
    """One kind of file that holds captions.

    Attributes:
        files: usual files of this kind, for messages.
        recognise: whether a file is of this kind.
        read: its rows; of a file that holds more than a test set, those with the given caption ids.
        whole: all its captions, or those of a part (``val``); None for all, and the test images of a Karpathy file.
        parts: the parts it has, in the order of the file; none when it has no such field.
        images: the names of the image files that it states beside their ids, by the id as a string.
    """

    files: str
    recognise: Callable[[CaptionFile], bool]
    read: Callable[[CaptionFile, Ids | None], CaptionRows]
    whole: Callable[[CaptionFile, str | None], CaptionRows]
    parts: Callable[[CaptionFile], list[str]]
    images: Callable[[CaptionFile], dict[str, str]]


def _annotations(file: CaptionFile, caption_ids: Ids | None) -> CaptionRows:
    if caption_ids is not None:
        first = next((note.get("id") for note in file.document["annotations"] if isinstance(note, dict)), None)
        if caption_ids.dtype.kind != "i" or isinstance(first, str) or counts_rows(caption_ids):
            return _all_annotations(file, None)
    # The official annotations do not list which images are in the test set.
    ids = packages.coco_id_rows().caption_id if caption_ids is None else caption_ids
    return annotation_rows(file.document, file.where, ids)


def _all_annotations(file: CaptionFile, part: str | None) -> CaptionRows:
    """All captions of a file like COCO's, whatever their ids; it has no parts."""
    notes = file.document["annotations"]
    first = notes[0] if notes and isinstance(notes[0], dict) else {}
    fields = _fields(first, file.where, "annotations[0]")
    return record_rows(((f"annotations[{i}]", note) for i, note in enumerate(notes)), fields, file.where)


def _karpathy_parts(file: CaptionFile) -> list[str]:
    found = (image.get("split") for image in file.document["images"] if isinstance(image, dict))
    return list(dict.fromkeys(str(part) for part in found))


def _records(file: CaptionFile) -> tuple[Iterable[Record], Fields]:
    """The records of a file that has some, and their fields."""
    records = file.records or []
    names, at = (records[0][1], records[0][0]) if records else (header_of(file.text, file.where), "line 1")
    return records, _fields(names, file.where, at)


def _rows(file: CaptionFile, part: str | None = None) -> CaptionRows:
    return record_rows(*_records(file), file.where, part)


def _fields(names: Iterable[str], where: str, at: str = "line 1") -> Fields:
    """Which fields hold what, by the names of the first record; BadInput where there is no caption or no image."""
    fields = find_fields(names)
    if fields is None:
        raise no_fields(names, where, at)
    return fields


# The kinds of files, in the order in which they are tried.
FILES: dict[str, FileSource] = {
    "karpathy": FileSource(
        "dataset_coco.json, dataset_flickr30k.json",
        lambda file: file.is_document and is_karpathy(file.document),
        lambda file, caption_ids: karpathy_rows(file.document, file.where),
        lambda file, part: karpathy_rows(file.document, file.where, part or "test", None),
        _karpathy_parts,
        lambda file: karpathy_files(file.document),
    ),
    "annotations": FileSource(
        "captions_val2014.json",
        lambda file: file.is_document and is_annotations(file.document),
        _annotations,
        _all_annotations,
        lambda file: [],
        lambda file: annotation_files(file.document),
    ),
    "records": FileSource(
        "captions as JSON lines or a JSON array, a table (.csv, .tsv)",
        lambda file: file.records is not None,
        lambda file, caption_ids: _rows(file),
        _rows,
        lambda file: parts_of(*_records(file)),
        lambda file: files_of(*_records(file)),
    ),
}


def from_file(path: str | os.PathLike[str], caption_ids: Ids | None = None) -> CaptionRows:
    """The caption rows of a file, plain or gzip.

    Args:
        path: a file of one of the kinds in ``FILES``.
        caption_ids: (caption,) int64 caption ids to take from official annotations, which do not list which images
            are in the test set; by default the ids in the installed package ``eccv_caption``.

    Raises:
        BadInput: unreadable, malformed, truncated or another kind of file.
        MissingPackage: official annotations without a list of the test ids.
    """
    source, file = _recognised(path)
    return source.read(file, caption_ids)


def all_of_file(path: str | os.PathLike[str], part: str | None = None) -> CaptionRows:
    """All captions of a file, plain or gzip, for a data set of one's own.

    Args:
        path: a file of one of the kinds in ``FILES``.
        part: the captions whose field ``split`` has this value; by default ``test`` of a Karpathy file and all of
            others, which then must not have several parts.

    Raises:
        BadInput: unreadable, malformed, truncated, another kind of file, or without the part.
        UsageError: a part of a file without parts, or several parts of which none was chosen.
    """
    return _all(*_recognised(path), part)


def with_image_files(path: str | os.PathLike[str], part: str | None = None) -> tuple[CaptionRows, dict[str, str]]:
    """As ``all_of_file``, with the names of image files that the file states, by the id of the image as a string."""
    source, file = _recognised(path)
    return _all(source, file, part), source.images(file)


def _all(source: FileSource, file: CaptionFile, part: str | None) -> CaptionRows:
    check_part(file.where, part, source.parts(file), source is not FILES["karpathy"])
    return source.whole(file, part)


def check_part(path: str, part: str | None, parts: list[str], chooses: bool = True) -> None:
    """Refuse a part of captions without parts, and with ``chooses`` no part of several; raises UsageError."""
    if part is not None and not parts:
        raise UsageError(
            f"{spell('part')} is '{part}', and the file has no field split", where=path, fix="leave it out"
        )
    if part is None and chooses and len(parts) > 1:
        what = f"holds {len(parts)} parts: {', '.join(parts[:6])}"
        raise UsageError(
            what, where=path, fix=f"choose one with {spell('part', 'test' if 'test' in parts else parts[0])}"
        )


def lines_of(path: str | os.PathLike[str]) -> tuple[str, ...] | None:
    """The captions of a text file with one a line, plain or gzip; None for another kind of file. Raises BadInput."""
    return plain_lines(read_text(path))


def _recognised(path: str | os.PathLike[str]) -> tuple[FileSource, CaptionFile]:
    file = CaptionFile(os.fspath(path), read_text(path))
    for source in FILES.values():
        if source.recognise(file):
            return source, file
    if not file.is_document:
        raise no_fields(header_of(file.text, file.where), file.where, "line 1")
    document = file.document
    if isinstance(document, dict):
        what = f"a JSON object with the fields {', '.join(list(document)[:8]) or '(none)'}"
    else:
        what = f"JSON, but {shown(document)}"
    *most, last = (source.files for source in reversed(FILES.values()))
    fix = f"give {', '.join(most)} or {last}"
    raise BadInput(f"not a file of captions: {what}", where=file.where, fix=fix)
