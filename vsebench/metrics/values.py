"""The values of graded metrics, from the ranking of a block of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..options import spell
from ..types import Float, Int, Vectors
from .declare import Metric
from .graded_ranking import GradedRanking, up_to

MAX_GRADE = 60  # float64 still computes metrics of gains 2^g - 1 exactly


def without_negative() -> str:
    """What to do about negative gains."""
    way = spell("gains", "GAINS:negative=zero")
    return f"use CS or Kendall, which take any gains, or count negative gains as zero: {way}"


def differ_in_k(metric: Metric) -> tuple[Any, ...]:
    """A key that is equal for metrics that differ in nothing but k; their values are computed together."""
    return metric.template, metric.view, metric.options


def values(metrics: Sequence[Metric], ranking: GradedRanking) -> Float:
    """(query, metric) float64 values of metrics that differ in k alone; NaN if one is undefined.

    Raises:
        BadInput: a gain is below the range of the metrics, or not from a label distance although one is needed.
        UsageError: a sum, which has no value for a single query.
    """
    first = metrics[0]
    family = first.family
    if family.compute is None:
        raise UsageError(f"{first} is a sum over metrics and has no value for a single query")
    _check_gains(first, ranking)
    if "distance" in family.needs and ranking.distance is None:
        deepest = up_to([m.k or 1 for m in metrics], ranking.count).max(axis=1, initial=0)
        ranking = replace(ranking, distance=label_distances(ranking.gains, deepest))
    return computed(metrics, {name: getattr(ranking, name) for name in family.needs}, len(ranking.count))


def linear(metric: Metric) -> Metric:
    """The metric with the grade as its gain; unchanged if its gain of a grade g is not 2^g - 1."""
    return replace(metric, options=tuple(option for option in metric.options if option[0] != "gain"))


def exponential(metric: Metric, grades: npt.NDArray[Any]) -> Float:
    """The gains 2^g - 1 of grades g, float64 of the same shape.

    Raises BadInput for grades other than 0, 1, ..., ``MAX_GRADE``.
    """
    whole = (grades == np.floor(grades)) & (grades >= 0) & (grades <= MAX_GRADE)
    if not whole.all():
        what = f"{metric}: a gain of '{metric.view}' is {float(grades[~whole][0])!r}, but it takes integers"
        raise BadInput(f"{what} from 0 to {MAX_GRADE}", fix=f"leave out gain=exp: {linear(metric)}")
    return np.ldexp(1.0, grades.astype(np.int64)) - 1.0


def computed(metrics: Sequence[Metric], fields: Mapping[str, Any], queries: int) -> Float:
    """(query, metric) float64 values of metrics that differ in k alone, from the fields that they read."""
    first = metrics[0]
    given = {name: fields[name] for name in first.family.needs}
    if linear(first) != first:
        inside = np.arange(given["gains"].shape[1]) < given["count"][:, None]
        given["gains"] = exponential(first, np.where(inside, given["gains"], 0))
        given["ideal"] = exponential(first, given["ideal"])
    given |= {key: first.option(key) for key in first.family.options if key in first.family.parameters}
    if "ks" in first.family.parameters:
        given["ks"] = tuple(m.k for m in metrics)
    assert first.family.compute is not None
    return np.asarray(first.family.compute(**given), np.float64).reshape(queries, len(metrics))


def _check_gains(metric: Metric, ranking: GradedRanking) -> None:
    lowest = metric.family.lowest_gain
    if lowest is None or not ranking.gains.size:
        return
    inside = np.arange(ranking.gains.shape[1]) < ranking.count[:, None]
    smallest = float(np.min(ranking.gains, initial=np.inf, where=inside))
    if smallest < lowest:
        what = f"{metric}: gains of '{metric.view}' go down to {smallest:.4g}, but it takes none below {lowest:g}"
        raise BadInput(what, fix=without_negative())


def label_distances(gains: Vectors, count: Int) -> Float:
    """(query, depth) float64 label distances d = 1 / gain - 1 of the first ``count`` (query,) items, 0 behind them."""
    inside = np.arange(gains.shape[1]) < count[:, None]
    wrong = inside & ~((gains > 0) & (gains <= 1))
    if wrong.any():
        what = f"a gain of {gains[wrong][0]:.4g} is not 1 / (1 + d) of a label distance d"
        raise BadInput(what, fix="use nDCG, or gains made from a distance, such as wmd")
    return 1.0 / np.where(inside, gains, 1).astype(np.float64) - 1.0
