"""Graded relevance: gains of every image and caption, and a specification of which gains are meant.

Gains are a matrix with one row an image and one column a caption of a split, 125 million numbers at the size of COCO
5K. The matrix is never stored: rows, columns and pairs are computed on request. The value of a pair does not depend on
the side of the queries (``Gains`` or its ``T``), the block, the thread or the method (``rows`` or ``at``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..files.regular import expanded
from ..log import note
from ..types import Bool, Both, Int, Vectors

Progress = Callable[[float], None]  # called with the fraction of the work that is done, 0 to 1


class Values(Protocol):
    """The numbers of a kind of gains, which have ``columns`` or ``T`` of their own. Threads may share them."""

    def rows(self, start: int, stop: int) -> Vectors:
        """(row, column) float32 gains of rows ``start:stop`` with all columns, a new array.

        Runs on the calling thread, without the interpreter lock where it takes long.
        """

    def columns(self, start: int, stop: int) -> Vectors:
        """(column, row) float32 gains of columns ``start:stop`` with all rows, as ``rows``."""
        return self.T.rows(start, stop)

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """(pair,) float32 gains of rows and columns, a new array, bit for bit those of ``rows`` and ``columns``."""

    @property
    def T(self) -> Values:
        """The same numbers, rows and columns exchanged."""
        return _Turned(self)


@dataclass(frozen=True, eq=False)
class _Turned(Values):
    """Values whose rows are the columns of others."""

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
    """Values with ``own`` (column,) float32 gains of every column with its ``row`` (column,) int64."""

    values: Values
    row: Int
    own: Vectors

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        out, columns = self.values.rows(start, stop), np.flatnonzero((self.row >= start) & (self.row < stop))
        out[self.row[columns] - start, columns] = self.own[columns]
        return out

    def columns(self, start: int, stop: int) -> Vectors:
        """See ``Values.columns``."""
        out = self.values.columns(start, stop)
        out[np.arange(stop - start), self.row[start:stop]] = self.own[start:stop]
        return out

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """See ``Values.pairs``."""
        out, mine = self.values.pairs(rows, columns), np.flatnonzero(self.row[columns] == rows)
        out[mine] = self.own[columns[mine]]
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
        rows_affordable: whether ``rows`` may be called; False where all pairs of this split would take hours.
        of_judgements: every gain is 0 or 1: these are judgements, among which no m items have the largest gains.
        negative_is_zero: whether gains below zero count as zero.
        no_queries: (query,) bool, the queries that no metric has a value of, and those of ``T``; None without any.
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

    @property
    def T(self) -> Gains:
        """The same gains with the columns as queries."""
        return replace(self, shape=self.shape[::-1], values=self.values.T, no_queries=self.no_queries[::-1])

    @property
    def no_query(self) -> Bool | None:
        """(query,) bool, the queries that no metric has a value of; None without any."""
        return self.no_queries[0]

    def rows(self, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop`` with the complete gallery, a new array.

        Raises:
            UsageError: no such queries.
        """
        n = self.shape[0]
        if not 0 <= start <= stop <= n:
            raise UsageError(f"rows {start}:{stop} of {n} queries", fix=f"ask for rows within 0:{n}")
        out = self.values.rows(start, stop)
        return np.maximum(out, np.float32(0)) if self.negative_is_zero else out

    def at(self, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``queries`` (query,) with ``items`` (query, k); bit for bit those of ``rows``.

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
        """What judgements of the user are said to be of: ``i2t``, ``t2i`` or ``labels``; empty if nothing is said."""
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
