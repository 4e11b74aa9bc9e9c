"""``scipy.stats.kendalltau``, called for one query and one k at a time, as in the code of ladder losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsebench.types import DIRECTIONS

from ..inputs import Array, Inputs
from ..metrics import ks
from ..task import Needs, Outcome, Peer, Task, Work


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
    images, captions = given.world[:2]
    scores, (i2t, t2i) = images @ captions.T, given.gains.values  # type: ignore[misc]
    both = {"i2t": (scores, i2t), "t2i": (scores.T, t2i)}

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            queries = given.queries(direction)
            found = loops(*(side[queries] for side in both[direction]), ks(given))
            values |= {f"CS[captions=all]@{k} {direction}": found[:, i] for i, k in enumerate(ks(given))}
        return Outcome(values, given.scale)

    return work


TASK = Task(
    "scipy kendalltau", "CS@100, CS@500, CS@1000, CS@5000", coherent, None, ">= 35 x", Needs(("scipy",)),
    Peer(
        "metrics/cs", 1e-12, "scipy", "scores, gains",
        "tau-b of one list of scores and gains; which of equal scores are among the first k is decided by the loop "
        "that calls it (here by the index, as in vsebench).",
        part=0.03,
    ),
)  # fmt: skip
