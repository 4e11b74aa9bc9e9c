"""``scipy.stats.kendalltau``, called for one query and one k at a time, as in the code of ladder losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsebench.types import DIRECTIONS

from .inputs import Array, Inputs, Outcome, Work


def loops(scores: Array, gains: Array, ks: Sequence[int]) -> Array:
    """(query, ks) tau-b one query and one k at a time, from (query, gallery) scores and gains."""
    from scipy.stats import kendalltau

    out = np.empty((len(scores), len(ks)))
    for q, (s, g) in enumerate(zip(scores, gains, strict=True)):
        order = np.argsort(-s, kind="stable")
        for i, k in enumerate(ks):
            top = order[:k]
            out[q, i] = kendalltau(s[top], g[top]).statistic
    return out


def coherent(given: Inputs) -> Work:
    """CS@k of the queries, scores and gains in memory."""
    from . import ours

    scores, gains = ours.coherent_inputs(given)
    ks = ours.coherent_ks(given)
    both = {"i2t": (scores, gains.values), "t2i": (scores.T, gains.transposed)}

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            queries = given.queries(direction)
            found = loops(*(side[queries] for side in both[direction]), ks)
            values |= {f"CS@{k} {direction}": found[:, i] for i, k in enumerate(ks)}
        return Outcome(values, given.scale)

    return work
