"""Compiled: sums over the first items of lists, without the items of an image."""

# mypy: allow-untyped-defs
from __future__ import annotations

from ..numeric import compiled as nb


@nb.njit(nogil=True, cache=True)
def sums_without(numbers, image, place, weights, row, left_out, cut, at, out):
    """Weighted sums of the numbers at the top of lists, from which the items of an image are left out.

    Args:
        numbers: (query, depth) float64 of the listed items.
        image: (query, depth) int64 image of the items.
        place: (query, depth) int32; an item counts where its place is below the cut.
        weights: (depth,) float64 weight of every rank.
        row, left_out, cut: (pair,) int64 query, image and cut.
        at: (pair, ks) int64, how many items are summed up, ascending in every row.
        out: (pair, ks) float64, filled; added from the top.
    """
    for p in range(row.shape[0]):
        q = row[p]
        total = 0.0
        rank = 0  # of the items that are left, counted from 0
        i = 0
        for c in range(numbers.shape[1]):
            while i < at.shape[1] and at[p, i] == rank:
                out[p, i] = total
                i += 1
            if i == at.shape[1]:
                break
            if image[q, c] != left_out[p]:
                if place[q, c] < cut[p]:
                    total += numbers[q, c] * weights[rank]
                rank += 1
        for k in range(i, at.shape[1]):
            out[p, k] = total
