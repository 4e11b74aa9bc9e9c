"""Matches the rows of a file to the items of a split: by id where the file has ids, in order (with a note) otherwise.

A declared split is taken by name or recognised by the ids. Everything else is a custom split, made from the file: the
image of every text is given by ``image_of_text``, known from COCO ids, or follows from the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..options import spell
from ..scenes.settings import PARTS, parse, split_name
from ..types import Ids, Int, Split
from .audit import shown
from .formats.ids import canonical, places, respelled, share
from .formats.members import OWNER_IDS, OWNER_ROWS
from .formats.raw import Holds
from .formats.sniff import sniff
from .placing import in_order, order, own_order
from .shapes import suggestion
from .splits import catalogue as splits
from .splits import own, sets
from .splits.identity import matches_ids
from .splits.sources import from_file


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
        holds: what ``image_of_text`` may hold, see ``formats.raw.RawEmbeddings``.
        repeated: how many times every image row occurred in the file, one after the other, before all but the first
            were removed; ``image_of_text`` may hold rows of the file as it was.
        captions: a file of captions with their ids and those of their images, which gives the image of a text where
            nothing else does; None for none.
    """

    n_image: int
    n_text: int
    image_ids: Ids | None
    text_ids: Ids | None
    image_of_text: Ids | None
    where: Path
    holds: Holds = "rows or ids"
    repeated: int = 1
    captions: Path | None = None


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


def match_rows(file: FileRows, name: Split | str | None = None, captions_per_image: int | None = None) -> MatchedRows:
    """Match the rows of a file to the items of a split.

    Args:
        file: numbers and ids of its rows.
        name: a declared split or ``custom``; None: the declared split that has the ids, else ``custom``. A ``Split``:
            rows are matched to it by id where there are ids, else they are in its order.
        captions_per_image: for files without image_of_text: texts an image, in order. Five by default where there are
            no ids; rows with ids that do not tell the image of a text are refused without it.

    Raises:
        BadInput: ids that repeat, are missing or unknown, or do not tell the image of a text, images and texts that
            look swapped, wrong numbers of rows.
        UsageError: an unknown split.
    """
    if isinstance(name, Split):
        return replace(_declared(file, name), notes=())
    if name is None and file.image_ids is None and file.text_ids is None:
        found = _custom(file, captions_per_image)
        likely = suggestion(file.n_image, file.n_text) if captions_per_image is None else ""
        return replace(found, warnings=(likely, *found.warnings)) if likely else found
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    if name is None:
        name, notes = _recognise(file)
        warnings = _images_missing(file) if name == "custom" else ()
    elif name in sets.SETS:
        name = _language(file, name)
    if name == "custom":
        found = _custom(file, captions_per_image)
        return replace(found, warnings=(*found.warnings, *warnings))
    if captions_per_image is not None:
        raise UsageError(f"{spell('captions_per_image')} has no meaning for split '{name}'", fix="leave it out")
    found = _declared(file, splits.load_split(name))
    return replace(found, notes=(*notes, *found.notes))


def _recognise(file: FileRows) -> tuple[str, tuple[str, ...]]:
    """The split that has the ids of the file, else ``custom``; and a note where several splits have them.

    Raises:
        UsageError: several data sets of one's own have these ids, and no declared or published one.
    """
    if (found := _with_ids(file)) and (len(found) == 1 or not splits.is_own(found[0])):
        first, *others = found
        options = " or ".join(spell("split", name) for name in others)
        note = f"the ids are those of {first} and of {' and '.join(others)}: {first} is taken ({options} takes another)"
        return first, (note,) if others else ()
    if found:
        what = f"the ids are those of the data sets {', '.join(found[:-1])} and {found[-1]}"
        raise UsageError(what, fix=f"give {spell('split', found[0])} or {spell('split', found[1])}")
    return _nearly_coco(file), ()


def _with_ids(file: FileRows) -> list[str]:
    """The splits that have exactly the ids of the file: a declared one, published ones, then those of one's own."""
    ids = [None if x is None else canonical(x) for x in (file.image_ids, file.text_ids)]
    # COCO has numbers, and Flickr30K file names.
    named = [np.array([f"{n}.jpg" for n in x.tolist()]) if x is not None and x.dtype.kind == "i" else x for x in ids]
    declared = matches_ids(*ids) or matches_ids(*named)
    built = sorted(own.matching(file.image_ids, file.text_ids), key=splits.is_own)
    return [declared, *built] if declared else built


def _language(file: FileRows, name: str) -> str:
    """The split of a published set: of one in several languages the one that has the ids of the file.

    Raises:
        UsageError: the ids do not tell the language.
        BadInput: ids of a language that is not built.
        MissingPackage: none of them is built.
    """
    if not sets.SETS[name].languages:
        return name
    for split in _with_ids(file):
        if split.partition(":")[0] == name:
            return split
    _refuse_part_of_known(file)
    try:
        splits.declared(name)
    except UsageError as error:
        error.fix = f"{error.fix}; or name every file after its language, as in de=FILE, or save the ids of the set"
        raise
    return name


