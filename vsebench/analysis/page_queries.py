"""Single queries on a page: the lists of the reports with what was measured of every query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import MissingPackage, UsageError, printable
from ..evaluation.assemble import Key
from ..files.ids import places
from ..metrics import Metric
from ..metrics.suites import headlines
from ..options import spell
from ..relevance.sources import heading, load
from ..results.model import NOTHING, SIDE
from ..types import DIRECTIONS, ONE_WAY, Direction, Float, Int, Side, TestSet
from .systems import System

HOW = "evaluate again with vsebench eval FILE -o A.json"
EMBEDDED_QUERIES = 25  # first queries of a preset: their images get thumbnails first
LISTS_BUDGET_BYTES = 9_000_000  # bytes of base64 for the lists of all systems; lists are shortened beyond it
BYTES_PER_ITEM = 8  # of base64 for one item of a list: its index, score and gain
_DEPTH = 10


def explore(systems: Sequence[System], keys: Sequence[Key], split: TestSet) -> tuple[dict[str, Any] | None, list[str]]:
    """The data for the script of a page (None if no report has lists), and notes on what is left out.

    Args:
        systems: those with other items than ``split`` are left out.
        keys: metrics and directions that all have.
        split: the items of the first system, with captions if they are known.

    Returns:
        A document with arrays: ``names``, ids and texts of the ``rows`` and ``columns``, ``rowOf`` of every column, the
        ``metric`` that queries are sorted by, the ``gains``, and ``ways``: by direction further judgements and one
        ranking a system (None without lists).
    """
    notes = []
    usable: list[System | None] = []
    for system in systems:
        same = all(np.array_equal(a.ids, b.ids) for a, b in zip(system.items.sides, split.sides, strict=True))
        same = same and np.array_equal(np.asarray(system.items.image_of), np.asarray(split.image_of))
        if not system.report.lists:
            notes.append(f"{system.name} has no ranked lists for single queries: {HOW}.")
        elif not same:
            notes.append(
                f"{system.name} was evaluated on other items than {systems[0].name}: its queries are not shown."
            )
        usable.append(system if same and system.report.lists else None)
    if not any(usable):
        return None, list(dict.fromkeys(notes))
    tops = [top for s in usable if s for top in s.report.lists]
    kept = max(top.items.shape[1] for top in tops)
    k = max(1, min(kept, LISTS_BUDGET_BYTES // (BYTES_PER_ITEM * sum(len(top.items) for top in tops))))
    metric = _metric(keys, split)
    ways: dict[str, Any] = {}
    for direction in (*DIRECTIONS, ONE_WAY):
        rankings = [None if s is None else _ranking(s, direction, metric, split, k) for s in usable]
        if any(rankings):
            judged, missing = _judged(keys, direction, split)
            notes += missing
            ways[direction] = {"judged": judged, "rankings": rankings}
    kinds = {top.kind for top in tops}
    if kinds == {None} and split.image_of is not None:
        notes.append(f"Lists have no gains: evaluate with {spell('metrics')} ncs to add them.")
    if k < kept:
        notes.append(f"To keep the page small, it shows the first {k} of {kept} items of every list.")
    names = [(side.name, side.plural) for side in split.sides]
    if split.one_way:
        names = [("query", "queries"), ("document", "documents")]
    return {
        "systems": [printable(s.name) for s in systems],
        "metric": None if metric is None else str(metric),
        "gains": next((heading(kind) for kind in sorted(filter(None, kinds))), None),
        "k": k,
        "names": [{"name": one, "plural": several} for one, several in names],
        "rows": [printable(str(i)) for i in split.rows.ids.tolist()],
        "columns": [printable(str(i)) for i in split.columns.ids.tolist()],
        "rowTexts": _texts(split.rows),
        "texts": _texts(split.columns),
        "rowOf": split.image_of,
        "thumbnails": {},
        "ways": ways,
    }, list(dict.fromkeys(notes))


def facts_of(data: dict[str, Any]) -> dict[str, Any]:
    """What a page has of single queries; an image without a caption is no query."""
    counts = {"i2t": data["rows"] if data["rowOf"] is None else np.unique(data["rowOf"]), "t2i": data["columns"]}
    return {
        "queries": {way: len(counts.get(way, data["rows"])) for way in data["ways"]}, "items": data["k"],
        "captions": data["texts"] is not None, "thumbnails": len(data["thumbnails"]),
    }  # fmt: skip


def _texts(side: Side) -> list[str] | None:
    return None if side.texts is None else [printable(text.strip()) for text in side.texts]


def _metric(keys: Sequence[Key], split: TestSet) -> Metric | None:
    """The metric that queries are sorted by: NCS@10, else the NCS of the largest k, else the first graded headline.

    If only judgements define relevance, any headline metric.
    """
    every = [m for m, d in keys if d is not None and m.unit == "fraction" and m.higher_is_better]
    graded = [m for m in every if m.graded or split.image_of is None]
    ncs = [m for m in graded if m.name.startswith("NCS@")]
    if ncs:
        return max(ncs, key=lambda m: (m.k == _DEPTH, m.k or 0))
    return next(iter(headlines(graded)), None)


def _ranking(
    system: System, direction: Direction, metric: Metric | None, split: TestSet, k: int
) -> dict[str, Any] | None:
    """The first ``k`` items of every query, from 1 (0 for none), with scores and gains, the largest gain of the ground
    truth, the values of the metric, and the rank of the first relevant item (0 if unknown).
    """
    lists = next((top for top in system.report.lists if top.direction == direction), None)
    if lists is None:
        return None
    judged = split.image_of is None  # by the only judgements
    rank = next(
        (m for m, d in system.results if d == direction and m.unit == "rank" and (judged or m.view == "gt")), None
    )
    ranks = None if rank is None else _values(system, (rank, direction), split)
    return {
        "k": min(k, lists.items.shape[1]),
        "items": lists.items[:, :k] - NOTHING,
        "scores": None if lists.scores is None else lists.scores[:, :k],
        "gains": None if lists.gains is None else lists.gains[:, :k],
        "truth": lists.truth_gains,
        "values": None if metric is None else _values(system, (metric, direction), split),
        "ranks": None if ranks is None else np.nan_to_num(ranks, nan=0).astype(np.int64),
    }


def _values(system: System, key: Key, split: TestSet) -> Float | None:
    """(query,) the values of all queries of a direction, NaN for missing ones; None if the report has none."""
    result = system.results.get(key)
    if result is None or result.per_query is None or result.queries is None or key[1] is None:
        return None
    out = np.full(len(split.side(SIDE[key[1]]).ids), np.nan)
    out[places(split.side(SIDE[key[1]]).ids, result.queries)] = result.per_query
    return out


def _judged(keys: Sequence[Key], direction: Direction, split: TestSet) -> tuple[list[dict[str, Any]], list[str]]:
    """Judgements beside the ground truth with which something was measured, as rows of all queries, and notes."""
    if split.image_of is None:
        return [], ["Relevant items are not marked, because reports do not hold judgements."]
    found, notes = [], []
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
        pointers = np.concatenate([[0], np.cumsum(size)])
        found.append({"name": heading(view), "pointers": pointers, "items": judged.items})
    return found, notes


def shown_images(data: dict[str, Any] | None, split: TestSet) -> list[int]:
    """Images in the order in which the page is likely to show them: the first queries of every preset first."""
    wanted: list[int] = []
    for direction, way in data["ways"].items() if data is not None and split.image_of is not None else ():
        own = np.arange(len(split.rows.ids)) if direction == "i2t" else split.owners
        rankings = [r for r in way["rankings"] if r is not None]
        for query in _first_queries(rankings, direction, split.owners):
            wanted.append(own[query])
            if direction == "t2i":
                wanted += [i - 1 for r in rankings for i in r["items"][query].tolist() if i]
    return list(dict.fromkeys([*map(int, wanted), *range(len(split.rows.ids))]))


def _first_queries(rankings: Sequence[dict[str, Any]], direction: Direction, image_of: Int) -> list[int]:
    """The first queries of every preset: where systems differ most, all in order, the worst and the missed of each."""
    query = np.arange(len(rankings[0]["items"]))
    shown = (direction != "i2t") | np.isin(query, image_of)  # others are candidates only
    values, orders = [], [query]
    for ranking in rankings:
        first = ranking["items"][:, 0] - 1  # -1 for an empty list
        hit = (first >= 0) & (image_of[first] == query if direction == "i2t" else image_of == first)
        shown |= first >= 0
        values.append(hit.astype(np.float64) if ranking["values"] is None else ranking["values"])
        worst = np.argsort(values[-1], kind="stable")
        orders += [worst, worst[::-1][~hit[worst[::-1]]]]
    spread = np.nan_to_num(np.ptp(values, axis=0))
    return [
        q for of in (np.argsort(-spread, kind="stable"), *orders) for q in of[shown[of]][:EMBEDDED_QUERIES].tolist()
    ]
