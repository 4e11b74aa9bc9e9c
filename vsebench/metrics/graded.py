"""Declaring a metric of graded relevance: a function of what was retrieved and how relevant it is.

Its signature says what it needs. It returns the values at all ks that are asked for together, because most of the
work is the same for every k.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, UsageError
from ..types import Bool, Float, Int, Vectors
from .declare import GRADED, Depth, Family, Metric, Option
from .gain_order import Fall

OWN = Option(("in", "out"), "out: a query's own captions (or image) are no candidates, in ranking and ideal")
CAPTIONS = ("all", "first")
ON = Option(
    ("split", "folds", "block"),
    "folds: only the query's fold competes, mean over the folds; block: the first fold alone (COCO 1K)",
)


@dataclass(frozen=True, eq=False)
class Seen:
    """What the graded metrics of one view may look at, for a block of queries.

    Attributes:
        gains: (query, depth) float32 gains of the retrieved items, best score first; of depth 0 unless needed.
        tied: (query, depth) bool, the item has exactly the score of the one before it.
        count: (query,) int64, how many candidates a query has, if not more than depth, else depth.
        ideal: (query, ideal depth) float32, the largest gains among the candidates, descending; zeros behind the last.
        members: (query, depth) bool, the retrieved item belongs to the extended ground truth; None unless needed.
        size: (query,) int64, size of the extended ground truth; None unless needed.
        falling: the retrieved items by their gains, as places in the ranking; None unless needed.
    """

    gains: Vectors
    tied: Bool
    count: Int
    ideal: Vectors | None = None
    members: Bool | None = None
    size: Int | None = None
    falling: Fall | None = None


OBSERVED = ("gains", "tied", "count", "ideal", "members", "size", "falling")


def graded(
    template: str,
    *,
    formula: str,
    cite: tuple[str, ...],
    options: Mapping[str, Option] | None = None,
    captions: str = "all",
    low: float = 0.0,
    high: float | None = 1.0,
    higher_is_better: bool = True,
    unit: Any = "fraction",
    ks: tuple[int, ...] = (),
    least_k: int = 1,
    lowest_gain: float | None = None,
    depth: Depth = "k",
) -> Callable[[Callable[..., Float]], Callable[..., Float]]:
    """Register a function of fields of ``Seen``, ``ks`` and options that returns (query, ks) values, NaN if undefined.

    Every graded metric also takes the options ``gt``, ``captions`` (its default is the argument) and ``on``, which
    say who competes; the function does not see them.

    Raises:
        UsageError: the name is taken, or a parameter of the function is neither observed nor an option.
    """
    own = dict(options or {})
    others = tuple(c for c in CAPTIONS if c != captions)
    everywhere = Option((captions, *others), "first: of every image only the first caption takes part")
    known = {**own, "gt": OWN, "captions": everywhere, "on": ON}

    def register(compute: Callable[..., Float]) -> Callable[..., Float]:
        strange = [p for p in inspect.signature(compute).parameters if p not in (*OBSERVED, "ks", *own)]
        if strange:
            raise UsageError(
                f"metric '{template}' asks for '{strange[0]}'", fix=f"ask for {', '.join((*OBSERVED, 'ks', *own))}"
            )
        family = Family(
            template, compute, depth, low, high, higher_is_better, unit, ks, (), "mean", (), cite, formula,
            known, least_k, lowest_gain,
        )  # fmt: skip
        GRADED.add(template, family)
        return compute

    return register


def graded_sum(template: str, *, parts: tuple[str, ...], formula: str, cite: tuple[str, ...], also: str = "") -> None:
    """Register a sum of graded metrics over both directions; ``also`` is another name for it."""
    options = {"captions": Option(CAPTIONS, "as of its parts"), "on": ON}
    high = 2.0 * len(parts)
    aliases = (also,) if also else ()
    GRADED.add(
        template,
        Family(template, None, "k", 0.0, high, True, "fraction", (), aliases, "sum", parts, cite, formula, options),
        aliases,
    )


def needs(metric: Metric) -> frozenset[str]:
    """Which fields of ``Seen`` a metric looks at."""
    return frozenset() if metric.family.compute is None else _parameters(metric.family.compute) & frozenset(OBSERVED)


@functools.cache
def _parameters(compute: Callable[..., Float]) -> frozenset[str]:
    return frozenset(inspect.signature(compute).parameters)


def together(metric: Metric) -> tuple[Any, ...]:
    """What metrics have in common that differ in nothing but k."""
    return metric.template, metric.view, metric.options


def values(metrics: Sequence[Metric], seen: Seen) -> Float:
    """(query, metric) float64 values of metrics that differ in k alone; NaN where one is undefined.

    Raises:
        BadInput: a gain is lower than the metrics allow.
    """
    family = metrics[0].family
    if family.compute is None:
        raise UsageError(f"{metrics[0]} is a sum over metrics and has no value for a single query")
    _check_gains(metrics[0], seen)
    given: dict[str, Any] = {name: getattr(seen, name) for name in needs(metrics[0])}
    asked = _parameters(family.compute)
    given |= {key: metrics[0].option(key) for key in family.options if key in asked}
    if "ks" in asked:
        given["ks"] = tuple(m.k for m in metrics)
    return np.asarray(family.compute(**given), np.float64).reshape(len(seen.gains), len(metrics))


def _check_gains(metric: Metric, seen: Seen) -> None:
    lowest = metric.family.lowest_gain
    if lowest is None or not seen.gains.size:
        return
    inside = np.arange(seen.gains.shape[1]) < seen.count[:, None]
    smallest = float(np.min(seen.gains, initial=np.inf, where=inside))
    if smallest < lowest:
        raise BadInput(
            f"{metric}: gains of '{metric.view}' go down to {smallest:.4g}, and it takes none below {lowest:g}",
            fix="use CS or Kendall, which take any gains, or count negative gains as zero: --gains GAINS:negative=zero",
        )


def up_to(ks: Sequence[int], count: Int) -> Int:
    """(query, ks) how many items a list cut at k holds."""
    return np.asarray(np.minimum(np.asarray(ks, np.int64)[None, :], count[:, None]))


def sums_at(x: npt.NDArray[Any], at: Int) -> Float:
    """(query, ks) float64 sums of the first ``at`` (query, ks) numbers of every row, added from the top."""
    if not x.shape[1]:
        return np.zeros(at.shape)
    deep = x[:, : max(int(at.max(initial=0)), 1)]
    total = np.cumsum(deep, axis=1, dtype=np.float64)
    return np.where(at > 0, np.take_along_axis(total, np.maximum(at, 1) - 1, axis=1), 0.0)
