"""Items in descending order of their gains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, Vectors

COMMON_DIVISOR = 8  # items with the smallest gain are not sorted if at least one in so many has it
CONCORD, TIES_SCORE, TIES_GAIN, DISTINCT_SCORES, DISTINCT_GAINS = range(5)  # what ``tau.pair_counts`` counts
Items = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class GainOrder:
    """Items in descending order of their gains, ties to the lower index. Items with the smallest gain may be left out.

    Attributes:
        items: (query, width) int32 indices; in a ``GradedRanking`` the ranks, counted from 0, of the retrieved items.
        gains: (query, width) float32.
        listed: (query,) int64, how many items of a query are listed.
        ranked: (query, depth) float32 gains of all items by their index.
    """

    items: Items
    gains: Vectors
    listed: Int
    ranked: Vectors


def gain_order(gains: Vectors, count: Int) -> GainOrder:
    """The order of ``gains`` (query, depth) float32; a query has ``count`` (query,) of them.

    Most gains of CIDEr-D and SPICE rows are zero; leaving out the items that share the smallest gain halves the sort.
    """
    from ..numeric import sort_kernels
    from ..numeric.elementary import order
    from . import gain_order_kernels

    least = np.empty(len(gains), np.float32)
    equal = gain_order_kernels.smallest(gains, count, least)
    if equal * COMMON_DIVISOR < count.sum():
        return GainOrder(*order(gains, count), count, gains)
    item, gain = np.empty(gains.shape, np.int32), np.empty(gains.shape, np.float32)
    listed = np.empty(len(gains), np.int64)
    gain_order_kernels.above(gains, count, least, item, gain, listed)
    places, ordered = order(gain, listed)
    sort_kernels.pick(item, places, listed)
    return GainOrder(places, ordered, listed, gains)
