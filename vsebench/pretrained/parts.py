"""Vectors in parts that are kept in the cache until all are there, so that an interrupted call goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..files import store
from ..types import Vectors
from .device import in_turn_on

KIND = "encode"  # of entries in the cache
BATCHES_PER_PART = 8


class Parts:
    """The parts of one call.

    Args:
        settings: everything that decides the bits of a vector beside its item: model, versions, device, batch.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.used: list[str] = []
        self.restored = 0
        self.lost: str | None = None  # why parts cannot be kept
        self._lock = threading.Lock()

    def vectors(
        self,
        items: Sequence[str],
        batch: int,
        compute: Callable[[int, int, int], Vectors],
        done: Callable[[int], object],
        devices: Sequence[str],
    ) -> Vectors:
        """The vectors of all items, (item, dim) float32.

        Args:
            items: what each vector is of: a caption, or the path, size and time of a file. A part is found again
                for the same items only.
            batch: of a part there are ``BATCHES_PER_PART`` of them.
            compute: the vectors of items ``start`` to before ``stop``, by the device of a number.
            done: called with the number of items of a part that was there.
            devices: each computes a part at a time.
        """

        def part(device: int, start: int) -> Vectors:
            stop = min(start + batch * BATCHES_PER_PART, len(items))
            key = store.fingerprint(KIND, self.settings, list(items[start:stop]))
            found = store.get_array(KIND, key)
            there = found is not None
            if found is None:
                found = compute(device, start, stop)
            lost = None if there else store.keep_array(KIND, key, found)
            with self._lock:
                self.lost = lost or self.lost
                self.restored += (stop - start) * there
                self.used.append(key)
            if there:
                done(stop - start)
            return found

        return np.concatenate(in_turn_on(devices, part, range(0, len(items), batch * BATCHES_PER_PART)))

    def remove(self) -> None:
        """Remove the parts from the cache: the result has them."""
        for key in self.used:
            path = store.get(KIND, key)
            if path is not None:
                store.remove(path)
