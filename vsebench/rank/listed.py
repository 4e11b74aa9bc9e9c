"""Ranks, lists and orders of finite depth from the certified tops of an index (``top_certified``).

A relevant item that scores at least as high as the k-th best candidate of its query has the same rank, and the same
ties, as in the complete ranking. All others have none here: their rank is beyond k under every tie rule.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import UsageError
from ..memory import require
from ..numeric.parallel import Progress, default_threads, in_turn
from ..options import spell
from ..types import DIRECTIONS, UNRANKED, AllItems, Bool, Direction, Int, Observation, Ranks, Relevance, TopK
from .faiss_index import FlatIndex, Gpu, first_gpu
from .full_order import Order
from .observe import Depths, Request, check_requests
from .order import ranks_from_counts
from .scorers import Dot, Scorer
from .ties import check_ties
from .top_certified import Tops, tops

QUERIES = 512  # searched together
SEARCHED, SCORES = 128, 4 << 20  # queries ordered together: FAISS multiplies fewer than 100 one by one, 6 x slower
KEPT = 6  # indexes: a block of queries has the complete gallery, one or two folds, the first captions of these
ENTRY_BYTES = 64  # memory for an item of a list, while it is made

Key = tuple[Scorer, Direction, bytes | None]


def together(gallery: int) -> int:
    """How many queries are ordered together, see ``full_order.OrderOf``."""
    return min(SEARCHED, SCORES // gallery)


class Indexes:
    """The indexes of one evaluation, each made when it is first needed; the ``KEPT`` that were used last are kept.

    Args:
        driver: whether the driver of a GPU is loaded. All indexes are then on the first GPU that FAISS can use.
    """

    def __init__(self, driver: bool = False) -> None:
        self.driver = driver
        self._made: dict[Key, FlatIndex] = {}
        self._lock = threading.Lock()

    def of(self, scorer: Dot, direction: Direction, gallery: Int | None = None) -> FlatIndex:
        """The index of the gallery of a direction; arguments as of ``FlatIndex``."""
        key = scorer, direction, None if gallery is None else gallery.tobytes()
        with self._lock:
            found = self._made.pop(key, None)
            if found is None:
                while len(self._made) >= KEPT:  # before the next one needs their memory
                    del self._made[next(iter(self._made))]
                found = FlatIndex(scorer, direction, gallery, self._gpu)
            self._made[key] = found  # behind the others
            return found

    @cached_property
    def _gpu(self) -> Gpu | None:
        return first_gpu(self.driver)

    def order_of(self, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None) -> Order:
        """The k best of some queries, as ``full_order.order_of``; k is at most ``deepest`` of the gallery."""
        assert isinstance(scorer, Dot)
        items, tied = np.empty((len(queries), k), np.int32), np.zeros((len(queries), k), np.bool_)
        for part in tops(self.of(scorer, direction, gallery), queries, k):
            rows, first = np.searchsorted(queries, part.queries), part.first(k)
            items[rows] = part.positions[first]
            tied[rows, 1:] = np.diff(part.scores[first], axis=1) == 0
        return Order(items, tied)

    def observe(
        self,
        scorer: Scorer,
        requests: Sequence[Request],
        *,
        needed: Depths,
        ties: str = "index",
        depth: Depths | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> dict[Direction, Observation]:
        """Ranks of the relevant items and the top of every query, as ``observe.observe``, up to a depth.

        Args:
            scorer: inner products of vectors.
            requests: which pairs, among all items.
            needed: per direction, up to which rank relevant items have one; clipped to the gallery.
            ties: tie rule of the ranks, see ``order.TIES``; not ``expected``.
            depth: per direction, how many items to list for every query; clipped to the gallery.
            threads, progress: as of ``observe.observe``; progress is in blocks of queries.

        Raises:
            UsageError: as ``observe.observe``, or candidates other than all items.
            BadInput: the lists need more memory than is free, or FAISS fails on a GPU.
        """
        check_ties(ties)
        check_requests(requests, scorer.shape)
        assert isinstance(scorer, Dot)
        if any(not isinstance(r.candidates, AllItems) for r in requests):
            raise UsageError("an index lists the top of complete galleries", fix=f"use {spell('backend', 'numpy')}")
        threads, depth = threads or default_threads(), depth or {}
        works = []
        asked = {*depth, *(r.relevance.direction for r in requests)}
        for direction in (d for d in DIRECTIONS if d in asked):
            n_query, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
            listed = min(depth.get(direction, 0), gallery)
            k = max(min(needed.get(direction, 0), gallery), listed)
            if k:
                require(ENTRY_BYTES * k * QUERIES * threads + 16 * n_query * listed)
                own = [_Pairs.of(r, gallery) for r in requests if r.relevance.direction == direction]
                works.append(_Work(self.of(scorer, direction), n_query, k, own, _room(n_query, listed)))
        _do(works, threads, progress)
        return {w.index.direction: w.observation(ties) for w in works}


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The relevant pairs of a request, and what is known of their ranks.

    Attributes:
        view, relevance: of the request.
        query: (pair,) int64 index of the query, ascending.
        counts: (3, pair) int64, the candidates that score higher, and that tie at a lower and at a higher index.
        listed: (pair,) whether the counts are known; the other pairs score lower than the k-th best.
    """

    view: str
    relevance: Relevance
    query: Int
    counts: Int
    listed: Bool

    @classmethod
    def of(cls, request: Request, gallery: int) -> _Pairs:
        """The pairs of a request, of which nothing is known."""
        relevance = request.relevance
        query, n = relevance.queries[relevance.query_of], len(relevance.items)
        counts = np.zeros((3, n), np.int64)
        counts[0] = gallery
        return cls(request.view, relevance, query, counts, np.zeros(n, np.bool_))

    def add(self, part: Tops, gallery: int) -> None:
        """Count for the pairs that are in the lists of some queries."""
        row = part.row
        new = np.ones(len(row), np.bool_)
        new[1:] = (np.diff(row) != 0) | (np.diff(part.scores) != 0)
        tie = np.append(np.flatnonzero(new), len(row))  # the first entry of every tie
        of_tie = np.cumsum(new) - 1
        by_key = np.argsort(row * gallery + part.positions)
        key = (row * gallery + part.positions)[by_key]
        a, b = np.searchsorted(self.query, (part.queries[0], part.queries[-1] + 1))
        place = np.searchsorted(part.queries, self.query[a:b])
        wanted = np.where(part.queries[place] == self.query[a:b], place * gallery + self.relevance.items[a:b], -1)
        found = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        hit = key[found] == wanted
        entry, pair = by_key[found[hit]], np.flatnonzero(hit) + a
        first, end = tie[of_tie[entry]], tie[of_tie[entry] + 1]
        self.counts[:, pair] = first - part.start[row[entry]], entry - first, end - entry - 1
        self.listed[pair] = True

    def ranks(self, k: int, ties: str) -> Ranks:
        """The ranks up to k under a tie rule."""
        above, before, after = self.counts
        found = ranks_from_counts(self.relevance, above, before, after, ties, None)
        for rank in (found.rank, *(found.extremes or ())):
            rank[~self.listed] = UNRANKED
        return replace(found, depth=np.full(len(self.relevance.queries), k))


