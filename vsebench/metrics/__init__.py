"""The metrics: one small file a formula, declared in one table.

In: ``types.Ranks`` (where the relevant items landed) for metrics of binary judgements, or ``GradedRanking`` (the gains
of what was retrieved) for graded metrics. Out: one value a query.

- ``declare``: ``metric`` and ``metric_sum`` declare a metric, ``Metric`` is one with its parameters, ``parse`` reads
  its name
- ``suites``: the words of ``--metrics``
- ``recall``, ``place``, ``precision``, ``sums``: metrics of binary judgements
- ``coherent``, ``cumulative``, ``semantic``, ``discounted``: graded metrics; ``tau``, ``gain_order`` and their kernels
  compute Kendall's tau
- ``expected``: means over the orders of tied items, of judgements and of gains
- ``hubness``: metrics of how often items are listed, without relevance
- ``graded_ranking``, ``values``: what graded metrics read, and their values for a block of queries

Importing the package declares every metric.
"""

# isort: off
from .declare import (
    Family,
    Metric,
    families,
    metric,
    metric_sum,
    parse,
)  # which the modules below may import from here
from . import recall, place, precision, sums  # the order of declaration is the order of every list
from . import coherent, cumulative, semantic, discounted, hubness

# isort: on

__all__ = [
    "Family",
    "Metric",
    "coherent",
    "cumulative",
    "discounted",
    "families",
    "hubness",
    "metric",
    "metric_sum",
    "parse",
    "place",
    "precision",
    "recall",
    "semantic",
    "sums",
]
