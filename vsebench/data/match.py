"""Matches the rows of a file to the items of a split: by id where the file has ids, in order (with a note) otherwise.

A declared split is taken by name or recognised by the ids. Everything else is a custom split, made from the file: the
image of every text is given by ``image_of_text``, known from COCO ids, or follows from the order of the rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage, UsageError
from ..types import Ids, Int, Split
from .audit import shown
from .splits import catalogue as splits
from .splits.identity import matches_ids

_FILE_NAME = re.compile(r"^(?:.*/)?(?:COCO_[A-Za-z0-9]+_)?([0-9]{12})(?:\.[A-Za-z]+)?$")


class SidesSwapped(BadInput):
    """The images of a file look like texts and the texts like images.

    Args:
        why: what shows it.
        where: the file.
    """

    def __init__(self, why: str, where: Path):
        self.why = why
        super().__init__(
            f"images and texts look swapped: {why}",
            where=where,
            fix="save the images as image_embeddings and the texts as text_embeddings (or use --image-key, --text-key)",
        )


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a file: their numbers and ids.

    Attributes:
        n_image: number of image rows.
        n_text: number of text rows.
        image_ids: (n_image,) int64 or unicode, or None.
        text_ids: (n_text,) int64 or unicode, or None.
        image_of_text: (n_text,) int64 image rows or image ids, or unicode image ids, or None.
        where: the file, for messages.
    """

    n_image: int
    n_text: int
    image_ids: Ids | None
    text_ids: Ids | None
    image_of_text: Ids | None
    where: Path


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """A split, and the file row of each of its items.

    Attributes:
        split: the items.
        image_rows: (image,) int64 row of every image, or None when the rows are in the order of the split.
        text_rows: (caption,) int64 row of every caption, or None likewise.
        notes: what was decided, one sentence each.
        warnings: what may be wrong, one sentence each.
    """

    split: Split
    image_rows: Int | None
    text_rows: Int | None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def match_rows(file: FileRows, name: str | None = None, captions_per_image: int | None = None) -> MatchedRows:
    """Match the rows of a file to the items of a split.

    Args:
        file: numbers and ids of its rows.
        name: a declared split or ``custom``; None: the declared split that has the ids, else ``custom``.
        captions_per_image: for files without ids and without image_of_text: texts an image, in order
            (default five).

    Raises:
        BadInput: ids that repeat, are missing or unknown, images and texts that look swapped, wrong numbers of rows.
        UsageError: an unknown split.
    """
    if name is None:
        name = _recognise(file)
    if name == "custom":
        return _custom(file, captions_per_image)
    if captions_per_image is not None:
        raise UsageError(f"--captions-per-image has no meaning for split '{name}'", fix="leave it out")
    return _declared(file, splits.load_split(name))


def _recognise(file: FileRows) -> str:
    if file.image_ids is None and file.text_ids is None:
        return "custom"
    # Ids may be numbers or file names; a declared split has one of the two.
    for form in (np.empty(0, np.int64), np.empty(0, np.str_)):
        image_ids, text_ids = (None if x is None else _converted(x, form) for x in (file.image_ids, file.text_ids))
        found = matches_ids(image_ids, text_ids)
        if found:
            return found
    try:
        known = splits.load_split("coco-5k")
    except MissingPackage:
        return "custom"
    if file.image_ids is not None and file.text_ids is not None:
        image_ids, text_ids = (
            _converted(file.image_ids, known.image_ids),
            _converted(file.text_ids, known.caption_ids),
        )
        if _share(image_ids, known.caption_ids) == 1 and _share(text_ids, known.image_ids) == 1:
            raise SidesSwapped("the image ids are COCO caption ids and the text ids COCO image ids", file.where)
        # A few shared ids may be a coincidence; with nine in ten it is a COCO file with a fault.
        if min(_share(image_ids, known.image_ids), _share(text_ids, known.caption_ids)) >= 0.9:
            try:
                return _declared(file, known).split.name
            except BadInput as error:
                error.fix = f"{error.fix}; or add --split custom to rank the file's own items"
                raise
    return "custom"


