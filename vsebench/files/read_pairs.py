"""Reads pairs of a query and an item, of files and of values in memory: one reader for every use of them.

Files are lines of TREC (runs and qrels), JSON, or tables with a row a pair, plain or gzip; in memory they are mappings
from queries to items, and lists of pairs.
"""

from __future__ import annotations

import io
import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import is_path
from ..errors import BadInput, UsageError, count_of
from ..options import spell
from ..types import DIRECTIONS, Direction, Float, Ids, Int, Modality
from .columns import ID_COLUMNS, SIDES, missing, read_table
from .ids import as_ids, id_array
from .pairs import JUDGED, Kind, Pairs
from .regular import reading
from .sniff import expect, sniff
from .tables import table_header
from .textfile import read_text

Order = Literal["score", "rank"]  # what orders the items of retrieved lists that have both
Row = tuple[int, Any, Any, Any, Any]  # the place in the source, query, item, number and rank, None without

# What --run, --judgements and --rerank read, for the documentation.
FORMS: dict[str, str] = {
    "trec": "lines of TREC: runs, `query Q0 item rank score tag`, qrels, `query 0 item grade`, or `query item number`;"
    " of judgements also `query item`",
    "eccv-json": "JSON `{query: [items]}`, best first and without ties, or `{query: {item: number}}`; of both"
    " directions under `i2t` and `t2i`; or a list of `[query, item, number]`",
    "table": "CSV, TSV, JSON lines or parquet with a row a pair: `query` and `item`, or `image_id` and `caption_id`,"
    " and a number; of judgements also lists of ids, `item_ids` or `image_ids`",
}
QUERY_COLUMNS = ("query", "query_id", "query-id", "qid")
ITEM_COLUMNS = ("item", "item_id", "doc", "doc_id", "docid", "corpus-id", "corpus_id", "document_id")
# Columns with a list of ids in each row, of judgements, and the column of one id that each is read as.
LISTED = {
    "image_ids": "image_id", "img_ids": "image_id", "video_ids": "image_id", "caption_ids": "caption_id",
    "text_ids": "text_id", "item_ids": "item_id", "doc_ids": "doc_id",
}  # fmt: skip
CAPTION_COLUMNS = ("caption", "text", "sentence")  # of ids, in a table that has no other ids of captions
# Columns of a table of pairs that say nothing of how well a pair fits.
OTHER_COLUMNS = (
    "", "unnamed: 0", "index", "caption", "text", "sentence", "raw", "comment", "annotator", "annotator_id", "worker",
    "worker_id", "rater", "date", "time", "timestamp", "split", "url", "source", "lang", "language", "iter", "q0",
    "iteration", "rank", "query_text",
)  # fmt: skip
END = "-1"  # what an index puts behind the last item that it has found
_BOOLEANS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class _Source:
    """What is read: a file or a value, and how.

    Attributes:
        where: the file, for messages.
        kind: what its pairs say.
        order: what orders the items of lists that have scores and ranks.
        both: the direction of a table with ids of images and of captions, where none is stated.
        format: of the pairs.
        at: what the place of a pair is, for messages.
        same: what follows the score in the order of items without ranks.
    """

    where: str
    kind: Kind
    order: Order
    both: Direction | None
    format: str = "mapping"
    at: str = "place"
    same: str = "lists of query, item and score are ordered by score, then by line"


class _Columns(NamedTuple):
    """(pair,) columns of the rows that are read; numbers are 1 and ranks the place of the row where there are none."""

    query: Int
    item: Int
    line: Int
    rank: Int
    number: Float

    def take(self, rows: npt.NDArray[Any]) -> _Columns:
        return _Columns(*(column[rows] for column in self))


class _Lists(NamedTuple):
    """Pairs as columns of indices, with the names that these are of; whether there are numbers and ranks."""

    columns: _Columns
    queries: list[str]
    items: list[str]
    numbered: bool
    ranked: bool
    ended: int = 0
    notes: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def end(self) -> int:
        """The index of the item -1, itself -1 without."""
        return self.items.index(END) if END in self.items else -1


