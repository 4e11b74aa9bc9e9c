"""One result of an evaluation, what it needs of its metric, how intervals are made and how numbers are printed.

Values are fractions (ranks are ranks). Percent exists only in the renderers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Literal, Protocol

from ..errors import UsageError
from ..types import ONE_WAY, Direction, Float, Ids, Int, Modality, Unit, Vectors

# The side of the queries of a direction, as ``TestSet.side`` takes it.
SIDE: dict[Direction, Modality] = {"i2t": "image", "t2i": "caption", "i2i": "image", "t2t": "caption", ONE_WAY: "image"}


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
class Measurement:
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
            query images (see ``graded.influence``); None if it is not known, and the interval is that of the
            queries alone.
        ties: the value under the optimistic and under the pessimistic tie rule, or None if they are equal.

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
        return f"Measurement({self.metric}{way}: {self.value:.4g}{interval}, {self.n:,} queries{left_out})"


NOTHING = -1  # behind the end of a retrieved list


@dataclass(frozen=True, eq=False)
class Lists:
    """The top of the rankings of one direction, for all queries in the order of the items of the report.

    Attributes:
        direction: ``i2t`` or ``t2i``.
        items: (query, k) int64 gallery indices, best first; -1 behind the end of a list that is shorter.
        scores: (query, k) float32, rounded from the float64 scores that decide the order, and those beyond the range
            of float32 at its ends; None for retrieved lists without scores.
        kind: the gains, such as ``cider``, with which graded metrics were measured first; None without any.
        gains: (query, k) float32 gains of the items, 0 without an item; None without gains.
        truth_gains: (query,) float32 largest gain of a ground-truth item of the query; None without gains.
    """

    direction: Direction
    items: Int
    scores: Vectors | None = None
    kind: str | None = None
    gains: Vectors | None = None
    truth_gains: Vectors | None = None


def check_level(level: float) -> float:
    """The level of an interval in percent; raises UsageError if it is not a percentage of at least 1."""
    if not 0 < level < 100:
        raise UsageError(f"the confidence level is {level}", fix="use a percentage such as 95")
    if level < 1:
        raise UsageError(
            f"the confidence level is {level} %", fix=f"did you mean {100 * level:g}? The level is a percentage"
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


# What is no value of a metric: counts, p-values, coefficients from -1 to 1, sizes of effects, means, and shares, which
# are printed as percent.
Form = Unit | Literal["count", "probability", "correlation", "tau", "effect", "mean", "percent", "share"]

# In the order of columns: directions, then sums.
ARROWS: dict[Direction | None, str] = {
    "i2t": "image→text", "t2i": "text→image", "i2i": "image→image", "t2t": "text→text", ONE_WAY: "query→corpus",
    None: "sum",
}  # fmt: skip
UNITS = "Fractions are printed as percentages, ranks as they are (↓ lower is better)."
UNDEFINED = "—"
RANKED = 3  # values from which the second best is marked
DIGITS = 15  # significant decimal digits that every float64 number has


def fixed(value: float, decimals: int, *, times: int = 1, form: str = "") -> str:
    """A number times ``times`` with so many decimals, rounded from its first 15 significant digits, halves away from 0.

    >>> fixed(0.33925, 2, times=100), fixed(0.79525, 2, times=100), fixed(-1.005, 2)
    ('33.93', '79.53', '-1.01')

    Args:
        value: the number. A float64 number is seldom the decimal number that is meant, but a little above or below it:
            the first 15 digits equal the decimal number.
        decimals: digits after the point.
        times: 100 for a fraction that is printed in percent.
        form: ``+`` for a sign of every number, ``,`` for commas between thousands.
    """
    if not abs(value) < 10**DIGITS:  # no decimals are known
        return f"{times * value:{form}.{decimals}f}"
    exact = (_decimal(value) * times).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{exact:{form}.{decimals}f}"


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.{DIGITS - 1}e}")


def printed(value: float, form: Form) -> str:
    """A number as printed: fractions times 100 with two decimals, ranks with one or none, distances as they are."""
    match form:
        case "fraction":
            return fixed(value, 2, times=100)
        case "rank":
            return fixed(value, 0 if float(value).is_integer() else 1, form=",")
        case "distance" | "number":
            return f"{float(Context(4, ROUND_HALF_UP).create_decimal(_decimal(value))):.4g}"
        case "count":
            return f"{value:,}"
        case "probability":  # small ones with one digit and an exponent
            return fixed(value, 4) if value >= 0.00005 or value == 0 else f"{value:.0e}"
        case "correlation" | "tau":
            return fixed(value, 4 if form == "correlation" else 2)
        case "effect":
            return fixed(value, 2, form="+").replace("-0.00", "+0.00")
        case "mean":
            return fixed(value, 1, form=",")
        case "percent" | "share":
            return fixed(value, 1, times=100) + " %" * (form == "share")


def signed(value: float, form: Form) -> str:
    """A difference as printed, with its sign; none when it is printed as zero."""
    text = printed(value, form)
    if not any(c in "123456789" for c in text):
        return text.lstrip("-")
    return text if value < 0 else f"+{text}"


def bracketed(ends: tuple[float, float] | None, form: Form) -> str:
    """An interval as printed, ``[35.21, 37.80]``; the empty text without one."""
    return "" if ends is None else f"[{printed(ends[0], form)}, {printed(ends[1], form)}]"


def units_of(found: Iterable[Any]) -> str:
    """What is resampled: queries for results of queries and a corpus, else images."""
    return "queries" if any(one.direction == ONE_WAY for one in found) else "images"


def interval_words(how: Resampling, units: str = "images") -> str:
    """How the intervals in brackets were made, as a clause; ``units`` are what was resampled."""
    return f"In brackets: {interval_kind(how)} over {units} ({how.resamples:,} resamples, seed {how.seed})"


def interval_kind(how: Resampling) -> str:
    """What an interval is: its level and its method."""
    return f"{how.level:g} % {'' if how.method == 'percentile' else 'BCa '}bootstrap interval"
