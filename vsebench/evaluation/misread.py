"""Input that is read in another way than it was written: a sample of queries is ranked before anything is reported.

Rows in another order and negated scores do not fail; recall is too low then. Three questions are asked, of at most 512
queries (2,048 lists), and an input that fails one is refused:

- Are own items ranked better than by chance? (``chance``)
- Is the first item clearly more often an own item under another reading of the rows? (``readings``, displaced rows)
- Do captions of like wording find each other's images, where rows are those of a known set? (``wording``)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..log import warn
from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..rank.scorers import rows_of
from ..results.format import fixed
from ..types import Bool, Direction, Int
from . import wording
from .chance import SMALLEST, Sample
from .inputs import System
from .readings import gathered, readings

FEW, SAMPLE = 64, 512  # queries that are ranked first, and when these do not settle it
LISTED = 2048  # queries whose lists are read then
MOST = 1 << 24  # scores of the queries whose first items tell the order of rows
BLOCK = 1 << 22  # scores in memory at a time
CLEARLY = 0.1
CONSTANT = 1e-3  # scores of a query that differ by less, relative to their size, are called collapsed
NEARLY = 0.98  # own items among the first, from which no order of processes is looked for
SURE = 1e-2  # p-value, corrected for all that is tried; in the right order another one finds next to nothing
OFFSETS = 8  # displacements of rows that are tried, the most frequent ones
WORDS: dict[Direction, tuple[str, str]] = {"i2t": ("image-to-text", "images"), "t2i": ("text-to-image", "captions")}
NO_CAUSE = (
    "check that images and texts are rows of the same items, that the ids are those of the rows, and that larger "
    "scores mean more similar"
)
COLLAPSED = "find out why the model gives every image or every text the same vector"
ROWS = "save image_ids and text_ids (or image_of_text) with the rows, so that they are matched by id"
LISTS = "write the ids of the items into the lists, instead of row numbers or the ids of other rows"
NEGATED = "give similarities, where larger means more similar: negate the scores, or sort the lists the other way"


@dataclass(frozen=True, eq=False)
class Better:
    """What another reading gives: its words, whether scores are negated in it, own items among the first, and as read.

    The last two are numbers of ``queries``.
    """

    words: str
    negated: bool
    hits: int
    as_read: int
    queries: int


@dataclass(frozen=True)
class Suspicion:
    """Queries of a direction that find their own items no better than chance, or better under another reading.

    Attributes:
        direction: of the queries.
        sample: their ranks as read; None where these are above chance.
        better: the reading that explains it, or None.
        collapsed: the scores of a query are all but equal.
        listed: retrieved lists were read.
    """

    direction: Direction
    sample: Sample | None
    better: Better | None
    collapsed: bool = False
    listed: bool = False

    def __str__(self) -> str:
        words, queries = WORDS[self.direction]
        if self.sample is None:
            assert self.better is not None
            of, as_read = self.better.queries, self.better.as_read / self.better.queries
            return f"{words} R@1 of {of} sampled {queries} is {_percent(as_read)} as read, and {self._other}"
        at, chance = self.sample, _percent(self.sample.chance(10), 2)
        text = f"recall is {'below' if self._below else 'at'} chance: {words} R@1 of {len(at.best)} sampled {queries} "
        text += f"is {_percent(at.recall(1))} as read (R@10 {_percent(at.recall(10))}, where chance is {chance}); "
        if self.better is not None:
            return text + self._other
        if self.collapsed:
            return f"{text}the scores of a query are all but equal: the vectors have collapsed to a point"
        return f"{text}no other order of the rows and no other sign explains it"

    @property
    def _other(self) -> str:
        assert self.better is not None
        return f"{self.better.words} it would be {_percent(self.better.hits / self.better.queries)}"

    @property
    def _below(self) -> bool:  # equal scores are neither better nor worse
        return self.sample is not None and self.sample.below_chance and not self.collapsed

    @property
    def fix(self) -> str:
        """What to do about it."""
        if self.better is None:
            if self._below:
                return f"{NEGATED}, best item first; {spell('trust', True)} evaluates it as read"
            cause = COLLAPSED if self.collapsed else NO_CAUSE
            return f"{cause}; an untrained model is at chance too: {spell('trust', True)} evaluates it"
        fix = NEGATED if self.better.negated else LISTS if self.listed else ROWS
        return f"{fix}; {spell('trust', True)} ranks it as read"


def _percent(fraction: float, digits: int = 1) -> str:
    return f"{fixed(fraction, digits, times=100)}%"


def check(data: System, directions: Sequence[Direction], trust: bool) -> None:
    """Refuse, or warn of, input that looks misread, and rows without ids in another order or of other items.

    Nothing is tested where captions have no image of their own.

    Args:
        data: scores or retrieved lists, and how they were read.
        directions: what is measured.
        trust: warn instead of refusing.

    Raises:
        BadInput: so it is, and the input is not trusted.
    """
    if data.split.image_of is None or len(data.split.image_ids) < SMALLEST:
        return
    with one_blas_thread():  # the products are small: waiting threads would take more time than the sample
        found = [one for direction in directions if (one := suspect(data, direction)) is not None]
        others = ""
        if data.lists is None and data.without_ids and not any(one.better or one.collapsed for one in found):
            # Captions are more queries than images, and have fewer candidates.
            better = reordered(data, directions[-1])
            if better is not None:
                found = [Suspicion(directions[-1], None, better)]
            elif not found:
                others = wording.of_others(data)
    if (found or others) and not trust:
        first = next((one for one in found if one.better or one.collapsed), found[0] if found else None)
        fix = f"{ROWS}; {spell('trust', True)} ranks it as read" if first is None else first.fix
        raise BadInput(str(first or others), where=data.where, fix=fix)
    warn(*map(str, found), others)


def suspect(data: System, direction: Direction) -> Suspicion | None:
    """Why the input looks misread in a direction; None when it does not, or is too small to tell."""
    listed = data.lists is not None
    # Most files are read correctly, and a few queries are enough to find out; a weak model takes some more.
    for most, margin in ((FEW, CLEARLY), (LISTED if listed else SAMPLE, 0.0)):
        queries, of_image = sampled_queries(data, direction, most)
        if len(of_image) < SMALLEST:
            return None
        sample, _ = _ranked(data, direction, queries, of_image, np.float32)
        # Short lists that are reversed have a high recall at their length.
        poor = _reversed(data, direction, queries) if listed else _is_poor(sample, margin)
        if not sample.at_chance and not poor:
            return None
    # In float64, as near-constant vectors have scores that float32 cannot tell apart.
    sample, spread = _ranked(data, direction, queries, of_image, np.float64)
    better = _best(data, direction, queries, np.float64)
    if sample.at_chance:
        return Suspicion(direction, sample, better, spread < CONSTANT, listed)
    return None if better is None else Suspicion(direction, None, better, listed=listed)


def reordered(data: System, direction: Direction) -> Better | None:
    """The order of rows without ids under which clearly more first items are own ones; None for that at hand."""
    gallery = len(data.split.ids("caption" if direction == "i2t" else "image"))
    queries, _ = sampled_queries(data, direction, max(SMALLEST, min(SAMPLE, MOST // gallery)))
    if len(queries) < SMALLEST:
        return None
    return _best(data, direction, queries, np.float32)


def _is_poor(sample: Sample, margin: float) -> bool:
    """Whether R@10 is so low that other readings are tried, although it may be above chance."""
    chance = sample.chance(10)
    return sample.recall(10) <= min(5 * chance, chance + 0.15) + 0.02 + margin


def _reversed(data: System, direction: Direction, queries: Int) -> bool:
    """Whether more queries have an own item at the end of their list than at its beginning."""
    owners, ends = data.split.owners, _ends(data, direction, queries, np.float32)
    first, last = (owners[end] == queries if direction == "i2t" else owners[queries] == end for end in ends)
    return bool(last.sum() > first.sum())


def _best(data: System, direction: Direction, queries: Int, dtype: npt.DTypeLike) -> Better | None:
    """The reading under which clearly more queries find an own item first, by a sign test; None without one."""
    from scipy.special import bdtrc

    owners, listed = data.split.owners, data.lists is not None
    first, last = _ends(data, direction, queries, dtype)
    images, texts = (queries, first) if direction == "i2t" else (first, queries)
    as_read = owners[texts] == images
    tried: list[tuple[str, bool, Bool]] = []  # words, whether scores are negated, and (query,) hits
    cases = 0
    if as_read.mean() < NEARLY:
        others = readings(data.split, data.rows, listed)
        tried += [(one.words, False, one.owner(texts) == one.image(images)) for one in others]
        if not listed:
            more = gathered(data.split, data.rows, data.without_ids, images, texts)
            tried += [(words, False, hits) for words, hits in more]
        how = "the lists reversed" if listed else "the scores negated"
        at = (queries, last) if direction == "i2t" else (last, queries)
        for one in others:
            words = f"{one.words} and {how}" if one.words else f"with {how}"
            tried.append((words, True, one.owner(at[1]) == one.image(at[0])))
        cases = len(tried)
    if not listed:
        moved = [(words, False, hits) for words, hits in _displaced(data, direction, images, texts, as_read)]
        tried, cases = tried + moved, cases + len(moved) * len(queries) ** 2
    words, negated, hits = max(tried, key=lambda one: int(one[2].sum()), default=("", False, as_read))
    better, worse = int((hits & ~as_read).sum()), int((as_read & ~hits).sum())
    if better <= worse or bdtrc(better - 1, better + worse, 0.5) * cases >= SURE:
        return None
    return Better(words, negated, int(hits.sum()), int(as_read.sum()), len(queries))


def _displaced(
    data: System, direction: Direction, images: Int, texts: Int, as_read: Bool
) -> Iterator[tuple[str, Bool]]:
    """Words, and whether queries find an own item, where some rows that follow each other are a number of rows apart.

    A row that is missing or was repeated moves all rows behind it, and processes that write in another order than by
    their number move blocks.
    """
    owners, n_image = data.split.owners, len(data.split.image_ids)
    position = images if direction == "i2t" else owners[texts]
    order = np.argsort(position, kind="stable")
    by_image = np.argsort(owners, kind="stable")
    start, count = np.searchsorted(owners[by_image], images), np.bincount(owners, minlength=n_image)[images]
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
            gain = np.concatenate([[0], np.cumsum(moved[order].astype(np.int64) - as_read[order])])
            stop = int((gain - np.minimum.accumulate(gain)).argmax())
            begin = int(gain[: stop + 1].argmin())
            hits = as_read.copy()
            hits[order[begin:stop]] = moved[order[begin:stop]]
            where = "" if begin == 0 else f" from about image {position[order[begin]]:,} on"
            if stop < len(order):
                where = f" of about images {position[order[begin]]:,} to {position[order[stop]]:,}"
            noun, how = "images" if side == "image" else "texts", "later" if rows > 0 else "earlier"
            yield f"with the {noun}{where} taken {abs(rows):,} row{'s' * (abs(rows) > 1)} {how}", hits


def sampled_queries(data: System, direction: Direction, most: int) -> tuple[Int, Int]:
    """Queries of evenly spaced images with candidates and a relevant item, and the first query of every image.

    There is one caption an image, or several where there are few images.
    """
    image_of = data.split.owners
    captions = np.arange(len(image_of))
    if data.lists is not None:
        known = np.flatnonzero(data.lists[direction].depth)
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


def _blocks(
    data: System, direction: Direction, queries: Int, dtype: npt.DTypeLike
) -> Iterator[npt.NDArray[np.floating]]:
    """The scores of some queries, (query, gallery), in blocks."""
    gallery = len(data.split.ids("caption" if direction == "i2t" else "image"))
    for some in np.array_split(queries, -(-len(queries) * gallery // BLOCK)):
        yield rows_of(data.scorers[direction], direction, some, wide=dtype is np.float64)


def _ends(data: System, direction: Direction, queries: Int, dtype: npt.DTypeLike) -> tuple[Int, Int]:
    """(query,) the first and the last items of rankings."""
    if data.lists is not None:
        lists = data.lists[direction]
        return lists.entries[lists.start[queries]], lists.entries[lists.start[queries + 1] - 1]
    ends = [(scores.argmax(axis=1), scores.argmin(axis=1)) for scores in _blocks(data, direction, queries, dtype)]
    first, last = zip(*ends, strict=True)
    return np.concatenate(first), np.concatenate(last)


def _ranked(
    data: System, direction: Direction, queries: Int, of_image: Int, dtype: npt.DTypeLike
) -> tuple[Sample, float]:
    """The ranks of the own items of some queries, and the median spread of a query's scores."""
    gallery = len(data.split.ids("caption" if direction == "i2t" else "image"))
    own = _own(data.split.owners, direction, queries)
    best, mean, spread = np.full(len(queries), np.inf), np.full(len(queries), 0.5), np.full(len(queries), np.inf)
    depth = np.full(len(queries), gallery)
    if data.lists is None:
        rows = (row for block in _blocks(data, direction, queries, dtype) for row in block)
    for at, query in enumerate(queries.tolist()):
        if data.lists is None:
            scores = np.asarray(next(rows))
            largest = float(np.abs(scores).max())
            spread[at] = float(np.ptp(scores)) / largest if largest else 0.0
            # Items that tie have the mean of their ranks, or a collapsed model would look perfect.
            ordered = np.sort(scores)
            low, high = (np.searchsorted(ordered, scores[own[at]], side) for side in ("left", "right"))
            found = gallery - high + (high - low + 1) / 2
        else:  # items that are not listed have the mean of the remaining ranks
            listed = data.lists[direction].of_query(query)
            depth[at] = len(listed)
            rank = np.full(gallery, (len(listed) + gallery + 1) / 2)
            rank[listed] = np.arange(1, len(listed) + 1)
            found = rank[own[at]]
        if len(found):
            best[at], mean[at] = found.min(), (found.mean() - 0.5) / gallery
    size = np.array([len(items) for items in own], np.int64)
    return Sample(best, mean, size, of_image, depth, gallery), float(np.median(spread))


def _own(owners: Int, direction: Direction, queries: Int) -> list[Int]:
    """The own items of every query."""
    if direction == "t2i":
        return list(owners[queries, None])
    captions = np.argsort(owners, kind="stable")
    ends = (np.searchsorted(owners[captions], queries, side=side) for side in ("left", "right"))
    return [captions[a:b] for a, b in zip(*ends, strict=True)]