def read_pairs(
    given: Any, direction: Direction | None, kind: Kind = JUDGED, *, where: str = "memory", order: Order = "score",
    both: Direction | None = "i2t",
) -> list[Pairs]:  # fmt: skip
    """The pairs of a file or of a value in memory, those of each direction together.

    Items of retrieved lists are ordered by descending score, equal scores by rank, then by line. Where the scores of
    most queries ascend with the rank, they are likely distances: a doubt says so. An item -1 at the end of a list ends
    it, as lists of an approximate index do.

    Args:
        given: a path; a mapping from queries to items or to items with numbers, or of such mappings by direction; a
            list of (query, item) or (query, item, number), or of mappings with these fields.
        direction: of the queries; None where the file or its ids say it.
        kind: what the pairs say.
        where: of a value in memory, for messages.
        order: ``rank`` orders lists by the rank column alone.
        both: the direction in which a table with ids of images and of captions is read, where none is stated.

    Raises:
        BadInput: unreadable or malformed, a pair that occurs twice, a number that is not finite, -1 before other items,
            or no pair.
        UsageError: the order ``rank`` for lists without ranks.
        MissingPackage: parquet without pyarrow.
    """
    if not is_path(given):
        return _of_value(given, direction, _Source(where, kind, order, both))
    path = Path(given)
    found, source = sniff(path), _Source(str(path), kind, order, both)
    if found.name not in ("text", "json", "gzip"):
        expect(path, found, found.name == "parquet", kind.words, kind.fix)
        return [_of_table(_table(path), direction, source)]
    text = read_text(path, kind.words)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInput(f"line {line} holds binary data", where=path, fix=kind.fix)
    if text.lstrip()[:1] in ("{", "["):
        if not _is_rows(text):
            return _of_value(_json(text, source), direction, replace(source, format="eccv-json"))
    elif kind is JUDGED and (two := _two_columns(text)):
        return [_collect(two, direction, replace(source, format="trec", at="line"))]
    elif not _is_table(text, kind):
        source = replace(source, format="trec", at="line")
        return [_collect(_lines(text, source), direction, source)]
    return [_of_table(_table(path), direction, source)]


def _of_value(given: Any, direction: Direction | None, source: _Source) -> list[Pairs]:
    """The pairs of a value, see ``read_pairs``."""
    kind = source.kind
    if isinstance(given, (list, tuple)):
        if given and all(isinstance(row, Mapping) for row in given):
            names = dict.fromkeys(name for row in given for name in row)
            return [_of_table({name: [row.get(name) for row in given] for name in names}, direction, source)]
        return [_collect(_triples(given, source), direction, source)]
    if not isinstance(given, Mapping) or not given:
        what = f"holds no {kind.words}" if given == {} else f"is {given!r:.40}, not a mapping of queries to items"
        raise BadInput(what, where=source.where, fix=kind.layout)
    stated: list[Direction] = [d for d in DIRECTIONS if d in given]
    if not stated:
        source = replace(source, same="lists of items with scores are ordered by score, then as they stand")
        return [_collect(_of_queries(given, source), direction, source, given)]
    if extra := [key for key in given if key not in DIRECTIONS]:
        raise BadInput(f"has the key '{extra[0]}' beside i2t and t2i", where=source.where, fix=kind.layout)
    if direction is not None and stated != [direction]:
        what = f"states that it holds {' and '.join(stated)}, but was given as {direction}"
        raise BadInput(what, where=source.where, fix=f"leave out {direction}")
    found = [p for d in stated for p in _of_value(given[d], d, replace(source, where=f"{source.where}: {d}"))]
    return [replace(pairs, where=source.where) for pairs in found]


