"""The image of every text: given by row, by id or as numbers of texts; known from ids; or in the order of the rows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage, count_of
from ..files.audit import shown
from ..files.ids import match, without_ending
from ..files.members import OWNER_IDS, OWNER_ROWS
from ..files.raw import Raw
from ..files.sniff import sniff
from ..options import spell
from ..types import Ids, Int, Split
from . import catalogue as splits
from .caption_files import from_file, lines_of
from .items import equal_images
from .placing import suggestion

_SEPARATOR = re.compile(r"[#_:.\- ]")


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
            fix="save the images as image_embeddings and the texts as text_embeddings "
            f"(or use {spell('image_key')}, {spell('text_key')})",
        )


class NoOwners(BadInput):
    """Nothing tells the image of a text."""


def known_owners(file: Raw, captions: Path | None) -> tuple[Int, str] | None:
    """(text,) image row of every text where ids or a file of captions tell it, and a note; else None.

    Args:
        file: as read.
        captions: a file of captions with their ids and those of their images; None for none.
    """
    return _images_of_coco_ids(file) or _images_of_text_ids(file) or _images_of_captions(file, captions)


def named_by_text_ids(file: Raw) -> tuple[Raw, str]:
    """The rows, with the ids of texts as those of their images where each is one of them; and the note on it."""
    images, texts = file.image_ids, file.text_ids
    if file.image_of_text is not None or images is None or texts is None or len(texts) != file.n_text:
        return file, ""
    rows, how = match(texts, images)
    if texts.dtype.kind == "i" and file.n_text > file.n_image and not (np.diff(texts) == 0).any():
        times = len(np.unique(texts))  # the numbers of the captions of every image
        if np.array_equal(texts, np.tile(np.arange(times), file.n_text // times + 1)[: file.n_text]):
            return file, ""
    # Numbers of images and of texts may be the same by coincidence.
    if (rows < 0).any() or (images.dtype.kind == "i" and len(np.unique(rows)) < len(images)):
        return file, ""
    note = f"the text ids are image ids{f' ({how})' if how else ''}: the image of every text is known from them"
    return replace(file, image_of_text=rows, text_ids=None, holds="rows"), note


def given_owners(file: Raw) -> tuple[Int, str]:
    """(text,) image row of every text from image_of_text, which holds rows or image ids."""
    given = file.image_of_text
    if given is not None and file.holds == "counts":
        if len(given) != file.n_image or (found := _counted(given, file.n_text, file.where)) is None:
            shows = shown(given[0]) if len(given) else "none"
            what = f"the numbers of texts of {len(given):,} images (first: {shows}) do not fit "
            what += f"{file.n_text:,} texts of {file.n_image:,} images"
            fix = "give image_of_text, the image row (counted from 0) or image id of every text, instead"
            raise BadInput(what, where=file.where, fix=fix)
        return found
    if given is None or len(given) != file.n_text:
        length = 0 if given is None else len(given)
        if (
            given is not None
            and length == file.n_image
            and file.holds == "rows or ids"
            and (repeats := _counted(given, file.n_text, file.where)) is not None
        ):
            return repeats
        if length == file.n_image != file.n_text and file.holds == "rows or ids":
            raise SidesSwapped(f"image_of_text has {length:,} entries, as many as there are image rows", file.where)
        what = f"image_of_text has {length:,} entries for {file.n_text:,} text rows"
        raise BadInput(what, where=file.where, fix="give one image row (counted from 0) or image id for every text")
    numbers = file.holds != "ids" and given.dtype.kind == "i"
    as_rows = given if numbers and given.min() >= 0 and given.max() < file.n_image else None
    as_ids = None if file.holds == "rows" else _rows_of_image_ids(file, given)
    if as_rows is not None and as_ids is not None:
        differ = np.flatnonzero(as_rows != as_ids)
        if len(differ):
            first = int(differ[0])
            raise BadInput(
                f"image_of_text can be read as image rows and as image ids, which differ for {len(differ):,} of the "
                f"{len(given):,} texts (first: text row {first}, where {shown(given[first])} is image row "
                f"{as_rows[first]} or the id of image row {as_ids[first]})",
                where=file.where,
                fix=f"name the array {OWNER_IDS[0]} if it holds ids, {OWNER_ROWS[0]} if it holds rows (from 0)",
            )
    if as_rows is not None:
        return as_rows, "image_of_text holds image rows"
    if as_ids is not None:
        return as_ids, "image_of_text holds image ids"
    raise _no_image(file, given)


def _counted(given: Ids, n_text: int, where: Path) -> tuple[Int, str] | None:
    """(text,) image row of every text where the number of texts of every image is given, or the first or last row."""
    if given.dtype.kind != "i" or not len(given) or given.min() < 0:
        return None
    ends = given + 1 if given[-1] == n_text - 1 else given
    ascends = bool((np.diff(given) > 0).all())
    found: dict[str, Int] = {}
    if given[0] == 0 and ascends and given[-1] < n_text:
        found["the row of the first text of every image"] = np.diff(given, append=n_text)
    if given.sum() == n_text:
        found["the number of the texts of every image"] = given
    if ends[-1] == n_text and (np.diff(ends) >= 0).all():
        found["the row of the last text of every image"] = np.diff(ends, prepend=0)
    if len({tuple(counts.tolist()) for counts in found.values()}) > 1:
        what = f"image_of_text may be {' or '.join(found)}"
        raise BadInput(what, where=where, fix="give one image row (counted from 0) or image id for every text")
    return next(
        ((np.repeat(np.arange(len(given)), n), f"image_of_text holds {words}") for words, n in found.items()), None
    )


def _rows_of_image_ids(file: Raw, given: Ids) -> Int | None:
    """(text,) row of the image with each id, or None when some are not ids of the images, in any spelling."""
    if file.image_ids is None:
        return None
    at, _ = match(given, file.image_ids)
    return at if len(np.unique(file.image_ids)) == len(file.image_ids) and (at >= 0).all() else None


def _no_image(file: Raw, given: Ids) -> BadInput:
    """What is wrong with image_of_text, whose entries are neither rows nor ids: the first such entry."""
    numbers = given.dtype.kind == "i" and file.holds != "ids"
    inside = (given >= 0) & (given < file.n_image) if numbers else np.zeros(len(given), np.bool_)
    if file.image_ids is None and file.holds == "ids":
        return BadInput(
            f"the image of every text is given by id (first: {shown(given[0])}), and the image rows have no ids",
            where=file.where,
            fix="save the ids of the images as well; an .npz may hold image_of_text, the row of every text's image",
        )
    ids = None if file.holds == "rows" else file.image_ids
    if ids is not None and ids.dtype.kind == given.dtype.kind:
        known = np.isin(given, ids)
        # Most entries are rows, or most are ids: name the first that is not.
        bad = int(np.flatnonzero(~(inside if inside.sum() > known.sum() else known))[0])
        neither = "is neither an image row ({n:,} rows) nor an image id" if numbers else "is not an image id"
        what = f"image_of_text[{bad}] = {shown(given[bad])} " + neither.format(n=file.n_image)
        fix = (
            "give one image row (counted from 0) or image id for every text" if numbers else "give an id for every text"
        )
        return BadInput(what, where=file.where, fix=fix)
    bad = int(np.flatnonzero(~inside)[0])
    return BadInput(
        f"image_of_text[{bad}] = {shown(given[bad])} is not an image row (there are {file.n_image:,}) and the file "
        "has no image ids of that kind",
        where=file.where,
        fix="count image rows from 0, or give image_ids as well",
    )


def places_in_coco(file: Raw) -> tuple[Split, Int, Int] | None:
    """COCO 5K, and (row,) index in it of images and texts, -1 of others; None without ids, or without COCO."""
    if file.image_ids is None or file.text_ids is None:
        return None
    try:
        known = splits.load_split("coco-5k")
    except MissingPackage:
        return None
    return known, match(file.image_ids, known.image_ids)[0], match(file.text_ids, known.caption_ids)[0]


def _images_of_coco_ids(file: Raw) -> tuple[Int, str] | None:
    """(text,) image row of every text when all ids are in COCO 5K, whose subsets are custom splits; else None."""
    if (coco := places_in_coco(file)) is None:
        return None
    known, images, texts = coco
    if (images < 0).any() or (texts < 0).any():
        return None
    row = np.full(len(known.image_ids), -1)
    row[images] = np.arange(len(images))
    image_row = row[known.owners[texts]]
    absent = image_row < 0
    if absent.any():
        first = texts[np.flatnonzero(absent)[0]]
        raise BadInput(
            f"{count_of(int(absent.sum()), 'text belongs', 'texts belong')} to images that are not in the file "
            f"(first: caption {known.caption_ids[first]} of image {known.image_ids[known.owners[first]]})",
            where=file.where,
            fix="save the images of all texts, or leave those texts out",
        )
    return image_row, "the image of every text is known from the COCO ids"


def _images_of_text_ids(file: Raw) -> tuple[Int, str] | None:
    """(text,) image row of every text, if each text id contains one image id, as ``1007.jpg#0`` and ``video7_0``."""
    if file.image_ids is None or file.text_ids is None or file.text_ids.dtype.kind != "U":
        return None
    parts = [text.strip().rpartition("#") for text in file.text_ids.tolist()]
    if all(number.isdecimal() for *_, number in parts):
        image_row = _rows_of_image_ids(file, np.array([image for image, *_ in parts]))
        if image_row is not None:
            return image_row, "the image of every text is known from the text ids"
    image_row, _ = _rows_by_parts(file.text_ids, file.image_ids)
    if (image_row < 0).any() and file.n_text == file.n_image:  # the id of a text is in that of its image
        text_row, _ = _rows_by_parts(file.image_ids, file.text_ids)
        if np.array_equal(np.sort(text_row), np.arange(file.n_image)):
            image_row = np.argsort(text_row)
    if (image_row < 0).any() or len(np.unique(image_row)) < file.n_image:
        return None
    pair = f"text {shown(file.text_ids[0])} is of image {shown(file.image_ids[image_row[0]])}"
    return image_row, f"the image of every text follows from the ids: {pair}"


