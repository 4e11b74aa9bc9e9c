"""Pairs of a query and an item: retrieved lists, relevance judgements and scores of a second stage, by id.

``read_pairs`` reads them from files and from memory; ``place`` finds their queries and items in a split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import BadInput, count_of
from ..options import spell
from ..types import (
    DIRECTIONS,
    NO_INDICES,
    ONE_WAY,
    QUERIES,
    QUERIES_OF,
    Both,
    Direction,
    Float,
    Ids,
    Int,
    Side,
    TestSet,
)
from .ids import MBEIR_BASES, match, numbered
from .kinds import KINDS
from .raw import format_id


@dataclass(frozen=True)
class Kind:
    """What pairs say.

    Attributes:
        records: the kind of records that have them, an entry of ``kinds.KINDS``.
        number: what the number of a pair is called.
        state: how to give the direction.
        needed: a pair without a number is refused.
        listed: the pairs of a query are a ranking, best first.
        bare: numbers mean nothing, pairs may repeat, and queries may be left out, see ``Pairs.queries_from``.
    """

    records: str
    number: str
    state: str
    needed: bool = False
    listed: bool = False
    bare: bool = False

    @property
    def words(self) -> str:
        """What a file holds, for messages."""
        return KINDS[self.records].words

    @property
    def fix(self) -> str:
        """How to write such a file."""
        return KINDS[self.records].fix

    @property
    def layout(self) -> str:
        """How to write them as JSON."""
        return KINDS[self.records].json


JUDGED = Kind(
    "judgements", "grade",
    "write i2t:FILE or t2i:FILE after the name",
)  # fmt: skip
SCORED = Kind(
    "scores", "score",
    "write i2t=FILE or t2i=FILE",
    needed=True,
)  # fmt: skip
LISTS = Kind(
    "lists", "score",
    "write the file as i2t=FILE or t2i=FILE",
    listed=True,
)  # fmt: skip


ONLY, EXCEPT = (  # the items that may be returned for a query, and those that may not
    Kind(name, "number", "write i2t=FILE or t2i=FILE", bare=True) for name in ("candidates", "excluded")
)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a query and an item, as a file has them or placed in a split.

    Attributes:
        kind: what they say.
        direction: of the queries; None if it is not stated.
        queries: (query,) ids, each once, with and without pairs; of a split all of its queries.
        items: (item,) ids, each once; of a split its gallery.
        query: (pair,) int64, the index in ``queries``. The pairs of a list stand together, best first.
        item: (pair,) int64, the index in ``items``; -1 for an item that is not in the gallery of a split.
        given: (given,) int64, the queries that are given, with and without pairs.
        number: (pair,) float64; None if no pair has one.
        rank: (pair,) int64, where a file states ranks.
        where: the file, for messages.
        format: ``trec``, ``eccv-json``, ``table``, ``mapping`` or ``pairs``.
        ended: how many lists end with -1.
        notes: decisions made in reading, one sentence each.
        doubt: why the lists may be in another order; empty if nothing says so.
        of_corpus: its columns are called query and corpus or document, not image and text.
        queries_from: ``all`` if every query has these items, ``rows`` if queries are row numbers, from 0.
    """

    kind: Kind
    direction: Direction | None
    queries: Ids
    items: Ids
    query: Int
    item: Int
    given: Int
    number: Float | None = None
    rank: Int | None = None
    where: str = ""
    format: str = ""
    ended: int = 0
    notes: tuple[str, ...] = ()
    doubt: str = ""
    queries_from: str = ""
    of_corpus: bool = False

    @property
    def grade(self) -> Float:
        """(pair,) float64 numbers, 1 if there are none."""
        return np.ones(len(self.query)) if self.number is None else self.number