def _collect(rows: Iterable[Row], direction: Direction | None, source: _Source, every: Iterable[Any] = ()) -> Pairs:
    """The pairs of some rows, and the queries of ``every`` without any; lists in their order."""
    kind, most = source.kind, float(np.finfo(np.float64 if source.kind.listed else np.float32).max)
    queries, items = {_name(query) or "": i for i, query in enumerate(every)}, dict[str, int]()
    query, item, line, rank, number = array("q"), array("q"), array("q"), array("q"), array("d")
    numbered = ranked = 0
    last, q = None, None
    for at, asked, found, n, r in rows:
        if last is None or asked is not last:
            last, q = asked, _name(asked)
        i = _name(found)
        if q is None or i is None:
            what = f"query '{q}', {source.at} {at:,}: {found!r:.60}" if q else f"{source.at} {at:,}: {asked!r:.60}"
            raise BadInput(f"{what} is not an id", where=source.where, fix=kind.layout)
        value, place = 1.0 if n is None else _number(n, kind), at if r is None else _rank(r)
        if place is None or (not abs(value) <= most and not (kind.listed and i == END)):
            word, odd = ("rank", r) if place is None else (kind.number, n)
            what = f"the {word} of item '{i}' of query '{q}' ({source.at} {at:,}) is {odd!r:.40}, no"
            what += " whole number" if place is None else " finite number"
            raise BadInput(what, where=source.where, fix=f"write a number, or leave out pairs without a {word}")
        query.append(queries.setdefault(q, len(queries)))
        item.append(items.setdefault(i, len(items)))
        line.append(at)
        rank.append(place)
        number.append(value)
        numbered, ranked = numbered + (n is not None), ranked + (r is not None)
    if not queries:
        raise BadInput(f"holds no {kind.words}", where=source.where, fix=kind.fix)
    if kind.listed and 0 < numbered < len(line):
        what = f"{len(line) - numbered:,} of {len(line):,} pairs have no score, and the others have one"
        raise BadInput(what, where=source.where, fix="give the items of every query with scores, or of none")
    columns = _Columns(*(np.array(column) for column in (query, item, line, rank, number)))
    lists = _Lists(columns, list(queries), list(items), bool(numbered), bool(ranked))
    _refuse_repeats(lists, source)
    if kind.listed:
        lists = _in_order(lists, source)
    columns = lists.columns
    return Pairs(
        kind, direction, _ids(lists.queries, source.where), _ids(lists.items, source.where), columns.query,
        columns.item, np.arange(len(queries)), columns.number if numbered else None, columns.rank if ranked else None,
        source.where, source.format, lists.ended, notes=lists.notes, doubt=lists.doubt,
    )  # fmt: skip


def _ids(names: list[str], where: str) -> Ids:
    return as_ids(id_array(names, "ids", where), "ids", where) if names else np.zeros(0, np.int64)


def _refuse_repeats(lists: _Lists, source: _Source) -> None:
    """Refuse an item that occurs twice for a query; -1 in lists may."""
    kept = lists.columns.take(lists.columns.item != lists.end) if source.kind.listed else lists.columns
    key = kept.query * len(lists.items) + kept.item
    order = np.argsort(key, kind="stable")
    again = order[1:][np.diff(key[order]) == 0]
    if len(again):
        second = int(again.min())
        first = int(np.flatnonzero(key == key[second])[0])
        query, item = lists.queries[kept.query[second]], lists.items[kept.item[second]]
        what = (
            f"query '{query}' has item '{item}' twice, in {source.at}s {kept.line[first]:,} and {kept.line[second]:,}"
        )
        fix = "keep each item once a query: a repeated one would count twice"
        raise BadInput(what, where=source.where, fix=fix)


