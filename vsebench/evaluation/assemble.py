"""From results to a report: sums, intervals, the signature and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import __version__
from ..errors import BadInput
from ..log import note, said
from ..metrics import Metric
from ..metrics.suites import INTRA
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains
from ..relevance.sources import SOURCES, is_gains
from ..results.model import Result
from ..results.report import Report
from ..signature import captions_fingerprint, fingerprint, write
from ..types import Direction, Int, Observation, Split
from . import intervals, warnings
from .inputs import System
from .intervals import Key
from .plan import Plan


def report(
    plan: Plan,
    data: System,
    observed: dict[Direction, Observation],
    single: Mapping[Key, Result],
    ratings: str | None,
) -> Report:
    """The report of an evaluation, with what was said so far.

    Args:
        plan: what was measured.
        data: what was evaluated.
        observed: ranks of the relevant items, by direction.
        single: all results but the sums.
        ratings: identity of the ratings of the metrics inside the modalities, or None.

    Raises:
        BadInput: no metric has a value.
    """
    results, members = _with_sums(plan, single)
    if plan.request.resampling is not None:
        results = intervals.add(results, members, plan.split, plan.request.resampling, plan.request.threads)
    requested: dict[Key, None] = {}
    for m in plan.metrics:
        requested.update(dict.fromkeys((m, d) for d in ([None] if m.family.compute is None else plan.directions)))
    requested |= dict.fromkeys(key for key in results if key[1] in ("i2i", "t2t"))
    shown = [results[key] for key in requested if key in results]
    if plan.metrics and not shown:
        what = f"nothing was measured: {'; '.join(said().warnings)}"
        raise BadInput(what, fix="check the gains and what they are made from")
    warnings.ties(observed, results)
    warnings.unreachable(observed)
    warnings.clipped(plan.metrics, plan.split)
    note(*intervals.of_queries_alone(results.values()))
    if plan.request.resampling is not None:
        note(*intervals.without(results))
    log = said()
    return Report(
        plan.split.name,
        signature(plan, data, ratings),
        tuple(shown),
        tuple(log.warnings),
        tuple(log.notes),
        intervals=plan.request.resampling,
        parts=tuple(result for key, result in results.items() if key not in requested),
        items=replace(plan.split, captions=None, places=(None, _caption_rows(plan.split, data))),
    )


def _caption_rows(split: Split, data: System) -> Int | None:
    """(caption,) int64 text row of every caption of a custom split with ids, by which a text file is read again."""
    numbered = split.caption_ids.dtype.kind == "i" and np.array_equal(
        split.caption_ids, np.arange(len(split.caption_ids))
    )
    if split.name != "custom" or numbered:
        return None
    return np.arange(len(split.caption_ids)) if data.rows[1] is None else np.asarray(data.rows[1])


def _with_sums(plan: Plan, single: Mapping[Key, Result]) -> tuple[dict[Key, Result], dict[Key, list[Key]]]:
    """The results with the sums that have all their parts, and the parts of every sum."""
    results = dict(single)
    members: dict[Key, list[Key]] = {}
    for m in (m for m in plan.metrics if m.family.compute is None):
        parts: list[Key] = [(p, d) for p in m.parts() for d in plan.directions]
        if all(key in results for key in parts):
            members[m, None] = parts
            results[m, None] = _sum(m, [results[key] for key in parts], len(plan.directions))
    return results, members


def _sum(m: Metric, parts: Sequence[Result], directions: int) -> Result:
    ties = None
    if any(p.ties for p in parts):
        both = [p.ties or (p.value, p.value) for p in parts]
        ties = (sum(x for x, _ in both), sum(y for _, y in both))
    first = parts[:directions]  # one metric in all directions: its queries are those of the others
    n, undefined = sum(p.n for p in first), sum(p.undefined for p in first)
    return Result(m, None, sum(p.value for p in parts), n, undefined, ties=ties)


def signature(plan: Plan, data: System, ratings: str | None) -> str:
    """The line that identifies the values: everything that can move a digit."""
    # Metrics that read gains have two tie rules only, and do not depend on queries without positives.
    binary = ratings is not None or not all(m.graded for m in plan.metrics)
    judged = {
        view: j.identity(plan.split) for view, j in plan.judgements.items() if any(m.view == view for m in plan.metrics)
    }
    fields = {
        "vsebench": __version__,
        "split": f"{plan.split.name}#{fingerprint(plan.split)}",
        **{view: identity for view, identity in judged.items() if identity is not None},
        "score": data.score,
        **data.stages,
        "order": "f64",
        "ties": plan.request.ties if binary or plan.request.ties == EXPECTED else "index",
        "empty": plan.request.no_positive if binary else "skip",
        **({} if data.lists is None else {"short": plan.request.short_lists}),
        **_gains_identities(plan.gains, plan.split),
        **({} if ratings is None else {INTRA: ratings}),
    }
    return write(fields)


def _gains_identities(gains: Mapping[str, Gains], split: Split) -> dict[str, str]:
    """View -> every setting of its gains that can move a digit, and the captions they are made from."""
    # A file is identified by its content: copies may have other names.
    of_kinds = {view: g for view, g in gains.items() if is_gains(view)}  # others are judgements
    fields = {view: ",".join(f"{k}={v}" for k, v in g.settings.items() if k != "file") for view, g in of_kinds.items()}
    if split.captions is not None and any(SOURCES[view].captions != "unused" for view in of_kinds):
        fields["captions"] = captions_fingerprint(split.captions)
    return fields
