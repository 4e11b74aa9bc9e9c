"""One row an item: rows that are exactly equal are one image; arrays of another layout are refused.

Loaders yield pairs, so that an image is encoded once for each of its texts; videos with fewer captions than others are
padded; MATLAB writes (dim, item); processes compute shares of a matrix. Each leaves marks in the arrays, which are
looked for before any order of the rows is assumed. ``align_*`` put what a reader returned in the order of a split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..files.ids import match
from ..files.pairs import Pairs, place
from ..files.raw import Raw, check_finite, check_scores, check_vectors, format_id
from ..files.regular import SAVE_NPY
from ..log import note, warn
from ..memory import require
from ..options import spell
from ..types import QUERIES, SIDES, Bool, Direction, Embeddings, Ids, Int, TestSet, Tops
from . import catalogue as splits
from .match import Matched, match_rows
from .owners import SidesSwapped
from .stored import DECLARED

Array = npt.NDArray[Any]

MAX_DISTANCE_OF_EQUAL = 0.02  # between two roundings of a unit vector: 0.004 in bfloat16, more from other batches
MIN_NEXT_RATIO = 3.0  # distance of the next item, relative to that of an equal one
MAX_PRODUCTS = 1 << 31  # multiplications in the search for rows near each other
MIN_SHARE_NEAR = 0.2  # share of rows near another one from which rows are rows of pairs
MIN_SHARE_WITH_IDS = 0.75  # the same if every row has its own id, and for a score matrix
MAX_DISTINCT_SHARE = 0.8  # distinct texts a row of pairs; below it texts repeat (a few captions may be equal)
MAX_ROWS_AN_ITEM = 64  # mean; with more, the vectors have collapsed
MIN_NUMBERS = 8  # fewer equal numbers in a line, or fewer rows, may be a coincidence
MAX_SHARE_OF_FILL = 0.01  # share of the other scores equal to the number that fills lines without scores
MAX_SQUARE_ROWS = 1 << 14  # larger square score matrices are not searched for repetition
PREFIX_NUMBERS = 32  # rows are compared by their first numbers, and then completely
REMOVE_PADDING = "leave out the rows or columns of captions that do not exist, and give image_of_text for the others"
GATHER_PROCESSES = (
    "gather the scores of all processes before you save the matrix; the part of one process is not enough"
)
EVERY_ITEM_ONCE = "every image and every text once, with image_of_text"


def refuse_layout(raw: Raw, placed: bool) -> None:
    """Refuse arrays unless every row is the vector of one image or text.

    Args:
        raw: as read.
        placed: a split gives the number of rows.

    Raises:
        BadInput: arrays of (dim, item), or some rows of one number.
    """
    images, texts = raw.images, raw.texts
    if images.ndim != 2 or texts.ndim != 2 or 0 in (*images.shape, *texts.shape) or images.dtype.kind != "f":
        return  # ``audit`` says so
    (n, dim), (n_text, width) = images.shape, texts.shape
    ids = [(len(x), *side.shape) for x, side in ((raw.image_ids, images), (raw.text_ids, texts)) if x is not None]
    known = bool(ids) or raw.image_of_text is not None
    by_ids = any(count != rows for count, rows, _ in ids) and all(count == columns for count, _, columns in ids)
    unit = dim == width and _are_unit(images.T) and _are_unit(texts.T) and not _are_unit(images)
    turned = n == n_text > 1 and (by_ids or (unit and n == dim))
    if turned or (n == n_text > 1 and (dim != width or (not known and (unit or (dim > n and not placed))))):
        other = "image_of_text" if dim == width else "vectors of the joint space of the model, after its projections"
        fix = "save array.T, one row per item" + ("" if turned else f", if they are; otherwise give {other}")
        raise BadInput(f"the arrays look like (dim, item), {images.shape} and {texts.shape}", where=raw.where, fix=fix)
    for side, rows, names in zip(raw.sides, raw.arrays, (raw.image_ids, raw.text_ids), strict=True):
        empty = constant_rows(rows) & ~np.isinf(rows[:, 0])
        if 0 < empty.sum() < len(rows) and (dim >= MIN_NUMBERS or not np.nan_to_num(rows[empty]).any()):
            counted = count_of(
                int(empty.sum()), *(f"of {len(rows):,} {side} rows {verb} constant" for verb in ("is", "are"))
            )
            first = f"first: row {empty.argmax()}{_id_of_row(names, empty.argmax())}, all {rows[empty.argmax(), 0]:g}"
            fix = f"{REMOVE_PADDING}, or encode these texts again" if side == "text" else "encode these items again"
            raise BadInput(f"{counted} ({first})", where=raw.where, fix=fix)


def refuse_rows_of_pairs(raw: Raw, placed: bool) -> None:
    """Refuse vectors, (row, dim) each, with a row for every pair of an image and a text that are not exactly equal.

    Args:
        raw: as read.
        placed: unique ids belong to a given split.

    Raises:
        BadInput: image rows near each other, rows that repeat under unique ids, text rows that repeat.
    """
    n, ids = len(raw.images), raw.image_ids
    if n != len(raw.texts) or raw.image_of_text is not None or (ids is not None and len(np.unique(ids)) < n):
        return
    exact = equal_rows(raw.images)
    near = _share_near(raw.images, exact)
    if ids is not None:
        if not placed:
            refuse_ids_of_pairs(raw, max(near, _share_equal(exact)))
        return
    if near >= MIN_SHARE_NEAR or (near and repeat(exact)):
        what = f"{near:.1%} of the image rows nearly equal another one, as if encoded again for each of its texts"
        fix = f"give image_ids, the same id for all rows of an image, or {EVERY_ITEM_ONCE}"
        raise BadInput(what, where=raw.where, fix=fix)
    items = n if raw.text_ids is not None else int((equal := equal_rows(raw.texts)).max()) + 1
    if n >= MIN_NUMBERS and items <= MAX_DISTINCT_SHARE * n and repeat(equal):
        what = f"text rows repeat: {n:,} rows are {items:,} texts, so that a text has several images"
        fix = "save every text once and evaluate judgements, the pairs of image and text ids: "
        raise BadInput(what, where=raw.where, fix=fix + spell("judgements", "NAME=PAIRS.csv"))


def refuse_ids_of_pairs(raw: Raw, share: float) -> None:
    """Raise BadInput if a ``share`` of image rows repeats under unique ids, and nothing gives the texts of an image."""
    names = {str(text).rpartition("#")[0] for text in ([] if raw.text_ids is None else raw.text_ids.tolist())}
    names_are_images = bool(names) and names <= set(map(str, np.asarray(raw.image_ids).tolist()))
    if (
        share >= MIN_SHARE_WITH_IDS
        and len(raw.images) >= MIN_NUMBERS
        and not names_are_images
        and raw.image_of_text is None
    ):
        what = f"{share:.0%} of the image rows equal another one under another id: the ids seem to be ids of pairs"
        raise BadInput(
            what, where=raw.where, fix=f"give the id of the image, the same for all its rows, or {EVERY_ITEM_ONCE}"
        )


def refuse_score_layout(raw: Raw, captions_per_image: int | None, limited: bool = False) -> None:
    """Refuse a score matrix with rows or columns that were never scored, or with one for every pair.

    Args:
        raw: the matrix.
        captions_per_image: as for ``align_embeddings``.
        limited: candidates are given, so that the lowest score of a matrix may fill a row or a column.

    Raises:
        BadInput: so it is.
    """
    scores, owners = raw.values, raw.image_of_text
    n, n_text = scores.shape
    fills = [fill[0] for rows in (scores, scores.T) for fill in rows[constant_lines(rows)][:1]]
    lowest = bool(fills and max(fills) < 0 and max(fills) <= np.nanmin(scores))
    if fills and not (limited and lowest):
        what = uncomputed(scores)
        times, kept = captions_per_image or n_text // n, ~constant_lines(scores.T)
        owners = np.repeat(np.arange(n), times) if owners is None and raw.text_ids is None else owners
        padding = owners is not None and len(owners) == n_text and set(owners[kept]) == set(owners)
        fix = REMOVE_PADDING if padding and not kept.all() else GATHER_PROCESSES
        fix += (
            f"; or say which items are not candidates: {spell('candidates', 'FILE')}, {spell('exclude', 'FILE')}"
            * lowest
        )
        raise BadInput(what, where=raw.where, fix=fix)
    known = any(x is not None for x in (raw.image_ids, raw.text_ids, raw.image_of_text))
    if known or n != n_text or not MIN_NUMBERS <= n <= MAX_SQUARE_ROWS or not np.isfinite(scores).all():
        return
    for side, lines in (("row", scores), ("column", scores.T)):
        exact = equal_rows(lines)
        if max(_share_equal(exact) if repeat(exact) else 0, _share_near(lines, exact)) >= MIN_SHARE_WITH_IDS:
            what = f"{side}s of the score matrix repeat, as if it had one for every pair"
            raise BadInput(what, where=raw.where, fix=f"give {EVERY_ITEM_ONCE}")


def _share_near(rows: Array, exact: Int) -> float:
    """The share of a sample of rows (of ``exact``, the groups of equal rows) with others near, and then none for long.

    Distances are between unit vectors, ``2 - 2 * cosine`` squared.
    """
    unit = np.asarray(rows[np.unique(exact, return_index=True)[1]], np.float32)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    count = min(len(unit), max(MAX_ROWS_AN_ITEM, MAX_PRODUCTS // unit.size))
    some = np.unique(np.linspace(0, len(unit) - 1, count).astype(np.int64))
    found = 0
    for part in np.array_split(some, max(1, len(some) // MAX_ROWS_AN_ITEM)):
        cosine = unit[part] @ unit.T
        near, around = (
            (cosine >= 1 - d**2 / 2).sum(axis=1) - 1
            for d in (MAX_DISTANCE_OF_EQUAL, MIN_NEXT_RATIO * MAX_DISTANCE_OF_EQUAL)
        )
        found += int(((near == around) & (near > 0) & (near <= min(MAX_ROWS_AN_ITEM, len(unit) / 2))).sum())
    return found / len(some)


def rows_of_blocks(raw: Raw) -> Raw:
    """Texts of shape (image, caption, dim) as rows, with a note; other arrays as they are.

    Raises:
        BadInput: one vector is the last caption of many images, such as the vector of an empty string.
    """
    if raw.texts.ndim != 3 or raw.texts.shape[::2] != raw.images.shape or raw.texts.shape[1] < 2:
        return raw
    n, times, dim = raw.texts.shape
    last = np.bincount(equal_rows(raw.texts[:, -1])).max()
    if n >= MIN_NUMBERS and last > max(2, MIN_SHARE_NEAR / 2 * n):
        what = (
            f"one vector is the last of the {times} texts of {last:,} of {n:,} images, as if it encoded an empty "
            "caption"
        )
        raise BadInput(what, where=raw.where, fix="save texts as (text, dim) without padding, and give image_of_text")
    note(f"texts of shape {raw.texts.shape} are read as (image, caption, dim)")
    texts, owners = raw.texts.reshape(n * times, dim), np.repeat(np.arange(n), times)
    return replace(raw, arrays=(raw.images, texts), image_of_text=owners, holds="rows", derived=True)


def one_row_an_image(raw: Raw, declared: bool = False) -> Raw:
    """Vectors with one row an image: equal rows without ids, or near ones of one id, are one.

    Args:
        raw: as read.
        declared: rows without ids are in the order of a named test set.

    Raises:
        BadInput: rows of one id that differ; ``image_of_text`` that gives texts to the images of other rows.
    """
    n, given, holds, ids = len(raw.images), raw.image_of_text, raw.holds, raw.image_ids
    if (ids is not None and len(ids) != n) or (ids is None and n != len(raw.texts)):
        return raw
    group = equal_rows(raw.images if ids is None else np.asarray(ids)[:, None])
    rows = np.unique(group, return_index=True)[1]
    if len(rows) == n or (ids is None and (not repeat(group) or (given is not None and len(rows) > n / 2))):
        return raw  # images that are equal, and each has its texts
    unit = raw.images / np.linalg.norm(raw.images, axis=1, keepdims=True)
    if len(far := np.flatnonzero(np.linalg.norm(unit - unit[rows][group], axis=1) > MAX_DISTANCE_OF_EQUAL)):
        of_class = f"rows {rows[group[far[0]]]} and {far[0]}{_id_of_row(ids, far[0])} have the same image id but differ"
        what = f"{of_class}: the ids look like class ids"
        fix = "save a separate id for every image, such as its file name; pass ids of classes as judgements: "
        raise BadInput(what, where=raw.where, fix=fix + spell("judgements", "NAME=labels:FILE"))
    words, paired = f"image rows repeat, one for each text: {n:,} rows are {len(rows):,} images", n == len(raw.texts)
    if given is None and paired:
        given, holds = group, "rows"
    elif given is not None and holds != "ids" and _are_rows(given, n, ids):
        # Rows as they are in the file, or as they are without the repeated ones.
        given, holds = given if paired and np.array_equal(given, group) else group[given], "rows"
        if paired and not np.array_equal(given, group):
            what = f"{words}, but image_of_text assigns texts to other images"
            raise BadInput(what, where=raw.where, fix="give every image once, with image_of_text for these rows")
    note(words)
    arrays, derived = (raw.images[rows], raw.texts), raw.derived or raw.image_of_text is None
    if ids is not None or not declared:  # an image without an id has its row, as files beside the vectors count it
        ids = rows if ids is None else ids[rows]
    return replace(raw, arrays=arrays, image_ids=ids, image_of_text=given, holds=holds, derived=derived)


def _are_rows(given: Ids, n: int, ids: Ids | None) -> bool:
    """Whether the image of every text is given as rows, and not as ids."""
    if ids is not None and ids.dtype.kind == "i" and np.isin(given, ids).all():
        return False
    return given.dtype.kind == "i" and bool(given.min() >= 0 and given.max() < n)


def equal_rows(rows: Array) -> Int:
    """(row,) int64 group of every row, the same for rows that are exactly equal; numbered by first occurrence.

    Rows of any shape may be memory-mapped: only rows that start with ``PREFIX_NUMBERS`` equal numbers are read fully.
    """
    flat = rows.reshape(len(rows), -1)
    start = np.ascontiguousarray(flat[:, :PREFIX_NUMBERS])
    keys = start.view(np.dtype((np.void, start.dtype.itemsize * start.shape[1]))).ravel()
    group = np.unique(keys, return_inverse=True)[1].ravel()
    names = [(int(g), b"") for g in group.tolist()]
    for row in np.flatnonzero(np.bincount(group)[group] > 1).tolist() if flat.shape[1] > PREFIX_NUMBERS else ():
        names[row] = (names[row][0], hashlib.blake2b(flat[row].tobytes(), digest_size=16).digest())
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], np.int64)


def repeat(group: Int) -> bool:
    """Whether rows, as many as the texts, repeat by the groups (row,) of ``equal_rows``, any number of times.

    Equal rows are one image then, unless nearly all are equal, as with a collapsed model.
    """
    return max(1, len(group) / MAX_ROWS_AN_ITEM) < int(group.max()) + 1 < len(group)


def _share_equal(group: Int) -> float:
    return float((np.bincount(group)[group] > 1).mean())


def _id_of_row(ids: Ids | None, row: int | np.int64) -> str:
    """The id of a row, for a message; empty without one."""
    return "" if ids is None or row >= len(ids) else f" (id {format_id(ids[row])})"


def _are_unit(rows: Array) -> bool:
    """Whether all rows have unit length."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return bool(np.allclose(np.linalg.norm(np.asarray(rows[:4096], np.float64), axis=1), 1, atol=1e-2))


