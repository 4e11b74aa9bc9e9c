"""Ranks of relevant items, by counting the candidates that score higher, in one pass over tiles of scores.

Queries are rows of a tile; where the columns are queries too, strips of the transposed tile are counted in the same
way. A relevant pair has a canonical score and two thresholds around it; a score between these is compared in float64
(``kernels.count`` lists them, ``Counter.resolve`` compares).

Counting compares every relevant item with every candidate of its query. Queries with many relevant items are ordered
instead (``order``), as are the items that are allowed, and the places of the relevant ones are read.

A thread multiplies a tile with a single-threaded BLAS and counts in it while it is in the cache. That is faster than
a product on all cores followed by counting on all cores: idle BLAS threads wait actively on busy cores.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..memory import require
from ..numeric.parallel import Progress, default_threads, in_turn
from ..types import EVERYTHING, NO_INDICES, Bool, Both, Candidates, Float, Int, Observation, Ranks, Relevance
from . import kernels
from .order import BLOCK_SCORES, GROUP_QUERIES, REFERENCE, Lists, Order, exact_scores, listed, top_lists
from .ranks import ranks_from_counts
from .scorers import Range, Scorer, System
from .ties import check_ties
from .tops import is_candidate, place
from .tops import ranks as ranks_of_lists

Array = npt.NDArray[Any]
TILE_COLUMNS = 1280
TILE_BYTES = 64 << 20  # of all tiles
STRIP_COLUMNS, STRIP_BYTES = GROUP_QUERIES, 4 << 20  # columns of a tile transposed at a time, and their size
BATCH_PAIRS = 1 << 16  # pairs compared by canonical score at a time, by one thread
MAX_COUNTED_PAIRS = 64  # relevant or excluded pairs of a query; with more, the query is ordered
PAIR_BYTES = 100  # memory for a relevant pair, without its counts
ORDERED_BYTES = 48  # memory for an ordered query, and for a score


@dataclass(frozen=True, eq=False)
class Targets:
    """The relevant items of some judgements among some candidates; their ranks are returned for ``view``.

    Excluded positives are removed; positives that are not allowed count as missing.
    """

    view: str
    relevance: Relevance
    candidates: Candidates = EVERYTHING

    def __post_init__(self) -> None:
        for stored in (self.candidates.excluded, self.candidates.allowed):
            if stored is not None:
                _check_range(self.relevance, *stored.shape)
        object.__setattr__(self, "relevance", _reachable(self.relevance, self.candidates))

    @property
    def query_fold(self) -> Int | None:
        """(judged,) int64 fold of every query, or None."""
        return None if self.candidates.fold is None else self.candidates.fold[0][self.relevance.queries]

    def take(self, rows: Bool) -> Targets:
        """The targets of some of the judged queries, (judged,)."""
        return replace(self, relevance=take_queries(self.relevance, rows))


class Consumer(Protocol):
    """What reads the tiles of a pass."""

    def add(self, tile: Array, q0: int, g0: int, part: int) -> None:
        """Read (query, item) scores in the thread ``part``; ``q0`` and ``g0`` are the first query and item."""


class Scan(Protocol):
    """One pass over the scores, of a back-end; see ``scan_tiles``."""

    def __call__(
        self, scorer: Scorer, rows: Sequence[Any], columns: Sequence[Any], threads: int,
        tile_shape: tuple[int, int] | None = None, progress: Progress | None = None, part: Range | None = None,
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
        UsageError: unknown tie rule, two targets of one name, candidates of another size, or a relevant item in another
            fold.
        BadInput: the tiles and the counts need more memory than is free.
    """
    check_ties(ties)
    check_targets(system, targets)
    threads = threads or default_threads()
    sides = [
        _Side(scorer, side_targets, threads, dense) for scorer, side_targets in zip(system.both, targets, strict=True)
    ]
    pairs, ordered = (sum(size) for size in zip(*(one.sizes for one in sides), strict=True))
    require(TILE_BYTES + pairs * (PAIR_BYTES + 12 * threads))
    require((ordered + bool(ordered) * threads * BLOCK_SCORES) * ORDERED_BYTES)
    rows, columns = (one.counters() for one in sides)
    scan = scan or scan_tiles
    of_rows, of_columns = [*rows, *beside[0]], [*columns, *beside[1]]
    if system.separate is None and (rows or columns):
        scan(system.forward, of_rows, of_columns, threads, tile_shape, progress)
    if system.separate is not None and rows:
        scan(system.forward, of_rows, [], threads, tile_shape, progress)
    if system.separate is not None and columns:
        scan(system.separate, of_columns, [], threads, tile_shape, progress)
    return sides[0].ranks(rows, ties), sides[1].ranks(columns, ties)


