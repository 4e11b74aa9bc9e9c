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

from ..errors import BadInput, UsageError, count_of
from ..options import spell
from ..types import DIRECTIONS, Direction, Float, Ids, Int, Modality, is_path
from .columns import ID_COLUMNS, SIDES, missing, read_table, text_of
from .formats.ids import as_ids, id_array
from .formats.sniff import expect, sniff
from .pairs import JUDGED, Kind, Pairs
from .regular import reading
from .splits.table_file import table_header
from .textfile import read_text

Order = Literal["score", "rank"]  # what orders the items of retrieved lists that have both
Row = tuple[int, str, str, Any, int | None]  # the place in the source, query, item, number and rank, None without

# What --run, --judgements and --rerank read, for the documentation.
FORMS: dict[str, str] = {
    "trec": "lines of TREC: runs, `query Q0 item rank score tag`, qrels, `query 0 item grade`, or `query item number`",
    "eccv-json": "JSON `{query: [items]}`, best first and without ties, or `{query: {item: number}}`; of both"
    " directions under `i2t` and `t2i`; or a list of `[query, item, number]`",
    "table": "CSV, TSV, JSON lines or parquet with a row a pair: `query` and `item`, or `image_id` and `caption_id`,"
    " and a number",
}
QUERY_COLUMNS = ("query", "query_id", "query-id", "qid")
ITEM_COLUMNS = ("item", "item_id", "doc", "doc_id", "docid", "corpus-id", "corpus_id", "document_id")
CAPTION_COLUMNS = ("caption", "text", "sentence")  # of ids, in a table that has no other ids of captions
# Columns of a table of pairs that say nothing of how well a pair fits.
OTHER_COLUMNS = (
    "", "unnamed: 0", "index", "caption", "text", "sentence", "raw", "comment", "annotator", "annotator_id", "worker",
    "worker_id", "rater", "date", "time", "timestamp", "split", "url", "source", "lang", "language", "iter", "q0",
    "iteration", "rank",
)  # fmt: skip
END = "-1"  # what an index puts behind the last item that it has found
_BOOLEANS = {"true": 1.0, "false": 0.0}
_NO_NUMBERS = ("nan", "inf", "infinity")  # scores, which are refused, and no words of a heading


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
        empty = isinstance(given, Mapping)
        what = f"holds no {kind.words}" if empty else f"is {_called(given)}, not a mapping of queries to items"
        raise BadInput(what, where=source.where, fix=kind.layout)
    stated: list[Direction] = [d for d in DIRECTIONS if d in given]
    if not stated:
        source = replace(source, same="lists of items with scores are ordered by score, then as they stand")
        return [_collect(_of_queries(given, source), direction, source, map(_query, given))]
    if extra := [key for key in given if key not in DIRECTIONS]:
        raise BadInput(f"has the key '{extra[0]}' beside i2t and t2i", where=source.where, fix=kind.layout)
    if direction is not None and stated != [direction]:
        what = f"states that it holds {' and '.join(stated)}, but was given as {direction}"
        raise BadInput(what, where=source.where, fix=f"leave out {direction}")
    found = [p for d in stated for p in _of_value(given[d], d, replace(source, where=f"{source.where}: {d}"))]
    return [replace(pairs, where=source.where) for pairs in found]


def _collect(rows: Iterable[Row], direction: Direction | None, source: _Source, every: Iterable[str] = ()) -> Pairs:
    """The pairs of some rows, and the queries of ``every`` without any; lists in their order."""
    kind = source.kind
    most = float(np.finfo(np.float64 if kind.listed else np.float32).max)
    queries, items = {name: i for i, name in enumerate(dict.fromkeys(every))}, dict[str, int]()
    query, item, line, rank, number = array("q"), array("q"), array("q"), array("q"), array("d")
    numbered = ranked = 0
    for at, q, i, n, r in rows:
        query.append(queries.setdefault(q, len(queries)))
        item.append(items.setdefault(i, len(items)))
        line.append(at)
        rank.append(at if r is None else r)
        value = 1.0 if n is None else _number(n, kind)
        if not abs(value) <= most and not (kind.listed and i == END):
            what = f"the {kind.number} of item '{i}' of query '{q}' ({source.at} {at}) is {n!r:.40}, no finite number"
            raise BadInput(what, where=source.where, fix=f"write a number, or leave out pairs without a {kind.number}")
        number.append(value)
        numbered, ranked = numbered + (n is not None), ranked + (r is not None)
    if not queries:
        raise BadInput(f"holds no {kind.words}", where=source.where, fix=kind.fix)
    if kind.listed and 0 < numbered < len(line):
        what = f"{len(line) - numbered:,} of {len(line):,} pairs have no score, and the others have one"
        raise BadInput(what, where=source.where, fix="give the items of every query with scores, or of none")
    columns = _Columns(*(np.array(column) for column in (query, item, line, rank, number)))
    names = list(queries), list(items)
    _refuse_repeats(columns, names, source)
    pairs = Pairs(
        kind, direction, _ids(names[0], source.where), _ids(names[1], source.where), columns.query, columns.item,
        np.arange(len(queries)), columns.number if numbered else None, columns.rank if ranked else None,
        source.where, source.format,
    )  # fmt: skip
    return _listed(pairs, columns, names, source) if kind.listed else pairs


