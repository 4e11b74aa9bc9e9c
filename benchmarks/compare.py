"""Whether a peer and the library have the same values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .inputs import Array, Inputs
from .task import Peer

SHOWN = 5  # differences


class Compared(NamedTuple):
    """The result of one comparison.

    Attributes:
        numbers: how many were compared.
        largest: largest difference; of retrieved items, the largest difference of their exact scores.
        differences: those above the tolerance, in words.
    """

    numbers: int = 0
    largest: float = 0.0
    differences: tuple[str, ...] = ()


def compare(peer: Peer, given: Inputs, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Compared:
    """Compare the values of a peer with those of the library.

    Values of ours of one query each are restricted to the queries that the peer measured, and averaged where the peer
    has a mean. A difference of numbers above 1 is relative. Two values that are not numbers (NaN) are equal.
    Nothing is compared without a tolerance, or where neither has a value.
    """
    if peer.tolerance is None or not (ours or theirs):
        return Compared()
    numbers, largest, wrong = 0, 0.0, []
    for name, value in theirs.items():
        if name not in ours:
            wrong.append(f"{name}: the library has no such value")
            continue
        a, b = _alike(name, given, np.asarray(ours[name]), np.asarray(value))
        off = _of_scores(name, given, a, b) if b.ndim == 2 else np.abs(a - b) / np.maximum(1, np.abs(b))
        off = np.where(np.isnan(a) & np.isnan(b), 0, off)
        numbers += b.size
        largest = max(largest, float(np.max(off, initial=0)))
        for at in np.argwhere(~(np.atleast_1d(off) <= peer.tolerance))[:SHOWN].tolist():
            where = tuple(at) if b.ndim else ()
            wrong.append(f"{name}{where or ''}: {a[where]}, peer {b[where]}")
    if not numbers:
        wrong.append("the peer has given no value")
    return Compared(numbers, largest, tuple(wrong))


def _alike(name: str, given: Inputs, ours: Array, theirs: Array) -> tuple[Array, Array]:
    """Both values for the same queries."""
    direction = name.split()[-1]
    if ours.ndim and ours.shape != theirs.shape:
        ours = ours[given.queries(direction)]
    if ours.ndim and not theirs.ndim:
        # The published median rank is the floor of the median of ranks from 0, plus 1.
        ours = np.floor(np.median(ours - 1)) + 1 if name.startswith("MedR") else ours.mean()
    if ours.shape != theirs.shape:
        raise ValueError(f"{name}: values of shape {ours.shape}, peer {theirs.shape}")
    return np.asarray(ours), theirs


def _of_scores(name: str, given: Inputs, ours: Array, theirs: Array) -> Any:
    """(query, k) differences of the float64 scores of the items at the same place; 1 where a list repeats an item."""
    queries, gallery = given.sides(name.split()[-1])
    off = np.zeros(ours.shape)
    row, place = np.nonzero(ours != theirs)
    for start in range(0, len(row), 10_000):
        q, p = row[start : start + 10_000], place[start : start + 10_000]
        left, right = (gallery[items[q, p]].astype(np.float64) for items in (ours, theirs))
        off[q, p] = np.abs(np.einsum("ij,ij->i", queries[q].astype(np.float64), left - right))
    listed = np.sort(theirs, axis=1)
    off[(listed[:, 1:] == listed[:, :-1]).any(1)] = 1
    return off
