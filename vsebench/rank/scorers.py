"""Scorers: the scores of all pairs of a row and a column, one tile at a time.

A scorer computes tiles in float32 (fast, with rounding errors) and single pairs in float64 (canonical), and bounds
the difference of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..arrays import frozen
from ..errors import BadInput
from ..numeric.parallel import default_threads, each, spread
from ..options import spell
from ..types import SAFE_LENGTH, Both, Embeddings, Float, Int, Vectors
from .kernels import pair_dots

UNIT_ROUNDOFF = 2.0**-24


def norms(x: Vectors) -> Float:
    """(item,) float64 Euclidean lengths of float32 rows, by the canonical product."""
    every, one = np.arange(len(x)), np.ones(len(x))
    return np.sqrt(exact_pairs(x, x, every, every, one, one, default_threads()))


def product_bound(dim: int) -> float:
    """Bound on the error of a float32 inner product of two unit vectors, for any order of summation.

    The standard bound gamma_n = n u / (1 - n u) on ``sum |x_k y_k| <= |x| |y|`` (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1), with eight more roundings for normalising.
    """
    n = (dim + 8) * UNIT_ROUNDOFF
    return n / (1.0 - n) if n < 1 else np.inf


def underflow_bound(dim: int) -> float:
    """What a float32 inner product can lose in addition, where terms or sums are below the normal range.

    At most the smallest normal number for a factor, a product and a sum of each term: also if the processor is set
    to replace such numbers by zero.
    """
    return 3 * dim * 2.0**-126


def exact_pairs(
    x: Vectors, y: Vectors, rows: Int, cols: Int, row_scale: Float, col_scale: Float, threads: int
) -> Float:
    """(pair,) float64 canonical scores of the pairs (rows[p], cols[p])."""
    out, x, y = np.empty(len(rows)), frozen(x), frozen(y)  # read-only: numba compiles a kernel for every kind of array

    def work(start: int, stop: int, _part: int) -> None:
        pair_dots(x, y, rows[start:stop], cols[start:stop], row_scale, col_scale, out[start:stop])

    spread(work, len(rows), threads)
    return out


BLOCK_SCORES = 1 << 22  # scores read at a time
COPY_SIDE = 256  # rows and columns of a matrix copied at a time
WIDE_COLUMNS = 4096  # columns of a block of float64 products
THREAD_SCORES = 1 << 18  # scores computed by a thread at a time
Range = tuple[int, int]  # (first, last + 1)
Some = Int | slice  # rows or columns: indices, or a range


class Scorer(Protocol):
    """Scores of every query (rows) with every item of the gallery (columns)."""

    @property
    def name(self) -> str:
        """``dot``, ``cosine`` or ``scores``, as in the signature."""

    @property
    def shape(self) -> tuple[int, int]:
        """(row, column) sizes."""

    @property
    def dtype(self) -> npt.DTypeLike:
        """Dtype of a tile that is not wide."""

    def tile(
        self, rows: Some, columns: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(row, column) scores of some rows with some columns, in ``out`` if given.

        They are within ``error`` of the canonical ones. With ``wide`` they are float64 products.
        """

    def pairs(self, rows: Int, columns: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""

    def take(self, rows: Some, columns: Some) -> Scorer:
        """The scores of some rows with some columns: the only restriction of a scorer."""

    @property
    def T(self) -> Scorer:
        """The scores of the columns with the rows; canonical scores of a pair are the same."""

    @property
    def canonical(self) -> bool:
        """Whether tiles have the canonical scores: given ones."""

    @property
    def error(self) -> Float:
        """(row,) bounds on |score of a tile - canonical score|; zeros where tiles are canonical."""

    @property
    def wide_error(self) -> Float:
        """(row,) the same of wide tiles."""

    @property
    def magnitude(self) -> float:
        """A bound on the absolute value of every finite score."""


@dataclass(frozen=True, eq=False)
class System:
    """The scores of both directions: rows rank columns (``forward``), columns rank rows (``backward``).

    Attributes:
        forward: scores of every row with every column.
        separate: scores of every column with every row, if they differ from ``forward`` (a second matrix, or corrected
            scores). None: ``backward`` is ``forward.T``, and one scan serves both directions.
    """

    forward: Scorer
    separate: Scorer | None = None

    @classmethod
    def of(cls, forward: Scorer | None, backward: Scorer | None) -> System:
        """The system of scores of each direction, or of one."""
        if forward is None:
            assert backward is not None
            return cls(backward.T)
        return cls(forward, backward)

    @cached_property
    def backward(self) -> Scorer:
        """(column, row) scores."""
        return self.forward.T if self.separate is None else self.separate

    def take(self, rows: Some, columns: Some) -> System:
        """The scores of some rows with some columns."""
        return System(self.forward.take(rows, columns), self.separate and self.separate.take(columns, rows))

    @property
    def both(self) -> Both[Scorer]:
        """The scores with the rows, and with the columns, as queries."""
        return self.forward, self.backward


@dataclass(frozen=True, eq=False)
class Dot:
    """Inner products of float32 vectors; with ``cosine`` divided by both lengths, in float64.

    Args:
        x: (row, dim) float32.
        y: (column, dim) float32.
        cosine: divide by the lengths. Vectors that are already of unit length need no division.
        known: their lengths, where these were computed before.
        words: what rows and columns are called in messages.
        rounded: canonical scores are rounded to float32.

    Raises:
        BadInput: a length is so large or small that float32 products would overflow or vanish.
    """

    x: Vectors
    y: Vectors
    cosine: bool = False
    known: tuple[Float, Float] | None = None
    words: tuple[str, str] = ("query", "gallery")
    rounded: bool = False
    canonical = False

    def __post_init__(self) -> None:
        if self.known is not None:
            return
        for what, length in zip(self.words, self.lengths, strict=True):
            bad = np.flatnonzero((length < SAFE_LENGTH[0]) | (length > SAFE_LENGTH[1]))
            if len(bad):
                raise BadInput(
                    f"{what} row {bad[0]} has length {length[bad[0]]:.3g}, "
                    f"outside {SAFE_LENGTH[0]:g} to {SAFE_LENGTH[1]:g} ({len(bad)} such rows)",
                    fix="scale the vectors, for example to unit length",
                )

    @property
    def name(self) -> str:
        """``cosine`` or ``dot``."""
        return "cosine" if self.cosine else "dot"

    @cached_property
    def lengths(self) -> tuple[Float, Float]:
        """(row,) and (column,) float64 vector lengths."""
        return self.known or (norms(self.x), norms(self.y))

    @cached_property
    def scales(self) -> tuple[Float, Float]:
        """(row,) and (column,) float64 factors on the inner product: one over the length, or ones."""
        if self.cosine:
            return 1.0 / self.lengths[0], 1.0 / self.lengths[1]
        return np.ones(len(self.x)), np.ones(len(self.y))

    @property
    def shape(self) -> tuple[int, int]:
        """(row, column) sizes."""
        return len(self.x), len(self.y)

    @property
    def dtype(self) -> npt.DTypeLike:
        """float32."""
        return np.float32

    @property
    def T(self) -> Dot:
        """The inner products of the columns with the rows."""
        return Dot(self.y, self.x, self.cosine, self.lengths[::-1], self.words[::-1], self.rounded)

    def tile(
        self, rows: Some, columns: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(row, column) float32 scores, or float64 ones with ``wide``."""
        x, y = self.x[rows], self.y[columns]
        if not self.cosine:
            return (
                np.matmul(x.astype(np.float64), y.astype(np.float64).T, out=out) if wide else np.matmul(x, y.T, out=out)
            )
        left, right = self.scales[0][rows, None], self.scales[1][columns]
        if wide:
            found: npt.NDArray[Any] = np.matmul(x * left, y.astype(np.float64).T, out=out)
            found *= right
            return found
        if (len(x) + len(y)) * x.shape[1] < 2 * len(x) * len(y):  # whichever has fewer numbers is scaled
            return np.matmul(unit_vectors(x, left[:, 0]), unit_vectors(y, right).T, out=out)
        found = np.matmul(x, y.T, out=out)
        found *= right.astype(np.float32)
        found *= left.astype(np.float32)
        return found

    def take(self, rows: Some, columns: Some) -> Dot:
        """The scores of some rows with some columns; vectors are copied only if they are not consecutive."""
        rows, columns = _range(rows), _range(columns)
        if _complete(rows, columns, self.shape):
            return self
        known = self.lengths[0][rows], self.lengths[1][columns]
        x, y = (_select(*side) for side in ((self.x, rows), (self.y, columns)))
        return Dot(x, y, self.cosine, known, self.words, self.rounded)

    def pairs(self, rows: Int, columns: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""
        found = exact_pairs(self.x, self.y, rows, columns, *self.scales, threads)
        return found.astype(np.float32).astype(np.float64) if self.rounded else found

    @cached_property
    def error(self) -> Float:
        """(row,) bounds from the length of the vectors and their dimension."""
        bound, lost = product_bound(self.x.shape[1]), underflow_bound(self.x.shape[1])
        rows, columns = self.lengths
        if self.cosine:  # the product may be scaled before or after it is made
            return np.asarray(bound + lost / (rows * columns.min())) + self._rounding
        return np.asarray(bound * rows * columns.max() + lost) + self._rounding

    @cached_property
    def wide_error(self) -> Float:
        """(row,) bounds of float64 products: as ``product_bound``, for the product and for the canonical score."""
        return np.asarray(2 * (self.x.shape[1] + 8) * 2.0**-53 * self._largest + self._rounding)

    @property
    def _largest(self) -> Float:
        """(row,) bounds on the absolute values of scores."""
        return np.ones(len(self.x)) if self.cosine else self.lengths[0] * self.lengths[1].max()

    @property
    def _rounding(self) -> Float:
        """(row,) bounds on what rounding to float32 moves a score; half the smallest subnormal number near zero."""
        return self.rounded * (UNIT_ROUNDOFF * self._largest + 2.0**-150)

    @property
    def magnitude(self) -> float:
        """1 for cosines, else the product of the largest lengths."""
        return 1.0 if self.cosine else float(self.lengths[0].max() * self.lengths[1].max())


@dataclass(frozen=True, eq=False)
class Matrix:
    """Given scores, for example of a cross-attention model: (row, column) of any float type, maybe memory-mapped.

    The given numbers are canonical, so nothing is re-checked. With ``mapped_logarithms`` they order the pairs as other
    numbers do, which ``corrected.with_scores`` gives.
    """

    scores: npt.NDArray[Any]
    row_order: Int | None = None
    column_order: Int | None = None
    name: str = "scores"
    mapped_logarithms: bool = False
    canonical = True

    @property
    def shape(self) -> tuple[int, int]:
        """(row, column) sizes after mapping to the test set."""
        n = len(self.scores if self.row_order is None else self.row_order)
        return n, self.scores.shape[1] if self.column_order is None else len(self.column_order)

    @property
    def dtype(self) -> npt.DTypeLike:
        """float32 if it represents all numbers of the given dtype, else float64."""
        return np.float32 if np.can_cast(self.scores.dtype, np.float32) else np.float64

    @property
    def T(self) -> Matrix:
        """The transposed matrix, a view."""
        return replace(self, scores=self.scores.T, row_order=self.column_order, column_order=self.row_order)

    def tile(
        self, rows: Some, columns: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(row, column) entries, of the dtype of ``out``, else in the given dtype or a larger one."""
        rows, columns = self._places(rows, columns)
        if not isinstance(rows, slice) and not isinstance(columns, slice):
            rows = rows[:, None]
        given = self.scores[rows, columns]
        if out is None:
            return np.asarray(given, np.result_type(given.dtype, np.float64 if wide else np.float32))
        for r in range(0, len(out), COPY_SIDE):  # squares that fit the cache: the given array may be a transposed one
            for c in range(0, out.shape[1], COPY_SIDE):
                square = slice(r, r + COPY_SIDE), slice(c, c + COPY_SIDE)
                out[square] = given[square]
        return out

    def _places(self, rows: Some, columns: Some) -> tuple[Some, Some]:
        """Rows and columns of the given array."""
        rows = rows if self.row_order is None else self.row_order[rows]
        return rows, columns if self.column_order is None else self.column_order[columns]

    def take(self, rows: Some, columns: Some) -> Matrix:
        """The scores of some rows with some columns."""
        rows, columns = _range(rows), _range(columns)
        if _complete(rows, columns, self.shape):
            return self
        rows, columns = self._places(rows, columns)
        if isinstance(rows, slice) and isinstance(columns, slice):
            return replace(self, scores=self.scores[rows, columns])
        row_order, column_order = (np.arange(n)[p] for n, p in zip(self.scores.shape, (rows, columns), strict=True))
        return replace(self, row_order=row_order, column_order=column_order)

    def pairs(self, rows: Int, columns: Int, threads: int) -> Float:
        """(pair,) float64 entries."""
        return np.asarray(self.scores[self._places(rows, columns)], np.float64)

    @property
    def error(self) -> Float:
        """Zeros: the entries are exact."""
        return np.zeros(self.shape[0])

    wide_error = error

    @cached_property
    def magnitude(self) -> float:
        """The largest absolute value of a finite entry."""
        rows = self.scores.T if self.scores.flags.f_contiguous else self.scores
        step = max(1, BLOCK_SCORES // rows.shape[1])
        blocks = (np.abs(rows[start : start + step], dtype=np.float64) for start in range(0, len(rows), step))
        return max(float(block.max(initial=0, where=np.isfinite(block))) for block in blocks)


def rows_of(scorer: Scorer, rows: Some, *, wide: bool = False) -> npt.NDArray[Any]:
    """(row, column) scores of some rows with all columns, as ``Scorer.tile``; wide ones in pieces."""
    return _rows(scorer, rows, WIDE_COLUMNS if wide else scorer.shape[1], wide, map)


def rows_in_threads(scorer: Scorer, rows: Int, *, wide: bool = False) -> npt.NDArray[Any]:
    """As ``rows_of``, in pieces of the gallery that threads compute; for a BLAS of one thread."""
    if isinstance(scorer, Dot):
        scorer.scales  # noqa: B018 (once, and not in every thread)
    return _rows(scorer, rows, max(1, THREAD_SCORES // max(1, len(rows))), wide, each)


def _rows(scorer: Scorer, rows: Some, step: int, wide: bool, by: Callable[..., Iterable[Any]]) -> npt.NDArray[Any]:
    """The scores of ``rows_of``, made of ``step`` columns at a time by ``map`` or ``each``."""
    pieces = [slice(a, a + step) for a in range(0, scorer.shape[1], step)]
    return np.concatenate(list(by(lambda piece: scorer.tile(rows, piece, wide=wide), pieces)), axis=1)


def _select(vectors: Vectors, some: Some) -> Vectors:
    """Some vectors; if all are selected, the array itself, as back-ends keep copies of it."""
    every = isinstance(some, slice) and some.indices(len(vectors)) == (0, len(vectors), 1)
    return vectors if every else vectors[some]


def _complete(rows: Some, columns: Some, shape: tuple[int, int]) -> bool:
    """Whether these are all rows and all columns: copies of a scorer that back-ends keep are then shared."""
    sides = zip((rows, columns), shape, strict=True)
    return all(isinstance(some, slice) and some.indices(n) == (0, n, 1) for some, n in sides)


def _range(some: Some) -> Some:
    """A range where indices are consecutive: vectors of a range are not copied."""
    if isinstance(some, slice) or not len(some) or (np.diff(some) != 1).any():
        return some
    return slice(int(some[0]), int(some[-1]) + 1)


def unit_vectors(vectors: Vectors, scale: Float) -> Vectors:
    """(item, dim) float32 vectors times their scales, (item,)."""
    return vectors * scale[:, None].astype(np.float32)


UNIT_TOLERANCE = 1e-3


def choose(images: Embeddings, captions: Embeddings, similarity: str) -> tuple[Dot, str]:
    """The scorer for a pair of embeddings, and a note on the decision.

    Args:
        images: image vectors.
        captions: caption vectors.
        similarity: ``cosine``, ``dot``, or ``auto``: inner product when every vector has unit length within
            0.001 (cosine up to the rounding of the file), else cosine.
    """
    words = images.modality, captions.modality
    dot = Dot(images.vectors, captions.vectors, words=words)
    low = min(float(x.min()) for x in dot.lengths)
    high = max(float(x.max()) for x in dot.lengths)
    unit = high - 1 <= UNIT_TOLERANCE and 1 - low <= UNIT_TOLERANCE
    spread = f"lengths {low:.4g} to {high:.4g}"
    if similarity == "dot":
        return dot, f"inner product as requested ({spread})"
    if similarity == "auto" and unit:
        return (
            dot,
            f"vectors have unit length ({spread}): compared by inner product, which is the cosine up to rounding",
        )
    cosine = Dot(images.vectors, captions.vectors, cosine=True, known=dot.lengths, words=words)
    if similarity == "cosine":
        return cosine, f"cosine as requested ({spread})"
    as_they_are = f"{spell('similarity', 'dot')} uses them as they are"
    return cosine, f"vectors do not have unit length ({spread}): compared by cosine; {as_they_are}"
