"""One row an item: transposed arrays, captions that are padding, and a row for every pair of an image and a text.

Loaders yield pairs, so that an image is encoded once for each of its texts; videos with fewer captions than others are
padded; MATLAB writes (dim, items). Each leaves marks in the arrays. What these tell for certain is put right, with a
note; what they leave open is refused, without an option that would give a number.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, count_of
from ..files.audit import check_finite, shown
from ..files.raw import Raw
from ..log import note, warn
from ..memory import require
from ..options import spell
from ..types import Bool, Ids, Int

Array = npt.NDArray[Any]

NEAR = 0.02  # distance of two roundings of one unit vector: 0.004 in bfloat16, more where batches differ
APART = 3.0  # the next vector is at least this many times farther away
HALF = 0.5  # fewer distinct rows than this share, where ids or image_of_text say that rows are different images
PAIRED = 0.8  # fewer distinct rows than this share: a row is a pair. A few images of a data set may be equal
SAMPLE = 128  # rows whose distances to all others tell whether any rows are near each other
CROWDED = 64  # rows near one row, from which all vectors are alike and distances tell nothing
MANY_PADDED = 0.1  # share of images whose last caption may be the same by coincidence
LEAST_PADDED = 3  # zero vectors: one or two at the end of an image may have failed
MOST_ROWS = 1 << 14  # of a square score matrix in which rows that repeat are looked for
LEAST_ROWS = 8  # of rows that repeat, or a column of scores that is one number, by no coincidence
FILL = 0.01  # the share of the other scores that may have that number
CHUNK = 1 << 24  # numbers compared at a time
KEY = 32  # numbers at the start of a row by which rows are told apart before they are read to their ends


def upright(raw: Raw, captions_per_image: int | None) -> Raw:
    """Embeddings with one row an item: arrays of (dim, item) are transposed, where their shapes or lengths tell it.

    Raises:
        BadInput: shapes that leave open which axis the items are.
    """
    images, texts = raw.images, raw.texts
    if images.ndim != 2 or texts.ndim != 2 or 0 in (*images.shape, *texts.shape) or images.dtype.kind != "f":
        return raw
    turned = images.T.shape, texts.T.shape
    sides = ((raw.image_ids, turned[0], images), (raw.text_ids, turned[1], texts))
    known = [(len(ids), shape[0], len(rows)) for ids, shape, rows in sides if ids is not None]
    by_ids = all(n == columns for n, columns, _ in known) and any(n != rows for n, _, rows in known)
    dim, wide = len(images), images.shape[1]
    owners = raw.image_of_text is not None and len(raw.image_of_text) == texts.shape[1]
    by_shape = dim == len(texts) <= wide < texts.shape[1] and not known and (owners or texts.shape[1] % wide == 0)
    alike = not known and images.shape == texts.shape and min(images.shape) > 1 and raw.image_of_text is None
    square = images.shape == texts.shape == turned[0] and dim > 1
    by_length = (alike or square) and _unit(images.T) and _unit(texts.T) and not _unit(images)
    if dim == len(texts) and (by_ids or by_shape or by_length):
        note(f"the arrays are (dim, item), {images.shape} and {texts.shape}: transposed")
        return replace(raw, arrays=(images.T, texts.T))
    if alike and wide > dim and captions_per_image is None:
        what = f"{dim:,} image and {dim:,} text vectors of {wide:,} numbers; transposed, {wide:,} of {dim:,} numbers"
        fix = "give one row an item (array.T of (dim, items)), and image_ids and text_ids, or image_of_text"
        raise BadInput(f"{what}: which axis the items are is not known", where=raw.where, fix=fix)
    return raw


def unusual(raw: Raw) -> str:
    """A warning on as many texts as images that are fewer than their dimensions, without ids; empty for others."""
    shape = raw.images.shape
    known = any(x is not None for x in (raw.image_ids, raw.text_ids, raw.image_of_text))
    if known or shape != raw.texts.shape or shape[1] <= 2 * shape[0] or _unit(raw.images):
        return ""
    return (
        f"{shape[0]:,} items of {shape[1]:,} dimensions are unusual: if the arrays are (dim, items), they are "
        f"{shape[1]:,} items of {shape[0]:,} dimensions, and must be transposed"
    )


def _unit(rows: Array) -> bool:
    """Whether all rows have unit length."""
    return bool(np.allclose(np.linalg.norm(np.asarray(rows[:4096], np.float64), axis=1), 1, atol=1e-2))


def without_padding(raw: Raw, captions_per_image: int | None) -> Raw:
    """Embeddings without the text rows that stand for no caption: all zeros or NaN, behind the captions of an image.

    Texts may be (image, caption, dim), of which one vector may be padding, such as that of an empty string. Every image
    keeps a caption, or the rows are of items that failed.
    """
    texts, owners, vector = raw.texts, raw.image_of_text, False
    if texts.dtype.kind != "f" or raw.images.ndim != 2 or not texts.size:
        return raw
    blocks = texts.ndim == 3 and (texts.shape[0], texts.shape[2]) == raw.images.shape and texts.shape[1] > 1
    if blocks:
        n, most, dim = texts.shape
        texts, owners = texts.reshape(n * most, dim), np.repeat(np.arange(n), most)
    if texts.ndim != 2 or (raw.text_ids is not None and len(raw.text_ids) != len(texts)):
        return raw
    zero = np.zeros(texts.shape[1], texts.dtype)
    empty = _equal(texts, zero) | _equal(texts, zero * np.nan)
    if blocks and not empty.any():
        assert owners is not None
        filled = _equal(texts, _most_frequent(raw.texts[:, -1]))
        often = filled.sum() > min(len(np.unique(owners[filled])), MANY_PADDED * len(raw.images))
        if vector := often and _at_the_ends(filled, owners) and len(np.unique(owners[~filled])) == len(raw.images):
            empty = filled
    owners = _in_order(len(raw.images), len(texts), captions_per_image) if owners is None else owners
    if not blocks and (owners is None or not _at_the_ends(empty, owners)):
        return raw
    words = f"texts of shape {raw.texts.shape} are read as (image, caption, dim)"
    if not empty.any():
        note(words)
        return replace(raw, arrays=(raw.images, texts), image_of_text=owners, holds="rows", derived=True)
    assert owners is not None
    keep = ~empty
    if len(np.unique(owners[keep])) < len(np.unique(owners)):
        return replace(raw, arrays=(raw.images, texts), image_of_text=owners) if blocks else raw
    counted = count_of(int(empty.sum()), "text row is", "text rows are")
    fill = "one vector, the last of its image" if vector else "all zeros or NaN"
    note(words * blocks, f"{counted} {fill}, of {len(texts):,}: padding, left out")
    captions = None if raw.captions is None else tuple(np.array(raw.captions, object)[keep].tolist())
    by_ids = not blocks and raw.text_ids is not None and raw.image_of_text is None  # which are in another order, maybe
    return replace(
        raw, arrays=(raw.images, texts[keep]), captions=captions,
        text_ids=None if raw.text_ids is None else raw.text_ids[keep], image_of_text=None if by_ids else owners[keep],
        holds="rows" if blocks or raw.image_of_text is None else raw.holds,
        derived=blocks or raw.image_of_text is None,
    )  # fmt: skip


def _in_order(images: int, texts: int, captions_per_image: int | None) -> Int | None:
    """(text,) image row of every text where each image has as many; None where the numbers are others."""
    times = captions_per_image or texts // images
    return np.repeat(np.arange(images), times) if times * images == texts else None


def _equal(rows: Array, vector: Array) -> Bool:
    """(row,) whether a row is a (dim,) vector, in which NaN is equal to NaN."""
    found = np.zeros(len(rows), np.bool_)
    step = max(1, CHUNK // rows.shape[1])
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        some = np.flatnonzero(_same(block[:, 0], vector[0]))
        found[start + some] = ((block[some] == vector) | (np.isnan(block[some]) & np.isnan(vector))).all(axis=1)
    return found


def _most_frequent(rows: Array) -> Array:
    """The row that occurs most often, exactly."""
    _, first, count = np.unique(_bits(rows), return_index=True, return_counts=True)
    return np.asarray(rows[first[count.argmax()]])


def _bits(rows: Array) -> Array:
    """(row,) the bytes of every row, which can be compared."""
    plain = np.ascontiguousarray(rows)
    return plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()


def equal_images(raw: Raw) -> int:
    """How many image rows equal another one exactly, where rows are as many as texts and nothing names the owners."""
    known = any(x is not None for x in (raw.image_ids, raw.image_of_text))
    if len(raw.arrays) == 1 or known or not LEAST_ROWS <= len(raw.images) == len(raw.texts):
        return 0
    return len(raw.images) - int(equal_rows(raw.images).max()) - 1


def equal_rows(rows: Array) -> Int:
    """(row,) int64 group of every row, the same for rows that are exactly equal; numbered by first occurrence.

    Rows of any shape may be memory-mapped: only rows whose first ``KEY`` numbers are equal are read to their ends.
    """
    flat = rows.reshape(len(rows), -1)
    group = np.unique(_bits(flat[:, :KEY]), return_inverse=True)[1].ravel()
    names = [(int(g), b"") for g in group.tolist()]
    for row in np.flatnonzero(np.bincount(group)[group] > 1).tolist() if flat.shape[1] > KEY else ():
        names[row] = (names[row][0], hashlib.blake2b(flat[row].tobytes(), digest_size=16).digest())
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], np.int64)


def are_pairs(group: Int) -> bool:
    """Whether rows repeat for each caption, by the groups (row,) of ``equal_rows``.

    They do if there are clearly fewer groups than rows, or if all groups have the same size and are contiguous.
    """
    n, items = len(group), int(group.max()) + 1
    blocks = items > 1 and n % items == 0 and n > items
    return _repeat(items, n) or (blocks and np.array_equal(group, np.repeat(np.arange(items), n // items)))


def _at_the_ends(empty: Bool, owners: Ids, least: int = LEAST_PADDED) -> bool:
    """Whether rows are empty behind all others of their image, and at least so many."""
    if empty.sum() < least or len(owners) != len(empty):
        return False
    by_owner = np.argsort(owners, kind="stable")
    sorted_empty, same = empty[by_owner], owners[by_owner][1:] == owners[by_owner][:-1]
    return not bool((sorted_empty[:-1] & ~sorted_empty[1:] & same).any())


def one_row_an_image(raw: Raw, captions_per_image: int | None, declared: bool = False) -> Raw:
    """Embeddings with one row an image, where a row is a pair of an image and a text.

    Rows are one image where their vectors are equal, exactly or nearly, as of another batch or precision.

    Args:
        raw: as read.
        captions_per_image: rows of an image that may follow each other, five by default.
        declared: ids are those of a split that is named.

    Raises:
        BadInput: rows of one id with different vectors; text rows that repeat, which have several images.
    """
    n, where = len(raw.images), raw.where
    repeated_ids = raw.image_ids is not None and len(raw.image_ids) == n and len(np.unique(raw.image_ids)) < n
    if not repeated_ids and n != len(raw.texts):
        return raw
    if repeated_ids:
        assert raw.image_ids is not None
        group = _as_they_occur(np.unique(raw.image_ids, return_inverse=True)[1])
        _refuse_classes(raw, group)
    else:
        if declared and raw.image_ids is not None:
            return raw  # its ids say which images these are
        group = _groups(raw.images, "image", where, near=raw.image_of_text is None)
        items = len(np.unique(group))
        if raw.image_ids is not None:
            refuse_ids_of_pairs(raw, items)
            return raw
        if raw.image_of_text is not None and items > HALF * n:
            return raw  # images that are equal, and each has its texts
        known = raw.text_ids is not None or raw.image_of_text is not None
        reports = n if known else len(np.unique(_groups(raw.texts, "text", where)))
        if _repeat(reports, n):
            what = f"text rows repeat: {n:,} rows are {reports:,} texts, so that a text has several images"
            fix = (
                "save every text once and evaluate judgements, the pairs of image and text ids: "
                f"{spell('judgements', 'NAME=PAIRS.csv')}"
            )
            raise BadInput(what, where=where, fix=fix)
        if not are_pairs(group):
            if not declared and captions_per_image == 1 and (equal := equal_images(raw)):
                counted = count_of(equal, "image row equals", "image rows equal")
                warn(
                    f"{counted} another exactly, of {n:,}: whether they are one image is not known; image_of_text, or "
                    "image_ids, say so"
                )
            return raw
    rows, owners = np.unique(group, return_index=True)[1], group
    words = f"image rows repeat, one for each text: {n:,} rows are {len(rows):,} images"
    given, holds = raw.image_of_text, raw.holds
    if given is None and n == len(raw.texts):
        given, holds = owners, "rows"
    elif given is not None and holds != "ids" and given.dtype.kind == "i" and _are_rows(given, n, raw.image_ids):
        # Rows as they are in the file, or as they are without the repeated ones.
        if not np.array_equal(given, owners) or n != len(raw.texts):
            given = owners[given]
        if n == len(raw.texts) and not np.array_equal(given, owners):
            what = f"{words}, and image_of_text gives texts to other images"
            raise BadInput(what, where=where, fix="give every image once, with image_of_text for these rows")
        holds = "rows"
    note(words)
    ids = None if raw.image_ids is None else raw.image_ids[rows]
    return replace(
        raw, arrays=(raw.images[rows], raw.texts), image_ids=ids, image_of_text=given, holds=holds,
        derived=raw.derived or raw.image_of_text is None,
    )  # fmt: skip


def _repeat(items: int, rows: int) -> bool:
    """Whether rows are those of fewer items: too many to be a coincidence, and not all but equal to each other."""
    return rows >= LEAST_ROWS and max(1, rows / CROWDED) < items <= PAIRED * rows


def _are_rows(given: Ids, n: int, ids: Ids | None) -> bool:
    """Whether the image of every text is given as rows, and not as ids."""
    if ids is not None and ids.dtype.kind == "i" and np.isin(given, ids).all():
        return False
    return bool(given.min() >= 0 and given.max() < n)


def refuse_ids_of_pairs(raw: Raw, items: int) -> None:
    """Refuse image rows that repeat under ids of their own, where nothing else says which text belongs to which."""
    n = len(raw.images)
    named: set[str] = (
        set() if raw.text_ids is None else {str(text).rpartition("#")[0] for text in raw.text_ids.tolist()}
    )
    told = bool(named) and named <= {str(image) for image in np.asarray(raw.image_ids).tolist()}
    if told or raw.image_of_text is not None or items > HALF * n or not _repeat(items, n):
        return
    what = f"image rows repeat under different ids: {n:,} rows are {items:,} images, so that the ids are those of pairs"
    fix = "give the id of the image in its place, the same for all of its rows, or every image once with image_of_text"
    raise BadInput(what, where=raw.where, fix=fix)


def _refuse_classes(raw: Raw, group: Int) -> None:
    """Refuse rows of one id whose vectors differ: the id is not that of the image."""
    order = np.argsort(group, kind="stable")
    same = np.flatnonzero(group[order][1:] == group[order][:-1])
    rows = _unit_rows(raw.images)
    far = np.linalg.norm(rows[order[same + 1]] - rows[order[same]], axis=1) > NEAR
    if not far.any():
        return
    first, second = order[same[far][0]], order[same[far][0] + 1]
    assert raw.image_ids is not None
    ids = len(np.unique(group[order[same]]))
    what = (
        f"{count_of(ids, 'image id occurs', 'image ids occur')} more than once, and the vectors differ (first: "
        f"{shown(raw.image_ids[first])}, rows {first} and {second}): an id of several images is that of a class"
    )
    fix = (
        "save an id of its own for every image, such as its file; where ids are those of classes, give these as "
        f"judgements: {spell('judgements', 'NAME=labels:FILE')}"
    )
    raise BadInput(what, where=raw.where, fix=fix)


def _groups(rows: Array, side: str, where: Path, near: bool = True) -> Int:
    """(row,) int64: as ``equal_rows``; with ``near`` rows that are nearly equal are one, too."""
    n, exact = len(rows), equal_rows(rows)
    if not near:
        return exact
    unit = _unit_rows(rows)
    some = np.unique(np.linspace(0, n - 1, min(SAMPLE, n)).astype(np.int64))
    around = len(_near(unit, some, exact)[0])
    if not around or around > CROWDED * len(some):
        return exact
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    step = max(1, CHUNK // n)
    found = [_near(unit, np.arange(start, min(start + step, n)), exact) for start in range(0, n, step)]
    left, right = (np.concatenate(side) for side in zip(*((a, b) for a, b, _ in found), strict=True))
    distance = np.concatenate([d for *_, d in found])
    one = distance <= NEAR
    first = np.unique(exact, return_index=True)[1]  # equal rows are one, too
    rows_of, columns = np.concatenate([left[one], np.arange(n)]), np.concatenate([right[one], first[exact]])
    graph = coo_array((np.ones(len(rows_of), np.bool_), (rows_of, columns)), shape=(n, n))
    group = _as_they_occur(connected_components(graph, directed=False)[1])
    between = group[left] != group[right]
    if between.any() and len(np.unique(group)) <= PAIRED * n:
        what = (
            f"{side} rows {left[between][0]} and {right[between][0]} are nearly equal, and other rows nearer: rows may "
            "be the same item or not"
        )
        raise BadInput(what, where=where, fix=f"give {side}_ids, or every {side} once with image_of_text")
    return group


def _as_they_occur(group: Int) -> Int:
    """Groups renumbered by first occurrence."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.ravel()].astype(np.int64)


