"""Numbers and directions as text: percent exists only here and in what calls it."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Literal

from ..types import Unit
from .model import Resampling

# What is no value of a metric: counts, p-values, coefficients from -1 to 1, sizes of effects, means, and shares, which
# are printed as percent.
Form = Unit | Literal["count", "probability", "correlation", "tau", "effect", "mean", "percent", "share"]

ARROWS = {"i2t": "image→text", "t2i": "text→image", "i2i": "image→image", "t2t": "text→text", None: "sum"}
UNITS = "Fractions are printed times 100, ranks as ranks (↓ lower is better)."
UNDEFINED = "—"
RANKED = 3  # values from which the second best is marked
DIGITS = 15  # significant decimal digits that every float64 number has


def fixed(value: float, decimals: int, *, times: int = 1, form: str = "") -> str:
    """A number times ``times`` with so many decimals, rounded from its first 15 significant digits, halves away from 0.

    >>> fixed(0.33925, 2, times=100), fixed(0.79525, 2, times=100), fixed(-1.005, 2)
    ('33.93', '79.53', '-1.01')

    Args:
        value: the number. A float64 number is seldom the decimal number that is meant, but a little above or below it:
            the first 15 digits are those of the decimal number.
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
        case "probability":  # one digit and an exponent where it is small
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


def interval_words(how: Resampling, units: str = "images") -> str:
    """How the intervals in brackets were made, as a clause; ``units`` are what was resampled."""
    return f"In brackets: {interval_kind(how)} over {units} ({how.resamples:,} resamples, seed {how.seed})"


def interval_kind(how: Resampling) -> str:
    """What an interval is: its level and its method."""
    return f"{how.level:g} % {'' if how.method == 'percentile' else 'BCa '}bootstrap interval"
