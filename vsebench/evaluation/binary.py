"""Metrics of binary judgements: their values from the ranks of the relevant items; and metrics of hubness."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..log import note
from ..metrics import Metric
from ..metrics.hubness import COUNTED_HUBS
from ..options import spell
from ..results.model import SIDE, Measurement
from ..types import QUERIES_OF, UNRANKED, Direction, Float, Ids, Int, Observation, Ranks, Relevance, TestSet
from .assemble import Key
from .inputs import Input
from .plan import Plan

QueryIds = dict[Relevance, Ids]


def results(plan: Plan, observed: dict[Direction, Observation]) -> dict[Key, Measurement]:
    """One result a metric and direction, without sums."""
    ids: QueryIds = {}
    return {
        (m, d): measure(m, observed[d].ranks[m.ranked], plan.split, d, plan.request.no_positive, ids)
        for m in plan.binary
        for d in plan.directions
    }


def measure(
    m: Metric, ranks: Ranks, split: TestSet, direction: Direction, no_positive: str, query_ids: QueryIds | None = None
) -> Measurement:
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
            raise BadInput(f"{m} {direction}: no relevant item is in the gallery", fix="check the ids")
    if no_positive == "miss" and skipped:
        if m.unit == "rank":
            what = f"{m} ({direction}) has no value for {count_of(skipped, 'query', 'queries')} without positives"
            raise UsageError(what, fix=f"leave out {spell('no_positive', 'miss')}, or the metric")
        missed, skipped = judged.without, 0
    else:
        missed = judged.without[:0]
    fold = None if ranks.fold is None else ranks.fold[kept]
    none = np.zeros(len(missed))
    value = _aggregate(m, values[kept], none, fold)
    extremes = None
    if ranks.under_extremes is not None:
        optimistic, pessimistic = (
            _aggregate(m, m.per_query(other)[kept], none, fold) for other in ranks.under_extremes
        )
        extremes = (optimistic, pessimistic) if optimistic != pessimistic else None
    items = split.side("image" if direction == "i2t" else "caption").ids
    query_ids = {} if query_ids is None else query_ids
    if judged not in query_ids:
        query_ids[judged] = items[judged.queries]
    ids, values = query_ids[judged], values[kept]
    if len(values) < len(ids):
        ids = ids[kept]
    if len(missed):
        ids, values = np.concatenate([ids, items[missed]]), np.concatenate([values, none])
    return Measurement(m, direction, value, len(values), skipped, None, ids, values, extremes)


def _aggregate(m: Metric, values: Float, missed: Float, fold: Int | None) -> float:
    """The value over all queries, or the mean over folds of the value inside a fold."""
    if fold is None:
        return _mean_or_median(m, np.concatenate([values, missed]))
    if len(missed):
        what = f"{m}: queries without positives belong to no fold"
        raise UsageError(what, fix=f"leave out {spell('no_positive', 'miss')}")
    if (np.diff(fold) < 0).any():
        order = np.argsort(fold, kind="stable")
        values, fold = values[order], fold[order]
    return float(np.mean([_mean_or_median(m, part) for part in np.split(values, np.flatnonzero(np.diff(fold)) + 1)]))


def _mean_or_median(m: Metric, values: Float) -> float:
    if m.family.aggregate == "floor-median":
        return float(np.floor(np.median(values - 1)) + 1)
    return float(values.mean())


def hubness(plan: Plan, data: Input, observed: Mapping[Direction, Observation]) -> dict[Key, Measurement]:
    """One result a metric of hubness and direction, without per-query values; notes name the hubs.

    Raises:
        BadInput: a retrieved list is shorter than a metric needs.
    """
    found: dict[Key, Measurement] = {}
    for direction in plan.directions if plan.of_lists else ():
        queries, gallery = (plan.split.side(SIDE[d]).ids for d in (direction, QUERIES_OF[direction]))
        for m in sorted(plan.of_lists, key=lambda m: m.k or 0):  # the note is on the largest k
            assert m.k is not None
            top, k = observed[direction].top, min(m.k, len(gallery))
            assert top is not None  # retrieved lists, or plan.depth is at least k
            if short := int((top.depth < k).sum()):
                what = f"{count_of(short, 'query', 'queries')} ({direction}) have no list of {k} items"
                fix = "give every query a list, or leave out hubness"
                raise BadInput(f"{what}, which hubness needs", where=data.where, fix=fix)
            count = np.bincount(top.cut(k).entries, minlength=top.gallery)
            found[m, direction] = Measurement(m, direction, m.of_gallery(count), len(queries))
        most = np.argsort(-count, kind="stable")[:COUNTED_HUBS]
        listed = ", ".join(f"{gallery[i]} ({count[i]:,})" for i in most.tolist())
        side = plan.split.side(SIDE[QUERIES_OF[direction]])
        note(f"{side.plural} in the top {m.k} of the most queries (of {len(queries):,}): {listed}", weight="detail")
    return found