def _rows_by_parts(ids: Ids, known: Ids) -> tuple[Int, Int]:
    """(id,) row of the one known id that an id contains between separators, -1 for none or several; and how many."""
    rows: dict[str, set[int]] = {}
    for row, name in enumerate(map(str, known.tolist())):
        for key in {name.casefold(), without_ending(name).casefold()}:
            rows.setdefault(key, set()).add(row)
    found, count = np.full(len(ids), -1), np.zeros(len(ids), np.int64)
    for at, name in enumerate(map(str, ids.tolist())):
        cuts = [-1, *(cut.start() for cut in _SEPARATOR.finditer(name)), len(name)]
        parts = {name[a + 1 : b].strip().casefold() for k, a in enumerate(cuts) for b in cuts[k + 1 :]}
        held = set[int]().union(*(rows[part] for part in parts if part in rows))
        count[at] = len(held)
        found[at] = held.pop() if len(held) == 1 else -1
    return found, count


def _refuse_odd_ids(file: Raw) -> None:
    """Refuse text ids if most contain an image id, but one contains none or several."""
    if file.image_ids is None or file.text_ids is None or file.text_ids.dtype.kind != "U":
        return
    found, count = _rows_by_parts(file.text_ids, file.image_ids)
    odd, held = np.flatnonzero(found < 0), int((count > 0).sum())
    if 2 * held >= len(count) and len(odd):
        other = f"'{shown(file.text_ids[odd[0]])}' contains {'several' if count[odd[0]] else 'none'}"
        what = f"{held:,} of {len(found):,} text ids contain an image id, but {other}"
        fix = "give every text the id of its image and a number, as in 1007.jpg#0, or image_of_text"
        raise BadInput(what, where=file.where, fix=fix)


