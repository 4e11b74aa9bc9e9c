"""Distances of items by their labels: Euclidean and given ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, count_of
from ..types import Float, Int
from .queries import Selection

Array = npt.NDArray[Any]
CHUNK_NUMBERS = 1 << 21  # read at a time, so that a memory-mapped file is never copied completely
TOLERANCE = 1e-6  # of the largest distance: rounding of a symmetric matrix with a zero diagonal


Rows = Callable[[Selection, slice], Float]  # (query, gallery) distances of some of the queries, in a new array
Lists = Callable[[Selection, slice, Int], tuple[Float, Float]]


@dataclass(frozen=True, eq=False)
class LabelDistance:
    """Distances of labels, 0 or more; more similar items have smaller distances.

    Attributes:
        name: the kind and everything that can change a digit, for the signature: ``euclidean#3f2a9c01``.
        measure: function of queries and their lists, (query, k) gallery indices; gives two (query, k) float64 arrays:
            the distances of the items of the lists, and the k smallest distances of each query, ascending. May be
            called from several threads at once.
        labels: their number; None if ``measure`` checks the number of items.
        where: the file, for messages.
        notes, warnings: for the report.
    """

    name: str
    measure: Lists
    labels: int | None
    where: str | Path | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def check(self, items: int) -> None:
        """Refuse another number of labels than items; raises BadInput."""
        if self.labels is not None and self.labels != items:
            what = f"holds {count_of(self.labels, 'label')} for {count_of(items, 'item')}"
            raise BadInput(what, where=self.where, fix="give one label per item")


def of_items(between: Callable[[Int, Int], Float]) -> Lists:
    """``LabelDistance.measure``, from (query, gallery) distances of (query,) and (gallery,) items, in a new array."""
    return of_rows(lambda chosen, rows: between(chosen.queries[rows], chosen.gallery))


def of_rows(distances: Rows) -> Lists:
    """``LabelDistance.measure``, from complete rows of distances."""

    def measure(chosen: Selection, rows: slice, lists: Int) -> tuple[Float, Float]:
        found, self_index, k = distances(chosen, rows), chosen.self_index(rows), lists.shape[1]
        retrieved = np.take_along_axis(found, lists, axis=1)
        if self_index is not None:
            found[np.arange(len(self_index)), self_index] = np.inf
        return retrieved, np.sort(np.partition(found, k - 1, axis=1)[:, :k], axis=1)

    return measure


def euclidean(labels: npt.ArrayLike, where: str | Path | None = None) -> LabelDistance:
    """``|y_q - y_i|_2`` of label vectors such as poses (Kim et al., CVPR 2019, eq. 12), not squared.

    Args:
        labels: (item, ...) numbers; axes after the first are flattened.
        where: the file, for messages.

    Raises:
        BadInput: a NaN or infinite value, or one so large that its square overflows.
    """
    given = np.asarray(labels)
    flat = given.reshape(len(given), -1).astype(np.float64)
    bad = np.argwhere(~(np.abs(flat) < 1e150))
    if len(bad):
        row, column = bad[0]
        what = f"label {row} holds {flat[row, column]} in column {column}"
        raise BadInput(what, where=where, fix="give every item finite labels")

    def between(queries: Int, gallery: Int) -> Float:
        from .kernels import label_distances

        out = np.empty((len(queries), len(gallery)))
        label_distances(flat[queries], np.ascontiguousarray(flat[gallery].T), out)
        return out

    return LabelDistance(f"euclidean#{fingerprint(flat)}", of_items(between), len(flat), where)


def classes(labels: npt.NDArray[Any], where: str | Path | None = None) -> LabelDistance:
    """0 for items of one class and sqrt(2) for others: the Euclidean distance of one-hot vectors.

    Args:
        labels: (item,) class of every item, numbers or strings.
        where: the file, for messages.

    Raises:
        BadInput: more than one number an item, or a missing one: NaN, or an empty string.
    """
    if labels.size != len(labels):
        what = f"labels have shape {labels.shape}, but an item has one class"
        raise BadInput(what, where=where, fix="save one class per item, or give label vectors as they are")
    flat = labels.ravel()
    lost = np.flatnonzero(flat == "" if flat.dtype.kind == "U" else np.isnan(flat.astype(np.float64)))
    if len(lost):
        raise BadInput(f"label {lost[0]} is missing ({len(lost):,} such)", where=where, fix="give every item a class")
    code = np.unique(flat, return_inverse=True)[1].astype(np.int64)

    def between(queries: Int, gallery: Int) -> Float:
        return np.asarray(np.sqrt(2.0) * (code[queries, None] != code[gallery]))

    counted = count_of(int(code.max()) + 1, "class", "classes")
    return LabelDistance(
        f"classes#{fingerprint(code)}", of_items(between), len(code), where, (f"labels are {counted}",)
    )


def precomputed(matrix: npt.ArrayLike, where: str | Path | None = None) -> LabelDistance:
    """Given distances.

    Args:
        matrix: (item, item), (query, item) or (query, gallery) numbers, one row a query; maybe memory-mapped. With
            fewer rows than items the rows are the queries in their order, with fewer columns the columns the gallery.
        where: the file, for messages.

    Raises:
        BadInput: not two-dimensional, or a NaN, infinite or negative value.
    """
    given = np.asarray(matrix)
    if given.ndim != 2:
        raise BadInput(f"distances have shape {given.shape}", where=where, fix="save (item, item), or (query, gallery)")
    largest = 0.0
    step = max(1, CHUNK_NUMBERS // given.shape[1])
    for start in range(0, len(given), step):
        block = given[start : start + step]
        bad = np.argwhere(~((block >= 0) & np.isfinite(block)))
        if len(bad):
            row, column = bad[0]
            value = block[row, column]
            what = "is negative" if value < 0 else "is not finite"
            raise BadInput(
                f"distance [{start + row}, {column}] = {value} {what}", where=where, fix="give distances of 0 or more"
            )
        largest = max(largest, float(block.max()))
    warnings = _square_warnings(given, largest, where) if given.shape[0] == given.shape[1] else ()

    def rows(chosen: Selection, some: slice) -> Float:
        items, queries, gallery = chosen.items, len(chosen.queries), len(chosen.gallery)
        if given.shape not in ((items, items), (queries, items), (queries, gallery)):
            sizes = f"there are {items:,} items, {queries:,} queries, {gallery:,} gallery items"
            fix = f"give {items} x {items}" + ("" if queries == items else f" or {queries} x {gallery}")
            raise BadInput(f"distances have shape {given.shape}; {sizes}", where=where, fix=fix)
        picked = given[chosen.queries[some] if len(given) == items else some]
        # A copy in any case: of the columns, or of the numbers.
        return (picked if given.shape[1] == gallery else picked[:, chosen.gallery]).astype(np.float64)

    return LabelDistance(f"precomputed#{fingerprint(given)}", of_rows(rows), None, where, (), warnings)


def _square_warnings(matrix: Array, largest: float, where: str | Path | None) -> tuple[str, ...]:
    """Warnings about the distances of items to each other; similarities given by mistake raise BadInput."""
    diagonal = np.diagonal(matrix).astype(np.float64)
    out = []
    if diagonal.max() > TOLERANCE * largest:
        row = int(diagonal.argmax())
        if len(matrix) > 1 and (diagonal >= TOLERANCE * largest).all() and (diagonal == matrix.max(axis=1)).all():
            raise BadInput(
                f"every row is largest on the diagonal (first: {diagonal[0]:g}): these are similarities, not distances",
                where=where,
                fix="save distances, for example 1 - similarity",
            )
        count = int((diagonal > TOLERANCE * largest).sum())
        counted = count_of(count, "item is", "items are")
        out.append(f"{counted} not at distance 0 from themselves (item {row}: {diagonal[row]:g})")
    step = max(1, CHUNK_NUMBERS // len(matrix))
    for start in range(0, len(matrix), step):
        apart = np.abs(np.subtract(matrix[start : start + step], matrix[:, start : start + step].T, dtype=np.float64))
        if apart.max() > TOLERANCE * largest:
            row, column = (int(x) for x in np.unravel_index(apart.argmax(), apart.shape))
            a, b = matrix[start + row, column], matrix[column, start + row]
            pair = f"[{start + row}, {column}] is {a:g} and [{column}, {start + row}] is {b:g}"
            out.append(f"distances are not symmetric: {pair}; the row is the query")
            break
    return tuple(out)


def fingerprint(array: Array) -> str:
    """Eight hexadecimal digits of the numbers of an array, its shape and its dtype."""
    digest = hashlib.sha256(f"{array.shape} {array.dtype.str}".encode())
    step = max(1, CHUNK_NUMBERS // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), step):
        digest.update(np.ascontiguousarray(array[start : start + step]).data)
    return digest.hexdigest()[:8]
