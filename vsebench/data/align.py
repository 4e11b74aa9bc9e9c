"""From what a reader found to a split with vectors or scores in its order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..types import Embeddings, Ids, Int, Split
from . import audit, match
from .formats.raw import RawEmbeddings, RawScores

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PreparedEmbeddings:
    """A split and its vectors, with what should be said about them."""

    split: Split
    images: Embeddings
    captions: Embeddings
    where: Path
    rows: tuple[Int | None, Int | None]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PreparedScores:
    """A split and its score matrix; rows and columns are the file's, ``image_rows``/``text_rows`` map them."""

    split: Split
    scores: Array
    image_rows: Int | None
    text_rows: Int | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def embeddings(raw: RawEmbeddings, split: str | None, captions_per_image: int | None) -> PreparedEmbeddings:
    """Audit vectors, match them to a split and put them in its order as float32.

    Raises:
        BadInput: everything the audit and the matching refuse.
        UsageError: an unknown split.
    """
    where = raw.sources[0]
    notes = list(raw.notes)
    images, image_ids, image_of_text = raw.images, raw.image_ids, raw.image_of_text
    audit.check_vectors(images, raw.texts, where, image_ids, raw.text_ids)
    times = captions_per_image or 5
    if audit.repeated_rows(images, len(raw.texts), times) and _ids_repeat(image_ids, times):
        notes.append(
            f"every image row stands {times} times: {len(images):,} rows de-duplicated to {len(images) // times:,}"
        )
        by_row = image_of_text is not None and image_of_text.dtype.kind == "i"
        if image_of_text is not None and by_row and (image_ids is None or not np.isin(image_of_text, image_ids).all()):
            # Rows of the file as it is, unless they already count what is left.
            image_of_text = image_of_text // times if image_of_text.max() >= len(images) // times else image_of_text
        images, image_ids = images[::times], None if image_ids is None else image_ids[::times]
    for side, array, ids in (("image", images, image_ids), ("text", raw.texts, raw.text_ids)):
        if ids is not None and len(ids) != len(array):
            raise BadInput(
                f"{len(ids):,} {side} ids for {len(array):,} {side} rows",
                where=where,
                fix="save one id a row",
            )
        if array.dtype == np.float64 and _loses(array):
            notes.append(f"{side} vectors are float64: rounded to float32")
        if array.dtype == np.float16:
            notes.append(f"{side} vectors are float16: converted to float32, exactly")
    found = match.match(
        match.Items(len(images), len(raw.texts), image_ids, raw.text_ids, image_of_text, where),
        split,
        captions_per_image,
    )
    notes += found.notes
    return PreparedEmbeddings(
        found.split,
        Embeddings("image", found.split.image_ids, _ordered(images, found.image_rows)),
        Embeddings("caption", found.split.caption_ids, _ordered(raw.texts, found.text_rows)),
        where,
        (found.image_rows, found.text_rows),
        tuple(notes),
        found.warnings,
    )


def for_split(raw: RawEmbeddings, split: Split) -> PreparedEmbeddings:
    """Audit vectors and put them in the order of a split: by id where there are ids, else row for row.

    Raises:
        BadInput: what the audit refuses, numbers of rows that differ from the split's, missing or unknown ids.
    """
    where = raw.sources[0]
    audit.check_vectors(raw.images, raw.texts, where, raw.image_ids, raw.text_ids)
    rows: list[Int | None] = []
    for side, array, ids, known, other in (
        ("image", raw.images, raw.image_ids, split.image_ids, split.caption_ids),
        ("text", raw.texts, raw.text_ids, split.caption_ids, split.image_ids),
    ):
        if len(array) != len(known):
            raise BadInput(
                f"{len(array):,} {side} rows for the {len(known):,} {side}s of split '{split.name}'", where=where
            )
        rows.append(None if ids is None else match.rows_of(ids, known, other, side, split.name, where))
    return PreparedEmbeddings(
        split,
        Embeddings("image", split.image_ids, _ordered(raw.images, rows[0])),
        Embeddings("caption", split.caption_ids, _ordered(raw.texts, rows[1])),
        where,
        (rows[0], rows[1]),
        (),
    )


def scores(raw: RawScores, split: str | None, captions_per_image: int | None) -> PreparedScores:
    """Audit a score matrix and match its rows and columns to a split.

    Raises:
        BadInput: a wrong or transposed shape, and everything the audit and the matching refuse.
        UsageError: an unknown split.
    """
    where = raw.sources[0]
    audit.check_scores(raw.scores, where)
    n_image, n_text = raw.scores.shape
    for side, ids, n in (("image", raw.image_ids, n_image), ("text", raw.text_ids, n_text)):
        if ids is not None and len(ids) != n:
            other = n_text if side == "image" else n_image
            turned = "; the matrix looks transposed" if len(ids) == other else ""
            raise BadInput(
                f"score matrix has shape {raw.scores.shape} and there are {len(ids):,} {side} ids{turned}",
                where=where,
                fix="save scores with one row an image and one column a text",
            )
    items = match.Items(n_image, n_text, raw.image_ids, raw.text_ids, raw.image_of_text, where)
    try:
        found = match.match(items, split, captions_per_image)
    except BadInput as error:
        if "swapped" in error.what:
            raise BadInput(
                f"score matrix has shape {raw.scores.shape} and looks transposed ({error.what.partition(': ')[2]})",
                where=where,
                fix="save scores.T: one row an image and one column a text",
            ) from None
        raise
    warnings = list(found.warnings)
    if raw.scores.dtype == np.float16:
        warnings.append("scores are float16: many pairs tie that the model told apart; save float32 scores")
    return PreparedScores(
        found.split,
        raw.scores,
        found.image_rows,
        found.text_rows,
        (*raw.notes, *found.notes),
        tuple(warnings),
    )


def scores_for_split(raw: RawScores, split: Split) -> PreparedScores:
    """Audit a score matrix and match it to the order of a split: by id where there are ids, else row for row.

    Raises:
        BadInput: what the audit refuses, another shape than the split's, missing or unknown ids.
    """
    where = raw.sources[0]
    audit.check_scores(raw.scores, where)
    shape = (len(split.image_ids), len(split.caption_ids))
    if raw.scores.shape != shape:
        raise BadInput(
            f"score matrix has shape {raw.scores.shape} for {shape[0]:,} images and {shape[1]:,} captions of split "
            f"'{split.name}'",
            where=where,
            fix="give one row an image and one column a caption",
        )
    rows = [
        None if ids is None else match.rows_of(ids, known, other, side, split.name, where)
        for side, ids, known, other in (
            ("image", raw.image_ids, split.image_ids, split.caption_ids),
            ("text", raw.text_ids, split.caption_ids, split.image_ids),
        )
    ]
    return PreparedScores(split, raw.scores, rows[0], rows[1], raw.notes, ())


def _ids_repeat(ids: Ids | None, times: int) -> bool:
    if ids is None:
        return True
    if len(ids) % times:
        return False
    blocks = ids.reshape(-1, times)
    return bool((blocks == blocks[:, :1]).all())


def _ordered(array: Array, rows: Int | None) -> npt.NDArray[np.float32]:
    in_order = rows is None or bool((rows == np.arange(len(array))).all())
    return np.ascontiguousarray(array if in_order else array[rows], dtype=np.float32)


def _loses(array: Array) -> bool:
    step = max(1, (1 << 22) // array.shape[1])
    return any(
        bool((array[s : s + step].astype(np.float32) != array[s : s + step]).any()) for s in range(0, len(array), step)
    )
