"""Matching a file's rows to a split: by id where the file has ids, in order (and said so) where it has none."""

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


@dataclass(frozen=True, eq=False)
class Items:
    """What a file says about its rows, before anything is matched."""

    n_image: int
    n_text: int
    image_ids: Ids | None
    text_ids: Ids | None
    image_of_text: Ids | None
    where: Path


@dataclass(frozen=True, eq=False)
class Matched:
    """A split, and the file row of each of its items (None: already in order)."""

    split: Split
    image_rows: Int | None
    text_rows: Int | None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def match(items: Items, name: str | None = None, captions_per_image: int | None = None) -> Matched:
    """Find out which split a file holds and which row is which item.

    Args:
        items: sizes and ids.
        name: a declared split or ``custom``; None lets the ids decide and falls back to ``custom``.
        captions_per_image: for files without ids and without image_of_text: texts an image, in order
            (default five).

    Raises:
        BadInput: ids that repeat, are missing or unknown, sides that look swapped, wrong numbers of rows.
        UsageError: an unknown split.
    """
    if name is None:
        name = _recognise(items)
    if name == "custom":
        return _custom(items, captions_per_image)
    if captions_per_image is not None:
        raise UsageError(f"--captions-per-image has no meaning for split '{name}'", fix="leave it out")
    return _declared(items, splits.load(name))


def _recognise(items: Items) -> str:
    if items.image_ids is None and items.text_ids is None:
        return "custom"
    # Ids may be numbers or file names; each declared split knows one form.
    for form in (np.empty(0, np.int64), np.empty(0, np.str_)):
        image_ids, text_ids = (None if x is None else _like(x, form) for x in (items.image_ids, items.text_ids))
        found = matches_ids(image_ids, text_ids)
        if found:
            return found
    try:
        known = splits.load("coco-5k")
    except MissingPackage:
        return "custom"
    if items.image_ids is not None and items.text_ids is not None:
        image_ids, text_ids = (
            _like(items.image_ids, known.image_ids),
            _like(items.text_ids, known.caption_ids),
        )
        if _share(image_ids, known.caption_ids) == 1 and _share(text_ids, known.image_ids) == 1:
            raise _swapped("the image ids are COCO caption ids and the text ids COCO image ids", items.where)
        # An id here and there may be a coincidence; nine in ten is a COCO file with something wrong.
        if min(_share(image_ids, known.image_ids), _share(text_ids, known.caption_ids)) >= 0.9:
            try:
                return _declared(items, known).split.name
            except BadInput as error:
                raise BadInput(
                    error.what,
                    where=items.where,
                    fix=f"{error.fix}; or add --split custom to rank the file's own items",
                ) from None
    return "custom"


def _share(ids: Ids, known: Ids) -> float:
    return float(np.isin(ids, known).mean()) if ids.dtype.kind == known.dtype.kind and len(ids) else 0.0


def _swapped(why: str, where: Path) -> BadInput:
    return BadInput(
        f"images and texts look swapped: {why}",
        where=where,
        fix="save the images as image_embeddings and the texts as text_embeddings (or use --image-key, --text-key)",
    )


def _like(ids: Ids, known: Ids) -> Ids:
    """Ids in the split's form: COCO file names become numbers, Flickr numbers become file names."""
    if known.dtype.kind == "i" and ids.dtype.kind == "U":
        names = [_FILE_NAME.match(x) for x in ids.tolist()]
        if all(names):
            return np.array([int(m[1]) for m in names if m], np.int64)
    if known.dtype.kind == "U" and ids.dtype.kind == "i":
        return np.array([f"{x}.jpg" for x in ids.tolist()])
    return ids


def _declared(items: Items, split: Split) -> Matched:
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    if items.image_ids is None and items.text_ids is None and (items.n_image, items.n_text) == (n_caption, n_image):
        raise _swapped(f"{items.n_image:,} image rows and {items.n_text:,} text rows for '{split.name}'", items.where)
    rows: list[Int | None] = []
    notes = []
    for side, ids, n, known, other in (
        ("image", items.image_ids, items.n_image, split.image_ids, split.caption_ids),
        ("text", items.text_ids, items.n_text, split.caption_ids, split.image_ids),
    ):
        if ids is None:
            if n != len(known):
                raise BadInput(
                    f"{n:,} {side} rows, but split '{split.name}' has {len(known):,} {side}s",
                    where=items.where,
                    fix=f"save one row for every {side} of the split, or ids ({side}_ids) to match by",
                )
            rows.append(None)
            notes.append(f"no {side} ids: rows are taken to be in the order of {split.name} (Karpathy order)")
        else:
            rows.append(rows_of(_like(ids, known), known, other, side, split.name, items.where))
    _refuse_contradiction(items, split, rows[0], rows[1])
    return Matched(split, rows[0], rows[1], tuple(notes))


