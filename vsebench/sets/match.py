"""Matches the rows of a file to the items of a split: by id if the file has ids, else in order (with a note).

A declared split is taken by name or recognised by the ids. Everything else is a custom split, made from the file: the
image of every text is given by ``image_of_text``, known from ids, or follows from the order of the rows. The captions
of a split are matched to it in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

import numpy as np

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..files.caption_rows import CaptionRows
from ..files.captions import caption_file
from ..files.ids import match
from ..files.raw import Raw, format_id
from ..files.read import read_captions
from ..log import Weight, logged, note, warn
from ..options import spell
from ..types import QUERIES, SIDES, Ids, Int, Side, TestSet
from . import catalogue as splits
from . import stored
from .catalogue import source_of, split_of_ids
from .owners import (
    Rows,
    SidesSwapped,
    default_order,
    given_owners,
    in_order,
    known_owners,
    known_splits,
    order,
    order_note,
    owners_in_order,
    suggestion,
    without_image_ids,
)
from .published import SETS


@dataclass(frozen=True, eq=False)
class Matched:
    """A split, and the file row of each of its items.

    Attributes:
        split: the items.
        rows: (image,) and (caption,) int64 row of every item, None if the rows are in the order of the split.
    """

    split: TestSet
    rows: Rows


def match_rows(
    file: Raw, name: TestSet | str | None = None, captions_per_image: int | None = None, captions: Path | None = None,
    judged: bool = False,
) -> Matched:  # fmt: skip
    """Match the rows of a file to the items of a split.

    Args:
        file: as read.
        name: a declared split or ``custom``; None: the declared split that has the ids, else ``custom``. A ``TestSet``:
            rows with ids are matched to it; others are in its order.
        captions_per_image: for files without image_of_text: texts an image, in order. Five by default where there are
            no ids; rows with ids that do not tell the image of a text are refused without it.
        captions: a file of captions with caption and image ids, which gives the image of a text if
            nothing else does.
        judged: judgements are given, which may do without the image of a text.

    Raises:
        BadInput: ids that repeat, are missing or unknown, or do not tell the image of a text, images and texts that
            look swapped, wrong numbers of rows.
        UsageError: an unknown split.
    """
    if file.sides == QUERIES and name != "custom" and not (isinstance(name, TestSet) and name.one_way):
        if name is not None:
            what = f"holds queries and a corpus, but {spell('split')} has images and texts"
            raise UsageError(what, where=file.where, fix=f"leave out {spell('split')}")
        name = "custom"
    if isinstance(name, TestSet):
        with logged():
            return _declared(without_image_ids(file) if name.columns.numbered else file, name)
    if name is None and file.image_ids is None and file.text_ids is None:
        if captions_per_image is None:
            warn(suggestion(file.n_image, file.n_text))
        return _custom(file, captions_per_image, captions, judged)
    if name is None:
        name = _recognise(file)
    elif name in SETS:
        name = _part(file, name)
    if name == "custom":
        return _custom(file, captions_per_image, captions, judged)
    if captions_per_image is not None:
        raise UsageError(f"{spell('captions_per_image')} does not apply to split '{name}'", fix="leave it out")
    return _declared(file, splits.load_split(name))


def _recognise(file: Raw) -> str:
    """The split that has the ids of the file, else ``custom``; raises UsageError."""
    found = split_of_ids(file.image_ids, file.text_ids)
    if found and source_of(found[0]).line(found[0]).available == "absent":
        first, *found = found
        if len(found) < 2:
            taken = f"{found[0]} is used" if found else "the items of the file are ranked, as a custom split"
            note(f"the ids belong to {first}, which is not built here: {taken}")
            return (found or ["custom"])[0]
    if found and (len(found) == 1 or not splits.is_custom(found[0])):
        first, *others = found
        options = " or ".join(spell("split", name) for name in others)
        if others:
            several = f"{first} and to {' and '.join(others)}"
            note(f"the ids belong to {several}: {first} is used ({options} chooses another)")
        return first
    if found:
        what = f"the ids belong to the data sets {', '.join(found[:-1])} and {found[-1]}"
        raise UsageError(what, fix=f"give {spell('split', found[0])} or {spell('split', found[1])}")
    return _by_most_ids(file, splits.names())


def _part(file: Raw, name: str) -> str:
    """The split of a set of several, such as languages, that has the ids of the file.

    Raises UsageError, BadInput or MissingPackage.
    """
    for split in split_of_ids(file.image_ids, file.text_ids):
        if split in splits.splits_of(name):
            return split
    if (split := _by_most_ids(file, splits.splits_of(name))) != "custom":
        return split
    try:
        splits.declared(name)
    except UsageError as error:
        error.also("or give every file its language, as in de=FILE, or save the ids of the set")
        raise
    return name


def _by_most_ids(file: Raw, names: Iterable[str]) -> str:
    """The first of some splits that has most ids of a file, which has to have all of its ids; ``custom`` if none has.

    Raises BadInput.
    """
    for known in known_splits(file, names):
        try:
            with logged():
                return _declared(file, known).split.name
        except RepeatedIds:
            raise
        except BadInput as error:
            error.also(f"or give {spell('split', 'custom')} to rank the file's own items")
            raise
    for known in known_splits(replace(file, image_ids=file.text_ids, text_ids=file.image_ids), names):
        raise SidesSwapped(f"the image ids are text ids of {known.name} and the text ids its image ids", file.where)
    return "custom"


def _declared(file: Raw, split: TestSet) -> Matched:
    n_image, n_caption = len(split.rows.ids), len(split.columns.ids)
    turned = (file.n_image, file.n_text) == (n_caption, n_image) and n_image != n_caption
    if turned and file.image_ids is None and file.text_ids is None:
        raise SidesSwapped(f"{file.n_image:,} image rows and {file.n_text:,} text rows for '{split.name}'", file.where)
    rows: list[Int | None] = []
    unnamed: list[str] = []
    first, second = file.sides
    for side, ids, n, known, other in (
        (first, file.image_ids, file.n_image, split.rows.ids, split.columns.ids),
        (second, file.text_ids, file.n_text, split.columns.ids, split.rows.ids),
    ):
        if ids is None:
            if n != len(known):
                raise BadInput(
                    f"{n:,} {side} rows, but split '{split.name}' has {len(known):,} {side}s",
                    where=file.where,
                    fix=f"give one row for every {side} of the split, or ids ({side}_ids) to match by",
                )
            rows.append(order(split, SIDES["i2t"][side == second]))
            unnamed.append(side)
        else:
            rows.append(rows_of(ids, known, other, side, split.name, file.where))
    note(in_order(" and ".join(unnamed), split.name, default_order(split.name)) if unnamed else "")
    _refuse_contradiction(file, split, rows[0], rows[1])
    if split.image_of is not None:
        note(_images_without_texts(split.image_of, len(split.rows)))
    return Matched(split, (rows[0], rows[1]))


def _refuse_contradiction(file: Raw, split: TestSet, image_rows: Int | None, text_rows: Int | None) -> None:
    """Raise BadInput if image_of_text differs from the split: the rows are then other items."""
    if file.image_of_text is None or split.image_of is None:
        return
    if file.image_ids is None:
        named = split.rows.ids.copy()  # of the rows of the file, as they were placed
        named[slice(None) if image_rows is None else image_rows] = split.rows.ids
        file = replace(file, image_ids=named)
    image_row, _ = given_owners(file)
    given = _image_index(file, image_row, image_rows, text_rows)
    wrong = np.flatnonzero(given != split.image_of)
    if len(wrong):
        row = int(wrong[0]) if text_rows is None else int(text_rows[wrong[0]])
        raise BadInput(
            f"image_of_text contradicts split '{split.name}': {count_of(len(wrong), 'text belongs', 'texts belong')} "
            f"to another image (first: text row {row})",
            where=file.where,
            fix=f"give image_ids and text_ids so that rows can be matched, or {spell('split', 'custom')}",
        )


def rows_of(ids: Ids, known: Ids, other: Ids, side: str, split: str, where: Path) -> Int:
    """(item,) int64 file row of every item of a split, by id.

    Args:
        ids: (item,) ids of the rows, in any spelling of the split's ids.
        known: (item,) ids of the split.
        other: ids of the other modality in the split, to recognise swapped ones.
        side, split, where: ``image`` or ``text``, the name of the split and the file, for messages.

    Raises:
        BadInput: ids that repeat, are missing or unknown, or belong to the other modality.
    """
    at, how = match(ids, known)
    note(f"{side} ids are matched {how}" if how else "", weight="detail")
    _refuse_repeats(np.where(at < 0, ids.astype(np.str_), known.astype(np.str_)[at]), side, where)
    if (at >= 0).mean() < 0.5 and (match(ids, other)[0] >= 0).mean() > 0.9:
        raise SidesSwapped(f"the {side} ids are the other side's ids of '{split}'", where)
    if (at < 0).all():
        what = (
            f"none of the {side} ids (first: '{format_id(ids[0])}') is an id of split '{split}' (such as '{known[0]}')"
        )
        fix = f"save the {side} ids of the data set"
        if split in splits.names():  # and not a set of choices, for instance
            fix += f", or give {spell('split', 'custom')}"
        if split == "custom":  # evaluated rows have no ids, and are numbered
            fix = "save the ids of the rows that are evaluated with them too"
        raise BadInput(what, where=where, fix=fix)
    missing, unknown = np.delete(known, at[at >= 0]), ids[at < 0]
    if len(missing) or len(unknown):
        parts = []
        if len(missing):
            scope = f"of the {len(known):,} {side} ids of split '{split}'"
            parts.append(
                f"{count_of(len(missing), f'{scope} is', f'{scope} are')} missing (first: {format_id(missing[0])})"
            )
        if len(unknown):
            counted = count_of(len(unknown), f"{side} id is", f"{side} ids are")
            parts.append(f"{counted} unknown to it (first: {format_id(unknown[0])})")
        raise BadInput("; ".join(parts), where=where, fix=f"encode exactly the {side}s of the split")
    return np.argsort(at)


GIVE_TEXT_IDS = "give every text its own id; save the ids of their images as image_id_of_text"


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
            f"(first: {format_id(first)}, in rows {occurs[0]} and {occurs[1]})",
            where=where,
            fix=GIVE_TEXT_IDS if side == "text" else f"save every {'item' if side == 'corpus' else side} once",
        )


def _custom(file: Raw, captions_per_image: int | None, captions: Path | None, judged: bool) -> Matched:
    weight: Weight = "detail"
    of_queries = file.sides == QUERIES
    if of_queries and not judged:
        what = "holds queries and a corpus, but no judgements say which items are relevant"
        raise BadInput(what, where=file.where, fix=f"give {spell('judgements', 'FILE')} (qrels: query, item, grade)")
    known = None if of_queries else known_owners(file, captions, judged)
    if not judged:
        file = without_image_ids(file)
    for side, ids in zip(file.sides, (file.image_ids, file.text_ids), strict=True):
        if ids is not None:
            _refuse_repeats(ids, side, file.where)
    image_row: Int | None = None
    words = ""
    if of_queries:
        if captions_per_image is not None:
            what = f"{spell('captions_per_image')} does not apply to queries and a corpus"
            raise UsageError(what, where=file.where, fix="leave it out")
    elif known is not None:
        image_row, words = known
        times = captions_per_image
        if times and not np.array_equal(image_row, np.arange(file.n_text) // times):
            words = words or ("equal rows are one image" if file.derived else "")
            what = f"{spell('captions_per_image', times)} contradicts the rows{words and f': {words}'}"
            raise UsageError(what, where=file.where, fix="leave it out")
    else:
        weight = "decision"
        words, each = "texts have no image: only judgements define relevance", file.n_text / file.n_image
        if each.is_integer() and file.image_ids is None and file.text_ids is None:
            words += f" ({spell('captions_per_image', round(each))} if text rows follow the images in order)"
        if captions_per_image is not None or not judged:
            image_row, words = owners_in_order(file, captions_per_image)
    note(words, weight=weight)
    if image_row is not None:
        warn(_images_without_texts(image_row, file.n_image, file))
    # The order is ascending by id, so that the order of rows in the file cannot decide a tie.
    first, second = (None if ids is None else np.argsort(ids, kind="stable") for ids in (file.image_ids, file.text_ids))
    image_of = None if image_row is None else _image_index(file, image_row, first, second)
    (row, column), counts = QUERIES if of_queries else SIDES["i2t"], (file.n_image, file.n_text)
    rows = Side(row, _sorted(file.image_ids, first, counts[0]), numbered=first is None)
    columns = Side(column, _sorted(file.text_ids, second, counts[1]), numbered=second is None)
    return Matched(TestSet("custom", rows, columns, image_of), (first, second))


def _sorted(ids: Ids | None, order: Int | None, n: int) -> Ids:
    return np.arange(n) if ids is None else ids[order]


def _image_index(file: Raw, image_row: Int, image_rows: Int | None, text_rows: Int | None) -> Int:
    """(caption,) index of the image of every caption of a split, from (text,) image rows of the file."""
    index = np.arange(file.n_image)
    if image_rows is not None:
        index[image_rows] = np.arange(file.n_image)
    return index[image_row if text_rows is None else image_row[text_rows]]


def _images_without_texts(image_of: Int, n_image: int, file: Raw | None = None) -> str:
    """A sentence when images have no text: they enlarge the gallery, or image_of_text of the ``file`` is wrong."""
    without = np.flatnonzero(np.bincount(image_of, minlength=n_image) == 0)
    if not len(without):
        return ""
    named, first = "", int(without[0])
    if file is not None:
        name = "" if file.image_ids is None else f" (id {format_id(file.image_ids[first])})"
        named = f" (first: image row {first}{name})"
    scope = f"of the {n_image:,} images"
    return (
        f"{count_of(len(without), f'{scope} has', f'{scope} have')} no text{named}: candidates in "
        "text-to-image, but not queries in image-to-text"
    )


Captions = str | os.PathLike[str] | Sequence[str]  # a file, or the strings


def is_file(captions: Captions) -> TypeGuard[str | os.PathLike[str]]:
    """Whether captions are given as a file, not as strings."""
    return isinstance(captions, (str, os.PathLike))


def with_captions(split: TestSet, captions: Captions | None = None) -> TestSet:
    """The same split with its captions.

    Args:
        split: declared or custom.
        captions: a file of captions, or a list of them in the order of a text file; None: of the split, else of
            the cache or the installed packages. JSON lines, tables, Karpathy's files and the official annotations are
            matched by caption id, and so are those in a file of embeddings with text ids. A text file has one caption
            a line: in the order of a declared split (SCAN's ``test_caps.txt``), or for a custom split in the order of
            the text vectors, as has a file of embeddings without text ids.

    Raises:
        BadInput: the file is damaged, lacks captions of the split, or has another number of lines.
        MissingPackage: the captions of a declared split are not installed.
        UsageError: a custom split without captions and without ids of COCO.
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
        fix = f"give one caption per {'line' if path is not None else 'vector'}, in the order of the text vectors"
        raise BadInput(what, where=path, fix=fix)
    rows = order(split, "caption")
    return tuple(lines) if rows is None else tuple(lines[i] for i in rows.tolist())


def _by_id(split: TestSet, other: TestSet) -> tuple[str, ...]:
    if other.columns.texts is not None and np.array_equal(split.columns.ids, other.columns.ids):
        return other.columns.texts
    rows = CaptionRows(other.rows.ids[other.owners], other.columns.ids, other.columns.texts, other.name)
    return _pick(split, rows, None)


def _pick(split: TestSet, rows: CaptionRows, where: str | None) -> tuple[str, ...]:
    """The string of every caption of the split, by id, or by row if the ids of the split are row numbers."""
    if rows.captions is None:
        raise BadInput("holds no captions", where=where, fix="give a file that holds captions")
    n = len(split.columns)
    if split.columns.numbered and len(rows.captions) == n and not np.isin(rows.caption_id, split.columns.ids).all():
        # Rows correspond only if both have the captions of the same images.
        if not _same_images(rows.image_id, split):
            raise BadInput(
                "has captions of other images than the embeddings; their texts have row numbers instead of ids",
                where=where,
                fix="give text_ids with the embeddings, or the captions in the order of the text vectors",
            )
        note(order_note("captions", ["caption"], split))
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
    if not split.rows.numbered and (at >= 0).all():
        return np.array_equal(at, split.owners)
    pairs = np.unique(np.stack([np.unique(x, return_inverse=True)[1] for x in (image, split.owners)]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])) == len(np.unique(pairs[1])))


def _coco_captions(split: TestSet) -> tuple[str, ...]:
    """The captions of a custom split with caption ids of COCO 5K."""
    unknown = UsageError(
        "the captions of a custom test set are unknown",
        fix=f"give them with {spell('captions', 'FILE')} (.txt with one caption per line, or .jsonl)",
    )
    ids = split.columns.ids
    try:
        known = stored.coco_id_rows().caption_id
        if ids.dtype.kind != "i" or split.columns.numbered or not np.isin(ids, known).all():
            raise unknown
        return _by_id(split, splits.load_split("coco-5k", captions=True))
    except MissingPackage as error:
        raise unknown from error
