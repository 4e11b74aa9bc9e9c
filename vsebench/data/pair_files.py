"""Numbers of pairs by id: relevance judgements, and scores of a second stage; and class labels of the items.

Files are TREC lines, JSON, or tables with a row a pair; in memory they are mappings and lists of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..types import DIRECTIONS, Direction, Float, Ids, Int, Modality
from .columns import ID_COLUMNS, LABEL_COLUMNS, missing, read_table, text_of
from .formats.ids import as_ids, id_array
from .formats.sniff import sniff
from .textfile import parse_json, read_text, text_lines

QUERY_COLUMNS = ("query", "query_id", "query-id", "qid")
ITEM_COLUMNS = ("item", "item_id", "doc", "doc_id", "docid", "corpus-id", "corpus_id", "document_id")
SIDES: tuple[Modality, ...] = ("image", "caption")
# Columns of a table of pairs that say nothing of how well a pair fits.
OTHER_COLUMNS = (
    "", "unnamed: 0", "index", "caption", "text", "sentence", "raw", "comment", "annotator", "annotator_id", "worker",
    "worker_id", "rater", "date", "time", "timestamp", "split", "url", "source", "lang", "language", "iter", "q0",
    "iteration", "rank",
)  # fmt: skip


@dataclass(frozen=True)
class Numbers:
    """What the number of a pair is.

    Attributes:
        words: what a file holds, for messages.
        number: what one number is called.
        columns: names of its column in a table.
        widths: numbers of columns of TREC lines, and which of these columns has it.
        needed: a pair without a number is refused, and is not 1.
    """

    words: str
    number: str
    columns: tuple[str, ...]
    widths: Mapping[int, int]
    needed: bool

    @property
    def fix(self) -> str:
        """How to write such a file."""
        form = "query item score" if self.needed else "query 0 item grade"
        return f"write a line `{form}`, or a table with the columns image_id, caption_id and {self.number}"

    @property
    def layout(self) -> str:
        """How to write them as JSON."""
        lists = "" if self.needed else '{"<image id>": [caption ids]} or '
        return f'write {lists}{{"<image id>": {{"<caption id>": {self.number}}}}}, or both under i2t and t2i'


JUDGED = Numbers(
    "judgements", "grade", ("grade", "relevance", "rel", "judgement", "score", "label"), {3: 2, 4: 3}, False
)
SCORED = Numbers("scores", "score", ("score",), {3: 2, 6: 4}, True)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a query and an item with a number each, by the ids of the items.

    Attributes:
        direction: of the queries; None where it is not stated.
        queries: (query,) ids of the queries, with and without pairs, each once.
        query: (pair,) int64, the index in ``queries``.
        item: (pair,) ids.
        number: (pair,) float64.
        where: the file, for messages.
        notes: what was decided, one sentence each.
    """

    direction: Direction | None
    queries: Ids
    query: Int
    item: Ids
    number: Float
    where: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels of the images and captions: (item,) ids, None for the order of the split, and labels of each."""

    ids: Mapping[Modality, Ids | None]
    labels: Mapping[Modality, Sequence[Sequence[str]]]
    where: str


def read_pairs(
    path: Path, direction: Direction | None, wanted: Numbers = JUDGED, both: Direction = "i2t"
) -> list[Pairs]:
    """The pairs of a text file or a table, those of each direction together.

    Args:
        path: lines with columns as of TREC, JSON (query -> items, or items with numbers, or both directions under
            ``i2t`` and ``t2i``), or CSV, TSV, parquet or JSON lines with a row a pair.
        direction: of the queries; None where the file or its ids say it.
        wanted: what the numbers are.
        both: the direction in which a table with ids of images and of captions is read, where none is stated.

    Raises:
        BadInput: unreadable, a pair that occurs twice, a number that is not finite, or no pair.
        MissingPackage: parquet without pyarrow.
    """
    where = str(path)
    if sniff(path).name not in ("text", "json", "gzip"):
        return [_of_table(_table(path), direction, where, wanted, both)]
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        first = _object(text.strip().split("\n", 1)[0])
        if first is None or not any(isinstance(value, (str, int, float)) for value in first.values()):
            return of_value(_json(text, where), direction, where, wanted)
    elif (position := _column_of_number(text, wanted)) is not None:
        return [_pairs(direction, _lines(text, position, where, wanted), where, wanted)]
    return [_of_table(_table(path), direction, where, wanted, both)]


def of_value(given: Any, direction: Direction | None, where: str, wanted: Numbers = JUDGED) -> list[Pairs]:
    """The pairs of a mapping from queries to items, of one under ``i2t`` and one under ``t2i``, or of a list of pairs.

    Args:
        given: the value; a pair is (query id, item id) or (query id, item id, number).
        direction: of the queries; None where the value or its ids say it.
        where: for messages.
        wanted: what the numbers are.

    Raises:
        BadInput: another shape, or as ``read_pairs``.
    """
    if isinstance(given, (list, tuple)):
        return [_pairs(direction, [_row(at, row, where, wanted) for at, row in enumerate(given)], where, wanted)]
    if not isinstance(given, Mapping) or not given:
        raise BadInput("holds no mapping of queries to items", where=where, fix=wanted.layout)
    stated: list[Direction] = [d for d in DIRECTIONS if d in given]
    if not stated:
        rows = [row for query, items in given.items() for row in _of_query(query, items, where, wanted)]
        return [_pairs(direction, rows, where, wanted, given)]
    extra = [key for key in given if key not in DIRECTIONS]
    if extra or direction is not None:
        what = f"has the key '{extra[0]}' beside i2t and t2i" if extra else f"states {' and '.join(stated)} itself"
        raise BadInput(what, where=where, fix=wanted.layout if extra else f"leave out '{direction}:'")
    return [pairs for d in stated for pairs in of_value(given[d], d, f"{where}: {d}", wanted)]


def read_labels(path: Path) -> Labels:
    """Class labels of images and captions of a table; an item may have several, in several rows or separated by bars.

    A row has the label of an image, of a caption, or of both, where it has both ids.

    Raises:
        BadInput: unreadable, no column of labels or several, or not both of image and caption ids.
        MissingPackage: parquet without pyarrow.
    """
    table = read_table(path)
    columns = [name for name in table if name.lower() in LABEL_COLUMNS]
    sides = {side: _column(table, _names(side)) for side in SIDES}
    if len(columns) != 1 or None in sides.values():
        what = f"has columns {', '.join(map(str, table)) or '(none)'}"
        raise BadInput(what, where=path, fix="write the columns image_id, caption_id and one called label")
    found: dict[Modality, dict[str, dict[str, None]]] = {side: {} for side in SIDES}
    for side, name in sides.items():
        for item, label in zip(table[str(name)], table[columns[0]], strict=True):
            if not missing(item) and not missing(label):
                words = (word.strip() for word in text_of(label).split("|"))
                found[side].setdefault(text_of(item), {}).update((word, None) for word in words if word)
    ids = {side: as_ids(id_array(list(own), "ids", path), f"{side}_id", path) for side, own in found.items()}
    return Labels(ids, {side: [list(words) for words in own.values()] for side, own in found.items()}, str(path))


def _pairs(
    direction: Direction | None,
    rows: Sequence[tuple[Any, Any, Any]],
    where: str,
    wanted: Numbers,
    every: Iterable[Any] = (),
) -> Pairs:
    """Pairs of (query, item, number), and the queries of ``every`` without any."""
    names = list(dict.fromkeys([*(text_of(q) for q in every), *(text_of(q) for q, _, _ in rows)]))
    if not names:
        raise BadInput(f"holds no {wanted.words}", where=where, fix=wanted.fix)
    index = {name: i for i, name in enumerate(names)}
    query = np.array([index[text_of(q)] for q, _, _ in rows], np.int64)
    items = [text_of(item) for _, item, _ in rows]
    seen: set[tuple[int, str]] = set()
    for at, pair in enumerate(zip(query.tolist(), items, strict=True)):
        if pair in seen:
            what = f"has item '{items[at]}' of query '{names[pair[0]]}' twice"
            raise BadInput(what, where=where, fix="give every pair once")
        seen.add(pair)
    ids = [as_ids(id_array(x, "ids", where), "ids", where) if x else np.zeros(0, np.int64) for x in (names, items)]
    return Pairs(direction, ids[0], query, ids[1], _numbers(rows, where, wanted), where)


def _numbers(rows: Sequence[tuple[Any, Any, Any]], where: str, wanted: Numbers) -> Float:
    numbers = np.ones(len(rows))
    most = float(np.finfo(np.float32).max)
    for at, (query, item, number) in enumerate(rows):
        try:
            numbers[at] = float(number)
        except (TypeError, ValueError):
            numbers[at] = np.nan
        if not abs(numbers[at]) <= most:
            what = f"the {wanted.number} of item '{item}' of query '{query}' is {number!r:.40}, no finite number"
            raise BadInput(what, where=where, fix=f"write a number, or leave out pairs without a {wanted.number}")
    return numbers


def _column_of_number(text: str, wanted: Numbers) -> int | None:
    """Which column of lines of TREC has the number; None where the first line is none of these."""
    words = text.lstrip().split("\n", 1)[0].split()
    position = wanted.widths.get(len(words))
    try:
        float(words[position or 0])
    except ValueError:
        return None
    return position


def _lines(text: str, position: int, where: str, wanted: Numbers) -> list[tuple[str, str, str]]:
    rows, width = [], 0
    for number, line in enumerate(text_lines(text), 1):
        words = line.split()
        if not words:
            continue
        width = width or len(words)
        if len(words) != width:
            what = f"line {number} has {len(words)} columns, and those before have {width}"
            raise BadInput(what, where=where, fix=wanted.fix)
        rows.append((words[0], words[1 if width == 3 else 2], words[position]))
    return rows


def _row(at: int, row: Any, where: str, wanted: Numbers) -> tuple[Any, Any, Any]:
    if not isinstance(row, (tuple, list, np.ndarray)) or len(row) not in (2, 3) or (wanted.needed and len(row) == 2):
        fix = f"give (image id, caption id, {wanted.number})"
        raise BadInput(f"pair {at} is {row!r:.60}", where=where, fix=fix)
    return (row[0], row[1], row[2] if len(row) == 3 else 1.0)


def _of_query(query: Any, items: Any, where: str, wanted: Numbers) -> Iterator[tuple[Any, Any, Any]]:
    if isinstance(items, Mapping):
        yield from ((query, item, number) for item, number in items.items())
    elif isinstance(items, (list, tuple, set, frozenset, np.ndarray)) and not wanted.needed:
        yield from ((query, item, 1.0) for item in items)
    else:
        raise BadInput(
            f"query '{query}' has {items!r:.40}, no items with {wanted.number}s", where=where, fix=wanted.layout
        )


def _of_table(
    table: Mapping[str, list[Any]], direction: Direction | None, where: str, wanted: Numbers, both: Direction
) -> Pairs:
    image, caption = (_column(table, _names(side)) for side in SIDES)
    if image is not None and caption is not None:
        direction = direction or both
        query, item = (image, caption) if direction == "i2t" else (caption, image)
    else:
        query, item = _column(table, QUERY_COLUMNS), _column(table, ITEM_COLUMNS)  # type: ignore[assignment]
    numbers = [name for name in table if name.lower() in wanted.columns]
    listed = f"has columns {', '.join(map(str, table)) or '(none)'}"
    if query is None or item is None:
        raise BadInput(listed, where=where, fix=wanted.fix)
    notes: tuple[str, ...] = ()
    if not numbers and (found := _column_by_position(table, (query, item), where, wanted)) is not None:
        numbers, notes = [found], (f"{Path(where).name}: the column '{found}' has the {wanted.number}s",)
    if len(numbers) > 1:
        what = f"{listed}, of which {' and '.join(numbers)} may have the {wanted.number}s"
        raise BadInput(what, where=where, fix="keep one of them")
    if wanted.needed and not numbers:
        raise BadInput(listed, where=where, fix=wanted.fix)
    if any(missing(x) for name in (query, item) for x in table[name]):
        raise BadInput("has a row without an id", where=where, fix="give every row both ids")
    values = table[numbers[0]] if numbers else [1.0] * len(table[query])
    pairs = _pairs(direction, list(zip(table[query], table[item], values, strict=True)), where, wanted)
    return replace(pairs, notes=notes)


def _column_by_position(table: Mapping[str, list[Any]], ids: Sequence[str], where: str, wanted: Numbers) -> str | None:
    """The only column beside those of ids, which has the numbers under a name of its own; None where there is none.

    Raises:
        BadInput: several may have them, or the only one has no numbers.
    """
    known = (*ID_COLUMNS, *QUERY_COLUMNS, *ITEM_COLUMNS, *OTHER_COLUMNS)
    others = [
        name
        for name, values in table.items()
        if name not in ids and name.lower() not in known and not all(map(missing, values))
    ]
    if not others:
        _refuse_numbers(table, ids, where, wanted)
        return None
    first = next(value for value in table[others[0]] if not missing(value))
    if len(others) == 1 and isinstance(first, (int, float, np.number, np.bool_)):
        return others[0]
    several = " and ".join(f"'{name}'" for name in others)
    what = (
        f"it is not clear what the columns {several} are"
        if len(others) > 1
        else (f"the column {several} has values such as {first!r:.40}, which are no {wanted.number}s")
    )
    raise BadInput(what, where=where, fix=f"call the column of numbers {wanted.number}, or leave the others out")


def _refuse_numbers(table: Mapping[str, list[Any]], ids: Sequence[str], where: str, wanted: Numbers) -> None:
    """Numbers under a name that says nothing of them, such as rank, may be what is asked for; row numbers are not."""
    for name, values in table.items():
        odd = name not in ids and name.lower() in OTHER_COLUMNS and values != list(range(len(values)))
        if odd and any(isinstance(value, (int, float, np.number)) for value in values if not missing(value)):
            what = f"it is not clear whether the column '{name}' has the {wanted.number}s"
            raise BadInput(what, where=where, fix=f"call it {wanted.number}, or leave it out")


def _table(path: Path) -> dict[str, list[Any]]:
    return read_table(path, (*QUERY_COLUMNS, *ITEM_COLUMNS))


def _column(table: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((name for name in table if name.lower() in names), None)


def _names(side: Modality) -> list[str]:
    return [name for name, known in ID_COLUMNS.items() if known == side]


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _json(text: str, where: str) -> Any:
    """One JSON document, in which no object has a key twice."""
    parse_json(text, where)
    return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, where))


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"has the key '{twice}' twice in one object", where=where, fix="keep one list a query")
    return found
