"""From what a reader returned to a split, with vectors, scores or lists in the order of the split.

Reading (``read``, ``runs``) gives arrays and lists as a file stores them. Here they are checked (``audit``), matched to
the items of a split (``match`` for rows; lists are matched by id) and put in its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..memory import require
from ..options import spell
from ..types import DIRECTIONS, Direction, Embeddings, Ids, Int, Split
from . import audit
from .audit import shown
from .formats.ids import respelled
from .formats.raw import RawArray, RawEmbeddings, RawLists
from .match import FileRows, MatchedRows, SidesSwapped, match_rows
from .regular import MAPPED
from .splits import catalogue as splits
from .splits.declared import DECLARED

Array = npt.NDArray[Any]
Id = int | str


@dataclass(frozen=True, eq=False)
class AlignedEmbeddings:
    """A split and the vectors of its images and captions, in its order.

    Attributes:
        split: the items.
        images: the vectors of the images.
        captions: the vectors of the captions.
        where: the file, for messages.
        rows: (image,) and (caption,) int64: the file row of every item, None where it is the index of the item.
        notes: what was decided, one sentence each.
        warnings: what may be wrong, one sentence each.
    """

    split: Split
    images: Embeddings
    captions: Embeddings
    where: Path
    rows: tuple[Int | None, Int | None]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class AlignedScores:
    """A split and a score matrix.

    Attributes:
        split, where, rows, notes, warnings: as in ``AlignedEmbeddings``.
        scores: rows and columns in the order of the file, floating point.
    """

    split: Split
    scores: Array
    where: Path
    rows: tuple[Int | None, Int | None]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class AlignedLists:
    """A split and retrieved lists of its items.

    Attributes:
        split: the items.
        lists: direction -> query index -> (length,) int64 gallery indices, best first.
        tied: direction -> query index -> (tie,) int64 positions (from 0) in the list whose score equals that of the
            position before. Directions without scores and queries without ties are absent.
    """

    split: Split
    lists: dict[Direction, dict[int, Int]]
    tied: dict[Direction, dict[int, Int]] = field(default_factory=dict)


def align_embeddings(
    raw: RawEmbeddings, split: Split | str | None, captions_per_image: int | None = None, captions: Path | None = None
) -> AlignedEmbeddings:
    """Check vectors, match them to a split and put them in its order as float32.

    Args:
        raw: as read.
        split: a declared split or ``custom``; None: the ids decide. A Split: rows are matched to it by id where there
            are ids, else they are in its order.
        captions_per_image: see ``match.match_rows``; also the number of times that a repeated image row occurs.
        captions: a file of captions, see ``match.FileRows``.

    Raises:
        BadInput: vectors that ``audit`` refuses, rows that ``match`` refuses.
        UsageError: an unknown split.
    """
    where = raw.sources[0]
    audit.check_vectors(raw.images, raw.texts, where, raw.image_ids, raw.text_ids)
    times = 1 if isinstance(split, Split) else captions_per_image or 5
    repeated = audit.repeated_rows(raw.images, len(raw.texts), times) and _ids_repeat(raw.image_ids, times)
    notes: list[str] = []
    if repeated:
        n = len(raw.images)
        notes.append(f"every image row is repeated {times} times: {n:,} rows de-duplicated to {n // times:,}")
        ids = None if raw.image_ids is None else raw.image_ids[::times]
        raw = replace(raw, images=raw.images[::times], image_ids=ids)
    for side, array, ids in (("image", raw.images, raw.image_ids), ("text", raw.texts, raw.text_ids)):
        if ids is not None and len(ids) != len(array):
            what = f"{count_of(len(ids), f'{side} id')} for {count_of(len(array), f'{side} row')}"
            raise BadInput(what, where=where, fix="save one id a row")
        if array.dtype == np.float64 and _rounds(array):
            notes.append(f"{side} vectors are float64: rounded to float32")
        if array.dtype == np.float16:
            notes.append(f"{side} vectors are float16: converted to float32, exactly")
    shape = (len(raw.images), len(raw.texts))
    found = _matched(raw, shape, split, captions_per_image, captions, times if repeated else 1)
    split, rows = found.split, (found.image_rows, found.text_rows)
    images = Embeddings("image", split.image_ids, _in_order(raw.images, rows[0], "image"))
    texts = Embeddings("caption", split.caption_ids, _in_order(raw.texts, rows[1], "text"))
    return AlignedEmbeddings(split, images, texts, where, rows, (*raw.notes, *notes, *found.notes), found.warnings)


def only(raw: RawEmbeddings, split: Split) -> RawEmbeddings:
    """The rows with ids of a split, without those of other items; unchanged where no row of a side is of the split."""
    sides = ((raw.images, raw.image_ids, split.image_ids), (raw.texts, raw.text_ids, split.caption_ids))
    kept = [
        np.ones(len(rows), bool) if ids is None or len(ids) != len(rows) else np.isin(respelled(ids, known), known)
        for rows, ids, known in sides
    ]
    others = [int((~rows).sum()) for rows in kept]
    if not any(others) or not all(rows.any() for rows in kept):
        return raw
    (images, image_ids), (texts, text_ids) = (
        (rows[kept_rows], None if ids is None else ids[kept_rows])
        for (rows, ids, _), kept_rows in zip(sides, kept, strict=True)
    )
    note = f"not used, of other items: {count_of(others[0], 'image')} and {count_of(others[1], 'caption')}"
    return replace(
        raw, images=images, texts=texts, image_ids=image_ids, text_ids=text_ids, image_of_text=None, captions=None,
        notes=(*raw.notes, note),
    )  # fmt: skip


def align_scores(
    raw: RawArray, split: Split | str | None, captions_per_image: int | None = None, captions: Path | None = None,
    finite: bool = True,
) -> AlignedScores:  # fmt: skip
    """Check a score matrix and match its rows and columns to a split; arguments as for ``align_embeddings``.

    Args:
        raw, split, captions_per_image, captions: as for ``align_embeddings``.
        finite: every pair has a score; otherwise NaN and infinite values may stand for missing ones.

    Raises:
        BadInput: a wrong or transposed shape, scores that ``audit`` refuses, rows that ``match`` refuses.
        UsageError: an unknown split.
    """
    where, scores = raw.sources[0], raw.values
    audit.check_scores(scores, where, finite)
    n_image, n_text = scores.shape
    for side, ids, n, other in (("image", raw.image_ids, n_image, n_text), ("text", raw.text_ids, n_text, n_image)):
        if ids is not None and len(ids) != n:
            turned = "; the matrix looks transposed" if len(ids) == other else ""
            what = f"score matrix has shape {scores.shape} and there are {len(ids):,} {side} ids{turned}"
            raise BadInput(what, where=where, fix="save scores with one row an image and one column a text")
    try:
        found = _matched(raw, (n_image, n_text), split, captions_per_image, captions)
    except SidesSwapped as error:
        what = f"score matrix has shape {scores.shape} and looks transposed ({error.why})"
        raise BadInput(what, where=where, fix="save scores.T: one row an image and one column a text") from None
    warnings = found.warnings
    if scores.dtype == np.float16:
        half = "scores are float16: many pairs tie that have different scores in float32; save float32 scores"
        warnings = (*warnings, half)
    rows = (found.image_rows, found.text_rows)
    return AlignedScores(found.split, scores, where, rows, (*raw.notes, *found.notes), warnings)


def _matched(
    raw: RawEmbeddings | RawArray, shape: tuple[int, int], split: Split | str | None, captions_per_image: int | None,
    captions: Path | None, repeated: int = 1,
) -> MatchedRows:  # fmt: skip
    """The rows of a file, ``shape`` (images, texts), matched to a split; a custom one with the captions of the file."""
    where, strings = raw.sources[0], raw.captions
    file = FileRows(*shape, raw.image_ids, raw.text_ids, raw.image_of_text, where, raw.holds, repeated, captions)
    found = match_rows(file, split, captions_per_image)
    if strings is None or isinstance(split, Split):
        return found
    if found.split.name != "custom":
        unused = f"the captions in the file are not used: those of {found.split.name} are declared"
        return replace(found, notes=(*found.notes, unused))
    if len(strings) != shape[1]:
        what = f"{count_of(len(strings), 'caption')} for {count_of(shape[1], 'text row')}"
        raise BadInput(what, where=where, fix="save one caption a text row")
    if found.text_rows is not None:
        strings = tuple(strings[row] for row in found.text_rows.tolist())
    return replace(found, split=replace(found.split, captions=strings))


def align_lists(raw: RawLists, name: Split | str | None) -> AlignedLists:
    """The lists of a run as indices of a declared split.

    Args:
        raw: lists of ids.
        name: the split, or its name; None: the first available declared one that has most of the query ids.

    Raises:
        BadInput: ids that are not in the split (counts and first), two lists for one direction, or a direction
            that cannot be determined.
        UsageError: ``custom`` or an unknown split.
    """
    where = raw.sources[0]
    if name == "custom":
        what = "retrieved lists do not have the image of every caption, so they need a declared split"
        raise UsageError(what, fix=f"give {spell('split', ', '.join(splits.names()))}, or evaluate the embeddings")
    split = name if isinstance(name, Split) else splits.load_split(name) if name else _split_of(raw)
    image, caption = _index_of(split.image_ids.tolist()), _index_of(split.caption_ids.tolist())
    found: dict[Direction, dict[int, Int]] = {}
    tied: dict[Direction, dict[int, Int]] = {}
    for key, lists in raw.lists.items():
        direction = _direction(key, lists, image, caption, where)
        if direction in found:
            raise BadInput(f"two runs hold {direction}", where=where, fix="give one run a direction")
        query, item = (image, caption) if direction == "i2t" else (caption, image)
        found[direction] = _indices(lists, query, item, direction, split.name, where)
        if key in raw.tied:
            tied[direction] = {query[q]: np.array(positions, np.int64) for q, positions in raw.tied[key].items()}
    return AlignedLists(split, found, tied)


def _ids_repeat(ids: Ids | None, times: int) -> bool:
    if ids is None:
        return True
    if len(ids) % times:
        return False
    blocks = ids.reshape(-1, times)
    return bool((blocks == blocks[:, :1]).all())


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


def _split_of(raw: RawLists) -> Split:
    queries = dict.fromkeys(q for lists in raw.lists.values() for q in list(lists)[:50])
    for name in splits.names():
        if name in DECLARED and DECLARED[name].in_folds:
            continue  # a view of another split
        try:
            split = splits.load_split(name)
        except (MissingPackage, BadInput):  # of one's own, damaged: whoever names it will be told
            continue
        # A few shared ids may be a coincidence, a majority is not.
        known = {*split.image_ids.tolist(), *split.caption_ids.tolist()}
        if 2 * len(queries.keys() & known) > len(queries):
            return split
    first = next(iter(queries), None)
    raise BadInput(
        f"query ids such as '{shown(first)}' belong to no declared split that is installed "
        f"({', '.join(splits.names())})",
        where=raw.sources[0],
        fix=f"give {spell('split', 'NAME')}, and see `vsebench data list` for what is installed",
    )


def _index_of(ids: list[Id]) -> dict[Id, int]:
    return {x: i for i, x in enumerate(ids)}


def _direction(
    key: str, lists: Mapping[Id, list[Id]], image: Mapping[Id, int], caption: Mapping[Id, int], where: Path
) -> Direction:
    """The direction of lists that are called ``key`` in the file: the one whose ids fit."""

    def fits(query: Mapping[Id, int], item: Mapping[Id, int]) -> float:
        known = sum(q in query for q in lists) / max(len(lists), 1)
        heads = [items[0] for items in lists.values() if items]
        return known * sum(x in item for x in heads) / max(len(heads), 1)

    as_i2t, as_t2i = fits(image, caption), fits(caption, image)
    if key in DIRECTIONS:
        stated, other = (as_i2t, as_t2i) if key == "i2t" else (as_t2i, as_i2t)
        if stated < 0.5 < other:
            what = f"the lists called {key} look swapped: their queries and items are those of the other direction"
            raise BadInput(what, where=where, fix="exchange i2t and t2i")
        return "i2t" if key == "i2t" else "t2i"
    if max(as_i2t, as_t2i) < 0.5 or as_i2t == as_t2i:
        raise BadInput(
            "it is not clear whether the lists are image-to-text or text-to-image: "
            f"{as_i2t:.0%} of the ids fit i2t, {as_t2i:.0%} fit t2i",
            where=where,
            fix="write the file as i2t=FILE or t2i=FILE, and check the ids",
        )
    return "i2t" if as_i2t > as_t2i else "t2i"


def _indices(
    lists: Mapping[Id, list[Id]],
    query: Mapping[Id, int],
    item: Mapping[Id, int],
    direction: Direction,
    split: str,
    where: Path,
) -> dict[int, Int]:
    unknown = [q for q in lists if q not in query]
    if unknown:
        of = f"of the {len(lists):,} query ids"
        raise BadInput(
            f"{direction}: {count_of(len(unknown), f'{of} is', f'{of} are')} not in split '{split}' "
            f"(first: {shown(unknown[0])})",
            where=where,
            fix=f"leave them out or give the right {spell('split')}",
        )
    out: dict[int, Int] = {}
    missing: list[tuple[Id, Id]] = []
    for q, items in lists.items():
        indices = [item.get(x, -1) for x in items]
        if -1 in indices:
            missing.append((q, items[indices.index(-1)]))
        out[query[q]] = np.array(indices, np.int64)
    if missing:
        of = f"of the {len(lists):,} lists"
        raise BadInput(
            f"{direction}: {count_of(len(missing), f'{of} holds', f'{of} hold')} items that are not in split '{split}' "
            f"(first: item {shown(missing[0][1])} of query {missing[0][0]})",
            where=where,
            fix="rank the items of the split and nothing else",
        )
    return out
