"""Bins of an attribute: its labels, its distinct numbers, or ranges of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from ..errors import UsageError
from ..options import spell
from ..types import Bool, Float
from .attributes import Attribute

_DISTINCT = 10  # with at most this many distinct integers, each is a bin
BINS = 5  # default number of bins
_EXACT = 1e15  # integers below it are printed with all their digits
_DIGITS = 4  # significant digits of an edge in a label; more if two edges would look the same


def read_bins(bins: int | str | Sequence[float]) -> int | list[float]:
    """A number of bins, or edges.

    Args:
        bins: an integer, edges in ascending order, or either as text, with commas between edges.

    Raises:
        UsageError: none of these, or more than 1000 bins.
    """
    wrong = UsageError(
        f"{spell('bins')} is '{bins}'", fix="give a number such as 5, or ascending edges such as 0,5,10,20"
    )
    listed = bins.split(",") if isinstance(bins, str) else [bins] if isinstance(bins, (int, float)) else bins
    try:
        edges = [float(part) for part in listed]
    except ValueError:
        raise wrong from None
    if len(edges) == 1:
        if not edges[0].is_integer() or not 1 <= edges[0] <= 1000:
            raise wrong
        return int(edges[0])
    if not edges or any(not a < b for a, b in pairwise(edges)):
        raise wrong
    return edges


def masks(attribute: Attribute, bins: int | Sequence[float] | None) -> tuple[dict[str, Bool], Bool]:
    """Which queries are in which bin.

    Args:
        attribute: of the queries.
        bins: how many bins of about equal size numbers are cut into, or the edges: a bin extends from an edge up to the
            next, which is in the bin only if it is the last. None: five bins of numbers. Every label is a bin, and so
            is each infinity without edges; NaN is in no bin.

    Returns:
        (query,) masks by label, in the order of the bins; and (query,) whether a query is in no bin.

    Raises:
        UsageError: the attribute has neither labels nor numbers, or ``bins`` are asked for and it has labels.
    """
    if attribute.labels is not None:
        if bins is not None:
            first = next(iter(chain.from_iterable(attribute.labels)), "none")
            what = f"{spell('bins')} needs numbers: '{attribute.name}' holds labels (first: {first})"
            raise UsageError(what, fix="leave it out, or write numbers into the column")
        count = Counter(chain.from_iterable(attribute.labels))
        order = sorted(count, key=lambda label: (-count[label], label))
        found = {label: np.zeros(len(attribute.labels), bool) for label in order}
        for i, labels in enumerate(attribute.labels):
            for label in labels:
                found[label][i] = True
    elif attribute.numbers is not None:
        found = _ranges(attribute.numbers, attribute.integer, BINS if bins is None else bins)
    else:
        raise UsageError(f"'{attribute.name}' has no values", fix="choose another column")
    inside = np.any([np.zeros(attribute.size, bool), *found.values()], axis=0)
    return found, ~inside


def _ranges(numbers: Float, integer: bool, bins: int | Sequence[float]) -> dict[str, Bool]:
    if not isinstance(bins, int):
        return _between([float(e) for e in bins], numbers, integer)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    finite = numbers[np.isfinite(numbers)]
    if integer and len(distinct) <= _DISTINCT:
        return {_integer(v): numbers == v for v in distinct.tolist()}
    out = {}
    if len(finite):
        # edges are integers, so that the label of a bin names the numbers in it
        levels = np.linspace(0, 1, bins + 1)
        cut = np.quantile(finite, levels, method="higher") if integer else np.quantile(finite, levels)
        out = _between(np.unique(cut).tolist(), numbers, integer)
    # no quantile lies between the largest number and infinity, so an infinity is a separate bin
    low, high = ({f"{end:g}": numbers == end} if end in distinct else {} for end in (-np.inf, np.inf))
    return {**low, **out, **high}


def _between(edges: list[float], numbers: Float, integer: bool) -> dict[str, Bool]:
    if len(edges) < 2:
        return {_label(edges[0], edges[0], integer, True, _DIGITS): numbers == edges[0]}
    # 17 digits tell any two float64 numbers apart
    digits = next(d for d in range(_DIGITS, 18) if len({f"{edge:.{d}g}" for edge in edges}) == len(edges))
    out = {}
    for low, high in pairwise(edges):
        last = high == edges[-1]
        mask = (numbers >= low) & ((numbers <= high) if last else (numbers < high))
        out[_label(low, high, integer, last, digits)] = mask
    return out


def _label(low: float, high: float, integer: bool, last: bool, digits: int) -> str:
    if integer and all(abs(edge) < _EXACT and edge.is_integer() for edge in (low, high)):
        top = high if last else high - 1
        return _integer(low) if low == top else f"{_integer(low)} to {_integer(top)}"
    return f"{low + 0:.{digits}g} to {'' if last else 'below '}{high + 0:.{digits}g}"


def _integer(number: float) -> str:
    """Its digits, without separators, because it may be a year or an id; 0 for -0."""
    return f"{number + 0:.0f}" if abs(number) < _EXACT else f"{number:.17g}"
