"""Scorers: the scores of all image-caption pairs, one tile at a time.

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

from ..errors import BadInput
from ..numeric.parallel import default_threads, each, spread
from ..options import spell
from ..types import SAFE_LENGTH, Direction, Embeddings, Float, Int, Vectors, frozen
from .kernels import pair_dots

UNIT_ROUNDOFF = 2.0**-24


def norms(x: Vectors) -> Float:
    """(item,) float64 Euclidean lengths of float32 rows, by the canonical product."""
    every, one = np.arange(len(x)), np.ones(len(x))
    return np.sqrt(exact_pairs(frozen(x), frozen(x), every, every, one, one, default_threads()))


def product_bound(dim: int) -> float:
    """Bound on the error of a float32 inner product of two unit vectors, for any order of summation.

    The standard bound gamma_n = n u / (1 - n u) on ``sum |x_k y_k| <= |x| |y|`` (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1), with eight more roundings for normalising.
    """
    n = (dim + 8) * UNIT_ROUNDOFF
    return n / (1.0 - n) if n < 1 else np.inf


def underflow_bound(dim: int) -> float:
    """What a float32 inner product can lose in addition, where terms or sums are below the normal range.

    At most the smallest normal number for a factor, a product and a sum of each term: also where the processor is set
    to replace such numbers by zero.
    """
    return 3 * dim * 2.0**-126


def exact_pairs(
    x: Vectors, y: Vectors, rows: Int, cols: Int, row_scale: Float, col_scale: Float, threads: int
) -> Float:
    """(pair,) float64 canonical scores of the pairs (rows[p], cols[p])."""
    out = np.empty(len(rows))

    def work(start: int, stop: int, _part: int) -> None:
        pair_dots(x, y, rows[start:stop], cols[start:stop], row_scale, col_scale, out[start:stop])

    spread(work, len(rows), threads)
    return out


BLOCK = 1 << 22  # scores read together
SQUARE = 256  # rows and columns of a matrix copied together
SOME = 4096  # items that float64 products are made with together
PIECE = 1 << 18  # scores that a thread computes together
Range = tuple[int, int]  # (first, last + 1)
Some = Int | slice  # images or captions: indices, or a range
NO_VECTORS: Vectors = frozen(np.empty((0, 0), np.float32))


class Scorer(Protocol):
    """Scores of every image (rows) with every caption (columns)."""

    @property
    def name(self) -> str:
        """``dot``, ``cosine`` or ``scores``, as in the signature."""

    @property
    def shape(self) -> tuple[int, int]:
        """(image, caption) sizes."""

    @property
    def dtype(self) -> npt.DTypeLike:
        """Dtype of a block that is not wide."""

    def block(
        self, images: Some, captions: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(image, caption) scores of some images with some captions, in ``out`` where it is given.

        They are within ``error`` of the canonical ones. With ``wide`` float64 products, whose error is that of float64.
        """

    def pairs(self, images: Int, captions: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""

    def take(self, images: Some, captions: Some) -> Scorer:
        """The scores of some images with some captions: the only restriction of a scorer."""

    @property
    def error(self) -> tuple[Float, Float]:
        """Bounds on |score of a block - canonical score|: (image,) for each row and (caption,) for each column."""

    @property
    def magnitude(self) -> float:
        """A bound on the absolute value of every finite score."""

    @property
    def exact_arguments(self) -> tuple[Any, Any, Float, Float]:
        """Arguments of the kernels for canonical scores: image and caption vectors (empty for a matrix), scales."""


@dataclass(frozen=True, eq=False)
class Dot:
    """Inner products of float32 vectors; with ``cosine`` divided by both lengths, in float64.

    Args:
        images: (image, dim) float32.
        captions: (caption, dim) float32.
        cosine: divide by the lengths. Vectors that are already of unit length need no division.
        known: their lengths, where these were computed before.

    Raises:
        BadInput: a length is so large or small that float32 products would overflow or vanish.
    """

    images: Vectors
    captions: Vectors
    cosine: bool = False
    known: tuple[Float, Float] | None = None

    def __post_init__(self) -> None:
        if self.known is not None:
            return
        for what, length in (("image", self.lengths[0]), ("caption", self.lengths[1])):
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
        """(image,) and (caption,) float64 vector lengths."""
        return self.known or (norms(self.images), norms(self.captions))

    @cached_property
    def scales(self) -> tuple[Float, Float]:
        """(image,) and (caption,) float64 factors on the inner product: one over the length, or ones."""
        if self.cosine:
            return 1.0 / self.lengths[0], 1.0 / self.lengths[1]
        return np.ones(len(self.images)), np.ones(len(self.captions))

    @property
    def shape(self) -> tuple[int, int]:
        """(image, caption) sizes."""
        return len(self.images), len(self.captions)

    @property
    def dtype(self) -> npt.DTypeLike:
        """float32."""
        return np.float32

    def block(
        self, images: Some, captions: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(image, caption) float32 scores, or float64 ones with ``wide``."""
        x, y = self.images[images], self.captions[captions]
        if not self.cosine:
            return (
                np.matmul(x.astype(np.float64), y.astype(np.float64).T, out=out) if wide else np.matmul(x, y.T, out=out)
            )
        rows, columns = self.scales[0][images, None], self.scales[1][captions]
        if wide:
            found: npt.NDArray[Any] = np.matmul(x * rows, y.astype(np.float64).T, out=out)
            found *= columns
            return found
        if (len(x) + len(y)) * x.shape[1] < 2 * len(x) * len(y):  # whichever has fewer numbers is scaled
            return np.matmul(unit_vectors(x, rows[:, 0]), unit_vectors(y, columns).T, out=out)
        found = np.matmul(x, y.T, out=out)
        found *= columns.astype(np.float32)
        found *= rows.astype(np.float32)
        return found

    def take(self, images: Some, captions: Some) -> Dot:
        """The scores of some images with some captions; vectors are copied only where they are not consecutive."""
        rows, columns = _range(images), _range(captions)
        if _complete(rows, columns, self.shape):
            return self
        known = self.lengths[0][rows], self.lengths[1][columns]
        return Dot(self.images[rows], self.captions[columns], self.cosine, known)

    def pairs(self, rows: Int, cols: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""
        return exact_pairs(self.images, self.captions, rows, cols, *self.scales, threads)

    @cached_property
    def error(self) -> tuple[Float, Float]:
        """(image,) and (caption,) bounds from the length of the vectors and their dimension."""
        bound, lost = product_bound(self.images.shape[1]), underflow_bound(self.images.shape[1])
        rows, cols = self.lengths
        if self.cosine:  # the product may be scaled before or after it is made
            return bound + lost / (rows * cols.min()), bound + lost / (cols * rows.min())
        return bound * rows * cols.max() + lost, bound * cols * rows.max() + lost

    @property
    def magnitude(self) -> float:
        """1 for cosines, else the product of the largest lengths."""
        return 1.0 if self.cosine else float(self.lengths[0].max() * self.lengths[1].max())

    @property
    def exact_arguments(self) -> tuple[Vectors, Vectors, Float, Float]:
        """Vectors and scales of the canonical product."""
        # Always read-only views: numba compiles a kernel for every kind of array.
        return (frozen(self.images), frozen(self.captions), *self.scales)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Given scores, for example of a cross-attention model: (image, caption) of any float type, maybe memory-mapped.

    The given numbers are canonical, so nothing is re-checked. With ``mapped_logarithms`` they order the pairs as other
    numbers do, which ``corrected.shown`` gives.
    """

    scores: npt.NDArray[Any]
    image_order: Int | None = None
    caption_order: Int | None = None
    name: str = "scores"
    mapped_logarithms: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(image, caption) sizes after mapping to the split."""
        n = len(self.scores if self.image_order is None else self.image_order)
        return n, self.scores.shape[1] if self.caption_order is None else len(self.caption_order)

    @property
    def dtype(self) -> npt.DTypeLike:
        """float64 for a float64 matrix, else float32."""
        return np.float64 if self.scores.dtype.itemsize > 4 else np.float32

    def block(
        self, images: Some, captions: Some, out: npt.NDArray[Any] | None = None, *, wide: bool = False
    ) -> npt.NDArray[Any]:
        """(image, caption) entries, of the dtype of ``out``, else in the given dtype or a larger one."""
        rows, columns = self._places(images, captions)
        if not isinstance(rows, slice) and not isinstance(columns, slice):
            rows = rows[:, None]
        given = self.scores[rows, columns]
        if out is None:
            return np.asarray(given, np.result_type(given.dtype, np.float64 if wide else np.float32))
        for r in range(0, len(out), SQUARE):  # squares that fit the cache: ``out`` may be a transposed array
            for c in range(0, out.shape[1], SQUARE):
                square = slice(r, r + SQUARE), slice(c, c + SQUARE)
                out[square] = given[square]
        return out

    def _places(self, images: Some, captions: Some) -> tuple[Some, Some]:
        """Rows and columns of the given array."""
        rows = images if self.image_order is None else self.image_order[images]
        return rows, captions if self.caption_order is None else self.caption_order[captions]

    def take(self, images: Some, captions: Some) -> Matrix:
        """The scores of some images with some captions."""
        images, captions = _range(images), _range(captions)
        if _complete(images, captions, self.shape):
            return self
        rows, columns = self._places(images, captions)
        if isinstance(rows, slice) and isinstance(columns, slice):
            return replace(self, scores=self.scores[rows, columns])
        image_order, caption_order = (np.arange(n)[p] for n, p in zip(self.scores.shape, (rows, columns), strict=True))
        return replace(self, image_order=image_order, caption_order=caption_order)

    def pairs(self, rows: Int, cols: Int, threads: int) -> Float:
        """(pair,) float64 entries."""
        rows = rows if self.image_order is None else self.image_order[rows]
        cols = cols if self.caption_order is None else self.caption_order[cols]
        return np.asarray(self.scores[rows, cols], np.float64)

    @property
    def error(self) -> tuple[Float, Float]:
        """Zeros: the entries are exact."""
        return np.zeros(self.shape[0]), np.zeros(self.shape[1])

    @cached_property
    def magnitude(self) -> float:
        """The largest absolute value of a finite entry."""
        step = max(1, BLOCK // self.scores.shape[1])
        blocks = (np.abs(self.scores[start : start + step]) for start in range(0, len(self.scores), step))
        return max(float(block.max(initial=0, where=np.isfinite(block))) for block in blocks)

    @property
    def exact_arguments(self) -> tuple[Vectors, Vectors, Float, Float]:
        """No vectors: the kernels read the tile."""
        return NO_VECTORS, NO_VECTORS, np.ones(1), np.ones(1)


def of_queries(direction: Direction, queries: Some, gallery: Some) -> tuple[Some, Some]:
    """The images and the captions of some queries and items."""
    return (queries, gallery) if direction == "i2t" else (gallery, queries)


def rows_of(scorer: Scorer, direction: Direction, queries: Some, *, wide: bool = False) -> npt.NDArray[Any]:
    """(query, gallery) scores of some queries with all items, as ``Scorer.block``; wide ones in pieces."""
    return _rows(scorer, direction, queries, SOME if wide else scorer.shape[direction == "i2t"], wide, map)


def rows_in_threads(scorer: Scorer, direction: Direction, queries: Int, *, wide: bool = False) -> npt.NDArray[Any]:
    """As ``rows_of``, in pieces of the gallery that threads compute; for a BLAS of one thread."""
    if isinstance(scorer, Dot):
        scorer.scales  # noqa: B018 (once, and not in every thread)
    return _rows(scorer, direction, queries, max(1, PIECE // max(1, len(queries))), wide, each)


def _rows(
    scorer: Scorer, direction: Direction, queries: Some, step: int, wide: bool, by: Callable[..., Iterable[Any]]
) -> npt.NDArray[Any]:
    """The scores of ``rows_of``, made of ``step`` items at a time by ``map`` or ``each``."""
    if wide and direction == "t2i" and isinstance(scorer, Dot):  # the queries are scaled first in both directions
        scorer, direction = Dot(scorer.captions, scorer.images, scorer.cosine, scorer.lengths[::-1]), "i2t"
    items = scorer.shape[1 if direction == "i2t" else 0]
    pieces = [of_queries(direction, queries, slice(a, a + step)) for a in range(0, items, step)]
    made = list(by(lambda piece: scorer.block(*piece, wide=wide), pieces))
    found = np.concatenate(made, axis=1 if direction == "i2t" else 0)
    return found if direction == "i2t" else found.T


def _complete(images: Some, captions: Some, shape: tuple[int, int]) -> bool:
    """Whether these are all images and all captions: copies of a scorer that back-ends keep are then shared."""
    sides = zip((images, captions), shape, strict=True)
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
    dot = Dot(images.vectors, captions.vectors, cosine=False)
    low = min(float(x.min()) for x in dot.lengths)
    high = max(float(x.max()) for x in dot.lengths)
    unit = high - 1 <= UNIT_TOLERANCE and 1 - low <= UNIT_TOLERANCE
    spread = f"lengths {low:.4g} to {high:.4g}"
    if similarity == "dot":
        return dot, f"inner product as requested ({spread})"
    if similarity == "auto" and unit:
        return dot, f"vectors have unit length ({spread}): inner product, the cosine up to rounding"
    cosine = Dot(images.vectors, captions.vectors, cosine=True, known=dot.lengths)
    if similarity == "cosine":
        return cosine, f"cosine as requested ({spread})"
    return (
        cosine,
        f"vectors are not of unit length ({spread}): cosine; {spell('similarity', 'dot')} uses them as they are",
    )