def _in_order(lists: _Lists, source: _Source) -> _Lists:
    """Retrieved lists best first, without -1 at their ends, with notes on the order.

    Raises:
        BadInput: -1 before other items, a rank that occurs twice where ranks order the items.
        UsageError: ranks shall order the items, and there are none.
    """
    columns, by_ranks = lists.columns, source.order == "rank"
    if by_ranks and not lists.ranked:
        what = f"{spell('run', 'rank:...')} has no meaning for lists without a rank column"
        fix = "leave rank: out: the lists are read best first, or by their scores"
        raise UsageError(what, where=source.where, fix=fix)
    by_rank = columns.take(np.lexsort((columns.rank, columns.query)))
    score = np.nan_to_num(columns.number, nan=-np.inf, neginf=-np.inf)
    used = by_rank if by_ranks else columns.take(np.lexsort((columns.rank, -score, columns.query)))
    ended, notes, items = 0, list[str](), lists.items
    if (end := lists.end) >= 0:
        ended = _ends(used, by_rank, lists, source)
        used = used.take(used.item != end)
        used, items = used._replace(item=used.item - (used.item > end)), [*items[:end], *items[end + 1 :]]
        notes = [f"{ended:,} of {count_of(len(lists.queries), 'list')} end with -1, where an index found no more"]
    if by_ranks:
        _refuse_equal_ranks(used, lists.queries, source)
        notes.insert(0, "lists are ordered by the rank column alone")
    elif lists.numbered:
        notes.insert(0, _agreement(used, lists.queries) if lists.ranked else source.same)
    doubt = _distances(used) if lists.numbered and lists.ranked and not by_ranks else ""
    said = tuple(f"{Path(source.where).name}: {note}" for note in notes)
    return lists._replace(columns=used, items=items, ended=ended, notes=said, doubt=doubt)


def _ends(used: _Columns, by_rank: _Columns, lists: _Lists, source: _Source) -> int:
    """How many lists end with -1, in the order that is used or in that of their ranks or lines."""
    end = lists.end
    before = [
        set(one.query[:-1][(one.item[:-1] == end) & (one.item[1:] != end) & (np.diff(one.query) == 0)].tolist())
        for one in (used, by_rank)
    ]
    if wrong := before[0] & before[1]:
        what = f"query '{lists.queries[min(wrong)]}' has -1 before other items"
        raise BadInput(what, where=source.where, fix="leave -1 out, or write it at the end of a list alone")
    return len(np.unique(used.query[used.item == end]))


def _starts(lists: _Columns) -> Int:
    """(list,) where each list starts."""
    return np.flatnonzero(np.diff(lists.query, prepend=-1))


def _agreement(lists: _Columns, queries: list[str]) -> str:
    """The note on lists that are ordered by score: whether their ranks agree."""
    start = np.repeat(_starts(lists), np.diff(_starts(lists), append=len(lists.query)))
    first = lists.rank[start]
    agree = ((first == 0) | (first == 1)) & (lists.rank == first + np.arange(len(start)) - start)
    if agree.all():
        return "lists are ordered by the rank column, which agrees with the scores"
    query = queries[lists.query[~agree].min()]
    return f"lists are ordered by score, then rank: the ranks of query '{query}' contradict its scores"


def _distances(lists: _Columns) -> str:
    """Why scores look like distances, in lists by descending score: a smaller score never has a larger rank."""
    starts = _starts(lists)
    falls = (np.diff(lists.query) == 0) & (np.diff(lists.number) != 0)
    differing = np.zeros(lists.query.max(initial=0) + 1, bool)
    differing[lists.query[1:][falls]] = True
    contrary = differing.copy()
    contrary[lists.query[1:][falls & (np.diff(lists.rank) >= 0)]] = False
    ascending, number = int(contrary.sum()), int(differing.sum())
    if not len(starts) or 2 * ascending <= number:
        return ""
    return f"the scores of {ascending:,} of {number:,} queries are smallest at rank 1: they look like distances"


