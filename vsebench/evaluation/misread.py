"""Input that is read in another way than it was written: a sample of queries is ranked before anything is reported.

Exchanged or misordered rows and negated scores do not fail: they give recalls at or below chance. So a sample at or
below chance is refused, and so is one that is poor as read and far better in another reading of the same rows. The
usual causes are tried on the sample, and the one that explains it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..types import Bool, Direction, Float, Int
from .chance import CERTAIN, Sample
from .inputs import Input
from .readings import Reading, readings

FEW, SAMPLE = 64, 512  # queries that are ranked first, and when these do not settle it
LISTED = 2048  # queries whose lists are read then
BLOCK = 1 << 22  # scores in memory at a time
SMALLEST = 50  # with fewer images chance is too high for the test to mean anything
CLEARLY = 0.1
CONSTANT = 1e-3  # scores of a query that differ by less, relative to their size, are called collapsed
WORDS: dict[Direction, tuple[str, str]] = {"i2t": ("image-to-text", "images"), "t2i": ("text-to-image", "captions")}
NO_CAUSE = (
    "check that images and texts are rows of the same items, that the ids are those of the rows, and that larger "
    "scores mean more similar"
)
COLLAPSED = "find out why the model gives every image or every text the same vector"
ROWS = "save image_ids and text_ids (or image_of_text) with the rows, so that they are matched by id"
LISTS = "write the ids of the items into the lists, instead of row numbers or the ids of other rows"
NEGATED = "give similarities, where larger means more similar: negate the scores, or sort the lists the other way"

Ranker = Callable[[Int, Bool], Float]  # of items, and whether the ranking of an item is reversed


@dataclass(frozen=True)
class Suspicion:
    """Queries of a direction that find their relevant items no better than chance, or far better in another reading.

    Attributes:
        direction: of the queries.
        sample: their ranks as read.
        better: the reading that explains it and its ranks, or None.
        collapsed: the scores of a query are all but equal.
        listed: retrieved lists were read.
    """

    direction: Direction
    sample: Sample
    better: tuple[Reading, Sample] | None
    collapsed: bool
    listed: bool

    def __str__(self) -> str:
        words, queries = WORDS[self.direction]
        at = "recall collapses"
        if self.sample.at_chance:
            at = "recall is below chance" if self._below else "recall is at chance"
        text = f"{at}: {words} R@1 of {len(self.sample.best)} sampled {queries} is {self.sample.recall(1):.1%} as read "
        text += f"(R@10 {self.sample.recall(10):.1%}, where chance is {self.sample.chance(10):.2%})"
        if self.better is not None:
            reading, found = self.better
            return f"{text}; {reading.words} R@1 would be {found.recall(1):.1%} (R@10 {found.recall(10):.1%})"
        if self.collapsed:
            return f"{text}; the scores of a query are all but equal: the vectors have collapsed to a point"
        return f"{text}; no other order of the rows and no other sign explains it"

    @property
    def _below(self) -> bool:
        return self.sample.below_chance and not self.collapsed  # equal scores are neither better nor worse

    @property
    def fix(self) -> str:
        """What to do about it."""
        if self.better is None:
            if self._below:
                return f"{NEGATED}, best item first; {spell('trust', True)} evaluates it as read"
            cause = COLLAPSED if self.collapsed else NO_CAUSE
            return f"{cause}; an untrained model is at chance too: {spell('trust', True)} evaluates it"
        fix = NEGATED if self.better[0].reversed else LISTS if self.listed else ROWS
        return f"{fix}; {spell('trust', True)} ranks it as read"


def suspects(data: Input, directions: Sequence[Direction]) -> list[Suspicion]:
    """What looks misread, at most one suspicion a direction; none where captions have no image of their own."""
    if data.split.image_of is None:
        return []
    with one_blas_thread():  # the products are small: waiting threads would take more time than the sample
        return [s for s in (suspect(data, direction) for direction in directions) if s is not None]


def suspect(data: Input, direction: Direction) -> Suspicion | None:
    """Why the input looks misread in a direction; None when it does not, or is too small to tell."""
    if len(data.split.image_ids) < SMALLEST:
        return None
    as_read = Reading("", data.split.owners)
    backwards = Reading("", data.split.owners, reversed=True)
    # Most files are read correctly, and a few queries are enough to find out; a weak model takes some more.
    for most, margin in ((FEW, CLEARLY), (SAMPLE if data.lists is None else LISTED, 0.0)):
        queries = sampled_queries(data, direction, most)
        if len(queries[1]) < SMALLEST:
            return None
        (sample, back), _ = _measure(data, direction, queries, [as_read, backwards], np.float32)
        # Short lists that are reversed have a high recall at their length.
        poor = sample.recall(10) <= _enough(sample) + margin if data.lists is None else _far_better(back, sample, 1)
        if not sample.at_chance and not poor:
            return None
    others = readings(data.split, data.rows, data.lists is not None)
    # In float64, as near-constant vectors have scores that float32 cannot tell apart.
    (sample, *tried), spread = _measure(data, direction, queries, [as_read, *others], np.float64)
    at = max(range(len(others)), key=lambda i: tried[i].recall(1) + tried[i].recall(10))
    if sample.at_chance:
        explained = tried[at].p_values[0] * len(others) < CERTAIN
    else:
        explained = poor and _far_better(tried[at], sample, 10 if data.lists is None else 1)
    if not explained and not sample.at_chance:
        return None
    better = (others[at], tried[at]) if explained else None
    return Suspicion(direction, sample, better, spread < CONSTANT, data.lists is not None)


def _enough(sample: Sample) -> float:
    """The R@10 from which nothing is suspected."""
    chance = sample.chance(10)
    return min(5 * chance, chance + 0.15) + 0.02


def _far_better(other: Sample, as_read: Sample, k: int) -> bool:
    """Whether another reading is beyond doubt, although the one at hand is above chance.

    In a large gallery many times chance and many times the reading at hand; in a small one, where chance is high,
    more than halfway from there to 1; always twice the reading at hand.
    """
    chance, known = as_read.chance(k), as_read.recall(k)
    return other.recall(k) >= max(0.1, min(5 * chance, (1 + chance) / 2), min(10 * known, (1 + known) / 2), 2 * known)


def sampled_queries(data: Input, direction: Direction, most: int) -> tuple[Int, Int]:
    """Queries of evenly spaced images with candidates and a relevant item, and the first query of every image.

    There is one caption an image, or several where there are few images.
    """
    image_of = data.split.owners
    captions = np.arange(len(image_of))
    if data.lists is not None:
        known = np.fromiter(data.lists.lists[direction], np.int64)
        captions = captions[np.isin(captions if direction == "t2i" else image_of, known)]
    captions = captions[np.argsort(image_of[captions], kind="stable")]
    images, first, count = np.unique(image_of[captions], return_index=True, return_counts=True)
    if not len(images):
        return images, first
    some = np.unique(np.linspace(0, len(images) - 1, min(most, len(images))).astype(np.int64))
    if direction == "i2t":
        return images[some], np.arange(len(some))
    each = np.minimum(count[some], max(1, most // len(some)))
    starts = np.cumsum(each) - each
    # Not always the first caption of an image, which may be in order when the others are not.
    turn = np.arange(each.sum()) - np.repeat(starts, each) + np.repeat(np.arange(len(some)), each)
    return captions[np.repeat(first[some], each) + turn % np.repeat(count[some], each)], starts


def _measure(
    data: Input, direction: Direction, queries: tuple[Int, Int], tried: Sequence[Reading], dtype: npt.DTypeLike
) -> tuple[list[Sample], float]:
    """The ranks of the relevant items of some queries in every reading, and the median spread of a query's scores."""
    gallery = len(data.split.caption_ids if direction == "i2t" else data.split.image_ids)
    index, first = queries
    targets = [_targets(reading.image_of, direction, index) for reading in tried]
    size = np.array([[len(items) for items in each] for each in targets], np.int64)
    best = np.full(size.shape, np.inf)
    mean = np.full(size.shape, 0.5)
    depth, spread = np.empty(len(index), np.int64), np.empty(len(index))
    sign = np.array([reading.reversed for reading in tried])
    for at, (ranks, depth[at], spread[at]) in enumerate(_rankers(data, direction, index, dtype)):
        any_item = size[:, at] > 0
        count = size[any_item, at]
        starts = np.cumsum(count) - count
        # The items of all readings at once, as there are many readings with few items.
        found = ranks(np.concatenate([each[at] for each in targets]), np.repeat(sign[any_item], count))
        best[any_item, at] = np.minimum.reduceat(found, starts)
        mean[any_item, at] = (np.add.reduceat(found, starts) / count - 0.5) / gallery
    samples = [Sample(*each, first, depth, gallery) for each in zip(best, mean, size, strict=True)]
    return samples, float(np.median(spread))


