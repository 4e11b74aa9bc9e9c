"""The TREC run format: ``query Q0 item rank score tag``, one retrieved item a line; or ``query item score`` alone.

Source: the format that trec_eval reads; as there, the score decides the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

from ...errors import BadInput, UsageError, count_of
from ...options import spell
from .raw import FileLists, Order, tied

_COLUMNS = "write six columns a line: query Q0 item rank score tag; or three: query item score"
_NO_NUMBERS = ("nan", "inf", "infinity")  # scores, which are refused, and no words of a heading
_LONGEST_LINE = 65536  # characters
_Row = tuple[float, int, int, str]  # minus score, rank, line number, item: sorts best first


def read_trec(stream: IO[str], where: Path, order: Order = "score") -> FileLists:
    """Retrieved lists of a TREC run, as ``parse_trec`` returns them.

    Raises:
        BadInput: as ``parse_trec``, or a line is longer than 65,536 characters.
    """
    return parse_trec(_lines(stream, where), where, order)


def parse_trec(lines: Iterable[str], where: Path, order: Order = "score") -> FileLists:
    """Retrieved lists of the lines of a TREC run, without a direction; a note on their order.

    Lines have six columns, or three (query, item and score; a heading is skipped), which have no ranks. Items are
    ordered by descending score, equal scores by rank, then by line. Where the ranks of every query
    count from 0 or 1 without gaps and never contradict the scores, this is the order of the rank column. Where the
    scores of most queries ascend with the rank, they are likely distances: a doubt says so. With the ``order`` rank,
    the rank column alone orders the items.

    Raises:
        BadInput: a line has another number of columns, a rank or score is not a number, an item occurs twice
            for one query, the text holds binary data, or there are no lines.
        UsageError: the ``order`` rank for lines without ranks.
    """
    rows: dict[str, list[_Row]] = {}
    width = 0
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        if "\0" in line:
            raise BadInput(f"line {number} holds binary data", where=where, fix=_COLUMNS)
        if not width:
            width = 3 if len(parts) == 3 else 6
            if width == 3 and number == 1 and parts[2].isalpha() and parts[2].lower() not in _NO_NUMBERS:
                continue  # a heading
        try:
            row = _row(parts, number, width, len(rows.get(parts[0], ())))
        except ValueError:
            raise _bad_line(parts, number, where, width) from None
        if not math.isfinite(row[0]):
            raise _bad_line(parts, number, where, width)
        rows.setdefault(parts[0], []).append(row)
    if not rows:
        raise BadInput("holds no lines", where=where, fix=_COLUMNS)
    if width == 3 and order == "rank":
        what = f"{spell('run_order', 'rank')} has no meaning for lines of query, item and score, which have no ranks"
        raise UsageError(what, where=where, fix="leave it out: the scores order the items")
    lists: dict[str, list[str]] = {}
    equal: dict[str, list[int]] = {}
    contradicts: str | None = None
    ascending = differing = 0
    for query, found in rows.items():
        _refuse_repeated(query, found, where)
        found.sort()
        if found[0][0] != found[-1][0] and width == 6:
            differing += 1
            ascending += _ascends_with_rank(found)
        if order == "rank":
            _refuse_repeated(query, found, where, by_rank=True)
            found.sort(key=lambda row: row[1])
        lists[query] = [item for _, _, _, item in found]
        if positions := tied([row[0] for row in found]):
            equal[query] = positions
        if contradicts is None and width == 6 and not _ranks_agree(found):
            contradicts = query
    doubt = None
    note = "lists are ordered by the rank column, which agrees with the scores"
    if width == 3:
        note = "lists of query, item and score are ordered by score, then by line"
    elif order == "rank":
        note = "lists are ordered by the rank column alone"
    elif 2 * ascending > differing:
        doubt = f"the scores of {ascending:,} of {differing:,} queries are smallest at rank 1: they look like distances"
    if order == "score" and contradicts is not None:
        note = f"lists are ordered by score, then rank: the ranks of query '{contradicts}' contradict its scores"
    return FileLists({"": lists}, {"": equal}, (note,), doubt)


def write_trec(
    stream: IO[str], queries: Sequence[int | str], items: Iterable[Sequence[int | str]],
    scores: Iterable[Sequence[float]], where: Path,
) -> None:  # fmt: skip
    """Write retrieved lists as a TREC run that ``read_trec`` reads back in the same order, with the same ties.

    Args:
        stream: where to write.
        queries: ids.
        items: of every query the ids of the retrieved items, best first.
        scores: of every query the scores of these items, descending; written so that they read back exactly.
        where: the file, for messages.

    Raises:
        UsageError: an id has white space, which separates the columns.
    """
    known: dict[int | str, str] = {}  # a caption is retrieved by many images
    for query, found, own in zip(queries, items, scores, strict=True):
        for name in (query, *found):
            if name not in known:
                known[name] = _word(name, where)
        head = known[query]
        stream.writelines(
            f"{head} Q0 {known[item]} {rank} {score!r} vsebench\n"
            for rank, (item, score) in enumerate(zip(found, own, strict=True), 1)
        )


def _word(name: int | str, where: Path) -> str:
    text = str(name)
    if text.split() != [text]:
        what = f"the id {text!r} has white space or is empty, and columns of a TREC run are separated by white space"
        raise UsageError(what, where=where, fix="end the name in .json")
    return text


def _lines(stream: IO[str], where: Path) -> Iterator[str]:
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            what = f"line {number} is longer than {_LONGEST_LINE:,} characters"
            raise BadInput(what, where=where, fix="give a TREC run")
        yield line


def _ranks_agree(ordered: list[_Row]) -> bool:
    first = ordered[0][1]
    return first in (0, 1) and all(row[1] == first + at for at, row in enumerate(ordered))


def _ascends_with_rank(ordered: list[_Row]) -> bool:
    """Whether a smaller score never has a larger rank; ``ordered`` is by descending score, with two scores at least."""
    ranks = [row[1] for row in ordered]
    return all(b[1] < a[1] for a, b in pairwise(ordered) if a[0] != b[0]) and len(set(ranks)) > 1


def _row(parts: list[str], number: int, width: int, before: int) -> _Row:
    """One line; ``before``: how many lines its query has before it. Raises ValueError."""
    if len(parts) != width:
        raise ValueError
    if width == 3:
        return -float(parts[2]), before + 1, number, parts[1]
    _, _, item, rank, score, _ = parts
    return -float(score), int(rank), number, item


def _bad_line(parts: list[str], number: int, where: Path, width: int) -> BadInput:
    if len(parts) != width:
        what = f"line {number} has {count_of(len(parts), 'column')}, expected {width}: {' '.join(parts)[:80]!r}"
    elif width == 3 or _is_integer(parts[3]):
        what = f"line {number}: score '{parts[2 if width == 3 else 4][:40]}' is not a finite number"
    else:
        what = f"line {number}: rank '{parts[3][:40]}' is not an integer"
    return BadInput(what, where=where, fix=_COLUMNS)


def _is_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _refuse_repeated(query: str, found: list[_Row], where: Path, by_rank: bool = False) -> None:
    """Refuse an item that occurs twice in the list of a query, or a rank that does."""
    first: dict[str | int, int] = {}
    for _, rank, number, item in sorted(found, key=lambda row: row[2]):
        name = rank if by_rank else item
        if name in first:
            has = f"has rank {rank}" if by_rank else f"lists item '{item}'"
            fix = "keep each item once a query: a repeated one would count twice"
            if by_rank:
                fix = f"leave out {spell('run_order', 'rank')}: the scores order the items"
            what = f"query '{query}' {has} twice, in lines {first[name]} and {number}"
            raise BadInput(what, where=where, fix=fix)
        first[name] = number
