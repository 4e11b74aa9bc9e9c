"""``coarse``: gains of one kind, replaced by those of another where they exceed a threshold."""

from __future__ import annotations

from ..nonnegative import NEGATIVE
from .declare import GainsKind

COARSE = GainsKind(
    name="coarse",
    title="Coarse to fine",
    meaning="costly gains for promising pairs only: a cheap gain decides which they are",
    formula="costly(i, j) where cheap(i, j) > threshold, cheap(i, j) elsewhere",
    low=None,
    high=None,
    argument="CHEAP:above=NUMBER:COSTLY, two graded relevances and a threshold",
    placeholder="CHEAP:above=NUMBER:COSTLY",
    settings={"elsewhere": ("cheap", "zero"), "negative": NEGATIVE},
    reference="Zhou et al., Ladder Loss for Coherent Visual-Semantic Embedding, AAAI 2020",
    cite="zhou2020ladder",
    needs="what the two relevances need",
    module="vsebench.relevance.coarse",
    nested=True,
    needs_captions=False,  # the two kinds decide
)
