"""A part of the queries, so that several processes can share the rankings of graded metrics.

``measure`` makes the arrays of a part, ``add`` writes them to their places among those of all queries. A value depends
on its own query alone, and influences are sums of integers: the result has the same bits whatever the parts and their
order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..rank.order import Order
from ..rank.scorers import Scorer
from ..relevance.gains import Gains
from ..types import Tops
from .engine import do
from .measure import make_room
from .rankings import Ranking, SharedScores
from .tasks import Outs, row_tasks

Arrays = dict[str, npt.NDArray[Any]]
Queries = tuple[int, int]  # a range of the queries of the first ranking


def measure(
    shared: SharedScores,
    scorer: Scorer,
    gains: Mapping[str, Gains],
    queries: Queries,
    threads: int,
    order_of: Order | None = None,
    new: Tops | None = None,
) -> Arrays:
    """The values of some queries of rankings that share their scores.

    Args:
        shared: the rankings.
        scorer: scores of their images and captions (``Scorer.take``).
        gains: by view.
        queries: the range.
        threads: number of threads.
        order_of: of another back-end, see ``rank.backends``.
        new: the order of the first items of these queries after re-ranking, or None.

    Returns:
        For the first ranking ``values0``: (metric, query) float64, and where images are left out ``place0`` and
        ``sums0``: (entry,) int64, ``too_large0``: (metric,) bool (``Influence.nonzero``); likewise for the others.
    """
    out = {ranking: make_room(ranking) for ranking in shared.rankings}
    do(row_tasks(shared, scorer, threads, None, order_of, queries, new), gains, out, threads)
    found: Arrays = {}
    for i, ranking in enumerate(shared.rankings):
        own = _own(shared, ranking, queries)
        found[f"values{i}"] = np.stack([out[ranking].values[m][own] for m in ranking.metrics])
        influence = out[ranking].influence
        if influence is not None:
            found[f"place{i}"], found[f"sums{i}"], found[f"too_large{i}"] = influence.nonzero()
    return found


def add(shared: SharedScores, out: Outs, queries: Queries, arrays: Arrays) -> None:
    """Write what ``measure`` made of some queries to the values and influences of all queries."""
    for i, ranking in enumerate(shared.rankings):
        own = _own(shared, ranking, queries)
        for m, values in zip(ranking.metrics, arrays[f"values{i}"], strict=True):
            out[ranking].values[m][own] = values
        influence = out[ranking].influence
        if influence is not None:
            influence.join(arrays[f"place{i}"], arrays[f"sums{i}"], arrays[f"too_large{i}"])


def _own(shared: SharedScores, ranking: Ranking, queries: Queries) -> slice:
    """The queries of a ranking that are among some of the first one."""
    subset = shared.subset(ranking, *queries)
    return slice(subset.start, subset.start + len(subset.rows))