def _ids(names: list[str], where: str) -> Ids:
    return as_ids(id_array(names, "ids", where), "ids", where) if names else np.zeros(0, np.int64)


def _refuse_repeats(columns: _Columns, names: tuple[list[str], list[str]], source: _Source) -> None:
    """Refuse an item that occurs twice for a query; -1 in lists may."""
    end = source.kind.listed and END in names[1]
    kept = columns.take(columns.item != names[1].index(END)) if end else columns
    key = kept.query * len(names[1]) + kept.item
    order = np.argsort(key, kind="stable")
    again = order[1:][np.diff(key[order]) == 0]
    if len(again):
        second = int(again.min())
        first = int(np.flatnonzero(key == key[second])[0])
        q, i = names[0][kept.query[second]], names[1][kept.item[second]]
        what = f"query '{q}' has item '{i}' twice, in {source.at}s {kept.line[first]:,} and {kept.line[second]:,}"
        fix = "keep each item once a query: a repeated one would count twice"
        raise BadInput(what, where=source.where, fix=fix)


def _listed(pairs: Pairs, columns: _Columns, names: tuple[list[str], list[str]], source: _Source) -> Pairs:
    """Retrieved lists in their order, without -1 at their ends, with a note on the order.

    Raises:
        BadInput: -1 before other items, a rank that occurs twice where ranks order the items.
        UsageError: ranks shall order the items, and there are none.
    """
    ranked, numbered = pairs.rank is not None, pairs.number is not None
    if source.order == "rank" and not ranked:
        what = f"{spell('run_order', 'rank')} has no meaning for lists without a rank column"
        raise UsageError(
            what, where=source.where, fix="leave it out: the lists are read best first, or by their scores"
        )
    by_rank = np.lexsort((columns.rank, columns.query))
    score = np.nan_to_num(columns.number, nan=-np.inf, neginf=-np.inf) if numbered else columns.number
    order = by_rank if source.order == "rank" else np.lexsort((columns.rank, -score, columns.query))
    used, notes = columns.take(order), []
    ended = 0
    if END in names[1]:
        end = names[1].index(END)
        ended = _ends(used, columns.take(by_rank), end, names[0], source)
        used = used.take(used.item != end)
        notes.append(f"{ended:,} of {count_of(len(names[0]), 'list')} end with -1, where an index found no more")
        pairs = replace(pairs, items=_ids([*names[1][:end], *names[1][end + 1 :]], source.where))
        used = used._replace(item=used.item - (used.item > end))
    doubt = ""
    if source.order == "rank":
        _refuse_equal_ranks(used, names[0], source)
        notes.insert(0, "lists are ordered by the rank column alone")
    elif ranked and numbered:
        doubt = _distances(used)
        notes.insert(0, _agreement(used, names[0]))
    elif numbered:
        notes.insert(0, source.same)
    head = f"{Path(source.where).name}: "
    return replace(
        pairs, query=used.query, item=used.item, number=used.number if numbered else None,
        rank=used.rank if ranked else None, ended=ended, notes=tuple(head + note for note in notes), doubt=doubt,
    )  # fmt: skip


def _ends(used: _Columns, by_rank: _Columns, end: int, queries: list[str], source: _Source) -> int:
    """How many lists end with -1, in the order that is used or in that of their ranks or lines."""
    before = [
        set(one.query[:-1][(one.item[:-1] == end) & (one.item[1:] != end) & (np.diff(one.query) == 0)].tolist())
        for one in (used, by_rank)
    ]
    if wrong := before[0] & before[1]:
        what = f"query '{queries[min(wrong)]}' has -1 before other items"
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
        fix = f"leave out {spell('run_order', 'rank')}: the scores order the items"
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
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole or (isinstance(value, Integral) and not isinstance(value, bool)) else None