def _refuse_equal_ranks(lists: _Columns, queries: list[str], source: _Source) -> None:
    same = np.flatnonzero((np.diff(lists.query) == 0) & (np.diff(lists.rank) == 0))
    if len(same):
        at = int(same[0])
        lines = " and ".join(f"{line:,}" for line in sorted(lists.line[at : at + 2].tolist()))
        what = f"query '{queries[lists.query[at]]}' has rank {lists.rank[at]} twice, in {source.at}s {lines}"
        fix = f"leave out rank: in {spell('run')}: the scores order the items"
        raise BadInput(what, where=source.where, fix=fix)


def _number(value: Any, kind: Kind) -> float:
    """The number of a pair, NaN where it is none; true and false are grades of 1 and 0."""
    if kind is JUDGED and isinstance(value, str) and value.strip().lower() in _BOOLEANS:
        return _BOOLEANS[value.strip().lower()]
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _given(number: Any) -> Any:
    """A number that is stated; NaN for none."""
    return math.nan if number is None else number


def _name(value: Any) -> str | None:
    """An id as text; a float that is an integer as that integer; None for what is no id."""
    if isinstance(value, str):
        return value.strip()
    if type(value) is int:  # most ids: the checks below take long
        return str(value)
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole or (isinstance(value, Integral) and not isinstance(value, bool)) else None


def _rank(value: Any) -> int | None:
    """A rank, None for what is no whole number."""
    try:
        rank, exact = int(value), float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return rank if rank == exact and abs(rank) < 1 << 53 else None


def _is_table(text: str, kind: Kind) -> bool:
    """Whether text has columns with names; otherwise it has lines of TREC."""
    words = text.lstrip().split("\n", 1)[0].split()
    try:
        float(words[kind.widths[len(words)][1]])
    except ValueError:
        header = {name.strip().lower() for name in table_header(text)}
        ids = (name in header for name in (*ID_COLUMNS, *QUERY_COLUMNS, *ITEM_COLUMNS))
        return any(ids) or (len(words) not in kind.widths and not kind.listed)
    except KeyError:
        return len(table_header(text)) > 1 or not kind.listed
    return False


def _two_columns(text: str) -> list[Row] | None:
    """The rows of lines of a query and an item; None for others, and where the first line has names of columns."""
    lines = [(at, line.strip()) for at, line in enumerate(io.StringIO(text), 1) if line.strip()]
    for mark in ("\t", ",", None):
        fields = [[field.strip() for field in line.split(mark)] for _, line in lines]
        if lines and all(len(of) == 2 and all(of) for of in fields):
            names = {*ID_COLUMNS, *QUERY_COLUMNS, *ITEM_COLUMNS, *LISTED, *OTHER_COLUMNS, *JUDGED.columns}
            heading = names & {name.lower() for name in fields[0]}
            return (
                None if heading else [(at, of[0], of[1], None, None) for (at, _), of in zip(lines, fields, strict=True)]
            )
    return None


def _lines(text: str, source: _Source) -> Iterator[Row]:
    """The rows of lines of TREC; a heading of three words is skipped."""
    kind, width, item, number, rank = source.kind, 0, 0, 0, None
    for at, line in enumerate(io.StringIO(text), 1):
        words = line.split()
        if not words or (at == 1 and len(words) == 3 and _is_heading(words[2])):
            continue
        if len(words) != width and (width or len(words) not in kind.widths):
            expected = width or " or ".join(map(str, kind.widths))
            what = f"line {at:,} has {count_of(len(words), 'column')}, expected {expected}: {line.strip()[:80]!r}"
            raise BadInput(what, where=source.where, fix=kind.fix)
        if not width:
            width = len(words)
            item, number, rank = kind.widths[width]
        yield at, words[0], words[item], words[number], words[rank] if rank is not None and kind.listed else None


def _is_heading(word: str) -> bool:
    return word.isalpha() and word.lower() not in ("nan", "inf", "infinity")  # which are scores, and refused