def _targets(image_of: Int, direction: Direction, queries: Int) -> list[Int]:
    """The relevant items of every query."""
    if direction == "t2i":
        return list(image_of[queries, None])
    captions = np.flatnonzero(np.isin(image_of, queries))
    captions = captions[np.argsort(image_of[captions], kind="stable")]
    ends = np.searchsorted(image_of[captions], queries, side="right")
    starts = np.searchsorted(image_of[captions], queries)
    return [captions[a:b] for a, b in zip(starts, ends, strict=True)]


def _rankers(
    data: Input, direction: Direction, queries: Int, dtype: npt.DTypeLike
) -> Iterator[tuple[Ranker, int, float]]:
    """For every query the ranks of items, the known length of its ranking, and the spread of its scores."""
    gallery = len(data.split.caption_ids if direction == "i2t" else data.split.image_ids)
    if data.lists is not None:
        for query in queries.tolist():
            listed = data.lists.lists[direction][query]
            yield _ranks_in_list(listed, gallery), len(listed), np.inf
        return
    scorer, step = data.scorers[direction], max(1, BLOCK // gallery)
    for start in range(0, len(queries), step):
        for scores in scorer.scores_of(direction, queries[start : start + step], dtype):
            largest = float(np.abs(scores).max())
            yield _ranks_by_score(scores), gallery, float(np.ptp(scores)) / largest if largest else 0.0


def _ranks_by_score(scores: npt.NDArray[np.floating]) -> Ranker:
    ordered = np.sort(scores)

    def ranks(items: Int, backwards: Bool) -> Float:
        # Items that tie have the mean of their ranks, or a collapsed model would look perfect in every reading.
        low, high = (np.searchsorted(ordered, scores[items], side) for side in ("left", "right"))
        found = len(scores) - high + (high - low + 1) / 2
        return np.where(backwards, len(scores) + 1 - found, found)

    return ranks


def _ranks_in_list(listed: Int, gallery: int) -> Ranker:
    """Items that are not listed have the mean of the remaining ranks, also when the list is reversed."""
    rank = np.full(gallery, (len(listed) + gallery + 1) / 2)
    rank[listed] = np.arange(1, len(listed) + 1)

    def ranks(items: Int, backwards: Bool) -> Float:
        found = rank[items]
        return np.where(backwards & (found <= len(listed)), len(listed) + 1 - found, found)

    return ranks