class _Side:
    """The targets of one direction: those that are counted, and those that are ordered."""

    def __init__(self, scorer: Scorer, targets: Sequence[Targets], threads: int, dense: Order | None):
        self.scorer, self.targets, self.threads, self.dense = scorer, targets, threads, dense or REFERENCE
        many = [_many(t, dense is not None) for t in targets]
        self.crowded = [t.take(rows) for t, rows in zip(targets, many, strict=True) if rows.any()]
        self.few = [
            t.take(~rows) if rows.any() else t
            for t, rows in zip(targets, many, strict=True)
            if not (len(rows) and rows.all())
        ]
        self.of_many = {t.view: np.repeat(rows, t.relevance.found) for t, rows in zip(targets, many, strict=True)}

    @property
    def sizes(self) -> tuple[int, int]:
        """How many pairs are counted, and how many are ordered."""
        counted, ordered = (sum(len(t.relevance.items) for t in some) for some in (self.few, self.crowded))
        return counted, ordered

    def counters(self) -> list[Counter]:
        """Those of the pairs that are counted."""
        return make_counters(self.scorer, self.few, self.threads)

    def ranks(self, counters: Sequence[Counter], ties: str) -> dict[str, Ranks]:
        """By view, from the counts of a pass and from orders."""
        counts = {view: np.zeros((3, len(targets)), np.int64) for view, targets in self.of_many.items()}
        for view, found in _by_order(self.scorer, self.crowded, self.dense, self.threads).items():
            counts[view][:, self.of_many[view]] = found
        for one in counters:
            for t in one.targets:
                counts[t.view][:, ~self.of_many[t.view]] = one.placed(t)
        in_order = sorted(self.targets, key=lambda t: t.query_fold is not None)  # those of complete galleries first
        return {t.view: ranks_from_counts(t.relevance, counts[t.view], ties, t.query_fold) for t in in_order}


def _many(targets: Targets, dense: bool = True) -> Bool:
    """(judged,) whether a query is ordered: for many relevant or excluded items if ``dense``, or to allowed ones."""
    size, excluded = targets.relevance.found, targets.candidates.excluded
    if excluded is not None:
        size = size + np.diff(excluded.indptr)[targets.relevance.queries]
    return np.full(len(size), True) if targets.candidates.allowed is not None else (size > MAX_COUNTED_PAIRS) & dense


def _reachable(relevance: Relevance, candidates: Candidates) -> Relevance:
    """The judgements without positives that are excluded; those that are not allowed are missing."""
    stored = replace(candidates, fold=None)
    if stored.everything:
        return relevance
    query_of, queries = relevance.query_of, relevance.queries
    kept = is_candidate(stored, queries[query_of], relevance.items)
    lost = ~kept & is_candidate(replace(stored, allowed=None), queries[query_of], relevance.items)
    found, away = (np.bincount(query_of[some], minlength=len(queries)) for some in (kept, lost))
    missing = relevance.missing + away
    judged, indptr = found + missing > 0, np.concatenate([[0], np.cumsum(found)])
    return replace(
        relevance, queries=queries[judged], indptr=np.append(indptr[:-1][judged], indptr[-1]),
        items=relevance.items[kept], missing=missing[judged], without=np.union1d(relevance.without, queries[~judged]),
    )  # fmt: skip


def take_queries(relevance: Relevance, rows: Bool) -> Relevance:
    """The judgements of some of the queries; ``rows`` is (judged,)."""
    if rows.all():
        return relevance
    indptr = np.concatenate([[0], np.cumsum(relevance.found[rows])])
    items = relevance.items[rows[relevance.query_of]]
    return replace(
        relevance, queries=relevance.queries[rows], indptr=indptr, items=items, missing=relevance.missing[rows],
        without=NO_INDICES,
    )  # fmt: skip


