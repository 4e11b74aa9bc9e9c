"""Ranks that say what is known: entries that cannot be told apart share one.

The rank of an entry is one more than the number of entries that are better beyond chance. Two entries with per-query
values are compared by their paired difference: its normal interval over images must exclude zero. Otherwise their own
intervals must not overlap. Without intervals there are no ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Bool, Float
from .facts import facts
from .schema import Entry, Key

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


def paired(entries: Sequence[Entry], by: Key) -> bool:
    """Whether it is known of all entries what every image adds to their numbers; they are on the same images."""
    return (
        len(entries) > 1 and all(by in e.changes for e in entries) and len({len(e.changes[by]) for e in entries}) == 1
    )


def ranks(entries: Sequence[Entry], by: Key) -> list[int] | None:
    """The rank of every entry by a number that all have; None where some have no interval."""
    known = [entry.values[by] for entry in entries]
    ends = [value.interval for value in known if value.interval is not None]
    if not known or len(ends) < len(known):
        return None
    sign = 1.0 if facts(by[0]).higher_is_better else -1.0
    if paired(entries, by):
        at = np.array([sign * (value.value or 0.0) for value in known])
        better = _paired(sign * np.stack([entry.changes[by] for entry in entries]), at)
    else:
        own = sign * np.array(ends)
        better = own.min(axis=1)[:, None] > own.max(axis=1)[None, :]
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
