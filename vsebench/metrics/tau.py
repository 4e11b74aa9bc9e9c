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

from ..numeric.sort import order as sorted_rows
from ..types import Bool, Float, Int, Vectors
from .gain_order import CONCORD, DISTINCT_GAINS, DISTINCT_SCORES, TIES_GAIN, TIES_SCORE, GainOrder

LONG_RUN = 1024  # up to this length all pairs of a run of equal scores are compared
MOST_TIED = 1 << 20  # items of rankings with longer runs that are counted together
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
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    if not out.size:
        return out
    size = np.minimum(np.asarray(ks, np.int64)[None, :], count[:, None])
    less, same, again, listed = _sums(order, count, ks)
    less -= listed * (listed - 1) // 2  # it has the places of the items, and so counts the listed items above too
    left = size - listed  # have the smallest gain
    ties = same + left * (left - 1) // 2
    out[:, :, TIES_GAIN] = ties
    out[:, :, CONCORD] = size * (size - 1) // 2 - 2 * less - ties
    out[:, :, DISTINCT_GAINS] = listed - again + (left > 0)
    out[:, :, DISTINCT_SCORES] = size
    out -= _of_tied_scores(order, tied & (np.arange(tied.shape[1]) < count[:, None]), count, ks)
    return out


def _sums(order: GainOrder, count: Int, ks: Sequence[int]) -> npt.NDArray[np.int64]:
    """(4, query, ks) from ``tau_kernels.count_pairs``."""
    from . import tau_kernels as kernels

    by_depth = np.argsort(ks, kind="stable")
    width = max(int(count.max(initial=0)), 1)
    chunks = -(-width // int(kernels.PLACES))
    behind = np.zeros((8, 8), np.uint16)
    behind[np.triu_indices(8, 1)] = 1
    groups, words = (np.empty(chunks * n, np.uint16) for n in (kernels.GROUPS, kernels.WORDS))
    out = np.empty((len(count), len(ks), 4), np.int64)
    kernels.count_pairs(
        order.items, order.gains, order.listed, count.astype(np.int64), np.asarray(ks, np.int64)[by_depth],
        np.empty((chunks, 2), np.uint64), np.empty(chunks * kernels.WORDS, np.uint64), groups, words,
        groups.view(np.uint64), words.view(np.uint64), behind.view(np.uint64), np.empty(width, np.uint32),
        np.empty(width, np.uint32), out,
    )  # fmt: skip
    return np.ascontiguousarray(np.moveaxis(out[:, np.argsort(by_depth, kind="stable")], 2, 0))


def _of_tied_scores(order: GainOrder, tied: Bool, count: Int, ks: Sequence[int]) -> npt.NDArray[np.int64]:
    """(query, ks, 5) what pairs of equal scores have added to the counts, as of ``pair_counts``."""
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    rows = np.flatnonzero(tied[:, 1:].any(axis=1))
    step = max(1, MOST_TIED // max(tied.shape[1], 1))
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        place = np.arange(tied.shape[1])
        begin = np.maximum.accumulate(np.where(tied[some], 0, place), axis=1)
        long = (place - begin).max(axis=1) > LONG_RUN
        for own, counted in ((some[~long], _of_runs), (some[long], _of_long_runs)):
            if len(own):
                out[own] = counted(order.ranked[own], tied[own], count[own], ks)
    return out


def _of_runs(gains: Vectors, tied: Bool, count: Int, ks: Sequence[int]) -> npt.NDArray[np.int64]:
    """As ``_of_tied_scores``, by comparing all pairs of a run; ``gains`` (query, depth) are by place."""
    from . import tau_kernels

    by_depth = np.argsort(ks, kind="stable")
    found = np.empty((len(tied), len(ks), 3), np.int64)
    tau_kernels.compare_runs(gains, tied, count.astype(np.int64), np.asarray(ks, np.int64)[by_depth], found)
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    out[:, by_depth, CONCORD], out[:, by_depth, DISTINCT_SCORES] = found[:, :, 0], found[:, :, 2]
    out[:, by_depth, TIES_SCORE] = -found[:, :, 1]
    return out


def _of_long_runs(gains: Vectors, tied: Bool, count: Int, ks: Sequence[int]) -> npt.NDArray[np.int64]:
    """As ``_of_runs``, without comparing all pairs.

    Pairs are counted as in the complete list, but with the run before the gain, from the last run to the first: all
    items of earlier runs then have a smaller one.
    """
    place = np.arange(tied.shape[1])
    begin = np.maximum.accumulate(np.where(tied, 0, place), axis=1)
    items, ordered = sorted_rows(np.ascontiguousarray(gains), count)
    run = np.take_along_axis(begin, items, axis=1)
    turn = np.argsort(np.where(place[: items.shape[1]] < count[:, None], -run, 1), axis=1, kind="stable")
    items, ordered, run = (np.take_along_axis(x, turn, axis=1) for x in (items, ordered, run))
    new = np.ones(items.shape, np.bool_)
    new[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]) | (run[:, 1:] != run[:, :-1])
    keys = -np.cumsum(new, axis=1).astype(np.float32)
    less, same, _, _ = _sums(GainOrder(items, keys, count, gains), count, ks)
    size = np.minimum(np.asarray(ks, np.int64)[None, :], count[:, None])
    less -= size * (size - 1) // 2

    def up_to(x: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        return np.take_along_axis(np.cumsum(x, axis=1, dtype=np.int64), size - 1, axis=1)

    pairs = up_to(place - begin)
    out = np.zeros((len(tied), len(ks), 5), np.int64)
    out[:, :, CONCORD] = pairs - 2 * (less - up_to(begin)) - same
    out[:, :, TIES_SCORE] = -pairs
    out[:, :, DISTINCT_SCORES] = up_to(tied)
    return out


def tau(pairs: npt.NDArray[np.int64], size: Int, variant: str) -> Float:
    """(query, ks) tau from pair counts; NaN where it is undefined: fewer than two items, or for tau-b and tau-c
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


def without_groups(
    order: GainOrder, tied: Bool, count: Int, k: int, group: Int
) -> tuple[Int, Int, npt.NDArray[np.int64], Int]:
    """The counts of pairs of the top k without the items of one group, for every group among them.

    Args:
        order, tied, count: as for ``pair_counts``.
        k: the depth.
        group: (query, depth) int64, at least 0, of the items in the order of the ranking, such as their images.

    Returns:
        (pair,) rows, (pair,) groups, (pair, 5) counts as of ``pair_counts``, and (pair,) how many items are left.
    """
    from . import tau_removal_kernels

    count = np.minimum(k, count)
    most = int(count.sum())
    row, which, size = (np.empty(most, np.int64) for _ in range(3))
    out, room = np.empty((most, 5), np.int64), np.empty((8, tied.shape[1] + 2), np.int64)
    last = np.full(int(group.max(initial=0)) + 1, -1, np.int64)
    n = tau_removal_kernels.leave_out(
        order.items, order.gains, order.listed, tied, count, group, room, last, row, which, size, out
    )
    return row[:n], which[:n], out[:n], size[:n]
