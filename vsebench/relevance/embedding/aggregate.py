"""Cosines of caption vectors, aggregated over the captions of an image by maximum, mean or first.

With unit vectors e, the captions C(i) of image i, and caption j:

    max    g(i, j) = max over m in C(i) of <e_m, e_j>
    mean   g(i, j) = mean over m in C(i) of <e_m, e_j>, the product with the mean vector of C(i)
    first  g(i, j) = <e_m, e_j>, m the first caption of i

Products are float32 and always computed in tiles of the same shape at the same place, so that a value does not depend
on which rows or pairs are requested. The gain of a caption with its own image is computed once in float64 instead, so
that the cosine of a caption with itself is exactly 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import count_of
from ...types import Bool, Direction, Int, Split, Vectors, frozen
from ..checks import as_pairs, check_range, put_own_in_pairs, put_own_in_rows
from ..kinds.sentence import AGGREGATES, OWN
from . import aggregate_kernels as kernels

REFERENCES = 256  # rows of a tile
CANDIDATES = 128  # columns of a tile: a divisor of its rows; fewer, as numpy has a special case for a block with itself
ALIGNMENT = 64  # bytes


@dataclass(frozen=True, eq=False)
class CaptionCosine:
    """Gains from one vector a caption; constructed by ``caption_cosine``.

    Matrix products use all threads of the BLAS: call ``rows`` and ``at`` inside
    ``vsebench.numeric.parallel.one_blas_thread``, and spread the rows over threads. The last bit of a value is only
    reproducible with one BLAS thread.

    Attributes:
        name, settings, notes, shape: see ``Gains``.
        candidates: (caption, dim) float32 unit vectors, zero-padded to full tiles.
        references: (reference, dim) float32, likewise: the vectors that represent the images, sorted by image.
        first: (image + 1,) int64, where the references of each image start.
        image_of: (caption,) int64.
        own: (caption,) float32 gain with the caption's own image.
    """

    name: str
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    shape: tuple[int, int]
    candidates: Vectors
    references: Vectors
    first: Int
    image_of: Int
    own: Vectors
    lowest: float | None = None
    rows_affordable: bool = True

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Gains.rows``."""
        check_range(self.shape, direction, start, stop)
        n_image, n_caption = self.shape
        by_caption = direction == "t2i"
        a, b, c, d = (0, n_image, start, stop) if by_caption else (start, stop, 0, n_caption)
        out = np.full((stop - start, n_image if by_caption else n_caption), -2.0, np.float32)
        best = np.empty((self._images_per_tile, CANDIDATES), np.float32)
        product = aligned((REFERENCES, CANDIDATES))
        for r0 in range(int(self.first[a]) // REFERENCES * REFERENCES, int(self.first[b]), REFERENCES):
            for c0 in range(c // CANDIDATES * CANDIDATES, d, CANDIDATES):
                self._tile(r0, c0, product)
                kernels.fold_tile(product, r0, c0, self.first, a, b, c, d, by_caption, best, out)
        without_references = np.flatnonzero(self.first[a:b] == self.first[a + 1 : b + 1])
        (out.T if by_caption else out)[without_references] = 0.0
        put_own_in_rows(out, self.own, self.image_of, direction, start, stop)
        return out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """As ``Gains.at``. Computes the tiles that contain the pairs: scattered ones cost up to as much as all rows."""
        images, captions = as_pairs(self.shape, direction, queries, items)
        out = np.full(len(images), -2.0, np.float32)
        product = aligned((REFERENCES, CANDIDATES))
        for r0, c0, pairs in self._tiles_of(images, captions):
            self._tile(r0, c0, product)
            kernels.fold_pairs(product, r0, c0, self.first, pairs, images, captions, out)
        out[self.first[images] == self.first[images + 1]] = 0.0
        put_own_in_pairs(out, self.own, self.image_of, images, captions)
        return out.reshape(np.shape(items))

    @cached_property
    def _images_per_tile(self) -> int:
        """The largest number of images between the first and the last reference of a tile, those without any too."""
        starts = np.arange(0, max(int(self.first[-1]), 1), REFERENCES)
        low = np.searchsorted(self.first, starts, side="right") - 1
        return int((np.searchsorted(self.first, starts + REFERENCES, side="left") - low).max())

    def _tile(self, r0: int, c0: int, out: Vectors) -> None:
        np.matmul(self.references[r0 : r0 + REFERENCES], self.candidates[c0 : c0 + CANDIDATES].T, out=out)

    def _tiles_of(self, images: Int, captions: Int) -> Iterator[tuple[int, int, Int]]:
        """Origin (reference, caption) of every tile with references of a pair, and the indices of its pairs."""
        low = self.first[images] // REFERENCES
        count = np.maximum((self.first[images + 1] - 1) // REFERENCES - low + 1, 0)
        count[self.first[images] == self.first[images + 1]] = 0
        pair = np.repeat(np.arange(len(images)), count)
        offset = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        across = len(self.candidates) // CANDIDATES
        key = (low[pair] + offset) * across + captions[pair] // CANDIDATES
        order = np.argsort(key, kind="stable")
        edges = [*np.flatnonzero(np.diff(key[order], prepend=-1)).tolist(), len(order)]
        for start, stop in itertools.pairwise(edges):
            row, column = divmod(int(key[order[start]]), across)
            yield row * REFERENCES, column * CANDIDATES, pair[order[start:stop]]


def caption_cosine(
    name: str, split: Split, vectors: npt.NDArray[Any], *, agg: str = "max", own: str = "in",
    settings: Mapping[str, str] | None = None, notes: tuple[str, ...] = (),
) -> CaptionCosine:  # fmt: skip
    """Gains from one vector a caption.

    Args:
        name: the view in metric names.
        split: the items, with the image of every caption.
        vectors: (caption, dim) finite floats of any norm, maybe memory-mapped. The gains of a zero vector are 0.
        agg: ``max``, ``mean`` or ``first`` of the image's captions.
        own: with its own image, a caption is compared with all captions (``in``) or with the others (``out``; gain 0
            if there is none), or has gain 1 (``one``).
        settings: further settings for the signature.
        notes: further notes.
    """
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    members = np.argsort(split.image_of, kind="stable")
    first = np.zeros(n_image + 1, np.int64)
    np.cumsum(np.bincount(split.image_of, minlength=n_image), out=first[1:])
    candidates, zero = unit_rows(vectors, REFERENCES)
    values = np.empty(n_caption, np.float32)
    kernels.own_gains(candidates, zero, members, first, AGGREGATES.index(agg), OWN.index(own), values)
    noted = list(notes)
    count = np.diff(first)
    if own == "out" and (count == 1).any():
        alone = count_of(int((count == 1).sum()), "image has", "images have")
        noted.append(f"{alone} a single caption; with own=out its gain is 0")
    if (count == 0).any():
        noted.append(f"{count_of(int((count == 0).sum()), 'image has', 'images have')} no caption, and gain 0")
    if agg == "max":
        sorted_by_image = bool((members == np.arange(n_caption)).all())
        references, starts = candidates if sorted_by_image else _padded(candidates, members, REFERENCES), first
    else:
        has_caption = count > 0
        starts = np.concatenate([[0], np.cumsum(has_caption)])
        if agg == "first":
            references = _padded(candidates, members[first[:-1][has_caption]], REFERENCES)
        else:
            references = _means(candidates, members, first, has_caption)
    chosen = {**(settings or {}), "agg": agg, "own": own}
    return CaptionCosine(
        name, chosen, tuple(noted), (n_image, n_caption), frozen(candidates), frozen(references), frozen(starts),
        split.image_of, frozen(values),
    )  # fmt: skip


def aligned(shape: tuple[int, int]) -> Vectors:
    """Zeros of this shape, float32, aligned to a cache line: some BLAS libraries round by the alignment of an array."""
    size = shape[0] * shape[1]
    raw = np.zeros(size + ALIGNMENT // 4, np.float32)
    skip = -raw.ctypes.data % ALIGNMENT // 4
    return raw[skip : skip + size].reshape(shape)


def unit_rows(vectors: npt.NDArray[Any], tile: int) -> tuple[Vectors, Bool]:
    """(row, dim) float32 rows of unit norm, zero-padded, and (row,) bool whether a row is zero.

    Norms are computed in float64. Rows are padded to a multiple of ``tile``, columns to a multiple of 16.
    """
    n, dim = vectors.shape
    out = aligned((-(-n // tile) * tile, -(-dim // kernels.LANES) * kernels.LANES))
    zero = np.zeros(n, np.bool_)
    for start in range(0, n, 4096):
        block = np.asarray(vectors[start : start + 4096], np.float64)
        # Scaled first: squares of very large or small values overflow or underflow float64.
        largest = np.abs(block).max(axis=1, keepdims=True)
        zero[start : start + 4096] = largest[:, 0] == 0
        block = block / np.where(largest == 0, 1.0, largest)
        norm = np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
        out[start : start + len(block), :dim] = block / np.where(norm == 0, 1.0, norm)
    return out, zero


def _padded(vectors: Vectors, rows: Int, tile: int) -> Vectors:
    """Some rows of ``vectors``, zero-padded to full tiles."""
    out = aligned((-(-len(rows) // tile) * tile, vectors.shape[1]))
    out[: len(rows)] = vectors[rows]
    return out


def _means(vectors: Vectors, members: Int, first: Int, has_caption: Bool) -> Vectors:
    """(image with captions, dim) means of the captions' vectors, zero-padded to full tiles."""
    sums = np.add.reduceat(vectors[members], first[:-1][has_caption], axis=0, dtype=np.float64)
    means = (sums / np.diff(first)[has_caption, None]).astype(np.float32)
    return _padded(means, np.arange(len(means)), REFERENCES)