def _room(queries: int, k: int) -> TopK | None:
    return TopK(np.empty((queries, k), np.int64), np.empty((queries, k))) if k else None


@dataclass(frozen=True, eq=False)
class _Work:
    """What is listed in one direction: an index, how many queries, the depth, the pairs, and the lists to be filled."""

    index: FlatIndex
    queries: int
    k: int
    pairs: list[_Pairs]
    top: TopK | None

    def do(self, start: int, stop: int) -> None:
        """Queries ``start:stop``."""
        for part in tops(self.index, np.arange(start, stop), self.k):
            if not len(part.queries):
                continue
            for pairs in self.pairs:
                pairs.add(part, self.index.size)
            if self.top is not None:
                first = part.first(self.top.items.shape[1])
                self.top.items[part.queries], self.top.scores[part.queries] = part.positions[first], part.scores[first]

    def observation(self, ties: str) -> Observation:
        """What was found."""
        return Observation(self.index.direction, {p.view: p.ranks(self.k, ties) for p in self.pairs}, self.top)


def _do(works: Sequence[_Work], threads: int, progress: Progress | None) -> None:
    """Blocks of queries in threads."""
    blocks = [(w, start, min(start + QUERIES, w.queries)) for w in works for start in range(0, w.queries, QUERIES)]

    def work(block: tuple[_Work, int, int]) -> None:
        block[0].do(*block[1:])

    in_turn(blocks, lambda _: work, threads, progress)
