"""Metrics of binary judgements: their values from the ranks of the relevant items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError
from ..metrics import Metric
from ..rank.lists import ranks_from_lists, too_shallow
from ..report.model import Result
from ..types import UNRANKED, Direction, Float, Ids, Int, Observation, Ranks, Relevance, SameFold, Split
from .inputs import Input
from .intervals import Key
from .plan import Plan

QueryIds = dict[Relevance, Ids]


def results(plan: Plan, observed: dict[Direction, Observation]) -> dict[Key, Result]:
    """One result a metric and direction, without sums."""
    ids: QueryIds = {}
    return {
        (m, d): measure(m, observed[d].ranks[m.view], plan.split, d, plan.no_positive, ids)
        for m in plan.binary
        for d in plan.directions
    }


def measure(
    m: Metric, ranks: Ranks, split: Split, direction: Direction, no_positive: str, query_ids: QueryIds | None = None
) -> Result:
    """One metric in one direction.

    Args:
        m: of binary judgements.
        ranks: of the relevant items.
        split: what was ranked.
        direction: side of the queries.
        no_positive: ``skip`` or ``miss`` for covered queries without positives.
        query_ids: ids of the queries of judgements, so that metrics share them; grows.

    Raises:
        BadInput: no query has a positive.
        UsageError: ``no_positive`` is ``miss`` and the metric has no value for a miss.
    """
    judged = ranks.relevance
    if not len(judged.queries):
        raise BadInput(f"{m} ({direction}): no query has a relevant item", fix="check image_of_text and the ids")
    values, kept = m.per_query(ranks), slice(None)
    skipped = judged.skipped
    if m.unit == "rank" and (lost := ranks.best() == UNRANKED).any():
        # None of its relevant items is in the gallery: such a query has no rank.
        kept, skipped = ~lost, skipped + int(lost.sum())
        if lost.all():
            raise BadInput(f"{m} ({direction}): no relevant item is in the gallery", fix="check the ids")
    if no_positive == "miss" and skipped:
        if m.unit == "rank":
            what = f"{m} ({direction}) has no value for the {skipped} queries without positives"
            raise UsageError(what, fix="leave out --no-positive miss, or the metric")
        missed, skipped = np.zeros(skipped), 0
    else:
        missed = np.zeros(0)
    fold = None if ranks.fold is None else ranks.fold[kept]
    value = _aggregate(m, values[kept], missed, fold)
    extremes = None
    if ranks.under_extremes is not None:
        optimistic, pessimistic = (
            _aggregate(m, m.per_query(other)[kept], missed, fold) for other in ranks.under_extremes
        )
        extremes = (optimistic, pessimistic)
    items = split.ids("image" if direction == "i2t" else "caption")
    query_ids = {} if query_ids is None else query_ids
    if judged not in query_ids:
        query_ids[judged] = items[judged.queries]
    ids, values = query_ids[judged], values[kept]
    if len(values) < len(ids):
        ids = ids[kept]
    n = len(values) + len(missed)
    if len(missed) and n == len(items):
        # every other item is a query without positives, so the misses have ids too
        absent = np.setdiff1d(np.arange(n), judged.queries)
        ids, values = np.concatenate([ids, items[absent]]), np.concatenate([values, missed])
    return Result(m, direction, value, n, skipped, None, ids, values, extremes)


def _aggregate(m: Metric, values: Float, missed: Float, fold: Int | None) -> float:
    """The value over all queries, or the mean over folds of the value inside a fold."""
    if fold is None:
        return _one(m, np.concatenate([values, missed]))
    if len(missed):
        raise UsageError(f"{m}: queries without positives belong to no fold", fix="leave out --no-positive miss")
    if (np.diff(fold) < 0).any():
        order = np.argsort(fold, kind="stable")
        values, fold = values[order], fold[order]
    return float(np.mean([_one(m, part) for part in np.split(values, np.flatnonzero(np.diff(fold)) + 1)]))


def _one(m: Metric, values: Float) -> float:
    if m.family.aggregate == "floor-median":
        return float(np.floor(np.median(values - 1)) + 1)
    return float(values.mean())


def from_lists(plan: Plan, data: Input) -> tuple[dict[Direction, Observation], list[str]]:
    """Ranks from retrieved lists, and warnings about lists that are too short.

    Raises:
        BadInput: as ``check_depth``.
    """
    assert data.lists is not None
    observed: dict[Direction, Observation] = {}
    for direction in plan.directions:
        gallery = len(plan.split.caption_ids if direction == "i2t" else plan.split.image_ids)
        ranks = {
            r.view: ranks_from_lists(
                r.relevance, data.lists.lists[direction], gallery,
                r.candidates if isinstance(r.candidates, SameFold) else None,
            )
            for r in plan.requests
            if r.relevance.direction == direction
        }  # fmt: skip
        observed[direction] = Observation(direction, ranks)
    return observed, check_depth(plan.binary, observed, plan.split, data.where, plan.short_lists)


def check_depth(
    metrics: Sequence[Metric], observed: dict[Direction, Observation], split: Split, where: Path, short_lists: str
) -> list[str]:
    """Refuse metrics that read deeper than the retrieved lists; with ``short_lists="miss"`` return a warning.

    Raises:
        BadInput: naming every such metric, the first query, its list length and the depth needed.
    """
    shallow: list[str] = []
    impossible: list[str] = []
    details: dict[str, str] = {}
    for m in metrics:
        for direction, observation in observed.items():
            ranks, name = observation.ranks[m.view], f"{m} ({direction})"
            gallery = len(split.caption_ids if direction == "i2t" else split.image_ids)
            found = too_shallow(ranks, m.family.depth, m.k, gallery)
            if found is None:
                continue
            i, depth, wanted = found
            query = split.ids("image" if direction == "i2t" else "caption")[ranks.relevance.queries[i]]
            details[name] = f"for {name} query {query} has {depth:,} usable items and {wanted:,} are needed"
            shallow.append(name)
            if m.unit == "rank" and (ranks.best() == UNRANKED).any():
                impossible.append(name)
    refused = shallow if short_lists == "refuse" else impossible
    if refused:
        otherwise = (
            "" if short_lists == "miss" else ", or count what is not listed as not found with --short-lists miss"
        )
        what = f"the lists are too short for {', '.join(refused)}: {details[refused[0]]}"
        fix = f"store longer lists, leave these metrics out{otherwise} (not for median and mean ranks)"
        raise BadInput(what, where=where, fix=fix)
    if not shallow:
        return []
    return [f"lists are too short for {', '.join(shallow)}; items that are not in them count as not found"]
