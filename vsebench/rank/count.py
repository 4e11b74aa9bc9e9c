"""Ranks of relevant items, by counting the candidates that score higher, in one pass over tiles of scores.

Images are rows and captions are columns, whatever the direction. The scores are made in tiles; in every tile the
relevant pairs of image queries are counted along its rows, those of caption queries along its columns. A relevant pair
has a canonical score and two thresholds around it; a score between these is compared in float64 (``kernels``).

Counting compares every relevant item with every candidate of its query. Queries with many relevant items are ordered
instead (``order``), and the places of the relevant ones are read.

A thread multiplies a tile with a single-threaded BLAS and counts in it while it is in the cache. That is faster than
a product on all cores followed by counting on all cores: idle BLAS threads wait actively on busy cores.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..memory import require
from ..numeric.parallel import Progress, default_threads, in_turn
from ..types import DIRECTIONS, EVERYTHING, Bool, Candidates, Direction, Float, Int, Ranks, Relevance
from . import kernels
from .order import PART, REFERENCE, Lists, Order, size_of
from .ranks import ranks_from_counts
from .scorers import Range, Scorer
from .ties import check_ties
from .tops import place

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Key = tuple[str, Direction]  # of a view in a direction
TILE_COLUMNS = 1280
TILE_BYTES = 64 << 20  # of all tiles together
MANY_PAIRS = 64  # of a query, relevant or excluded; queries with more are ordered
PAIR_BYTES = 100  # memory for a relevant pair, without its counts
ORDERED_BYTES = 48  # the same of a query that is ordered, and of a score


@dataclass(frozen=True, eq=False)
class Targets:
    """The relevant items of some judgements among some candidates, whose ranks are returned as those of ``view``."""

    view: str
    relevance: Relevance
    candidates: Candidates = EVERYTHING

    @property
    def key(self) -> Key:
        """The view and the direction."""
        return self.view, self.relevance.direction

    @property
    def excluded(self) -> Relevance | None:
        """The items that are no candidates."""
        return self.candidates.excluded

    @property
    def query_fold(self) -> Int | None:
        """(judged,) int64 fold of every query, or None."""
        return None if self.candidates.fold is None else self.candidates.fold[0][self.relevance.queries]

    @property
    def pairs(self) -> list[Relevance]:
        """The relevant items, and those that are no candidates: their pairs need a score."""
        return [self.relevance, *([] if self.excluded is None else [self.excluded])]

    def of(self, rows: Bool) -> Targets:
        """The targets of some of the judged queries, (judged,)."""
        relevance, own = taken(self.relevance, rows), self.candidates
        if self.excluded is not None:
            chosen = np.isin(self.excluded.queries, self.relevance.queries[~rows], invert=True)
            own = replace(own, excluded=taken(self.excluded, chosen))
        return Targets(self.view, relevance, own)


Scan = Callable[[Scorer, Sequence["Counter"], int, "tuple[int, int] | None", "Progress | None"], None]


def count(
    scorer: Scorer,
    targets: Sequence[Targets],
    *,
    ties: str = "index",
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    dense: Order | None = REFERENCE,
) -> dict[Key, Ranks]:
    """Rank every relevant pair in one pass over the scores.

    Args:
        scorer: scores of all images with all captions.
        targets: which pairs, among which candidates.
        ties: tie rule of the ranks, see ``ties.TIES``.
        threads: number of threads of the counting kernels; never changes a result.
        tile_shape: (image, caption) size of a tile; never changes a result.
        progress: called with (tiles done, tiles in all).
        scan: of another back-end, see ``backends``.
        dense: what orders queries with many relevant items; None counts their pairs too.

    Raises:
        UsageError: unknown tie rule, two targets of one name, or a relevant item that is no candidate (it is
            excluded, or in another fold).
        BadInput: the tiles and the counts need more memory than is free.
    """
    check_ties(ties)
    check_targets(targets, scorer.shape)
    threads = threads or default_threads()
    many = {t.key: _many(t) & (dense is not None) for t in targets}
    crowded = [t.of(many[t.key]) for t in targets if many[t.key].any()]
    few = [
        t.of(~many[t.key]) if many[t.key].any() else t for t in targets if not (len(many[t.key]) and many[t.key].all())
    ]
    pairs, ordered = (sum(len(r.items) for t in some for r in t.pairs) for some in (few, crowded))
    require(TILE_BYTES + pairs * (PAIR_BYTES + 12 * threads))
    require((ordered + bool(crowded) * threads * PART) * ORDERED_BYTES)
    of_many = {t.key: np.repeat(many[t.key], t.relevance.found) for t in targets}
    counts = {key: np.zeros((3, len(pairs)), np.int64) for key, pairs in of_many.items()}
    counters = make_counters(scorer, few, threads)
    for direction in DIRECTIONS:
        for key, found in _by_order(scorer, direction, crowded, dense or REFERENCE, threads).items():
            counts[key][:, of_many[key]] = found
    if counters:
        (scan or scan_tiles)(scorer, counters, threads, tile_shape, progress)
    for one in counters:
        for t in one.targets:
            counts[t.key][:, ~of_many[t.key]] = one.placed(t, size_of(scorer, one.direction))
    in_order = sorted(targets, key=lambda t: t.query_fold is not None)  # those of complete galleries first
    return {t.key: ranks_from_counts(t.relevance, counts[t.key], ties, t.query_fold) for t in in_order}


def _many(targets: Targets) -> Bool:
    """(judged,) whether a query has many relevant or excluded items."""
    size = targets.relevance.found
    if (excluded := targets.excluded) is not None:
        size = size + np.diff(_places(excluded, targets.relevance.queries), axis=1)[:, 0]
    return size > MANY_PAIRS


def _places(relevance: Relevance, queries: Int) -> Int:
    """(query, 2) int64, where the pairs of some queries begin and end; an empty range for those without."""
    at = np.searchsorted(relevance.queries, queries)
    known = at < len(relevance.queries)
    known[known] = relevance.queries[at[known]] == queries[known]
    found = np.zeros((len(queries), 2), np.int64)
    found[known] = np.stack([relevance.indptr[at[known]], relevance.indptr[at[known] + 1]], axis=1)
    return found


def taken(relevance: Relevance, rows: Bool) -> Relevance:
    """The judgements of some of the queries; ``rows`` is (judged,)."""
    if rows.all():
        return relevance
    indptr = np.concatenate([[0], np.cumsum(relevance.found[rows])])
    items = relevance.items[rows[relevance.query_of]]
    return Relevance(
        relevance.name, relevance.direction, relevance.queries[rows], indptr, items, relevance.missing[rows]
    )


def _by_order(
    scorer: Scorer, direction: Direction, dense: Sequence[Targets], order: Order, threads: int
) -> dict[Key, Int]:
    """(3, pair) counts of the targets of a direction, whose queries are ordered once for all of them."""
    own = [t for t in dense if t.relevance.direction == direction]
    found = {t.key: np.zeros((3, len(t.relevance.items)), np.int64) for t in own}
    if not own:
        return found
    gallery, queries = size_of(scorer, direction), np.unique(np.concatenate([t.relevance.queries for t in own]))
    step = min(order.together(gallery, gallery), max(1, PART // gallery))

    def work(start: int) -> None:
        some = queries[start : start + step]
        lists = order.of(scorer, direction, some, gallery, None)
        for t in own:
            placed = place(lists, t.relevance, t.candidates, some)
            found[t.key][:, placed.pairs] = placed.counts

    in_turn(range(0, len(queries), step), lambda _: work, threads, None)
    return found


def make_counters(scorer: Scorer, targets: Sequence[Targets], threads: int) -> list[Counter]:
    """One counter for targets that share a direction and folds, always in the same order."""
    scored = score(scorer, [r for t in targets for r in t.pairs], threads)
    groups: list[tuple[Direction, list[Targets]]] = []
    for direction in DIRECTIONS:
        own = [t for t in targets if t.relevance.direction == direction]
        if plain := [t for t in own if t.candidates.fold is None]:
            groups.append((direction, plain))
        groups += [(direction, [t]) for t in own if t.candidates.fold is not None]
    return [Counter(scorer, direction, group, threads, scored) for direction, group in groups]


def tiles(shape: tuple[int, int], itemsize: int, threads: int) -> tuple[int, int]:
    """(image, caption) size of a tile, such that the tiles of all threads fit a fixed memory."""
    width = min(TILE_COLUMNS, shape[1])
    return max(1, min(shape[0], TILE_BYTES // threads // (itemsize * width))), width


def corners(shape: tuple[int, int], height: int, width: int) -> list[tuple[int, int]]:
    """The first image and caption of every tile."""
    return [(r, c) for c in range(0, shape[1], width) for r in range(0, shape[0], height)]


def scan_tiles(
    scorer: Scorer, counters: Sequence[Counter], threads: int, tile_shape: tuple[int, int] | None,
    progress: Progress | None, lists: Iterable[Lists] = (),
) -> None:  # fmt: skip
    """Add to the counts of ``counters``, and to lists, from tiles of numpy and kernels of numba.

    Args:
        scorer: scores of all images with all captions.
        counters: the relevant pairs; their ``counts`` are increased.
        threads, tile_shape, progress: as for ``count``.
        lists: of float32 scores.
    """
    n_image, n_caption = scorer.shape
    height, width = tile_shape or tiles(scorer.shape, np.dtype(scorer.dtype).itemsize, threads)

    def worker(part: int) -> Callable[[tuple[int, int]], None]:
        buffer = np.empty(min(height, n_image) * min(width, n_caption), scorer.dtype)

        def work(corner: tuple[int, int]) -> None:
            r0, c0 = corner
            r1, c1 = min(r0 + height, n_image), min(c0 + width, n_caption)
            out = buffer[: (r1 - r0) * (c1 - c0)].reshape(r1 - r0, c1 - c0)
            scorer.block(slice(r0, r1), slice(c0, c1), out)
            for counter in counters:
                counter.count(out, r0, c0, part)
            for one in lists:
                one.add(out, r0, c0)

        return work

    in_turn(corners(scorer.shape, height, width), worker, threads, progress)


class Block(NamedTuple):
    """Some images and some captions, each as (first, last + 1): a part of a scan, which other processes share.

    Counts of the pairs of a query are added over the blocks that have candidates of it, in any order.
    """

    images: Range
    captions: Range

    def sides(self, direction: Direction) -> tuple[Range, Range]:
        """Queries and candidates."""
        return (self.images, self.captions) if direction == "i2t" else (self.captions, self.images)


def count_block(scan: Scan, scorer: Scorer, counters: Sequence[Counter], threads: int, block: Block) -> Arrays:
    """The counts of a block.

    Args:
        scan: of a back-end.
        scorer: scores of all images with all captions.
        counters: from ``make_counters``; not changed.
        threads: number of threads.
        block: the images and captions.

    Returns:
        ``counts0``, ``counts1``, ... one a counter: (3, pair) int32 of the pairs whose queries are in the block.
    """
    own = scorer.take(slice(*block.images), slice(*block.captions))
    parts = [counter.part(own, *block, threads) for counter in counters]
    scan(own, parts, threads, None, None)
    return {f"counts{i}": part.counts.sum(1).astype(np.int32) for i, part in enumerate(parts)}


def joined(parts: Iterable[tuple[Block, Arrays]]) -> Scan:
    """A scan that takes the counts of all blocks, in any order, instead of computing scores."""

    def scan(
        scorer: Scorer, counters: Sequence[Counter], threads: int, tile_shape: tuple[int, int] | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        for block, arrays in parts:
            for i, counter in enumerate(counters):
                first, end = counter.pairs.indptr[list(block.sides(counter.direction)[0])]
                counter.counts[:, 0, first:end] += arrays[f"counts{i}"]

    return scan


def check_targets(targets: Sequence[Targets], shape: tuple[int, int]) -> None:
    """Refuse targets that do not fit scores of a shape, as ``count`` documents."""
    names = [(r.view, r.relevance.direction) for r in targets]
    for view, direction in names:
        if names.count((view, direction)) > 1:
            raise UsageError(f"two targets are called '{view}' ({direction})", fix="give each its own view")
    for r in targets:
        n_query, n_gallery = shape if r.relevance.direction == "i2t" else shape[::-1]
        if len(r.relevance.queries) and not (r.relevance.queries[0] >= 0 and r.relevance.queries[-1] < n_query):
            raise UsageError(f"relevance '{r.relevance.name}' names queries outside 0 to {n_query - 1}")
        if len(r.relevance.items) and not (r.relevance.items.min() >= 0 and r.relevance.items.max() < n_gallery):
            raise UsageError(f"relevance '{r.relevance.name}' names items outside 0 to {n_gallery - 1}")
        if (fold := r.candidates.fold) is not None:
            if tuple(map(len, fold)) != (n_query, n_gallery):
                raise UsageError(f"the folds of '{r.view}' are not those of {n_query} queries and {n_gallery} items")
            if (fold[0][r.relevance.queries[r.relevance.query_of]] != fold[1][r.relevance.items]).any():
                raise UsageError(f"relevance '{r.relevance.name}' has items outside the fold of their query")
        if (excluded := r.excluded) is not None:
            left_out = excluded.queries[excluded.query_of] * n_gallery + excluded.items
            if np.intersect1d(left_out, r.relevance.queries[r.relevance.query_of] * n_gallery + r.relevance.items).size:
                raise UsageError(f"relevance '{r.relevance.name}' has items that '{excluded.name}' excludes")


class Counter:
    """Counts of one group of targets: those with the same direction and folds.

    Attributes:
        direction: side of the queries.
        targets: the judgements.
        fold: the folds of queries and gallery, where only items of the query's fold are candidates; or None.
        pairs: the relevant pairs and their thresholds.
        counts: (3, threads, pair) int32; for every pair the candidates with a higher score, and those with the same
            score and a lower, or a higher, index. The pair itself is not counted.
    """

    def __init__(
        self,
        scorer: Scorer,
        direction: Direction,
        targets: list[Targets],
        threads: int,
        scored: tuple[Int, Float],
    ):
        self.scorer, self.direction, self.targets, self.fold = scorer, direction, targets, targets[0].candidates.fold
        self._set(thresholds(scorer, direction, [r for t in targets for r in t.pairs], self.fold, scored), threads)

    def _set(self, pairs: Thresholds, threads: int) -> None:
        self.pairs = pairs
        self.counts = np.zeros((3, threads, len(pairs.query)), np.int32)  # one row a thread

    def part(self, scorer: Scorer, images: Range, captions: Range, threads: int) -> Counter:
        """A counter of the pairs whose queries are in a range, among the candidates of a range.

        Args:
            scorer: the scores of these images and captions alone.
            images, captions: the ranges.
            threads: as for ``count``.
        """
        part = copy.copy(self)
        part.scorer = scorer
        part._set(self.pairs.part(self.direction, images, captions), threads)
        return part

    def count(self, tile: Array, r0: int, c0: int, part: int) -> None:
        """Count one tile; ``part`` is the row of counts of the calling thread."""
        t, exact, counts = self.pairs, self.scorer.exact_arguments, self.counts[:, part]
        if not len(t.query):
            return
        if self.direction == "i2t":
            kernels.count_rows(tile, r0, c0, t.indptr, t.item, t.exact, t.high, t.low, t.first, t.last, *exact, *counts)
            return
        c1 = c0 + tile.shape[1]
        own = slice(*t.indptr[[c0, c1]])
        # Padded to complete strips with bounds that no score reaches.
        padding = (0, (own.start - own.stop) % kernels.STRIP)
        high, low = (np.pad(bound[own], padding, constant_values=np.inf) for bound in (t.high, t.low))
        # Unsigned columns: numba gathers them without a check for negative indices.
        column = np.pad(t.query[own] - c0, padding, constant_values=c1 - c0 - 1).astype(np.uint32)
        above = np.zeros(len(column), np.int32)
        kernels.count_columns(
            tile, r0, c0, column, np.searchsorted(column, np.arange(c1 - c0 + 1)), high, low, t.item[own], t.exact[own],
            t.first, t.last, *exact, above, *counts[1:, own],
        )  # fmt: skip
        counts[0, own] += above[: own.stop - own.start]

    def placed(self, targets: Targets, gallery: int) -> Int:
        """(3, pair) counts of the relevant items of some targets of this group, among their candidates."""
        relevance, t = targets.relevance, self.pairs
        where = t.locate(relevance, gallery)
        found: Int = self.counts.sum(1)[:, where]
        if targets.excluded is None or not len(targets.excluded.items):
            return found
        return found - np.stack(_excluded(targets.excluded, relevance, t, gallery, t.exact[where]))


def _excluded(excluded: Relevance, relevance: Relevance, t: Thresholds, gallery: int, exact: Float) -> list[Int]:
    """How many excluded items rank above, and tie before and after, each relevant pair."""
    position = np.searchsorted(excluded.queries, relevance.queries).clip(max=len(excluded.queries) - 1)
    has = excluded.queries[position] == relevance.queries
    size = np.where(has, excluded.found[position], 0)[relevance.query_of]
    pair = np.repeat(np.arange(len(size)), size)
    offset = np.arange(len(pair)) - np.repeat(np.cumsum(size) - size, size)
    other = excluded.indptr[position][relevance.query_of][pair] + offset
    score = t.exact[t.locate(excluded, gallery)][other]
    equal = score == exact[pair]
    lower = excluded.items[other] < relevance.items[pair]
    return [
        np.bincount(pair[mask], minlength=len(size)).astype(np.int64)
        for mask in (score > exact[pair], equal & lower, equal & ~lower)
    ]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Distinct (query, item) pairs sorted by query, then item.

    Attributes:
        query: (pair,) int64.
        item: (pair,) int64.
        indptr: (query + 1,) int64, pairs of each query.
        exact: (pair,) float64 canonical score.
        high: (pair,) a tile value above it is certainly above ``exact``.
        low: (pair,) a tile value below it is certainly below ``exact``.
        first, last: (image,) int64, captions ``first[r]:last[r]`` and image r are candidates of each other.
    """

    query: Int
    item: Int
    indptr: Int
    exact: Float
    high: npt.NDArray[Any]
    low: npt.NDArray[Any]
    first: Int
    last: Int

    def locate(self, relevance: Relevance, gallery: int) -> Int:
        """(pair,) positions of a relevance's pairs among these."""
        key = self.query * gallery + self.item
        return np.searchsorted(key, relevance.queries[relevance.query_of] * gallery + relevance.items)

    def part(self, direction: Direction, images: Range, captions: Range) -> Thresholds:
        """The pairs of the queries of a range, as they are compared with the candidates of a range.

        The first image and caption of the ranges become image and caption 0. Relevant items outside the range of the
        candidates are compared as well: their indices are negative or beyond it.
        """
        (own, (offset, _)) = (images, captions) if direction == "i2t" else (captions, images)
        pairs = slice(self.indptr[own[0]], self.indptr[own[1]])
        begin, end = captions
        first, last = (np.clip(x[slice(*images)], begin, end) - begin for x in (self.first, self.last))
        return Thresholds(
            self.query[pairs] - own[0], self.item[pairs] - offset,
            self.indptr[own[0] : own[1] + 1] - self.indptr[own[0]], self.exact[pairs], self.high[pairs],
            self.low[pairs], first, last,
        )  # fmt: skip


