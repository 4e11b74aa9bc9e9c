"""Binary relevance judgements from pairs of a query and a positive."""

from __future__ import annotations

import numpy as np

from ...errors import BadInput
from ...types import Direction, Int, Relevance


def from_pairs(name: str, direction: Direction, query: Int, item: Int, skipped: int = 0) -> Relevance:
    """Judgements as compressed rows, one row a query that has positives.

    Args:
        name: of the judgements.
        direction: ``i2t``, ``t2i``, ``i2i`` or ``t2t``.
        query: (pair,) int64 query indices, in any order.
        item: (pair,) int64 gallery indices, or -1 for a positive that is not in the gallery.
        skipped: number of judged queries without any positive.

    Raises:
        BadInput: a negative query, an item below -1, or a pair that occurs twice.
    """
    query, item = np.asarray(query, np.int64), np.asarray(item, np.int64)
    if len(query) and (query.min() < 0 or item.min() < -1):
        raise BadInput(f"judgements '{name}' ({direction}) hold negative indices", fix="count indices from 0")
    queries = np.unique(query)
    missing = np.bincount(np.searchsorted(queries, query[item < 0]), minlength=len(queries))
    query, item = query[item >= 0], item[item >= 0]
    order = np.lexsort((item, query))
    query, item = query[order], item[order]
    repeated = np.flatnonzero((np.diff(query) == 0) & (np.diff(item) == 0))
    if len(repeated):
        what = f"judgements '{name}' ({direction}) list item {item[repeated[0]]} twice for query {query[repeated[0]]}"
        raise BadInput(what, fix="list every positive once")
    found = np.bincount(np.searchsorted(queries, query), minlength=len(queries))
    indptr = np.concatenate([[0], np.cumsum(found)])
    return Relevance(name, direction, queries, indptr, item, missing, skipped)
