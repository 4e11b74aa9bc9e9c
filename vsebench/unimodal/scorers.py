"""What orders the items of one modality: inner products, or negated squared distances."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import frozen
from ..errors import BadInput, UsageError
from ..rank.order import UNDERFLOW_MARGIN, order
from ..rank.scorers import Dot, Scorer, Some, product_bound
from ..types import SAFE_LENGTH, Float, Int, Vectors

SIMILARITIES = ("euclidean", "cosine", "dot")


class Distance(Dot):
    """Half of the squared Euclidean distance of float32 vectors, negated.

    The canonical score of a pair is a float64 sum of squared differences in one fixed order. Tiles are
    ``x.y - |x|^2 / 2 - |y|^2 / 2``.

    Raises:
        BadInput: a vector is so long that products of float32 numbers would overflow.
    """

    def __post_init__(self) -> None:
        longest = float(np.sqrt(max(x.max() for x in self.squares)))
        if not longest <= SAFE_LENGTH[1]:
            what = f"a vector has length {longest:.3g}, and lengths up to {SAFE_LENGTH[1]:g} can be ranked exactly"
            raise BadInput(what, fix="scale the vectors")

    @property
    def name(self) -> str:
        """As in the signature."""
        return "euclidean"

    @cached_property
    def squares(self) -> tuple[Float, Float]:
        """(row,) and (column,) float64 squared lengths."""
        x, y = (np.einsum("ij,ij->i", x, x, dtype=np.float64) for x in (self.x, self.y))
        return x, y

    @cached_property
    def lengths(self) -> tuple[Float, Float]:
        """(row,) and (column,) float64 factors with products of at least ``(|x| + |y|)^2`` for any pair."""
        x, y = map(np.sqrt, self.squares)
        return x + y.max(), y + x.max()

    @cached_property
    def error(self) -> Float:
        """(row,) bounds of the product, of the rounding of the squared lengths and of the differences.

        The last terms cover the rounding of the canonical score itself and what float32 numbers lose in underflow.
        """
        x, y = map(np.sqrt, self.squares)
        return np.asarray((0.5 * product_bound(self.x.shape[1]) + 2.0**-40) * (x + y.max()) ** 2 + UNDERFLOW_MARGIN)

    @property
    def T(self) -> Distance:
        """The distances of the columns from the rows."""
        return Distance(self.y, self.x)

    def tile(
        self, rows: Some, columns: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(row, column) float32 scores, or float64 ones with ``wide``."""
        found = super().tile(rows, columns, out, wide=wide)
        found -= (0.5 * self.squares[1][columns]).astype(found.dtype)
        found -= (0.5 * self.squares[0][rows, None]).astype(found.dtype)
        return found

    def take(self, rows: Some, columns: Some) -> Distance:
        """The scores of some rows with some columns."""
        return Distance(self.x[rows], self.y[columns])

    def pairs(self, rows: Int, columns: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""
        from .kernels import pair_squares

        found = np.empty(len(rows))
        pair_squares(frozen(self.x), frozen(self.y), rows, columns, found)
        return -0.5 * found


def scorer_of(queries: Vectors, gallery: Vectors, similarity: str) -> Scorer:
    """The scores of queries (rows) with the items of a gallery.

    Args:
        queries, gallery: (item, dim) float32, finite.
        similarity: of ``SIMILARITIES``.

    Raises:
        UsageError: an unknown similarity.
        BadInput: a vector outside the range of exact products; of length zero for cosine and dot.
    """
    if similarity not in SIMILARITIES:
        raise UsageError(f"similarity is '{similarity}'", fix=f"use {', '.join(SIMILARITIES)}")
    return Distance(queries, gallery) if similarity == "euclidean" else Dot(queries, gallery, similarity == "cosine")


def nearest(scorer: Scorer, queries: Int, k: int, self_index: Int | None) -> Int:
    """(query, k) gallery indices of the k best items of some queries, best first; ties in the order of the gallery.

    Args:
        scorer: of ``scorer_of``.
        queries: (query,) rows, ascending.
        k: from 1 to the number of candidates.
        self_index: (query,) gallery index of the query, which is not a candidate; None if no query is in the gallery.
    """
    found = order(scorer, queries, k + (self_index is not None))
    found = found if self_index is None else found.keep(found.entries != np.repeat(self_index, k + 1)).cut(k)
    return found.items.astype(np.int64)
