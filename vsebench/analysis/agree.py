"""Whether metrics order systems alike, and the queries on which two of them disagree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import public
from ..errors import UsageError, VsebenchError
from ..evaluation.intervals import Key, interval, label, population
from ..files.ids import places
from ..metrics import Metric, parse
from ..metrics.suites import words
from ..options import check_word, spell
from ..results.agreement import Agreement, Disagreement, Pair
from ..results.comparison import Row
from ..results.model import Resampling
from ..results.values import SIDE
from ..stats import bootstrap
from ..stats import rank_agreement as agreement
from ..stats.columns import prepare
from ..types import Direction, Float, Ids
from .systems import Names, OneReport, Reports, System, alike, by_number, column_of, load_systems, parts_of

_SEARCHED = 50  # pairs of metrics whose queries are compared when none is named


@public
def agree(
    reports: Reports,
    *more: OneReport,
    metrics: Names | None = None,
    pair: Names | None = None,
    direction: Direction | None = None,
    top: int = 10,
    most: int = 15,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Agreement:
    """How far metrics agree on the order of systems: Kendall's tau-b with intervals, and queries they disagree on.

    Args:
        reports, more: files (``NAME=FILE`` names a system) or ``Report`` objects, one by one or as a list, or a mapping
            from names to them; all with per-query values.
        metrics: names and suites, as a list or separated by commas; None for all that the reports share.
        pair: two metrics, whose queries are listed; None for those that agree least.
        direction: of the pair; None for the first direction that has both.
        top: how many queries to list.
        most: how many pairs of metrics a table shows.
        ci: level of the intervals in percent.
        resamples: how many resamples an interval is made of.
        seed: of what is drawn at random.
        force: also systems that were not measured alike.
        threads: how many compute; never changes a result.

    Raises:
        UsageError: fewer than three systems, an unknown metric, signatures that differ, no two metrics.
        BadInput: a report lacks values that are needed.

    Example:
        >>> import numpy as np
        >>> import vsebench
        >>> from vsebench.analysis.agree import agree
        >>> rng = np.random.default_rng(0)
        >>> images = rng.standard_normal((50, 8))
        >>> captions = np.repeat(images, 5, axis=0)
        >>> def evaluate(noise):
        ...     noisy = captions + noise * rng.standard_normal(captions.shape)
        ...     return vsebench.evaluate(images, noisy, captions_per_image=5, metrics="R@1,MRR")
        >>> agreement = agree([evaluate(0.5), evaluate(1.0), evaluate(2.0)])
        >>> agreement.to_frame().tau.tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    how = Resampling(float(ci), resamples, seed)
    if direction is not None:
        check_word("direction", direction, ("i2t", "t2i", "i2i", "t2t"))
    systems = load_systems(reports, more, 3)
    keys, _, warnings = alike(systems, metrics, force)
    if len(keys) < 2:
        raise UsageError(f"{label(keys[0])} is the only metric", fix="name two metrics or more")
    rows = tuple(Row(*key, tuple(s.results[key].value for s in systems)) for key in keys)
    pairs = _pairs(systems, keys, rows, how, threads)
    chosen = _named(pair, direction, keys) if pair is not None else _least_agreeing(systems, keys, pairs, direction)
    queries, discordant, worst = (0, 0, ()) if chosen is None else _disagreements(systems, keys, chosen, top)
    split, names = systems[0].report.split, tuple(s.name for s in systems)
    return Agreement(
        split, names, rows, tuple(pairs), how, chosen, queries, discordant, worst, warnings, most, by_number(systems)
    )


def _pairs(
    systems: Sequence[System], keys: Sequence[Key], rows: Sequence[Row], how: Resampling, threads: int | None
) -> list[Pair]:
    """Every two metrics, with tau between their rankings of the systems."""
    better = np.array([_sign(key) for key in keys])
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
            tied = len(product) - alike - opposite
            pairs.append(Pair(i, j, tau, None if tau is None else interval(ends[i, j]), alike, opposite, tied))
    return pairs


def _samples(systems: Sequence[System], keys: Sequence[Key], how: Resampling, threads: int | None) -> Float:
    """(resample, system, metric) values."""
    images = systems[0].items
    out = np.empty((how.resamples, len(systems), len(keys)))
    for place, system in enumerate(systems):
        needed = list(dict.fromkeys(part for key in keys for part in parts_of(key, system)))
        columns = [column_of(key, system, images) for key in needed]
        sums = [{needed.index(part): 1.0 for part in parts_of(key, system)} for key in keys]
        ready = prepare(columns, population(images), sums)
        out[:, place] = bootstrap.resample(ready, how.resamples, how.seed, threads, together=True)[:, len(needed) :]
    return out


