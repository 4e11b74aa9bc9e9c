"""Report: an immutable set of results with a signature; its JSON is what other tools read.

Values are fractions (ranks are ranks). Percent exists only in the renderers.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from ..errors import UsageError
from ..types import Direction, Float, Ids, Split

SCHEMA = "vsebench/report/1"
Unit = Literal["fraction", "rank", "distance"]


class MetricName(Protocol):
    """What a report needs of a metric; ``vsebench.metrics.Metric`` is one. ``str`` gives its canonical name."""

    @property
    def view(self) -> str:
        """The set of judgements or gains, such as ``gt``, ``eccv`` or ``cider``."""

    @property
    def name(self) -> str:
        """The name without its view, such as ``R@1``."""

    @property
    def template(self) -> str:
        """The name with ``{k}`` in place of the depth, such as ``R@{k}``."""

    @property
    def k(self) -> int | None:
        """The depth, None for a metric without one."""

    @property
    def unit(self) -> Unit:
        """The unit of its values."""

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger value is a better one."""


@dataclass(frozen=True, eq=False)
class Result:
    """One metric in one direction.

    Attributes:
        metric: the metric, with its unit and direction; ``str`` gives its name.
        direction: ``i2t``, ``t2i``, or None for a sum over both.
        value: fraction, or rank for rank metrics.
        n: number of queries.
        undefined: queries left out because the metric is not defined for them.
        interval: (low, high) of the report's resampling, or None.
        queries: (query,) ids behind ``per_query``, or None.
        per_query: (query,) float64 values, or None for a sum.
        ties: the value under the optimistic and pessimistic tie rule, or None without ties.
    """

    metric: MetricName
    direction: Direction | None
    value: float
    n: int
    undefined: int = 0
    interval: tuple[float, float] | None = None
    queries: Ids | None = field(default=None, repr=False)
    per_query: Float | None = field(default=None, repr=False)
    ties: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise UsageError(f"{self.metric} ({self.direction}) has no finite value")

    @property
    def unit(self) -> Unit:
        """``fraction``, ``rank`` or ``distance`` (between labels, printed as it is)."""
        return self.metric.unit

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger value is a better one."""
        return self.metric.higher_is_better

    def to_json(self) -> dict[str, Any]:
        """The entry in a report's ``results``."""
        return {
            "metric": str(self.metric),
            "direction": self.direction,
            "value": self.value,
            "n": self.n,
            "undefined": self.undefined,
            "interval": None if self.interval is None else list(self.interval),
        }


@dataclass(frozen=True)
class Resampling:
    """How the intervals of a report were made: resamples of images.

    Attributes:
        level: share of the resamples inside an interval, in percent.
        resamples: how many.
        seed: fixes them.
        method: ``percentile`` or ``bca``.
    """

    level: float = 95.0
    resamples: int = 1000
    seed: int = 0
    method: Literal["percentile", "bca"] = "percentile"

    def __post_init__(self) -> None:
        if not 0 < self.level < 100:
            raise UsageError(f"the level of an interval is {self.level}", fix="use a percentage such as 95")
        if not 10 <= self.resamples <= 1_000_000:
            raise UsageError(f"{self.resamples} resamples", fix="use 10 to 1000000")
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"the seed is {self.seed}", fix="use a whole number from 0 to 9223372036854775807")
        if self.method not in ("percentile", "bca"):
            raise UsageError(f"the method of an interval is '{self.method}'", fix="use percentile or bca")


@dataclass(frozen=True, eq=False)
class Report:
    """All results of one evaluation.

    Attributes:
        split: name of the test set.
        signature: the one-line identity of the numbers.
        results: in the order asked for.
        warnings, notes: what the user should know.
        provenance: where the numbers come from.
        intervals: how intervals were made, or None without them.
        parts: results that sums need and nobody asked for by name.
        asked: the items behind the per-query values (no texts), or None when they are not known.
    """

    split: str
    signature: str
    results: tuple[Result, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    intervals: Resampling | None = None
    parts: tuple[Result, ...] = field(default=(), repr=False)
    asked: Split | None = field(default=None, repr=False)

    def __getitem__(self, key: tuple[str | MetricName, Direction | None] | str | MetricName) -> Result:
        """``report["R@1", "i2t"]``, or ``report["RSum"]`` for a sum; raises KeyError when it was not measured."""
        metric, direction = key if isinstance(key, tuple) else (key, None)
        for result in self.results:
            if str(result.metric) == str(metric) and result.direction == direction:
                return result
        raise KeyError(key)

    def to_json(self) -> dict[str, Any]:
        """The document of schema ``vsebench/report/1``: plain values, no NaN."""
        return {
            "schema": SCHEMA,
            "split": self.split,
            "signature": self.signature,
            "provenance": {**self.provenance, "notes": list(self.notes)},
            "warnings": list(self.warnings),
            "intervals": None if self.intervals is None else asdict(self.intervals),
            "results": [r.to_json() for r in self.results],
        }

    def per_query(self) -> tuple[tuple[Result, ...], Ids, Float]:
        """Results that have per-query values, and for all of them in turn the (row,) query ids and values."""
        held = tuple(r for r in self.results if r.per_query is not None and r.queries is not None)
        if not held:
            return (), np.empty(0, np.int64), np.empty(0)
        queries = np.concatenate([r.queries for r in held if r.queries is not None])
        return held, queries, np.concatenate([r.per_query for r in held if r.per_query is not None])
