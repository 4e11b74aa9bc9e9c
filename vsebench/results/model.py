"""One result of an evaluation, what it needs of its metric, and how intervals are made.

Values are fractions (ranks are ranks). Percent exists only in the renderers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..errors import UsageError
from ..types import Direction, Float, Ids, Unit


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


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One metric in one direction.

    Attributes:
        metric: the metric, with its unit and direction; ``str`` gives its name.
        direction: ``i2t``, ``t2i``, or None for a sum over both.
        value: fraction, or rank for rank metrics.
        n: number of queries.
        undefined: queries that are left out because the metric is not defined for them.
        interval: (low, high), or None.
        queries: (query,) int64 or unicode ids of the rows of ``per_query``, or None.
        per_query: (query,) float64 values, or None for a sum.
        influence: (2, image) float64, what every image adds to the value as a candidate, by two random halves of the
            query images (see ``graded.influence``); None where it is not known, and the interval is that of the
            queries alone.
        ties: the value under the optimistic and under the pessimistic tie rule, or None where it is the same.

    Raises:
        UsageError: the value is not finite.
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
    influence: Float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise UsageError(f"{self.metric} {self.direction} has no finite value")

    @property
    def unit(self) -> Unit:
        """``fraction``, ``rank`` or ``distance`` (between labels, printed as it is)."""
        return self.metric.unit

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger value is a better one."""
        return self.metric.higher_is_better

    def __repr__(self) -> str:
        way = f" {self.direction}" if self.direction else ""
        interval = "" if self.interval is None else f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"
        left_out = f", {self.undefined:,} undefined" if self.undefined else ""
        return f"Result({self.metric}{way}: {self.value:.4g}{interval}, {self.n:,} queries{left_out})"

    def to_dict(self) -> dict[str, Any]:
        """The entry in a report's document: plain values."""
        return plain(self, "metric", "direction", "value", "n", "undefined", "interval")


def check_level(level: float) -> float:
    """The level of an interval in percent, as it is; raises UsageError where it is none, or below 1."""
    if not 0 < level < 100:
        raise UsageError(f"the level of an interval is {level}", fix="use a percentage such as 95")
    if level < 1:
        raise UsageError(
            f"the level of an interval is {level} %", fix=f"did you mean {100 * level:g}? It is a percentage"
        )
    return level


def check_seed(seed: int) -> None:
    """Raise UsageError where a seed is out of range."""
    if not 0 <= seed < 2**63:
        raise UsageError(f"the seed is {seed}", fix="use an integer from 0 to 9223372036854775807")


@dataclass(frozen=True)
class Resampling:
    """How bootstrap intervals are made.

    Attributes:
        level: share of the resamples inside an interval, in percent, from 1.
        resamples: how many.
        seed: of the random numbers, from 0.
        method: ``bca`` (bias-corrected and accelerated), or ``percentile``.

    Raises:
        UsageError: a value out of range.
    """

    level: float = 95.0
    resamples: int = 1000
    seed: int = 0
    method: Literal["percentile", "bca"] = "percentile"

    def __post_init__(self) -> None:
        check_level(self.level)
        if not 10 <= self.resamples <= 1_000_000:
            raise UsageError(f"{self.resamples} resamples", fix="use 10 to 1000000")
        check_seed(self.seed)
        if self.method not in ("percentile", "bca"):
            raise UsageError(f"the method of an interval is '{self.method}'", fix="use bca or percentile")


def plain(source: object, *names: str) -> dict[str, Any]:
    """Attributes as values of a JSON document: a metric as its name, a tuple as a list."""
    found = {name: getattr(source, name) for name in names}
    return {k: str(v) if k == "metric" else list(v) if isinstance(v, tuple) else v for k, v in found.items()}
