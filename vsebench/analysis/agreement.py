"""Systems -> Agreement: do the metrics order the systems alike, and over which queries do they quarrel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError, VsebenchError
from ..evaluation.intervals import Key, interval, population
from ..metrics import Metric, parse
from ..metrics.declare import separate
from ..report.agreement import Agreement, Pair, Quarrel
from ..report.comparison import Row
from ..report.model import Resampling
from ..report.values import SIDE, places
from ..stats import agreement, bootstrap
from ..stats.columns import Column, prepare
from ..types import Direction, Float, Ids
from .systems import System, check_alike, members, own, shared_keys, shown

_LOOKED_AT = 50  # pairs of metrics that are searched for quarrels when none is named


def agree(
    systems: Sequence[System],
    metrics: str | None = None,
    pair: str | None = None,
    direction: Direction | None = None,
    top: int = 10,
    how: Resampling | None = None,
    force: bool = False,
    threads: int | None = None,
) -> Agreement:
    """How far the metrics agree on the order of the systems.

    Args:
        systems: at least three, with per-query values.
        metrics: names and families separated by commas; None for all that they share.
        pair: two metrics separated by a comma, whose queries are listed; None for those that agree least.
        direction: of the pair; None for the first direction that has both.
        top: how many queries to list.
        how: resampling of the images for the intervals.
        force: also systems that were not measured alike.
        threads: never changes a result.

    Raises:
        UsageError: fewer than three systems, an unknown metric, signatures that differ, no two metrics.
        BadInput: a report lacks values that are needed.
    """
    how = how or Resampling()
    if len(systems) < 3:
        raise UsageError(f"{len(systems)} systems have no rankings to compare", fix="name at least three reports")
    warnings = check_alike(systems, force)
    keys, partial = shared_keys(systems, metrics)
    if partial:
        warnings.append(f"left out, because not every report has them: {', '.join(partial)}")
    if len(keys) < 2:
        raise UsageError(f"{shown(keys[0])} is the only metric", fix="name two metrics or more")
    rows = tuple(Row(*key, tuple(s.results[key].value for s in systems)) for key in keys)
    better = np.array([1.0 if r.metric.higher_is_better else -1.0 for r in rows])
    values = better * np.array([r.values for r in rows]).T  # (system, metric)
    samples = better * _samples(systems, keys, how, threads)
    preferred = agreement.orders(values)
    taus, ends = agreement.tau_b(preferred), agreement.tau_intervals(samples, how.level / 100)
    pairs = []
    for i in range(len(keys)):
        for j in range(i + 1, len(keys)):
            product = preferred[:, i] * preferred[:, j]
            alike, opposite = int((product > 0).sum()), int((product < 0).sum())
            tau = None if np.isnan(taus[i, j]) else float(taus[i, j])
            pairs.append(
                Pair(
                    i, j, tau, None if tau is None else interval(ends[i, j]), alike, opposite,
                    len(product) - alike - opposite,
                )
            )  # fmt: skip
    chosen = _named(pair, direction, keys) if pair is not None else _least_agreeing(systems, keys, pairs, direction)
    queries, discordant, worst = (0, 0, ()) if chosen is None else _quarrels(systems, keys, chosen, top)
    return Agreement(
        systems[0].report.split,
        tuple(s.name for s in systems),
        rows,
        tuple(pairs),
        how,
        chosen,
        queries,
        discordant,
        worst,
        tuple(warnings),
    )


def _samples(systems: Sequence[System], keys: Sequence[Key], how: Resampling, threads: int | None) -> Float:
    """(resample, system, metric) values."""
    images = systems[0].asked
    out = np.empty((how.resamples, len(systems), len(keys)))
    for place, system in enumerate(systems):
        needed = list(dict.fromkeys(part for key in keys for part in members(key, system)))
        columns: list[Column] = [own(key, system, images) for key in needed]
        sums = [[needed.index(part) for part in members(key, system)] for key in keys]
        ready = prepare(columns, population(images), sums)
        out[:, place] = bootstrap.resample(ready, how.resamples, how.seed, threads, together=True)[:, len(needed) :]
    return out


def _held(word: str, held: set[Metric]) -> Metric:
    """The metric of some reports that a word means: with its view, or in the only view that the reports have."""
    metric = parse(word)
    same = [m for m in held if m.name == metric.name]
    return same[0] if metric not in held and ":" not in word and len(same) == 1 else metric


def _named(pair: str, direction: Direction | None, keys: Sequence[Key]) -> tuple[int, int]:
    """The two metrics that were asked for, in the first direction that has both."""
    held = {name for name, _ in keys}
    names = [_held(word.strip(), held) for word in separate(pair)]
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"--pair is '{pair}'", fix="name two metrics, as in --pair R@1,eccv:mAP@R")
    directions = dict.fromkeys(d for _, d in keys if d is not None) if direction is None else (direction,)
    for d in directions:
        if all((name, d) in keys for name in names):
            return keys.index((names[0], d)), keys.index((names[1], d))
    sums = [name for name in names if (name, None) in keys]
    if sums:
        raise UsageError(f"{sums[0]} is a sum and has no values of queries", fix="take two metrics of queries")
    raise UsageError(
        f"no direction has both {names[0]} and {names[1]}", fix="take two of the metrics that are compared"
    )


def _least_agreeing(
    systems: Sequence[System], keys: Sequence[Key], pairs: Sequence[Pair], direction: Direction | None
) -> tuple[int, int] | None:
    """Of the metrics of one direction the two that agree least about systems, and then about queries.

    Pairs that cannot disagree about a query, such as R@1 and R@5, come last.
    """
    able = [
        p
        for p in pairs
        if p.tau is not None
        and keys[p.first][1] is not None
        and keys[p.first][1] == keys[p.second][1]
        and direction in (None, keys[p.first][1])
    ]
    able.sort(key=lambda p: p.tau or 0.0)
    ranked = []
    for p in able[:_LOOKED_AT]:
        asked, first, second = _values(systems, keys, (p.first, p.second))
        share = float((agreement.quarrels(first, second)[1] > 0).mean()) if len(asked) else 0.0
        ranked.append((share == 0, p.tau, -share, p.first, p.second))
    return None if not ranked else min(ranked)[3:]


def _values(systems: Sequence[System], keys: Sequence[Key], chosen: tuple[int, int]) -> tuple[Ids, Float, Float]:
    """The queries that both metrics have for all systems, and for each metric (system, query) oriented values."""
    both = [keys[i] for i in chosen]
    results = [[s.results[key] for s in systems] for key in both]
    asked: Ids = results[0][0].queries  # type: ignore[assignment]
    for r in (r for row in results for r in row):
        asked = asked[places(r.queries, asked) >= 0]  # type: ignore[arg-type]
    first, second = (
        _sign(key) * np.array([r.per_query[places(r.queries, asked)] for r in row])  # type: ignore[arg-type,index]
        for key, row in zip(both, results, strict=True)
    )
    return asked, first, second


def _sign(key: Key) -> float:
    return 1.0 if key[0].higher_is_better else -1.0


def _quarrels(
    systems: Sequence[System], keys: Sequence[Key], chosen: tuple[int, int], top: int
) -> tuple[int, int, tuple[Quarrel, ...]]:
    """Number of queries that everything has, number of discordant ones, and the worst."""
    asked, first, second = _values(systems, keys, chosen)
    if not len(asked):
        return 0, 0, ()
    amount, opposite = agreement.quarrels(first, second)
    worst = np.lexsort((np.arange(len(asked)), -amount))[:top]
    texts = _texts(systems[0], keys[chosen[0]], asked[worst])
    one, other = (_sign(keys[i]) for i in chosen)
    quarrels = tuple(
        Quarrel(
            str(asked[q]),
            texts[n],
            float(amount[q]),
            tuple((one * float(a), other * float(b)) for a, b in zip(first[:, q], second[:, q], strict=True)),
        )
        for n, q in enumerate(worst.tolist())
        if amount[q] > 0
    )
    return len(asked), int((opposite > 0).sum()), quarrels


def _texts(system: System, key: Key, queries: Ids) -> list[str | None]:
    """The captions with these ids, where they are queries and can be had."""
    from ..data.splits import catalogue as splits

    name = system.report.split
    if key[1] is None or SIDE[key[1]] == "image" or name not in splits.names():
        return [None] * len(queries)
    try:
        split = splits.load(name, captions=True)
    except VsebenchError:
        return [None] * len(queries)
    at = places(split.caption_ids, queries)
    return [None if split.captions is None or i < 0 else split.captions[i] for i in at.tolist()]
