"""Measuring graded metrics from retrieved lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import BadInput, count_of
from ..metrics.declare import Metric
from ..options import spell
from ..relevance.gains import Gains
from ..types import Direction, Int, Split, Tops
from .engine import block_scores, checked
from .influence import Out
from .measure import Found, collect, measure
from .rankings import Ranking, deepest_rank


def from_lists(
    lists: Mapping[Direction, Tops],
    split: Split,
    metrics: Sequence[Metric],
    gains: Mapping[str, Gains],
    influence: bool = False,
) -> Found:
    """Measure graded metrics from retrieved lists.

    Args:
        lists: by direction those of all queries, of distinct items.
        split: the items, the image of every caption, the folds.
        metrics: what to measure; sums are replaced by their parts.
        gains: by view, for every view of the metrics.
        influence: also compute the influence of the images as candidates, where all lists are deep enough for the next
            candidates.

    Raises:
        BadInput: a list is too short for a metric; both lengths and the query are named.
        UsageError: as ``engine.run``.
    """
    rankings = checked(split, metrics, gains, tuple(lists), influence=influence)
    if influence:  # the next candidates of every list are needed
        each = [candidates_of(r, lists[r.direction]).depth[r.queries] for r in rankings]
        rankings = [
            r if (known >= r.depth).all() else replace(r, influence=False)
            for r, known in zip(rankings, each, strict=True)
        ]
    out = {r: Out(r) for r in rankings}
    for ranking in rankings:
        own = candidates_of(ranking, lists[ranking.direction])
        _refuse_short(ranking, own.depth[ranking.queries])
        step = max(1, block_scores(1) // len(ranking.gallery))  # ideal gains need complete rows of gains
        for start in range(0, len(ranking.queries), step):
            queries = ranking.queries[start : start + step]
            measure(ranking, gains, _order(own, queries, ranking.depth), start, out[ranking], {})
    return collect(rankings, out)


def candidates_of(ranking: Ranking, lists: Tops) -> Tops:
    """Lists of all queries with the candidates of a ranking alone, as positions in its gallery."""
    position = np.full(lists.gallery, -1)
    position[ranking.gallery] = np.arange(len(ranking.gallery))
    found = lists.keep(position[lists.entries] >= 0)
    return replace(found, entries=position[found.entries], gallery=len(ranking.gallery))


def _order(lists: Tops, queries: Int, depth: int) -> Tops:
    """The lists of some queries, (query,) int64, with ``depth`` items each: shorter ones end in the first item."""
    place, known = np.arange(depth), lists.depth[queries][:, None]
    at = np.where(place < known, lists.start[queries][:, None] + place, 0)
    tied = np.zeros(at.shape, np.bool_) if lists.ties is None else lists.ties[at] & (place < known)
    return Tops.of(np.where(place < known, lists.entries[at], 0).astype(np.int32), tied, lists.gallery)


def _refuse_short(ranking: Ranking, known: Int) -> None:
    for m in ranking.metrics:
        needed = deepest_rank(m, ranking)
        lacking = np.flatnonzero(known < needed)
        if len(lacking):
            query, has = int(ranking.queries[lacking[0]]), int(known[lacking[0]])
            raise BadInput(
                f"the lists are too short for {m} {ranking.direction}: query {query} has "
                f"{count_of(has, 'usable item')} and {needed:,} are needed",
                fix=f"store longer lists, or leave it out ({spell('short_lists', 'miss')} is for binary judgements)",
            )
