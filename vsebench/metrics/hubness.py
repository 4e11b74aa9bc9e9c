"""Hubness: how unevenly the first k places of all lists are spread over the gallery."""

from __future__ import annotations

import math

import numpy as np

from ..types import Int
from .declare import metric

KS = (10,)
COUNTED_HUBS = 10  # items that ``Hubs@k`` counts


@metric(
    "Skewness@{k}",
    group="hubness",
    ks=KS,
    low=-math.inf,
    high=None,
    higher_is_better=False,
    unit="number",
    formula="skewness over the gallery of N_k, the number of queries that have an item among their first k",
    cite=("radovanovic2010hubs",),
)
def skewness(occurrences: Int) -> float:
    """The skewness of the k-occurrences: their third central moment over the third power of their standard deviation.

    It is 0 if all items are retrieved equally often, and large where a few items, the hubs, are retrieved for very
    many queries (Radovanović et al., 2010, eq. 1).
    """
    centred = occurrences - occurrences.mean()
    deviation = float(np.sqrt((centred**2).mean()))
    return float((centred**3).mean()) / deviation**3 if deviation else 0.0


@metric(
    "Anti-hubs@{k}",
    group="hubness",
    ks=KS,
    higher_is_better=False,
    formula="share of the gallery with N_k = 0",
    cite=("radovanovic2010hubs",),
)
def anti_hubs(occurrences: Int) -> float:
    """The share of the items that are not among the first k of any query."""
    return float((occurrences == 0).mean())


@metric(
    "Hubs@{k}",
    group="hubness",
    ks=KS,
    higher_is_better=False,
    formula="share of the first k places of all queries that the ten most retrieved items take",
    cite=("radovanovic2010hubs",),
)
def hubs(occurrences: Int) -> float:
    """The share of the first k places of all queries that the ten most retrieved items take.

    Without hubness it is 10 over the size of the gallery.
    """
    return float(np.sort(occurrences)[-COUNTED_HUBS:].sum() / occurrences.sum())
