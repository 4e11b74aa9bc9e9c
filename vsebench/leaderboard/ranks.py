"""Ranks that say what is known: entries that cannot be told apart share one.

The rank of an entry is one more than the number of entries that are better beyond chance. Two entries with per-query
values are compared by their paired difference: its normal interval over images must exclude zero. Otherwise their own
intervals must not overlap. An entry without an interval has no rank.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Bool, Float
from .facts import facts
from .schema import Entry, Key

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


def paired(entries: Sequence[Entry], by: Key) -> list[list[int]]:
    """Groups of entries (their indices) with per-image values of the same images, which can be paired."""
    groups: dict[int, list[int]] = {}
    for at, entry in enumerate(entries):
        if by in entry.changes:
            groups.setdefault(len(entry.changes[by]), []).append(at)
    return [at for at in groups.values() if len(at) > 1]


def ranks(entries: Sequence[Entry], by: Key) -> list[int]:
    """The rank of every entry by a number that all have with an interval."""
    if not entries:
        return []
    sign = 1.0 if facts(by[0]).higher_is_better else -1.0
    values = np.array([sign * (entry.values[by].value or 0.0) for entry in entries])
    own = sign * np.array([entry.values[by].interval for entry in entries])
    better = own.min(axis=1)[:, None] > own.max(axis=1)[None, :]
    for at in paired(entries, by):
        better[np.ix_(at, at)] = _paired(sign * np.stack([entries[i].changes[by] for i in at]), values[at])
    return [1 + int(n) for n in better.sum(axis=0)]


def _paired(changes: Float, at: Float) -> Bool:
    """(one, other) whether one is better; ``at`` are the values, and ``changes`` what every image adds to them."""
    images = changes.shape[1]
    centred = changes - changes.mean(axis=1, keepdims=True)
    products = centred @ centred.T * (images / max(1, images - 1))
    own = np.diag(products)
    variance = np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0)
    difference = at[:, None] - at[None, :]
    return np.asarray((difference > 1e-12) & (difference > Z * np.sqrt(variance)))
