"""Ragged lists, sums in a fixed order and tiles as tensor code, for the rows of CIDEr-D and SPICE."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..numeric.torch_support import within_memory
from ..types import Direction, Vectors

TILE = 1 << 24  # values computed together
KEPT = 2  # tiles of a direction: threads that take the last blocks of one and the first of the next
Tensor = Any  # torch counts as untyped


class Tiles:
    """Rows of gains that are computed in large tiles, from which blocks of a few queries are copied.

    A device takes about as long for the rows of twenty queries as for those of a thousand: what it does are thousands
    of small operations. It computes one tile at a time, whatever the number of threads that wait for it.

    Args:
        device: of torch.
        compute: a direction, the first query and the last + 1 -> (query, gallery) float32 on the device.
        shape: (images, captions).
    """

    def __init__(self, device: str, compute: Callable[[Direction, int, int], Tensor], shape: tuple[int, int]):
        self.device, self.compute, self.shape = device, compute, shape
        self._lock = threading.Lock()
        self._kept: dict[tuple[Direction, int], Vectors] = {}  # in the order in which they were made

    def rows(self, direction: Direction, first: int, last: int) -> Vectors:
        """(last - first, gallery) float32 values of queries ``first:last``.

        Raises:
            DeviceMemory: the device has too little memory.
        """
        queries, gallery = self.shape if direction == "i2t" else self.shape[::-1]
        step = max(1, TILE // max(gallery, 1))
        out = np.empty((last - first, gallery), np.float32)
        for start in range(first - first % step, last, step):
            tile = self._tile(direction, start, min(start + step, queries))
            a, b = max(first, start), min(last, start + step)
            out[a - first : b - first] = tile[a - start : b - start]
        return out

    def _tile(self, direction: Direction, start: int, stop: int) -> Vectors:
        with self._lock:
            if (direction, start) not in self._kept:
                own = [key for key in self._kept if key[0] == direction]
                for key in own[: len(own) - KEPT + 1]:
                    del self._kept[key]
                self._kept[direction, start] = within_memory(
                    self.device, lambda share: self._in_pieces(direction, start, stop, share)
                )
            return self._kept[direction, start]

    def _in_pieces(self, direction: Direction, start: int, stop: int, share: int) -> Vectors:
        step = max(1, (stop - start) // share)
        pieces = [(a, min(a + step, stop)) for a in range(start, stop, step)]
        made = [self.compute(direction, *piece).cpu().numpy() for piece in pieces]
        return made[0] if len(made) == 1 else np.concatenate(made)


def tensor(array: Any, device: str) -> Tensor:
    """A copy of an array on the device."""
    return torch.tensor(np.ascontiguousarray(array), device=device)


def expand(start: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The entries of some rows of a ragged list, one row after the other: the index into ``rows``, and the entry.

    Args:
        start: (row + 1,) int64, where the entries of each row start.
        rows: (n,) int64.
    """
    size = start[rows + 1] - start[rows]
    which = torch.arange(len(rows), device=rows.device).repeat_interleave(size)
    behind = size.cumsum(0)
    place = torch.arange(len(which), device=rows.device) - (behind - size)[which]
    return which, start[rows][which] + place


def add_in_order(total: Tensor, key: Tensor, value: Tensor) -> None:
    """``total[key[0]] += value[0]``, and so on, one after the other: with the roundings of such a loop.

    The additions to one number are made in rounds, its first one in the first round; within a round no two meet.
    """
    if not len(key):
        return
    for chosen in rounds(key):
        total[key[chosen]] += value[chosen]


def rounds(key: Tensor) -> tuple[Tensor, ...]:
    """The indices of the first occurrences of all keys, of the second ones, and so on."""
    order = key.argsort(stable=True)
    ordered = key[order]
    place = torch.arange(len(key), device=key.device)
    new = torch.ones_like(place, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    occurrence = place - torch.where(new, place, 0).cummax(0).values
    by_round = occurrence.argsort(stable=True)
    found: tuple[Tensor, ...] = order[by_round].split(torch.bincount(occurrence).tolist())
    return found
