"""The sources of captions, each declared once: kinds of files, recognised by content, and installed packages."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...errors import BadInput
from ...types import Ids
from ..textfile import parse_json, read_text, shown
from . import packages
from .annotations import annotation_rows, is_annotations
from .jsonl import is_jsonl, jsonl_rows
from .karpathy import is_karpathy, karpathy_rows
from .rows import CaptionRows


@dataclass(frozen=True)
class CaptionFile:
    """A file of captions: its path, for messages, and its content."""

    where: str
    text: str

    @cached_property
    def document(self) -> Any:
        """The content as one JSON document; raises BadInput when it is none."""
        return parse_json(self.text, self.where)


@dataclass(frozen=True)
class FileSource:
    """One kind of file that holds captions.

    Attributes:
        files: usual files of this kind, for messages.
        recognise: whether a file is of this kind.
        read: its rows; of a file that holds more than a test set, those with the given caption ids.
    """

    files: str
    recognise: Callable[[CaptionFile], bool]
    read: Callable[[CaptionFile, Ids | None], CaptionRows]


@dataclass(frozen=True)
class PackageSource:
    """Installed packages that hold a split: whether they are there, and reading rows without and with captions."""

    has_ids: Callable[[], bool]
    has_captions: Callable[[], bool]
    ids: Callable[[], CaptionRows]
    rows: Callable[[], CaptionRows]


def _annotations(file: CaptionFile, caption_ids: Ids | None) -> CaptionRows:
    # The official annotations do not list which images are in the test set.
    ids = packages.coco_id_rows().caption_id if caption_ids is None else caption_ids
    return annotation_rows(file.document, file.where, ids)


# The kinds of files, in the order in which they are tried. JSON lines come first: they are not one JSON document.
FILES: dict[str, FileSource] = {
    "jsonl": FileSource(
        "captions as JSON lines",
        lambda file: is_jsonl(file.text),
        lambda file, caption_ids: jsonl_rows(file.text, file.where),
    ),
    "karpathy": FileSource(
        "dataset_coco.json, dataset_flickr30k.json",
        lambda file: is_karpathy(file.document),
        lambda file, caption_ids: karpathy_rows(file.document, file.where),
    ),
    "annotations": FileSource("captions_val2014.json", lambda file: is_annotations(file.document), _annotations),
}
# Packages, by the split that they hold.
PACKAGES: dict[str, PackageSource] = {
    "coco-5k": PackageSource(packages.has_ids, packages.has_captions, packages.coco_id_rows, packages.coco_rows)
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
    file = CaptionFile(os.fspath(path), read_text(path))
    for source in FILES.values():
        if source.recognise(file):
            return source.read(file, caption_ids)
    document = file.document
    if isinstance(document, dict):
        what = f"a JSON object with the fields {', '.join(list(document)[:8]) or '(none)'}"
    else:
        what = f"JSON, but {shown(document)}"
    *most, last = (source.files for source in reversed(FILES.values()))
    fix = f"give {', '.join(most)} or {last}"
    raise BadInput(f"not a file of captions: {what}", where=file.where, fix=fix)
