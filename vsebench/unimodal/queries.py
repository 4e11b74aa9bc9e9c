"""Queries and gallery of an evaluation in one modality: queries are removed from the gallery unless they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError, count_of
from ..files.formats import expect, sniff
from ..files.ids import as_ids, match
from ..files.npy import npy_member
from ..files.textfile import read_text, text_lines
from ..log import note
from ..memory import text_array
from ..options import spell
from ..types import Ids, Int

MAX_DIGITS = 200  # longer numbers cannot be file names either


@dataclass(frozen=True, eq=False)
class Selection:
    """Queries and gallery of one evaluation, as item indices.

    Attributes:
        items: how many there are.
        queries: (query,) int64, in the order given.
        gallery: (gallery,) int64, ascending: all items where queries are kept, else the others.
        kept: queries are candidates in the lists of other queries.
    """

    items: int
    queries: Int
    gallery: Int
    kept: bool

    @property
    def depth(self) -> int:
        """The length of a complete list."""
        return len(self.gallery) - self.kept

    def self_index(self, rows: slice) -> Int | None:
        """(query,) gallery indices of some of the queries themselves, None if they are not in it."""
        return self.queries[rows] if self.kept else None


def select(n: int, queries: Int | None = None, keep: bool = False, where: str | Path | None = None) -> Selection:
    """Queries and gallery.

    Args:
        n: number of items.
        queries: (query,) item indices; None makes every item a query, which keeps the queries in the gallery.
        keep: keep the other queries in the gallery; a query is never in its own list.
        where: the file that names the queries, for messages.

    Raises:
        BadInput: no query, an index outside 0 to n - 1, a query named twice, or no candidate left.
    """
    kept = keep or queries is None
    chosen = np.arange(n) if queries is None else np.asarray(queries, np.int64)
    if not len(chosen):
        raise BadInput("has no query", where=where, fix="give at least one item")
    if chosen.min() < 0 or chosen.max() >= n:
        bad = int(chosen[(chosen < 0) | (chosen >= n)][0])
        raise BadInput(f"query {bad} is not a row of {n:,} items", where=where, fix="count rows from 0")
    found, count = np.unique(chosen, return_counts=True)
    if len(found) < len(chosen):
        raise BadInput(f"query {found[count > 1][0]} occurs twice", where=where, fix="give every query once")
    gallery = np.arange(n) if kept else np.setdiff1d(np.arange(n), chosen)
    if len(gallery) - kept < 1:
        fix = (
            "give at least two items"
            if kept
            else f"give fewer queries, or leave them in the gallery ({spell('keep_queries', True)})"
        )
        scope = f"of {count_of(n, 'item')}"
        raise BadInput(
            f"{count_of(len(chosen), f'query {scope} leaves', f'queries {scope} leave')} nothing to retrieve",
            where=where,
            fix=fix,
        )
    return Selection(n, chosen, gallery, kept)


def first_queries(count: int, n: int) -> Int:
    """The indices of the first ``count`` of ``n`` items, (query,); raises UsageError unless 1 <= count < n."""
    if not 1 <= count < n:
        raise UsageError(f"{spell('queries')} is {count} for {count_of(n, 'item')}", fix=f"use 1 to {n - 1}, or a file")
    return np.arange(count)


def query_indices(queries: npt.NDArray[Any], n: int, where: Path | None = None) -> Int:
    """Item indices as they are, or the indices of true (item,) truth values; raises BadInput."""
    if queries.dtype != np.bool_:
        if len(queries) and queries.dtype.kind not in "iu":
            raise BadInput(f"queries are {queries.dtype}", where=where, fix="give item indices or truth values")
        return queries
    if queries.shape != (n,):
        raise BadInput(f"holds {queries.shape} truth values for {n:,} items", where=where, fix="save one per item")
    return np.flatnonzero(queries)


def read_queries(text: str, n: int, ids: Ids | None) -> Int:
    """The queries of ``--queries``, as (query,) item indices.

    Args:
        text: a number N (the first N items), or a file: .npy of ids, row numbers or one boolean an item; or text with
            one id or row number a line.
        n: number of items.
        ids: (item,) ids of the items; without them a file holds row numbers.

    Raises:
        BadInput: no such file, not ids, or an id that no item has.
        UsageError: N is not from 1 to n - 1.
    """
    if text.isdecimal() and len(text) < MAX_DIGITS and not Path(text).exists():
        return first_queries(int(text), n)
    path = Path(text)
    kind = sniff(path)
    readable = kind.name in ("npy", "text")
    expect(path, kind, readable, "a list of queries", "give .npy, or text with one id per line")
    if kind.name == "npy":
        member = npy_member(path)
        if member.dtype == "bool":
            return query_indices(member.load(), n, path)
        named = as_ids(member.load(), "queries", path)
    else:
        try:
            row_of = [line.strip() for line in text_lines(read_text(path))]
        except BadInput as error:
            raise BadInput(error.what, where=path, fix="give one id or row number per line") from error
        named = as_ids(text_array([w for w in row_of if w], "queries", path), "queries", path)
    if ids is None:
        if named.dtype.kind != "i":
            raise BadInput(
                f"has the id '{named[0]}', but the items have no ids", where=path, fix="give row numbers from 0"
            )
        return np.asarray(named, np.int64)
    return locate(ids, named, path)


def locate(ids: Ids, named: Ids, where: str | Path) -> Int:
    """(named,) the position of each of ``named`` in ``ids``; BadInput names the first that is absent."""
    found, how = match(named, ids)
    note(f"{Path(where).name}: ids are matched {how}" if how else "", weight="detail")
    absent = np.flatnonzero(found < 0)
    if len(absent):
        problem = f"{len(absent):,} of {len(named):,} ids are not among the {len(ids):,} items"
        fix = "use the ids in the file of embeddings"
        raise BadInput(f"{problem} (first: {named[absent[0]]})", where=where, fix=fix)
    return found