def _share(ids: Ids, known: Ids) -> float:
    return float(np.isin(ids, known).mean()) if ids.dtype.kind == known.dtype.kind and len(ids) else 0.0


def _converted(ids: Ids, known: Ids) -> Ids:
    """Ids in the form of the split's: COCO file names become numbers, Flickr numbers become file names."""
    if known.dtype.kind == "i" and ids.dtype.kind == "U":
        names = [_FILE_NAME.match(x) for x in ids.tolist()]
        if all(names):
            return np.array([int(m[1]) for m in names if m], np.int64)
    if known.dtype.kind == "U" and ids.dtype.kind == "i":
        return np.array([f"{x}.jpg" for x in ids.tolist()])
    return ids


def _declared(file: FileRows, split: Split) -> MatchedRows:
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    if file.image_ids is None and file.text_ids is None and (file.n_image, file.n_text) == (n_caption, n_image):
        raise SidesSwapped(f"{file.n_image:,} image rows and {file.n_text:,} text rows for '{split.name}'", file.where)
    rows: list[Int | None] = []
    notes = []
    for side, ids, n, known, other in (
        ("image", file.image_ids, file.n_image, split.image_ids, split.caption_ids),
        ("text", file.text_ids, file.n_text, split.caption_ids, split.image_ids),
    ):
        if ids is None:
            if n != len(known):
                raise BadInput(
                    f"{n:,} {side} rows, but split '{split.name}' has {len(known):,} {side}s",
                    where=file.where,
                    fix=f"save one row for every {side} of the split, or ids ({side}_ids) to match by",
                )
            rows.append(None)
            notes.append(f"no {side} ids: rows are taken to be in the order of {split.name} (Karpathy order)")
        else:
            rows.append(rows_of(_converted(ids, known), known, other, side, split.name, file.where))
    _refuse_contradiction(file, split, rows[0], rows[1])
    return MatchedRows(split, rows[0], rows[1], tuple(notes))


def _refuse_contradiction(file: FileRows, split: Split, image_rows: Int | None, text_rows: Int | None) -> None:
    """Refuse a file whose image_of_text differs from the split: then its rows are not the items they are taken for."""
    if file.image_of_text is None:
        return
    image_row, _ = _given_images(file)
    given = _image_index(file, image_row, image_rows, text_rows)
    wrong = np.flatnonzero(given != split.image_of)
    if len(wrong):
        row = int(wrong[0]) if text_rows is None else int(text_rows[wrong[0]])
        raise BadInput(
            f"image_of_text contradicts split '{split.name}': {len(wrong):,} texts belong to another image "
            f"(first: text row {row})",
            where=file.where,
            fix="save image_ids and text_ids so that rows can be matched, or give --split custom",
        )


def rows_of(ids: Ids, known: Ids, other: Ids, side: str, split: str, where: Path) -> Int:
    """(item,) int64 file row of every item of a split, by id.

    Args:
        ids: (item,) ids of the rows.
        known: (item,) ids of the split.
        other: ids of the other modality in the split, to recognise swapped ones.
        side, split, where: ``image`` or ``text``, the name of the split and the file, for messages.

    Raises:
        BadInput: ids that repeat, are missing or unknown, or are those of the other modality.
    """
    _refuse_repeats(ids, side, where)
    if _share(ids, known) < 0.5 and _share(_converted(ids, other), other) > 0.9:
        raise SidesSwapped(f"the {side} ids are the other side's ids of '{split}'", where)
    if ids.dtype.kind != known.dtype.kind:
        what = f"{side} ids such as '{shown(ids[0])}' are not ids of split '{split}' (such as '{known[0]}')"
        raise BadInput(what, where=where, fix=f"save the {side} ids of the data set, or give --split custom")
    missing = known[~np.isin(known, ids)]
    unknown = ids[~np.isin(ids, known)]
    if len(missing) or len(unknown):
        parts = []
        if len(missing):
            parts.append(
                f"{len(missing):,} of the {len(known):,} {side} ids of split '{split}' are missing "
                f"(first: {shown(missing[0])})"
            )
        if len(unknown):
            parts.append(f"{len(unknown):,} {side} ids are unknown to it (first: {shown(unknown[0])})")
        raise BadInput("; ".join(parts), where=where, fix=f"encode every {side} of the split and nothing else")
    order = np.argsort(ids, kind="stable")
    return order[np.searchsorted(ids[order], known)]