def _refuse_contradiction(items: Items, split: Split, image_rows: Int | None, text_rows: Int | None) -> None:
    """What the file says about its own rows must agree with the split, or the rows are not where they seem."""
    if items.image_of_text is None:
        return
    owner, _ = _owner(items)
    place = np.arange(items.n_image)
    if image_rows is not None:
        place[image_rows] = np.arange(items.n_image)
    said = place[owner if text_rows is None else owner[text_rows]]
    wrong = np.flatnonzero(said != split.image_of)
    if len(wrong):
        row = int(wrong[0]) if text_rows is None else int(text_rows[wrong[0]])
        raise BadInput(
            f"image_of_text contradicts split '{split.name}': {len(wrong):,} texts belong to another image "
            f"(first: text row {row})",
            where=items.where,
            fix="save image_ids and text_ids so that rows can be matched, or give --split custom",
        )


def rows_of(ids: Ids, known: Ids, other: Ids, side: str, split: str, where: Path) -> Int:
    """File row of every known id."""
    _refuse_repeats(ids, side, where)
    if _share(ids, known) < 0.5 and _share(_like(ids, other), other) > 0.9:
        raise _swapped(f"the {side} ids are the other side's ids of '{split}'", where)
    if ids.dtype.kind != known.dtype.kind:
        raise BadInput(
            f"{side} ids such as '{shown(ids[0])}' are not ids of split '{split}' (such as '{known[0]}')",
            where=where,
            fix=f"save the {side} ids of the data set, or give --split custom",
        )
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
        places = np.flatnonzero(ids == first)
        n = int((count > 1).sum())
        raise BadInput(
            f"{n:,} {side} {'ids occur' if n > 1 else 'id occurs'} more than once "
            f"(first: {shown(first)}, in rows {places[0]} and {places[1]})",
            where=where,
            fix=f"save every {side} once",
        )


def _custom(items: Items, captions_per_image: int | None) -> Matched:
    notes = []
    for side, ids, n in (("image", items.image_ids, items.n_image), ("text", items.text_ids, items.n_text)):
        if ids is not None:
            _refuse_repeats(ids, side, items.where)
            if len(ids) != n:
                raise BadInput(
                    f"{len(ids):,} {side} ids for {n:,} {side} rows",
                    where=items.where,
                    fix="save one id a row",
                )
    if items.image_of_text is not None:
        if captions_per_image is not None:
            raise UsageError(
                "--captions-per-image has no meaning: image_of_text says which texts belong together",
                where=items.where,
                fix="leave it out",
            )
        owner, note = _owner(items)
    else:
        owner, note = _owner_from_ids(items) or _owner_in_order(items, captions_per_image)
    notes.append(note)
    warnings = _lonely(owner, items)
    # Canonical order is ascending by id, so that the order of rows in the file cannot decide a tie.
    image_rows = None if items.image_ids is None else np.argsort(items.image_ids, kind="stable")
    text_rows = None if items.text_ids is None else np.argsort(items.text_ids, kind="stable")
    place = np.arange(items.n_image)
    if image_rows is not None:
        place = np.empty(items.n_image, np.int64)
        place[image_rows] = np.arange(items.n_image)
    owner = place[owner] if text_rows is None else place[owner[text_rows]]
    image_ids = np.arange(items.n_image) if items.image_ids is None else items.image_ids[image_rows]
    text_ids = np.arange(items.n_text) if items.text_ids is None else items.text_ids[text_rows]
    try:
        split = Split("custom", image_ids, text_ids, owner)
    except BadInput as error:
        raise BadInput(error.what, where=items.where, fix=error.fix) from None
    return Matched(split, image_rows, text_rows, tuple(notes), warnings)


