"""Where captions come from: a file the user names, or installed packages. Files are told apart by content."""

from __future__ import annotations

import os

from ...errors import BadInput
from ...types import Ids
from ..textfile import parse_json, read_text, shown
from . import packages as wheels
from .annotations import annotation_rows, is_annotations
from .jsonl import is_jsonl, jsonl_rows
from .karpathy import is_karpathy, karpathy_rows
from .rows import CaptionRows

ACCEPTED = "captions_val2014.json, dataset_coco.json, dataset_flickr30k.json or captions as JSON lines"


def from_file(path: str | os.PathLike[str], wanted: Ids | None = None) -> CaptionRows:
    """The caption rows of a file, plain or gzip.

    Args:
        path: official COCO annotations, a Karpathy file, or JSON lines (see ``jsonl``).
        wanted: (caption,) int64 caption ids to take from official annotations, which know no test set; read
            from the installed package ``eccv_caption`` when not given.

    Raises:
        BadInput: unreadable, malformed, truncated or another kind of file.
        MissingPackage: official annotations without a list of the test ids.
    """
    where = os.fspath(path)
    text = read_text(path)
    if is_jsonl(text):
        return jsonl_rows(text, where)
    document = parse_json(text, where)
    if is_karpathy(document):
        return karpathy_rows(document, where)
    if is_annotations(document):
        if wanted is None:
            wanted = wheels.coco_id_rows().caption_id
        return annotation_rows(document, where, wanted)
    if isinstance(document, dict):
        what = f"a JSON object with the fields {', '.join(list(document)[:8]) or '(none)'}"
    else:
        what = f"JSON, but {shown(document)}"
    raise BadInput(f"not a file of captions: {what}", where=where, fix=f"give {ACCEPTED}")