def _by_order(scorer: Scorer, dense: Sequence[Targets], order: Order, threads: int) -> dict[str, Int]:
    """(3, pair) counts of targets by ordering their queries, once for all queries without listed items."""
    found = {t.view: np.zeros((3, len(t.relevance.items)), np.int64) for t in dense}
    gallery, galleries = scorer.shape[1], [t for t in dense if t.candidates.allowed is None]
    step, jobs = (
        min(order.together(gallery, gallery), max(1, BLOCK_SCORES // gallery)),
        list[tuple[list[Targets], Int]](),
    )
    for group in (galleries, *([t] for t in dense if t.candidates.allowed is not None)):
        queries = np.unique(np.concatenate([NO_INDICES, *(t.relevance.queries for t in group)]))
        jobs += [(group, queries[a : a + step]) for a in range(0, len(queries), step)]

    def work(job: tuple[list[Targets], Int]) -> None:
        group, some = job
        lists = listed(scorer, some, gallery, EVERYTHING if group is galleries else group[0].candidates, order)
        for t in group:
            placed = place(lists, t.relevance, t.candidates if group is galleries else EVERYTHING, some)
            found[t.view][:, placed.pairs] = placed.counts

    in_turn(jobs, lambda _: work, threads, None)
    return found


def make_counters(scorer: Scorer, targets: Sequence[Targets], threads: int) -> list[Counter]:
    """One counter for targets among complete galleries, and one for each in folds, always in this order.

    Targets with allowed items are ordered, not counted.
    """
    counted = [t for t in targets if t.candidates.allowed is None]
    plain = [t for t in counted if t.candidates.fold is None]
    groups = [plain] * bool(plain) + [[t] for t in counted if t.candidates.fold is not None]
    return [Counter(scorer, group, threads) for group in groups]


def tiles(shape: tuple[int, int], itemsize: int, threads: int) -> tuple[int, int]:
    """(row, column) size of a tile, such that the tiles of all threads, and a strip of each, fit a fixed memory."""
    width = min(TILE_COLUMNS, shape[1])
    most = min(TILE_BYTES // threads // (itemsize * width), STRIP_BYTES // (itemsize * STRIP_COLUMNS))
    return max(1, min(shape[0], most)), width


def corners(rows: Range, columns: int, height: int, width: int) -> list[tuple[int, int]]:
    """The first row and column of every tile."""
    return [(r, c) for c in range(0, columns, width) for r in range(*rows, height)]


def scan_tiles(
    scorer: Scorer, rows: Sequence[Consumer], columns: Sequence[Consumer], threads: int,
    tile_shape: tuple[int, int] | None = None, progress: Progress | None = None, part: Range | None = None,
) -> None:  # fmt: skip
    """Give tiles of scores to what reads them: rows as queries, and in transposed strips columns as queries.

    Args:
        scorer: scores of all rows with all columns.
        rows, columns: of the queries that are rows, and of those that are columns.
        threads, tile_shape, progress: as for ``count``.
        part: the rows that are scored, None for all. What reads them has the candidates of these rows complete, and
            of the columns only these candidates: counts of parts add up.
    """
    (first, end), m = part or (0, scorer.shape[0]), scorer.shape[1]
    height, width = tile_shape or tiles((end - first, m), np.dtype(scorer.dtype).itemsize, threads)
    height, width = min(height, end - first), min(width, m)

    def worker(thread: int) -> Callable[[tuple[int, int]], None]:
        buffer = np.empty(height * width, scorer.dtype)
        turned = np.empty(height * min(width, STRIP_COLUMNS) * bool(columns), scorer.dtype)

        def work(corner: tuple[int, int]) -> None:
            r0, c0 = corner
            r1, c1 = min(r0 + height, end), min(c0 + width, m)
            tile = buffer[: (r1 - r0) * (c1 - c0)].reshape(r1 - r0, c1 - c0)
            scorer.tile(slice(r0, r1), slice(c0, c1), tile)
            for one in rows:
                one.add(tile, r0, c0, thread)
            for a in range(0, c1 - c0, STRIP_COLUMNS) if columns else ():
                b = min(a + STRIP_COLUMNS, c1 - c0)
                strip = turned[: (b - a) * (r1 - r0)].reshape(b - a, r1 - r0)
                kernels.transpose(tile, a, b, strip)
                for one in columns:
                    one.add(strip, c0 + a, r0, thread)

        return work

    in_turn(corners((first, end), m, height, width), worker, threads, progress)


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
    _check_range(t.relevance, n_query, n_gallery)
    check_candidates(t.candidates, f"'{t.view}'", n_query, n_gallery)
    if (fold := t.candidates.fold) is not None:
        query = t.relevance.queries[t.relevance.query_of]
        if (fold[0][query] != fold[1][t.relevance.items]).any():
            raise UsageError(f"relevance '{t.relevance.name}' has items outside the fold of their query")


def _check_range(relevance: Relevance, n_query: int, n_gallery: int) -> None:
    queries, items, name = relevance.queries, relevance.items, relevance.name
    if len(queries) and not (queries[0] >= 0 and queries[-1] < n_query):
        worst = int(queries[0] if queries[0] < 0 else queries[-1])
        raise UsageError(f"relevance '{name}' has query {worst}; queries are 0 to {n_query - 1}")
    if len(items) and not (items.min() >= 0 and items.max() < n_gallery):
        worst = int(items.min() if items.min() < 0 else items.max())
        raise UsageError(f"relevance '{name}' has item {worst}; items are 0 to {n_gallery - 1}")


def check_candidates(candidates: Candidates, name: str, n_query: int, n_gallery: int) -> None:
    """Refuse candidates that are not those of so many queries and items."""
    fold = () if candidates.fold is None else (tuple(map(len, candidates.fold)),)
    stored = (x.shape for x in (candidates.excluded, candidates.allowed) if x is not None)
    for shape in (*fold, *stored):
        if shape != (n_query, n_gallery):
            what = f"the candidates of {name} have shape {shape}, the scores {(n_query, n_gallery)}"
            raise UsageError(what, fix="give one row per query and one column per item")


class Counter:
    """Counts of the targets with the same folds; their queries are the rows of a scorer.

    Attributes:
        scorer: the scores of the queries with the gallery.
        targets: the judgements.
        pairs: the relevant pairs and their thresholds.
        counts: (3, threads, pair) int32; for every pair the candidates with a higher score, and those with the same
            score and a lower, or a higher, index. The pair itself is not counted.
    """

    def __init__(self, scorer: Scorer, targets: list[Targets], threads: int):
        self.scorer, self.targets, self.folds = scorer, targets, targets[0].candidates.fold is not None
        relevances = [t.relevance for t in targets]
        self.pairs = thresholds(scorer, relevances, targets[0].candidates.fold, threads)
        self.counts = np.zeros((3, threads, len(self.pairs.query)), np.int32)  # one row a thread

    def fresh(self) -> Counter:
        """A counter of the same pairs that has counted nothing."""
        other = copy.copy(self)
        other.counts = np.zeros(self.counts.shape, np.int32)
        return other

    def arrays(self, pairs: slice) -> list[Array]:
        """The counts of some pairs, for ``join``: (3, pair) int32; (1, pair) if no two scores are equal."""
        found = self.counts[:, :, pairs].sum(1).astype(np.int32)
        return [found if found[1:].any() else found[:1]]

    def join(self, pairs: slice, arrays: Iterator[Array]) -> None:
        """Add what another counter of the same pairs has counted of some of them; takes the next array."""
        found = next(arrays)
        self.counts[: len(found), 0, pairs] += found

    def add(self, tile: Array, q0: int, g0: int, part: int) -> None:
        """Count (query, item) scores; ``part`` is the row of counts of the calling thread."""
        t, counts = self.pairs, self.counts[:, part]
        if t.indptr[q0] == t.indptr[q0 + len(tile)]:
            return
        at, (pair, other) = np.array([-1, 0, 0]), np.empty((2, BATCH_PAIRS), np.int64)
        while at[0] < len(tile):
            n = kernels.count(tile, q0, g0, at, t.indptr, t.item, t.high, t.low, t.first, t.last, *counts, pair, other)
            if n:
                self.resolve(pair[:n], other[:n], counts)

    def resolve(self, pair: Int, other: Int, counts: Array) -> Float:
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
        relevance, excluded = targets.relevance, targets.candidates.excluded
        where = self.pairs.locate(relevance, self.scorer.shape[1])
        found: Int = self.counts.sum(1)[:, where]
        if excluded is None:
            return found
        query, out = relevance.queries[relevance.query_of], np.zeros(self.counts[:, 0].shape, np.int64)
        size = np.diff(excluded.indptr)[query]
        pair, end = np.repeat(np.arange(len(query)), size), np.cumsum(size)
        at = np.arange(len(pair)) + (excluded.indptr[query + 1] - end)[pair]
        item, excluded_query = excluded.indices[at].astype(np.int64), query[pair]
        counted = (self.pairs.first[excluded_query] <= item) & (
            item < self.pairs.last[excluded_query]
        )  # the others are of another fold
        self.resolve(where[pair[counted]], item[counted], out)
        return found - out[:, where]


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


def observe(
    system: System,
    targets: Both[Sequence[Targets]],
    *,
    ties: str = "index",
    depth: Both[int] = (0, 0),
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    order: Order | None = None,
    needed: Both[int] | None = None,
    among: Both[Candidates] = (EVERYTHING, EVERYTHING),
) -> Both[Observation]:
    """Rank every relevant pair, and list the top of every query, of the rows and of the columns.

    Ranks are counted, or read from lists up to a depth: a relevant item that scores at least as high as the last item
    of a list has the same rank, and the same ties, as in the complete ranking. All others have none: their rank is
    beyond that depth under every tie rule.

    Args:
        system, targets, ties, threads, tile_shape, progress, scan: as for ``count``.
        depth: how many items to list for every row and for every column, 0 for none; clipped to the gallery. Lists are
            always in canonical order.
        order: of another back-end.
        needed: up to which rank relevant items have one, in lists of ``order`` (``Order.deepest``) among all items and
            not under the tie rule ``expected``; None where ranks are counted.
        among: the candidates of the lists, which are shorter if a query has fewer; targets have their own.

    Raises:
        UsageError, BadInput: as ``count`` and ``order.top_lists``.
    """
    threads = threads or default_threads()
    sides = system.both
    for candidates, scorer, side in zip(among, sides, ("rows", "columns"), strict=True):
        check_candidates(candidates, f"the {side}", *scorer.shape)
    if needed is not None and all(candidates.everything for candidates in among):
        check_ties(ties)
        check_targets(system, targets)
        each = zip(sides, targets, depth, needed, strict=True)
        rows, columns = (_listed(*one, ties, order or REFERENCE, threads, progress) for one in each)
        return rows, columns
    passed: list[Lists | None] = [None, None]
    if any(targets) and scan in (None, scan_tiles) and order is None:  # lists from the tiles that are counted
        shapes = [tile_shape or tiles(scorer.shape, 4, threads) for scorer in sides]
        queries = shapes[0][0], shapes[0][1] if system.separate is None else shapes[1][0]  # of a tile
        passed = [
            Lists(scorer, k, size) if candidates.everything and Lists.fit(scorer, k) else None
            for scorer, k, size, candidates in zip(sides, depth, queries, among, strict=True)
        ]
    beside_rows, beside_columns = ([] if one is None else [one] for one in passed)
    ranks = count(
        system, targets, ties=ties, threads=threads, tile_shape=tile_shape, progress=progress, scan=scan,
        dense=order or REFERENCE, beside=(beside_rows, beside_columns),
    )  # fmt: skip
    found = []
    for scorer, known, k, one, candidates in zip(sides, ranks, depth, passed, among, strict=True):
        top = one.finish(threads) if one is not None and one.complete else None
        if top is None and k:
            report_progress = None if any(targets) else progress
            top = top_lists(scorer, k, threads=threads, by=order, progress=report_progress, among=candidates)
        found.append(Observation(known, top))
    return found[0], found[1]


def _listed(
    scorer: Scorer, targets: Sequence[Targets], depth: int, needed: int, ties: str, order: Order, threads: int,
    progress: Progress | None,
) -> Observation:  # fmt: skip
    """Ranks in lists, as ``observe``."""
    k = min(max(needed, depth), scorer.shape[1])
    if not k:
        return Observation({})
    top = top_lists(scorer, k, threads=threads, by=order, progress=progress)
    found: dict[str, Ranks] = {}
    for t in targets:
        known = np.full(len(t.relevance.queries), k)
        found[t.view] = replace(ranks_of_lists(top, t.relevance, t.candidates, ties), depth=known)
    return Observation(found, top.cut(depth) if depth else None)
