"""Items in the order of their gains, from the largest one down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, Vectors

COMMON = 8  # items of the smallest gain are left out of the sort where they are one in so many
Items = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Fall:
    """Items in the order of their gains, largest first, ties to the lower position; the smallest may lack.

    Attributes:
        items: (query, width) int32 positions.
        gains: (query, width) float32.
        kept: (query,) int64, how many a query has.
        least: (query,) float32 the gain of those that lack, the smallest; not larger than that if none does.
    """

    items: Items
    gains: Vectors
    kept: Int
    least: Vectors

    def among(self, order: Items) -> Fall:
        """The same items by where they stand in ``order`` (query, gallery) int32, which holds them all."""
        from . import gain_order_kernels as fall_kernels

        places = np.empty_like(self.items)
        fall_kernels.places(self.items, self.kept, order, places)
        return Fall(places, self.gains, self.kept, self.least)

    def top(self, gains: Vectors, k: int) -> tuple[Items, Vectors]:
        """(query, k) int32 and float32: the items of largest gain and these, from all ``gains`` (query, gallery)."""
        from . import gain_order_kernels as fall_kernels

        items, best = np.empty((len(gains), k), np.int32), np.empty((len(gains), k), np.float32)
        fall_kernels.top(self.items, self.gains, self.kept, gains, self.least, items, best)
        return items, best


def fall(gains: Vectors, count: Int) -> Fall:
    """The order of ``gains`` (query, depth) float32, of which a query has ``count`` (query,)."""
    from ..numeric import sort_kernels as sorting_kernels
    from ..numeric.sort import order
    from . import gain_order_kernels as fall_kernels

    least = np.empty(len(gains), np.float32)
    common = fall_kernels.smallest(gains, count, least)
    if common * COMMON < count.sum():
        return Fall(*order(gains, count), count, least)
    item, gain = np.empty(gains.shape, np.int32), np.empty(gains.shape, np.float32)
    kept = np.empty(len(gains), np.int64)
    fall_kernels.above(gains, count, least, item, gain, kept)
    places, ordered = order(gain, kept)
    sorting_kernels.pick(item, places, kept)
    return Fall(places, ordered, kept, least)
