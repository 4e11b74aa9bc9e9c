"""One pass over the scores: the ranks of the relevant items, and the top of every ranking.

Images are rows and captions are columns, whatever the direction. The scores are made in tiles; in every tile the
relevant pairs of image queries are counted along its rows, those of caption queries along its columns, and the top
lists of both kinds of queries are updated. Queries with many relevant items are ordered instead (``dense``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..memory import require
from ..numeric.parallel import Progress, default_threads
from ..types import (
    DIRECTIONS,
    AllItems,
    Candidates,
    Direction,
    Float,
    Int,
    Observation,
    Ranks,
    Relevance,
    SameFold,
    TopK,
    Without,
)
from . import dense, kernels, thresholds
from .dense import Dense
from .full_order import MANY, OrderOf
from .order import ranks_from_counts
from .scorers import Dot, Range, Scorer, part_of
from .select import Selector, buffer_bytes, scores_of
from .stream import TILE_BYTES, stream
from .thresholds import Thresholds
from .ties import check_ties

Array = npt.NDArray[Any]
PAIR_BYTES = 100  # memory for a relevant pair, without its counts
ORDERED_BYTES = 48  # the same of a query that is ordered
ENTRY_BYTES = 16  # of a list: an index and a score
LISTS_BYTES = 512 << 20  # of the buffers from which the lists of some queries are made together


@dataclass(frozen=True, eq=False)
class Request:
    """Ranks of the relevant items of some judgements among some candidates, returned under the name ``view``."""

    view: str
    relevance: Relevance
    candidates: Candidates = field(default_factory=AllItems)


Depths = Mapping[Direction, int]
Scan = Callable[
    [Scorer, Sequence["Counter"], Depths, int, "tuple[int, int] | None", "Progress | None"], dict[Direction, TopK]
]


def observe(
    scorer: Scorer,
    requests: Sequence[Request],
    *,
    ties: str = "index",
    depth: Depths | None = None,
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    order: OrderOf | None = dense.REFERENCE,
) -> dict[Direction, Observation]:
    """Rank every relevant pair, and list the top of every query, in one pass over the scores.

    Args:
        scorer: scores of all images with all captions.
        requests: which pairs, among which candidates.
        ties: tie rule of the ranks, see ``order.TIES``. Lists are always in canonical order.
        depth: per direction, how many items to list for every query; clipped to the gallery.
        threads: number of threads of the counting kernels; never changes a result.
        tile_shape: (image, caption) size of a tile; never changes a result.
        progress: called with (tiles done, tiles in all).
        scan: of another back-end, see ``backends``.
        order: what orders queries with many relevant items; None counts their pairs too.

    Returns:
        One observation per requested direction.

    Raises:
        UsageError: unknown tie rule, a depth below 1, two requests of one name, or a relevant item that is no
            candidate (it is excluded, or in another fold).
        BadInput: the tiles and the counts need more memory than is free.
    """
    check_ties(ties)
    check_requests(requests, scorer.shape)
    threads = threads or default_threads()
    depth = depth or {}
    n_image, n_caption = scorer.shape
    gallery: dict[Direction, int] = {"i2t": n_caption, "t2i": n_image}
    many = {} if order is None else _many(requests)
    counted = _few(requests, many)
    pairs = sum(len(r.items) for q in counted for r in _relevances(q))
    ordered = sum(len(d.relevance.items) for d in many.values())
    entries = sum(min(k, gallery[d]) * (n_image if d == "i2t" else n_caption) for d, k in depth.items())
    require(TILE_BYTES + pairs * (PAIR_BYTES + 12 * threads) + entries * ENTRY_BYTES)
    require(ordered * ORDERED_BYTES + bool(many) * threads * dense.TOGETHER * dense.BYTES)
    counters = make_counters(scorer, counted, threads)
    lists: dict[Direction, TopK] = {}
    if many:
        dense.count(scorer, list(many.values()), order or dense.REFERENCE, threads, None if counters else progress)
    if counters or depth:
        lists = (scan or in_memory(scan_tiles))(scorer, counters, depth, threads, tile_shape, progress)
    found: dict[Direction, Observation] = {}
    of = {(r.view, counter.direction): (counter, r) for counter in counters for r in counter.requests}
    for direction in DIRECTIONS:
        own = [r for side, group, _ in _groups(requests) if side == direction for r in group]
        parts = {r.view: (of.get((r.view, direction)), many.get((r.view, direction))) for r in own}
        ranks = {r.view: _ranks(r, *parts[r.view], gallery[direction], ties) for r in own}
        top = lists.get(direction)
        if ranks or top:
            found[direction] = Observation(direction, ranks, top)
    return found


def _many(requests: Sequence[Request]) -> dict[tuple[str, Direction], Dense]:
    """By view and direction, the queries with many relevant or excluded items."""
    found = {}
    for r in requests:
        rows = dense.is_dense(r.relevance, r.candidates)
        if rows.any():
            relevance = dense.taken(r.relevance, rows)
            counts = np.zeros((3, len(relevance.items)), np.int64)
            found[r.view, relevance.direction] = Dense(relevance, r.candidates, counts)
    return found


def _few(requests: Sequence[Request], many: Mapping[tuple[str, Direction], Dense]) -> list[Request]:
    """The requests without these queries, and without those of which none is left."""
    found = []
    for r in requests:
        own = many.get((r.view, r.relevance.direction))
        if own is None:
            found.append(r)
            continue
        relevance, candidates = _without(r.relevance, own.relevance.queries), r.candidates
        if isinstance(candidates, Without):
            candidates = Without(_without(candidates.excluded, own.relevance.queries))
        if len(relevance.queries):
            found.append(Request(r.view, relevance, candidates))
    return found


def _without(relevance: Relevance, queries: Int) -> Relevance:
    return dense.taken(relevance, ~np.isin(relevance.queries, queries))


def _ranks(
    request: Request, counted: tuple[Counter, Request] | None, many: Dense | None, gallery: int, ties: str
) -> Ranks:
    """Ranks of the relevant items of a request, from what was counted and what was ordered, under a tie rule."""
    relevance, candidates = request.relevance, request.candidates
    fold = candidates.query_fold[relevance.queries] if isinstance(candidates, SameFold) else None
    if many is None:
        assert counted is not None
        return ranks_from_counts(relevance, *counted[0].placed(counted[1], gallery), ties, fold)
    counts = many.counts
    if counted is not None:
        of_many = np.isin(relevance.queries, many.relevance.queries)[relevance.query_of]
        counts = np.empty((3, len(of_many)), np.int64)
        counts[:, of_many] = many.counts
        counts[:, ~of_many] = counted[0].placed(counted[1], gallery)
    above, before, after = counts
    return ranks_from_counts(relevance, above, before, after, ties, fold)


def make_counters(scorer: Scorer, requests: Sequence[Request], threads: int) -> list[Counter]:
    """One counter for requests that share a direction and a range of candidates, always in the same order."""
    scored = thresholds.score(scorer, [r for q in requests for r in _relevances(q)], threads)
    return [Counter(scorer, d, group, fold, threads, scored) for d, group, fold in _groups(requests)]


def scan_tiles(
    scorer: Scorer,
    counters: Sequence[Counter],
    depth: Depths,
    threads: int,
    tile_shape: tuple[int, int] | None,
    progress: Progress | None,
) -> dict[Direction, TopK]:
    """Add to the counts of ``counters``, and list the top of every query, from tiles of numpy and kernels of numba.

    Args:
        scorer: scores of all images with all captions.
        counters: the relevant pairs; their ``counts`` are increased.
        depth: per direction, how many items to list for every query.
        threads, tile_shape, progress: as for ``observe``.
    """
    entries = sum(min(k, scorer.shape[d == "i2t"]) * scorer.shape[d == "t2i"] for d, k in depth.items())
    rounded = isinstance(scorer, Dot) and MANY * entries > scorer.shape[0] * scorer.shape[1]
    selectors = {d: Selector(scorer, d, k, rounded) for d, k in depth.items()}

    def observe_tile(tile: Array, r0: int, c0: int, part: int) -> None:
        for counter in counters:
            counter.count(tile, r0, c0, part)
        for selector in selectors.values():
            selector.add(tile, r0, c0)

    stream(scorer, observe_tile, threads, tile_shape, progress, rounded)
    return {d: selector.finish(threads) for d, selector in selectors.items()}


def in_memory(scan: Scan) -> Scan:
    """The same scan, which lists some queries at a time where the buffers of all take more than ``LISTS_BYTES``."""

    def in_parts(
        scorer: Scorer,
        counters: Sequence[Counter],
        depth: Depths,
        threads: int,
        tile_shape: tuple[int, int] | None,
        progress: Progress | None,
    ) -> dict[Direction, TopK]:
        parts = {d: _parts(scorer, d, k) for d, k in depth.items()}
        at_once = {d: k for d, k in depth.items() if len(parts[d]) == 1}
        lists: dict[Direction, TopK] = {}
        if counters or at_once:
            lists = scan(scorer, counters, at_once, threads, tile_shape, progress)
        for d in depth.keys() - at_once.keys():
            each = [scan(part_of(scorer, d, p), [], {d: depth[d]}, threads, tile_shape, progress)[d] for p in parts[d]]
            lists[d] = TopK(np.concatenate([top.items for top in each]), scores_of(scorer, d, threads))
        return lists

    return in_parts


def _parts(scorer: Scorer, direction: Direction, k: int) -> list[tuple[int, int]]:
    """Ranges of queries whose lists are made together, so that their buffers take at most ``LISTS_BYTES``."""
    queries, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
    each = buffer_bytes(k, gallery, np.dtype(scorer.dtype).itemsize)
    most = max(1, LISTS_BYTES // each)
    n = -(-queries // most)
    return [(queries * i // n, queries * (i + 1) // n) for i in range(n)]


def check_requests(requests: Sequence[Request], shape: tuple[int, int]) -> None:
    """Refuse requests that do not fit scores of a shape, as ``observe`` documents."""
    names = [(r.view, r.relevance.direction) for r in requests]
    for view, direction in names:
        if names.count((view, direction)) > 1:
            raise UsageError(f"two requests are called '{view}' ({direction})", fix="give each its own view")
    for r in requests:
        n_query, n_gallery = shape if r.relevance.direction == "i2t" else shape[::-1]
        if len(r.relevance.queries) and not (r.relevance.queries[0] >= 0 and r.relevance.queries[-1] < n_query):
            raise UsageError(f"relevance '{r.relevance.name}' names queries outside 0 to {n_query - 1}")
        if len(r.relevance.items) and not (r.relevance.items.min() >= 0 and r.relevance.items.max() < n_gallery):
            raise UsageError(f"relevance '{r.relevance.name}' names items outside 0 to {n_gallery - 1}")
        if isinstance(r.candidates, SameFold):
            if (len(r.candidates.query_fold), len(r.candidates.gallery_fold)) != (n_query, n_gallery):
                raise UsageError(f"the folds of '{r.view}' are not those of {n_query} queries and {n_gallery} items")
            own = r.candidates.query_fold[r.relevance.queries[r.relevance.query_of]]
            if (own != r.candidates.gallery_fold[r.relevance.items]).any():
                raise UsageError(f"relevance '{r.relevance.name}' has items outside the fold of their query")

        if isinstance(r.candidates, Without):
            excluded = r.candidates.excluded
            left_out = excluded.queries[excluded.query_of] * n_gallery + excluded.items
            if np.intersect1d(left_out, r.relevance.queries[r.relevance.query_of] * n_gallery + r.relevance.items).size:
                raise UsageError(f"relevance '{r.relevance.name}' has items that '{excluded.name}' excludes")


def _relevances(request: Request) -> list[Relevance]:
    """The relevant items, and those that are no candidates: their pairs need a score."""
    excluded = [request.candidates.excluded] if isinstance(request.candidates, Without) else []
    return [request.relevance, *excluded]


def _groups(requests: Sequence[Request]) -> list[tuple[Direction, list[Request], SameFold | None]]:
    """Requests that share a direction and a range of candidates are counted together."""
    groups: list[tuple[Direction, list[Request], SameFold | None]] = []
    for direction in DIRECTIONS:
        own = [r for r in requests if r.relevance.direction == direction]
        plain = [r for r in own if not isinstance(r.candidates, SameFold)]
        if plain:
            groups.append((direction, plain, None))
        for r in own:
            if isinstance(r.candidates, SameFold):
                groups.append((direction, [r], r.candidates))
    return groups


class Counter:
    """Counts of one group of requests: those with the same direction and candidates.

    Attributes:
        direction: side of the queries.
        requests: the judgements.
        fold: the folds of queries and gallery, where only items of the query's fold are candidates; or None.
        pairs: the relevant pairs and their thresholds.
        counts: (3, threads, pair) int32; for every pair the candidates with a higher score, and those with the same
            score and a lower, or a higher, index. The pair itself is not counted.
    """

    def __init__(
        self,
        scorer: Scorer,
        direction: Direction,
        requests: list[Request],
        fold: SameFold | None,
        threads: int,
        scored: tuple[Int, Float],
    ):
        self.scorer, self.direction, self.requests, self.fold = scorer, direction, requests, fold
        relevances = [r for request in requests for r in _relevances(request)]
        self._set(thresholds.make(scorer, direction, relevances, fold, scored), threads)

    def _set(self, pairs: Thresholds, threads: int) -> None:
        self.pairs = pairs
        self.counts = np.zeros((3, threads, len(pairs.query)), np.int32)  # one row a thread
        # The first pairs of all queries are counted together; caption queries rarely have further pairs.
        is_first = np.ones(len(self.pairs.query), bool)
        is_first[1:] = np.diff(self.pairs.query) != 0
        self.extra = np.flatnonzero(~is_first)
        n_query = len(self.pairs.indptr) - 1
        self.lead = np.where(np.diff(self.pairs.indptr) > 0, self.pairs.indptr[:-1], -1)[:n_query]

    def part(self, scorer: Scorer, images: Range, captions: Range, threads: int) -> Counter:
        """A counter of the pairs whose queries are in a range, among the candidates of a range.

        Args:
            scorer: the scores of these images and captions alone.
            images, captions: the ranges.
            threads: as for ``observe``.
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
        # Unsigned columns: numba gathers them without a check for negative indices.
        lead, lead_col = self.lead[c0:c1], np.arange(c1 - c0, dtype=np.uint32)
        lead_high, lead_low = (np.where(lead >= 0, bound[lead], np.inf).astype(tile.dtype) for bound in (t.high, t.low))
        a, b = np.searchsorted(t.query[self.extra], (c0, c1))
        # Padded to complete strips with bounds that no score reaches.
        extra = np.pad(self.extra[a:b], (0, (a - b) % kernels.STRIP), constant_values=-1)
        extra_col = np.where(extra >= 0, t.query[extra] - c0, c1 - c0 - 1).astype(np.uint32)
        extra_high, extra_low = (
            np.where(extra >= 0, bound[extra], np.inf).astype(tile.dtype) for bound in (t.high, t.low)
        )
        lead_over, extra_over = np.zeros(len(lead), np.int32), np.zeros(len(extra), np.int32)
        kernels.count_columns(
            tile, r0, c0, lead, lead_col, lead_high, lead_low, extra, extra_col,
            np.searchsorted(extra_col, np.arange(c1 - c0 + 1)), extra_high, extra_low, t.item, t.exact, t.first,
            t.last, *exact, lead_over, extra_over, *counts[1:],
        )  # fmt: skip
        for pair, over in ((lead, lead_over), (extra, extra_over)):
            counts[0, pair[pair >= 0]] += over[pair >= 0]

    def placed(self, request: Request, gallery: int) -> tuple[Int, Int, Int]:
        """The counts of the relevant items of a request of this group, among its candidates."""
        relevance, t = request.relevance, self.pairs
        where = t.locate(relevance, gallery)
        above, before, after = self.counts.sum(1)[:, where]
        if isinstance(request.candidates, Without):
            removed = _excluded(request.candidates.excluded, relevance, t, gallery, t.exact[where])
            above, before, after = above - removed[0], before - removed[1], after - removed[2]
        return above, before, after


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
