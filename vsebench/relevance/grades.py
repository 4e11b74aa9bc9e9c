"""Grades of judged pairs: which candidates are positives of a query, and the gains that the grades are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BadInput
from ..types import NONE, Bool, Both, Float, Int, Relevance, Vectors
from .gains import Gains, Values, offsets

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Grades:
    """The judged pairs of the queries of one side. Pairs with a grade of at least ``level`` are relevant.

    Attributes:
        name: of the judgements.
        inside: (query, gallery) float64 grades in ascending order of the items; an entry of 0 is a judged pair too.
        outside: (query, any) float64 grades of items that are not in the gallery.
        judged: (query,) whether the judgements cover a query, with or without positives.
        level: the smallest grade of a positive; compared in float32, as matrices are read.
        transposed: these are the pairs of the other side, so that most queries may be without a positive.
        notes: what was decided when they were read, one sentence each.
    """

    name: str
    inside: csr_array
    outside: csr_array
    judged: Bool
    level: float = 1.0
    transposed: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def positives(self) -> Relevance:
        """The positives of every query, as compressed rows; computed once."""
        level = np.float32(self.level)
        inside, outside = (_entries(x, x.data.astype(np.float32) >= level) for x in (self.inside, self.outside))
        found, missing = np.diff(inside.indptr), np.diff(outside.indptr)
        queries = np.flatnonzero(found + missing)
        without = np.flatnonzero(self.judged & (found + missing == 0))
        ptr = offsets(found[queries])
        return Relevance(self.name, queries, ptr, inside.indices, missing[queries], without)

    def turned(self) -> Grades:
        """The same pairs with the items as queries; judged are those that have a grade."""
        from scipy.sparse import csr_array

        inside = self.inside.T.tocsr()
        judged, outside = np.diff(inside.indptr) > 0, csr_array((inside.shape[0], 1))
        return replace(self, inside=inside, outside=outside, judged=judged)

    def part(self, queries: Int, items: Int) -> Grades:
        """Those of some queries and items alone: (query,) and (item,) int64 indices."""
        inside = self.inside[queries][:, items]
        inside.sort_indices()
        return replace(self, inside=inside, outside=self.outside[queries], judged=self.judged[queries])


def of_pairs(
    name: str, shape: tuple[int, int], query: Int, item: Int, grade: Float | None = None, judged: Int = NONE,
    where: str | Path | None = None,
) -> Grades:  # fmt: skip
    """The grades of judged pairs in any order.

    Args:
        name: of the judgements.
        shape: the numbers of queries and of items of the gallery.
        query: (pair,) int64 query indices.
        item: (pair,) int64 gallery indices, or -1 for an item that is not in the gallery.
        grade: (pair,) float64; 1 without it.
        judged: query indices that the judgements cover, with or without positives, in any order.
        where: the file, for errors.

    Raises:
        BadInput: a negative query, an item below -1, or a pair that occurs twice.
    """
    from scipy.sparse import csr_array

    query, item = np.asarray(query, np.int64), np.asarray(item, np.int64)
    grade = np.ones(len(query)) if grade is None else grade
    if len(query) and (query.min() < 0 or item.min() < -1):
        raise BadInput(f"judgements '{name}' hold negative indices", where=where, fix="count indices from 0")
    lost = np.flatnonzero(item < 0)
    outside = csr_array((grade[lost], (query[lost], np.arange(len(lost)))), shape=(shape[0], max(len(lost), 1)))
    if len(lost):
        kept = np.flatnonzero(item >= 0)
        query, item, grade = query[kept], item[kept], grade[kept]
    inside = csr_array((grade, (query, item)), shape=shape)
    if inside.nnz < len(item):
        places, count = np.unique(query * shape[1] + item, return_counts=True)
        first, twice = divmod(int(places[count > 1][0]), shape[1])
        what = f"judgements '{name}' list item {twice} twice for query {first}"
        raise BadInput(what, where=where, fix="list every positive once")
    covered = np.zeros(shape[0], np.bool_)
    covered[judged] = True
    return Grades(name, inside, outside, covered)


def _entries(matrix: csr_array, kept: Bool) -> csr_array:
    """The matrix with some of its entries alone."""
    from scipy.sparse import csr_array

    if kept.all():
        return matrix
    ptr = offsets(kept)[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], ptr), shape=matrix.shape)


@dataclass(frozen=True, eq=False)
class Entries:
    """(query, gallery) numbers of some pairs, in ascending order of the items, to be found by pair."""

    matrix: csr_array

    @cached_property
    def places(self) -> Int:
        """(entry,) int64 query * gallery + item, ascending."""
        queries, gallery = self.matrix.shape
        query = np.repeat(np.arange(queries, dtype=np.int64), np.diff(self.matrix.indptr))
        return np.asarray(query * gallery + self.matrix.indices, np.int64)

    def of(self, query: Int, item: Int, other: float) -> Float:
        """(pair,) float64 numbers, ``other`` of pairs that are not among these."""
        wanted = query * self.matrix.shape[1] + item
        if not len(self.places):
            return np.full(wanted.shape, other)
        at = np.searchsorted(self.places, wanted).clip(max=len(self.places) - 1)
        return np.where(self.places[at] == wanted, self.matrix.data[at], other)


@dataclass(frozen=True, eq=False)
class Sparse(Values):
    """Gains of rows, and others of columns, which may have been judged apart; 0 where nothing is judged."""

    of: Both[Entries]

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        return np.asarray(self.of[0].matrix[start:stop].toarray(), np.float32)

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """See ``Values.pairs``."""
        return self.of[0].of(rows, columns, 0.0).astype(np.float32)

    @property
    def T(self) -> Sparse:
        """See ``Values.T``."""
        return Sparse(self.of[::-1])


def as_gains(name: str, grades: Both[Grades]) -> Gains:
    """Grades of both sides as gains: linear in the grade, as in trec_eval, and 0 of negative grades.

    Positives that are not in the gallery have no gain: ideal gains are those of the gallery. A query without positives
    in the gallery has no value.
    """
    rows, columns = (Entries(_entries(one.inside, one.inside.data > 0)) for one in grades)
    digest = hashlib.sha256()
    for entries in (rows, columns):
        digest.update(entries.places.tobytes() + entries.matrix.data.tobytes())
    no_queries = np.diff(rows.matrix.indptr) == 0, np.diff(columns.matrix.indptr) == 0
    settings, values = {"sha256": digest.hexdigest()[:12]}, Sparse((rows, columns))
    return Gains(name, settings, rows.matrix.shape, values, lowest=0.0, no_queries=no_queries)
