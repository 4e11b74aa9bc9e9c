"""Scorers: the scores of all image-caption pairs, one tile at a time.

A scorer computes tiles in float32 (fast, with rounding errors) and single pairs in float64 (canonical), and bounds
the difference of the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..options import spell
from ..types import SAFE_LENGTH, Direction, Embeddings, Float, Int, Vectors, frozen
from .exact import exact_pairs, norms, product_bound, underflow_bound

SQUARE = 256  # rows and columns of a matrix copied together
SOME = 4096  # candidates that some queries are scored with together
Range = tuple[int, int]  # (first, last + 1)
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
        """Dtype of the tiles."""

    def tile(self, r0: int, r1: int, c0: int, c1: int, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Scores of images r0:r1 with captions c0:c1, in ``out`` or elsewhere."""

    def prepare(self, height: int) -> None:
        """Called once, before threads request tiles of at most ``height`` images."""

    def scores_of(self, direction: Direction, queries: Int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """(query, gallery) scores of some queries, computed in ``dtype`` or a larger one; not canonical."""

    def pairs(self, rows: Int, cols: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""

    def error(self) -> tuple[Float, Float]:
        """Bounds on |tile - canonical|: (image,) for each row and (caption,) for each column."""

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

    def tile(self, r0: int, r1: int, c0: int, c1: int, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(r1 - r0, c1 - c0) float32 scores, written to ``out``."""
        if not self.cosine:
            return np.matmul(self.images[r0:r1], self.captions[c0:c1].T, out=out)
        complete = (r0, r1) == (0, len(self.images))
        rows = self._unit_images if complete else unit_vectors(self.images[r0:r1], self.scales[0][r0:r1])
        return np.matmul(rows, unit_vectors(self.captions[c0:c1], self.scales[1][c0:c1]).T, out=out)

    @cached_property
    def _unit_images(self) -> Vectors:
        # Kept only when a tile has all images: then every tile needs all of them.
        return unit_vectors(self.images, self.scales[0])

    def prepare(self, height: int) -> None:
        """Scale all images at once when a tile has them all."""
        if self.cosine and height >= len(self.images):
            _ = self._unit_images

    def scores_of(self, direction: Direction, queries: Int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """(query, gallery) scores of some queries, computed in ``dtype``; not canonical."""
        (own, scale), (other, scales) = (self.images, self.scales[0]), (self.captions, self.scales[1])
        if direction == "t2i":
            (own, scale), (other, scales) = (other, scales), (own, scale)
        picked = (own[queries] * scale[queries, None]).astype(dtype)
        out = np.empty((len(queries), len(other)), dtype)
        for start in range(0, len(other), SOME):
            part = slice(start, start + SOME)
            out[:, part] = (picked @ other[part].astype(dtype, copy=False).T) * scales[part].astype(dtype)
        return out

    def pairs(self, rows: Int, cols: Int, threads: int) -> Float:
        """(pair,) canonical float64 scores."""
        return exact_pairs(self.images, self.captions, rows, cols, *self.scales, threads)

    def error(self) -> tuple[Float, Float]:
        """(image,) and (caption,) bounds from the length of the vectors and their dimension."""
        return self._error

    @cached_property
    def _error(self) -> tuple[Float, Float]:
        bound, lost = product_bound(self.images.shape[1]), underflow_bound(self.images.shape[1])
        rows, cols = self.lengths
        if self.cosine:  # the product may be scaled before or after it is made
            return bound + lost / (rows * cols.min()), bound + lost / (cols * rows.min())
        return bound * rows * cols.max() + lost, bound * cols * rows.max() + lost

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

    def tile(self, r0: int, r1: int, c0: int, c1: int, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(r1 - r0, c1 - c0) scores, written to ``out``."""
        if self.image_order is None and self.caption_order is None:
            # In squares that fit the cache: ``out`` may be a transposed array.
            for r in range(r0, r1, SQUARE):
                for c in range(c0, c1, SQUARE):
                    s, d = min(r + SQUARE, r1), min(c + SQUARE, c1)
                    out[r - r0 : s - r0, c - c0 : d - c0] = self.scores[r:s, c:d]
            return out
        rows = np.arange(r0, r1) if self.image_order is None else self.image_order[r0:r1]
        cols = np.arange(c0, c1) if self.caption_order is None else self.caption_order[c0:c1]
        out[...] = self.scores[np.ix_(rows, cols)]
        return out

    def prepare(self, height: int) -> None:
        """Nothing to prepare."""

    def scores_of(self, direction: Direction, queries: Int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """(query, gallery) entries of some queries, in ``dtype`` or a larger one."""
        scores, own, other = self.scores, self.image_order, self.caption_order
        if direction == "t2i":
            scores, own, other = scores.T, other, own
        # float64 entries may be beyond the range of float32
        picked = np.asarray(scores[queries if own is None else own[queries]], np.result_type(scores.dtype, dtype))
        return picked if other is None else picked[:, other]

    def pairs(self, rows: Int, cols: Int, threads: int) -> Float:
        """(pair,) float64 entries."""
        rows = rows if self.image_order is None else self.image_order[rows]
        cols = cols if self.caption_order is None else self.caption_order[cols]
        return np.asarray(self.scores[rows, cols], np.float64)

    def error(self) -> tuple[Float, Float]:
        """Zeros: the entries are exact."""
        return np.zeros(self.shape[0]), np.zeros(self.shape[1])

    @property
    def exact_arguments(self) -> tuple[Vectors, Vectors, Float, Float]:
        """No vectors: the kernels read the tile."""
        return NO_VECTORS, NO_VECTORS, np.ones(1), np.ones(1)


def part_of(scorer: Scorer, direction: Direction, queries: Range, gallery: Range | None = None) -> Scorer:
    """The scores of some queries of one direction with the complete gallery, or with a part of it.

    Args:
        scorer: scores of all images with all captions.
        direction: of the queries.
        queries, gallery: ranges (first, last + 1).
    """
    own, other = slice(*queries), slice(None) if gallery is None else slice(*gallery)
    images, captions = (own, other) if direction == "i2t" else (other, own)
    if isinstance(scorer, Dot):
        known = scorer.lengths[0][images], scorer.lengths[1][captions]
        return Dot(scorer.images[images], scorer.captions[captions], scorer.cosine, known)
    assert isinstance(scorer, Matrix)
    if scorer.image_order is None and scorer.caption_order is None:
        return replace(scorer, scores=scorer.scores[images, captions])
    rows, columns = (
        np.arange(n) if order is None else order
        for n, order in zip(scorer.shape, (scorer.image_order, scorer.caption_order), strict=True)
    )
    return replace(scorer, image_order=rows[images], caption_order=columns[captions])


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
    cosine = Dot(images.vectors, captions.vectors, cosine=True)
    if similarity == "cosine":
        return cosine, f"cosine as requested ({spread})"
    return (
        cosine,
        f"vectors are not of unit length ({spread}): cosine; {spell('similarity', 'dot')} uses them as they are",
    )