def place(pairs: Pairs, test: TestSet, strict: bool = False) -> Pairs:
    """Pairs by the items of a test set, in their direction.

    Args:
        pairs: as read.
        test: the items.
        strict: every query and item has to be of the split. Otherwise queries that it does not have are left out, with
            a note, and items that it does not have stay, with index -1.

    Raises:
        BadInput: unknown ids, or most ids are unknown; two spellings of one id; a direction that is wrong or cannot be
            determined.
    """
    direction = _direction(pairs, test)
    sides = _sides(direction, test)
    (query, how), (item, too) = _matched(pairs, sides)
    notes = list(pairs.notes)
    notes += [f"{side.name} ids are matched {words}" for side, words in zip(sides, (how, too), strict=True) if words]
    lost = pairs.given[query[pairs.given] < 0]
    if strict:
        _refuse_unknown(pairs, query, item, direction, test)
    else:
        _refuse_mostly_unknown(pairs.queries, query, None, sides[0], test.name, pairs.where)
        queries, items = pairs.queries[pairs.query], pairs.items[pairs.item]
        _refuse_mostly_unknown(items, item[pairs.item], queries, sides[1], test.name, pairs.where)
        if len(lost):
            scope = f"of {len(query):,} {_PAST[pairs.kind.number]} queries"
            counted = count_of(len(lost), f"{scope} is", f"{scope} are")
            notes.append(
                f"{test.way(direction)}: {counted} not in the split and left out (first: {pairs.queries[lost[0]]})"
            )
    kept = query[pairs.query] >= 0
    placed = replace(
        pairs, direction=direction, queries=sides[0].ids, items=sides[1].ids,
        query=query[pairs.query][kept], item=item[pairs.item][kept],
        number=None if pairs.number is None else pairs.number[kept],
        rank=None if pairs.rank is None else pairs.rank[kept],
        given=np.unique(query[query >= 0]), notes=tuple(notes),
    )  # fmt: skip
    twice = pairs.kind.listed and len(placed.given) < int((query >= 0).sum())
    merged = any(len(np.unique(at[at >= 0])) < int((at >= 0).sum()) for at in (query, item))  # 7 and 007, NFC and NFD
    found = (placed.query * len(placed.items) + placed.item)[placed.item >= 0] if merged else NO_INDICES
    if twice or len(np.unique(found)) < len(found):
        what = f"has {'a list' if twice else 'a pair'} twice, in two spellings of an id"
        raise BadInput(what, where=pairs.where, fix="give every pair once")
    return placed


_PAST = {"grade": "judged", "score": "scored", "number": "listed"}


def _sides(direction: Direction, test: TestSet) -> Both[Side]:
    """The sides of the queries and of the gallery."""
    return test.sides if direction == DIRECTIONS[0] else test.sides[::-1]


def fits(pairs: Pairs, direction: Direction, test: TestSet) -> float:
    """The share of queries on one side of a test set, times the share of items on the other side."""
    shares = [float((at >= 0).mean()) if len(at) else 0.0 for at, _ in _matched(pairs, _sides(direction, test))]
    return shares[0] * shares[1]


def _matched(pairs: Pairs, sides: Both[Side]) -> list[tuple[Int, str]]:
    """Positions of queries and items on two sides, and the changes made to find them; row numbers are not ids."""
    sides_of_pairs = zip((pairs.queries, pairs.items), sides, MBEIR_BASES, strict=True)
    return [match(ids, side.ids, 0 if side.numbered else base) for ids, side, base in sides_of_pairs]


