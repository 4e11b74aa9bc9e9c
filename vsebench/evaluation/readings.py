"""Other ways to read the rows of an input: the usual causes of recall that is too low.

Rows of one side or of both may be sorted, reversed, stored caption-major, displaced, or gathered from several
processes, and scores negated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import VsebenchError
from ..sets.catalogue import load_split
from ..sets.declared import DECLARED
from ..sets.placing import SIDES
from ..types import Bool, Direction, Ids, Int, Split
from .chance import Pairs
from .inputs import System

Rows = Int | None  # (item,) row of every item in the file, None for its index
PROCESSES = (*range(2, 17), 24, 32, 48, 64)
USUAL_PROCESSES, MANY = 16, 1000  # more processes are tried for so many images
FEW_PROCESSES = 8  # for which batches are tried
BATCHES = (8, 10, 16, 20, 32, 50, 64, 100, 128, 256)  # rows that a process computes at a time
OFFSETS = 8  # displacements of rows that are tried, the most frequent ones
NEARLY = 0.98  # own items among the first, from which only displaced rows are looked for


class Reading(NamedTuple):
    """What queries find under another way to read the rows.

    Attributes:
        words: what differs from the input as read, such as ``with the images in ascending id order``.
        hits: (query,) whether the first item is an own one then.
        negated: the scores are negated, so that the last item is the first.
        cases: ways that were tried to find it, for the correction of its p-value.
    """

    words: str
    hits: Bool
    negated: bool = False
    cases: int = 1


def readings(data: System, direction: Direction, first: Pairs, last: Pairs) -> Iterator[Reading]:
    """What the first items of queries are under other readings; also that at hand where many are no own ones.

    Args:
        data: the items, as read.
        direction: of the queries.
        first, last: queries in the order of their images, with the first and with the last items of their rankings.
    """
    listed, owners = data.lists is not None, data.split.owners
    if (owners[first[1]] == first[0]).mean() < NEARLY:
        split = _with_likely_ids(data.split)
        images = list(_image_orders(split, data.rows[0], listed))
        both = [(t, owner, i, image) for t, owner in _text_orders(split, data.rows[1], listed) for i, image in images]
        for t, owner, i, image in both:
            yield Reading(_words(i, t), owner[first[1]] == image[first[0]])
        yield from () if listed else _gathered(data, *first)
        how = "the lists reversed" if listed else "the scores negated"
        for t, owner, i, image in both:
            words = f"{_words(i, t)} and {how}" if i or t else f"with {how}"
            yield Reading(words, owner[last[1]] == image[last[0]], negated=True)
    if not listed:
        yield from _displaced(data, direction, *first)


def _gathered(data: System, images: Int, texts: Int) -> Iterator[Reading]:
    """Orders of rows that were gathered from processes, of the sides whose rows have no ids."""
    n_image, n_text = (len(data.split.ids(side)) for side in SIDES)
    sides, owners, each = data.without_ids, data.split.owners, max(1, n_text // n_image)
    (image_row, image_in), (text_row, text_in) = map(_row_and_item, data.rows, (n_image, n_text))
    for count in (c for c in PROCESSES if c <= USUAL_PROCESSES or n_image >= MANY):
        words = f"with the rows of {count} processes put in order"
        ways = [(1, 0), (0, 1)]
        if count <= FEW_PROCESSES:
            sizes = [size for size in BATCHES if size * count < (n_image if "image" in sides else n_text)]
            ways += [way for size in sizes for way in ((1, size), (0, size), (size, 0))]
        for deal, batch in ways:
            image = None
            if "image" in sides:
                image = image_in[items_at(image_row[images], n_image, count, deal, batch)]
            # The texts of a batch of images follow each other, or batches have as many texts as images.
            for times in {1, each if deal > 1 or batch > 1 else 1} if "caption" in sides else ():
                dealt = deal * times if deal > 1 else deal
                owner = owners[text_in[items_at(text_row[texts], n_text, count, dealt, batch * times)]]
                if image is not None:
                    yield Reading(words, owner == image)
                yield Reading(f"{words} (texts)", owner == images)
            if image is not None:
                yield Reading(f"{words} (images)", owners[texts] == image)


def _displaced(data: System, direction: Direction, images: Int, texts: Int) -> Iterator[Reading]:
    """Some rows that follow each other are a number of rows apart from their items.

    A row that is missing or was repeated moves all rows behind it, and processes that write in another order than by
    their number move blocks.
    """
    owners = data.split.owners
    as_read, at = owners[texts] == images, images if direction == "i2t" else owners[texts]
    by_image = np.argsort(owners, kind="stable")
    start, count = np.searchsorted(owners[by_image], images), np.bincount(owners, minlength=images.max() + 1)[images]
    for side in data.without_ids:
        if side == "image":
            apart = owners[texts] - images
        else:  # any of the texts of the image may be the one
            nth = np.minimum(np.arange(OFFSETS)[:, None], np.maximum(count - 1, 0))
            apart = (by_image[np.minimum(start + nth, len(owners) - 1)] - texts)[:, count > 0].ravel()
        by, times = np.unique(apart[apart != 0], return_counts=True)
        for rows in by[np.argsort(-times, kind="stable")[:OFFSETS]].tolist():
            if side == "image":
                moved = owners[texts] == images + rows
            else:
                inside = (texts + rows >= 0) & (texts + rows < len(owners))
                moved = inside & (owners[np.where(inside, texts + rows, 0)] == images)
            # The rows that follow each other in which displacing them gains most.
            gain = np.concatenate([[0], np.cumsum(moved.astype(np.int64) - as_read)])
            stop = int((gain - np.minimum.accumulate(gain)).argmax())
            begin = int(gain[: stop + 1].argmin())
            where = "" if begin == 0 else f" from about image {at[begin]:,} on"
            if stop < len(at):
                where = f" of about images {at[begin]:,} to {at[stop]:,}"
            noun, how = "images" if side == "image" else "texts", "later" if rows > 0 else "earlier"
            words = f"with the {noun}{where} taken {abs(rows):,} row{'s' * (abs(rows) > 1)} {how}"
            hits = np.concatenate([as_read[:begin], moved[begin:stop], as_read[stop:]])
            yield Reading(words, hits, cases=len(images) ** 2)


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


def _image_orders(split: Split, rows: Rows, listed: bool) -> Iterator[tuple[str, Int]]:
    """Words, and (image,) the image that every image as read is."""
    n = len(split.image_ids)
    row, item = _row_and_item(rows, n)
    yield from _orders(split.image_ids, row, rows is not None, listed)
    yield "in reverse order", item[n - 1 - row]


def _text_orders(split: Split, rows: Rows, listed: bool) -> Iterator[tuple[str, Int]]:
    """Words, and (caption,) the image that every caption as read is of."""
    n_image, n_text = len(split.image_ids), len(split.caption_ids)
    row, times = _row_and_item(rows, n_text)[0], n_text // n_image
    yield "", split.owners
    if n_text == times * n_image:
        if times > 1:
            yield f"stored as {times} runs of {n_image:,} (first text of every image, then second, ...)", row % n_image
        yield f"in order, {times} for each image", row // times
    (_, _), *others = _orders(split.caption_ids, row, rows is not None, listed)
    yield from ((words, split.owners[text]) for words, text in others)


def _orders(ids: Ids, row: Int, ordered: bool, listed: bool) -> Iterator[tuple[str, Int]]:
    """Words, and (item,) what every item as read is; first itself."""
    yield "", np.arange(len(ids))
    if ordered:
        yield "in the order of the file and their ids ignored", row
    orders = {"in ascending id order": np.argsort(ids, kind="stable")}
    if ids.dtype.kind == "i":  # file names are sorted as text, and numbers often are
        orders["in ascending order of the ids as text"] = np.argsort(ids.astype(str), kind="stable")
    for words, order in orders.items():
        yield words, order[row]
        if listed:
            yield f"in the order of the split and named {words}", np.argsort(order)


def _row_and_item(rows: Rows, n: int) -> tuple[Int, Int]:
    """(item,) the row of every item, and (row,) the item in every row."""
    row = np.arange(n) if rows is None else rows
    return row, np.argsort(row)


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
