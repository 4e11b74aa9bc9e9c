"""Items in descending order of their gains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import Int, Vectors

Items = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class GainOrder:
    """Items in descending order of their gains, ties to the lower index. Items with the smallest gain may be left out.

    Attributes:
        items: (query, width) int32 indices; in a ``GradedRanking`` the ranks, counted from 0, of the retrieved items.
        gains: (query, width) float32.
        listed: (query,) int64, how many items of a query are listed.
        device: of torch, where pairs of Kendall's tau are counted; None: by numba.
    """

    items: Items
    gains: Vectors
    listed: Int
    device: str | None = None


def gain_order(gains: Vectors, count: Int) -> GainOrder:
    """The order of ``gains`` (query, depth) float32, of which a query has ``count`` (query,)."""
    from ..numeric.sort import order

    return GainOrder(*order(gains, count), count)
