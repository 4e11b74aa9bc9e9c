"""From what a reader returned to a split, with vectors, scores or lists in the order of the split.

Reading (``read``, ``read_pairs``) gives arrays and lists as a file stores them. Here they are checked (``audit``),
matched to the items of a split (``match`` for rows; lists are matched by id) and put in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..files import audit
from ..files.audit import shown
from ..files.ids import match
from ..files.pairs import Pairs, place
from ..files.raw import Raw
from ..files.regular import MAPPED
from ..log import note, warn
from ..memory import require
from ..options import spell
from ..types import SIDES, Direction, Embeddings, Int, TestSet, Tops
from . import catalogue as splits
from .declared import DECLARED
from .items import one_row_an_image, refuse_layout, refuse_rows_of_pairs, refuse_score_layout, rows_of_blocks
from .match import Matched, match_rows
from .owners import SidesSwapped

Array = npt.NDArray[Any]


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
    if not declared and (blocks := rows_of_blocks(raw)) is not raw:
        raw, captions_per_image = blocks, None  # it has been read
    refuse_layout(raw, declared)
    audit.check_vectors(raw.images, raw.texts, where, raw.image_ids, raw.text_ids)
    if raw.image_ids is not None or not (judged or _counted(split) == len(raw.images)):
        refuse_rows_of_pairs(raw, declared)
        raw = one_row_an_image(raw)
    rounded: list[str] = []
    converted: list[str] = []
    for side, array, ids in (("image", raw.images, raw.image_ids), ("text", raw.texts, raw.text_ids)):
        if ids is not None and len(ids) != len(array):
            what = f"{count_of(len(ids), f'{side} id')} for {count_of(len(array), f'{side} row')}"
            raise BadInput(what, where=where, fix="save one id a row")
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
    """The rows with ids of a split, without those of other items; unchanged where no row of a side is of the split."""
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
    note(f"not used, of other items: {count_of(others[0], 'image')} and {count_of(others[1], 'caption')}")
    return replace(
        raw, arrays=(images, texts), image_ids=image_ids, text_ids=text_ids, image_of_text=None, captions=None
    )


def align_scores(
    raw: Raw, split: TestSet | str | None, captions_per_image: int | None = None, captions: Path | None = None,
    finite: bool = True, judged: bool = False, direction: Direction | None = None, stated: bool = False,
    typed: bool = False,
) -> tuple[Matched, Array]:  # fmt: skip
    """Check a score matrix and match its rows and columns to a split; arguments as for ``align_embeddings``.

    Args:
        raw, split, captions_per_image, captions, judged: as for ``align_embeddings``.
        finite: every pair has a score, or -inf; otherwise NaN and infinite values may stand for
            missing ones.
        direction: the one that the scores were given for, if they were given for one.
        stated: the user says that rows are images.
        typed: a file is given, behind whose name this can be said.

    Raises:
        BadInput: a wrong or transposed shape, a square one of ``t2i`` without ids, scores that ``audit`` refuses, rows
            that ``match`` refuses.
        UsageError: an unknown split.
    """
    where = raw.where
    audit.check_scores(raw.values, where)
    if finite:
        refuse_score_layout(raw, captions_per_image)
        audit.check_finite(raw.values, "image (score)", where, lowest=True)
    scores = raw.values
    n_image, n_text = scores.shape
    square = n_image == n_text > 1 and raw.image_ids is None and raw.text_ids is None and not stated
    if direction == "t2i" and square:
        what = f"the rows of a square t2i score matrix {scores.shape} may be images or texts"
        fix = f"write t2i={where}:rows=texts or t2i={where}:rows=images, or " if typed else ""
        fix += "give image_ids and text_ids, with images as rows (scores.T)"
        raise BadInput(what, where=where, fix=fix)
    for side, ids, n, other in (("image", raw.image_ids, n_image, n_text), ("text", raw.text_ids, n_text, n_image)):
        if ids is not None and len(ids) != n:
            turned = "; the matrix looks transposed" if len(ids) == other else ""
            what = f"score matrix has shape {scores.shape} and there are {len(ids):,} {side} ids{turned}"
            raise BadInput(what, where=where, fix="save scores with one row an image and one column a text")
    try:
        found = _matched(raw, split, captions_per_image, captions, judged)
    except SidesSwapped as error:
        what = f"score matrix has shape {scores.shape} and looks transposed ({error.why})"
        raise BadInput(what, where=where, fix="save scores.T: one row an image and one column a text") from None
    if square and found.split.name == "custom":
        note("a square matrix without ids: its rows are taken to be images and its columns texts")
    if scores.dtype == np.float16:
        warn("scores are float16: many pairs tie that have different scores in float32; save float32 scores")
    return found, scores


def _matched(
    raw: Raw, split: TestSet | str | None, captions_per_image: int | None, captions: Path | None, judged: bool
) -> Matched:  # fmt: skip
    """The rows of a file matched to a split; a custom one with the captions of the file."""
    found = match_rows(raw, split, captions_per_image, captions, judged)
    strings = raw.captions
    if strings is None or isinstance(split, TestSet):
        return found
    if found.split.name != "custom":
        note(f"the captions in the file are not used: those of {found.split.name} are declared")
        return found
    if len(strings) != raw.n_text:
        what = f"{count_of(len(strings), 'caption')} for {count_of(raw.n_text, 'text row')}"
        raise BadInput(what, where=raw.where, fix="save one caption a text row")
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
        what = "retrieved lists do not have the image of every caption, so they need a declared split or judgements"
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
            what = f"holds {direction}, as does {origin[direction]}"
            raise BadInput(what, where=pairs.where, fix="give one run a direction")
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
    require(4 * array.shape[1] * (len(array) if rows is None else len(rows)), f"{side} vectors", MAPPED)
    return np.asarray(array if same else array[rows], np.float32, order="C")


def _rounds(array: Array) -> bool:
    step = max(1, (1 << 22) // array.shape[1])
    return any(
        bool((array[s : s + step].astype(np.float32) != array[s : s + step]).any()) for s in range(0, len(array), step)
    )


def split_of(runs: Sequence[Pairs]) -> TestSet:
    """The first declared split that has most of the queries of some lists.

    Raises:
        UnknownItems: there is none.
    """
    queries = [pairs.queries[:50] for pairs in runs]
    for name in splits.names():
        if name in DECLARED and DECLARED[name].in_folds:
            continue  # a view of another split
        try:
            split = splits.load_split(name)
        except (MissingPackage, BadInput):  # of one's own, damaged: whoever names it will be told
            continue
        # A few shared ids may be a coincidence, a majority is not.
        known = [(match(q, split.rows.ids)[0] >= 0) | (match(q, split.columns.ids)[0] >= 0) for q in queries]
        if np.concatenate(known).mean() > 0.5:
            return split
    raise UnknownItems(
        f"query ids such as '{shown(queries[0][0])}' belong to no declared split that is installed "
        f"({', '.join(splits.names())})",
        where=runs[0].where,
        fix=f"give {spell('split', 'NAME')}, and see `vsebench data list` for what is installed; "
        f"or give judgements of these lists: {spell('judgements', 'NAME=FILE')}",
    )


class UnknownItems(BadInput):
    """Queries of no declared split."""
