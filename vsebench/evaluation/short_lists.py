"""Retrieved lists: those that are too short for a metric, which is refused or left out; and ties that are unknown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import BadInput, count_of
from ..graded.engine import candidates_of
from ..graded.rankings import Ranking, deepest_rank
from ..log import note, warn
from ..metrics import Metric
from ..options import spell
from ..rank.count import Targets
from ..rank.tops import ranks, sizes
from ..relevance.sources import is_gains
from ..types import DIRECTIONS, ONE_WAY, SIDES, UNRANKED, Both, Direction, Int, Observation, TestSet, Tops
from .inputs import Indexed


def observe(
    lists: Mapping[Direction, Tops], targets: Both[Sequence[Targets]], directions: Sequence[Direction]
) -> dict[Direction, Observation]:
    """Retrieved lists and the ranks of the relevant items in them, by direction."""
    rules = {d: None if one.ties is None else "index" for d, one in lists.items()}
    return {
        d: Observation(
            {t.view: ranks(lists[d], t.relevance, t.candidates, rules[d]) for t in targets_of_side}, lists[d]
        )
        for d, targets_of_side in zip(DIRECTIONS, targets, strict=True)
        if d in directions
    }


class Short(NamedTuple):
    """A metric that reads deeper than a list."""

    metric: Metric
    direction: Direction  # as reports have it
    detail: str  # the first query with a short list, its length and the depth needed, or how many have no list
    impossible: bool  # it has no value even if items that are not listed count as not found
    missing: int = 0  # number of queries without a list

    def __str__(self) -> str:
        return f"{self.metric} {self.direction}"


def too_short(metrics: Sequence[Metric], observed: Mapping[Direction, Observation], split: TestSet) -> list[Short]:
    """Those of some metrics, without sums, of binary judgements that read deeper than the lists."""
    found = []
    for m in (m for m in metrics if not (m.graded or m.family.of_lists)):
        for direction, observation in observed.items():
            found_at, gallery = observation.ranks[m.ranked], split.shape[direction == "i2t"]
            assert found_at.depth is not None  # lists have a length
            wanted: int | Int = m.k or 1
            if m.family.depth == "best":  # the first positive, wherever it is
                wanted = np.where(found_at.best() == UNRANKED, gallery, 0)
            elif m.family.depth == "all":  # every positive
                away = np.bincount(found_at.relevance.query_of, found_at.rank == UNRANKED, len(found_at.depth))
                wanted = np.where(away > 0, gallery, 0)
            elif m.family.depth == "R":
                wanted = found_at.relevance.size
            lost = m.unit == "rank" and bool((found_at.best() == UNRANKED).any())
            queries, wanted = found_at.relevance.queries, np.minimum(wanted, gallery)
            found += _short(m, direction, queries, found_at.depth, wanted, lost, split, observation.top)
    return found


def known_depth(ranking: Ranking, lists: Mapping[Direction, Tops]) -> Int:
    """(query,) how many candidates of a ranking the lists of its queries have."""
    return candidates_of(ranking, lists[DIRECTIONS[ranking.side]]).depth[ranking.queries]


def graded_too_short(rankings: Sequence[Ranking], lists: Mapping[Direction, Tops]) -> list[Short]:
    """Graded metrics that read deeper than the lists; nothing but the lengths of lists is needed.

    Judged items that are not listed have no gain in the list; of other kinds of gains every item has one.
    """
    found = []
    for ranking in rankings:
        direction, known, test = DIRECTIONS[ranking.side], known_depth(ranking, lists), ranking.test
        most = sizes(ranking.candidates, ranking.queries, len(ranking.gallery))
        for m in ranking.metrics:
            wanted = np.minimum(deepest_rank(m, ranking), most)
            found += _short(m, direction, ranking.queries, known, wanted, is_gains(m.view), test, lists[direction])
    return list({(s.metric, s.direction): s for s in reversed(found)}.values())[::-1]  # of several folds the first


def _short(
    m: Metric, direction: Direction, queries: Int, known: Int, wanted: int | Int, impossible: bool, split: TestSet,
    lists: Tops | None,
) -> list[Short]:  # fmt: skip
    """A metric that needs more items of a query than are known; none where every list is long enough."""
    lacking = np.flatnonzero(known < wanted)
    if not len(lacking):
        return []
    first, ids = lacking[0], split.side(SIDES[direction][0]).ids
    absent = queries[:0] if lists is None else queries[lists.depth[queries] == 0]
    detail = f"query {ids[queries[first]]} has {count_of(int(known[first]), 'usable item')} and "
    detail += f"{np.broadcast_to(wanted, known.shape)[first]:,} are needed"
    if len(absent):
        detail = f"{len(absent):,} of {len(queries):,} lists are missing (first: the list of query {ids[absent[0]]})"
    return [Short(m, split.way(direction) or direction, detail, impossible, len(absent))]


def long_enough(
    metrics: Sequence[Metric], short: Sequence[Short], named: Collection[Metric], where: Path, short_lists: str,
    index: Mapping[Direction, Indexed],
) -> list[Metric]:  # fmt: skip
    """The metrics that can be measured, sums only with all their parts; a warning is about what counts as not found.

    Raises:
        BadInput: a metric that is requested by name cannot be measured, or none can.
    """
    refused = [s for s in short if short_lists == "refuse" or s.impossible]
    lost = {s.metric for s in refused}
    kept = [m for m in metrics if not lost.intersection(m.parts() or (m,))]
    # Nothing left: all of them are as if they had been named.
    by_name = [s for s in refused if s.metric in named or not kept]
    if by_name:
        without = ", ".join(dict.fromkeys(str(s.metric) for s in by_name if s.impossible))  # a value of a miss
        otherwise = f", or count missing items as not found with {spell('short_lists', 'miss')}"
        otherwise += f" (not for {without})" if without else ""
        otherwise *= any(not s.impossible for s in by_name)
        names, first = ", ".join(map(str, by_name)), by_name[0]
        what = f"the lists are too short for {names}: for {first} {first.detail}"
        if first.missing:
            truncated = "" if index else "; is the file truncated?"
            what = f"the lists are incomplete for {names}: {first.detail}{truncated}"
        longer = "give every query a list" if first.missing else "store longer lists"
        if one := index.get(DIRECTIONS[0] if first.direction == ONE_WAY else first.direction):
            where, longer = one.file, f"search more ({spell('index', one.more)})"
        raise BadInput(
            what, where=where, fix=f"{longer}{',' if otherwise else ' or'} leave these metrics out{otherwise}"
        )
    if counted := ", ".join(str(s) for s in short if s not in refused):
        warn(f"lists are too short for {counted}; items that are not in them count as not found")
    if not refused:
        return kept
    names, first = ", ".join(str(m) for m in metrics if m not in kept), refused[0]
    note(f"left out, because the lists are too short: {names} (for {first} {first.detail})", weight="result")
    return kept


def note_unknown_ties(metrics: Sequence[Metric], directions: Sequence[Direction]) -> None:
    """Note metrics that read ties, where retrieved lists of some directions have no scores."""
    named = [str(m) for m in metrics if "tied" in m.family.needs]
    if named and directions:
        note(
            f"{', '.join(named)}: the lists of {' and '.join(directions)} have no scores, so no two items are "
            "tied; values from embeddings, scores or a TREC run differ if scores are equal"
        )
