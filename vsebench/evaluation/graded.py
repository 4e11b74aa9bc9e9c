"""Graded metrics: from their values to results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graded.plan import pseudo_positives
from ..graded.run import Found, Queries
from ..report.model import Result
from ..types import Ids, Split
from .intervals import Key


def results(found: Found, split: Split) -> tuple[dict[Key, Result], list[str]]:
    """Results with per-query values, and warnings about metrics without a value and galleries smaller than k."""
    out: dict[Key, Result] = {}
    undefined: list[str] = []
    clipped: dict[int, list[str]] = {}
    ids: dict[Queries, Ids] = {}  # many metrics share the ids of their queries
    for (m, direction), got in found.items():
        if got.undefined == len(got.values):
            undefined.append(f"{m} ({direction})")
            continue
        if got.queries not in ids:
            ids[got.queries] = split.ids("image" if direction == "i2t" else "caption")[got.queries.index]
        known = ~np.isnan(got.values)
        queries, values = ids[got.queries], got.values
        if not known.all():
            queries, values = queries[known], values[known]
        out[m, direction] = Result(
            m, direction, got.mean, len(values), got.undefined, queries=queries, per_query=values
        )
        if max(m.k or 0, pseudo_positives(m)) > got.queries.gallery:
            clipped.setdefault(got.queries.gallery, []).append(f"{m} ({direction})")
    warnings = [
        f"{', '.join(names)}: {_what(names)} larger than a gallery of {size:,}; all of the gallery counts"
        for size, names in clipped.items()
    ]
    if undefined:
        warnings.append(f"{', '.join(undefined)}: undefined for every query, left out")
    return out, warnings


def _what(names: Sequence[str]) -> str:
    return "k, or the number of pseudo-positives, is" if any("[" in name for name in names) else "k is"
