"""Other ways to read the rows of an input: the usual causes of recall at chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import VsebenchError
from ..sets.catalogue import load_split
from ..sets.declared import DECLARED
from ..types import Ids, Int, Split


@dataclass(frozen=True, eq=False)
class Reading:
    """A way to assign captions to images.

    Attributes:
        words: what differs from the input as read, such as ``with the images in ascending id order``; empty for that.
        image_of: (caption,) int64: index of the image of every caption, both as read.
        reversed: larger scores mean less similar.
    """

    words: str
    image_of: Int
    reversed: bool = False


def readings(split: Split, rows: tuple[Int | None, Int | None], listed: bool = False) -> list[Reading]:
    """Every plausible reading but the one at hand: other orders of the rows on one or both sides, each with both signs.

    Args:
        split: the items, as read.
        rows: (image,) and (caption,) row of every item in the file, None where that is its index.
        listed: the input is retrieved lists, which have ids and no rows.
    """
    split = _with_likely_ids(split)
    kept: list[Reading] = []
    seen = {split.owners.tobytes()}
    image_orders = list(_image_orders(split, rows[0], listed))
    for texts, true_image in _text_orders(split, rows[1], listed):
        for images, item_of in image_orders:
            image_of = item_of[true_image]
            if image_of.tobytes() not in seen:
                seen.add(image_of.tobytes())
                kept.append(Reading(_words(images, texts), image_of))
    negated = "the lists reversed" if listed else "the scores negated"
    return [
        *kept,
        Reading(f"with {negated}", split.owners, reversed=True),
        *(Reading(f"{r.words} and {negated}", r.image_of, reversed=True) for r in kept),
    ]


def _with_likely_ids(split: Split) -> Split:
    """A custom split of row numbers with the ids of the declared split that has as many items, which it may be."""
    sizes = len(split.image_ids), len(split.caption_ids)
    if split.name == "custom" and (split.image_ids == np.arange(sizes[0])).all():
        for name, declared in DECLARED.items():
            if (declared.images, declared.captions) == sizes:
                try:
                    likely = load_split(name)
                except VsebenchError:  # not installed, not built
                    continue
                return replace(split, image_ids=likely.image_ids, caption_ids=likely.caption_ids)
    return split


def _words(images: str, texts: str) -> str:
    return "with " + " and ".join(f"the {side} {how}" for side, how in (("images", images), ("texts", texts)) if how)


def _image_orders(split: Split, rows: Int | None, listed: bool) -> Iterator[tuple[str, Int]]:
    """For every order of the image rows, (image,) the image as read whose row holds an image."""
    n = len(split.image_ids)
    yield "", np.arange(n)
    at_row = np.arange(n)  # the image as read of every row
    if rows is not None:
        at_row[rows] = np.arange(n)
        yield "in the order of the file and their ids ignored", at_row
    for words, order in _id_orders(split.image_ids):
        out = np.empty(n, np.int64)
        out[order] = at_row
        yield words, out
        if listed:
            yield f"in the order of the split and named {words}", order
    out = np.empty(n, np.int64)
    out[at_row] = at_row[::-1]
    yield "in reverse order", out


def _text_orders(split: Split, rows: Int | None, listed: bool) -> Iterator[tuple[str, Int]]:
    """For every order of the text rows, (caption,) the image whose caption is in the row of a caption as read."""
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    row = np.arange(n_caption) if rows is None else rows
    yield "", split.owners
    if n_caption % n_image == 0:
        times = n_caption // n_image
        if times > 1:
            words = f"stored as {times} runs of {n_image:,} (first text of every image, then second, ...)"
            yield words, row % n_image
        yield f"in order, {times} for each image", row // times
    if rows is not None:
        yield "in the order of the file and their ids ignored", split.owners[row]
    for words, order in _id_orders(split.caption_ids):
        yield words, split.owners[order[row]]
        if listed:
            inverse = np.empty(n_caption, np.int64)
            inverse[order] = np.arange(n_caption)
            yield f"in the order of the split and named {words}", split.owners[inverse]


def _id_orders(ids: Ids) -> Iterator[tuple[str, Int]]:
    """Rows sorted by id: (row,) the item in every row. File names are sorted as text, and numbers often are."""
    yield "in ascending id order", np.argsort(ids, kind="stable")
    if ids.dtype.kind == "i":
        yield "in ascending order of the ids as text", np.argsort(ids.astype(str), kind="stable")
