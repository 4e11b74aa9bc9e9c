"""Other ways to read the rows of an input: the usual causes of recall that is too low.

Rows of one side or of both may be sorted, reversed, stored caption-major, or gathered from several processes. Each way
is a ``Reading``: a function from items as read to the items that they are, computed for those that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import VsebenchError
from ..sets.catalogue import load_split
from ..sets.declared import DECLARED
from ..types import Bool, Ids, Int, Split

Items = Callable[[Int], Int]
Rows = tuple[Int | None, Int | None]  # (image,) and (caption,) row of every item in the file, None for its index
PROCESSES = (*range(2, 17), 24, 32, 48, 64)
USUAL_PROCESSES, MANY = 16, 1000  # more processes are tried for so many images
FEW_PROCESSES = 8  # for which batches are tried
BATCHES = (8, 10, 16, 20, 32, 50, 64, 100, 128, 256)  # rows that a process computes at a time


@dataclass(frozen=True, eq=False)
class Reading:
    """A way to read the rows.

    Attributes:
        words: what differs from the input as read, such as ``with the images in ascending id order``.
        image: from (item,) images as read to the images that they are.
        owner: from (item,) captions as read to the images that they are of.
    """

    words: str
    image: Items
    owner: Items


def readings(split: Split, rows: Rows, listed: bool = False) -> list[Reading]:
    """Other orders of the rows on one side or both, whether or not they have ids; first the reading at hand.

    Args:
        split: the items, as read.
        rows: of the items in the file.
        listed: the input is retrieved lists, which have ids and no rows.
    """
    split = _with_likely_ids(split)
    images = list(_image_orders(split, rows[0], listed))
    return [
        Reading(_words(of_images, of_texts), image, owner)
        for of_texts, owner in _text_orders(split, rows[1], listed)
        for of_images, image in images
    ]


def gathered(split: Split, rows: Rows, sides: Sequence[str], images: Int, texts: Int) -> Iterator[tuple[str, Bool]]:
    """Orders of rows that were gathered from processes, of the sides whose rows have no ids.

    Args:
        split, rows: as for ``readings``.
        sides: ``image``, ``caption`` or both.
        images, texts: (pair,) items as read.

    Yields:
        What differs, and (pair,) whether a text is of the image then.
    """
    n_image, n_text = len(split.image_ids), len(split.caption_ids)
    each = max(1, n_text // n_image)
    for count in (c for c in PROCESSES if c <= USUAL_PROCESSES or n_image >= MANY):
        words = f"with the rows of {count} processes put in order"
        ways = [(1, 0), (0, 1)]
        if count <= FEW_PROCESSES:
            sizes = [size for size in BATCHES if size * count < (n_image if "image" in sides else n_text)]
            ways += [way for size in sizes for way in ((1, size), (0, size), (size, 0))]
        for deal, batch in ways:
            image = _in_rows(rows[0], n_image, count, deal, batch)(images) if "image" in sides else images
            # The texts of a batch of images follow each other, or batches have as many texts as images.
            for times in {1, each if deal > 1 or batch > 1 else 1} if "caption" in sides else ():
                text = _in_rows(rows[1], n_text, count, deal * times if deal > 1 else deal, batch * times)(texts)
                if "image" in sides:
                    yield words, split.owners[text] == image
                yield f"{words} (texts)", split.owners[text] == images
            if "image" in sides:
                yield f"{words} (images)", split.owners[texts] == image


def orders_of_images(split: Split) -> Iterator[tuple[str, Items]]:
    """Orders that the images may have together with their captions: words, and the image in every row."""
    for words, image in _image_orders(split, None, False):
        if words:
            yield f"with images and captions {words}", image
    n = len(split.image_ids)
    for by in (1, -1, 2, -2):
        rows = f"{abs(by)} row{'s' * (abs(by) > 1)} {'later' if by > 0 else 'earlier'}"
        yield f"with images and captions taken {rows}", _rolled(by, n)
    for count in PROCESSES:
        for deal, batch in ((1, 0), (0, 1)):
            words = f"with the rows of {count} processes put in order"
            yield words, _in_rows(None, n, count, deal, batch)


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
    how = " and ".join(f"the {side} {how}" for side, how in (("images", images), ("texts", texts)) if how)
    return f"with {how}" if how else ""


def _image_orders(split: Split, rows: Int | None, listed: bool) -> Iterator[tuple[str, Items]]:
    n = len(split.image_ids)
    yield from _orders(split.image_ids, rows, listed)
    row, item = _row_and_item(rows, n)
    yield "in reverse order", lambda items: item[n - 1 - row[items]]


def _text_orders(split: Split, rows: Int | None, listed: bool) -> Iterator[tuple[str, Items]]:
    n_image, n_text = len(split.image_ids), len(split.caption_ids)
    row, times = _row_and_item(rows, n_text)[0], n_text // n_image
    (_, _), *others = _orders(split.caption_ids, rows, listed)
    yield "", split.owners.__getitem__
    if n_text == times * n_image:
        if times > 1:
            words = f"stored as {times} runs of {n_image:,} (first text of every image, then second, ...)"
            yield words, lambda items: row[items] % n_image
        yield f"in order, {times} for each image", lambda items: row[items] // times
    for words, text in others:
        yield words, _both(text, split.owners)


def _orders(ids: Ids, rows: Int | None, listed: bool) -> Iterator[tuple[str, Items]]:
    """Words, and functions from items as read to those that they are; first none and themselves."""
    row, _ = _row_and_item(rows, len(ids))
    yield "", _same
    if rows is not None:
        yield "in the order of the file and their ids ignored", row.__getitem__
    orders = {"in ascending id order": np.argsort(ids, kind="stable")}
    if ids.dtype.kind == "i":  # file names are sorted as text, and numbers often are
        orders["in ascending order of the ids as text"] = np.argsort(ids.astype(str), kind="stable")
    for words, order in orders.items():
        yield words, order[row].__getitem__
        if listed:
            yield f"in the order of the split and named {words}", np.argsort(order).__getitem__


def _same(items: Int) -> Int:
    return items


def _rolled(by: int, n: int) -> Items:
    return lambda items: (items + by) % n


def _both(first: Items, then: Int) -> Items:
    return lambda items: then[first(items)]


def _row_and_item(rows: Int | None, n: int) -> tuple[Int, Int]:
    """(item,) the row of every item, and (row,) the item in every row."""
    row = np.arange(n) if rows is None else rows
    item = np.empty(n, np.int64)
    item[row] = np.arange(n)
    return row, item


def _in_rows(rows: Int | None, n: int, processes: int, deal: int, batch: int) -> Items:
    """The items that items as read are, where the rows were gathered."""
    if rows is None:
        return lambda items: items_at(items, n, processes, deal, batch)
    row, item = _row_and_item(rows, n)
    return lambda items: item[items_at(row[items], n, processes, deal, batch)]


def items_at(rows: Int, n: int, processes: int, deal: int, batch: int) -> Int:
    """(row,) the items in some rows of ``n``, which were gathered from processes.

    Args:
        rows: (row,) indices of rows.
        n: rows in all.
        processes: how many.
        deal: items that a process is dealt at a time, before the next one; 0: all of its share.
        batch: rows of a process that follow each other in the file; 0: all of them.
    """
    deal = deal or -(-n // processes)
    rounds, rest = divmod(n, deal * processes)
    process = np.arange(processes)
    count = rounds * deal + (rest - process * deal).clip(0, deal)  # items of every process
    batch = batch or int(count.max())
    steps = np.arange(-(-int(count.max()) // batch) + 1)
    start = np.minimum(count, steps[:, None] * batch).sum(axis=1)  # the first row of every step
    step = np.searchsorted(start, rows, side="right") - 1
    ends = np.cumsum((count - step[:, None] * batch).clip(0, batch), axis=1)  # of the processes, in a step
    inside = rows - start[step]
    of = (ends <= inside[:, None]).sum(axis=1)
    place = step * batch + inside - np.where(of > 0, ends[np.arange(len(rows)), of - 1], 0)
    return np.asarray(place // deal * (deal * processes) + of * deal + place % deal, np.int64)
