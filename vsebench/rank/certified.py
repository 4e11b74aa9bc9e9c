"""The canonical top of rankings from the float32 lists of an index, each certified to be complete.

An index lists the candidates with the largest float32 scores. These are within a bound ``e`` of the canonical scores
(``exact``), so where ``f`` is the k-th largest float32 score

- the k-th largest canonical score is at least ``f - e``, and
- a candidate with such a canonical score, or a larger one, has a float32 score of at least ``f - 2 e``.

A list that reaches below ``f - 2 e`` therefore has every candidate that is among the k best, with all that tie with the
last of them. Other queries are searched again with lists twice as long, and those that need longer lists than an index
has (``MOST_ITEMS``) are scored with all candidates. The candidates are then scored canonically and sorted.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..errors import UsageError
from ..memory import require
from ..numeric.parallel import Progress, default_threads, in_turn
from ..options import spell
from ..types import DIRECTIONS, Direction, Float, Int, Observation, Tops, Vectors
from .count import Targets, check_targets
from .faiss_index import MOST_ITEMS, FlatIndex, Gpu, first_gpu
from .observe import Depths
from .order import parts_of
from .scorers import Dot, Scorer
from .ties import check_ties
from .tops import ranks

MARGIN = 16  # candidates beyond k that are listed at first
FAST = 100  # deepest lists made on a processor: the heaps of FAISS take longer than all scores from about 200 on
QUERIES = 512  # searched together
SEARCHED, SCORES = 128, 4 << 20  # queries ordered together: FAISS multiplies fewer than 100 one by one, 6 x slower
KEPT = 6  # indexes: a block of queries has the complete gallery, one or two folds, the first captions of these
ENTRY_BYTES = 64  # memory for an item of a list, while it is made

Key = tuple[Scorer, Direction, bytes | None]


def deepest(gallery: int, gpu: bool) -> int:
    """The largest depth of lists from an index of a gallery, on a GPU or on the processor."""
    most = gallery if gallery <= MOST_ITEMS else MOST_ITEMS - MARGIN
    return most if gpu else min(most, FAST)


def certified(index: FlatIndex, queries: Int, k: int) -> Tops:
    """The k best of some queries, and the items that tie with the last of them.

    Args:
        index: of the gallery.
        queries: (query,) int64 indices, ascending.
        k: from 1 to the number of candidates.
    """
    most, width = min(MOST_ITEMS, index.size), min(k + MARGIN, index.size)
    left = np.arange(len(queries))
    apart = left[:0]
    found: list[tuple[Int, Int, Float]] = []  # which query, position and canonical score of what can be among its best
    while len(left) and width <= most:
        scores, items = index.search(queries[left], width)
        error = index.error[queries[left]]
        least = _least(scores[:, k - 1], error)
        complete = ((scores[:, -1] < least) | (width == index.size)) & np.isfinite(least)
        row, column = np.nonzero((scores >= least[:, None]) & complete[:, None])
        positions, values = items[row, column], scores[row, column]
        exact = index.pairs(queries[left[row]], positions)
        # Where an index rounds more than float32 does, or lists too little, its lists certify nothing.
        wrong = np.bincount(row, (positions < 0) | ~(np.abs(values - exact) <= error[row]), len(left)) > 0
        good = ~wrong[row]
        found.append((left[row[good]], positions[good], exact[good]))
        apart, left = np.concatenate([apart, left[wrong]]), left[~complete]
        if width == most:
            break
        width = min(2 * width, most)
    for some in parts_of(np.sort(np.concatenate([left, apart])), index.size):
        scores = index.rows(queries[some])
        kth = np.partition(scores, index.size - k, axis=1)[:, index.size - k]
        row, positions = np.nonzero(scores >= _least(kth, index.error[queries[some]])[:, None])
        found.append((some[row], positions, index.pairs(queries[some[row]], positions)))
    row, positions, exact = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((positions, -exact, row))
    row, positions, exact = row[order], positions[order], exact[order]
    first = np.searchsorted(row, np.arange(len(queries)))
    among = exact >= exact[first + k - 1][row]
    row, positions, exact = row[among], positions[among], exact[among]
    ties = np.zeros(len(row), np.bool_)
    ties[1:] = (np.diff(row) == 0) & (np.diff(exact) == 0)
    return Tops(np.searchsorted(row, np.arange(len(queries) + 1)), positions, ties, index.size, exact, int(queries[0]))


def _least(kth: Vectors, error: Float) -> Float:
    """(query,) the least float32 score of a candidate that can be among the k best."""
    return np.asarray(kth.astype(np.float64) - 2 * error)


def together(gallery: int, k: int) -> int:
    """How many queries are ordered together, see ``order.Order``."""
    return max(1, min(SEARCHED, SCORES // gallery))


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

    def order_of(self, scorer: Scorer, direction: Direction, queries: Int, k: int, gallery: Int | None) -> Tops:
        """The k best of some queries, as ``order.order``; k is at most ``deepest`` of the gallery."""
        assert isinstance(scorer, Dot)
        return certified(self.of(scorer, direction, gallery), queries, k).cut(k)

    def observe(
        self,
        scorer: Scorer,
        targets: Sequence[Targets],
        *,
        needed: Depths,
        ties: str = "index",
        depth: Depths | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> dict[Direction, Observation]:
        """Ranks of the relevant items and the top of every query, as ``observe.observe``, up to a depth.

        A relevant item that scores at least as high as the k-th best candidate of its query has the same rank, and the
        same ties, as in the complete ranking. All others have none: their rank is beyond k under every tie rule.

        Args:
            scorer: inner products of vectors.
            targets: which pairs, among all items.
            needed: per direction, up to which rank relevant items have one; clipped to the gallery.
            ties: tie rule of the ranks, see ``ties.TIES``; not ``expected``.
            depth: per direction, how many items to list for every query; clipped to the gallery.
            threads, progress: as of ``observe.observe``; progress is in blocks of queries.

        Raises:
            UsageError: as ``observe.observe``, or candidates other than all items.
            BadInput: the lists need more memory than is free, or FAISS fails on a GPU.
        """
        check_ties(ties)
        check_targets(targets, scorer.shape)
        assert isinstance(scorer, Dot)
        if any(t.query_fold is not None or t.excluded is not None for t in targets):
            raise UsageError("an index lists the top of complete galleries", fix=f"use {spell('backend', 'numpy')}")
        threads, depth = threads or default_threads(), depth or {}
        found: dict[Direction, Observation] = {}
        for direction in DIRECTIONS:
            own = [t for t in targets if t.relevance.direction == direction]
            queries, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
            listed = min(depth.get(direction, 0), gallery)
            k = max(min(needed.get(direction, 0), gallery), listed)
            if not k or not (own or listed):
                continue
            require(ENTRY_BYTES * k * QUERIES * threads + 16 * queries * k)
            lists = self._lists(self.of(scorer, direction), queries, k, threads, progress)
            known = {t.view: ranks(lists, t.relevance, ties=ties) for t in own}
            known = {view: replace(r, depth=np.full(len(r.relevance.queries), k)) for view, r in known.items()}
            found[direction] = Observation(direction, known, lists.cut(listed) if listed else None)
        return found

    def _lists(self, index: FlatIndex, queries: int, k: int, threads: int, progress: Progress | None) -> Tops:
        """The lists of all queries, of blocks in threads."""
        parts: dict[int, Tops] = {}

        def work(start: int) -> None:
            parts[start] = certified(index, np.arange(start, min(start + QUERIES, queries)), k)

        in_turn(range(0, queries, QUERIES), lambda _: work, threads, progress)
        each = [parts[start] for start in sorted(parts)]
        start = np.concatenate([[0], np.cumsum(np.concatenate([p.depth for p in each]))])
        entries, ties, scores = (
            np.concatenate([getattr(p, name) for p in each]) for name in ("entries", "ties", "scored")
        )
        return Tops(start, entries, ties, index.size, scores)
