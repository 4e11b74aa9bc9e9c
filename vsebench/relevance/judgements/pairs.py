"""Binary relevance as compressed rows, made from pairs or from lists; and the ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain

import numpy as np

from ...errors import BadInput
from ...types import Direction, Int, Relevance, Split


@lru_cache(maxsize=4)  # a training loop evaluates the same split again and again
def ground_truth(split: Split, direction: Direction) -> Relevance:
    """``gt``: a caption is relevant to the image it was written for, and nothing else is.

    Images without a caption are skipped as queries, and counted.
    """
    caption = np.arange(len(split.image_of))
    image = split.image_of
    query, item = (image, caption) if direction == "i2t" else (caption, image)
    alone = len(split.image_ids) - len(np.unique(image)) if direction == "i2t" else 0
    return from_pairs("gt", direction, query, item, skipped=alone)


def from_pairs(
    name: str, direction: Direction, query: Int, item: Int, missing: Mapping[int, int] | None = None, skipped: int = 0
) -> Relevance:
    """Relevance from pairs in any order.

    Args:
        name: the relevance's name.
        direction: ``i2t`` or ``t2i``.
        query: (pair,) int64 query indices.
        item: (pair,) int64 gallery indices, or -1 for a positive that is not in the gallery.
        missing: further positives that are not in the gallery, by query index.
        skipped: queries covered by the judgements without any positive.

    Raises:
        BadInput: a negative query, an item below -1, or a pair that occurs twice.
    """
    query, item = np.asarray(query, np.int64), np.asarray(item, np.int64)
    if len(query) and (query.min() < 0 or item.min() < -1):
        raise BadInput(f"relevance '{name}' ({direction}) holds negative indices", fix="count indices from 0")
    extra = {q: n for q, n in (missing or {}).items() if n}
    outside = item < 0
    away = np.concatenate([query[outside], np.repeat(_ints(extra), _ints(extra.values()))])
    query, item = query[~outside], item[~outside]
    order = np.lexsort((item, query))
    query, item = query[order], item[order]
    again = np.flatnonzero((np.diff(query) == 0) & (np.diff(item) == 0))
    if len(again):
        raise BadInput(
            f"relevance '{name}' ({direction}) lists item {item[again[0]]} twice for query {query[again[0]]}",
            fix="list every positive once",
        )
    queries = np.union1d(query, away)
    found = np.bincount(np.searchsorted(queries, query), minlength=len(queries))
    gone = np.bincount(np.searchsorted(queries, away), minlength=len(queries))
    indptr = np.concatenate([[0], np.cumsum(found)])
    return Relevance(name, direction, queries, indptr, item, gone, skipped)


def from_lists(
    name: str,
    direction: Direction,
    lists: Mapping[int, Iterable[int]],
    missing: Mapping[int, int] | None = None,
    skipped: int = 0,
) -> Relevance:
    """Relevance from the gallery indices of every query.

    Args:
        name: the relevance's name.
        direction: ``i2t`` or ``t2i``.
        lists: query index -> gallery indices of its positives, in any order.
        missing: query index -> number of positives that are not in the gallery.
        skipped: covered queries without positives that are not in ``lists``; empty lists are added to it.

    Raises:
        BadInput: negative indices, or an item listed twice for a query.
    """
    held = {q: list(items) for q, items in lists.items()}
    sizes = _ints(len(items) for items in held.values())
    query = np.repeat(_ints(held), sizes)
    item = _ints(chain.from_iterable(held.values()))
    if len(item) and item.min() < 0:
        raise BadInput(f"relevance '{name}' ({direction}) holds negative indices", fix="count indices from 0")
    empty = sum(not items and not (missing or {}).get(q) for q, items in held.items())
    return from_pairs(name, direction, query, item, missing, skipped + empty)


def _ints(values: Iterable[int]) -> Int:
    return np.fromiter(values, np.int64)