def _refuse_repeats(ids: Ids, side: str, where: Path) -> None:
    unique, count = np.unique(ids, return_counts=True)
    if len(unique) < len(ids):
        first = unique[count > 1][0]
        occurs = np.flatnonzero(ids == first)
        n = int((count > 1).sum())
        raise BadInput(
            f"{n:,} {side} {'ids occur' if n > 1 else 'id occurs'} more than once "
            f"(first: {shown(first)}, in rows {occurs[0]} and {occurs[1]})",
            where=where,
            fix=f"save every {side} once",
        )


def _custom(file: FileRows, captions_per_image: int | None) -> MatchedRows:
    notes = []
    for side, ids, n in (("image", file.image_ids, file.n_image), ("text", file.text_ids, file.n_text)):
        if ids is not None:
            _refuse_repeats(ids, side, file.where)
            if len(ids) != n:
                what = f"{len(ids):,} {side} ids for {n:,} {side} rows"
                raise BadInput(what, where=file.where, fix="save one id a row")
    if file.image_of_text is not None:
        if captions_per_image is not None:
            what = "--captions-per-image has no meaning: image_of_text gives the image of every text"
            raise UsageError(what, where=file.where, fix="leave it out")
        image_row, note = _given_images(file)
    else:
        image_row, note = _images_of_coco_ids(file) or _images_in_order(file, captions_per_image)
    notes.append(note)
    warnings = _images_without_texts(image_row, file)
    # The order is ascending by id, so that the order of rows in the file cannot decide a tie.
    image_rows = None if file.image_ids is None else np.argsort(file.image_ids, kind="stable")
    text_rows = None if file.text_ids is None else np.argsort(file.text_ids, kind="stable")
    image_of = _image_index(file, image_row, image_rows, text_rows)
    image_ids = np.arange(file.n_image) if file.image_ids is None else file.image_ids[image_rows]
    text_ids = np.arange(file.n_text) if file.text_ids is None else file.text_ids[text_rows]
    try:
        split = Split("custom", image_ids, text_ids, image_of)
    except BadInput as error:
        raise BadInput(error.what, where=file.where, fix=error.fix) from None
    return MatchedRows(split, image_rows, text_rows, tuple(notes), warnings)


def _image_index(file: FileRows, image_row: Int, image_rows: Int | None, text_rows: Int | None) -> Int:
    """(caption,) index of the image of every caption of a split, from (text,) image rows of the file."""
    index = np.arange(file.n_image)
    if image_rows is not None:
        index[image_rows] = np.arange(file.n_image)
    return index[image_row if text_rows is None else image_row[text_rows]]


def _images_without_texts(image_row: Int, file: FileRows) -> tuple[str, ...]:
    """A warning when images have no text: they enlarge the gallery intentionally, or image_of_text is wrong."""
    without = np.flatnonzero(np.bincount(image_row, minlength=file.n_image) == 0)
    if not len(without):
        return ()
    first = int(without[0])
    name = "" if file.image_ids is None else f" (id {shown(file.image_ids[first])})"
    return (
        f"{len(without):,} of the {file.n_image:,} images have no text (first: image row {first}{name}): "
        "they are candidates in text-to-image and no queries in image-to-text",
    )


