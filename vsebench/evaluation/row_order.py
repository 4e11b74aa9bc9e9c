"""Rows without ids that are in another order than they are read in, although recall is above chance.

Two tests on a sample of queries, which look at the first item of each:

- Rows that were gathered from processes, or from some row on one row late, keep a part of their items in place. Each
  such order is tried; one under which clearly more first items are own items is named.
- Images and captions in another order that is the same for both, or those of other data, keep their recall, and lose
  the captions and judgements of the test set. There captions of like wording, of different images, are at chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BadInput, VsebenchError
from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..report.format import fixed
from ..sets.catalogue import load_split
from ..types import Bool, Direction, Float, Int, Split
from .chance import CERTAIN, LEVEL, of_mean
from .inputs import Input
from .misread import BLOCK, ROWS, SMALLEST, WORDS, sampled_queries, suspects

SAMPLE = 512  # queries whose first item is looked up; fewer in a large gallery
MOST = 1 << 24  # scores of these queries
PROCESSES = (*range(2, 17), 24, 32, 48, 64)
NEARLY = 0.98  # own items among the first, from which no order of processes is looked for
USUAL_PROCESSES, MANY = 16, 1000  # more processes are tried for so many images
FEW_PROCESSES = 8  # for which batches are tried
BATCHES = (8, 16, 32, 64, 128, 256)  # rows that a process computes at a time
SURE = 1e-2  # p-value, corrected for all that is tried; in the right order another one finds next to nothing
SHIFTS = (1, -1, 2, -2, 5, -5)
WORDED = 2000  # images whose first captions are compared
LIKE = 128  # of the pairs of captions of like wording those that are most alike
ALIKE = 0.2  # cosine of the words of two such captions, at least


@dataclass(frozen=True, eq=False)
class Found:
    """What another order of the rows would give: own items among the first, of how many, and as read."""

    words: str
    hits: int
    as_read: int
    queries: int


def check(data: Input, directions: Sequence[Direction], trust: bool) -> list[str]:
    """Warnings where the input looks misread, or rows without ids are in another order than read or of other items.

    Args:
        data: scores or retrieved lists, and how they were read.
        directions: what is measured.
        trust: warn instead of refusing.

    Raises:
        BadInput: so it is, and the input is not trusted.
    """
    found = suspects(data, directions)
    explained = next((s for s in found if s.better is not None or s.collapsed), None)
    if explained is None and _in_order(data):
        with one_blas_thread():
            what = _reordered(data, directions[-1]) or ("" if found else of_others(data) or "")
        if what:
            return _told(what, ROWS, data, trust)
    if found and not trust:
        first = explained or found[0]
        raise BadInput(str(first), where=data.where, fix=first.fix)
    return [str(s) for s in found]


def _reordered(data: Input, direction: Direction) -> str:
    """What another order of the rows would give; captions are more queries than images, and have fewer candidates."""
    found = reordered(data, direction)
    if found is None:
        return ""
    words, queries = WORDS[direction]
    as_read, better = (fixed(hits / found.queries, 1, times=100) for hits in (found.as_read, found.hits))
    what = f"{words} R@1 of {found.queries} sampled {queries} is {as_read} % as read"
    return f"{what}, and {found.words} {better} %"


def _in_order(data: Input) -> bool:
    """Whether the order of rows says which items they are, of enough items to tell."""
    by_order = data.lists is None and bool(data.without_ids) and data.split.image_of is not None
    return by_order and len(data.split.image_ids) >= SMALLEST


def _told(what: str, fix: str, data: Input, trust: bool) -> list[str]:
    if not trust:
        raise BadInput(what, where=data.where, fix=f"{fix}; {spell('trust', True)} ranks it as read")
    return [what]


def reordered(data: Input, direction: Direction) -> Found | None:
    """The order of the rows under which clearly more first items are own ones; None where it is that at hand."""
    gallery = len(data.split.ids("caption" if direction == "i2t" else "image"))
    queries = sampled_queries(data, direction, max(SMALLEST, min(SAMPLE, MOST // gallery)))[0]
    if len(queries) < SMALLEST:
        return None
    first = np.concatenate([
        data.scorers[direction].scores_of(direction, some, np.float32).argmax(axis=1)
        for some in np.array_split(queries, max(1, len(queries) * gallery // BLOCK))
    ])  # fmt: skip
    images, texts = (queries, first) if direction == "i2t" else (first, queries)
    owners, n_image = data.split.owners, len(data.split.image_ids)
    if any(rows is not None for rows in data.rows):  # as they are in the file
        row_of_image = np.arange(n_image) if data.rows[0] is None else data.rows[0]
        row_of_text = np.arange(len(owners)) if data.rows[1] is None else data.rows[1]
        in_file = np.empty(len(owners), np.int64)
        in_file[row_of_text] = row_of_image[owners]
        images, texts, owners = row_of_image[images], row_of_text[texts], in_file
    as_read = owners[texts] == images
    tried: list[tuple[str, Bool]] = []
    if as_read.mean() < NEARLY:
        for words, of_images, of_texts in _gathered(images, texts, (n_image, len(owners)), data.without_ids):
            tried.append((words, owners[of_texts] == of_images))
    position = images if direction == "i2t" else owners[texts]
    for side in data.without_ids:
        for by in SHIFTS:
            moved_images = (images + by).clip(0, n_image - 1) if side == "image" else images
            moved_texts = (texts + by).clip(0, len(owners) - 1) if side == "caption" else texts
            tried.append(_from_some_row(side, by, position, as_read, owners[moved_texts] == moved_images))
    words, hits = max(tried, key=lambda one: int(one[1].sum()))
    better, worse = int((hits & ~as_read).sum()), int((as_read & ~hits).sum())
    from scipy.special import bdtrc

    if better <= worse or bdtrc(better - 1, better + worse, 0.5) * len(tried) * len(queries) >= SURE:
        return None
    return Found(words, int(hits.sum()), int(as_read.sum()), len(queries))


def _from_some_row(side: str, by: int, position: Int, as_read: Bool, moved: Bool) -> tuple[str, Bool]:
    """The best row from which on rows are moved, in words, and whether queries find their own items then."""
    order = np.argsort(position, kind="stable")
    before = np.concatenate([[0], np.cumsum(as_read[order])])
    behind = np.concatenate([np.cumsum(moved[order][::-1])[::-1], [0]])
    cut = int((before + behind).argmax())
    hits = as_read.copy()
    hits[order[cut:]] = moved[order[cut:]]
    where = "" if cut == 0 or cut == len(order) else f" from about image {position[order[cut]]:,} on"
    noun = "images" if side == "image" else "texts"
    return f"with the {noun}{where} taken {abs(by)} row{'s' * (abs(by) > 1)} {'later' if by > 0 else 'earlier'}", hits


def _gathered(images: Int, texts: Int, shape: tuple[int, int], sides: Sequence[str]) -> Iterator[tuple[str, Int, Int]]:
    """Words, and the items that are in some rows, (row,) of each side, where rows were gathered from processes."""
    n_image, n_text = shape
    each = max(1, n_text // n_image)
    for count in (c for c in PROCESSES if c <= USUAL_PROCESSES or n_image >= MANY):
        # Rows that a process is dealt at a time (0: all of its share), and rows of it that follow each other (0: all).
        ways = [(1, 0), (0, 1)]
        if count <= FEW_PROCESSES:
            sizes = [size for size in BATCHES if size * count < n_image]
            ways += [way for size in sizes for way in ((1, size), (0, size), (size, 0))]
        for deal, batch in ways:
            how = f"with the rows of {count} processes put in order"
            of_images = items_at(images, n_image, count, deal, batch)
            of_texts = items_at(texts, n_text, count, deal, batch)
            if "image" in sides and "caption" in sides:
                yield how, of_images, of_texts
                if each > 1 and (deal > 1 or batch > 1):  # the texts of a batch of images
                    size = deal * each if deal > 1 else deal
                    yield how, of_images, items_at(texts, n_text, count, size, batch * each)
            if "image" in sides:
                yield f"{how} (images)", of_images, texts
            if "caption" in sides:
                yield f"{how} (texts)", images, of_texts


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


def of_others(data: Input) -> str | None:
    """What says that rows are not those of the captions of the split; None where they are."""
    split = data.split
    direction: Direction = "t2i" if "t2i" in data.scorers else "i2t"
    if set(data.without_ids) != {"image", "caption"} or split.name == "custom":
        return None
    try:
        captions = split.captions or load_split(split.name, captions=True).captions
    except VsebenchError:  # not installed, not built
        return None
    if captions is None:
        return None
    texts, others = alike(split, captions)
    if len(texts) < SMALLEST:
        return None
    as_read = _places(data, direction, texts, others, np.arange(len(split.image_ids)))
    if of_mean(as_read - 0.5)[0] < LEVEL:
        return None
    what = (
        f"captions of like wording, of different images of '{split.name}', are at chance: their mean place in a "
        f"ranking is {fixed(float(as_read.mean()), 2)}; chance is 0.50 (object labels alone give 0.02 on COCO 5K). "
        "The rows are those of other images, or in another order for both sides"
    )
    for words, order in _orders_of_both(split):
        found = _places(data, direction, texts, others, order)
        if of_mean(found - 0.5)[0] * 100 < CERTAIN and found.mean() < as_read.mean() - 0.1:
            what += f"; {words} it would be {fixed(float(found.mean()), 2)}"
            break
    return what


def _orders_of_both(split: Split) -> Iterator[tuple[str, Int]]:
    """Words, and the (row,) image in every row: orders that images and their captions may have together."""
    n, ids = len(split.image_ids), split.image_ids
    yield "with images and captions in ascending id order", np.argsort(ids, kind="stable")
    yield "with images and captions in the order of the ids as text", np.argsort(ids.astype(np.str_), kind="stable")
    yield "with images and captions in reverse order", np.arange(n)[::-1]
    for count in PROCESSES:
        for deal, batch in ((1, 0), (0, 1)):
            yield f"with the rows of {count} processes put in order", items_at(np.arange(n), n, count, deal, batch)


def alike(split: Split, captions: Sequence[str]) -> tuple[Int, Int]:
    """(pair,) captions, and (pair,) other images of which a caption has the most similar words."""
    from scipy.sparse import csr_array

    images, first = np.unique(split.owners, return_index=True)
    some = np.unique(np.linspace(0, len(images) - 1, min(WORDED, len(images))).astype(np.int64))
    images, first = images[some], first[some]
    words = [set(re.findall(r"\w{3,}", captions[caption].lower())) for caption in first.tolist()]
    number = {word: at for at, word in enumerate(dict.fromkeys(word for each in words for word in sorted(each)))}
    columns = np.array([number[word] for each in words for word in sorted(each)], np.int64)
    rows = np.repeat(np.arange(len(words)), [len(each) for each in words])
    weight = np.log(len(words) / np.bincount(columns, minlength=1))[columns] if len(columns) else np.zeros(0)
    length = np.sqrt(np.bincount(rows, weight**2, len(words)))
    table = csr_array((weight / np.maximum(length, 1e-9)[rows], (rows, columns)), shape=(len(words), len(number) or 1))
    cosine = (table @ table.T).toarray()
    np.fill_diagonal(cosine, 0)
    nearest = cosine.argmax(axis=1)
    best = np.argsort(-cosine[np.arange(len(words)), nearest], kind="stable")[:LIKE]
    best = np.sort(best[cosine[best, nearest[best]] >= ALIKE])
    return first[best], images[nearest[best]]


def _places(data: Input, direction: Direction, texts: Int, others: Int, image_in: Int) -> Float:
    """(pair,) the place, from 0 to 1, of another image in the ranking of a caption.

    Args:
        data: scores, in the order as read.
        direction: of the scores.
        texts, others: the captions and the other images, as the split has them.
        image_in: (row,) the image in every row; the captions of an image stay behind each other.
    """
    owners, n_image = data.split.owners, len(image_in)
    row_of = np.empty(n_image, np.int64)
    row_of[image_in] = np.arange(n_image)
    starts = np.searchsorted(owners, np.arange(n_image)) if (np.diff(owners) >= 0).all() else None
    moved = not (np.arange(n_image) == image_in).all()
    rows = starts[row_of[owners[texts]]] if starts is not None and moved else texts  # the first caption of the image
    scores = data.scorers[direction].scores_of("t2i", rows, np.float32)
    target = scores[np.arange(len(rows)), row_of[others]][:, None]
    above, equal = (scores > target).sum(axis=1), (scores == target).sum(axis=1)
    return np.asarray((above + equal / 2) / n_image, np.float64)