def sorted_unique(keys: list[Int]) -> Int:
    """The distinct values of several arrays, ascending."""
    key = np.sort(np.concatenate(keys)) if keys else np.empty(0, np.int64)
    return key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key


def score(scorer: Scorer, relevances: list[Relevance], threads: int) -> tuple[Int, Float]:
    """All pairs of both directions as ascending keys (image * captions + caption), and their canonical scores.

    Most pairs occur in both directions, with the same score.
    """
    width = max(scorer.shape[1], 1)
    key = sorted_unique([_key(r.direction, r.queries[r.query_of], r.items, width) for r in relevances])
    rows, cols = np.divmod(key, width)
    return key, scorer.pairs(rows, cols, threads)


def _key(direction: Direction, query: Int, item: Int, width: int) -> Int:
    return query * width + item if direction == "i2t" else item * width + query


def thresholds(
    scorer: Scorer,
    direction: Direction,
    relevances: list[Relevance],
    fold: tuple[Int, Int] | None,
    scored: tuple[Int, Float],
) -> Thresholds:
    """The pairs of relevances that share their candidates, with bounds on the tile error.

    Args:
        scorer: gives the bounds.
        direction: side of the queries.
        relevances: the pairs.
        fold: restricts the candidates to the query's fold.
        scored: from ``score``.
    """
    n_image, n_caption = scorer.shape
    n_query, n_gallery = (n_image, n_caption) if direction == "i2t" else (n_caption, n_image)
    key = sorted_unique([r.queries[r.query_of] * n_gallery + r.items for r in relevances])
    query, item = np.divmod(key, max(n_gallery, 1))
    exact = scored[1][np.searchsorted(scored[0], _key(direction, query, item, max(n_caption, 1)))]
    slack = scorer.error[0 if direction == "i2t" else 1][query]
    first, last = _range(n_image, n_caption, direction, fold)
    return Thresholds(
        query,
        item,
        np.searchsorted(query, np.arange(n_query + 1)),
        exact,
        _round(exact + slack, scorer.dtype, np.inf),
        _round(exact - slack, scorer.dtype, -np.inf),
        first,
        last,
    )


def _range(n_image: int, n_caption: int, direction: Direction, fold: tuple[Int, Int] | None) -> tuple[Int, Int]:
    if fold is None:
        return np.zeros(n_image, np.int64), np.full(n_image, n_caption)
    image, caption = fold if direction == "i2t" else fold[::-1]
    if (np.diff(caption) < 0).any():
        raise BadInput("the captions of a fold are not contiguous", fix="order captions by their image's fold")
    return np.searchsorted(caption, image), np.searchsorted(caption, image, side="right")


def _round(value: Float, dtype: npt.DTypeLike, towards: float) -> npt.NDArray[Any]:
    """``value`` in the tile's dtype, rounded outwards so that the bound stays certain."""
    out = value.astype(dtype)
    wrong = out < value if towards > 0 else out > value
    return np.where(wrong, np.nextafter(out, np.asarray(towards, dtype)), out)
