"""Graded metrics: their values from scores or retrieved lists, as results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..graded import engine as run
from ..graded.engine import Found, from_lists
from ..graded.rankings import Together, pseudo_positives
from ..log import warn
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains
from ..relevance.sources import SOURCES
from ..results.model import Result
from ..text import tokens as caption_warnings
from ..types import DIRECTIONS, Direction, Float, Ids, Observation, Tops, sides_of
from .assemble import Key
from .engines import Engine
from .inputs import Input
from .plan import Plan

BLOCK = 64  # images whose gains are examined together


def results(plan: Plan, data: Input, engine: Engine, observed: Mapping[Direction, Observation]) -> dict[Key, Result]:
    """One result a metric and direction, without sums; warns of undefined metrics, small galleries, and no gains."""
    found, split = _measured(plan, data, engine, observed), plan.split
    out: dict[Key, Result] = {}
    undefined: list[str] = []
    clipped: dict[int, list[str]] = {}
    ids: dict[Together, Ids] = {}  # many metrics share the ids of their queries
    for (m, side), got in found.items():
        direction = DIRECTIONS[side]
        if got.undefined == len(got.values):
            undefined.append(f"{m} {direction}")
            continue
        if got.rankings not in ids:
            ids[got.rankings] = split.side("image" if direction == "i2t" else "caption").ids[got.index]
        known = ~np.isnan(got.values)
        queries, values = ids[got.rankings], got.values
        if not known.all():
            queries, values = queries[known], values[known]
        out[m, direction] = Result(
            m, direction, got.mean, len(values), got.undefined, queries=queries, per_query=values,
            influence=got.influence,
        )  # fmt: skip
        if max(m.k or 0, pseudo_positives(m)) > got.gallery:
            clipped.setdefault(got.gallery, []).append(f"{m} {direction}")
    for size, names in clipped.items():
        what = "k, or the number of pseudo-positives, is" if any("[" in name for name in names) else "k is"
        warn(f"{', '.join(names)}: {what} larger than a gallery of {size:,}; all of the gallery counts")
    if undefined:
        warn(f"{', '.join(undefined)}: undefined for every query, left out")
    # of captions whose words mean little, for the gains that are made from words
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
        if plan.gains[view].rows_affordable and not _any_gain(plan.gains[view]):
            warn(f"{view}: no pair has a gain above 0, and all values are 0; check what the gains are made from")


def _any_gain(gains: Gains) -> bool:
    images = gains.shape[0]
    return any((gains.rows(a, min(a + BLOCK, images)) > 0).any() for a in range(0, images, BLOCK))


def _measured(plan: Plan, data: Input, engine: Engine, observed: Mapping[Direction, Observation]) -> Found:
    influence, sides = plan.request.resampling is not None, sides_of(plan.directions)
    if data.lists is not None:
        lists = {side: data.lists[DIRECTIONS[side]] for side in sides}
        return from_lists(lists, plan.split, plan.graded, plan.gains, influence)
    assert data.system is not None
    first, other = (_reranked(data, d, observed) for d in DIRECTIONS)
    return run.run(
        data.system, plan.split, plan.graded, plan.gains, sides, expected=plan.request.ties == EXPECTED,
        threads=plan.request.threads, progress=plan.request.progress, influence=influence, order=engine.order,
        fill=engine.fill, new=(first, other),
    )  # fmt: skip


def _reranked(data: Input, direction: Direction, observed: Mapping[Direction, Observation]) -> Tops | None:
    """The first items of every query in the order of the second stage; None without one."""
    top = observed[direction].top if direction in data.second else None
    return top and top.cut(data.second[direction].reach)
