"""Vectors in parts that are kept in the cache until all are there, so that an interrupted call goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..data import store
from ..types import Vectors

KIND = "encode"  # of entries in the cache
BATCHES = 8  # of a part


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

    def vectors(
        self,
        items: Sequence[str],
        batch: int,
        compute: Callable[[int, int], Vectors],
        done: Callable[[int], object],
    ) -> Vectors:
        """The vectors of all items, (item, dim) float32.

        Args:
            items: what each vector is of: a caption, or the path, size and time of a file. A part is found again
                for the same items only.
            batch: of a part there are ``BATCHES`` of them.
            compute: the vectors of items ``start`` to before ``stop``.
            done: called with the number of items that are done.
        """
        found = []
        for start in range(0, len(items), batch * BATCHES):
            stop = min(start + batch * BATCHES, len(items))
            key = store.fingerprint(KIND, self.settings, list(items[start:stop]))
            part = store.get_array(KIND, key)
            if part is None:
                part = compute(start, stop)
                self.lost = store.keep_array(KIND, key, part) or self.lost
            else:
                self.restored += stop - start
            self.used.append(key)
            found.append(part)
            done(stop)
        return np.concatenate(found)

    def remove(self) -> None:
        """Remove the parts from the cache: the result has them."""
        for key in self.used:
            path = store.get(KIND, key)
            if path is not None:
                store.remove(path)
