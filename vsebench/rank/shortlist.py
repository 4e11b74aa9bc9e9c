"""The captions that can be among the k best of every image, kept while captions are scored in blocks.

A block of captions is scored with all images, so that an image gets its scores one block after the other. For the
images to need no product of their own, each keeps the scores that reach a limit, which is set from a sample of the
captions so that a few more than k reach it. The limit is an estimate, the order is exact: an image with fewer than k
captions that are certainly among the best gets a complete row of scores at the end. Where far too many scores reach
the limits, as when all captions tie, the list is dropped (``too_large``), and its images are ranked from complete rows.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, Vectors
from . import full_order
from .exact import product_bound
from .full_order import ErrorBound, Items, Order
from .scorers import Dot

PIECE = 256  # captions kept together, so that a position among them fits a byte
SAMPLE = 640  # captions that the limits are estimated from
MARGIN = 2.0  # standard deviations; one image in forty then needs a complete row
BYTES = 4  # a kept score and its position
LOSS = 1.05 * 2.0**-22  # relative error of a score that was kept, and of its shift: the last bit, and two roundings
SPAN = 13.0  # largest shifted score over the smallest; 14 fits four powers of two and 24 bits
TOO_MUCH = 4  # times the expected memory; a larger list is dropped
BLOCK = 33 << 20  # bytes allocated at a time; blocks this large are returned to the system when freed
SPARE = 4 << 20  # bytes that a list may take whatever is expected


@dataclass(frozen=True, eq=False)
class _Piece:
    """Scores of consecutive captions that reach the limits, image by image (see ``shortlist_kernels.keep``)."""

    first: int
    start: npt.NDArray[np.int32]
    kept: npt.NDArray[np.uint32]


def expected_bytes(k: int, gallery: int, tiles: int) -> float:
    """The expected memory of an image's kept scores, for the k best of ``gallery`` captions in ``tiles`` tiles."""
    sample = min(SAMPLE, gallery)
    pieces = tiles + -(-gallery // PIECE)
    return _sample_rank(k, gallery, sample) / sample * gallery * BYTES + 4 * pieces


def _sample_rank(k: int, gallery: int, sample: int) -> int:
    """The rank in the sample of a score that at least k of the gallery most likely reach."""
    part = k / gallery
    return int(part * sample + MARGIN * np.sqrt(sample * part * (1 - part))) + 3


class Shortlist:
    """Kept scores of every image, which contain the k best of some captions.

    Args:
        scorer: gives canonical scores.
        k: depth of the order.
        captions: (gallery,) int64 indices of the candidates, ascending.
        tiles: number of tiles that will be added.
    """

    def __init__(self, scorer: Dot, k: int, captions: Int, tiles: int):
        self.scorer, self.k, self.captions = scorer, k, captions
        self.limit = limits(scorer, k, captions)
        self.least, self.shift = _shifts(scorer, self.limit)
        self.origin = (self.least - self.shift).view(np.int32)
        self.most = TOO_MUCH * len(self.limit) * expected_bytes(k, len(captions), tiles) + SPARE
        self.bytes, self.too_large = 0, False
        self.pieces: list[_Piece] = []
        self.length = np.zeros(len(self.limit), np.int64)  # of the lists
        self.complete: dict[int, tuple[Items, Vectors]] = {}  # images with a complete row
        bound_of = full_order.float64_bound if k > full_order.SHALLOW else full_order.float32_bound
        product = bound_of(scorer, "i2t", np.arange(len(self.limit)))
        lost = full_order.SURE * LOSS
        base = product.base + lost * np.abs(self.shift.astype(np.float64))
        self.bound = ErrorBound(product.rate + lost, base, product.precision)
        self._free = np.empty(0, np.uint32)
        self._lock = threading.Lock()

    def add(self, tile: Vectors, c0: int) -> None:
        """Keep what reaches the limits in ``tile``, (image, caption) scores of captions from ``c0`` on.

        The scores are float32 products, or float64 products rounded to float32 where ``k`` is above
        ``full_order.SHALLOW``.
        """
        from . import shortlist_kernels

        a, b = (int(x) for x in np.searchsorted(self.captions, (c0, c0 + tile.shape[1])))
        if a == b or self.too_large:
            return
        images = len(self.limit)
        room = np.empty(images * min(PIECE, b - a) + 1, np.uint32)
        shifted, code = np.empty(PIECE, np.float32), np.empty(PIECE, np.uint32)
        for p in range(a, b, PIECE):
            chosen = self.captions[p : min(p + PIECE, b)] - c0
            consecutive = chosen[-1] - chosen[0] + 1 == len(chosen)
            part, left = (tile, chosen[0]) if consecutive else (np.take(tile, chosen, axis=1), 0)
            start = np.empty(images + 1, np.int64)
            shortlist_kernels.keep(
                part, left, len(chosen), self.least, self.shift, self.origin, shifted, shifted.view(np.int32), code,
                start, room,
            )  # fmt: skip
            n = int(start[-1])
            with self._lock:
                self._count_bytes(BYTES * n + 4 * len(start))
                if self.too_large:
                    return
                piece = _Piece(p, start.astype(np.int32), self._allocate(n))
                self.pieces.append(piece)
            piece.kept[:] = room[:n]

    def _allocate(self, n: int) -> npt.NDArray[np.uint32]:
        """Memory for ``n`` scores, from blocks that are returned to the system when the list is cleared."""
        if len(self._free) < n:
            self._free = np.empty(max(n, BLOCK // BYTES), np.uint32)  # unwritten pages take no memory
        taken, self._free = self._free[:n], self._free[n:]
        return taken

    def _count_bytes(self, nbytes: int) -> None:
        """Count allocated memory; drop the list when it is too much."""
        self.bytes += nbytes
        if self.bytes > self.most:
            self.too_large = True
            self.clear()

    def finish(self) -> bool:
        """Score images with too few candidates, after the last tile; False when the list has become too large."""
        if self.too_large:
            return False
        self.pieces.sort(key=lambda piece: piece.first)
        self.length = np.sum([np.diff(piece.start) for piece in self.pieces], axis=0)
        self._certify()
        return not self.too_large

    def clear(self) -> None:
        """Free the memory of the list."""
        self.pieces, self.complete, self._free = [], {}, self._free[:0].copy()

    def order(self, start: int, stop: int) -> Order:
        """The k best of images ``start:stop`` in canonical order, in positions among the captions."""
        queries = np.arange(start, stop)
        bound = self.bound.take(queries)
        found = self._sorted(queries)
        return full_order.canonical_order(self.scorer, "i2t", found, queries, self.k, bound, self.captions)

    def _sorted(self, queries: Int) -> tuple[Items, Vectors, Int]:
        from ..numeric import sort_kernels as sorting_kernels
        from ..numeric.sort import order
        from . import shortlist_kernels

        complete = {i: self.complete[q] for i, q in enumerate(queries.tolist()) if q in self.complete}
        width = max([int(self.length[queries].max()), self.k, *(len(items) for items, _ in complete.values())])
        items, scores = np.empty((len(queries), width), np.int32), np.empty((len(queries), width), np.float32)
        count = np.zeros(len(queries), np.int64)
        for p in self.pieces:
            shortlist_kernels.append(
                p.start, p.kept, p.first, self.shift, self.origin, queries, items, scores, scores.view(np.int32), count
            )
        for i, (item, score) in complete.items():
            items[i, : len(item)], scores[i, : len(item)], count[i] = item, score, len(item)
        places, ordered = order(scores, count)
        sorting_kernels.pick(items, places, count)
        return places, ordered, count

    def _certify(self) -> None:
        """Compute complete rows for the images that may have some of their k best below the limit."""
        from . import shortlist_kernels, sort_kernels

        rate, base = self.bound.rate, self.bound.base
        estimated = np.isfinite(self.limit)  # elsewhere all scores were kept
        limit = np.where(estimated, self.limit, 0)
        # The order of two scores this far apart is certain, and so is that of the lower and a score that was not kept.
        margin = 2 * sort_kernels.REACH * (rate * np.abs(limit) + base) * (1 + 4 * rate)
        sure = np.nextafter((limit + margin).astype(np.float32), np.float32(np.inf))
        count = np.zeros(len(sure), np.int64)
        some = np.empty(PIECE, np.float32)
        for p in self.pieces:
            shortlist_kernels.count_over(
                p.start, p.kept, self.shift, self.origin, sure, some, some.view(np.int32), count
            )
        for images in full_order.parts_of(np.flatnonzero((count < self.k) & estimated), self.scorer.shape[1]):
            rows = _rows(self.scorer, self.k, images, self.captions)
            items, scores, found = full_order.candidates(rows, self.k, self.bound.take(images))
            for i, image in enumerate(images.tolist()):
                self.complete[image] = items[i, : found[i]].copy(), scores[i, : found[i]].copy()
            self._count_bytes(8 * int(found.sum()))
            if self.too_large:
                return


def _rows(scorer: Dot, k: int, images: Int, captions: Int) -> Vectors:
    """(images, captions) scores, of the same kind as those that were kept."""
    if k > full_order.SHALLOW:
        return full_order.float64_rows(scorer, "i2t", images, captions, centred=False)[0]
    consecutive = captions[-1] - captions[0] + 1 == len(captions)
    vectors = scorer.captions[captions[0] : captions[-1] + 1] if consecutive else scorer.captions[captions]
    return full_order.scaled(scorer, scorer.images[images] @ vectors.T, images, captions)


def _shifts(scorer: Dot, limit: Vectors) -> tuple[Vectors, Vectors]:
    """(image,) float32: the least score kept, and the shift subtracted so that the scores span few powers of two."""
    largest = (1.001 + product_bound(scorer.images.shape[1])) * full_order.largest_score(scorer, "i2t", slice(None))
    least = np.where(np.isfinite(limit), limit, -largest).astype(np.float32)
    shift = np.where(SPAN * least >= largest, 0, least - (largest - least) / SPAN)
    return least, shift.astype(np.float32)


def limits(scorer: Dot, k: int, captions: Int) -> Vectors:
    """(image,) float32 scores that a few more than k of the captions most likely reach; -inf where all are kept."""
    images = scorer.shape[0]
    size = min(SAMPLE, len(captions))
    # At random: files are ordered, by image or language, and every n-th caption may not be representative.
    chosen = captions[np.sort(np.random.default_rng(len(captions)).choice(len(captions), size, replace=False))]
    vectors = scorer.captions[chosen]
    found = np.full(images, -np.inf, np.float32)
    last = size - _sample_rank(k, len(captions), size)
    for some in full_order.parts_of(np.arange(images), size) if last > 0 else []:
        scores = full_order.scaled(scorer, scorer.images[some] @ vectors.T, some, chosen)
        found[some] = np.partition(scores, last, axis=1)[:, last]
    return found
