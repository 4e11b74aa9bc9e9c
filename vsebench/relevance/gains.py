"""Graded relevance: gains of every image and caption, and specifications of gains.

Gains are a matrix with one row an image and one column a caption of a split, 125 million numbers at the size of COCO
5K. The matrix is never stored: rows, columns and pairs are computed on request. The value of a pair does not depend on
the side of the queries (``Gains`` or its ``T``), the block, the thread or the method (``rows`` or ``at``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..files.regular import expanded
from ..log import note
from ..types import NO_INDICES, Bool, Both, Candidates, Float, Int, Relevance, Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Values(Protocol):
    """The numbers of a kind of gains, some with their own ``columns`` or ``T``. Threads may share them."""

    def rows(self, start: int, stop: int) -> Vectors:
        """(row, column) float32 gains of rows ``start:stop`` with all columns, a new array.

        Runs on the calling thread, and releases the interpreter lock for long work.
        """

    def columns(self, start: int, stop: int) -> Vectors:
        """(column, row) float32 gains of columns ``start:stop`` with all rows, as ``rows``."""
        return self.T.rows(start, stop)

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """(pair,) float32 gains of rows and columns, a new array, bit for bit equal to ``rows`` and ``columns``."""

    @property
    def T(self) -> Values:
        """The same numbers, rows and columns exchanged."""
        return _Turned(self)


@dataclass(frozen=True, eq=False)
class _Turned(Values):
    """Transposed values."""

    values: Values

    def rows(self, start: int, stop: int) -> Vectors:
        return self.values.columns(start, stop)

    def columns(self, start: int, stop: int) -> Vectors:
        return self.values.rows(start, stop)

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        return self.values.pairs(columns, rows)

    @property
    def T(self) -> Values:
        return self.values


@dataclass(frozen=True, eq=False)
class Replaced(Values):
    """Values with ``gains`` (column,) float32 gains of every column with its ``row`` (column,) int64."""

    values: Values
    row: Int
    gains: Vectors

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        out, columns = self.values.rows(start, stop), np.flatnonzero((self.row >= start) & (self.row < stop))
        out[self.row[columns] - start, columns] = self.gains[columns]
        return out

    def columns(self, start: int, stop: int) -> Vectors:
        """See ``Values.columns``."""
        out = self.values.columns(start, stop)
        out[np.arange(stop - start), self.row[start:stop]] = self.gains[start:stop]
        return out

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """See ``Values.pairs``."""
        out, mine = self.values.pairs(rows, columns), np.flatnonzero(self.row[columns] == rows)
        out[mine] = self.gains[columns[mine]]
        return out


@dataclass(frozen=True, eq=False)
class Gains:
    """Graded relevance of every item of the gallery for every query: columns for rows, and of ``T`` rows for columns.

    Attributes:
        name: the view in a metric's name, e.g. ``cider`` in ``cider:NCS@10``.
        settings: everything that changes a value, in a fixed order, for the signature.
        shape: (queries, gallery).
        values: computes them; indices are checked here.
        lowest: the smallest gain, or a lower bound, when it is known without computing every pair; else None.
        rows_affordable: whether ``rows`` may be called; False if all pairs of this split would take hours.
        of_judgements: every gain is 0 or 1: these are judgements, among which no m items have the largest gains.
        negative_is_zero: whether gains below zero count as zero.
        no_queries: (query,) bool, queries without a value in any metric, also for ``T``; None without any.
        outside: (query, any) gains above 0 of items that cannot be retrieved, also for ``T``: they are among the
            ideal ones. None without any.
    """

    name: str
    settings: Mapping[str, str]
    shape: tuple[int, int]
    values: Values
    lowest: float | None = None
    rows_affordable: bool = True
    of_judgements: bool = False
    negative_is_zero: bool = False
    no_queries: Both[Bool | None] = (None, None)
    outside: Both[csr_array | None] = (None, None)

    @property
    def T(self) -> Gains:
        """The same gains with the columns as queries."""
        shape, none, outside = self.shape[::-1], self.no_queries[::-1], self.outside[::-1]
        return replace(self, shape=shape, values=self.values.T, no_queries=none, outside=outside)

    @property
    def no_query(self) -> Bool | None:
        """(query,) bool, the queries that no metric has a value of; None without any."""
        return self.no_queries[0]

    def rows(self, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop`` with the complete gallery, a new array.

        Raises:
            UsageError: no such queries, or all pairs of this split would take hours.
        """
        n = self.shape[0]
        if not 0 <= start <= stop <= n:
            raise UsageError(f"rows {start}:{stop} of {n} queries", fix=f"ask for rows within 0:{n}")
        if not self.rows_affordable:
            what = f"{self.name} of all {n:,} x {self.shape[1]:,} pairs would take hours"
            fix = "ask for pairs with at(), or take another relevance, such as cider or sentence"
            raise UsageError(what, fix=fix)
        out = self.values.rows(start, stop)
        return np.maximum(out, np.float32(0)) if self.negative_is_zero else out

    def at(self, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``queries`` (query,) with ``items`` (query, k); bit for bit equal to ``rows``.

        Raises:
            UsageError: an index is out of range, or the shapes do not match.
        """
        queries, items = np.asarray(queries, np.int64), np.asarray(items, np.int64)
        if items.ndim != 2 or queries.shape != items.shape[:1]:
            what = f"items of shape {items.shape} for queries of shape {queries.shape}"
            raise UsageError(what, fix="give (query, k)")
        pairs = np.repeat(queries, items.shape[1]), items.ravel()
        for what, index, n in zip(("query", "item"), pairs, self.shape, strict=True):
            if len(index) and not 0 <= int(index.min()) <= int(index.max()) < n:
                worst = int(index.min()) if int(index.min()) < 0 else int(index.max())
                raise UsageError(f"{what} {worst} of {n}", fix=f"give indices from 0 to {n - 1}")
        out = self.values.pairs(*pairs)
        return (np.maximum(out, np.float32(0)) if self.negative_is_zero else out).reshape(items.shape)

    def without_negative(self) -> Gains:
        """The same gains, those below zero counted as zero, for metrics that add gains up."""
        note("gains below zero count as zero (negative=zero)")
        return replace(self, settings={**self.settings, "negative": "zero"}, lowest=0.0, negative_is_zero=True)

    def among(self, candidates: Both[Candidates]) -> Gains:
        """Those of judgements: items that are not allowed cannot be retrieved, and excluded ones have no gain.

        Queries with all relevant items excluded have no value.
        """
        from scipy.sparse import hstack

        none, outside = list(self.no_queries), list(self.outside)
        for side, (limits, gains) in enumerate(zip(candidates, (self, self.T), strict=True)):
            left, lost = gains.values.matrices[0] if isinstance(gains.values, Sparse) else None, outside[side]
            if left is None or (limits.excluded is None and limits.allowed is None):
                continue
            left = left if limits.excluded is None else left - left * limits.excluded
            left.eliminate_zeros()
            none[side] = np.diff(left.indptr) + (0 if lost is None else np.diff(lost.indptr)) == 0
            if limits.allowed is not None:
                away = left - left * limits.allowed
                away.eliminate_zeros()
                outside[side] = away if lost is None else hstack([lost, away], format="csr")
        return replace(self, no_queries=(none[0], none[1]), outside=(outside[0], outside[1]))

    def outside_of(self, queries: Int) -> Vectors:
        """(query, most) float32 gains of the items that cannot be retrieved, in descending order; 0 behind the last."""
        if (outside := self.outside[0]) is None:
            return np.zeros((len(queries), 0), np.float32)
        rows = outside[queries]
        size, out = np.diff(rows.indptr), np.zeros((len(queries), int(np.diff(rows.indptr).max(initial=0))), np.float32)
        out[np.arange(out.shape[1]) < size[:, None]] = rows.data
        return -np.sort(-out, axis=1)


@dataclass(frozen=True)
class Spec:
    """Which gains are meant, for example ``cider``, ``sentence:all-MiniLM-L6-v2:own=one`` or ``gains.npy``."""

    kind: str  # the name of a source, or of judgements of the user
    argument: str | None  # a model or a file
    settings: Mapping[str, str]  # the ``key=value`` parts
    values: Any = field(default=None, compare=False, repr=False)  # a matrix or judgements in memory

    @property
    def path(self) -> Path | None:
        """The argument as a file."""
        return None if self.argument is None else expanded(self.argument)

    @property
    def holds(self) -> str:
        """The stated content of custom judgements: ``i2t``, ``t2i`` or ``labels``; empty if not stated."""
        return self.settings.get("holds", "")

    @property
    def what(self) -> str:
        """Judgements of the user, for messages."""
        return f"judgements '{self.kind}'"


def captions_of(image_of: Int, images: int) -> tuple[Int, Int]:
    """(image + 1,) starts and (caption,) captions of every image, in order."""
    return offsets(np.bincount(image_of, minlength=images)), np.argsort(image_of, kind="stable")


def offsets(lengths: npt.NDArray[Any]) -> Int:
    """(n + 1,) int64 row pointers of ragged lists with these lengths."""
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


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
        notes: decisions made when they were read, one sentence each.
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
        inside, outside = (_kept(x, x.data.astype(np.float32) >= level) for x in (self.inside, self.outside))
        found, missing = np.diff(inside.indptr), np.diff(outside.indptr)
        queries = np.flatnonzero(found + missing)
        without = np.flatnonzero(self.judged & (found + missing == 0))
        ptr = offsets(found[queries])
        return Relevance(self.name, queries, ptr, inside.indices, missing[queries], without)

    def turned(self) -> Grades:
        """The same pairs with the items as queries; the judged queries are those with a grade."""
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
    name: str, shape: tuple[int, int], query: Int, item: Int, grade: Float | None = None, judged: Int = NO_INDICES,
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


def _kept(matrix: csr_array, kept: Bool) -> csr_array:
    """The matrix with some of its entries alone."""
    from scipy.sparse import csr_array

    if kept.all():
        return matrix
    ptr = offsets(kept)[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], ptr), shape=matrix.shape)


@dataclass(frozen=True, eq=False)
class Sparse(Values):
    """Sparse gains, one matrix a direction, as the directions may be judged separately; 0 of pairs nobody judged."""

    matrices: Both[csr_array]

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        return np.asarray(self.matrices[0][start:stop].toarray(), np.float32)

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """See ``Values.pairs``."""
        return entries_of(self.matrices[0], rows, columns).astype(np.float32)

    @property
    def T(self) -> Sparse:
        """See ``Values.T``."""
        return Sparse(self.matrices[::-1])


def entries_of(matrix: csr_array, rows: Int, columns: Int) -> npt.NDArray[Any]:
    """(pair,) entries of a matrix, 0 for none."""
    return np.asarray(matrix[rows, columns]) if len(rows) else np.zeros(0, matrix.dtype)  # without an index: a matrix


def as_gains(name: str, grades: Both[Grades]) -> Gains:
    """Grades of both sides as gains: linear in the grade, as in trec_eval, and 0 of negative grades.

    Positives that are not in the gallery are among the ideal gains, and a query that has no others has the value 0. A
    query without positives has none.
    """
    rows, columns = (_kept(one.inside, one.inside.data > 0) for one in grades)
    digest = hashlib.sha256()
    for matrix in (rows, columns):
        place = (
            np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr)) * matrix.shape[1]
            + matrix.indices
        )
        digest.update(place.tobytes() + matrix.data.tobytes())
    of_rows, of_columns = (_kept(one.outside, one.outside.data > 0) for one in grades)
    outside = of_rows if of_rows.nnz else None, of_columns if of_columns.nnz else None
    none = (np.diff(x.indptr) + np.diff(away.indptr) == 0 for x, away in ((rows, of_rows), (columns, of_columns)))
    no_queries = next(none), next(none)
    settings, values = {"sha256": digest.hexdigest()[:12]}, Sparse((rows, columns))
    return Gains(name, settings, rows.shape, values, lowest=0.0, no_queries=no_queries, outside=outside)
