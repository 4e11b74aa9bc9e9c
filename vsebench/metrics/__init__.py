"""The metric suite. Importing this package registers every metric."""

# isort: off
from . import recall, place, precision, sums  # the order of registration is the order of every list

# isort: on
from .declare import REGISTRY, Family, Metric, metric, parse
from .suites import FAMILIES, VIEWS, expand

__all__ = [
    "FAMILIES",
    "REGISTRY",
    "VIEWS",
    "Family",
    "Metric",
    "expand",
    "metric",
    "parse",
    "place",
    "precision",
    "recall",
    "sums",
]
