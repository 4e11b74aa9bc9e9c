"""The image of every text, from the first of these that is present.

An explicit field (``image_of_text`` and its other names), a file of captions with ids, ids of a known split, text ids
of the form ``NAME#k``, text ids that are ids of images, rows that repeat, and the order of the rows. Never from parts
of an id. What is given beside the vectors without ids (matrices, labels, captions) is in the order of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage, count_of
from ..files.captions import caption_file
from ..files.formats import sniff
from ..files.ids import counts_rows, match
from ..files.members import OWNER_COUNTS, OWNER_IDS, OWNER_ROWS
from ..files.raw import Raw, format_id
from ..options import spell
from ..types import Ids, Int, TestSet
from . import catalogue as splits
from .stored import DECLARED


def suggestion(n_image: int, n_text: int) -> str:
    """One sentence if rows without ids are as many as those of a declared split; else empty."""
    split = next(
        (s for s in DECLARED.values() if s.built_as == s.name and (s.images, s.captions) == (n_image, n_text)), None
    )
    if split is None:
        return ""
    return (
        f"{n_image:,} images and {n_text:,} texts are the counts of {split.name}: give "
        f"{spell('split', split.name)} if the rows are this set in its order (Karpathy's), or "
        f"{spell('split', 'custom')} if they are not"
    )


Rows = tuple[Int | None, Int | None]  # (image,) and (caption,) row of every item, None if it is the index


def in_one_order(splits: Sequence[TestSet]) -> TestSet:
    """The first of some splits with the same items; the rows of a custom one have no order if theirs differ."""
    first, *others = splits
    pairs = [(a.places, b.places) for other in others for a, b in zip(first.sides, other.sides, strict=True)]
    same = all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
    if same or first.name != "custom":
        return first
    return replace(first, ordered=False)


def with_places(split: TestSet, rows: Rows) -> TestSet:
    """The split that knows the order in which the evaluated images and captions were given.

    Args:
        split: the items.
        rows: the row of every item in the evaluated file.
    """
    places = [None if r is None or (np.diff(r) > 0).all() else ranks(r) for r in rows]
    if all(order is None for order in (*places, *(side.places for side in split.sides))):
        return split  # judgements are kept by split
    first, second = (replace(side, places=order) for side, order in zip(split.sides, places, strict=True))
    return replace(split, rows=first, columns=second)


def order(test: TestSet, side: str) -> Int | None:
    """(item,) int64: the row of every item among rows without ids; None if it is the index of the item.

    Raises:
        BadInput: no order is known.
    """
    if not test.ordered:
        what = f"rows without {side} ids: the items have no order (vectors came in batches, or scores in two orders)"
        fix = "give files with image_ids and text_ids (captions: JSON lines), or update() the rows of the captions; "
        fix += f"of two score matrices {spell('direction', 'i2t')} reads one"
        raise BadInput(what, fix=fix)
    return test.side(side).places if test.name == "custom" else None


def order_note(what: str, sides: Sequence[str], test: TestSet) -> str:
    """A note on the order in which rows without ids are read; empty if all have ids.

    Args:
        what: what has them, such as the name of a file.
        sides: the names of the sides without ids.
        test: the items.
    """
    if not sides:
        return ""
    words = " and ".join("text" if side == "caption" else side for side in sides)
    if test.name == "custom":
        return f"{what}: {in_order(words, 'the evaluated items')}"
    other = any(test.side(side).places is not None for side in sides)
    differs = "; the evaluated items have another order" * other
    return f"{what}: {in_order(words, test.name, default_order(test.name))}{differs}"


def default_order(name: str) -> str:
    """The order of a test set, in words."""
    return "Karpathy order" if name in DECLARED else "the order of the file it was built from"


def in_order(side: str, name: str, order: str = "") -> str:
    """A sentence on the reading of rows without ids: their split and its order."""
    return f"no {side} ids: rows are assumed to be in the order of {name}{f' ({order})' if order else ''}"


def ranks(rows: Int) -> Int:
    """The places of rows among each other: of rows that are left out other files have none."""
    return np.argsort(np.argsort(rows)).astype(np.int64)


Found = tuple[Int, str]  # (text,) image row of every text, and a note
MIN_SHARE_KNOWN = 0.9  # of the ids of each side; a few shared ids may be a coincidence
IMAGE_OF_EVERY_TEXT = "give one image row (counted from 0) or image id for every text"


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


def known_owners(file: Raw, captions: Path | None, judged: bool) -> Found | None:
    """(text,) image row of every text and a note, where anything but the order of the rows tells it; else None.

    Args:
        file: as read.
        captions: a file of captions with their ids and those of their images; None for none.
        judged: judgements are given: the ids of texts are then compared with those of texts alone.

    Raises:
        BadInput: entries of a field that are no images, text ids that name unknown images.
    """
    if file.image_of_text is not None and not file.derived:
        return given_owners(file)
    ways: list[Callable[[], Found | None]] = [
        lambda: _of_captions(file, captions), lambda: _of_known(file), lambda: _numbered_names(file, judged)
    ]  # fmt: skip
    ways += [] if judged else [lambda: _of_equal_ids(file)]
    found = next(filter(None, (way() for way in ways)), None)
    return (file.image_of_text, "") if found is None and file.image_of_text is not None else found


def given_owners(file: Raw) -> Found:
    """(text,) image row of every text from image_of_text, which holds rows, image ids or numbers of texts.

    Raises:
        BadInput: another length, entries that are neither, or that are rows and ids of different images.
    """
    given = file.image_of_text
    assert given is not None
    if file.holds in ("counts", "ends"):
        if (counted := _counted(file, given)) is not None:
            return counted, f"image_of_text holds {_WORDS[file.holds]}"
        what = f"{_WORDS[file.holds]} (first: {format_id(given[0]) if len(given) else 'none'}) does not fit "
        what += f"{file.n_text:,} texts of {file.n_image:,} images"
        fix = "give image_of_text, the image row (counted from 0) or image id of every text, instead"
        raise BadInput(what, where=file.where, fix=fix)
    if len(given) != file.n_text:
        what = f"image_of_text has {len(given):,} entries for {file.n_text:,} text rows"
        counts = len(given) == file.n_image and file.holds == "rows or ids"
        called = f"; call the array {OWNER_COUNTS[0]} if it has the number of texts of every image" * counts
        raise BadInput(what, where=file.where, fix=IMAGE_OF_EVERY_TEXT + called)
    numbers = file.holds != "ids" and given.dtype.kind == "i"
    as_rows = given if numbers and given.min() >= 0 and given.max() < file.n_image else None
    as_ids = None if file.holds == "rows" else _rows_of_image_ids(file, given)
    if as_rows is not None and as_ids is not None and len(differ := np.flatnonzero(as_rows != as_ids)):
        first = int(differ[0])
        raise BadInput(
            f"image_of_text can be read as image rows and as image ids; these readings differ for {len(differ):,} "
            f"of the {len(given):,} texts (first: text row {first}: {format_id(given[first])} is image row "
            f"{as_rows[first]} or the id of image row {as_ids[first]})",
            where=file.where,
            fix=f"name the array {OWNER_IDS[0]} if it holds ids, {OWNER_ROWS[0]} if it holds rows (from 0)",
        )
    if as_rows is not None:
        return as_rows, "image_of_text holds image rows"
    if as_ids is not None:
        return as_ids, "image_of_text holds image ids"
    raise _no_image(file, given, numbers)


_WORDS = {"counts": "the number of texts of every image", "ends": "the last text row of every image"}


def _counted(file: Raw, given: Ids) -> Int | None:
    """(text,) image row of every text from the number of texts of every image, or its last row, or the one behind."""
    if given.dtype.kind != "i" or not len(given) or len(given) != file.n_image:
        return None
    ends = np.diff(given + (given[-1] == file.n_text - 1), prepend=0)
    counts = ends if file.holds == "ends" else given
    return np.repeat(np.arange(len(given)), counts) if counts.min() >= 0 and counts.sum() == file.n_text else None


def _rows_of_image_ids(file: Raw, given: Ids) -> Int | None:
    """(text,) row of the image with each id, or None if some are no ids of images."""
    if file.image_ids is None:
        return None
    at, _ = match(given, file.image_ids)
    return at if len(np.unique(file.image_ids)) == len(file.image_ids) and (at >= 0).all() else None


def _no_image(file: Raw, given: Ids, numbers: bool) -> BadInput:
    """The error for the first entry of image_of_text that is neither a row nor an id."""
    readings = []
    if numbers:
        inside = (given >= 0) & (given < file.n_image)
        readings.append((inside, f"is not an image row (there are {file.n_image:,})"))
    if file.image_ids is not None and file.holds != "rows":
        readings.append((match(given, file.image_ids)[0] >= 0, "is not an image id"))
    if not readings:
        what = f"the image of every text is given by id (first: {format_id(given[0])}), but the image rows have no ids"
        fix = "save the ids of the images too, or image_of_text, the row (counted from 0) of every text's image"
        return BadInput(what, where=file.where, fix=fix)
    known = max((fits for fits, _ in readings), key=np.sum)
    bad = int(known.argmin())
    what = f"image_of_text[{bad}] = {format_id(given[bad])} {' and '.join(words for _, words in readings)}"
    fix = IMAGE_OF_EVERY_TEXT if file.image_ids is not None else "count image rows from 0, or give image_ids as well"
    return BadInput(what, where=file.where, fix=fix)


def _of_captions(file: Raw, path: Path | None) -> Found | None:
    """(text,) image row of every text by a file of captions that has the ids of all texts and of their images."""
    if file.image_ids is None or file.text_ids is None or path is None:
        return None
    if sniff(path).matrix or (given := caption_file(path)).lines is not None:
        return None  # captions without the ids of images
    rows = given.rows()
    at, _ = match(file.text_ids, rows.caption_id)
    image_row = None if (at < 0).any() else _rows_of_image_ids(file, rows.image_id[at])
    return None if image_row is None else (image_row, f"the image of every text is known from {path.name}")


def known_splits(file: Raw, names: Iterable[str]) -> Iterator[TestSet]:
    """The splits that have most ids of both sides of a file; none for texts whose ids count rows."""
    if file.image_ids is None or file.text_ids is None or counts_rows(file.text_ids):
        return
    for name in names:
        try:
            known = splits.load_split(name)
        except (MissingPackage, BadInput):  # not built, or damaged: an error if it is given by name
            continue
        sides = zip((file.image_ids, file.text_ids), known.sides, strict=True)
        if all((match(ids, side.ids)[0] >= 0).mean() >= MIN_SHARE_KNOWN for ids, side in sides):
            yield known


def _of_known(file: Raw) -> Found | None:
    """(text,) image row of every text if all ids are in a known split, or in one of its parts."""
    known = next(known_splits(file, (name for name in splits.names() if not splits.is_custom(name))), None)
    if known is None or file.image_ids is None or file.text_ids is None:
        return None
    images, texts = match(file.image_ids, known.rows.ids)[0], match(file.text_ids, known.columns.ids)[0]
    if (images < 0).any() or (texts < 0).any():
        return None
    row = np.full(len(known.rows), -1)
    row[images] = np.arange(len(images))
    image_row = row[known.owners[texts]]
    absent = image_row < 0
    if absent.any():
        first = texts[np.flatnonzero(absent)[0]]
        raise BadInput(
            f"{count_of(int(absent.sum()), 'text belongs', 'texts belong')} to images that are not in the file "
            f"(first: caption {known.columns.ids[first]} of image {known.rows.ids[known.owners[first]]})",
            where=file.where,
            fix="save the images of all texts, or leave these texts out",
        )
    return image_row, f"the image of every text is known from the ids of {known.name}"


def _numbered_names(file: Raw, judged: bool) -> Found | None:
    """(text,) image row of every text if text ids are the id of an image, ``#`` and a number: ``1007.jpg#0``.

    Raises BadInput.
    """
    if file.image_ids is None or file.text_ids is None or file.text_ids.dtype.kind != "U":
        return None
    parts = [text.rpartition("#") for text in file.text_ids.tolist()]
    at = match(np.array([name for name, *_ in parts]), file.image_ids)[0]
    at[[not number.isdecimal() for *_, number in parts]] = -1
    odd = np.flatnonzero(at < 0)
    if not len(odd):
        return at, "the image of every text is known from the text ids"
    if judged or 2 * len(odd) > len(at):
        return None
    what = f"{len(at) - len(odd):,} of {len(at):,} text ids are an image id, # and a number, but not "
    fix = "give every text the id of its image and a number, as in 1007.jpg#0, or image_of_text"
    raise BadInput(f"{what}'{format_id(file.text_ids[odd[0]])}'", where=file.where, fix=fix)


def _of_equal_ids(file: Raw) -> Found | None:
    """(text,) image row of every text if all text ids are ids of images; they may repeat."""
    images, texts = file.image_ids, file.text_ids
    if images is None or texts is None:
        return None
    at, how = match(texts, images)
    # Numbers of rows may be the same by coincidence.
    if (at < 0).any() or (images.dtype.kind == "i" and len(np.unique(at)) < len(images)):
        return None
    how = f"compared {how}; " if how else ""
    return (
        at,
        f"the text ids are image ids ({how}text '{format_id(texts[0])}' is of image '{format_id(images[at[0]])}')",
    )


def without_image_ids(file: Raw) -> Raw:
    """The rows without text ids that only name the images of the texts, and so repeat or say nothing more."""
    named = file.text_ids is not None and len(np.unique(file.text_ids)) < len(file.text_ids)
    return replace(file, text_ids=None) if named and _of_equal_ids(file) else file


def owners_in_order(file: Raw, captions_per_image: int | None) -> Found:
    """(text,) image row of every text where each image has as many, one behind the other, and a note.

    Raises:
        BadInput: other numbers of rows, or ids, which do not tell the image of a text.
        SidesSwapped: the numbers are those of images and texts exchanged.
    """
    times = captions_per_image or 5
    named = [(side, ids[0]) for side, ids in (("image", file.image_ids), ("text", file.text_ids)) if ids is not None]
    fix = f"give image_of_text (the image {'row' if file.image_ids is None else 'id'} of every text)"
    if file.n_text != times * file.n_image:
        if captions_per_image is None and not named and file.n_image == 5 * file.n_text:
            raise SidesSwapped(f"{file.n_image:,} image rows and {file.n_text:,} text rows", file.where)
        each = file.n_text / file.n_image
        if each.is_integer():
            fix += f", or give {spell('captions_per_image', round(each))} if text rows follow the images in order"
        what = f"{file.n_text:,} texts for {file.n_image:,} images, and no image_of_text with the image of every text"
        raise BadInput(what, where=file.where, fix=fix)
    if named and captions_per_image is None:
        such = " and ".join(f"{side} ids such as '{format_id(first)}'" for side, first in named)
        raise BadInput(
            f"the ids do not give the image of a text: {such} belong to no known split, and there is no image_of_text",
            where=file.where,
            fix=f"{fix}, a file of captions with these ids ({spell('captions', 'FILE')}), or build their data set "
            "(`vsebench data list`)"
            + f", or, if the text rows follow the image rows in order, {spell('captions_per_image', 5)}"
            * (len(named) < 2),
        )
    words = "one text per image" if times == 1 else f"{'five' if times == 5 else times} texts per image"
    seen = "ids of no known split" if named else "no ids"
    return np.arange(file.n_text) // times, f"{seen} and no image_of_text: assuming {words}, in order"
