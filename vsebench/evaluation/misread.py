"""Refuse misordered or negated input, judged by the rankings of a sample of queries.

Rows in another order and negated scores raise no error: recall is too low then. Own items are the image or the texts of
a query or, if these are unknown, its relevant items by the judgements that are measured. At most 512 queries (2,048
lists) are ranked, and the input is refused if

- own items are ranked no better than by chance (``Sample``), of a part of the rows too if they have no ids;
- under another order of the rows the first item is clearly more often an own one;
- captions of like wording do not find each other's images, if the rows are those of a known set by their number alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, VsebenchError
from ..log import warn
from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..rank.scorers import System, rows_in_threads
from ..relevance.sources import SOURCES
from ..results.model import fixed
from ..sets.catalogue import load_split
from ..types import DIRECTIONS, ONE_WAY, SIDES, Bool, Direction, Float, Int, Modality, Relevance, TestSet
from .inputs import Input
from .plan import Plan
from .top_scored import MIN_IMAGES

Pairs = tuple[Int, Int]  # (query,) images and captions: queries with an item of their rankings
RECALL_DEPTHS = (1, 10, 100)
CHANCE_P_VALUE = 0.01  # an untrained model passes this often; a working model has a far smaller p-value
BLOCK_SCORES = 1 << 22  # scores in memory at a time


@dataclass(frozen=True, eq=False)
class Sample:
    """Some queries, and where their own items are in their rankings.

    Attributes:
        first, last: (query,) int64 images and captions: queries in the order of their units, and the items at the ends
            of their rankings.
        units: (unit,) int64 place of the first query of every unit: an image and its captions, or a query alone if
            the image of a caption is not known.
        best: (query,) float64 rank of the first positive, the mean of its ranks if it ties.
        mean: (query,) float64 mean over the own items of (rank - 1/2) / gallery, uniform at chance.
        size: (query,) int64 number of own items.
        depth: (query,) int64 known length of the ranking; ranks beyond it are the mean of those that remain.
        gallery: number of candidates.
    """

    first: Pairs
    last: Pairs
    units: Int
    best: Float
    mean: Float
    size: Int
    depth: Int
    gallery: int

    def part(self, start: int, stop: int) -> Sample:
        """The queries of some of the units, which follow each other."""
        some = slice(self.units[start], self.units[stop] if stop < len(self.units) else len(self.best))
        first, last = ((images[some], texts[some]) for images, texts in (self.first, self.last))
        units = self.units[start:stop] - self.units[start]
        of_query = (self.best[some], self.mean[some], self.size[some], self.depth[some])
        return Sample(first, last, units, *of_query, self.gallery)

    def recall(self, k: int) -> float:
        """The fraction of the queries that have an own item among the first ``k``."""
        return float((self.best <= k).mean())

    def chance(self, k: int) -> float:
        """The expectation of ``recall`` when all orders of the gallery are equally likely."""
        from scipy.special import gammaln

        n, r, seen = self.gallery, self.size, np.minimum(self.depth, k)
        others = np.maximum(n - seen - r, 0)  # logarithms of factorials, as there may be thousands of own items
        missed = gammaln(n - seen + 1) - gammaln(others + 1) - gammaln(n + 1) + gammaln(n - r + 1)
        return 1.0 - float(np.where(n - seen < r, 0.0, np.exp(missed)).mean())

    @cached_property
    def p_value(self) -> float:
        """The probability at chance of ranks as good as these, corrected for the tests.

        Captions of one image have similar ranks, so the tests use one value a unit: the mean of ``mean`` over units is
        normal, and the number of first queries with a positive in the top k (``RECALL_DEPTHS``) is binomial. Both also
        hold when all queries prefer the same items: the ranks are then draws without replacement, which vary less.
        """
        from scipy.special import bdtrc

        n = len(self.units)
        mean = np.add.reduceat(self.mean, self.units) / np.diff(self.units, append=len(self.mean)) - 0.5
        # Not in short lists, where few queries make the mean and its variance.
        tests = [of_mean(mean)[0]] if self.depth.min() == self.gallery else []
        for k in (k for k in RECALL_DEPTHS if 2 * k <= self.gallery):
            hits = int((self.best[self.units] <= k).sum())
            tests.append(float(bdtrc(hits - 1, n, self.chance(k))) if hits else 1.0)
        return min(1.0, len(tests) * min(tests))

    @property
    def at_chance(self) -> bool:
        """Whether these ranks are no better than random ones; False for too few units to tell."""
        return len(self.units) >= MIN_IMAGES and self.p_value >= CHANCE_P_VALUE


def of_mean(excess: Float) -> tuple[float, float]:
    """The probabilities of a mean as small as this one, and as large, of independent values with expectation 0.

    Args:
        excess: (image,) float64, at chance 0 on average.
    """
    from scipy.special import ndtr

    z = float(excess.mean()) * math.sqrt(len(excess)) / max(float(excess.std()), 1e-9)
    return float(ndtr(z)), float(ndtr(-z))


def ranks_of(scores: npt.NDArray[np.floating], items: Int) -> Float:
    """(item,) ranks of some items by (gallery,) scores, means over ties: a collapsed model is not perfect."""
    positive_scores = scores[items, None]
    return np.asarray(
        (scores > positive_scores).sum(axis=1) + ((scores == positive_scores).sum(axis=1) + 1) / 2, np.float64
    )


class Positives:
    """The positives of the queries of one direction.

    Args:
        relevance: of these queries.
        direction: of the queries.
        split: the items.
    """

    def __init__(self, relevance: Relevance, direction: Direction, split: TestSet):
        self.relevance, self.direction, self.columns = relevance, direction, len(split.columns)
        self.unit = np.arange(len(split.side(SIDES[direction][0])))  # of every query, see ``Sample``
        if direction == "t2i" and split.image_of is not None:
            self.unit = split.image_of
        pairs = np.repeat(relevance.queries, np.diff(relevance.indptr)), relevance.items
        images, texts = pairs if direction == "i2t" else pairs[::-1]
        self._keys = np.append(np.sort(images * self.columns + texts), np.iinfo(np.int64).max)

    def __call__(self, images: Int, texts: Int) -> Bool:
        """(pair,) whether an image and a text are each other's own."""
        keys = images * self.columns + texts
        return np.asarray(self._keys[np.searchsorted(self._keys, keys)] == keys)

    def items_of(self, queries: Int) -> list[Int]:
        """The positives of these queries; every query must have some."""
        start, found = self.relevance.indptr, np.searchsorted(self.relevance.queries, queries)
        return [self.relevance.items[start[at] : start[at + 1]] for at in found.tolist()]


