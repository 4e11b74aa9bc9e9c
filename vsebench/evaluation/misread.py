"""Input that is read in another way than it was written: a sample of queries is ranked before anything is reported.

Rows in another order and negated scores do not fail; recall is too low then. Three questions are asked, of at most 512
queries (2,048 lists), and an input that fails one is refused:

- Are own items ranked better than by chance? (``chance``)
- Is the first item clearly more often an own item under another reading of the rows? Asked where recall
  is low, and of rows without ids always, of which no part may be at chance either.
- Do captions of like wording find each other's images, where rows are those of a known set?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import BadInput, VsebenchError
from ..log import warn
from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..rank.scorers import rows_in_threads
from ..results.format import fixed
from ..sets.catalogue import load_split
from ..sets.declared import DECLARED
from ..sets.placing import SIDES
from ..types import Bool, Direction, Float, Ids, Int, TestSet
from .chance import LEVEL, Pairs, Sample, of_mean, ranks_of, sample
from .inputs import Input
from .top_scored import SMALLEST

Rows = Int | None  # (item,) row of every item in the file, None for its index
PROCESSES = range(2, 17)  # whose rows may have been gathered in another order
OFFSETS = (1, -1, 2, -2)  # rows by which all that follow some row may be displaced
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


def readings(data: Input, direction: Direction, first: Pairs, last: Pairs) -> Iterator[Reading]:
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


def _gathered(data: Input, images: Int, texts: Int) -> Iterator[Reading]:
    """Rows that several processes computed, of the sides without ids: dealt one by one, or in shares interleaved."""
    sizes, sides, owners = [len(data.split.side(side).ids) for side in SIDES], data.without_ids, data.split.owners
    (image_row, image_in), (text_row, text_in) = map(_row_and_item, data.rows, sizes)
    for count in PROCESSES:
        words = f"with the rows of {count} processes put in order"
        for shares in (False, True):
            image = image_in[dealt(image_row[images], sizes[0], count, shares)] if "image" in sides else None
            if image is not None:
                yield Reading(f"{words} (images)", owners[texts] == image)
            for together in {1, max(1, sizes[1] // sizes[0])} if "caption" in sides else ():
                owner = owners[text_in[dealt(text_row[texts], sizes[1], count, shares, together)]]
                yield Reading(f"{words} (texts)", owner == images)
                if image is not None:
                    yield Reading(words, owner == image)


def dealt(rows: Int, n: int, processes: int, shares: bool, together: int = 1) -> Int:
    """(row,) the items in some rows of ``n``, which processes computed.

    Args:
        rows: (row,) indices of rows.
        n: rows in all.
        processes: how many.
        shares: every process computed a share of items that follow each other, and their rows alternate; otherwise
            items were dealt to the processes in turn, and the rows of each follow each other.
        together: items that were dealt, or alternate, as one.
    """
    units, at = -(-n // together), rows // together
    parts = -(-units // processes) if shares else processes
    size, more = divmod(units, parts)  # the first ``more`` parts have one item more
    late = np.maximum(at - more * (size + 1), 0)
    part = np.where(at < more * (size + 1), at // (size + 1), more + late // max(size, 1))
    place = np.where(at < more * (size + 1), at % (size + 1), late % max(size, 1))
    return np.minimum((place * parts + part) * together + rows % together, n - 1)


def _displaced(data: Input, direction: Direction, images: Int, texts: Int) -> Iterator[Reading]:
    """All rows from some row on are one or two rows apart from their items: one is missing, or was repeated."""
    owners = data.split.owners
    as_read, at = owners[texts] == images, images if direction == "i2t" else owners[texts]
    for side in data.without_ids:
        for rows in OFFSETS:
            if side == "image":
                moved = owners[texts] == images + rows
            else:
                moved = owners[(texts + rows).clip(0, len(owners) - 1)] == images
            # The row from which on displacing them gains most.
            gain = np.cumsum((moved.astype(np.int64) - as_read)[::-1])[::-1]
            begin = int(gain.argmax())
            where = "" if begin == 0 else f" from about image {at[begin]:,} on"
            noun, how = "images" if side == "image" else "texts", "later" if rows > 0 else "earlier"
            words = f"with the {noun}{where} taken {abs(rows):,} row{'s' * (abs(rows) > 1)} {how}"
            yield Reading(words, np.concatenate([as_read[:begin], moved[begin:]]), cases=len(images))


def _with_likely_ids(split: TestSet) -> TestSet:
    """A custom split of row numbers with the ids of the declared split that has as many items, which it may be."""
    sizes = len(split.rows.ids), len(split.columns.ids)
    if split.name == "custom" and (split.rows.ids == np.arange(sizes[0])).all():
        for name, declared in DECLARED.items():
            if (declared.images, declared.captions) == sizes:
                try:
                    likely = load_split(name)
                except VsebenchError:  # not installed, not built
                    continue
                return replace(split, rows=likely.rows, columns=likely.columns)
    return split


def _words(images: str, texts: str) -> str:
    how = " and ".join(f"the {side} {how}" for side, how in (("images", images), ("texts", texts)) if how)
    return f"with {how}" if how else ""


def _image_orders(split: TestSet, rows: Rows, listed: bool) -> Iterator[tuple[str, Int]]:
    """Words, and (image,) the image that every image as read is."""
    n = len(split.rows.ids)
    row, item = _row_and_item(rows, n)
    yield from _orders(split.rows.ids, row, rows is not None, listed)
    yield "in reverse order", item[n - 1 - row]


def _text_orders(split: TestSet, rows: Rows, listed: bool) -> Iterator[tuple[str, Int]]:
    """Words, and (caption,) the image that every caption as read is of."""
    n_image, n_text = len(split.rows.ids), len(split.columns.ids)
    row, times = _row_and_item(rows, n_text)[0], n_text // n_image
    yield "", split.owners
    if n_text == times * n_image:
        if times > 1:
            yield f"stored as {times} runs of {n_image:,} (first text of every image, then second, ...)", row % n_image
        yield f"in order, {times} for each image", row // times
    (_, _), *others = _orders(split.columns.ids, row, rows is not None, listed)
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


WORDED = 2000  # images whose first captions are compared
LIKE = 128  # of the pairs of captions of like wording those that are most alike
FAR = 0.3  # mean place of such an image, where own images are ten times nearer to the top
APART, PARTLY = 0.2, 0.15  # place of such an image, and the share of them, that is warned of
ALIKE = 0.2  # cosine of the words of two such captions, at least


def of_others(data: Input) -> str:
    """What says that rows are not those of the captions of the split; empty where they are, or nothing tells."""
    split = data.split
    if set(data.without_ids) != {"image", "caption"} or split.name == "custom":
        return ""
    try:
        captions = split.columns.texts or load_split(split.name, captions=True).columns.texts
    except VsebenchError:  # not installed, not built
        return ""
    if captions is None:
        return ""
    texts, others = alike(split, captions)
    if len(texts) < SMALLEST:
        return ""
    as_read, own = (_places(data, texts, images) for images in (others, split.owners[texts]))
    at_chance = of_mean(as_read - 0.5)[0] >= LEVEL
    if not at_chance and (as_read.mean() < FAR or own.mean() > as_read.mean() / 10):
        lost = float(((as_read > APART) & (own < APART / 10)).mean())
        if lost > PARTLY and (own > APART).mean() < PARTLY / 3:
            warn(
                f"{lost:.0%} of the captions with their own image near the top have that of a caption of like wording "
                f"far down (COCO 5K: 2% to 4%): a part of both sides may be in another order than {split.name}. "
                "Save image_ids and text_ids with the rows, so that they are matched by id"
            )
        return ""
    place = "at chance" if at_chance else "nearly at chance"
    return (
        f"captions of like wording, of different images of '{split.name}', are {place}: their mean place in a ranking "
        f"is {fixed(float(as_read.mean()), 2)}; chance is 0.50 (object labels alone give 0.02 on COCO 5K). The rows "
        "are those of other images, or in another order for both sides"
    )


def alike(split: TestSet, captions: Sequence[str]) -> tuple[Int, Int]:
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


def _places(data: Input, texts: Int, images: Int) -> Float:
    """(pair,) the place, from 0 to 1, of an image in the ranking of a caption."""
    assert data.system is not None
    scores = rows_in_threads(data.scorer("t2i") if "t2i" in data.scored else data.system.forward.T, texts)
    ranks = [ranks_of(*one)[0] for one in zip(scores, images[:, None], strict=True)]
    return np.asarray((np.array(ranks) - 0.5) / scores.shape[1], np.float64)


FEW, SAMPLE = 64, 512  # queries that are ranked first, and when these do not settle it
LISTED = 2048  # queries whose lists are read then
CLEARLY = 0.1
PARTS = 8  # a part of the rows that is tested by itself where rows have no ids
CONSTANT = 1e-3  # scores of a query that differ by less, relative to their size, are called collapsed
SURE = 1e-2  # p-value, corrected for all that is tried; in the right order another one finds next to nothing
WORDS: dict[Direction, tuple[str, str]] = {"i2t": ("image-to-text", "images"), "t2i": ("text-to-image", "captions")}
NO_CAUSE = (
    "check that images and texts are rows of the same items, that the ids are those of the rows, and that larger "
    "scores mean more similar; an untrained model is at chance too"
)
COLLAPSED = "find out why the model gives every image or every text the same vector"
ROWS = "give image_ids and text_ids (or image_of_text) with the rows, so that they are matched by id"
LISTS = "write the ids of the items into the lists, instead of row numbers or the ids of other rows"
NEGATED = "give similarities, where larger means more similar: negate the scores, or sort the lists the other way"


class Suspicion(NamedTuple):
    """Why input looks misread, what to do about it, and whether its cause is known."""

    what: str
    fix: str
    explained: bool


def check(data: Input, directions: Sequence[Direction], trust: bool) -> None:
    """Refuse, or warn of, input that looks misread, and rows without ids in another order or of other items.

    Nothing is tested where captions have no image of their own.

    Args:
        data: scores or retrieved lists, and how they were read.
        directions: what is measured.
        trust: warn instead of refusing.

    Raises:
        BadInput: so it is, and the input is not trusted.
    """
    if data.split.image_of is None or len(data.split.rows.ids) < SMALLEST:
        return
    # Captions are more queries than images, and have fewer candidates.
    without_ids = directions[-1] if data.lists is None and data.without_ids else None
    with one_blas_thread():  # products are made in threads of their own
        found = [one for d in directions if (one := suspect(data, d, d == without_ids)) is not None]
        if without_ids and not found and (others := of_others(data)):
            found = [Suspicion(others, ROWS, True)]
    if found and not trust:
        first = next((one for one in found if one.explained), found[0])
        raise BadInput(first.what, where=data.where, fix=f"{first.fix}; {spell('trust', True)} ranks it as read")
    warn(*(one.what for one in found))


def suspect(data: Input, direction: Direction, order: bool = False) -> Suspicion | None:
    """Why the input looks misread in a direction; None when it does not, or is too small to tell.

    Args:
        data, direction: of the queries.
        order: try other readings although recall is good.
    """
    listed, owners = data.lists is not None, data.split.owners
    # Most files are read correctly, and a few queries are enough to find out; a weak model takes some more, and
    # near-constant vectors have scores that float32 cannot tell apart.
    few = (SAMPLE, 0.0) if order else (FEW, CLEARLY)
    for (most, margin), wide in ((few, False), ((LISTED if listed else SAMPLE, 0.0), True)):
        found = sample(data, direction, most, wide)
        if len(found.units if not order else found.best) < SMALLEST:
            return None
        hits, at_end = (int((owners[texts] == images).sum()) for images, texts in (found.first, found.last))
        # Short lists that are reversed have a high recall at their length.
        doubtful = found.at_chance or (at_end > hits if listed else _is_poor(found, margin))
        if not doubtful:
            break
    better = _better(data, direction, found) if doubtful or order else None
    if found.at_chance or better:
        return _suspicion(found, direction, better, listed)
    return _lost_part(found, direction) if order else None


def _lost_part(found: Sample, direction: Direction) -> Suspicion | None:
    """Whether images that follow each other are at chance where the others are far from it."""
    n = len(found.units)
    width = max(SMALLEST, n // PARTS)
    for start in range(0, n - width + 1, max(1, width // 2)) if not _is_poor(found, 0) else ():
        part = found.part(start, start + width)
        if part.at_chance:
            what = f"{WORDS[direction][0]} recall is at chance for a part of the rows "
            what += f"(R@10 {_percent(part.recall(10))}, of all {_percent(found.recall(10))})"
            return Suspicion(f"{what}: they are in another order, or of other items", ROWS, True)
    return None


def _is_poor(found: Sample, margin: float) -> bool:
    """Whether R@10 is so low that other readings are tried, although it may be above chance."""
    chance = found.chance(10)
    return found.recall(10) <= min(5 * chance, chance + 0.15) + 0.02 + margin


def _better(data: Input, direction: Direction, found: Sample) -> Reading | None:
    """The reading under which clearly more queries find an own item first, by a sign test; None without one."""
    from scipy.special import bdtrc

    images, texts = found.first
    as_read, tried = data.split.owners[texts] == images, list(readings(data, direction, found.first, found.last))
    best = max(tried, key=lambda one: int(one.hits.sum()), default=None)
    if best is None:
        return None
    gained, lost = int((best.hits & ~as_read).sum()), int((as_read & ~best.hits).sum())
    sure = gained > lost and bdtrc(gained - 1, gained + lost, 0.5) * sum(one.cases for one in tried) < SURE
    return best if sure else None


def _suspicion(found: Sample, direction: Direction, better: Reading | None, listed: bool) -> Suspicion:
    """What is wrong with a sample that is at chance, or has a better reading, in words."""
    words, queries = WORDS[direction]
    what = f"{words} R@1 of {len(found.best)} sampled {queries} is {_percent(found.recall(1))} as read"
    # Scores that are all but equal are neither better nor worse; their median tells.
    collapsed = found.at_chance and float(np.median(found.spread)) < CONSTANT
    below = found.below_chance and not collapsed
    if found.at_chance:
        chance = f"(R@10 {_percent(found.recall(10))}, where chance is {_percent(found.chance(10), 2)})"
        what = f"recall is {'below' if below else 'at'} chance: {what} {chance}"
    if better is not None:
        what += f"; {better.words} it would be {_percent(float(better.hits.mean()))}"
        return Suspicion(what, NEGATED if better.negated else LISTS if listed else ROWS, True)
    if collapsed:
        return Suspicion(
            f"{what}; the scores of a query are all but equal: the vectors have collapsed to a point", COLLAPSED, True
        )
    fix = f"{NEGATED}, best item first" if below else NO_CAUSE
    return Suspicion(f"{what}; no other order of the rows and no other sign explains it", fix, False)


def _percent(fraction: float, digits: int = 1) -> str:
    return f"{fixed(fraction, digits, times=100)}%"
