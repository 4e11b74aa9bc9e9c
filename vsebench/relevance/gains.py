"""Graded relevance: gains of every image and caption, and a specification of which gains are meant.

Gains are a matrix with one number for every image and caption of a split, 125 million of them at the size of COCO 5K.
The matrix is never stored: rows and pairs are computed on request. The value of a pair does not depend on the
direction, the block, the thread or the method (``rows`` or ``at``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..files.regular import expanded
from ..log import note
from ..types import Bool, Direction, Int, Split, Vectors

Progress = Callable[[float], None]  # called with the fraction of the work that is done, 0 to 1


class Values(Protocol):
    """The numbers of a kind of gains. Both methods may be called from several threads at once."""

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop`` with the complete gallery, a new array.

        Runs on the calling thread, without the interpreter lock where it takes long.
        """

    def pairs(self, direction: Direction, images: Int, captions: Int) -> Vectors:
        """(pair,) float32 gains of images and captions, a new array; ``direction`` says which of the two is the query.

        Bit for bit those of ``rows``, and the same in both directions.
        """


@dataclass(frozen=True, eq=False)
class Gains:
    """Graded relevance of every caption for every image of a split, and of every image for every caption.

    Attributes:
        name: the view in a metric's name, e.g. ``cider`` in ``cider:NCS@10``.
        settings: everything that changes a value, in a fixed order, for the signature.
        shape: (images, captions).
        values: computes them; indices are checked here.
        lowest: the smallest gain, or a lower bound, when it is known without computing every pair; else None.
        rows_affordable: whether ``rows`` may be called; False where all pairs of this split would take hours.
        own: (caption,) float32 gains of captions with their own images, in place of those of ``values``; with
            ``image_of`` (caption,) int64.
        of_judgements: every gain is 0 or 1: these are judgements, among which no m items have the largest gains.
        negative_is_zero: whether gains below zero count as zero.
        no_query: direction -> (query,) bool, the queries that no metric has a value of.
    """

    name: str
    settings: Mapping[str, str]
    shape: tuple[int, int]
    values: Values
    lowest: float | None = None
    rows_affordable: bool = True
    own: tuple[Vectors, Int] | None = None
    of_judgements: bool = False
    negative_is_zero: bool = False
    no_query: Mapping[Direction, Bool] = field(default_factory=dict)

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop`` with the complete gallery, a new array.

        Raises:
            UsageError: no such queries.
        """
        n = self.shape[0] if direction == "i2t" else self.shape[1]
        if not 0 <= start <= stop <= n:
            raise UsageError(f"rows {start}:{stop} of {n} queries ({direction})", fix=f"ask for rows within 0:{n}")
        out = self.values.rows(direction, start, stop)
        if self.own is not None:
            own, image_of = self.own
            if direction == "t2i":
                out[np.arange(stop - start), image_of[start:stop]] = own[start:stop]
            else:
                captions = np.flatnonzero((image_of >= start) & (image_of < stop))
                out[image_of[captions] - start, captions] = own[captions]
        return np.maximum(out, np.float32(0)) if self.negative_is_zero else out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``queries`` (query,) with ``items`` (query, k); bit for bit those of ``rows``.

        Raises:
            UsageError: an index is out of range, or the shapes do not match.
        """
        queries, items = np.asarray(queries, np.int64), np.asarray(items, np.int64)
        if items.ndim != 2 or queries.shape != items.shape[:1]:
            what = f"items of shape {items.shape} for queries of shape {queries.shape}"
            raise UsageError(what, fix="give (query, k)")
        query, item = np.repeat(queries, items.shape[1]), items.ravel()
        images, captions = (query, item) if direction == "i2t" else (item, query)
        for what, index, n in (("image", images, self.shape[0]), ("caption", captions, self.shape[1])):
            if len(index) and not 0 <= int(index.min()) <= int(index.max()) < n:
                worst = int(index.min()) if int(index.min()) < 0 else int(index.max())
                raise UsageError(f"{what} {worst} of {n}", fix=f"count {what}s from 0 to {n - 1}")
        out = self.values.pairs(direction, images, captions)
        if self.own is not None:
            own, image_of = self.own
            mine = np.flatnonzero(image_of[captions] == images)
            out[mine] = own[captions[mine]]
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
    def holds(self) -> Direction | Literal["labels", ""]:
        """What judgements of the user are said to be of: a direction, or class labels; empty where nothing is said."""
        return self.settings.get("holds", "")  # type: ignore[return-value]

    @property
    def what(self) -> str:
        """Judgements of the user, for messages."""
        return f"judgements '{self.kind}'"


def shape_of(split: Split, direction: Direction = "i2t") -> tuple[int, int]:
    """How many queries and items of the gallery a direction of a split has: images and captions in i2t."""
    images, captions = len(split.image_ids), len(split.caption_ids)
    return (images, captions) if direction == "i2t" else (captions, images)


def captions_of(image_of: Int, images: int) -> tuple[Int, Int]:
    """(image + 1,) starts and (caption,) captions of every image, in order."""
    return offsets(np.bincount(image_of, minlength=images)), np.argsort(image_of, kind="stable")


def offsets(lengths: npt.NDArray[Any]) -> Int:
    """(n + 1,) int64 row pointers of ragged lists with these lengths."""
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr
