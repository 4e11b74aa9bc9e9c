"""Ranks of relevant items, by counting the candidates that score higher, in one pass over tiles of scores.

Queries are rows of a tile; where the columns are queries too, strips of the transposed tile are counted in the same
way. A relevant pair has a canonical score and two thresholds around it; a score between these is compared in float64
(``kernels.count`` lists them, ``Counter.settle`` compares).

Counting compares every relevant item with every candidate of its query. Queries with many relevant items are ordered
instead (``order``), and the places of the relevant ones are read.

A thread multiplies a tile with a single-threaded BLAS and counts in it while it is in the cache. That is faster than
a product on all cores followed by counting on all cores: idle BLAS threads wait actively on busy cores.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..memory import require
from ..numeric.parallel import Progress, default_threads, in_turn
from ..types import EVERYTHING, NONE, Bool, Both, Candidates, Float, Int, Ranks, Relevance
from . import kernels
from .order import PART, REFERENCE, TOGETHER, Order, exact_scores
from .ranks import ranks_from_counts
from .scorers import Range, Scorer, System
from .ties import check_ties
from .tops import place

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
TILE_COLUMNS = 1280
TILE_BYTES = 64 << 20  # of all tiles together
STRIP, STRIP_BYTES = TOGETHER, 4 << 20  # columns of a tile that are transposed together, and their size
OPEN = 1 << 16  # pairs that a thread compares by canonical score together
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


class Consumer(Protocol):
    """What reads the tiles of a pass."""

    def add(self, tile: Array, q0: int, g0: int, part: int) -> None:
        """Read (query, item) scores, of which the first query and item are given, in the thread of this number."""


class Scan(Protocol):
    """One pass over the scores, of a back-end; see ``scan_tiles``."""

    def __call__(
        self, scorer: Scorer, rows: Sequence[Any], columns: Sequence[Any], threads: int,
        tile_shape: tuple[int, int] | None, progress: Progress | None,
    ) -> None: ...  # fmt: skip


def count(
    system: System,
    targets: Both[Sequence[Targets]],
    *,
    ties: str = "index",
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    dense: Order | None = REFERENCE,
    beside: Both[Sequence[Consumer]] = ((), ()),
) -> Both[dict[str, Ranks]]:
    """Rank every relevant pair, in one pass over the scores where both directions have the same.

    Args:
        system: scores of all rows with all columns.
        targets: which pairs of the rows, and of the columns, as queries, among which candidates.
        ties: tie rule of the ranks, see ``ties.TIES``.
        threads: number of threads of the counting kernels; never changes a result.
        tile_shape: (row, column) size of a tile; never changes a result.
        progress: called with (tiles done, tiles in all).
        scan: of another back-end, see ``backends``.
        dense: what orders queries with many relevant items; None counts their pairs too.
        beside: what else reads the tiles of the rows, and of the columns, if ``scan`` is that of numpy.

    Returns:
        The ranks by view.

    Raises:
        UsageError: unknown tie rule, two targets of one name, or a relevant item that is no candidate (it is
            excluded, or in another fold).
        BadInput: the tiles and the counts need more memory than is free.
    """
    check_ties(ties)
    check_targets(system, targets)
    threads = threads or default_threads()
    sides = [_Side(scorer, own, threads, dense) for scorer, own in zip(system.both, targets, strict=True)]
    pairs, ordered = (sum(size) for size in zip(*(one.sizes for one in sides), strict=True))
    require(TILE_BYTES + pairs * (PAIR_BYTES + 12 * threads))
    require((ordered + bool(ordered) * threads * PART) * ORDERED_BYTES)
    rows, columns = (one.counters() for one in sides)
    scan = scan or scan_tiles
    of_rows, of_columns = [*rows, *beside[0]], [*columns, *beside[1]]
    if system.own is None and (rows or columns):
        scan(system.forward, of_rows, of_columns, threads, tile_shape, progress)
    if system.own is not None and rows:
        scan(system.forward, of_rows, [], threads, tile_shape, progress)
    if system.own is not None and columns:
        scan(system.own, of_columns, [], threads, tile_shape, progress)
    return sides[0].ranks(rows, ties), sides[1].ranks(columns, ties)


class _Side:
    """The targets of one direction: those that are counted, and those that are ordered."""

    def __init__(self, scorer: Scorer, targets: Sequence[Targets], threads: int, dense: Order | None):
        self.scorer, self.targets, self.threads, self.dense = scorer, targets, threads, dense or REFERENCE
        many = [_many(t) & (dense is not None) for t in targets]
        self.crowded = [t.of(rows) for t, rows in zip(targets, many, strict=True) if rows.any()]
        self.few = [
            t.of(~rows) if rows.any() else t
            for t, rows in zip(targets, many, strict=True)
            if not (len(rows) and rows.all())
        ]
        self.of_many = {t.view: np.repeat(rows, t.relevance.found) for t, rows in zip(targets, many, strict=True)}

    @property
    def sizes(self) -> tuple[int, int]:
        """How many pairs are counted, and how many are ordered."""
        counted, ordered = (sum(len(r.items) for t in some for r in t.pairs) for some in (self.few, self.crowded))
        return counted, ordered

    def counters(self) -> list[Counter]:
        """Those of the pairs that are counted."""
        return make_counters(self.scorer, self.few, self.threads)

    def ranks(self, counters: Sequence[Counter], ties: str) -> dict[str, Ranks]:
        """By view, from the counts of a pass and from orders."""
        counts = {view: np.zeros((3, len(of)), np.int64) for view, of in self.of_many.items()}
        for view, found in _by_order(self.scorer, self.crowded, self.dense, self.threads).items():
            counts[view][:, self.of_many[view]] = found
        for one in counters:
            for t in one.targets:
                counts[t.view][:, ~self.of_many[t.view]] = one.placed(t)
        in_order = sorted(self.targets, key=lambda t: t.query_fold is not None)  # those of complete galleries first
        return {t.view: ranks_from_counts(t.relevance, counts[t.view], ties, t.query_fold) for t in in_order}


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
    return replace(
        relevance, queries=relevance.queries[rows], indptr=indptr, items=items, missing=relevance.missing[rows],
        without=NONE,
    )  # fmt: skip


def _by_order(scorer: Scorer, dense: Sequence[Targets], order: Order, threads: int) -> dict[str, Int]:
    """(3, pair) counts of some targets, whose queries are ordered once for all of them."""
    found = {t.view: np.zeros((3, len(t.relevance.items)), np.int64) for t in dense}
    if not dense:
        return found
    gallery, queries = scorer.shape[1], np.unique(np.concatenate([t.relevance.queries for t in dense]))
    step = min(order.together(gallery, gallery), max(1, PART // gallery))

    def work(start: int) -> None:
        some = queries[start : start + step]
        lists = order.of(scorer, some, gallery, None)
        for t in dense:
            placed = place(lists, t.relevance, t.candidates, some)
            found[t.view][:, placed.pairs] = placed.counts

    in_turn(range(0, len(queries), step), lambda _: work, threads, None)
    return found


def make_counters(scorer: Scorer, targets: Sequence[Targets], threads: int) -> list[Counter]:
    """One counter for targets whose candidates are all items, and one for each of the others, always in this order."""
    plain = [t for t in targets if t.candidates.fold is None]
    groups = [plain] * bool(plain) + [[t] for t in targets if t.candidates.fold is not None]
    return [Counter(scorer, group, threads) for group in groups]


def tiles(shape: tuple[int, int], itemsize: int, threads: int) -> tuple[int, int]:
    """(row, column) size of a tile, such that the tiles of all threads, and a strip of each, fit a fixed memory."""
    width = min(TILE_COLUMNS, shape[1])
    most = min(TILE_BYTES // threads // (itemsize * width), STRIP_BYTES // (itemsize * STRIP))
    return max(1, min(shape[0], most)), width


def corners(shape: tuple[int, int], height: int, width: int) -> list[tuple[int, int]]:
    """The first row and column of every tile."""
    return [(r, c) for c in range(0, shape[1], width) for r in range(0, shape[0], height)]


def scan_tiles(
    scorer: Scorer, rows: Sequence[Consumer], columns: Sequence[Consumer], threads: int,
    tile_shape: tuple[int, int] | None, progress: Progress | None,
) -> None:  # fmt: skip
    """Give tiles of scores to what reads them: rows as queries, and in transposed strips columns as queries.

    Args:
        scorer: scores of all rows with all columns.
        rows, columns: of the queries that are rows, and of those that are columns.
        threads, tile_shape, progress: as for ``count``.
    """
    n, m = scorer.shape
    height, width = tile_shape or tiles(scorer.shape, np.dtype(scorer.dtype).itemsize, threads)
    height, width = min(height, n), min(width, m)

    def worker(part: int) -> Callable[[tuple[int, int]], None]:
        buffer = np.empty(height * width, scorer.dtype)
        turned = np.empty(height * min(width, STRIP) * bool(columns), scorer.dtype)

        def work(corner: tuple[int, int]) -> None:
            r0, c0 = corner
            r1, c1 = min(r0 + height, n), min(c0 + width, m)
            tile = buffer[: (r1 - r0) * (c1 - c0)].reshape(r1 - r0, c1 - c0)
            scorer.tile(slice(r0, r1), slice(c0, c1), tile)
            for one in rows:
                one.add(tile, r0, c0, part)
            for a in range(0, c1 - c0, STRIP) if columns else ():
                b = min(a + STRIP, c1 - c0)
                strip = turned[: (b - a) * (r1 - r0)].reshape(b - a, r1 - r0)
                kernels.transpose(tile, a, b, strip)
                for one in columns:
                    one.add(strip, c0 + a, r0, part)

        return work

    in_turn(corners(scorer.shape, height, width), worker, threads, progress)


class Block(NamedTuple):
    """Some rows and some columns, each as (first, last + 1): a part of a scan, which other processes share.

    Counts of the pairs of a query are added over the blocks that have candidates of it, in any order.
    """

    rows: Range
    columns: Range


def count_block(scan: Scan, scorer: Scorer, counters: Both[Sequence[Counter]], threads: int, block: Block) -> Arrays:
    """The counts of a block.

    Args:
        scan: of a back-end.
        scorer: scores of all rows with all columns.
        counters: from ``make_counters``, of the rows and of the columns as queries; not changed.
        threads: number of threads.
        block: the rows and columns.

    Returns:
        ``0.0``, ``0.1``, ..., ``1.0``, ... one a counter: (3, pair) int32 of the pairs whose queries are in the block.
    """
    own = scorer.take(slice(*block.rows), slice(*block.columns))
    rows = [one.part(own, block, threads) for one in counters[0]]
    columns = [one.part(own.T, Block(*block[::-1]), threads) for one in counters[1]]
    scan(own, rows, columns, threads, None, None)
    return {
        f"{side}.{i}": part.counts.sum(1).astype(np.int32)
        for side, parts in enumerate((rows, columns))
        for i, part in enumerate(parts)
    }


def joined(parts: Callable[[Scorer], Iterable[tuple[Block, Arrays]]]) -> Scan:
    """A scan that takes the counts of all blocks of a scorer, in any order, instead of computing scores."""

    def scan(
        scorer: Scorer, rows: Sequence[Counter], columns: Sequence[Counter], threads: int,
        tile_shape: tuple[int, int] | None, progress: Progress | None,
    ) -> None:  # fmt: skip
        for block, arrays in parts(scorer):
            for side, counters in enumerate((rows, columns)):
                for i, counter in enumerate(counters):
                    first, end = counter.pairs.indptr[list(block[side])]
                    counter.counts[:, 0, first:end] += arrays[f"{side}.{i}"]

    return scan


def check_targets(system: System, targets: Both[Sequence[Targets]]) -> None:
    """Refuse targets that do not fit the scores, as ``count`` documents."""
    for own, (n_query, n_gallery) in zip(targets, (scorer.shape for scorer in system.both), strict=True):
        views = [t.view for t in own]
        if twice := [view for view in views if views.count(view) > 1]:
            raise UsageError(f"two targets are called '{twice[0]}'", fix="give each its own view")
        for t in own:
            _check(t, n_query, n_gallery)


def _check(t: Targets, n_query: int, n_gallery: int) -> None:
    """Refuse one of the targets."""
    queries, items, name = t.relevance.queries, t.relevance.items, t.relevance.name
    if len(queries) and not (queries[0] >= 0 and queries[-1] < n_query):
        raise UsageError(f"relevance '{name}' names queries outside 0 to {n_query - 1}")
    if len(items) and not (items.min() >= 0 and items.max() < n_gallery):
        raise UsageError(f"relevance '{name}' names items outside 0 to {n_gallery - 1}")
    of_pair = queries[t.relevance.query_of]
    if (fold := t.candidates.fold) is not None:
        if tuple(map(len, fold)) != (n_query, n_gallery):
            raise UsageError(f"the folds of '{t.view}' are not those of {n_query} queries and {n_gallery} items")
        if (fold[0][of_pair] != fold[1][items]).any():
            raise UsageError(f"relevance '{name}' has items outside the fold of their query")
    if (excluded := t.excluded) is not None:
        left_out = excluded.queries[excluded.query_of] * n_gallery + excluded.items
        if np.intersect1d(left_out, of_pair * n_gallery + items).size:
            raise UsageError(f"relevance '{name}' has items that '{excluded.name}' excludes")


class Counter:
    """Counts of one group of targets, those with the same folds, whose queries are the rows of a scorer.

    Attributes:
        scorer: the scores of the queries with the gallery.
        targets: the judgements.
        pairs: the relevant pairs and their thresholds.
        counts: (3, threads, pair) int32; for every pair the candidates with a higher score, and those with the same
            score and a lower, or a higher, index. The pair itself is not counted.
    """

    def __init__(self, scorer: Scorer, targets: list[Targets], threads: int):
        self.scorer, self.targets, self.folds = scorer, targets, targets[0].candidates.fold is not None
        relevances = [r for t in targets for r in t.pairs]
        self._set(thresholds(scorer, relevances, targets[0].candidates.fold, threads), threads)

    def _set(self, pairs: Thresholds, threads: int) -> None:
        self.pairs = pairs
        self.counts = np.zeros((3, threads, len(pairs.query)), np.int32)  # one row a thread

    def part(self, scorer: Scorer, block: Block, threads: int) -> Counter:
        """A counter of the pairs whose queries are rows of a block, among the candidates that are its columns.

        Args:
            scorer: the scores of the block alone.
            block: rows and columns.
            threads: as for ``count``.
        """
        part = copy.copy(self)
        part.scorer = scorer
        part._set(self.pairs.part(block), threads)
        return part

    def add(self, tile: Array, q0: int, g0: int, part: int) -> None:
        """Count (query, item) scores; ``part`` is the row of counts of the calling thread."""
        t, counts = self.pairs, self.counts[:, part]
        if t.indptr[q0] == t.indptr[q0 + len(tile)]:
            return
        at, (pair, other) = np.array([-1, 0, 0]), np.empty((2, OPEN), np.int64)
        while at[0] < len(tile):
            n = kernels.count(tile, q0, g0, at, t.indptr, t.item, t.high, t.low, t.first, t.last, *counts, pair, other)
            if n:
                self.settle(pair[:n], other[:n], counts)

    def settle(self, pair: Int, other: Int, counts: Array) -> Float:
        """Compare the canonical scores of items, (n,) gallery indices, with those of pairs; returns the former.

        ``counts`` is (3, pair), increased.
        """
        t, known = self.pairs, self.pairs.exact[pair]
        value = exact_scores(self.scorer, t.query[pair], other)
        equal, lower = value == known, other < t.item[pair]
        for row, chosen in zip(counts, (value > known, equal & lower, equal & ~lower), strict=True):
            np.add.at(row, pair[chosen], 1)
        return value

    def placed(self, targets: Targets) -> Int:
        """(3, pair) counts of the relevant items of some targets of this group, among their candidates."""
        relevance, t, gallery = targets.relevance, self.pairs, self.scorer.shape[1]
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
        first, last: (query,) int64, the candidates of query q are the items ``first[q]:last[q]``.
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

    def part(self, block: Block) -> Thresholds:
        """The pairs of the queries of a block, as they are compared with its candidates.

        The first row and column of the block become query and item 0. Relevant items outside its columns are compared
        as well: their indices are negative or beyond it.
        """
        (q0, q1), (g0, g1) = block
        pairs, begin = slice(self.indptr[q0], self.indptr[q1]), self.indptr[q0]
        first, last = (np.clip(x[q0:q1], g0, g1) - g0 for x in (self.first, self.last))
        return Thresholds(
            self.query[pairs] - q0, self.item[pairs] - g0, self.indptr[q0 : q1 + 1] - begin, self.exact[pairs],
            self.high[pairs], self.low[pairs], first, last,
        )  # fmt: skip


def thresholds(scorer: Scorer, relevances: list[Relevance], fold: tuple[Int, Int] | None, threads: int) -> Thresholds:
    """The pairs of relevances that share their candidates, with bounds on the tile error.

    Args:
        scorer: of the queries with the gallery.
        relevances: the pairs.
        fold: (query,) and (gallery,); restricts the candidates to the fold of the query.
        threads: number of threads.
    """
    n_query, n_gallery = scorer.shape
    key = np.sort(np.concatenate([r.queries[r.query_of] * n_gallery + r.items for r in relevances]))
    query, item = np.divmod(key[np.diff(key, prepend=-1) > 0], max(n_gallery, 1))
    exact, slack = scorer.pairs(query, item, threads), scorer.error[query]
    first, last = np.zeros(n_query, np.int64), np.full(n_query, n_gallery)
    if fold is not None:
        if (np.diff(fold[1]) < 0).any():
            raise BadInput("the items of a fold are not contiguous", fix="order captions by their image's fold")
        first, last = np.searchsorted(fold[1], fold[0]), np.searchsorted(fold[1], fold[0], side="right")
    high, low = _round(exact + slack, scorer.dtype, np.inf), _round(exact - slack, scorer.dtype, -np.inf)
    return Thresholds(query, item, np.searchsorted(query, np.arange(n_query + 1)), exact, high, low, first, last)


def _round(value: Float, dtype: npt.DTypeLike, towards: float) -> npt.NDArray[Any]:
    """``value`` in the tile's dtype, rounded outwards so that the bound stays certain."""
    out = value.astype(dtype)
    wrong = out < value if towards > 0 else out > value
    return np.where(wrong, np.nextafter(out, np.asarray(towards, dtype)), out)