def _direction(pairs: Pairs, test: TestSet) -> Direction:
    """The direction stated by the pairs, or the direction that their ids fit."""
    found = {direction: fits(pairs, direction, test) for direction in DIRECTIONS}
    if test.one_way and pairs.direction in (None, DIRECTIONS[0], ONE_WAY):
        if found["i2t"] < 0.5 < found["t2i"]:
            what = (
                "queries and corpus look swapped: its queries are ids of the corpus, and its items are ids of queries"
            )
            raise BadInput(what, where=pairs.where, fix="swap the two sets of vectors, or the columns of the pairs")
        return DIRECTIONS[0]
    if pairs.direction == ONE_WAY:
        what = f"is declared as queries and a corpus ({ONE_WAY}), but the data has {test.counts}"
        fix = f"declare i2t or t2i instead of {ONE_WAY}, or give query_ids and corpus_ids with the rows"
        raise BadInput(what, where=pairs.where, fix=fix)
    if pairs.direction is not None:
        other = QUERIES_OF[pairs.direction]
        if found[pairs.direction] < 0.5 < found[other]:
            what = f"the pairs of {pairs.direction} look swapped: their queries and items belong to {other}"
            raise BadInput(what, where=pairs.where, fix=f"pass them as {other}")
        return pairs.direction
    if max(found.values()) < 0.5 or found["i2t"] == found["t2i"]:
        what = (
            f"it is not clear whether the queries are {test.rows.plural} or {test.columns.plural} of split "
            f"'{test.name}': {found['i2t']:.0%} of the ids match as i2t, {found['t2i']:.0%} as t2i"
        )
        fix = f"{pairs.kind.state}, and check the ids"
        if all(side.numbered for side in test.sides) and max(found.values()) < 0.5:
            both = f"{_id_options(QUERIES)} for queries and a corpus, else {_id_options(('image', 'text'))}"
            fix = f"give the ids of the rows: {both}"
        raise BadInput(what, where=pairs.where, fix=fix)
    return "i2t" if found["i2t"] > found["t2i"] else "t2i"


def _id_options(sides: tuple[str, str]) -> str:
    """The options with the ids of rows."""
    return " and ".join(spell(f"{side}_ids", "FILE") for side in sides)


def _refuse_unknown(pairs: Pairs, query: Int, item: Int, direction: Direction, test: TestSet) -> None:
    """Refuse retrieved lists of queries, or with items, that the split does not have."""
    lost = pairs.given[query[pairs.given] < 0]
    if len(lost):
        scope = f"of the {len(pairs.given):,} query ids"
        raise BadInput(
            f"{test.way(direction)}: {count_of(len(lost), f'{scope} is', f'{scope} are')} not in split '{test.name}' "
            f"(first: {format_id(pairs.queries[lost[0]])})",
            where=pairs.where,
            fix=f"leave them out or give the right {spell('split')}",
        )
    unknown = np.flatnonzero(item[pairs.item] < 0)
    if len(unknown):
        scope, first = f"of the {len(pairs.given):,} lists", unknown[0]
        lists = len(np.unique(pairs.query[unknown]))
        named = f"first: item {format_id(pairs.items[pairs.item[first]])} of query {pairs.queries[pairs.query[first]]}"
        raise BadInput(
            f"{test.way(direction)}: {count_of(lists, f'{scope} holds', f'{scope} hold')} items that are not in split "
            f"'{test.name}' ({named})",
            where=pairs.where,
            fix="rank only the items of the split",
        )
    end, _ = match(np.array(["-1"]), _sides(direction, test)[1].ids)
    if pairs.ended and end[0] >= 0:
        what = f"lists end with -1, which is also an id of split '{test.name}'"
        raise BadInput(what, where=pairs.where, fix="leave out the -1 padding")


def _refuse_mostly_unknown(ids: Ids, at: Int, known: Ids | None, side: Side, split: str, where: str) -> None:
    """Raise BadInput if the split lacks most of the ids."""
    lost = int((at < 0).sum())
    if 2 * lost > len(at):
        first = f"{ids[at < 0][0]}{'' if known is None else f' of query {known[at < 0][0]}'}"
        what = f"{lost:,} of {len(at):,} {side.name} ids are not in split '{split}' (first: {first})"
        if (
            side.ids.dtype.kind == "i"
            and ids.dtype.kind == "U"
            and numbered(ids[at < 0], MBEIR_BASES[1]).dtype.kind == "i"
        ):
            what += ", even when read as the numbers of M-BEIR" * (not side.numbered)
        fix = f"use ids such as {side.ids[0]}, or give the right {spell('split')}"
        if side.numbered and side.name in QUERIES:
            fix = f"save the ids with the vectors, or give {_id_options(QUERIES)}: without them ids are rows, from 0"
        raise BadInput(what, where=where, fix=fix)