def _near(unit: Array, some: Int, exact: Int) -> tuple[Int, Int, Array]:
    """The pairs of a row of ``some`` and another row that is not equal and less than ``APART`` times ``NEAR`` away."""
    cosine = unit[some] @ unit.T
    left, right = np.nonzero(cosine >= 1 - (APART * NEAR) ** 2 / 2)
    left = some[left]
    other = exact[left] != exact[right]
    left, right = left[other], right[other]
    return left, right, np.linalg.norm(unit[left] - unit[right], axis=1)


def _unit_rows(rows: Array) -> Array:
    found = np.asarray(rows, np.float32)
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.where(length > 0, length, 1), np.float32)


def scored_columns(raw: Raw, captions_per_image: int | None) -> Raw:
    """A score matrix without the columns that stand for no caption: one and the same number for every image.

    Captions that are padding leave every image another one. Where an image loses all of its captions, its share was
    not computed, and the columns stay for ``evaluation.top_scored`` to refuse.
    """
    scores, owners = raw.values, raw.image_of_text
    empty = constant_lines(scores.T)
    n_image, n_text = scores.shape
    owners = _in_order(n_image, n_text, captions_per_image) if owners is None else owners
    if not empty.any() or owners is None or len(owners) != n_text or raw.text_ids is not None:
        return raw
    keep = ~empty
    at_the_ends = _at_the_ends(empty, owners, 1 if np.isneginf(scores[0, empty]).all() else LEAST_PADDED)
    if not at_the_ends or len(np.unique(owners[keep])) < len(np.unique(owners)):
        return raw
    counted = count_of(int(empty.sum()), "column holds", "columns hold")
    note(f"{counted} no scores, of {n_text:,}: captions that are padding, left out")
    captions = None if raw.captions is None else tuple(np.array(raw.captions, object)[keep].tolist())
    return replace(
        raw, arrays=(scores[:, keep],), image_of_text=owners[keep], captions=captions,
        derived=raw.image_of_text is None, holds="rows" if raw.image_of_text is None else raw.holds,
    )  # fmt: skip