def positives_by_image(split: TestSet, direction: Direction) -> Positives:
    """The positives by ``image_of``; raises UsageError if the image of every text is not known."""
    return Positives(SOURCES["gt"].positives(split)[DIRECTIONS.index(direction)], direction, split)


def sample(data: Input, positives: Positives, most: int, wide: bool = False) -> Sample:
    """Some queries of evenly spaced units, ranked.

    Args:
        data: scores or retrieved lists.
        positives: of the queries.
        most: queries.
        wide: from float64 scores, which tell vectors apart that differ little.
    """
    direction = positives.direction
    queries, units = sampled_queries(data, positives, most)
    gallery, items = len(data.split.side(SIDES[direction][1])), positives.items_of(queries)
    first, last, depth = np.zeros((3, len(queries)), np.int64)
    best, mean = np.full(len(queries), np.inf), np.full(len(queries), 0.5)
    if data.lists is None:
        rows = _scores(data, direction, queries, gallery, wide)
    for at, query in enumerate(queries.tolist()):
        if data.lists is None:
            scores = next(rows)
            first[at], last[at], depth[at] = scores.argmax(), scores.argmin(), gallery
            ranks = ranks_of(scores, items[at])
        else:  # items that are not listed have the mean of the remaining ranks
            listed = data.lists[direction].of_query(query)
            first[at], last[at], depth[at] = listed[0], listed[-1], len(listed)
            rank = np.full(gallery, (len(listed) + gallery + 1) / 2)
            rank[listed] = np.arange(1, len(listed) + 1)
            ranks = rank[items[at]]
        if len(ranks):
            best[at], mean[at] = ranks.min(), (ranks.mean() - 0.5) / gallery
    size = np.array([len(each) for each in items], np.int64)
    start, end = (pair if direction == "i2t" else pair[::-1] for pair in ((queries, first), (queries, last)))
    return Sample(start, end, units, best, mean, size, depth, gallery)


