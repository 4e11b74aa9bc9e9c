"""Candidates of every query: items that a file or a mapping lists, or all but these.

A query without candidates counts in no metric. A relevant item that is not a candidate counts as not found, and an
excluded one is not relevant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..files.ids import match
from ..files.pairs import EXCEPT, ONLY, Pairs, place
from ..files.read_pairs import read_pairs
from ..log import note, warn
from ..memory import require
from ..options import spell
from ..rank.scorers import Matrix
from ..rank.tops import is_candidate
from ..signature import CANDIDATES, ascending
from ..types import BOTH, DIRECTIONS, Candidates, Int, Tops, Which
from . import top_scored
from .inputs import Input
from .request import SELF_ID, Given, Request

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PAIR_BYTES = 16  # memory for an allowed item of a query


def read(data: Input, request: Request) -> Input:
    """The input limited to the requested candidates; other items are removed from retrieved lists.

    Raises:
        BadInput, MissingPackage: a file cannot be read, or is not of this test set.
        UsageError: ``self`` if ids do not determine the item of a query.
    """
    allowed, only = _stored("candidates", request.candidates, data)
    excluded, without = _stored("exclude", request.exclude, data)
    allowed = [None if one is None or one.nnz == np.prod(one.shape) else one for one in allowed]  # all items: no limit
    only, found = only if any(one is not None for one in allowed) else [], []
    for one, other in zip(allowed, excluded, strict=True):
        found.append(Candidates(allowed=one if one is None or other is None else one > other, excluded=other))
    lists = data.lists and {d: _filtered(top, found[DIRECTIONS.index(d)]) for d, top in data.lists.items()}
    for direction in data.directions:
        among, way = found[DIRECTIONS.index(direction)], data.split.way(direction)
        if among.allowed is not None:
            size = np.diff(among.allowed.indptr)
            if idle := int((size == 0).sum()):
                scope = f"of {len(size):,} queries"
                counted = count_of(idle, f"{scope} has no candidates and is", f"{scope} have no candidates and are")
                warn(f"{way}: {counted} left out of every metric")
        elif among.everything and direction in request.directions:
            note(f"{way}: all items are candidates")
    stages = {**data.stages, **({CANDIDATES: ",".join(only + without)} if only + without else {})}
    return replace(data, candidates=(found[0], found[1]), lists=lists, stages=stages)


def _stored(option: str, given: Sequence[Given], data: Input) -> tuple[list[csr_array | None], list[str]]:
    """The pairs of an option, (query, item) of the rows and of the columns as queries, and words for the signature."""
    from scipy.sparse import csr_array

    found, digest = [None, None], hashlib.sha256()
    kind, word = (ONLY, "only") if option == "candidates" else (EXCEPT, "without")
    for one in given:
        for pairs in [_itself(data)] if one.how == SELF_ID else read_pairs(one.value, one.direction, kind):
            placed = pairs if one.how == SELF_ID else place(_addressed(pairs, data), data.split)
            side, inside = DIRECTIONS.index(placed.direction or "i2t"), placed.item >= 0
            shape = len(placed.queries), len(placed.items)
            query, item = placed.query[inside], placed.item[inside]
            if pairs.queries_from == "all":  # which has one query
                item = np.unique(item)
                require(shape[0] * len(item) * PAIR_BYTES, where=pairs.where)
                rows = np.tile(item, shape[0]), np.arange(shape[0] + 1) * len(item)
                stored = csr_array((np.ones(len(rows[0]), np.bool_), *rows), shape=shape)
            else:
                stored = csr_array((np.ones(len(query), np.bool_), (query, item)), shape=shape)
            stored.sum_duplicates()
            found[side] = stored if found[side] is None else found[side] + stored
            note(*placed.notes)
            if one.how != SELF_ID:
                _note(option, placed, np.diff(stored.indptr), int((~inside).sum()), data)
    if given and all(found[DIRECTIONS.index(direction)] is None for direction in data.directions):
        what = f"{spell(option)} has no pairs of {data.split.way(data.directions[0])}, but that direction is ranked"
        raise BadInput(what, where=data.where, fix="give pairs for the queries that are ranked")
    order = ascending(data.split)
    for side, stored in zip(BOTH, found, strict=True):
        arrays: list[Int] = []
        if stored is not None:
            ordered = stored[order[side]][:, order[1 - side]]
            ordered.sort_indices()
            arrays = [ordered.indptr, ordered.indices]
        for array in arrays:
            digest.update(np.ascontiguousarray(array, "<i8").data)
        digest.update(b"|")
    words = [f"{word}#{digest.hexdigest()[:8]}"] * any(one.how != SELF_ID for one in given)
    return found, words + [SELF_ID for one in given if one.how == SELF_ID]


def _note(option: str, pairs: Pairs, size: Int, lost: int, data: Input) -> None:
    """Note how many items a query has in a file, of (query,) sizes."""
    some = size[pairs.given] if pairs.queries_from != "all" else size
    where = Path(pairs.where).name if pairs.format != "mapping" else "memory"
    least, most = int(some.min()), int(some.max())
    counted = f"{least:,} to " * (least < most) + count_of(most, "item")
    text = f"{spell(option)}: {where}, {counted} per query ({data.split.way(pairs.direction)})"
    note(text + (f"; {count_of(lost, 'pair has an item', 'pairs have items')} outside the gallery" if lost else ""))


def _addressed(pairs: Pairs, data: Input) -> Pairs:
    """Pairs with the ids of queries and a direction, if these follow from the test set."""
    split, only = data.split, data.directions
    direction = pairs.direction or (only[0] if len(only) == 1 else None)
    if pairs.queries_from and direction is None:
        rows, columns = (float((match(pairs.items, side.ids)[0] >= 0).mean()) for side in split.sides)
        direction = DIRECTIONS[rows > columns]
    if direction is None:
        return pairs
    queries, gallery = split.sides if direction == DIRECTIONS[0] else split.sides[::-1]
    if pairs.queries_from == "rows":
        if len(pairs.queries) != len(queries) or data.lists is not None:
            lines = count_of(len(pairs.queries), "row")
            what = f"has {lines} without query ids, but there are {len(queries):,} {queries.plural}"
            raise BadInput(what, where=pairs.where, fix="add a column query_id with their ids")
        order = np.arange(len(queries)) if queries.places is None else np.argsort(queries.places)
        note(f"{Path(pairs.where).name}: row k belongs to the {queries.name} in row k of the input")
        pairs = replace(pairs, queries=queries.ids[order])
    elif pairs.queries_from:
        pairs = replace(pairs, queries=queries.ids[:1])
    if data.judged is not None:  # the gallery is what lists and judgements hold
        known = (match(pairs.items, gallery.ids)[0] >= 0)[pairs.item]
        if not known.any():
            what = f"has no item that is listed or judged (first: {pairs.items[0]})"
            raise BadInput(what, where=pairs.where, fix=f"use ids such as {gallery.ids[0]}")
        pairs = replace(pairs, query=pairs.query[known], item=pairs.item[known])
    return replace(pairs, direction=direction)


def _itself(data: Input) -> Pairs:
    """The pairs of a query and the item that has its id; raises UsageError if ids do not determine it."""
    split, named = data.split, spell("exclude", SELF_ID)
    if len(data.directions) > 1 or not (split.one_way or data.judged is not None):
        what = f"{named} does not apply to {split.rows.plural} and {split.columns.plural}"
        raise UsageError(what, fix=f"give the pairs: {spell('exclude', 'FILE')}")
    (direction,) = data.directions
    queries, gallery = split.sides if direction == DIRECTIONS[0] else split.sides[::-1]
    if queries.numbered or gallery.numbered:
        what = f"{named}: there are no query and item ids, only row numbers"
        raise UsageError(what, fix=f"give {spell('query_ids')} and {spell('corpus_ids')}")
    at, _ = match(queries.ids, gallery.ids)
    query = np.flatnonzero(at >= 0)
    note(f"{named}: {len(query):,} of {len(at):,} queries are also items and are left out of their own lists")
    if not len(query):
        warn(f"{named}: no item has the id of a query")
    return Pairs(EXCEPT, direction, queries.ids, gallery.ids, query, at[query], np.arange(len(queries)))


def _filtered(lists: Tops, among: Candidates) -> Tops:
    """Retrieved lists, candidates only."""
    if among.everything:
        return lists
    return lists.keep(is_candidate(among, lists.first + lists.row, lists.entries.astype(np.int64)))


def note_sentinels(scorer: Matrix, data: Input, sides: Sequence[Which]) -> None:
    """Note a number in a score matrix that stands for excluded pairs, unless these pairs are excluded by an option."""
    if (value := top_scored.sentinel(scorer.scores)) is None:
        return
    equal = scorer.scores == value
    counted = int(np.count_nonzero(equal))
    if any(not data.candidates[side].everything for side in sides):
        orders = scorer.row_order, scorer.column_order
        pairs = [_places(at, order) for at, order in zip(np.nonzero(equal), orders, strict=True)]
        pairs = [at[np.minimum(*pairs) >= 0] for at in pairs]
        counted = max(int(is_candidate(data.candidates[k], pairs[k], pairs[1 - k]).sum()) for k in sides)
    if counted:
        words, leaves = count_of(counted, "score is", "scores are"), f"{spell('exclude', 'FILE')} leaves them out"
        note(f"{words} {value:g}, far below all others: these pairs are ranked last; {leaves}")


def _places(at: Int, order: Int | None) -> Int:
    """The items of rows of a matrix, -1 for rows that are of none."""
    if order is None:
        return at
    found = np.full(max(int(at.max(initial=0)), int(order.max(initial=0))) + 1, -1)
    found[order] = np.arange(len(order))
    return found[at]