def refuse_rows_of_pairs(raw: Raw) -> None:
    """Refuse a square score matrix whose rows, or columns, repeat: it has one for every pair of an image and a text.

    Raises:
        BadInput: so it has, and neither ids nor ``image_of_text`` say which are the same.
    """
    n, scores = len(raw.values), raw.values
    known = any(x is not None for x in (raw.image_ids, raw.text_ids, raw.image_of_text))
    if known or scores.shape != (n, n) or n < LEAST_ROWS or n > MOST_ROWS or not np.isfinite(scores).all():
        return
    for side, rows in (("row", scores), ("column", scores.T)):
        items = len(np.unique(_groups(rows, side, raw.where)))
        if _repeat(items, n) and items <= HALF * n:
            what = f"{side}s of the score matrix repeat: {n:,} {side}s are {items:,}, so that it has one for every pair"
            fix = "give every image and every text once, with image_of_text"
            raise BadInput(what, where=raw.where, fix=fix)


def last_of_all(scores: Array, where: Path) -> Array:
    """A score matrix with a number below every score for -inf, of pairs that are no candidates."""
    low, high, count = np.inf, -np.inf, 0
    step = max(1, CHUNK // scores.shape[1])
    for start in range(0, len(scores), step) if scores.dtype.kind == "f" else ():
        block = scores[start : start + step]
        if (least := block.min(initial=np.inf)) == -np.inf:
            count += int(np.isneginf(block).sum())
            least = block.min(initial=np.inf, where=~np.isneginf(block))
        low, high = min(low, float(least)), max(high, float(block.max(initial=-np.inf)))
    if not count:
        return scores
    if low > high:
        check_finite(scores, "image (score)", where)
    require(scores.nbytes, where)
    lowest = scores.dtype.type(low - 3 * max(high - low, 1))
    note(f"{count_of(count, 'score is', 'scores are')} -inf: these pairs are ranked last")
    return np.where(np.isneginf(scores), lowest, scores)


def constant_lines(scores: Array) -> Bool:
    """(row,) whether a row of scores was never computed: it is one number throughout, the same in all such rows.

    A number that other rows hold too, as scores of few values and of the top of rankings do, does not tell.
    """
    n, m = len(scores), int(scores[:1].size)
    if scores.dtype.kind != "f" or m < 2:
        return np.zeros(n, np.bool_)
    some = np.unique(np.linspace(0, m - 1, min(LEAST_ROWS, m)).astype(np.int64))
    probe: Array = np.asarray(scores[:, some])
    alike: Bool = np.asarray(np.isclose(probe, probe[:, :1], rtol=0, atol=0, equal_nan=True).all(axis=1), np.bool_)
    for row in np.flatnonzero(alike).tolist():
        line: Array = np.asarray(scores[row])
        alike[row] = bool(_same(line, line[0]).all())
    values = np.unique(probe[alike][:, :1])
    if len(values) != 1:
        return np.zeros(n, np.bool_)
    fill, others = values[0], probe[~alike]
    if (np.isfinite(fill) and m < LEAST_ROWS) or not len(others) or _same(others, fill).mean() > FILL:
        return np.zeros(n, np.bool_)
    return alike


def _same(values: Array, fill: Any) -> Bool:
    """Where values are a number, or NaN where that is NaN."""
    return np.asarray(np.isnan(values) if np.isnan(fill) else values == fill)
