"""The captions of a split: from a file, the cache or installed packages, put in the order of the split."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

import numpy as np

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..files.caption_rows import CaptionRows
from ..files.captions import caption_file
from ..files.ids import counts_rows, match
from ..files.read import read_captions
from ..log import note
from ..options import spell
from ..types import Ids, TestSet
from . import catalogue as splits
from . import stored
from .match import rows_of
from .placing import order, order_note

Captions = str | os.PathLike[str] | Sequence[str]  # a file, or the strings


def is_file(captions: Captions) -> TypeGuard[str | os.PathLike[str]]:
    """Whether captions are given as a file, not as strings."""
    return isinstance(captions, (str, os.PathLike))


def with_captions(split: TestSet, captions: Captions | None = None) -> TestSet:
    """The same split with its captions.

    Args:
        split: declared or custom.
        captions: a file of captions, or a list of them in the order of a text file; None: those of the split, else of
            the cache or the installed packages. JSON lines, tables, Karpathy's files and the official annotations are
            matched by caption id, and so are those in a file of embeddings with text ids. A text file has one caption
            a line: in the order of a declared split (SCAN's ``test_caps.txt``), or for a custom split in the order of
            the text vectors, as has a file of embeddings without text ids.

    Raises:
        BadInput: the file is damaged, lacks captions of the split, or has another number of lines.
        MissingPackage: a declared split whose captions are not installed.
        UsageError: a custom split without captions, whose ids are not those of COCO.
    """
    if captions is not None:
        found = (
            _from_file(split, Path(captions)) if isinstance(captions, (str, os.PathLike)) else _in_rows(split, captions)
        )
    elif split.columns.texts is not None:
        found = split.columns.texts
    elif split.name != "custom":
        found = _by_id(split, splits.load_split(split.name, captions=True))
    else:
        found = _coco_captions(split)
    return split.with_texts(found)


def _from_file(split: TestSet, path: Path) -> tuple[str, ...]:
    if (arrays := read_captions(path)) is not None:
        ids, strings = arrays
        if ids is None:
            return _in_rows(split, strings, path)
        at = rows_of(ids, split.columns.ids, split.rows.ids, "text", split.name, path)
        return tuple(strings[row] for row in at.tolist())
    file = caption_file(path)
    if (lines := file.lines) is not None:
        return _in_rows(split, lines, path)
    return _pick(split, file.rows(), f"{path}")


def _in_rows(split: TestSet, lines: Sequence[str], path: Path | None = None) -> tuple[str, ...]:
    """Captions without ids in the order of the split."""
    if len(lines) != len(split.columns.ids):
        unit, verb = ("line", "holds") if path is not None else ("string", "captions has")
        given, wanted = count_of(len(lines), unit), count_of(len(split.columns.ids), "caption")
        what = f"{verb} {given} for the {wanted} of split '{split.name}'"
        fix = f"give one caption a {'line' if path is not None else 'vector'}, in the order of the text vectors"
        raise BadInput(what, where=path, fix=fix)
    rows = order(split, "caption")
    return tuple(lines) if rows is None else tuple(lines[i] for i in rows.tolist())


def _by_id(split: TestSet, other: TestSet) -> tuple[str, ...]:
    if other.columns.texts is not None and np.array_equal(split.columns.ids, other.columns.ids):
        return other.columns.texts
    rows = CaptionRows(other.rows.ids[other.owners], other.columns.ids, other.columns.texts, other.name)
    return _pick(split, rows, None)


def _pick(split: TestSet, rows: CaptionRows, where: str | None) -> tuple[str, ...]:
    """The string of every caption of the split, by id; by row where the ids of the split are row numbers."""
    if rows.captions is None:
        raise BadInput("holds no captions", where=where, fix="give a file that holds captions")
    n = len(split.columns.ids)
    counted = split.columns.ids.dtype.kind == "i" and np.array_equal(split.columns.ids, np.arange(n))
    if counted and len(rows.captions) == n and not np.isin(rows.caption_id, split.columns.ids).all():
        # Rows correspond only if both have the captions of the same images.
        if not _same_images(rows.image_id, split):
            raise BadInput(
                "has captions of other images than the embeddings, whose texts have no ids but row numbers",
                where=where,
                fix="give text_ids with the embeddings, or the captions in the order of the text vectors",
            )
        note(order_note("captions", ["caption"], split) if split.columns.numbered else "")
        return rows.captions
    at, how = match(split.columns.ids, rows.caption_id)
    note(f"captions are matched {how}" if how else "", weight="detail")
    absent = split.columns.ids[at < 0]
    if len(absent):
        raise BadInput(
            f"lacks {len(absent):,} of the {n:,} captions of split '{split.name}' (first: {absent[0]})",
            where=where,
            fix="give the file that holds every caption, by the ids that the embeddings use",
        )
    if where is not None and not _same_images(rows.image_id[at], split):
        what = "has captions of other images than the embeddings, under the same ids"
        raise BadInput(what, where=where, fix="check image_of_text of the embeddings and the image ids of the captions")
    return tuple(rows.captions[row] for row in at.tolist())


def _same_images(image: Ids, split: TestSet) -> bool:
    """Whether captions, (caption,) each, have the images of the split by their ids; of other names, the same groups."""
    at, _ = match(image, split.rows.ids)
    if not counts_rows(split.rows.ids) and (at >= 0).all():
        return np.array_equal(at, split.owners)
    pairs = np.unique(np.stack([np.unique(x, return_inverse=True)[1] for x in (image, split.owners)]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])) == len(np.unique(pairs[1])))


def _coco_captions(split: TestSet) -> tuple[str, ...]:
    """The captions of a custom split whose caption ids are those of COCO 5K."""
    unknown = UsageError(
        "the captions of a custom split are not known",
        fix=f"give them with {spell('captions', 'FILE')} (.txt with one caption a line, or .jsonl)",
    )
    ids = split.columns.ids
    try:
        known = stored.coco_id_rows().caption_id
        if ids.dtype.kind != "i" or np.array_equal(ids, np.arange(len(ids))) or not np.isin(ids, known).all():
            raise unknown
        return _by_id(split, splits.load_split("coco-5k", captions=True))
    except MissingPackage as error:
        raise unknown from error
