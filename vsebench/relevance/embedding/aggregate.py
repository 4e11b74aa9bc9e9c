"""Cosines between captions as gains of an image: the best, the mean or the first of the image's captions.

With unit vectors e, image i of captions C(i) and caption j:

    max    g(i, j) = max over m in C(i) of <e_m, e_j>
    mean   g(i, j) = mean over m in C(i) of <e_m, e_j>, the product with the mean vector of C(i)
    first  g(i, j) = <e_m, e_j>, m the first caption of i

Products are float32 and always made tile by tile, each tile of the same shape at the same place: neither the rows
that are asked for nor their order can change a digit. What a caption has with its own image does not come from a
tile: it is computed once in float64, so that a caption and itself have exactly 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...types import Bool, Direction, Int, Split, Vectors, frozen
from ..arrays import as_pairs, check_range
from . import aggregate_kernels as kernels

AGGREGATES = ("max", "mean", "first")
OWN = ("in", "one", "out")
REFERENCES = 256  # rows of a tile
CANDIDATES = (
    128  # columns of a tile, a divisor of its rows; not as many: numpy multiplies a block with itself differently
)
ALIGNED = 64  # bytes


@dataclass(frozen=True, eq=False)
class CaptionCosine:
    """Gains from one vector a caption; made by ``caption_cosine``.

    Matrix products run on as many threads as the BLAS uses: hold ``vsebench.numeric.parallel.one_blas_thread`` while
    rows are asked for, and spread the rows over threads instead. It is also what fixes the last bit of a value.

    Attributes:
        name: the view in metric names.
        settings: for the signature.
        notes: what the user should know.
        shape: (images, captions).
        candidates: (caption, dim) float32 unit vectors in whole tiles, zeros below and beside them.
        references: (reference, dim) float32 likewise: what an image is compared by, in order of images.
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

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop``; raises UsageError when there are no such."""
        check_range(self.shape, direction, start, stop)
        n_image, n_caption = self.shape
        by_caption = direction == "t2i"
        a, b, c, d = (0, n_image, start, stop) if by_caption else (start, stop, 0, n_caption)
        out = np.full((stop - start, n_image if by_caption else n_caption), -2.0, np.float32)
        best = np.empty((self._most_images, CANDIDATES), np.float32)
        product = aligned((REFERENCES, CANDIDATES))
        for r0 in range(int(self.first[a]) // REFERENCES * REFERENCES, int(self.first[b]), REFERENCES):
            for c0 in range(c // CANDIDATES * CANDIDATES, d, CANDIDATES):
                self._tile(r0, c0, product)
                kernels.fold(product, r0, c0, self.first, a, b, c, d, by_caption, best, out)
        bare = np.flatnonzero(self.first[a:b] == self.first[a + 1 : b + 1])
        own = np.flatnonzero((self.image_of[c:d] >= a) & (self.image_of[c:d] < b))
        images, captions = self.image_of[own + c] - a, own
        if by_caption:
            out[:, bare] = 0.0
            out[captions, images] = self.own[own + c]
        else:
            out[bare] = 0.0
            out[images, captions] = self.own[own + c]
        return out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` for ``queries``, bit for bit those of ``rows``.

        Takes the tiles that the pairs lie in, so scattered pairs cost up to as much as the rows of all queries.

        Raises:
            UsageError: an index outside.
        """
        images, captions = as_pairs(self.shape, direction, queries, items)
        out = np.full(len(images), -2.0, np.float32)
        product = aligned((REFERENCES, CANDIDATES))
        for r0, c0, pairs in self._tiles_of(images, captions):
            self._tile(r0, c0, product)
            kernels.pluck(product, r0, c0, self.first, pairs, images, captions, out)
        out[self.first[images] == self.first[images + 1]] = 0.0
        own = np.flatnonzero(self.image_of[captions] == images)
        out[own] = self.own[captions[own]]
        return out.reshape(np.shape(items))

    @cached_property
    def _most_images(self) -> int:
        """How many images, those without captions too, a tile reaches over at most."""
        starts = np.arange(0, max(int(self.first[-1]), 1), REFERENCES)
        low = np.searchsorted(self.first, starts, side="right") - 1
        return int((np.searchsorted(self.first, starts + REFERENCES, side="left") - low).max())

    def _tile(self, r0: int, c0: int, out: Vectors) -> None:
        np.matmul(self.references[r0 : r0 + REFERENCES], self.candidates[c0 : c0 + CANDIDATES].T, out=out)

    def _tiles_of(self, images: Int, captions: Int) -> Iterator[tuple[int, int, Int]]:
        """Each tile that holds references of a pair, with the indices of such pairs."""
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
        split: which caption belongs to which image.
        vectors: (caption, dim) finite floats of any length, maybe memory-mapped. A zero vector has gain 0 with
            everything.
        agg: ``max``, ``mean`` or ``first`` of the image's captions.
        own: ``in`` leaves a caption among the captions of its own image, ``one`` sets the gain with its own
            image to 1, ``out`` takes the caption out of them (0 when none is left).
        settings: what else belongs into the signature.
        notes: what the user should know.
    """
    n_image, n_caption = len(split.image_ids), len(split.caption_ids)
    members = np.argsort(split.image_of, kind="stable")
    first = np.zeros(n_image + 1, np.int64)
    np.cumsum(np.bincount(split.image_of, minlength=n_image), out=first[1:])
    candidates, blank = unit_rows(vectors, REFERENCES)
    how = AGGREGATES.index(agg)
    values = np.empty(n_caption, np.float32)
    kernels.own_gains(candidates, blank, members, first, how, OWN.index(own), values)
    said = list(notes)
    count = np.diff(first)
    if own == "out" and (count == 1).any():
        said.append(f"{int((count == 1).sum()):,} images have a single caption; with own=out its gain is 0")
    if (count == 0).any():
        said.append(f"{int((count == 0).sum()):,} images have no caption; their gains are 0")
    if agg == "max":
        in_order = bool((members == np.arange(n_caption)).all())
        references, starts = candidates if in_order else _padded(candidates, members, REFERENCES), first
    else:
        filled = count > 0
        starts = np.concatenate([[0], np.cumsum(filled)])
        if agg == "first":
            references = _padded(candidates, members[first[:-1][filled]], REFERENCES)
        else:
            references = _means(candidates, members, first, filled)
    told = {**(settings or {}), "agg": agg, "own": own}
    return CaptionCosine(
        name, told, tuple(said), (n_image, n_caption), frozen(candidates), frozen(references), frozen(starts),
        split.image_of, frozen(values),
    )  # fmt: skip


def aligned(shape: tuple[int, int]) -> Vectors:
    """Zeros that start on a cache line: some libraries round differently according to where an array lies."""
    size = shape[0] * shape[1]
    raw = np.zeros(size + ALIGNED // 4, np.float32)
    skip = -raw.ctypes.data % ALIGNED // 4
    return raw[skip : skip + size].reshape(shape)


def unit_rows(vectors: npt.NDArray[Any], tile: int) -> tuple[Vectors, Bool]:
    """Rows of unit length in whole tiles, and (row,) whether a row is all zeros and stays so.

    Lengths are taken in float64. Zeros fill up the last tile and the columns to a multiple of 16.
    """
    n, dim = vectors.shape
    out = aligned((-(-n // tile) * tile, -(-dim // kernels.LANES) * kernels.LANES))
    blank = np.zeros(n, np.bool_)
    for start in range(0, n, 4096):
        block = np.asarray(vectors[start : start + 4096], np.float64)
        # Scaled first: squares of very long or short vectors leave float64.
        largest = np.abs(block).max(axis=1, keepdims=True)
        blank[start : start + 4096] = largest[:, 0] == 0
        block = block / np.where(largest == 0, 1.0, largest)
        length = np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
        out[start : start + len(block), :dim] = block / np.where(length == 0, 1.0, length)
    return out, blank


def _padded(vectors: Vectors, rows: Int, tile: int) -> Vectors:
    """The given rows in whole tiles."""
    out = aligned((-(-len(rows) // tile) * tile, vectors.shape[1]))
    out[: len(rows)] = vectors[rows]
    return out


def _means(vectors: Vectors, members: Int, first: Int, filled: Bool) -> Vectors:
    """(image with captions, dim) means of the captions' vectors, in whole tiles."""
    sums = np.add.reduceat(vectors[members], first[:-1][filled], axis=0, dtype=np.float64)
    means = (sums / np.diff(first)[filled, None]).astype(np.float32)
    return _padded(means, np.arange(len(means)), REFERENCES)
