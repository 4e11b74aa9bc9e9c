"""Cosines of caption vectors, aggregated over the captions of an image by maximum, mean or first.

With unit vectors e, the captions C(i) of image i, and caption j:

    max    g(i, j) = max over m in C(i) of <e_m, e_j>
    mean   g(i, j) = <mean of e_m over m in C(i), e_j>
    first  g(i, j) = <e_m, e_j>, m the first caption of i

The components of unit vectors are rounded to multiples of 2^-26. Products of two components are then multiples of
2^-52, and the sum of any of them is below 2 (Cauchy-Schwarz): float64 has all of these numbers, so nothing is rounded,
and a product is the same in any order, by any BLAS, in any block. It is rounded once, to float32. A cosine differs by
about 1e-8 from the product of the unchanged vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import frozen
from ...types import Float, Int, TestSet, Vectors
from ..gains import Gains, Replaced, Values, captions_of

STEPS_PER_UNIT = 2.0**26
# The product of equal unit vectors differs from 1 by rounding; those of distinct sentences differ by more than this.
MIN_CERTAIN_COSINE = np.float32(1.0 - 2.0**-18)
TILE_ROWS = 1024  # rows of the other side in one product
SCATTERED_PRODUCTS = 1 << 14  # scattered pairs computed at a time


@dataclass(frozen=True, eq=False)
class CaptionCosine(Values):
    """Cosines of caption vectors; constructed by ``caption_cosine``.

    Matrix products use all threads of the BLAS: call ``rows`` inside ``vsebench.numeric.parallel.one_blas_thread``, and
    spread the rows over threads.

    Attributes:
        candidates: (caption, dim) float64 unit vectors on the grid.
        references: (reference, dim) float64, on the grid: the vectors that represent the images, sorted by image.
        first: (image + 1,) int64, where the references of each image start.
    """

    candidates: Float
    references: Float
    first: Int

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        out = np.zeros((stop - start, len(self.candidates)), np.float32)
        images = self._represented[slice(*np.searchsorted(self._represented, (start, stop)))]
        vectors = self.references[self.first[start] : self.first[stop]]
        for c in range(0, len(self.candidates) if len(images) else 0, TILE_ROWS):
            product = vectors @ self.candidates[c : c + TILE_ROWS].T
            best = np.maximum.reduceat(product, self.first[images] - self.first[start], axis=0)
            out[images - start, c : c + TILE_ROWS] = _rounded(best)
        return out

    def columns(self, start: int, stop: int) -> Vectors:
        """See ``Values.columns``."""
        out = np.zeros((stop - start, len(self.first) - 1), np.float32)
        for images in self._tiles:
            low, high = self.first[images[0]], self.first[images[-1] + 1]
            product = self.candidates[start:stop] @ self.references[low:high].T
            out[:, images] = _rounded(np.maximum.reduceat(product, self.first[images] - low, axis=1))
        return out

    def pairs(self, images: Int, captions: Int) -> Vectors:
        """See ``Values.pairs``."""
        out = np.zeros(len(images), np.float32)
        count = np.diff(self.first)[images]
        pairs = np.flatnonzero(count)
        ends = np.cumsum(count[pairs])
        edges = np.searchsorted(ends, np.arange(SCATTERED_PRODUCTS, int(count.sum()), SCATTERED_PRODUCTS))
        for low, high in pairwise(np.unique([0, *edges, len(pairs)]).tolist()):
            some = pairs[low:high]
            begin = np.cumsum(count[some]) - count[some]
            reference = np.arange(count[some].sum()) + np.repeat(self.first[images[some]] - begin, count[some])
            caption = np.repeat(captions[some], count[some])
            products = np.einsum("ij,ij->i", self.references[reference], self.candidates[caption])
            out[some] = _rounded(np.maximum.reduceat(products, begin))
        return out

    @cached_property
    def _represented(self) -> Int:
        """The images with a caption, ascending; the gains of the others are 0."""
        return np.flatnonzero(np.diff(self.first))

    @cached_property
    def _tiles(self) -> list[Int]:
        """The images with a caption, in groups of some TILE references."""
        group = self.first[self._represented] // TILE_ROWS
        return [x for x in np.split(self._represented, np.flatnonzero(np.diff(group)) + 1) if len(x)]


def caption_cosine(
    name: str, test: TestSet, vectors: npt.NDArray[Any], *, agg: str = "max", own: str = "in",
    settings: Mapping[str, str] | None = None,
) -> Gains:  # fmt: skip
    """Gains from one vector a caption.

    Args:
        name: the view in metric names.
        test: the items, with the image of every caption.
        vectors: (caption, dim) finite floats of any norm, maybe memory-mapped. The gains of a zero vector are 0.
        agg: ``max``, ``mean`` or ``first`` of the image's captions.
        own: with its own image, a caption is compared with all captions (``in``) or with the others (``out``; gain 0
            if there is none), or has gain 1 (``one``).
        settings: further settings for the signature.
    """
    n_image, n_caption = test.shape
    first, members = captions_of(test.owners, n_image)
    count = np.diff(first)
    candidates = unit_rows(vectors)
    if agg == "max":
        sorted_by_image = bool((members == np.arange(n_caption)).all())
        references, starts = candidates if sorted_by_image else candidates[members], first
    else:
        starts = np.concatenate([[0], np.cumsum(count > 0)])
        begin = first[:-1][count > 0]
        references = candidates[members[begin]]
        if agg == "mean":
            references = on_grid(np.add.reduceat(candidates[members], begin, axis=0) / count[count > 0, None])
    values: Values = CaptionCosine(frozen(candidates), frozen(references), frozen(starts))
    if own == "one":
        values = Replaced(values, test.owners, np.ones(n_caption, np.float32))
    elif own == "out":
        values = Replaced(values, test.owners, _rounded(_with_others(candidates, test.owners, agg)))
    return Gains(name, {**(settings or {}), "agg": agg, "own": own}, (n_image, n_caption), values)


def on_grid(x: Float) -> Float:
    """Numbers rounded to multiples of 2^-26."""
    return np.rint(x * STEPS_PER_UNIT) / STEPS_PER_UNIT


def unit_rows(vectors: npt.NDArray[Any]) -> Float:
    """(row, dim) float64 rows of unit length on the grid; zero rows stay zero."""
    n, dim = vectors.shape
    out = np.empty((n, dim))
    for start in range(0, n, 4096):
        block = np.asarray(vectors[start : start + 4096], np.float64)
        # Scaled first, by powers of 2: squares of very large or small values overflow or underflow float64.
        _, exponent = np.frexp(np.abs(block).max(axis=1, keepdims=True))
        block = np.ldexp(block, -exponent)
        squares = block * block
        while squares.shape[1] > 1:  # summed in one fixed order
            half = squares.shape[1] // 2
            odd = squares[:, 2 * half :]
            squares = np.concatenate([squares[:, :half] + squares[:, half : 2 * half], odd], axis=1)
        length = np.sqrt(squares)
        out[start : start + 4096] = on_grid(block / np.where(length == 0, 1.0, length))
    return out


def _with_others(vectors: Float, image_of: Int, agg: str) -> Float:
    """(caption,) the product of every caption with the other captions of its image; 0 if there is none."""
    out = np.zeros(len(vectors))
    members = np.argsort(image_of, kind="stable")
    for captions in np.split(members, np.flatnonzero(np.diff(image_of[members])) + 1):
        some = vectors[captions]
        if len(some) == 1:
            continue
        if agg == "mean":
            # Sums of vectors on the grid are exact, so that the order of the captions does not matter.
            others = on_grid((some.sum(axis=0) - some) / (len(some) - 1))
            out[captions] = np.einsum("ij,ij->i", others, some)
        elif agg == "first":
            out[captions] = some @ some[0]
            out[captions[0]] = some[0] @ some[1]
        else:
            for start in range(0, len(some), TILE_ROWS):
                product = some[start : start + TILE_ROWS] @ some.T
                np.fill_diagonal(product[:, start:], -2.0)
                out[captions[start : start + TILE_ROWS]] = product.max(axis=1)
    return out


def _rounded(products: Float) -> Vectors:
    """Products as float32; exactly 1 (or -1) where vectors are equal (or opposite) up to rounding."""
    out = products.astype(np.float32)
    out[out >= MIN_CERTAIN_COSINE] = 1.0
    out[out <= -MIN_CERTAIN_COSINE] = -1.0
    return out