def _images_missing(file: FileRows) -> tuple[str, ...]:
    """A warning when the texts are those of a data set that has more images, which enlarge its gallery."""
    found = sorted(own.matching(file.image_ids, file.text_ids, fewer_images=True), key=splits.is_own)
    if not found:
        return ()
    images = splits.declared(found[0]).images
    return (
        f"the texts are those of {found[0]}, which has {images:,} images, {images - file.n_image:,} more than the "
        f"file: values are not those of {found[0]}; encode all its images",
    )


def _nearly_coco(file: FileRows) -> str:
    """``custom``, unless most ids are of COCO: then the file has a fault, which is raised."""
    try:
        known = splits.load_split("coco-5k")
    except MissingPackage:
        return "custom"
    if file.image_ids is not None and file.text_ids is not None:
        image_ids = respelled(file.image_ids, known.image_ids)
        text_ids = respelled(file.text_ids, known.caption_ids)
        if share(image_ids, known.caption_ids) == 1 and share(text_ids, known.image_ids) == 1:
            raise SidesSwapped("the image ids are COCO caption ids and the text ids COCO image ids", file.where)
        # A few shared ids may be a coincidence; with nine in ten it is a COCO file with a fault.
        if min(share(image_ids, known.image_ids), share(text_ids, known.caption_ids)) >= 0.9:
            try:
                return _declared(file, known).split.name
            except RepeatedIds:
                raise
            except BadInput as error:
                error.fix = f"{error.fix}; or add {spell('split', 'custom')} to rank the file's own items"
                raise
    return "custom"


def _declared(file: FileRows, split: Split) -> MatchedRows:
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    turned = (file.n_image, file.n_text) == (n_caption, n_image) and n_image != n_caption
    if turned and file.image_ids is None and file.text_ids is None:
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
                    fix=_and_why(f"save one row for every {side} of the split, or ids ({side}_ids) to match by", file),
                )
            rows.append(order(split, "image" if side == "image" else "caption"))
            notes.append(in_order(side, split.name, own_order(split.name)))
        else:
            rows.append(rows_of(ids, known, other, side, split.name, file.where))
    _refuse_contradiction(file, split, rows[0], rows[1])
    notes += _images_without_texts(split.image_of, len(split.image_ids))
    return MatchedRows(split, rows[0], rows[1], tuple(notes))


def _refuse_contradiction(file: FileRows, split: Split, image_rows: Int | None, text_rows: Int | None) -> None:
    """Refuse a file whose image_of_text differs from the split: then its rows are not the items they are taken for."""
    if file.image_of_text is None:
        return
    if file.image_ids is None:
        named = split.image_ids.copy()  # of the rows of the file, as they were placed
        named[slice(None) if image_rows is None else image_rows] = split.image_ids
        file = replace(file, image_ids=named)
    image_row, _ = _given_images(file)
    given = _image_index(file, image_row, image_rows, text_rows)
    wrong = np.flatnonzero(given != split.image_of)
    if len(wrong):
        row = int(wrong[0]) if text_rows is None else int(text_rows[wrong[0]])
        raise BadInput(
            f"image_of_text contradicts split '{split.name}': {count_of(len(wrong), 'text belongs', 'texts belong')} "
            f"to another image (first: text row {row})",
            where=file.where,
            fix=f"save image_ids and text_ids so that rows can be matched, or give {spell('split', 'custom')}",
        )


def rows_of(ids: Ids, known: Ids, other: Ids, side: str, split: str, where: Path) -> Int:
    """(item,) int64 file row of every item of a split, by id.

    Args:
        ids: (item,) ids of the rows, in any spelling of those of the split.
        known: (item,) ids of the split.
        other: ids of the other modality in the split, to recognise swapped ones.
        side, split, where: ``image`` or ``text``, the name of the split and the file, for messages.

    Raises:
        BadInput: ids that repeat, are missing or unknown, or are those of the other modality.
    """
    ids = respelled(ids, known)
    _refuse_repeats(ids, side, where)
    if share(ids, known) < 0.5 and share(respelled(ids, other), other) > 0.9:
        raise SidesSwapped(f"the {side} ids are the other side's ids of '{split}'", where)
    if ids.dtype.kind != known.dtype.kind:
        what = f"{side} ids such as '{shown(ids[0])}' are not ids of split '{split}' (such as '{known[0]}')"
        fix = f"save the {side} ids of the data set, or give {spell('split', 'custom')}"
        if split == "custom":  # rows of what is evaluated have no ids, and are numbered
            fix = "save the ids of the rows that are evaluated with them too, or leave these ids out"
        raise BadInput(what, where=where, fix=fix)
    missing = known[~np.isin(known, ids)]
    unknown = ids[~np.isin(ids, known)]
    if len(missing) or len(unknown):
        parts = []
        if len(missing):
            of = f"of the {len(known):,} {side} ids of split '{split}'"
            parts.append(f"{count_of(len(missing), f'{of} is', f'{of} are')} missing (first: {shown(missing[0])})")
        if len(unknown):
            counted = count_of(len(unknown), f"{side} id is", f"{side} ids are")
            parts.append(f"{counted} unknown to it (first: {shown(unknown[0])})")
        raise BadInput("; ".join(parts), where=where, fix=f"encode every {side} of the split and nothing else")
    return places(ids, known)