def _query(value: Any) -> str:
    return _name(value) or str(value).strip()


def _item(value: Any, query: Any, at: int, source: _Source) -> str:
    name = _name(value)
    if name is None:
        raise BadInput(
            f"query '{query}', place {at}: {value!r:.60} is not an id", where=source.where, fix=source.kind.layout
        )
    return name


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


def _lines(text: str, source: _Source) -> Iterator[Row]:
    """The rows of lines of TREC; a heading of three words is skipped."""
    kind, width, item, number, rank = source.kind, 0, 0, 0, None
    widths = " or ".join(map(str, kind.widths))
    for at, line in enumerate(io.StringIO(text), 1):
        words = line.split()
        if not words:
            continue
        if not width:
            if len(words) == 3 and words[2].isalpha() and words[2].lower() not in _NO_NUMBERS:
                continue
            width = len(words)
            if width in kind.widths:
                item, number, rank = kind.widths[width]
        if len(words) != width or width not in kind.widths:
            expected = widths if width not in kind.widths else str(width)
            what = f"line {at:,} has {count_of(len(words), 'column')}, expected {expected}: {line.strip()[:80]!r}"
            raise BadInput(what, where=source.where, fix=kind.fix)
        place = None
        if rank is not None and kind.listed:
            try:
                place = int(words[rank])
                array("q", [place])
            except (ValueError, OverflowError):
                what = f"line {at:,}: rank '{words[rank][:40]}' is not an integer"
                raise BadInput(what, where=source.where, fix=kind.fix) from None
        yield at, words[0], words[item], words[number], place


def _triples(given: Sequence[Any], source: _Source) -> Iterator[Row]:
    """The rows of a list of pairs."""
    kind = source.kind
    for at, row in enumerate(given, 1):
        if not isinstance(row, (tuple, list, np.ndarray)) or len(row) not in (2, 3) or (kind.needed and len(row) == 2):
            fix = f"give (query id, item id, {kind.number})"
            raise BadInput(f"pair {at - 1} is {row!r:.60}", where=source.where, fix=fix)
        query, item = (_item(x, row[0], at, source) for x in row[:2])
        yield at, query, item, _given(row[2]) if len(row) == 3 else None, None


def _of_queries(given: Mapping[Any, Any], source: _Source) -> Iterator[Row]:
    """The rows of a mapping from queries to items, or to items with numbers."""
    kind = source.kind
    scored = sum(isinstance(items, Mapping) for items in given.values())
    names = set[str]()
    for query, items in given.items():
        name = _query(query)
        if name in names:
            raise BadInput(f"has the key '{name}' twice", where=source.where, fix="keep one list a query")
        names.add(name)
        if kind.listed and 0 < scored < len(given) and not isinstance(items, Mapping):
            what = f"query '{name}' has no scores, and {scored:,} of {len(given):,} queries have them"
            raise BadInput(what, where=source.where, fix="give the items of every query with scores, or of none")
        plain = (list, tuple, np.ndarray) if kind.listed else (list, tuple, np.ndarray, set, frozenset)
        if not isinstance(items, Mapping) and (kind.needed or not isinstance(items, plain)):
            either = "" if kind.needed else "no list of ids and "
            what = f"query '{name}' has {items!r:.40}, {either}no items with {kind.number}s"
            raise BadInput(what, where=source.where, fix=kind.layout)
        if kind.listed and not len(items):
            raise BadInput(
                f"query '{name}' has an empty list", where=source.where, fix="leave the query out or give it items"
            )
        numbers = items if isinstance(items, Mapping) else None
        for at, item in enumerate(items, 1):
            number = None if numbers is None else _given(numbers[item])
            yield at, name, _item(item, name, at, source), number, None


