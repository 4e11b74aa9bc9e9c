"""The metric suite. Importing this package registers every metric."""

# isort: off
from . import recall, place, precision, sums  # the order of registration is the order of every list
from . import coherent, cumulative, semantic, discounted

# isort: on
from .declare import GRADED, REGISTRY, Family, Metric, metric, parse
from .suites import FAMILIES, GRADED_FAMILIES, MEANINGS, WHOLE, expand, members

__all__ = [
    "FAMILIES",
    "GRADED",
    "GRADED_FAMILIES",
    "MEANINGS",
    "REGISTRY",
    "WHOLE",
    "Family",
    "Metric",
    "coherent",
    "cumulative",
    "discounted",
    "expand",
    "members",
    "metric",
    "parse",
    "place",
    "precision",
    "recall",
    "semantic",
    "sums",
]
