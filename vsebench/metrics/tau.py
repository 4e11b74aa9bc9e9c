"""Kendall's tau between scores and gains, at several depths in one pass over the gains.

With C and D the concordant and discordant pairs, n0 = n (n - 1) / 2, and x and y the pairs tied in score and in
gain: tau-a = (C - D) / n0 (Kendall 1938), tau-b = (C - D) / sqrt((n0 - x) (n0 - y)) (Kendall 1945),
tau-c = 2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values (Stuart 1953).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numeric.elementary import ascending
from ..numeric.elementary import order as sorted_rows
from ..types import Bool, Float, Int, Vectors
from .gain_order import CONCORD, DISTINCT_GAINS, DISTINCT_SCORES, TIES_GAIN, TIES_SCORE, GainOrder

VARIANTS: dict[str, str] = {
    "a": "(C - D) / n0",
    "b": "(C - D) / sqrt((n0 - x) (n0 - y))",
    "c": "2 (C - D) / (n^2 (m - 1) / m)",
}


def pair_counts(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int]) -> npt.NDArray[np.int64]:
    """(query, ks, 5) concordant less discordant pairs, ties in score, ties in gain, distinct scores and gains.

    Args:
        order: the ranks of the items, counted from 0, in descending order of their gains.
        tied: (query, depth) bool, the item at a rank has the score of the one before it.
        count: (query,) number of items of a query, from 1 to depth.
        ks: depths of at least 1, in any order; one beyond the number of items means all of them.
    """
    return _sums(*_above(order, tied, count), tied, count, ks)


def _above(order: GainOrder, tied: Bool, count: Int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(query, depth) ``net`` and ``same`` of ``tau_kernels.above``."""
    from . import tau_kernels as kernels

    width = max(int(count.max(initial=0)), 1)
    chunks = -(-width // int(kernels.CHUNK_PLACES))
    behind = np.zeros((8, 8), np.uint16)
    behind[np.triu_indices(8, 1)] = 1
    groups, words = (np.empty(chunks * n, np.uint16) for n in (kernels.CHUNK_GROUPS, kernels.CHUNK_WORDS))
    net, same = (np.empty(tied.shape, np.int32) for _ in range(2))
    kernels.above(
        order.items, order.gains, order.listed, tied, count.astype(np.int64), np.empty((chunks, 2), np.uint64),
        np.empty(chunks * kernels.CHUNK_WORDS, np.uint64), groups, words, groups.view(np.uint64), words.view(np.uint64),
        behind.view(np.uint64), np.empty(width, np.uint32), np.empty((3, width), np.int32), net, same,
    )  # fmt: skip
    return net, same


def _sums(
    net: npt.NDArray[np.int32], same: npt.NDArray[np.int32], tied: Bool, count: Int, ks: Sequence[int]
) -> npt.NDArray[np.int64]:
    """(query, ks, 5) as ``pair_counts``, from what ``_above`` returns."""
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    some = np.flatnonzero(tied[:, 1:].any(axis=1))
    inside = tied[some] & (np.arange(tied.shape[1]) < count[some, None])
    run = _place_in_run(inside)
    for i, k in enumerate(ks):
        out[:, i, CONCORD] = net[:, :k].sum(axis=1, dtype=np.int64)
        out[:, i, TIES_GAIN] = same[:, :k].sum(axis=1, dtype=np.int64)
        out[some, i, TIES_SCORE] = run[:, :k].sum(axis=1)
        size = np.minimum(k, count)
        out[:, i, DISTINCT_GAINS] = size - np.count_nonzero(same[:, :k], axis=1)
        out[:, i, DISTINCT_SCORES] = size
        out[some, i, DISTINCT_SCORES] -= np.count_nonzero(inside[:, :k], axis=1)
    return out


def _place_in_run(same: Bool) -> Int:
    """(row, width) int64: how many items before an item are equal to it; ``same`` as the item before."""
    place = np.arange(same.shape[1])
    return place - np.maximum.accumulate(np.where(same, 0, place), axis=1)


def tau(pairs: npt.NDArray[np.int64], size: Int, variant: str) -> Float:
    """(query, ks) tau from pair counts; NaN if it is undefined: fewer than two items, or for tau-b and tau-c
    where all scores or all gains are equal.

    Args:
        pairs: (query, ks, 5) from ``pair_counts``.
        size: (query, ks) number of items.
        variant: ``a``, ``b`` or ``c``.
    """
    concord, ties_score, ties_gain, distinct_scores, distinct_gains = np.moveaxis(pairs, 2, 0).astype(np.float64)
    n = size.astype(np.float64)
    all_pairs = n * (n - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if variant == "a":
            return np.where(size < 2, np.nan, concord / all_pairs)
        distinct = np.minimum(distinct_scores, distinct_gains)
        if variant == "c":
            value = 2 * concord / (n**2 * (distinct - 1) / distinct)
        else:
            value = concord / np.sqrt(all_pairs - ties_score) / np.sqrt(all_pairs - ties_gain)
    return np.where((size < 2) | (distinct < 2), np.nan, np.clip(value, -1.0, 1.0))


def kendall(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int], variant: str) -> Float:
    """(query, ks) Kendall's tau of the top k of every ranking; see ``pair_counts`` and ``tau``."""
    size = np.minimum(np.asarray(ks, np.int64)[None, :], count[:, None])
    return tau(pair_counts(order, tied, count, ks), size, variant)


def without_groups(gains: Vectors, tied: Bool, count: Int, group: Int) -> tuple[Int, Int, npt.NDArray[np.int64], Int]:
    """The counts of pairs of rankings without the items of one group, for every group in them.

    Every item takes part in so many pairs of a kind. The pairs of a group's items are lost, and the pairs inside the
    group only once. An item agrees with the items above it as ``tau_kernels.above`` counts, and with those below as
    with all items, less the ones above and of the same score. Takes time that is quadratic in the size of a group.

    Args:
        gains, tied: (query, depth) float32 and bool of the items by place, tied as for ``pair_counts``.
        count: (query,) number of items of a query, from 1 to depth.
        group: (query, depth) int64, at least 0, of the items, such as their images.

    Returns:
        (pair,) rows, (pair,) groups, (pair, 5) counts as of ``pair_counts``, and (pair,) how many items are left.
    """
    width = int(count.max(initial=1))
    gains, tied, group = gains[:, :width], tied[:, :width], group[:, :width]
    inside, order = np.arange(gains.shape[1]) < count[:, None], GainOrder(*sorted_rows(gains, count), count, gains)
    net, same = _above(order, tied, count)
    row = np.repeat(np.arange(len(count)), count)
    gain, group, new_run = gains[inside], group[inside], ~tied[inside]
    by_gain = (order.items + (np.cumsum(count) - count)[:, None])[inside]
    descending, equal = balance(gain, row, by_gain)
    lost = np.stack([2 * net[inside].astype(np.int64) - descending, np.zeros(len(row), np.int64), equal - 1])
    run = np.cumsum(new_run | (np.diff(row, prepend=-1) != 0))
    if not new_run.all():
        lost[0] -= balance(gain, run)[0]
        lost[1] = np.bincount(run)[run] - 1
    by = ascending(group, row)
    row, group, gain, run, lost = row[by], group[by], gain[by], run[by], lost[:, by]
    start = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(group, prepend=-1) != 0))
    size = np.diff(start, append=len(by))
    place = np.arange(len(by)) - np.repeat(start, size)
    i = np.flatnonzero(place)
    for back in range(1, int(size.max(initial=1))):  # every item with the one so many places before it in its group
        j, tie = i - back, run[i] == run[i - back]
        lost[0, i] -= ((gain[j] > gain[i]) & ~tie).astype(np.int64) - ((gain[j] < gain[i]) & ~tie)
        lost[1, i] -= tie
        lost[2, i] -= gain[i] == gain[j]
        i = i[place[i] > back]
    # without ties left is the last item of a score, or a gain, that no other group has
    kinds = np.concatenate([lost, lost[1:] == 0])
    total, row = _sums(net, same, tied, count, [gains.shape[1]])[:, 0], row[start]
    return row, group[start], total[row] - np.add.reduceat(kinds, start, axis=1).T, count[row] - size


def balance(value: npt.NDArray[Any], cluster: Int, order: Int | None = None) -> tuple[Int, Int]:
    """Compare every item with all items of its cluster.

    Args:
        value, cluster: (item,).
        order: (item,) int64, what sorts the items by cluster, then by value; made by default. Where values descend the
            sign of ``net`` is the other one.

    Returns:
        ``net``, (item,) int64 number of items with a smaller value less those with a larger one; and (item,) int64
        number of items with its value, the item included.
    """
    order = np.lexsort((value, cluster)) if order is None else order
    new_cluster = np.diff(cluster[order], prepend=-1) != 0
    new = new_cluster | (value[order] != np.roll(value[order], 1))
    (first, last), (start, stop) = (_ends(x) for x in (new, new_cluster))
    net, size = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    net[order], size[order] = first - start - (stop - last), last - first
    return net, size


def _ends(new: Bool) -> tuple[Int, Int]:
    """(item,) int64: the first item of the run of an item, and the one behind its last."""
    bounds, tie = np.append(np.flatnonzero(new), len(new)), np.cumsum(new) - 1
    return bounds[tie], bounds[tie + 1]