def _named(pair: Names, direction: Direction | None, keys: Sequence[Key]) -> tuple[int, int]:
    """The two metrics that were named, in the first direction that has both."""
    shared = {metric for metric, _ in keys}
    metrics = [_metric(word, shared) for word in words(pair)]
    if len(metrics) != 2 or metrics[0] == metrics[1]:
        raise UsageError(
            f"{spell('pair')} is '{pair}'", fix=f"name two metrics, as in {spell('pair', 'R@1,eccv:mAP@R')}"
        )
    directions = dict.fromkeys(d for _, d in keys if d is not None) if direction is None else (direction,)
    for d in directions:
        if all((metric, d) in keys for metric in metrics):
            return keys.index((metrics[0], d)), keys.index((metrics[1], d))
    sums = [metric for metric in metrics if (metric, None) in keys]
    if sums:
        raise UsageError(f"{sums[0]} is a sum and has no per-query values", fix="take two metrics of queries")
    both = f"{metrics[0]} and {metrics[1]}"
    raise UsageError(f"no direction has both {both}", fix="take two of the metrics that are compared")


def _metric(word: str, shared: set[Metric]) -> Metric:
    """The metric of a name; without a view it may be that of the only view that the reports have."""
    metric = parse(word)
    same = [m for m in shared if m.name == metric.name]
    return same[0] if metric not in shared and ":" not in word and len(same) == 1 else metric


def _least_agreeing(
    systems: Sequence[System], keys: Sequence[Key], pairs: Sequence[Pair], direction: Direction | None
) -> tuple[int, int] | None:
    """Of the metrics of one direction the two that agree least about systems, and then about queries.

    Pairs that cannot disagree about a query, such as R@1 and R@5, come last.
    """
    able = []
    for p in pairs:
        one, other = keys[p.first][1], keys[p.second][1]
        if p.tau is not None and one is not None and one == other and direction in (None, one):
            able.append(p)
    able.sort(key=lambda p: p.tau or 0.0)
    ranked = []
    for p in able[:_SEARCHED]:
        queries, first, second = _values(systems, keys, (p.first, p.second))
        share = float((agreement.disagreement(first, second)[1] > 0).mean()) if len(queries) else 0.0
        ranked.append((share == 0, p.tau, -share, p.first, p.second))
    return None if not ranked else min(ranked)[3:]


def _values(systems: Sequence[System], keys: Sequence[Key], chosen: tuple[int, int]) -> tuple[Ids, Float, Float]:
    """The queries that both metrics have for all systems, and for each metric (system, query) oriented values."""
    both = [keys[i] for i in chosen]
    results = [[s.results[key] for s in systems] for key in both]
    queries: Ids = results[0][0].queries  # type: ignore[assignment]
    for r in (r for row in results for r in row):
        queries = queries[places(r.queries, queries) >= 0]  # type: ignore[arg-type]
    first, second = (
        _sign(key) * np.array([r.per_query[places(r.queries, queries)] for r in row])  # type: ignore[arg-type,index]
        for key, row in zip(both, results, strict=True)
    )
    return queries, first, second


def _sign(key: Key) -> float:
    return 1.0 if key[0].higher_is_better else -1.0


def _disagreements(
    systems: Sequence[System], keys: Sequence[Key], chosen: tuple[int, int], top: int
) -> tuple[int, int, tuple[Disagreement, ...]]:
    """Number of queries that both metrics have, number of discordant ones, and those of the largest disagreement."""
    queries, first, second = _values(systems, keys, chosen)
    if not len(queries):
        return 0, 0, ()
    amount, opposite = agreement.disagreement(first, second)
    worst = np.lexsort((np.arange(len(queries)), -amount))[:top]
    captions = _captions(systems[0], keys[chosen[0]], queries[worst])
    signs = np.array([_sign(keys[i]) for i in chosen])
    listed = []
    for caption, q in zip(captions, worst.tolist(), strict=True):
        if amount[q] > 0:
            values = (signs * np.stack([first[:, q], second[:, q]], axis=1)).tolist()
            listed.append(Disagreement(str(queries[q]), caption, float(amount[q]), tuple((a, b) for a, b in values)))
    return len(queries), int((opposite > 0).sum()), tuple(listed)


def _captions(system: System, key: Key, queries: Ids) -> list[str | None]:
    """The captions with these ids, None where the queries are images or the captions are not installed."""
    from ..sets import catalogue

    name = system.report.split
    if key[1] is None or SIDE[key[1]] == "image" or name not in catalogue.names():
        return [None] * len(queries)
    try:
        split = catalogue.load_split(name, captions=True)
    except VsebenchError:
        return [None] * len(queries)
    at = places(split.caption_ids, queries)
    return [None if split.captions is None or i < 0 else split.captions[i] for i in at.tolist()]
