"""From observations to results: which metrics, their values, sums, and what deserves a warning."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from .. import __version__, relevance, signature
from ..errors import BadInput, UsageError
from ..metrics import Metric, expand
from ..metrics.declare import separate
from ..metrics.suites import WHOLE, default_words
from ..rank.lists import too_shallow
from ..rank.observe import Request
from ..relevance.gains import Spec
from ..report.model import Report, Resampling, Result
from ..types import UNRANKED, Direction, Float, Ids, Int, Observation, Ranks, Relevance, Split
from . import graded as graded_eval
from . import intervals
from . import warnings as cautions
from .graded import is_graded

Names = dict[int, tuple[Relevance, Ids]]  # by identity of the judgements, which are kept so that it stays theirs
INTRA = "cxc-intra"  # the word in --metrics for image-image and text-text retrieval


def views(split: Split) -> list[str]:
    """The sets of judgements (and candidates) that a split has, headline first."""
    judged = relevance.names(split)
    has_folds = split.fold is not None and split.name != "coco-1k"
    return ["gt", *(["1k"] if has_folds else []), *(v for v in judged if v != "gt")]


def plan(
    words: str | Sequence[str] | None,
    split: Split,
    directions: Sequence[Direction],
    gains: Mapping[str, Spec | None] | None = None,
) -> list[Metric]:
    """The metrics to measure; without words the headline families whose judgements are installed.

    A sum over both directions is left out of families and ``all`` when one direction is asked for.

    Args:
        words: what was asked for.
        split: which views there are.
        directions: which are ranked.
        gains: graded views that ``all`` goes through, the default first, and what is known of them.

    Raises:
        UsageError: an unknown name; a view the split does not have; a sum by name that lacks a direction.
    """
    available = views(split)
    if words is None:
        absent = absent_views(split)
        words = default_words([v for v in available if v not in absent])
    suits = functools.partial(graded_eval.suits, gains=gains or {})
    metrics = expand(words, available, tuple(gains or ()), graded_eval.KNOWN, suits)
    for m in metrics:
        if is_graded(m):
            continue
        if m.view not in available and not (m.view == "1k" and split.name == "coco-1k"):
            raise UsageError(
                f"{m}: split '{split.name}' has no view '{m.view}' (it has {', '.join(available)})",
                fix=f"leave it out; {m.view} is defined on the whole of coco-5k",
            )
    if len(directions) == 2:
        return metrics
    named = separate(words) if isinstance(words, str) else words
    sums = [str(m) for m in metrics if m.family.compute is None]
    asked = [x.strip() for x in named if x.strip() in sums]
    if asked:
        raise UsageError(
            f"{asked[0]} is a sum over both directions, and only {directions[0]} is ranked",
            fix="leave it out, or rank both directions",
        )
    return [m for m in metrics if m.family.compute is not None]


def named(words: str | Sequence[str] | None) -> list[str] | None:
    """What was asked for by name, without words such as ``all``; None when nothing is left."""
    listed = separate(words) if isinstance(words, str) else list(words or ())
    return [w for w in listed if w.strip().lower() not in WHOLE] or None


def absent_views(split: Split) -> list[str]:
    """Views of the split whose judgements are not installed."""
    installed = relevance.identities(split)
    return [v for v in relevance.names(split) if v != "gt" and v not in installed]


def report(
    metrics: Sequence[Metric],
    seen: dict[Direction, Observation],
    split: Split,
    score: str,
    ties: str,
    empty: str,
    directions: Sequence[Direction],
    notes: Sequence[str],
    warnings: Sequence[str],
    short: str | None = None,
    resampling: Resampling | None = None,
    threads: int | None = None,
    graded: graded_eval.Measured | None = None,
    inside: tuple[Sequence[Result], str] | None = None,
) -> Report:
    """All results of a run, with its signature and warnings.

    Args:
        metrics: what to measure.
        seen: one observation a direction.
        split: what was ranked.
        score: what the order came from: ``dot``, ``cosine``, ``scores`` or ``run``.
        ties: the tie rule of the ranks.
        empty: ``skip`` or ``miss`` for covered queries without positives.
        directions: directions asked for.
        notes: decisions to be told.
        warnings: warnings so far.
        short: what was done about retrieved lists that are too short, or None for complete rankings.
        resampling: how to make intervals, or None for none.
        threads: of the resampling; never changes a result.
        graded: the values of the metrics of graded relevance, where there are any.
        inside: results within the modalities, and what the signature says about their judgements.
    """
    results: dict[intervals.Key, Result] = {}
    names: Names = {}
    for m in _elementary(metrics):
        for direction in () if is_graded(m) else directions:
            results[m, direction] = measure(m, seen[direction].ranks[m.view], split, direction, empty, names)
    cautioned: list[str] = []
    if graded is not None:
        found, cautioned = graded_eval.results(graded.found, split)
        results |= found
    within: dict[intervals.Key, Result] = {intervals.key_of(r): r for r in (inside[0] if inside else ())}
    results |= within
    members: dict[intervals.Key, list[intervals.Key]] = {}
    for m in metrics:
        if m.family.compute is None:
            parts: list[intervals.Key] = [(p, d) for p in m.parts() for d in directions]
            if all(key in results for key in parts):
                members[m, None] = parts
                results[m, None] = _sum(m, results, directions)
    if resampling is not None:
        results = intervals.add(results, members, split, resampling, threads)
    asked: dict[intervals.Key, None] = {}
    for m in metrics:
        asked.update(dict.fromkeys((m, d) for d in ([None] if m.family.compute is None else directions)))
    asked |= dict.fromkeys(within)
    wanted = [results[key] for key in asked if key in results]
    if metrics and not wanted:
        raise BadInput(
            f"nothing was measured: {'; '.join(cautioned)}", fix="check the gains and what they are made from"
        )
    others = [result for key, result in results.items() if key not in asked]
    binary = inside is not None or not all(is_graded(m) for m in metrics)
    fields = {
        "vsebench": __version__,
        "split": f"{split.name}#{signature.fingerprint(split)}",
        **{v: t for v, t in relevance.identities(split).items() if any(m.view == v for m in metrics)},
        "score": score,
        "order": "f64",
        # Graded metrics do not know them.
        "ties": ties if binary else "index",
        "empty": empty if binary else "skip",
        **({} if short is None else {"short": short}),
        **({} if graded is None else graded_eval.identities(graded)),
        **({} if inside is None else {INTRA: inside[1]}),
    }
    warned = [*warnings, *cautions.ties(seen, results), *cautions.unreachable(seen), *cautions.clipped(metrics, split)]
    warned += cautioned
    return Report(
        split.name,
        signature.write(fields),
        tuple(wanted),
        tuple(warned),
        tuple(notes),
        intervals=resampling,
        parts=tuple(others),
        asked=replace(split, captions=None),
    )


def _elementary(metrics: Sequence[Metric]) -> list[Metric]:
    """Metrics with sums replaced by their parts, without repeats."""
    return list(dict.fromkeys(part for m in metrics for part in (m.parts() or (m,))))


def refuse_misses(metrics: Sequence[Metric], requests: Sequence[Request], empty: str) -> None:
    """Refuse metrics of ranks where queries without positives count as a miss, before anything is ranked.

    Raises:
        UsageError: ``empty`` is ``miss``, and a metric has no value for a miss.
    """
    judged = {(r.view, r.relevance.direction): r.relevance for r in requests}
    for m in _elementary(metrics) if empty == "miss" else ():
        for (view, direction), held in judged.items() if m.family.unit == "rank" else ():
            lost = int((held.found == 0).sum())  # none of its positives is in the gallery
            if view == m.view and held.skipped + lost and lost < len(held.found):
                raise _no_miss(m, direction, held.skipped + lost)


def _no_miss(m: Metric, direction: Direction, queries: int) -> UsageError:
    return UsageError(
        f"{m} ({direction}) has no value for the {queries} queries without positives",
        fix="leave out --no-positive miss, or the metric",
    )


def measure(
    m: Metric, ranks: Ranks, split: Split, direction: Direction, empty: str, names: Names | None = None
) -> Result:
    """One metric in one direction.

    Args:
        m: of binary relevance.
        ranks: of the relevant items.
        split: what was ranked.
        direction: which side asked.
        empty: ``skip`` or ``miss`` for covered queries without positives.
        names: ids of queries that are known already, by what was judged; grows, so that metrics share them.

    Raises:
        BadInput: no query has a positive.
        UsageError: ``empty`` is ``miss`` and the metric has no value for a miss.
    """
    judged = ranks.relevance
    if not len(judged.queries):
        raise BadInput(f"{m} ({direction}): no query has a relevant item", fix="check image_of_text and the ids")
    values, kept = m.per_query(ranks), slice(None)
    skipped = judged.skipped
    if m.family.unit == "rank" and (lost := ranks.best() == UNRANKED).any():
        # None of its relevant items is in the gallery: such a query has no rank.
        kept, skipped = ~lost, skipped + int(lost.sum())
        if lost.all():
            raise BadInput(f"{m} ({direction}): no relevant item is in the gallery", fix="check the ids")
    if empty == "miss" and skipped:
        if m.family.unit == "rank":
            raise _no_miss(m, direction, skipped)
        missed, skipped = np.zeros(skipped), 0
    else:
        missed = np.zeros(0)
    fold = None if ranks.fold is None else ranks.fold[kept]
    value = _aggregate(m, values[kept], missed, fold)
    extremes = None
    if ranks.under_extremes is not None:
        optimistic, pessimistic = (
            _aggregate(m, m.per_query(other)[kept], missed, fold) for other in ranks.under_extremes
        )
        extremes = (optimistic, pessimistic)
    everyone = split.ids("image" if direction == "i2t" else "caption")
    names = {} if names is None else names
    if id(judged) not in names:
        names[id(judged)] = judged, everyone[judged.queries]
    ids, values = names[id(judged)][1], values[kept]
    if len(values) < len(ids):
        ids = ids[kept]
    n = len(values) + len(missed)
    if len(missed) and n == len(everyone):
        # every other item is a query without positives, so the misses have ids too
        absent = np.setdiff1d(np.arange(n), judged.queries)
        ids, values = np.concatenate([ids, everyone[absent]]), np.concatenate([values, missed])
    return Result(
        m,
        direction,
        value,
        n,
        skipped,
        None,
        ids,
        values,
        extremes,
    )


def _aggregate(m: Metric, values: Float, missed: Float, fold: Int | None) -> float:
    if fold is None:
        return _one(m, np.concatenate([values, missed]))
    if len(missed):
        raise UsageError(f"{m}: queries without positives belong to no fold", fix="leave out --no-positive miss")
    if (np.diff(fold) < 0).any():
        order = np.argsort(fold, kind="stable")
        values, fold = values[order], fold[order]
    return float(np.mean([_one(m, part) for part in np.split(values, np.flatnonzero(np.diff(fold)) + 1)]))


def _one(m: Metric, values: Float) -> float:
    if m.family.aggregate == "floor-median":
        return float(np.floor(np.median(values - 1)) + 1)
    return float(values.mean())


def _sum(m: Metric, results: dict[intervals.Key, Result], directions: Sequence[Direction]) -> Result:
    parts = [results[p, d] for p in m.parts() for d in directions]
    ties = None
    if any(p.ties for p in parts):
        both = [p.ties or (p.value, p.value) for p in parts]
        ties = (sum(x for x, _ in both), sum(y for _, y in both))
    n = sum(results[m.parts()[0], d].n for d in directions)
    undefined = sum(results[m.parts()[0], d].undefined for d in directions)
    return Result(m, None, sum(p.value for p in parts), n, undefined, ties=ties)


def refuse_shallow(
    metrics: Sequence[Metric], seen: dict[Direction, Observation], split: Split, where: Path, short: str
) -> list[str]:
    """Refuse metrics that look deeper than the retrieved lists reach; with ``short="miss"`` only warn.

    Raises:
        BadInput: naming every such metric, the first query, its list length and the depth needed.
    """
    shallow: list[str] = []
    impossible: list[str] = []
    details: dict[str, str] = {}
    for m in (m for m in _elementary(metrics) if not is_graded(m)):
        for direction, observation in seen.items():
            ranks, name = observation.ranks[m.view], f"{m} ({direction})"
            gallery = len(split.caption_ids if direction == "i2t" else split.image_ids)
            found = too_shallow(ranks, m.family.depth, m.k, gallery)
            if found is None:
                continue
            i, depth, wanted = found
            query = split.ids("image" if direction == "i2t" else "caption")[ranks.relevance.queries[i]]
            details[name] = f"for {name} query {query} has {depth:,} usable items and {wanted:,} are needed"
            shallow.append(name)
            if m.family.unit == "rank" and (ranks.best() == UNRANKED).any():
                impossible.append(name)
    refused = shallow if short == "refuse" else impossible
    if refused:
        way_out = "" if short == "miss" else ", or count what is not listed as not found with --short-lists miss"
        raise BadInput(
            f"the lists are too short for {', '.join(refused)}: {details[refused[0]]}",
            where=where,
            fix=f"store longer lists, leave these metrics out{way_out} (not for median and mean ranks)",
        )
    return (
        [f"lists are too short for {', '.join(shallow)}; what they do not hold counts as not found"] if shallow else []
    )