def _of_table(table: Mapping[str, list[Any]], direction: Direction | None, source: _Source) -> Pairs:
    """The pairs of columns."""
    kind, where = source.kind, source.where
    listed = f"has columns {', '.join(map(str, table)) or '(none)'}"
    image, caption = (_column(table, columns_of(side)) for side in SIDES)
    query, item = _column(table, QUERY_COLUMNS), _column(table, ITEM_COLUMNS)
    if caption is None and None in (query, item):
        caption = _column(table, CAPTION_COLUMNS)
    if image is not None and caption is not None:
        direction = direction or source.both
        if direction is None:
            what = f"{listed}: it is not clear which of them are the queries"
            raise BadInput(what, where=where, fix=kind.state)
        query, item = (image, caption) if direction == "i2t" else (caption, image)
    if query is None or item is None:
        raise BadInput(listed, where=where, fix=kind.fix)
    rank = _column(table, ("rank",)) if kind.listed else None
    number, notes = _column_of_numbers(table, [name for name in (query, item, rank) if name is not None], source)
    if any(missing(x) for name in (query, item) for x in table[name]):
        raise BadInput("has a row without an id", where=where, fix="give every row both ids")
    numbers = table[number] if number else [None] * len(table[query])
    ranks = [_rank(x, where) for x in table[rank]] if rank else [None] * len(table[query])
    rows = (
        (at, text_of(q), text_of(i), _given(n) if number else None, r)
        for at, (q, i, n, r) in enumerate(zip(table[query], table[item], numbers, ranks, strict=True), 1)
    )
    pairs = _collect(rows, direction, replace(source, format="table", at="row"))
    return replace(pairs, notes=(*notes, *pairs.notes))


def _rank(value: Any, where: str) -> int:
    name = _name(value)
    if name is None or not name.lstrip("-").isdecimal() or len(name) > 18:
        raise BadInput(f"rank {value!r:.40} is not an integer", where=where, fix="write the ranks as 1, 2, 3")
    return int(name)


def _column_of_numbers(
    table: Mapping[str, list[Any]], ids: Sequence[str], source: _Source
) -> tuple[str | None, tuple[str, ...]]:
    """The column of numbers, None for none; and a note where its name does not say so."""
    kind = source.kind
    numbers = [name for name in table if name.lower() in kind.columns]
    listed = f"has columns {', '.join(map(str, table)) or '(none)'}"
    notes: tuple[str, ...] = ()
    if not numbers and (found := _column_by_position(table, ids, source)) is not None:
        numbers, notes = [found], (f"{Path(source.where).name}: the column '{found}' has the {kind.number}s",)
    if len(numbers) > 1:
        what = f"{listed}, of which {' and '.join(numbers)} may have the {kind.number}s"
        raise BadInput(what, where=source.where, fix="keep one of them")
    if kind.needed and not numbers:
        raise BadInput(listed, where=source.where, fix=kind.fix)
    return next(iter(numbers), None), notes


def _column_by_position(table: Mapping[str, list[Any]], ids: Sequence[str], source: _Source) -> str | None:
    """The only column beside those of ids, which has the numbers under a name of its own; None where there is none.

    Raises:
        BadInput: several may have them, or the only one has no numbers.
    """
    kind = source.kind
    known = (*ID_COLUMNS, *QUERY_COLUMNS, *ITEM_COLUMNS, *OTHER_COLUMNS)
    others = [
        name
        for name, values in table.items()
        if name not in ids and name.lower() not in known and not all(map(missing, values))
    ]
    if not others:
        _refuse_numbers(table, ids, source)
        return None
    first = next(value for value in table[others[0]] if not missing(value))
    words = {str(value).lower() for value in table[others[0]] if not missing(value)}
    if len(others) == 1 and (isinstance(first, (Real, np.bool_)) or (kind is JUDGED and words <= {*_BOOLEANS})):
        return others[0]
    several = " and ".join(f"'{name}'" for name in others)
    what = (
        f"it is not clear what the columns {several} are"
        if len(others) > 1
        else f"the column {several} has values such as {first!r:.40}, which are no {kind.number}s"
    )
    raise BadInput(what, where=source.where, fix=f"call the column of numbers {kind.number}, or leave the others out")


def _refuse_numbers(table: Mapping[str, list[Any]], ids: Sequence[str], source: _Source) -> None:
    """Numbers under a name that says nothing of them, such as rank, may be what is asked for; row numbers are not."""
    for name, values in table.items():
        odd = name not in ids and name.lower() in OTHER_COLUMNS and values != list(range(len(values)))
        if odd and any(isinstance(value, Real) for value in values if not missing(value)):
            what = f"it is not clear whether the column '{name}' has the {source.kind.number}s"
            raise BadInput(what, where=source.where, fix=f"call it {source.kind.number}, or leave it out")


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


def _called(value: Any) -> str:
    """What a value is called, in JSON or in Python."""
    names = ((type(None), "null"), (bool, "a boolean"), (str, "a string"), ((int, float), "a number"))
    return next((name for kind, name in names if isinstance(value, kind)), f"a {type(value).__name__}")
