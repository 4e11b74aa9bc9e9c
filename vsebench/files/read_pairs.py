"""Reads pairs of a query and an item, of files and of values in memory: one reader for every use of them.

Files are records (see ``records``): lines of TREC (runs and qrels), JSON, or tables with a row a pair; in memory they
are mappings from queries to items, and lists of pairs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import descending, is_path, to_float32
from ..errors import BadInput, UsageError, count_of
from ..options import spell
from ..types import Direction, Ids, Int
from .formats import sniff
from .ids import as_ids, id_array, refuse_destroyed
from .kinds import DIRECTIONS, KINDS, NOT_GIVEN, predicted
from .members import Field, opened
from .pairs import JUDGED, LISTS, ONLY, Kind, Pairs
from .raw import FLOATS
from .records import missing, of_document, records, spot
from .textfile import parse_json, read_text

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["score", "rank", "docid-desc"]  # what orders the items of retrieved lists that have both

# What --run, --judgements and --rerank read, for the documentation.
FORMS: dict[str, str] = {
    "trec": "lines of TREC: runs, `query Q0 item rank score tag`, qrels, `query 0 item grade`, or `query item number`; "
    "for judgements also `query item`; a task column may follow, as in M-BEIR",
    "eccv-json": "JSON `{query: [items]}`, best first without ties, or `{query: {item: number}}`; both under "
    "`i2t` and `t2i`; or a list of `[query, item, number]`; for `--run` also predictions of MTEB and results "
    "of sentence-transformers",
    "table": "CSV, TSV, JSON lines or parquet with one row per pair: `query` and `item`, or `image_id` and "
    "`caption_id`, and a number; for judgements also lists of ids, `item_ids` or `image_ids`",
    "rows": "for `--run`: an array (query, k) of the rows of items, as FAISS and hnswlib find them, -1 at the end of a "
    "row, with or without an array of scores or distances next to it (`np.savez('run.npz', I=I, D=D)`)",
}
FORMATS = {"trec": "trec", "by_query": "eccv-json", "triples": "eccv-json"}  # by the layout of records
END_OF_LIST = "-1"  # an index writes it after the last item found
_BOOLEANS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class _Source:
    """What is read: a file or a value, and how.

    Attributes:
        where: the file, for messages.
        kind: what its pairs say.
        order: what orders the items of lists that have scores and ranks.
        both: the direction of a table with ids of images and of captions, if none is stated.
        format: of the pairs.
    """

    where: str
    kind: Kind
    order: Order
    both: Direction | None
    format: str


def read_pairs(
    given: Any, direction: Direction | None, kind: Kind = JUDGED, *, where: str = "memory", order: Order = "score",
    both: Direction | None = "i2t", part: tuple[str, ...] = (),
) -> list[Pairs]:  # fmt: skip
    """The pairs of a file or of a value in memory, those of each direction together.

    Items of retrieved lists are ordered by descending score, equal scores by rank, then by line. Where the scores of
    most queries ascend with the rank, they are likely distances: a doubt says so. An item -1 at the end of a list ends
    it, as lists of an approximate index do.

    Args:
        given: a path; a mapping from queries to items or to items with numbers, or of such mappings by direction; a
            list of (query, item) or (query, item, number), or of mappings with these fields.
        direction: of the queries; None if the file or its ids say it.
        kind: what the pairs say.
        where: of a value in memory, for messages.
        order: ``rank`` orders lists by the rank column alone; ``docid-desc`` rounds scores to float32, and orders
            equal ones by descending ids.
        both: the direction in which a table with ids of images and of captions is read, if none is stated.
        part: of a file with the predictions of several test sets: the subset or the split, or both.

    Raises:
        BadInput: unreadable or malformed, a pair that occurs twice, a number that is not finite, -1 before other items,
            or no pair.
        UsageError: the order ``rank`` for lists without ranks.
        MissingPackage: parquet without pyarrow.
    """
    if part:
        where, form = str(given), "eccv-json"
        layout = replace(KINDS[kind.records], documents=(lambda document: predicted(document, part),))
        found = of_document(parse_json(read_text(Path(given), kind.words), where), layout, where)
    elif is_path(given) and kind.listed and sniff(Path(given)).matrix:
        return [_of_rows(Path(given), direction)]
    elif is_path(given):
        found, where = records(given, kind.records), str(given)
        form = FORMATS.get(str(found.attrs["layout"]), "table")
    else:
        found, form = _in_memory(given, kind, where), "mapping"
    source = _Source(where, kind, order, both, form)
    stated: list[Any] = [d for d in DIRECTIONS if "direction" in found and (found["direction"] == d).any()]
    if not stated:
        return [_of_records(found, direction, source)]
    if direction is not None and stated != [direction]:
        what = f"states that it holds {' and '.join(stated)}, but was given as {direction}"
        raise BadInput(what, where=where, fix=f"leave out {direction}")
    return [_of_records(found[found["direction"] == d], d, source) for d in stated]


def _of_rows(path: Path, direction: Direction | None) -> Pairs:
    """Lists of an index: rows of the corpus by query, (query, k) integers, -1 at their ends; maybe with scores.

    Scores of any order that is that of the rows only tell which items tie: distances ascend, and products descend.
    """
    file = opened(path)
    matrices = [m for m in file.members if len(m.shape) == 2]
    whole = [m for m in matrices if m.dtype.startswith(("int", "uint"))]
    whole = [m for m in whole if all(other.shape == m.shape for other in matrices)]  # others have vectors and ids
    fix = f"save what search() returns: np.savez('run.npz', I=I, D=D); vectors are given without {spell('run')}"
    rows = file.only(whole, Field("array (query, k) of the rows of items", ("I",)), fix).load().astype(np.int64)
    listed, place = rows >= 0, np.argsort(rows, axis=1, kind="stable")
    twice = np.zeros(rows.shape, bool)
    again = (np.diff(np.take_along_axis(rows, place, 1), axis=1) == 0) & np.take_along_axis(listed, place, 1)[:, 1:]
    np.put_along_axis(twice, place[:, 1:], again, axis=1)
    before = ~listed & (listed[:, ::-1].cumsum(axis=1)[:, ::-1] > 0)
    for what, bad in {
        "is not a row number": rows < -1,
        "comes before other items": before,
        "occurs twice": twice,
    }.items():
        if bad.any():
            query, at = np.argwhere(bad)[0]
            what = f"row {query}, column {at}: {rows[query, at]} {what}"
            raise BadInput(what, where=path, fix="save row numbers from 0, each once per query, and -1 only at the end")
    number = None
    for scores in [m.load() for m in matrices if m.dtype in FLOATS][:1]:
        with np.errstate(invalid="ignore"):
            step = np.where(listed[:, 1:], np.diff(scores.astype(np.float64), axis=1), 0)
        if (step > 0).any() and (step < 0).any():
            what = "the scores of the items neither ascend in all rows nor descend in all rows"
            raise BadInput(what, where=path, fix="save I and D of one search, or I alone")
        number = (scores if (step <= 0).all() else -scores)[listed].astype(np.float64)
    items, item = np.unique(rows[listed], return_inverse=True)
    ended, every = int((~listed).any(1).sum()), np.arange(len(rows))
    notes = [f"{path.name}: {ended:,} of {count_of(len(rows), 'list')} end with -1"] * bool(ended)
    return Pairs(
        LISTS, direction, every, items, np.repeat(every, listed.sum(1)), item.ravel(), every, number,
        where=str(path), format="rows", ended=ended, notes=tuple(notes),
    )  # fmt: skip


def _in_memory(given: Any, kind: Kind, where: str) -> pd.DataFrame:
    """The records of a value."""
    if not isinstance(given, (Mapping, list, tuple)) or (isinstance(given, Mapping) and not given):
        what = f"holds no {kind.words}" if given == {} else f"is {given!r:.40}, not a mapping of queries to items"
        raise BadInput(what, where=where, fix=kind.layout)
    nested = [lists for d in DIRECTIONS if isinstance(given, Mapping) and isinstance(lists := given.get(d), Mapping)]
    for lists in (nested or [given]) if isinstance(given, Mapping) and kind.listed else ():
        unordered = next((query for query, items in lists.items() if isinstance(items, (set, frozenset))), None)
        if unordered is not None:
            what = f"query '{unordered}' has a set, but the items of a list must be ordered"
            raise BadInput(what, where=where, fix=kind.layout)
    return of_document(given, KINDS[kind.records], where)


def _of_records(found: pd.DataFrame, direction: Direction | None, source: _Source) -> Pairs:
    """The pairs of records, in one direction; those of lists in their order."""
    import pandas as pd

    found, addressed_by = _addressed(found, source)
    direction, columns = _columns(found, direction, source)
    kind, most = source.kind, float(np.finfo(np.float64 if source.kind.listed else np.float32).max)
    if columns["items"]:
        found = found.assign(**{columns["item"]: _listed(found, columns["item"], source)}).explode(columns["item"])
    queries, query = _indices(found, columns["query"], source)
    kept = np.array([cell is not NOT_GIVEN for cell in found[columns["item"]]], bool)  # others are of an empty list
    if kind.listed and not kept.all():
        what = f"query '{queries[query[~kept][0]]}' has an empty list"
        raise BadInput(what, where=source.where, fix="leave the query out or give it items")
    if not kept.all():
        found, query = found[kept], query[kept]
    items, item = _indices(found, columns["item"], source)
    numbers = [NOT_GIVEN] * len(found) if columns["number"] is None else found[columns["number"]].tolist()
    given = np.array([number is not NOT_GIVEN for number in numbers], bool)
    values = np.array([_number(number, kind) if number is not NOT_GIVEN else 1.0 for number in numbers], np.float64)
    end = items.index(END_OF_LIST) if END_OF_LIST in items and kind.listed else -1
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(values) <= most) & (item != end)
    _refuse_cell(bad, numbers, kind.number, "a finite number", (found, items, item, queries, query))
    ranks = None if columns["rank"] is None else [_rank(rank) for rank in found[columns["rank"]]]
    if ranks is not None:
        odd = np.array([rank is None for rank in ranks], bool)
        _refuse_cell(odd, found[columns["rank"]].tolist(), "rank", "an integer", (found, items, item, queries, query))
    if not queries or (kind.needed and not given.all()):
        what = f"holds no {kind.words}" if not queries else f"has pairs without a {kind.number}"
        raise BadInput(what, where=source.where, fix=kind.layout if queries else kind.fix)
    if kind.listed and 0 < given.sum() < len(given):
        what = f"{int((~given).sum()):,} of {len(given):,} pairs have no score, but the others have one"
        fix = "give the items of every query with scores, or of none"
        raise BadInput(what, where=source.where, fix=fix)
    place = np.arange(len(found)) if ranks is None else np.array(ranks, np.int64)
    pairs = pd.DataFrame({"query": query, "item": item, "number": values, "rank": place})
    if kind.bare:
        pairs = pairs.drop_duplicates(["query", "item"])
    _refuse_repeats(pairs[pairs["item"] != end], found, queries, items, source)
    ended, notes, doubt = 0, tuple[str, ...](), ""
    if kind.listed:
        stated = bool(given.any()), ranks is not None
        pairs["tied"] = place
        if source.order == "docid-desc" and given.any():
            pairs["number"], pairs["tied"] = to_float32(values).astype(np.float64), np.argsort(descending(items))[item]
        pairs, ended, notes, doubt = _in_order(pairs, stated, end, (found, queries), source)
        pairs["item"] -= (pairs["item"] > end) & (end >= 0)
        items = [name for k, name in enumerate(items) if k != end]
    of_query, of_item, number, rank = (pairs[name].to_numpy() for name in ("query", "item", "number", "rank"))
    return Pairs(
        kind, direction, _ids(queries, source.where), _ids(items, source.where), of_query, of_item,
        np.arange(len(queries)), number if given.any() else None, rank if ranks is not None else None,
        source.where, source.format, ended, notes=notes, doubt=doubt, queries_from=addressed_by,
        of_corpus=bool(_CORPUS.match(str(columns["item"]).lower())),
    )  # fmt: skip


def _addressed(found: pd.DataFrame, source: _Source) -> tuple[pd.DataFrame, str]:
    """Records with a column of queries, and ``Pairs.queries_from``."""
    named = KINDS[source.kind.records].find(found)
    if source.kind.bare and "neg_cand_list" in found:
        what = "holds neg_cand_list, the hard negatives of training, which are not candidates (M-BEIR)"
        raise BadInput(what, where=source.where, fix="give the file of the pool, whose items have a did")
    if not source.kind.bare or "query" in named or {"image", "caption"} <= named.keys():
        return found, ""
    if "items" not in named and (len(found.columns) == 1 or source.kind is ONLY):
        return found.assign(query="all"), "all"
    return found.assign(query=range(len(found))), "rows"


def _columns(
    found: pd.DataFrame, direction: Direction | None, source: _Source
) -> tuple[Direction | None, dict[str, Any]]:
    """The direction, the columns of the ``query``, ``item``, ``number`` and ``rank``, and whether items are lists."""
    kind, named = source.kind, KINDS[source.kind.records].find(found)
    listed = f"has columns {', '.join(map(str, found)) or '(none)'}"
    lists = [name for name in ("images", "captions", "items") if name in named and (kind is JUDGED or kind.bare)]
    if lists:
        named = {**named, lists[0][:-1]: named[lists[0]]}
    query, item = named.get("query"), named.get("item")
    image, caption = named.get("image"), named.get("caption")
    if caption is None and None in (query, item):
        caption = named.get("text")
    if image is not None and caption is not None:
        of_lists: Direction = "t2i" if lists[:1] == ["images"] else "i2t"
        direction = direction or (of_lists if lists else source.both)
        if direction is None:
            what = f"{listed}: it is not clear which of them are the queries"
            raise BadInput(what, where=source.where, fix=kind.state)
        query, item = (image, caption) if direction == "i2t" else (caption, image)
    if query is None or item is None:
        raise BadInput(listed, where=source.where, fix=kind.fix)
    rank = named.get("rank") if kind.listed else None
    if kind.bare:
        return direction, {"query": query, "item": item, "number": None, "rank": None, "items": bool(lists)}
    numbers = [name for name in found if str(name).strip().lower() in KINDS[kind.records].fields["number"]]
    known = {query, item, "direction", *named.values()} - ({named.get("rank")} if rank is None else set())
    others = [name for name in found if name not in known and str(name).strip().lower() not in _OTHER]
    others = [name for name in others if not all(map(missing, found[name]))]
    if len(numbers) > 1 or (others and not numbers) or (kind.needed and not numbers):
        what, fix = listed, kind.fix
        if len(numbers) > 1:
            what, fix = f"{listed}; the {kind.number}s may be in {' or '.join(numbers)}", "keep one of them"
        elif others:
            what = f"it is not clear whether the column '{others[0]}' has the {kind.number}s"
            fix = f"call the column of numbers {kind.number}, or leave out the other columns"
        raise BadInput(what, where=source.where, fix=fix)
    number = numbers[0] if numbers else None
    return direction, {"query": query, "item": item, "number": number, "rank": rank, "items": bool(lists)}


_CORPUS = re.compile("doc|corpus|did$")
_OTHER = {name for field in ("other", "text") for name in KINDS["judgements"].fields[field]}


def _indices(found: pd.DataFrame, name: str, source: _Source) -> tuple[list[str], Int]:
    """The different ids in a column as text, and (row,) int64 which of them each row has, -1 for an empty cell.

    Raises BadInput.
    """
    import pandas as pd

    cells = found[name].to_numpy(object)
    try:
        codes, distinct = pd.factorize(cells)
    except TypeError:  # lists have no hash
        codes, distinct = np.arange(len(cells)), cells
    names = [_name(value) for value in distinct]
    bad = np.array([*(not text for text in names), True])[codes]  # the last is that of an empty cell
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadInput(f"{name} is {cells[row]!r:.60}, not an id", where=spot(found, row), fix=source.kind.layout)
    for code, text in enumerate(names):
        if text and ("#" in text or "+" in text):
            refuse_destroyed([text], spot(found, int(np.argmax(codes == code))), lambda _: f"'{name}'")
    index: dict[str, int] = {}
    place = np.array([index.setdefault(str(text), len(index)) for text in names], np.int64)
    return list(index), place[codes] if len(place) else codes.astype(np.int64)


def _refuse_cell(bad: npt.NDArray[np.bool_], cells: list[Any], word: str, expected: str, of: tuple[Any, ...]) -> None:
    """Refuse the first bad cell of a column."""
    if bad.any():
        row, (found, items, item, queries, query) = int(np.flatnonzero(bad)[0]), of
        what = f"the {word} of item '{items[item[row]]}' of query '{queries[query[row]]}' is {cells[row]!r:.40}"
        what += f", not {expected}"
        raise BadInput(what, where=spot(found, row), fix=f"write a number, or leave out pairs without a {word}")


def _listed(found: pd.DataFrame, name: str, source: _Source) -> list[list[Any]]:
    """The lists of ids in a column, which may be written as JSON."""
    lists = []
    for row, cell in enumerate(found[name]):
        if isinstance(cell, str) and cell.startswith("["):
            try:
                cell = json.loads(cell)
            except (ValueError, RecursionError):
                cell = None
        cell = cell.get("members") if isinstance(cell, Mapping) else cell  # of CIRR
        if not isinstance(cell, (list, tuple, np.ndarray)):
            what = f"column '{name}' has {found[name].iloc[row]!r:.40}, not a list of ids"
            raise BadInput(what, where=spot(found, row), fix=source.kind.fix)
        lists.append(list(cell) or [NOT_GIVEN])
    return lists


def _ids(names: list[str], where: str) -> Ids:
    return as_ids(id_array(names, "ids", where), "ids", where) if names else np.zeros(0, np.int64)


def _places(found: pd.DataFrame, rows: Iterable[int]) -> str:
    """The places of some records, for messages."""
    return " and ".join(str(found.attrs["at"]).format(found.index[row]) for row in sorted(rows))


def _refuse_repeats(
    pairs: pd.DataFrame, found: pd.DataFrame, queries: list[str], items: list[str], source: _Source
) -> None:
    """Refuse an item that occurs twice for a query."""
    twice = pairs.duplicated(["query", "item"])
    if twice.any():
        query, item = pairs[twice][["query", "item"]].iloc[0]
        rows = pairs.index[(pairs["query"] == query) & (pairs["item"] == item)][:2]
        what = f"query '{queries[query]}' has item '{items[item]}' twice, in {_places(found, rows)}"
        fix = "keep each item once per query: a repeated one would count twice"
        raise BadInput(what, where=source.where, fix=fix)


def _in_order(
    pairs: pd.DataFrame, stated: tuple[bool, bool], end: int, of: tuple[pd.DataFrame, list[str]], source: _Source
) -> tuple[pd.DataFrame, int, tuple[str, ...], str]:
    """Retrieved lists best first, without the item ``end`` (-1) at their ends; raises BadInput or UsageError.

    Returns:
        The pairs, how many lists end with -1, notes on the order, and a doubt, see ``Pairs``.
    """
    (scored, ranked), (found, queries), by_ranks = stated, of, source.order == "rank"
    if by_ranks and not ranked:
        what = f"{spell('run', 'rank:...')} does not apply to lists without a rank column"
        fix = "leave rank: out: the lists are read best first, or by their scores"
        raise UsageError(what, where=source.where, fix=fix)
    score = np.nan_to_num(pairs["number"].to_numpy(), nan=-np.inf, neginf=-np.inf)
    by_rank = pairs.iloc[np.lexsort((pairs["rank"], pairs["query"]))]
    used = by_rank if by_ranks else pairs.iloc[np.lexsort((pairs["tied"], -score, pairs["query"]))]
    ended, notes = used.loc[used["item"] == end, "query"].nunique(), list[str]()
    if ended:
        wrong = set(_before_others(used, end)) & set(_before_others(by_rank, end))
        if wrong:
            what = f"query '{queries[min(wrong)]}' has -1 before other items"
            raise BadInput(what, where=source.where, fix="leave -1 out, or write it only at the end of a list")
        used = used[used["item"] != end]
        notes = [f"{ended:,} of {count_of(len(queries), 'list')} end with -1 (the index found no more items)"]
    step, doubt = used.groupby("query", sort=False)[["number", "rank"]].diff(), ""
    if by_ranks:
        if (same := np.flatnonzero(step["rank"] == 0)).size:
            row, rows = used.iloc[same[0]], used.index[same[0] - 1 : same[0] + 1]
            query, rank = queries[int(row["query"])], int(row["rank"])
            what = f"query '{query}' has rank {rank} twice, in {_places(found, rows)}"
            fix = f"leave out rank: in {spell('run')}: the scores order the items"
            raise BadInput(what, where=source.where, fix=fix)
        notes.insert(0, "lists are ordered by the rank column only")
    elif scored:
        # Scores are distances if a smaller one never has a larger rank, and ranks if each list has 1, 2, 3, ...
        falls = step["number"].notna() & (step["number"] != 0)
        number = used.loc[falls, "query"].nunique()
        ascending = number - used.loc[falls & (step["rank"] >= 0), "query"].nunique()
        start = pairs.groupby("query")["number"].transform("first")
        counted = start.isin((0, 1)) & (pairs["number"] == start + pairs.groupby("query").cumcount())
        if not ranked and number and counted.all():
            doubt = "the numbers of every query are 1, 2, 3, ... in file order: they look like ranks"
        elif ranked and 2 * ascending > number:
            doubt = (
                f"the scores of {ascending:,} of {number:,} queries are smallest at rank 1: they look like distances"
            )
        note = "lists with scores and without ranks are ordered by score, then in file order"
        if source.order == "docid-desc":
            note = "lists are ordered by score in float32, then by descending id"
        elif ranked:
            first = used.groupby("query")["rank"].transform("first")
            agree = first.isin((0, 1)) & (used["rank"] == first + used.groupby("query").cumcount())
            note = "lists are ordered by the rank column, which agrees with the scores"
            if not agree.all():
                query = queries[used.loc[~agree, "query"].min()]
                note = f"lists are ordered by score, then rank: the ranks of query '{query}' contradict its scores"
        notes.insert(0, note)
    return used.copy(), ended, tuple(f"{Path(source.where).name}: {note}" for note in notes), doubt


def _before_others(lists: pd.DataFrame, end: int) -> Any:
    """The queries with lists that go on after the item ``end``."""
    after = lists.groupby("query", sort=False)["item"].shift(-1)
    return lists.loc[(lists["item"] == end) & after.notna() & (after != end), "query"]


def _number(value: Any, kind: Kind) -> float:
    """The number of a pair, NaN if it is not a number; true and false are grades of 1 and 0."""
    if kind is JUDGED and isinstance(value, str) and value.strip().lower() in _BOOLEANS:
        return _BOOLEANS[value.strip().lower()]
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _name(value: Any) -> str | None:
    """An id as text (integral floats as integers), or None if the value is not an id."""
    if isinstance(value, str):
        return value.strip()
    if type(value) is int:  # most ids: the checks below take long
        return str(value)
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole or (isinstance(value, Integral) and not isinstance(value, bool)) else None


def _rank(value: Any) -> int | None:
    """A rank, or None if the value is not an integer."""
    try:
        rank, exact = int(value), float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return rank if rank == exact and abs(rank) < 1 << 53 else None
