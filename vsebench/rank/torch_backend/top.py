"""Top lists from tiles of scores, as ``select.Selector`` makes them.

Every query has the candidates that can be among its best k: those whose score is within twice the error bound of the
k-th best so far. At the end they are scored canonically and sorted by score descending, then lower index.
"""

from __future__ import annotations

import threading

import numpy as np
import torch

from ...errors import UsageError
from ...types import Direction, TopK
from ..scorers import Scorer
from .count import Tile
from .settings import Sizes
from .vectors import Resident, Tensor, canonical, dtype_of, host, tensor

SPARE = 16  # candidates beyond k that a tile and a list have room for


class TopLists:
    """The top lists of one direction.

    Args:
        scorer: scores of all images with all captions.
        of: the vectors, None where the tiles have the canonical scores.
        direction: side of the queries.
        k: list length, clipped to the gallery.
        device: where the tiles are.
        sizes: of the device.

    Raises:
        UsageError: k is below 1.
    """

    def __init__(
        self, scorer: Scorer, of: Resident | None, direction: Direction, k: int, device: torch.device, sizes: Sizes
    ):
        if k < 1:
            raise UsageError(f"list depth {k} is below 1", fix="give a depth of at least 1")
        self.of, self.direction, self.device, self._lock = of, direction, device, threading.Lock()
        self.room = sizes.merged
        n_query, self.gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
        self.k = min(k, self.gallery)
        width = min(self.k + SPARE, self.gallery)
        dtype = dtype_of(scorer)
        self.value = torch.full((n_query, width), -torch.inf, dtype=dtype, device=device)
        self.index = torch.full((n_query, width), self.gallery, dtype=torch.int64, device=device)
        # Errors of the k-th best and of a candidate can have opposite signs.
        self.slack = tensor(2 * scorer.error()[0 if direction == "i2t" else 1], device)

    def add(self, tile: Tile) -> None:
        """Add one tile."""
        (q0, q1), (g0, g1) = tile.sides(self.direction)
        scores = (tile.scores if self.direction == "i2t" else tile.scores.t())[: q1 - q0, : g1 - g0]
        step = max(1, self.room // (self.value.shape[1] + g1 - g0))
        with self._lock:  # tiles of other threads have the same queries
            for a in range(q0, q1, step):
                b = min(a + step, q1)
                self._merge(scores[a - q0 : b - q0].contiguous(), a, b, g0)

    def _merge(self, scores: Tensor, a: int, b: int, g0: int) -> None:
        """Merge ``scores`` (query, candidate) of queries ``a:b`` and candidates from ``g0`` on into the lists."""
        width, room = scores.shape[1], self.value.shape[1]
        taken = min(self.k + SPARE, width)
        while True:
            value, place = scores.topk(taken, dim=1)
            merged = torch.cat([self.value[a:b], value], dim=1)
            floor = self._floor(merged, self.slack[a:b])
            if taken == width or bool((value[:, -1] < floor).all()):
                break
            taken = min(2 * taken, width)  # near-ties of the k-th best may be behind the last that was taken
        index = torch.cat([self.index[a:b], place + g0], dim=1)
        keep = (merged >= floor[:, None]) & (index < self.gallery)
        crowded = (keep.sum(1) > room).nonzero()[:, 0]
        if len(crowded):
            keep[crowded] = self._best(merged[crowded], index[crowded], keep[crowded], crowded + a)
        value, order = merged.masked_fill(~keep, -torch.inf).topk(min(room, merged.shape[1]), dim=1)
        absent = ~keep.gather(1, order)
        self.value[a:b, : order.shape[1]] = value
        self.index[a:b, : order.shape[1]] = index.gather(1, order).masked_fill(absent, self.gallery)

    def _floor(self, merged: Tensor, slack: Tensor) -> Tensor:
        """(query,) what a score must reach to be among the k best; rounded down."""
        if merged.shape[1] < self.k:
            return torch.full_like(merged[:, 0], -torch.inf)
        kth = merged.topk(self.k, dim=1).values[:, -1]
        return (kth.double() - slack).to(merged.dtype).nextafter(torch.full_like(kth, -torch.inf))

    def _best(self, value: Tensor, index: Tensor, keep: Tensor, queries: Tensor) -> Tensor:
        """(query, candidate) whether a candidate is among the k best of those in ``keep``, by canonical score."""
        chosen = self._order(value, index, keep, queries)[0][:, : self.k]
        return torch.zeros_like(keep).scatter_(1, chosen, True) & keep

    def _order(self, value: Tensor, index: Tensor, keep: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """The order of the candidates in ``keep``, then of the others, and the canonical scores in this order."""
        exact = torch.full(value.shape, -torch.inf, dtype=torch.float64, device=self.device)
        row, place = keep.nonzero(as_tuple=True)
        if self.of is None:
            exact[row, place] = value[row, place].double()
        else:
            own = queries[row]
            found = canonical(self.of, self.direction, own, index[row, place])
            self.of.compare((value[row, place].double() - found).abs() <= self.slack[own] / 2)
            exact[row, place] = found
        by_index = index.argsort(dim=1)
        exact, order = exact.gather(1, by_index).sort(dim=1, descending=True, stable=True)
        return by_index.gather(1, order), exact

    def finish(self) -> TopK:
        """The top lists, after the last tile."""
        n = len(self.value)
        items, scores = np.empty((n, self.k), np.int64), np.empty((n, self.k))
        step = max(1, self.room // self.value.shape[1])
        for a in range(0, n, step):
            own = slice(a, min(a + step, n))
            index = self.index[own]
            queries = torch.arange(own.start, own.stop, device=self.device)
            order, exact = self._order(self.value[own], index, index < self.gallery, queries)
            items[own] = host(index.gather(1, order[:, : self.k]))
            scores[own] = host(exact[:, : self.k])
        return TopK(items, scores)
