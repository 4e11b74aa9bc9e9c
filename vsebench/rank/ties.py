"""The tie rules: in which order items of equal scores are ranked (``ranks`` applies them).

Default: score descending, then lower gallery index, a total order, so that ranks and lists agree. ``optimistic`` ranks
the relevant items of a tie first, ``pessimistic`` last. ``expected`` keeps the ties, so that metrics are means over all
orders of tied items. ``docid-desc`` is the rule of trec_eval: the items are put in the descending order of their ids
when they are read, and the lower index goes first.
"""

from __future__ import annotations

from ..errors import UsageError, closest

EXPECTED = "expected"
DOCID = "docid-desc"
BY_INDEX = ("index", DOCID)  # total orders
TIES: dict[str, str] = {
    "index": "score descending, then lower gallery index (canonical)",
    "optimistic": "relevant items of a tie come first",
    "pessimistic": "relevant items of a tie come last",
    EXPECTED: "mean of the metric over all orders of the tied items",
    DOCID: "scores rounded to float32, then the larger id in byte order, as in trec_eval and MTEB",
}


def check_ties(ties: str) -> str:
    """``ties`` if it is a known rule; raises UsageError otherwise."""
    if ties not in TIES:
        near = closest(ties, TIES)
        raise UsageError(f"unknown tie rule '{ties}'", fix=f"use {near[0] if near else ', '.join(TIES)}")
    return ties
