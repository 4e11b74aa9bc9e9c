"""Graded metrics: their values from scores or retrieved lists, as results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..graded.engine import Found
from ..graded.rankings import Together, pseudo_positives
from ..log import warn
from ..relevance.sources import SOURCES
from ..results.model import Measurement
from ..text import tokens as caption_warnings
from ..types import DIRECTIONS, Direction, Float, Ids, Observation, sides_of
from .assemble import Key
from .engines import Engine
from .inputs import Input
from .plan import Plan

BLOCK_IMAGES = 64  # images with gains in memory


def results(
    plan: Plan, data: Input, engine: Engine, observed: Mapping[Direction, Observation]
) -> dict[Key, Measurement]:
    """One result a metric and direction, without sums; warns of undefined metrics, small galleries, and no gains."""
    split = plan.split
    if data.lists is not None:
        found = engine.measure({side: data.lists[DIRECTIONS[side]] for side in sides_of(plan.directions)})
    else:  # the first items of every query are in the order of the second stage
        tops = {d: top.cut(second.reach) for d, second in data.second.items() if (top := observed[d].top)}
        found = engine.measure(data.system, new=[tops.get(d) for d in DIRECTIONS])
    out: dict[Key, Measurement] = {}
    undefined: list[str] = []
    clipped: dict[int, list[str]] = {}
    ids: dict[Together, Ids] = {}  # many metrics share the ids of their queries
    for (m, side), got in found.items():
        direction = DIRECTIONS[side]
        if got.undefined == len(got.values):
            undefined.append(f"{m} {split.way(direction)}")
            continue
        if got.rankings not in ids:
            ids[got.rankings] = split.side("image" if direction == "i2t" else "caption").ids[got.index]
        known = ~np.isnan(got.values)
        queries, values = ids[got.rankings], got.values
        if not known.all():
            queries, values = queries[known], values[known]
        out[m, direction] = Measurement(
            m, direction, got.mean, len(values), got.undefined, queries=queries, per_query=values,
            influence=got.influence,
        )  # fmt: skip
        if max(m.k or 0, pseudo_positives(m)) > got.gallery:
            clipped.setdefault(got.gallery, []).append(f"{m} {split.way(direction)}")
    for size, names in clipped.items():
        what = "k, or the number of pseudo-positives, is" if any("[" in name for name in names) else "k is"
        warn(f"{', '.join(names)}: {what} larger than the gallery of {size:,}; the complete gallery is used")
    if undefined:
        warn(f"{', '.join(undefined)}: undefined for every query, left out")
    # of captions with uninformative words, for gains made from words
    if of_words := [
        view for view in plan.gains if view in SOURCES and {"tokens", "text"} & set(SOURCES[view].settings)
    ]:
        little = caption_warnings.of_captions(split.columns.texts or ())
        warn(*(f"{', '.join(of_words)}: {what}" for what in little))
    _warn_without_gains(plan, found)
    return out


def _warn_without_gains(plan: Plan, found: Found) -> None:
    """Warn of every view in which all values are 0 because no gain is above 0."""
    values: dict[str, list[Float]] = {}
    for (m, _), got in found.items():
        values.setdefault(m.view, []).append(got.values)
    silent = [view for view, each in values.items() if not any(np.nan_to_num(v).any() for v in each)]
    for view in silent:
        gains, images = plan.gains[view], plan.gains[view].shape[0]
        starts = range(0, images, BLOCK_IMAGES) if gains.rows_affordable else ()
        if starts and not any((gains.rows(a, min(a + BLOCK_IMAGES, images)) > 0).any() for a in starts):
            warn(f"{view}: no pair has a gain above 0, so all values are 0; check what the gains are made from")
