"""What can be among the k best captions of every image, collected while tiles of captions stream by.

A pass that goes through the captions block by block sees all images of a block, and one block after the other of every
image. So that the images need no product of their own, scores that reach a limit are kept: one an image, set from a
sample of the captions so that a few more than k reach it. The limit is a guess and the order is not: an image of
which fewer than k are certainly the best gets a row of its own at the end.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, Vectors
from . import whole
from .scorers import Dot
from .whole import Doubt, Items, Order

PIECE = 1 << 16  # captions kept together at most: where they stand there fits two bytes
SAMPLE = 640  # captions that tell the limits
MARGIN = 2.0  # standard deviations; one image in forty then gets a row of its own
CHECKED = 1 << 15  # kept pairs whose float32 error is measured
BYTES = 6  # a kept score and where it stands
ROWS = 256  # images without enough candidates that are scored together


@dataclass(frozen=True, eq=False)
class _Piece:
    """What of some consecutive captions reached the limits, image after image (see ``shortlist_kernels.keep``)."""

    first: int
    start: Int
    score: Vectors
    where: npt.NDArray[np.uint16]


def expected_bytes(images: int, k: int, gallery: int) -> float:
    """About how much memory lists of the k best of ``gallery`` captions take for ``images`` images."""
    return images * _share(k, gallery, SAMPLE) * gallery * BYTES


def _share(k: int, gallery: int, sample: int) -> float:
    """The part of the captions that reach a limit: as many of the sample as certainly hold k of all."""
    part = k / gallery
    return (int(part * sample + MARGIN * np.sqrt(sample * part * (1 - part))) + 3) / sample


class Shortlist:
    """Candidates for the k best of some captions, of every image.

    Args:
        scorer: where scores come from.
        k: how deep.
        captions: (gallery,) int64 who competes, ascending.
        sampled: (image, sampled) float32 scores of a sample of the captions.
    """

    def __init__(self, scorer: Dot, k: int, captions: Int, sampled: Vectors):
        self.scorer, self.k, self.captions = scorer, k, captions
        down = int(_share(k, len(captions), sampled.shape[1]) * sampled.shape[1])
        last = sampled.shape[1] - down
        self.limit = np.partition(sampled, last, axis=1)[:, last] if last > 0 else np.full(len(sampled), -np.inf)
        self.limit = self.limit.astype(np.float32)
        self.pieces: list[_Piece] = []
        self.length = np.zeros(len(self.limit), np.int64)  # of the lists
        self.own: dict[int, tuple[Items, Vectors]] = {}  # images with a row of their own
        self.doubt = Doubt(0.0, np.zeros(len(self.limit)))
        self._lock = threading.Lock()

    def see(self, tile: Vectors, c0: int) -> None:
        """Look at ``tile``, (image, caption) float32 scores of all images with captions from ``c0`` on."""
        from . import shortlist_kernels

        a, b = np.searchsorted(self.captions, (c0, c0 + tile.shape[1]))
        if a == b:
            return
        size = len(tile) * min(PIECE, b - a) + 1
        score, where = np.empty(size, np.float32), np.empty(size, np.uint16)
        for p in range(a, b, PIECE):
            chosen = self.captions[p : min(p + PIECE, b)] - c0
            near = chosen[-1] - chosen[0] + 1 == len(chosen)
            part = tile[:, chosen[0] : chosen[-1] + 1] if near else np.take(tile, chosen, axis=1)
            start = np.empty(len(tile) + 1, np.int64)
            shortlist_kernels.keep(part, self.limit, start, score, where)
            n = start[-1]
            self.pieces.append(_Piece(int(p), start.astype(np.int32), score[:n].copy(), where[:n].copy()))

    def finish(self) -> None:
        """All captions have been seen: measure the error of scores, and score images with too few candidates."""
        self.pieces.sort(key=lambda piece: piece.first)
        self.length = np.sum([np.diff(piece.start) for piece in self.pieces], axis=0)
        self.doubt = self._measure()
        self.own = self._certify(self.doubt)

    def order(self, start: int, stop: int) -> Order:
        """The k best of images ``start:stop`` in canonical order, in positions among the captions."""
        queries = np.arange(start, stop)
        while True:
            doubt = self.doubt
            found = self._sorted(queries)
            order = whole.decide(self.scorer, "i2t", found, queries, self.k, doubt.take(queries), self.captions)
            if order is not None:
                return order
            with self._lock:
                if self.doubt is doubt:
                    wider = Doubt(2 * doubt.rate, 2 * doubt.base)
                    self.own, self.doubt = self._certify(wider), wider

    def _sorted(self, queries: Int) -> tuple[Items, Vectors, Int]:
        from ..sorting import order
        from . import shortlist_kernels, sort_kernels

        known = self.own
        own = {i: known[q] for i, q in enumerate(queries.tolist()) if q in known}
        width = max([int(self.length[queries].max()), self.k, *(len(items) for items, _ in own.values())])
        items, scores = np.empty((len(queries), width), np.int32), np.empty((len(queries), width), np.float32)
        count = np.zeros(len(queries), np.int64)
        for p in self.pieces:
            shortlist_kernels.append(p.start, p.score, p.where, p.first, queries, items, scores, count)
        for i, (item, score) in own.items():
            items[i, : len(item)], scores[i, : len(item)], count[i] = item, score, len(item)
        places, ordered = order(scores, count)
        sort_kernels.pick(items, places, count)
        return places, ordered, count

    def _measure(self) -> Doubt:
        """How far kept scores may be from canonical ones."""
        rng = np.random.default_rng(len(self.captions))
        rows, cols, seen = [], [], []
        for piece in self.pieces:
            if not len(piece.score):
                continue
            at = rng.integers(0, len(piece.score), -(-CHECKED // len(self.pieces)))
            rows.append(np.searchsorted(piece.start, at, side="right") - 1)
            cols.append(self.captions[piece.first + piece.where[at].astype(np.int64)])
            seen.append(piece.score[at])
        pairs = np.concatenate(rows), np.concatenate(cols), np.concatenate(seen)
        return whole.doubt_of(self.scorer, "i2t", *pairs, 0, len(self.limit))

    def _certify(self, doubt: Doubt) -> dict[int, tuple[Items, Vectors]]:
        """Candidates from whole rows, for the images of which some of the k best could be below the limit."""
        from . import shortlist_kernels, sort_kernels

        rate, base = doubt.rate, doubt.base
        # Of two scores this far apart the order is certain, also that of the lower with what was not kept.
        margin = 2 * sort_kernels.REACH * (rate * np.abs(self.limit) + base) * (1 + 4 * rate)
        sure = np.nextafter((self.limit + margin).astype(np.float32), np.float32(np.inf))
        count = np.zeros(len(sure), np.int64)
        for piece in self.pieces:
            shortlist_kernels.count_over(piece.start, piece.score, sure, count)
        short = np.flatnonzero((count < self.k) & np.isfinite(self.limit))
        own = {}
        for a in range(0, len(short), ROWS):
            images = short[a : a + ROWS]
            rows = _picked(self.scorer, images, self.captions)
            items, scores = np.empty(rows.shape, np.int32), np.empty(rows.shape, np.float32)
            found = np.empty(len(rows), np.int64)
            sort_kernels.candidates(
                rows, self.k, np.float32(rate), base[images].astype(np.float32), items, scores, found
            )
            for i, image in enumerate(images.tolist()):
                own[image] = items[i, : found[i]].copy(), scores[i, : found[i]].copy()
        return own


def _picked(scorer: Dot, images: Int, captions: Int) -> Vectors:
    """(images, captions) float32 scores."""
    part = Dot(scorer.images[images], scorer.captions, scorer.cosine)
    rows = whole.rows_of(part, "i2t", 0, len(images), np.empty(len(images) * scorer.shape[1], np.float32))
    return rows if rows.shape[1] == len(captions) else np.ascontiguousarray(rows[:, captions])


def sample(scorer: Dot, captions: Int) -> Vectors:
    """(image, sampled) float32 scores of every image with captions spread over the gallery."""
    chosen = captions[:: max(1, len(captions) // SAMPLE)]
    return scorer.columns(chosen)