def _triples(given: Sequence[Any], source: _Source) -> Iterator[Row]:
    """The rows of a list of pairs."""
    kind = source.kind
    for at, row in enumerate(given, 1):
        if not isinstance(row, (tuple, list, np.ndarray)) or len(row) not in (2, 3) or (kind.needed and len(row) == 2):
            fix = f"give (query id, item id, {kind.number})"
            raise BadInput(f"pair {at - 1} is {row!r:.60}", where=source.where, fix=fix)
        yield at, row[0], row[1], _given(row[2]) if len(row) == 3 else None, None


def _of_queries(given: Mapping[Any, Any], source: _Source) -> Iterator[Row]:
    """The rows of a mapping from queries to items, or to items with numbers."""
    kind, names = source.kind, set[str | None]()
    scored = sum(isinstance(items, Mapping) for items in given.values())
    plain = (list, tuple, np.ndarray) if kind.listed else (list, tuple, np.ndarray, set, frozenset)
    for query, items in given.items():
        name = _name(query)
        numbers = items if isinstance(items, Mapping) else None
        what, fix = "", kind.layout
        if name is None or name in names:
            what, fix = f"has the key {query!r:.40} {'twice' if name else 'that is no id'}", "keep one list a query"
        elif kind.listed and 0 < scored < len(given) and numbers is None:
            what = f"query '{name}' has no scores, and {scored:,} of {len(given):,} queries have them"
            fix = "give the items of every query with scores, or of none"
        elif numbers is None and (kind.needed or not isinstance(items, plain)):
            either = "" if kind.needed else "no list of ids and "
            what = f"query '{name}' has {items!r:.40}, {either}no items with {kind.number}s"
        elif kind.listed and not len(items):
            what, fix = f"query '{name}' has an empty list", "leave the query out or give it items"
        if what:
            raise BadInput(what, where=source.where, fix=fix)
        names.add(name)
        for at, item in enumerate(items, 1):
            yield at, name, item, None if numbers is None else _given(numbers[item]), None


def _of_table(table: Mapping[str, list[Any]], direction: Direction | None, source: _Source) -> Pairs:
    """The pairs of columns."""
    kind, listed = source.kind, f"has columns {', '.join(map(str, table)) or '(none)'}"
    given, several = table, None
    at: Sequence[int] = range(1, 1 + len(next(iter(table.values()), [])))
    if kind is JUDGED and (several := _column(table, LISTED)):
        table, at = _one_a_row(table, several, source)
    image, caption = (_column(table, columns_of(side)) for side in SIDES)
    query, item = _column(table, QUERY_COLUMNS), _column(table, ITEM_COLUMNS)
    if caption is None and None in (query, item):
        caption = _column(table, CAPTION_COLUMNS)
    if image is not None and caption is not None:
        direction = direction or (("t2i" if LISTED[several.lower()] == image else "i2t") if several else source.both)
        if direction is None:
            what = f"{listed}: it is not clear which of them are the queries"
            raise BadInput(what, where=source.where, fix=kind.state)
        query, item = (image, caption) if direction == "i2t" else (caption, image)
    if query is None or item is None:
        raise BadInput(listed, where=source.where, fix=kind.fix)
    rank = _column(table, ("rank",)) if kind.listed else None
    number, notes = _column_of_numbers(table, [name for name in (query, item, rank) if name is not None], source)
    absent = [None] * len(table[query])
    numbers = map(_given, table[number]) if number else absent
    ranks = map(_given, table[rank]) if rank else absent
    rows = zip(at, table[query], table[item], numbers, ranks, strict=True)
    every = given.get(query, ()) if several else ()
    pairs = _collect(rows, direction, replace(source, format="table", at="row"), every)
    return replace(pairs, notes=(*notes, *pairs.notes))