class RepeatedIds(BadInput):
    """Several rows of one side have one id, which no split accepts."""


def _refuse_repeats(ids: Ids, side: str, where: Path) -> None:
    unique, count = np.unique(ids, return_counts=True)
    if len(unique) < len(ids):
        first = unique[count > 1][0]
        occurs = np.flatnonzero(ids == first)
        n = int((count > 1).sum())
        raise RepeatedIds(
            f"{n:,} {side} {'ids occur' if n > 1 else 'id occurs'} more than once "
            f"(first: {shown(first)}, in rows {occurs[0]} and {occurs[1]})",
            where=where,
            fix=f"save every {side} once",
        )


def _custom(file: FileRows, captions_per_image: int | None) -> MatchedRows:
    notes = []
    for side, ids in (("image", file.image_ids), ("text", file.text_ids)):
        if ids is not None:
            _refuse_repeats(ids, side, file.where)
    if file.image_of_text is not None:
        if captions_per_image is not None:
            what = f"{spell('captions_per_image')} has no meaning: image_of_text gives the image of every text"
            raise UsageError(what, where=file.where, fix="leave it out")
        image_row, note = _given_images(file)
    else:
        known = _images_of_coco_ids(file) or _images_of_text_ids(file) or _images_of_captions(file)
        image_row, note = known or _images_in_order(file, captions_per_image)
    notes.append(note)
    warnings = _images_without_texts(image_row, file.n_image, file)
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