def _images_of_captions(file: Raw, path: Path | None) -> tuple[Int, str] | None:
    """(text,) image row of every text by the file of captions, where that has ids, among them all of the file's."""
    if file.image_ids is None or file.text_ids is None or path is None:
        return None
    if path.is_file() and (sniff(path).matrix or lines_of(path) is not None):
        return None  # captions without the ids of images
    rows = from_file(path, file.text_ids)
    at, _ = match(file.text_ids, rows.caption_id)
    if (at < 0).any():
        return None
    image_row = _rows_of_image_ids(file, rows.image_id[at])
    return None if image_row is None else (image_row, f"the image of every text is known from {path.name}")


def owners_in_order(file: Raw, captions_per_image: int | None) -> tuple[Int, str]:
    """(text,) image row of every text where each image has as many, one behind the other, and a note.

    Raises:
        NoOwners: other numbers of rows, or ids, which do not tell the image of a text.
        SidesSwapped: the numbers are those of images and texts exchanged.
    """
    _refuse_odd_ids(file)
    times = captions_per_image or 5
    fix = f"give image_of_text (the image {'row' if file.image_ids is None else 'id'} of every text)"
    if file.n_text != times * file.n_image:
        if captions_per_image is None and file.n_image == 5 * file.n_text:
            raise SidesSwapped(f"{file.n_image:,} image rows and {file.n_text:,} text rows", file.where)
        each = file.n_text / file.n_image
        if each.is_integer() and not equal_images(file):
            fix += f", or give {spell('captions_per_image', round(each))} if text rows follow the images in order"
        raise NoOwners(
            f"{file.n_text:,} texts for {file.n_image:,} images, and no image_of_text that gives the image "
            "of every text",
            where=file.where,
            fix=and_why(fix, file),
        )
    given = [(side, ids[0]) for side, ids in (("image", file.image_ids), ("text", file.text_ids)) if ids is not None]
    if given and captions_per_image is None:
        in_order = f", or, if the text rows follow the image rows in order, {spell('captions_per_image', 5)}"
        such = " and ".join(f"{side} ids such as '{shown(first)}'" for side, first in given)
        raise NoOwners(
            f"the ids do not give the image of a text: {such} are of no split that is known here, and there is no "
            "image_of_text",
            where=file.where,
            fix=f"{fix}, or a file of captions with these ids ({spell('captions', 'FILE')})"
            + in_order * (len(given) < 2),
        )
    words = "one text an image" if times == 1 else f"{'five' if times == 5 else times} texts an image"
    seen = "ids of no known split" if given else "no ids"
    return np.arange(file.n_text) // times, f"{seen} and no image_of_text: taken to be {words}, in order"


def and_why(fix: str, file: Raw) -> str:
    """A fix for a wrong number of rows, and the likely cause."""
    likely = suggestion(file.n_image, file.n_text)
    return f"{fix} ({likely})" if likely else fix