def _one_a_row(
    table: Mapping[str, list[Any]], several: str, source: _Source
) -> tuple[dict[str, list[Any]], Sequence[int]]:
    """The columns with a row an item of the lists in one of them, and the number of the row that each was in."""
    lists, rows = [_items(value) for value in table[several]], list[int]()
    for at, found in enumerate(lists):
        if found is None:
            what = f"column '{several}' has {table[several][at]!r:.40} in row {at + 1:,}, not a list of ids"
            raise BadInput(what, where=source.where, fix=source.kind.fix)
        rows += [at] * len(found)
    out = {name: [values[at] for at in rows] for name, values in table.items() if name != several}
    return {**out, LISTED[several.lower()]: [item for found in lists for item in found or ()]}, [at + 1 for at in rows]


def _items(value: Any) -> list[Any] | None:
    """The ids of a cell, which may be a list as JSON writes it; None for what is none."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else None


def _column_of_numbers(
    table: Mapping[str, list[Any]], ids: Sequence[str], source: _Source
) -> tuple[str | None, tuple[str, ...]]:
    """The column of numbers: one with such a name, or the only one beside those of ids, which a note says; or None.

    Raises:
        BadInput: several columns may have them, or the only one has no numbers, or none has and there have to be some.
    """
    kind, others, odd = source.kind, list[str](), list[str]()
    named = [name for name in table if name.lower() in kind.columns]
    for name, values in table.items():
        if name in ids or name.lower() in (*ID_COLUMNS, *QUERY_COLUMNS, *ITEM_COLUMNS) or all(map(missing, values)):
            continue
        if name.lower() not in OTHER_COLUMNS:
            others.append(name)
        elif any(isinstance(value, Real) for value in values) and values != list(range(len(values))):  # as of rows
            odd.append(name)
    found = [value for name in others[:1] for value in table[name] if not missing(value)]
    truth = kind is JUDGED and {str(value).lower() for value in found} <= {*_BOOLEANS}
    if len(named) == 1:
        return named[0], ()
    if len(others) == 1 and not named and (truth or isinstance(found[0], (Real, np.bool_))):
        return others[0], (f"{Path(source.where).name}: the column '{others[0]}' has the {kind.number}s",)
    if not (named or others or odd or kind.needed):
        return None, ()
    fix = f"call the column of numbers {kind.number}, or leave the others out"
    if named:
        what = f"has columns {', '.join(table)}, of which {' and '.join(named)} may have the {kind.number}s"
        fix = "keep one of them"
    elif len(others) > 1:
        what = f"it is not clear what the columns {' and '.join(map(repr, others))} are"
    elif others:
        what = f"the column '{others[0]}' has values such as {found[0]!r:.40}, which are no {kind.number}s"
    elif odd:
        what = f"it is not clear whether the column '{odd[0]}' has the {kind.number}s"
    else:
        what, fix = f"has columns {', '.join(table)}", kind.fix
    raise BadInput(what, where=source.where, fix=fix)


def columns_of(side: Modality) -> list[str]:
    """Names of the columns that have ids of one modality."""
    return [name for name, known in ID_COLUMNS.items() if known == side]


def _table(path: Path) -> dict[str, list[Any]]:
    return read_table(path, (*QUERY_COLUMNS, *ITEM_COLUMNS, *CAPTION_COLUMNS))


def _column(table: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((name for name in table if name.lower() in names), None)


def _is_rows(text: str) -> bool:
    """Whether JSON has an object a line, with the fields of a pair; otherwise it is one document."""
    first, *rest = text.strip().split("\n", 1)
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or not any(isinstance(value, (str, int, float)) for value in found.values()):
        return False
    return bool(rest) or any(name.lower() in (*ID_COLUMNS, *QUERY_COLUMNS) for name in found)


def _json(text: str, source: _Source) -> Any:
    """One JSON document, in which no object has a key twice."""
    with reading(source.where, "is not valid JSON", source.kind.layout):
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, source.where))


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"has the key '{twice}' twice in one object", where=where, fix="keep one list a query")
    return found