def last_of_all(scores: Array, where: Path) -> Array:
    """A score matrix with a number below every score in place of -inf (excluded pairs)."""
    if scores.dtype.kind != "f" or scores.min(initial=np.inf) > -np.inf:
        return scores
    missing = np.isneginf(scores)
    if missing.all():
        check_finite(scores, "image (score)", where)
    require(scores.nbytes, where)
    low, high = scores.min(initial=np.inf, where=~missing), scores.max()
    words, leaves = (
        count_of(int(missing.sum()), "score is", "scores are"),
        f"{spell('exclude', 'FILE')} leaves them out",
    )
    note(f"{words} -inf: these pairs are ranked last; {leaves}")
    return np.where(missing, scores.dtype.type(low - 3 * max(high - low, 1)), scores)


def uncomputed(scores: Array) -> str:
    """The rows or columns of a matrix without scores, in words; empty if there are none."""
    for side, lines in (("row", scores), ("column", scores.T)):
        empty = constant_lines(lines)
        if empty.any():
            first = int(empty.argmax())
            words = f"{int(empty.sum()):,} of {len(lines):,} {side}s have no scores"
            return f"{words} (first: {side} {first}, all {lines[first, 0]:g})"
    return ""


def constant_lines(scores: Array) -> Bool:
    """(row,) whether a row of scores was never computed: it is one number throughout, the same in all such rows.

    A number that other rows hold too, as scores of few values and of the top of rankings do, does not tell.
    """
    n, constant = scores.shape[1], constant_rows(scores)
    values, varied = np.unique(scores[constant, 0]), scores[~constant][:, :: max(1, n // MIN_NUMBERS - 1)]
    fill = scores.dtype.kind == "f" and n > 1 and len(values) == 1 and len(varied) > 0
    if not fill or _same(varied, values[0]).mean() > MAX_SHARE_OF_FILL or (np.isfinite(values[0]) and n < MIN_NUMBERS):
        return np.zeros(len(scores), np.bool_)
    return constant


def constant_rows(rows: Array) -> Bool:
    """(row,) whether a row is one number throughout; NaN is equal to NaN."""
    constant: Bool = np.asarray(_same(rows[:, [0, -1]], rows[:, :1]).all(axis=1))  # of the two ends, which is quick
    for row in np.flatnonzero(constant).tolist():
        constant[row] = _same(rows[row], rows[row, 0]).all()
    return constant


def _same(values: Array, fill: Any) -> Bool:
    """Where values are equal; NaN equals NaN."""
    return np.asarray((values == fill) | (np.isnan(values) & np.isnan(fill)))


def align_embeddings(
    raw: Raw, split: TestSet | str | None, captions_per_image: int | None = None, captions: Path | None = None,
    judged: bool = False,
) -> tuple[Matched, tuple[Embeddings, Embeddings]]:  # fmt: skip
    """Check vectors, match them to a split and put them in its order as float32.

    Args:
        raw: as read.
        split: a declared split or ``custom``; None: the ids decide. A TestSet: rows are matched to it by id where there
            are ids, else they are in its order.
        captions_per_image, captions, judged: see ``match.match_rows``.

    Raises:
        BadInput: vectors that ``audit`` refuses, rows that ``match`` refuses.
        UsageError: an unknown split.
    """
    where = raw.where
    declared = split is not None and split != "custom"
    pairs = raw.sides != QUERIES  # a row may stand for a pair of an image and a text
    if pairs and not declared and (blocks := rows_of_blocks(raw)) is not raw:
        raw, captions_per_image = blocks, None  # it has been read
    refuse_layout(raw, declared)
    check_vectors(raw.images, raw.texts, where, raw.image_ids, raw.text_ids, raw.sides)
    if pairs and (raw.image_ids is not None or not (judged or _counted(split) == len(raw.images))):
        refuse_rows_of_pairs(raw, declared)
        raw = one_row_an_image(raw, declared)
    rounded: list[str] = []
    converted: list[str] = []
    for side, array, ids in zip(raw.sides, raw.arrays, (raw.image_ids, raw.text_ids), strict=True):
        if ids is not None and len(ids) != len(array):
            what = f"{count_of(len(ids), f'{side} id')} for {count_of(len(array), f'{side} row')}"
            raise BadInput(what, where=where, fix="save one id per row")
        if array.dtype == np.float64 and _rounds(array):
            rounded.append(side)
        if array.dtype == np.float16:
            converted.append(side)
    for sides, how in ((rounded, "float64: rounded to float32"), (converted, "float16: converted to float32, exactly")):
        note(f"{' and '.join(sides)} vectors are {how}" if sides else "", weight="detail")
    found = _matched(raw, split, captions_per_image, captions, judged)
    images = Embeddings("image", found.split.rows.ids, _in_order(raw.images, found.rows[0], "image"))
    texts = Embeddings("caption", found.split.columns.ids, _in_order(raw.texts, found.rows[1], "text"))
    return found, (images, texts)


def _counted(split: TestSet | str | None) -> int | None:
    """The number of images of a split: as many rows without ids are these images, also if two of them are equal."""
    if isinstance(split, TestSet):
        return len(split.rows)
    return splits.declared(split).images if split in splits.names() else None


def only(raw: Raw, split: TestSet) -> Raw:
    """The rows with ids of a split, without other items; unchanged if a side has no row of the split."""
    sides = ((raw.images, raw.image_ids, split.rows.ids), (raw.texts, raw.text_ids, split.columns.ids))
    kept = [
        np.ones(len(rows), bool) if ids is None or len(ids) != len(rows) else match(ids, known)[0] >= 0
        for rows, ids, known in sides
    ]
    others = [int((~rows).sum()) for rows in kept]
    if not any(others) or not all(rows.any() for rows in kept):
        return raw
    (images, image_ids), (texts, text_ids) = (
        (rows[kept_rows], None if ids is None else ids[kept_rows])
        for (rows, ids, _), kept_rows in zip(sides, kept, strict=True)
    )
    note(
        f"not used, because they belong to other items: {count_of(others[0], 'image')} and "
        f"{count_of(others[1], 'caption')}"
    )
    return replace(
        raw, arrays=(images, texts), image_ids=image_ids, text_ids=text_ids, image_of_text=None, captions=None
    )


def align_scores(
    raw: Raw, split: TestSet | str | None, captions_per_image: int | None = None, captions: Path | None = None,
    finite: bool = True, judged: bool = False, direction: Direction | None = None, stated: bool = False,
    typed: bool = False, limited: bool = False,
) -> tuple[Matched, Array]:  # fmt: skip
    """Check a score matrix and match its rows and columns to a split; arguments as for ``align_embeddings``.

    Args:
        raw, split, captions_per_image, captions, judged: as for ``align_embeddings``.
        finite: every pair has a score, or -inf; otherwise NaN and infinite values may stand for
            missing ones.
        direction: the one that the scores were given for, if they were given for one.
        stated: the user says that rows are images.
        limited: see ``refuse_score_layout``.
        typed: a file is given, so that the fix can be typed after its name.

    Raises:
        BadInput: a wrong or transposed shape, a square one of ``t2i`` without a direction of rows, NaN, rows that
            ``match`` refuses.
        UsageError: an unknown split.
    """
    where = raw.where
    check_scores(raw.values, where)
    if finite:
        refuse_score_layout(raw, captions_per_image, limited)
        check_finite(raw.values, "image (score)", where, lowest=True)
    scores = raw.values
    n_image, n_text = scores.shape
    square, unnamed = (
        n_image == n_text > 1 and not stated and raw.sides != QUERIES,
        raw.image_ids is None and raw.text_ids is None,
    )
    rows = f"{direction}={where}" if direction else f"{where}"
    fix = f"write {rows}:rows=texts or {rows}:rows=images"
    fix = fix if typed else "give image_ids and text_ids, with images as rows (scores.T)"
    if direction == "t2i" and square and (typed or unnamed):
        what = f"the rows of a square t2i score matrix {scores.shape} may be images or texts"
        raise BadInput(what, where=where, fix=fix)
    one, two = raw.sides
    for side, ids, n, other in ((one, raw.image_ids, n_image, n_text), (two, raw.text_ids, n_text, n_image)):
        if ids is not None and len(ids) != n:
            turned = "; the matrix looks transposed" if len(ids) == other else ""
            what = f"score matrix has shape {scores.shape}, but there are {len(ids):,} {side} ids{turned}"
            items = "per query and one column per item" if raw.sides == QUERIES else "per image and one column per text"
            raise BadInput(what, where=where, fix=f"save scores with one row {items}")
    try:
        found = _matched(raw, split, captions_per_image, captions, judged)
    except SidesSwapped as error:
        what = f"score matrix has shape {scores.shape} and looks transposed ({error.why})"
        raise BadInput(what, where=where, fix="save scores.T: one row per image and one column per text") from None
    if square and unnamed and typed and found.split.image_of is None:  # nothing else shows that a matrix is turned
        what = f"the rows of a square score matrix {scores.shape} with judgements may be images or texts"
        raise BadInput(what, where=where, fix=fix)
    if square and unnamed and found.split.name == "custom":
        note("a square matrix without ids: its rows are read as images and its columns as texts")
    if scores.dtype == np.float16:
        warn("scores are float16: many pairs tie although they have different scores in float32; save float32 scores")
    return found, scores


def _matched(
    raw: Raw, split: TestSet | str | None, captions_per_image: int | None, captions: Path | None, judged: bool
) -> Matched:  # fmt: skip
    """The rows of a file matched to a split; a custom one with the captions of the file."""
    found = match_rows(raw, split, captions_per_image, captions, judged)
    strings = raw.captions
    if strings is None or isinstance(split, TestSet) or raw.sides == QUERIES:
        return found
    if found.split.name != "custom":
        note(f"the captions in the file are not used: {found.split.name} has its own captions")
        return found
    if len(strings) != raw.n_text:
        what = f"{count_of(len(strings), 'caption')} for {count_of(raw.n_text, 'text row')}"
        raise BadInput(what, where=raw.where, fix="save one caption per text row")
    if (rows := found.rows[1]) is not None:
        strings = tuple(strings[row] for row in rows.tolist())
    return replace(found, split=found.split.with_texts(strings))


def align_lists(runs: Sequence[Pairs], name: TestSet | str | None) -> tuple[TestSet, dict[Direction, Tops]]:
    """A declared split and the lists of runs, as indices of it, by direction; queries without a list have an empty one.

    Args:
        runs: retrieved lists, as ``read_pairs`` returns them.
        name: the split, or its name; None: the first available declared one that has most of the query ids.

    Raises:
        BadInput: ids that are not in the split (counts and first), two lists for one direction, or a direction
            that cannot be determined.
        UsageError: ``custom`` or an unknown split.
    """
    if name == "custom":
        what = (
            "retrieved lists do not say which image a caption belongs to, so they need a declared split or judgements"
        )
        lists = f"{spell('judgements', 'NAME=FILE')} of these lists"
        fix = f"give {spell('split', 'NAME')} of `vsebench data list`, or {lists}"
        raise UsageError(what, fix=fix)
    split = name if isinstance(name, TestSet) else splits.load_split(name) if name else split_of(runs)
    found: dict[Direction, Tops] = {}
    origin: dict[Direction, str] = {}
    for pairs in runs:
        placed = place(pairs, split, strict=True)
        direction = placed.direction
        assert direction is not None  # it is placed
        if direction in found:
            what = f"holds {split.way(direction)}, as does {origin[direction]}"
            raise BadInput(what, where=pairs.where, fix="give one run per direction")
        queries, gallery = (len(split.side(side).ids) for side in SIDES[direction])
        order, ties = np.argsort(placed.query, kind="stable"), None
        query = placed.query[order]
        if placed.number is not None:
            ties = np.zeros(len(query), np.bool_)
            ties[1:] = (np.diff(query) == 0) & (np.diff(placed.number[order]) == 0)
        start = np.searchsorted(query, np.arange(queries + 1))
        found[direction], origin[direction] = Tops(start, placed.item[order], ties, gallery), pairs.where
    return split, found


def _in_order(array: Array, rows: Int | None, side: str) -> npt.NDArray[np.float32]:
    same = rows is None or (len(rows) == len(array) and bool((rows == np.arange(len(array))).all()))
    if same and array.dtype == np.float32 and array.flags.c_contiguous:
        return array
    require(4 * array.shape[1] * (len(array) if rows is None else len(rows)), f"{side} vectors", SAVE_NPY)
    return np.asarray(array if same else array[rows], np.float32, order="C")


def _rounds(array: Array) -> bool:
    step = max(1, (1 << 22) // array.shape[1])
    return any(
        bool((array[s : s + step].astype(np.float32) != array[s : s + step]).any()) for s in range(0, len(array), step)
    )


def split_of(runs: Sequence[Pairs]) -> TestSet:
    """The first declared split that has most of the queries of some lists.

    Raises:
        UnknownItems: no split has the ids.
    """
    queries = [pairs.queries[:50] for pairs in runs]
    for name in splits.names():
        if name in DECLARED and DECLARED[name].in_folds:
            continue  # a view of another split
        try:
            split = splits.load_split(name)
        except (MissingPackage, BadInput):  # a damaged custom set is skipped here; loading it by name raises
            continue
        # A few shared ids may be a coincidence, a majority is not.
        known = [(match(q, split.rows.ids)[0] >= 0) | (match(q, split.columns.ids)[0] >= 0) for q in queries]
        if np.concatenate(known).mean() > 0.5:
            return split
    raise UnknownItems(
        f"query ids such as '{format_id(queries[0][0])}' belong to no installed split ({', '.join(splits.names())})",
        where=runs[0].where,
        fix=f"give {spell('split', 'NAME')}, and see `vsebench data list` for what is installed; "
        f"or give judgements of these lists: {spell('judgements', 'NAME=FILE')}",
    )


class UnknownItems(BadInput):
    """Queries of no declared split."""
