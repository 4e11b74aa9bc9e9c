"""The retrieval explorer of a page: the lists of the reports with what was measured of every query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import MissingPackage, UsageError
from ..evaluation.assemble import Key
from ..files.ids import places
from ..metrics import Metric
from ..metrics.suites import headlines
from ..options import spell
from ..relevance.sources import heading, load
from ..results.explorer import Explorer, Ranking, Way
from ..results.model import SIDE
from ..types import DIRECTIONS, ONE_WAY, Direction, Float, Int, TestSet
from .systems import System

HOW = "evaluate again with vsebench eval FILE -o A.json"
FEW = 25  # queries of a preset whose images are embedded first
_DEPTH = 10


def explore(systems: Sequence[System], keys: Sequence[Key], split: TestSet) -> tuple[Explorer | None, tuple[str, ...]]:
    """The explorer without thumbnails, None where no report has lists; and what is left out for which reason.

    Args:
        systems: those with other items than ``split`` are left out.
        keys: metrics and directions that all have.
        split: the items of the first system, with captions where they are known.
    """
    notes = []
    usable: list[System | None] = []
    for system in systems:
        same = all(np.array_equal(a.ids, b.ids) for a, b in zip(system.items.sides, split.sides, strict=True))
        same = same and np.array_equal(np.asarray(system.items.image_of), np.asarray(split.image_of))
        if not system.report.lists:
            notes.append(f"{system.name} keeps no lists, which single queries need: {HOW}.")
        elif not same:
            notes.append(f"{system.name} has other items than {systems[0].name}: its queries are not shown.")
        usable.append(system if same and system.report.lists else None)
    if not any(usable):
        return None, tuple(dict.fromkeys(notes))
    metric = _metric(keys, split)
    ways = []
    for direction in (*DIRECTIONS, ONE_WAY):
        rankings = tuple(None if s is None else _ranking(s, direction, metric, split) for s in usable)
        if any(rankings):
            judged, missing = _judged(keys, direction, split)
            notes += missing
            ways.append(Way(direction, rankings, judged))
    kinds = {top.kind for s in usable if s for top in s.report.lists}
    if kinds == {None} and split.image_of is not None:
        notes.append(
            f"No graded relevance was measured, so lists have no gains: add {spell('metrics')} ncs to the evaluation."
        )
    gains = next((heading(kind) for kind in sorted(filter(None, kinds))), None)
    every = tuple(s.name for s in systems)
    found = Explorer(split, every, None if metric is None else str(metric), gains, tuple(ways))
    kept = max(r.lists.items.shape[1] for way in ways for r in way.rankings if r is not None)
    if found.k < kept:
        notes.append(f"The first {found.k} of {kept} kept items of every list are shown, to bound the page's size.")
    return found, tuple(dict.fromkeys(notes))


def _metric(keys: Sequence[Key], split: TestSet) -> Metric | None:
    """The metric that queries are sorted by: NCS@10, else the NCS of the largest k, else the first graded headline.

    Where judgements alone say what is relevant, any headline.
    """
    every = [m for m, d in keys if d is not None and m.unit == "fraction" and m.higher_is_better]
    graded = [m for m in every if m.graded or split.image_of is None]
    ncs = [m for m in graded if m.name.startswith("NCS@")]
    if ncs:
        return max(ncs, key=lambda m: (m.k == _DEPTH, m.k or 0))
    return next(iter(headlines(graded)), None)


def _ranking(system: System, direction: Direction, metric: Metric | None, split: TestSet) -> Ranking | None:
    lists = next((top for top in system.report.lists if top.direction == direction), None)
    if lists is None:
        return None
    values = None if metric is None else _values(system, (metric, direction), split)
    judged = split.image_of is None  # by the only judgements
    ranks_of = (m for m, d in system.results if d == direction and m.unit == "rank" and (judged or m.view == "gt"))
    rank = next(ranks_of, None)
    ranks = None if rank is None else _values(system, (rank, direction), split)
    first = None if ranks is None else np.nan_to_num(ranks, nan=0).astype(np.int64)
    return Ranking(lists, values, first)


def _values(system: System, key: Key, split: TestSet) -> Float | None:
    """(query,) the values of all queries of a direction, NaN where there is none; None where the report has none."""
    result = system.results.get(key)
    if result is None or result.per_query is None or result.queries is None or key[1] is None:
        return None
    out = np.full(len(split.side(SIDE[key[1]]).ids), np.nan)
    out[places(split.side(SIDE[key[1]]).ids, result.queries)] = result.per_query
    return out


def _judged(keys: Sequence[Key], direction: Direction, split: TestSet) -> tuple[dict[str, tuple[Int, Int]], list[str]]:
    """Judgements beside the ground truth with which something was measured, as rows of all queries, and notes."""
    if split.image_of is None:
        return {}, ["Relevant items are not marked: a report does not hold judgements."]
    found: dict[str, tuple[Int, Int]] = {}
    notes = []
    for view in dict.fromkeys(m.view for m, d in keys if not m.graded and d == direction):
        try:
            judged = load(view, split, direction)
        except (UsageError, MissingPackage) as error:
            notes.append(f"Positives of {heading(view)} are not marked: {error.what} ({error.fix}).")
            continue
        if judged.name == "gt":
            continue
        size = np.zeros(len(split.side(SIDE[direction]).ids), np.int64)
        size[judged.queries] = judged.found
        found[heading(view)] = np.concatenate([[0], np.cumsum(size)]), judged.items
    return found, notes


def shown_images(explorer: Explorer) -> list[int]:
    """Images in the order in which the page is likely to show them: those of the first queries of every preset."""
    split, wanted = explorer.split, list[int]()
    if split.image_of is None:
        return list(range(len(split.rows)))
    for side in explorer.ways:
        own = np.arange(len(split.rows.ids)) if side.direction == "i2t" else split.owners
        rankings = [r for r in side.rankings if r is not None]
        for query in _first_queries(rankings, side.direction, split.owners):
            wanted.append(own[query])
            if side.direction == "t2i":
                wanted += [i for r in rankings for i in r.lists.items[query].tolist() if i >= 0]
    return list(dict.fromkeys([*map(int, wanted), *range(len(split.rows.ids))]))


def _first_queries(rankings: Sequence[Ranking], direction: Direction, image_of: Int) -> list[int]:
    """The first queries of every preset: where systems differ most, all in order, the worst and the missed of each."""
    query = np.arange(len(rankings[0].lists.items))
    shown = (direction != "i2t") | np.isin(query, image_of)  # others are candidates only
    values, orders = [], [query]
    for ranking in rankings:
        first = ranking.lists.items[:, 0]  # -1 for an empty list
        hit = (first >= 0) & (image_of[first] == query if direction == "i2t" else image_of == first)
        shown |= first >= 0
        values.append(hit.astype(np.float64) if ranking.values is None else ranking.values)
        worst = np.argsort(values[-1], kind="stable")
        orders += [worst, worst[::-1][~hit[worst[::-1]]]]
    spread = np.nan_to_num(np.ptp(values, axis=0))
    return [q for of in (np.argsort(-spread, kind="stable"), *orders) for q in of[shown[of]][:FEW].tolist()]