def sampled_queries(data: Input, positives: Positives, most: int) -> tuple[Int, Int]:
    """A sample of queries from evenly spaced units, and where in it each unit starts.

    A query needs candidates and an own item. There is one query a unit, or several if there are few units.
    """
    queries = positives.relevance.queries
    if data.lists is not None:
        queries = queries[data.lists[positives.direction].depth[queries] > 0]
    queries = queries[np.argsort(positives.unit[queries], kind="stable")]
    units, first, count = np.unique(positives.unit[queries], return_index=True, return_counts=True)
    if not len(units):
        return units, first
    some = np.unique(np.linspace(0, len(units) - 1, min(most, len(units))).astype(np.int64))
    each = np.minimum(count[some], max(1, most // len(some)))
    starts = np.cumsum(each) - each
    # Any caption of an image: the first, or every fifth, may be in order when the others are not.
    turn = np.arange(each.sum()) - np.repeat(starts - np.random.default_rng(0).integers(0, 1 << 30, len(some)), each)
    return queries[np.repeat(first[some], each) + turn % np.repeat(count[some], each)], starts


def _scores(
    data: Input, direction: Direction, queries: Int, gallery: int, wide: bool
) -> Iterator[npt.NDArray[np.floating]]:
    """The (gallery,) scores of every query, computed in blocks."""
    for some in np.array_split(queries, max(1, -(-len(queries) * gallery // BLOCK_SCORES))):
        yield from np.ascontiguousarray(rows_in_threads(data.scorer(direction), some, wide=wide))


FIRST_QUERIES, ALL_QUERIES = 64, 512  # ranked at first, and if these leave a doubt
MAX_LISTED_ITEMS = 2048
ROW_PARTS = 8  # rows without ids are tested in this many parts
PROCESS_COUNTS = range(2, 17)  # numbers of processes that may have gathered rows in another order
ROW_OFFSETS = (1, -1, 2, -2)  # shifts of all rows after some row
MAX_P_VALUE = 1e-2  # corrected for all orders tried; if rows are in order, no other order comes close
MAX_IMAGES_BY_WORDING = 2000  # images with first captions that are compared
MAX_LIKE_PAIRS = 128  # pairs of captions with similar words
MIN_COSINE = 0.2  # between the words of two such captions
MIN_MEAN_PLACE = 0.3  # mean place of their images, if the positives are ten times nearer to the top
DIRECTION_WORDS: dict[Direction | None, tuple[str, str]] = {
    "i2t": ("image-to-text", "images"), "t2i": ("text-to-image", "captions"), ONE_WAY: ("query-to-corpus", "queries"),
}  # fmt: skip
CHECK_ALL = (
    "check that images and texts are rows of the same items, that the ids belong to the rows, and that larger "
    "scores mean more similar; an untrained or collapsed model is at chance too"
)
GIVE_IDS = "give image_ids and text_ids (or image_of_text), so that rows are matched by id"
GIVE_QUERY_IDS = "give query_ids and corpus_ids, so that rows are matched by id"
SAVE_IDS_WITH_ROWS = "save every id with the row of its item: ids and rows are in different orders"
WRITE_ITEM_IDS = "write the ids of the items into the lists, instead of row numbers or the ids of other rows"
NEGATE_SCORES = "give similarities (larger means more similar): negate the scores, or reverse the lists"

Suspicion = tuple[str, str]  # why input looks misread, and what to do about it


def check(data: Input, plan: Plan) -> None:
    """Refuse input that looks misread.

    Args:
        data: scores, retrieved lists or the vectors of a saved index, and how they were read.
        plan: the directions and the judgements that are measured; with ``trust`` a warning replaces the error.

    Raises:
        BadInput: so it is, and the input is not trusted.
    """
    split, trust = data.split, plan.request.trust
    if data.system is not None and not data.of_vectors and any(one.allowed is not None for one in data.candidates):
        return  # other pairs may have no scores
    if data.index:  # the vectors
        indexed = {d: one.scorer for d, one in data.index.items()}
        data = replace(data, lists=None, system=System.of(indexed.get("i2t"), indexed.get("t2i")))
    view = (
        "gt" if split.image_of is not None else next((m.view for m in plan.single if m.view in plan.judgements), None)
    )
    if view is None or min(split.shape) < MIN_IMAGES:
        return
    both = plan.judgements[view].positives(split) if view in plan.judgements else SOURCES[view].positives(split)
    # Captions are more queries than images, and have fewer candidates.
    without_ids = plan.directions[-1] if data.lists is None and data.without_ids else None
    with one_blas_thread():  # products use their own threads
        sides = [Positives(both[DIRECTIONS.index(d)], d, split) for d in plan.directions]
        found = [
            one
            for positives in sides
            if (one := suspect(data, positives, positives.direction == without_ids)) is not None
        ]
        if without_ids and not found and (others := of_others(data)):
            found = [(others, GIVE_IDS)]
    if found and not trust:
        what, fix = next((one for one in found if one[1] != CHECK_ALL), found[0])
        raise BadInput(what, where=data.where, fix=f"{fix}; {spell('trust', True)} evaluates it anyway")
    warn(*(what for what, _ in found))


def suspect(data: Input, positives: Positives, order: bool = False) -> Suspicion | None:
    """Why the input looks misread in a direction; None if it does not, or is too small to tell.

    Args:
        data: scores or retrieved lists.
        positives: of the queries.
        order: rank the complete sample although a few queries have a good recall, test its parts, and try the orders of
            several processes and displaced rows.
    """
    listed = data.lists is not None
    # Near-constant vectors have scores that float32 cannot tell apart: the complete sample is ranked in float64.
    for most in (MAX_LISTED_ITEMS,) if listed else (ALL_QUERIES,) if order else (FIRST_QUERIES, ALL_QUERIES):
        found = sample(data, positives, most, wide=most == ALL_QUERIES)
        if len(found.best) < MIN_IMAGES:
            return None
        if not found.at_chance and not _is_poor(found, 0.1):
            break
    as_read, words = positives(*found.first), DIRECTION_WORDS[data.split.way(positives.direction)]
    rows = GIVE_QUERY_IDS if data.split.one_way else GIVE_IDS
    by = "" if positives.relevance.name == "gt" else f"{positives.relevance.name}:"
    what = f"{words[0]} {by}R@1 of {len(found.best)} sampled {words[1]} is {_percent(found.recall(1))}"
    if found.at_chance:
        expected = f"chance {_percent(found.chance(10), 2)}"
        what = f"recall is at chance: {what} (R@10 {_percent(found.recall(10))}, {expected})"
    if (better := _better(list(readings(data, positives, found, order)), as_read, found.units)) is not None:
        what = f"{what}; {better.words} it would be {_percent(float(better.hits.mean()))}"
        fix = (
            NEGATE_SCORES
            if better.negated
            else WRITE_ITEM_IDS
            if listed
            else rows
            if data.without_ids
            else SAVE_IDS_WITH_ROWS
        )
        return what, fix
    if found.at_chance:
        return what, CHECK_ALL
    part = _part_at_chance(found, words[0]) if order and not _is_poor(found) else ""
    return (part, rows) if part else None


def _is_poor(found: Sample, margin: float = 0.0) -> bool:
    """Whether R@10 is near chance, so that a few queries, or a part of the rows, do not tell."""
    chance = found.chance(10)
    return found.recall(10) <= min(5 * chance, chance + 0.15) + 0.02 + margin


def _part_at_chance(found: Sample, words: str) -> str:
    """That images that follow each other are at chance, where the others are far from it; else empty."""
    n = len(found.units)
    width = max(MIN_IMAGES, n // ROW_PARTS)
    for start in range(0, n - width + 1, max(1, width // 2)):
        part = found.part(start, start + width)
        if part.at_chance:
            recalls = f"R@10 {_percent(part.recall(10))}, overall {_percent(found.recall(10))}"
            what = f"{words} recall is at chance for a part of the rows ({recalls})"
            return f"{what}: they are in another order, or belong to other items"
    return ""


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


def _better(tried: Sequence[Reading], as_read: Bool, units: Int) -> Reading | None:
    """The reading under which clearly more units find an own item first, or are found, by a sign test; else None.

    Args:
        tried, as_read: by query.
        units: (unit,) the first query of every unit; its queries are not independent.
    """
    from scipy.special import bdtrc

    best = max(tried, key=lambda one: int(one.hits.sum()))
    more = np.add.reduceat(best.hits.astype(np.int64) - as_read, units)
    gained, lost = int((more > 0).sum()), int((more < 0).sum())
    p = bdtrc(gained - 1, gained + lost, 0.5) * sum(one.cases for one in tried) if gained > lost else 1.0
    return best if p < MAX_P_VALUE else None


def readings(data: Input, positives: Positives, found: Sample, order: bool) -> Iterator[Reading]:
    """What the first items of the queries of a sample are under other orders of the rows, and with another sign."""
    images, texts = found.first
    for t, text in _orders(data, "caption"):
        for i, image in _orders(data, "image"):
            sides = ("queries", "corpus items") if data.split.one_way else ("images", "texts")
            how = " and ".join(f"the {side} {words}" for side, words in zip(sides, (i, t), strict=True) if words)
            yield Reading(f"with {how}", positives(image[images], text[texts]))
    negated = f"with the {'scores negated' if data.lists is None else 'lists reversed'}"
    yield Reading(negated, positives(*found.last), negated=True)
    if order:
        yield from _gathered(data, positives, images, texts)
        yield from _displaced(data, positives, images, texts)


def _orders(data: Input, side: Modality) -> Iterator[tuple[str, Int]]:
    """Row orders that are tried: a description, and (item,) the item that each would be. The first one is as read."""
    ids, n_image, rows = data.split.side(side).ids, len(data.split.rows.ids), data.rows[SIDES["i2t"].index(side)]
    row, item = _row_and_item(rows, n := len(ids))
    times = n // n_image
    yield "", np.arange(n)
    if rows is not None and side == "image":
        yield "in the order of the file and their ids ignored", row
    if side == "caption" and times * n_image == n and data.split.image_of is not None:
        by_image = np.argsort(data.split.image_of, kind="stable")
        yield f"in order, {times} for each image", by_image[row]
        if times > 1:
            words = f"stored as {times} runs of {n_image:,} (first text of every image, then second, ...)"
            yield words, by_image[row % n_image * times + row // n_image]
    yield "in reverse order", item[n - 1 - row]
    orders = {"in ascending id order": np.argsort(ids, kind="stable")}
    if ids.dtype.kind == "i":  # file names are sorted as text, and numbers often are
        orders["in ascending order of the ids as text"] = np.argsort(ids.astype(str), kind="stable")
    for words, order in orders.items():
        yield words, order[row]
        if data.lists is not None:
            yield f"in the order of the split, but ids {words}", np.argsort(order)


def _gathered(data: Input, positives: Positives, images: Int, texts: Int) -> Iterator[Reading]:
    """Readings of rows without ids that several processes computed: dealt one by one, or in interleaved shares."""
    sizes, sides = data.split.shape, data.without_ids
    (image_row, image_in), (text_row, text_in) = map(_row_and_item, data.rows, sizes)
    for count in PROCESS_COUNTS:
        words = f"with the rows of {count} processes put in order"
        for shares in (False, True):
            image = image_in[dealt(image_row[images], sizes[0], count, shares)] if "image" in sides else None
            if image is not None:
                yield Reading(f"{words} (images)", positives(image, texts))
            for together in {1, max(1, sizes[1] // sizes[0])} if "caption" in sides else ():
                text = text_in[dealt(text_row[texts], sizes[1], count, shares, together)]
                yield Reading(f"{words} (texts)", positives(images, text))
                if image is not None:
                    yield Reading(words, positives(image, text))


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
    part = np.where(at < more * (size + 1), at // (size + 1), (at - more) // max(size, 1))
    place = at - part * size - np.minimum(part, more)
    return np.asarray(np.minimum((place * parts + part) * together + rows % together, n - 1), np.int64)


def _displaced(data: Input, positives: Positives, images: Int, texts: Int) -> Iterator[Reading]:
    """All rows from some row on are one or two rows apart from their items: one is missing, or was repeated."""
    for side in data.without_ids:
        at, noun = (images, "image") if side == "image" else (texts, "text")
        order = np.argsort(at, kind="stable")
        as_read = positives(images, texts)[order]
        for rows in ROW_OFFSETS:
            if side == "image":
                moved = positives(images + rows, texts)[order]
            else:
                moved = positives(images, (texts + rows).clip(0, positives.columns - 1))[order]
            # The row from which on displacing them gains most.
            gain = np.cumsum((moved.astype(np.int64) - as_read)[::-1])[::-1]
            begin, hits = int(gain.argmax()), np.empty(len(at), np.bool_)
            hits[order] = np.concatenate([as_read[:begin], moved[begin:]])
            where = f" from about {noun} {at[order[begin]]:,} on" if begin else ""
            how = "later" if rows > 0 else "earlier"
            words = f"with the {noun}s{where} shifted {abs(rows):,} row{'s' * (abs(rows) > 1)} {how}"
            yield Reading(words, hits, cases=len(at))


def _row_and_item(rows: Int | None, n: int) -> tuple[Int, Int]:
    """(item,) the row of every item, and (row,) the item in every row."""
    row = np.arange(n) if rows is None else rows
    return row, np.argsort(row)


def of_others(data: Input) -> str:
    """Why the rows look like those of other images, judged by captions of like wording; empty if they do not."""
    split = data.split
    if set(data.without_ids) != {"image", "caption"} or split.name == "custom" or split.image_of is None:
        return ""
    try:
        captions = split.columns.texts or load_split(split.name, captions=True).columns.texts
    except VsebenchError:  # not installed, not built
        return ""
    texts, others = most_similar(split, captions or ())
    if len(texts) < MIN_IMAGES:
        return ""
    as_read, reordered = (_places(data, texts, images) for images in (others, split.owners[texts]))
    far = as_read.mean() >= MIN_MEAN_PLACE and reordered.mean() <= as_read.mean() / 10
    if not far and of_mean(as_read - 0.5)[0] < CHANCE_P_VALUE:
        return ""
    return (
        f"captions of '{split.name}' with similar wording rank each other's images at "
        f"{fixed(float(as_read.mean()), 2)} on average (0 is best, 0.50 is chance): the rows are probably in another "
        "order, or belong to other images"
    )


def most_similar(split: TestSet, captions: Sequence[str]) -> tuple[Int, Int]:
    """(pair,) captions, and (pair,) the other image with a caption of the most similar words."""
    from scipy.sparse import csr_array

    images, first = np.unique(split.owners[: len(captions)], return_index=True)
    some = np.unique(np.linspace(0, len(images) - 1, min(MAX_IMAGES_BY_WORDING, len(images))).astype(np.int64))
    images, first = images[some], first[some]
    words = [set(re.findall(r"\w{3,}", captions[caption].lower())) for caption in first.tolist()]
    number = {word: at for at, word in enumerate(dict.fromkeys(word for each in words for word in sorted(each)))}
    columns = np.array([number[word] for each in words for word in sorted(each)], np.int64)
    rows = np.repeat(np.arange(len(words)), [len(each) for each in words])
    if not len(columns):
        return rows, rows
    weight = np.log(len(words) / np.bincount(columns))[columns]
    length = np.sqrt(np.bincount(rows, weight**2, len(words)))
    table = csr_array((weight / np.maximum(length, 1e-9)[rows], (rows, columns)), shape=(len(words), len(number)))
    cosine = (table @ table.T).toarray()
    np.fill_diagonal(cosine, 0)
    nearest = cosine.argmax(axis=1)
    best = np.argsort(-cosine[np.arange(len(words)), nearest], kind="stable")[:MAX_LIKE_PAIRS]
    best = np.sort(best[cosine[best, nearest[best]] >= MIN_COSINE])
    return first[best], images[nearest[best]]


def _places(data: Input, texts: Int, images: Int) -> Float:
    """(pair,) the place, from 0 to 1, of an image in the ranking of a caption."""
    assert data.system is not None
    scores = rows_in_threads(data.scorer("t2i") if "t2i" in data.scored else data.system.forward.T, texts)
    ranks = [ranks_of(*one)[0] for one in zip(scores, images[:, None], strict=True)]
    return np.asarray((np.array(ranks) - 0.5) / scores.shape[1], np.float64)


def _percent(fraction: float, digits: int = 1) -> str:
    return f"{fixed(fraction, digits, times=100)}%"