def _given_images(file: FileRows) -> tuple[Int, str]:
    """(text,) image row of every text from image_of_text, which holds rows or image ids."""
    given = file.image_of_text
    if given is None or len(given) != file.n_text:
        length = 0 if given is None else len(given)
        if length == file.n_image != file.n_text:
            raise SidesSwapped(f"image_of_text has {length:,} entries, as many as there are image rows", file.where)
        what = f"image_of_text has {length:,} entries for {file.n_text:,} text rows"
        raise BadInput(what, where=file.where, fix="give one image row (counted from 0) or image id for every text")
    if given.dtype.kind == "i" and given.min() >= 0 and given.max() < file.n_image:
        return given, "image_of_text holds image rows"
    if file.image_ids is not None and file.image_ids.dtype.kind == given.dtype.kind:
        known = np.isin(given, file.image_ids)
        if known.all():
            order = np.argsort(file.image_ids, kind="stable")
            return order[np.searchsorted(file.image_ids[order], given)], "image_of_text holds image ids"
        # Most entries are rows, or most are ids: name the first that is not.
        inside = (given >= 0) & (given < file.n_image) if given.dtype.kind == "i" else known
        bad = int(np.flatnonzero(~(inside if inside.sum() > known.sum() else known))[0])
        raise BadInput(
            f"image_of_text[{bad}] = {shown(given[bad])} is neither an image row ({file.n_image:,} rows) "
            "nor an image id",
            where=file.where,
            fix="give one image row (counted from 0) or image id for every text",
        )
    bad = 0 if given.dtype.kind != "i" else int(np.flatnonzero((given < 0) | (given >= file.n_image))[0])
    raise BadInput(
        f"image_of_text[{bad}] = {shown(given[bad])} is not an image row (there are {file.n_image:,}) and the file "
        "has no image ids of that kind",
        where=file.where,
        fix="count image rows from 0, or save image_ids as well",
    )


def _images_of_coco_ids(file: FileRows) -> tuple[Int, str] | None:
    """(text,) image row of every text when all ids are in COCO 5K, whose subsets are custom splits; else None."""
    if file.image_ids is None or file.text_ids is None:
        return None
    try:
        known = splits.load_split("coco-5k")
    except MissingPackage:
        return None
    image_ids, text_ids = _converted(file.image_ids, known.image_ids), _converted(file.text_ids, known.caption_ids)
    if _share(image_ids, known.image_ids) < 1 or _share(text_ids, known.caption_ids) < 1:
        return None
    order = np.argsort(known.caption_ids, kind="stable")
    image_of = known.image_ids[known.image_of[order[np.searchsorted(known.caption_ids[order], text_ids)]]]
    absent = ~np.isin(image_of, image_ids)
    if absent.any():
        first = int(np.flatnonzero(absent)[0])
        raise BadInput(
            f"{int(absent.sum()):,} texts belong to images that are not in the file "
            f"(first: caption {text_ids[first]} of image {image_of[first]})",
            where=file.where,
            fix="save the images of all texts, or leave those texts out",
        )
    order = np.argsort(image_ids, kind="stable")
    return order[np.searchsorted(image_ids[order], image_of)], "the image of every text is known from the COCO ids"


def _images_in_order(file: FileRows, captions_per_image: int | None) -> tuple[Int, str]:
    times = captions_per_image or 5
    if file.n_text != times * file.n_image:
        if captions_per_image is None and file.n_image == 5 * file.n_text:
            raise SidesSwapped(f"{file.n_image:,} image rows and {file.n_text:,} text rows", file.where)
        each = file.n_text / file.n_image
        fix = "save image_of_text (the image row of every text)"
        if each.is_integer():
            fix += f", or give --captions-per-image {each:.0f} if text rows follow the images in order"
        raise BadInput(
            f"{file.n_text:,} texts for {file.n_image:,} images, and no image_of_text that gives the image "
            "of every text",
            where=file.where,
            fix=fix,
        )
    words = "one text an image" if times == 1 else f"{'five' if times == 5 else times} texts an image"
    seen = "no ids" if file.image_ids is None and file.text_ids is None else "ids of no installed split"
    return np.arange(file.n_text) // times, f"{seen} and no image_of_text: taken to be {words}, in order"