def _images_without_texts(image_of: Int, n_image: int, file: FileRows | None = None) -> tuple[str, ...]:
    """One sentence when images have no text: they enlarge the gallery, or image_of_text of the ``file`` is wrong."""
    without = np.flatnonzero(np.bincount(image_of, minlength=n_image) == 0)
    if not len(without):
        return ()
    named, first = "", int(without[0])
    if file is not None:
        name = "" if file.image_ids is None else f" (id {shown(file.image_ids[first])})"
        named = f" (first: image row {first}{name})"
    of = f"of the {n_image:,} images"
    return (
        f"{count_of(len(without), f'{of} has', f'{of} have')} no text{named}: candidates in text-to-image, and no "
        "queries in image-to-text",
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
    as_rows = given if file.holds != "ids" and _are_rows(given, file.n_image) else None
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
    if file.holds != "ids" and _are_rows(given, file.n_image * file.repeated):
        return given // file.repeated, "image_of_text holds image rows"
    raise _no_image(file, given)


def _are_rows(given: Ids, count: int) -> bool:
    return bool(given.dtype.kind == "i" and given.min() >= 0 and given.max() < count)


def _rows_of_image_ids(file: FileRows, given: Ids) -> Int | None:
    """(text,) row of the image with each id, or None when some are not ids of the images, in any spelling."""
    if file.image_ids is None:
        return None
    for ids, wanted in ((file.image_ids, given), (canonical(file.image_ids), canonical(given))):
        if ids.dtype.kind == wanted.dtype.kind and len(np.unique(ids)) == len(ids):
            at = places(ids, wanted)
            if (at >= 0).all():
                return at
    return None


def _no_image(file: FileRows, given: Ids) -> BadInput:
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
    image_ids, text_ids = respelled(file.image_ids, known.image_ids), respelled(file.text_ids, known.caption_ids)
    if share(image_ids, known.image_ids) < 1 or share(text_ids, known.caption_ids) < 1:
        return None
    image_of = known.image_ids[known.image_of[places(known.caption_ids, text_ids)]]
    image_row = places(image_ids, image_of)
    absent = image_row < 0
    if absent.any():
        first = int(np.flatnonzero(absent)[0])
        raise BadInput(
            f"{count_of(int(absent.sum()), 'text belongs', 'texts belong')} to images that are not in the file "
            f"(first: caption {text_ids[first]} of image {image_of[first]})",
            where=file.where,
            fix="save the images of all texts, or leave those texts out",
        )
    return image_row, "the image of every text is known from the COCO ids"


def _images_of_text_ids(file: FileRows) -> tuple[Int, str] | None:
    """(text,) image row of every text when text ids are an image id and a number, as Flickr's ``1007.jpg#0``."""
    if file.image_ids is None or file.text_ids is None or file.text_ids.dtype.kind != "U":
        return None
    parts = [text.strip().rpartition("#") for text in file.text_ids.tolist()]
    if not all(number.isdecimal() for _, _, number in parts):
        return None
    image_row = _rows_of_image_ids(file, np.array([image for image, _, _ in parts]))
    return None if image_row is None else (image_row, "the image of every text is known from the text ids")


def _images_of_captions(file: FileRows) -> tuple[Int, str] | None:
    """(text,) image row of every text by the file of captions, where that has ids, among them all of the file's."""
    path = file.captions
    if file.image_ids is None or file.text_ids is None or path is None or path.suffix == ".txt":
        return None
    if path.is_file() and sniff(path).arrays is not None:
        return None  # captions in a file of embeddings, without the ids of images
    rows = from_file(path, file.text_ids if file.text_ids.dtype.kind == "i" else None)
    ids = respelled(file.text_ids, rows.caption_id)
    if share(ids, rows.caption_id) < 1:
        return None
    image_row = _rows_of_image_ids(file, rows.image_id[places(rows.caption_id, ids)])
    return None if image_row is None else (image_row, f"the image of every text is known from {path.name}")


def _and_why(fix: str, file: FileRows) -> str:
    """A fix for a wrong number of rows, and the likely cause."""
    likely = suggestion(file.n_image, file.n_text)
    return f"{fix} ({likely})" if likely else fix


def _scenes_of(image_id: str) -> str | None:
    """The split of scenes that an image id is of by its spelling, else None."""
    name, _, number = image_id.rpartition("-")
    if not (number.isdecimal() and len(number) < 19 and name.startswith("scenes-")):
        return None
    try:
        settings = parse(name)
    except UsageError:
        return None
    found = [p for p in PARTS if 0 <= int(number) - settings.start(p) < settings.sizes[p]]
    return split_name(settings.name, found[0]) if found else None


def _refuse_part_of_known(file: FileRows) -> None:
    """Refuse ids of scenes, or of a language, which are not all of a split or of one that is not built.

    Raises:
        BadInput: the first image id is of scenes, or the first text id of a language; says which, and what is wrong.
    """
    first, split = "", None
    for ids, split_of in ((file.image_ids, _scenes_of), (file.text_ids, lambda x: sets.spoken(x, file.n_image))):
        if split is None and ids is not None and ids.dtype.kind == "U":
            first = str(ids[0])
            split = split_of(first)
    if split is None:
        return
    try:
        _declared(file, splits.load_split(split))
    except MissingPackage as error:
        what = f"ids such as '{shown(first)}' are of split '{split}', which is not built here"
        raise BadInput(what, where=file.where, fix=error.fix) from error
    except BadInput as error:
        error.fix = f"{error.fix}; or save image_of_text (the image id of every text) to rank the file's own items"
        raise


def _images_in_order(file: FileRows, captions_per_image: int | None) -> tuple[Int, str]:
    times = captions_per_image or 5
    if captions_per_image is None:
        _refuse_part_of_known(file)
    if file.n_text != times * file.n_image:
        if captions_per_image is None and file.n_image == 5 * file.n_text:
            raise SidesSwapped(f"{file.n_image:,} image rows and {file.n_text:,} text rows", file.where)
        each = file.n_text / file.n_image
        fix = "save image_of_text (the image row of every text)"
        if each.is_integer():
            fix += f", or give {spell('captions_per_image', round(each))} if text rows follow the images in order"
        raise BadInput(
            f"{file.n_text:,} texts for {file.n_image:,} images, and no image_of_text that gives the image "
            "of every text",
            where=file.where,
            fix=_and_why(fix, file),
        )
    given = [(side, ids[0]) for side, ids in (("image", file.image_ids), ("text", file.text_ids)) if ids is not None]
    # A row of the image for each of its texts, with the image's id, does tell.
    if given and captions_per_image is None and file.repeated == 1:
        such = " and ".join(f"{side} ids such as '{shown(first)}'" for side, first in given)
        raise BadInput(
            f"the ids do not give the image of a text: {such} are of no split that is known here, and there is no "
            "image_of_text",
            where=file.where,
            fix="save image_of_text (the image id or image row of every text), give a file of captions with these ids "
            f"({spell('captions', 'FILE')}), or, if the text rows follow the image rows in order, "
            f"{spell('captions_per_image', 5)}",
        )
    words = "one text an image" if times == 1 else f"{'five' if times == 5 else times} texts an image"
    seen = "ids of no known split" if given else "no ids"
    return np.arange(file.n_text) // times, f"{seen} and no image_of_text: taken to be {words}, in order"