def _lonely(owner: Int, items: Items) -> tuple[str, ...]:
    """Images without a text are distractors (an enlarged gallery) or a sign that the owners are wrong: say it."""
    lonely = np.flatnonzero(np.bincount(owner, minlength=items.n_image) == 0)
    if not len(lonely):
        return ()
    first = int(lonely[0])
    name = "" if items.image_ids is None else f" (id {shown(items.image_ids[first])})"
    return (
        f"{len(lonely):,} of the {items.n_image:,} images have no text (first: image row {first}{name}): "
        "they compete in text-to-image and ask nothing in image-to-text",
    )


def _owner(items: Items) -> tuple[Int, str]:
    """(text,) image row of every text from image_of_text, which holds rows or image ids."""
    given = items.image_of_text
    if given is None or len(given) != items.n_text:
        length = 0 if given is None else len(given)
        if length == items.n_image != items.n_text:
            raise _swapped(f"image_of_text has {length:,} entries, as many as there are image rows", items.where)
        raise BadInput(
            f"image_of_text has {length:,} entries for {items.n_text:,} text rows",
            where=items.where,
            fix="give one image row (counted from 0) or image id for every text",
        )
    if given.dtype.kind == "i" and given.min() >= 0 and given.max() < items.n_image:
        return given, "image_of_text holds image rows"
    if items.image_ids is not None and items.image_ids.dtype.kind == given.dtype.kind:
        known = np.isin(given, items.image_ids)
        if known.all():
            order = np.argsort(items.image_ids, kind="stable")
            return order[np.searchsorted(items.image_ids[order], given)], "image_of_text holds image ids"
        # Name the entry that does not fit what most of the others are: rows or ids.
        inside = (given >= 0) & (given < items.n_image) if given.dtype.kind == "i" else known
        bad = int(np.flatnonzero(~(inside if inside.sum() > known.sum() else known))[0])
        raise BadInput(
            f"image_of_text[{bad}] = {shown(given[bad])} is neither an image row ({items.n_image:,} rows) "
            "nor an image id",
            where=items.where,
            fix="give one image row (counted from 0) or image id for every text",
        )
    bad = 0 if given.dtype.kind != "i" else int(np.flatnonzero((given < 0) | (given >= items.n_image))[0])
    raise BadInput(
        f"image_of_text[{bad}] = {shown(given[bad])} is not an image row (there are {items.n_image:,}) and the file "
        "has no image ids of that kind",
        where=items.where,
        fix="count image rows from 0, or save image_ids as well",
    )


def _owner_from_ids(items: Items) -> tuple[Int, str] | None:
    """The owner of every text when all ids belong to COCO 5K: a subset of it is a custom split that needs no more."""
    if items.image_ids is None or items.text_ids is None:
        return None
    try:
        known = splits.load("coco-5k")
    except MissingPackage:
        return None
    image_ids, text_ids = _like(items.image_ids, known.image_ids), _like(items.text_ids, known.caption_ids)
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
            where=items.where,
            fix="save the images of all texts, or leave those texts out",
        )
    order = np.argsort(image_ids, kind="stable")
    return order[np.searchsorted(image_ids[order], image_of)], "the image of every text is known from the COCO ids"


def _owner_in_order(items: Items, captions_per_image: int | None) -> tuple[Int, str]:
    times = captions_per_image or 5
    if items.n_text != times * items.n_image:
        if captions_per_image is None and items.n_image == 5 * items.n_text:
            raise _swapped(f"{items.n_image:,} image rows and {items.n_text:,} text rows", items.where)
        each = items.n_text / items.n_image
        fix = "save image_of_text (the image row of every text)"
        if each.is_integer():
            fix += f", or say --captions-per-image {each:.0f} if text rows follow the images in order"
        raise BadInput(
            f"{items.n_text:,} texts for {items.n_image:,} images, and no image_of_text that says which "
            "belong together",
            where=items.where,
            fix=fix,
        )
    words = "one text an image" if times == 1 else f"{'five' if times == 5 else times} texts an image"
    seen = "no ids" if items.image_ids is None and items.text_ids is None else "ids of no installed split"
    return np.arange(items.n_text) // times, f"{seen} and no image_of_text: taken to be {words}, in order"
