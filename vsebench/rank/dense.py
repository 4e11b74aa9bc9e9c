"""Ranks of queries with many relevant items, from the order of their complete galleries.

Counting compares every relevant item with every candidate of its query. From some 64 relevant items on it is faster to
order the candidates once, and to read where the relevant ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..numeric.parallel import Progress, in_turn
from ..types import Bool, Candidates, Direction, Int, Relevance, SameFold, Without
from .full_order import Order, OrderOf, order_of
from .scorers import Scorer

MANY_PAIRS = 64  # of a query, relevant or excluded; queries with more are ordered
TOGETHER = 1 << 20  # scores of the queries that are ordered together
BYTES = 48  # memory for one of them

REFERENCE = OrderOf(order_of, lambda gallery: max(1, TOGETHER // gallery))


@dataclass(frozen=True, eq=False)
class Dense:
    """The queries of some judgements that have many relevant items, among some candidates.

    Attributes:
        relevance: the judgements of these queries alone.
        candidates: what may be returned.
        counts: (3, pair) int64; for every pair the candidates with a higher score, and those with the same score and a
            lower, or a higher, index. The pair itself is not counted.
    """

    relevance: Relevance
    candidates: Candidates
    counts: Int


def is_dense(relevance: Relevance, candidates: Candidates) -> Bool:
    """(judged,) whether a query has many relevant or excluded items."""
    size = relevance.found
    if isinstance(candidates, Without):
        size = size + np.diff(_places(candidates.excluded, relevance.queries), axis=1)[:, 0]
    return size > MANY_PAIRS


def taken(relevance: Relevance, rows: Bool) -> Relevance:
    """The judgements of some of the queries; ``rows`` is (judged,)."""
    if rows.all():
        return relevance
    indptr = np.concatenate([[0], np.cumsum(relevance.found[rows])])
    items = relevance.items[rows[relevance.query_of]]
    return Relevance(
        relevance.name, relevance.direction, relevance.queries[rows], indptr, items, relevance.missing[rows]
    )


def count(scorer: Scorer, all_dense: Sequence[Dense], order: OrderOf, threads: int, progress: Progress | None) -> None:
    """Fill the counts of dense queries; those of a direction are ordered once for all judgements.

    Args:
        scorer: scores of all images with all captions.
        all_dense: their counts are filled.
        order: what orders galleries.
        threads: number of threads.
        progress: called with (blocks done, blocks in all).
    """
    blocks = [
        (direction, block, [d for d in all_dense if d.relevance.direction == direction])
        for direction in dict.fromkeys(d.relevance.direction for d in all_dense)
        for block in _blocks(scorer, direction, all_dense, order)
    ]

    def worker(_: int) -> Callable[[tuple[Direction, Int, list[Dense]]], None]:
        def work(block: tuple[Direction, Int, list[Dense]]) -> None:
            direction, queries, own = block
            found = order.of(scorer, direction, queries, scorer.shape[direction == "i2t"], None)
            for dense in own:
                _read(dense, queries, found)

        return work

    in_turn(blocks, worker, threads, progress)


def _blocks(scorer: Scorer, direction: Direction, all_dense: Sequence[Dense], order: OrderOf) -> Iterator[Int]:
    """The distinct queries of a direction, in blocks from ranges of so many that are best ordered together."""
    queries = np.unique(np.concatenate([d.relevance.queries for d in all_dense if d.relevance.direction == direction]))
    step = order.together(scorer.shape[direction == "i2t"])
    at = 0
    while at < len(queries):
        end = int(np.searchsorted(queries, queries[at] + step))
        yield queries[at:end]
        at = end


def _read(dense: Dense, queries: Int, order: Order) -> None:
    """Fill the counts of the pairs of some queries from their order."""
    from . import sort_kernels

    relevance, candidates = dense.relevance, dense.candidates
    gallery = order.items.shape[1]
    fold, fold_of = np.zeros(len(queries), np.int64), np.zeros(gallery, np.int64)
    if isinstance(candidates, SameFold):
        fold, fold_of = candidates.query_fold[queries], candidates.gallery_fold
    left_out, items = np.zeros((len(queries), 2), np.int64), np.zeros(0, np.int64)
    if isinstance(candidates, Without):
        left_out, items = _places(candidates.excluded, queries), candidates.excluded.items
    sort_kernels.place_pairs(
        order.items, order.tied, fold, fold_of, left_out, items, _places(relevance, queries), relevance.items,
        *dense.counts,
    )  # fmt: skip


def _places(relevance: Relevance, queries: Int) -> Int:
    """(query, 2) int64, where the pairs of some queries begin and end; an empty range for those without."""
    at = np.searchsorted(relevance.queries, queries)
    known = at < len(relevance.queries)
    known[known] = relevance.queries[at[known]] == queries[known]
    found = np.zeros((len(queries), 2), np.int64)
    found[known] = np.stack([relevance.indptr[at[known]], relevance.indptr[at[known] + 1]], axis=1)
    return found
