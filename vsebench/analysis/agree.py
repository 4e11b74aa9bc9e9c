"""Whether metrics order systems alike, and the queries on which two of them disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import UsageError, VsebenchError, count_of
from ..evaluation.assemble import Key, interval, label, population
from ..files.ids import places
from ..metrics import Metric, parse
from ..metrics.suites import words
from ..options import check_word, public, spell
from ..results import table
from ..results.model import SIDE, UNDEFINED, Resampling, fixed, interval_words
from ..results.render import Rendered
from ..results.table import Table, Text, Value, sentences, way
from ..results.table import label as name
from ..stats import bootstrap
from ..stats import rank_agreement as agreement
from ..stats.columns import prepare
from ..types import Direction, Float, Ids
from .systems import Names, OneReport, Reports, System, alike, by_number, column_of, load_systems, parts_of

_SEARCHED = 50  # pairs of metrics whose queries are compared when none is named
_MATRIX = 8  # metrics up to which all pairs are printed as a matrix
_TEXT = 60  # characters of a caption in a table


@dataclass(frozen=True)
class Row:
    """The values of a metric in a direction, one a system."""

    metric: Metric
    direction: Direction | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class Pair:
    """Two metrics.

    Attributes:
        first, second: indices of the metrics.
        tau: Kendall's tau-b between their rankings of the systems; None when one of them ties all systems.
        interval: of tau, or None.
        concordant, discordant: pairs of systems that both order, alike and in opposite ways.
        tied: pairs that at least one of them does not order.
    """

    first: int
    second: int
    tau: float | None
    interval: tuple[float, float] | None
    concordant: int
    discordant: int
    tied: int


@dataclass(frozen=True)
class Disagreement:
    """A query on which two metrics order systems in opposite ways.

    Attributes:
        query: its id.
        caption: its text if it is a caption that is known, or None.
        amount: how far the metrics disagree, see ``stats.rank_agreement.disagreement``.
        values: of the two metrics, one pair a system.
    """

    query: str
    caption: str | None
    amount: float
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True, repr=False)
class Agreement(Rendered):
    """How far metrics agree on a set of systems.

    Attributes:
        split, systems: what was evaluated.
        rows: metrics with the values of all systems.
        pairs: every two metrics.
        how: the resampling of the intervals, None without them.
        listed: the two metrics (indices) whose queries are listed, or None.
        queries: queries that both have.
        discordant: queries on which they order some pair of systems in opposite ways.
        disagreements: those with the largest amounts.
        warnings: what may be wrong.
        most: how many pairs of metrics a table shows.
        notes: what was decided.
    """

    kind = "agreement"
    heading: ClassVar = "Agreement of metrics on {split}"
    main = "pairs"
    settings: ClassVar = ("split", "systems", "how", "queries", "discordant")
    split: str
    systems: tuple[str, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    how: Resampling | None
    listed: tuple[int, int] | None
    queries: int
    discordant: int
    disagreements: tuple[Disagreement, ...]
    warnings: tuple[str, ...]
    most: int = 15
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """Rankings, tau of every two metrics (of the ``most`` least agreeing when there are many), disagreements."""
        rows = []
        for r in self.rows:
            ranking = " > ".join(" = ".join(equal) for equal in order(r, self.systems))
            rows.append((Text(str(r.metric), str(r.metric)), way(r.direction), ranking))
        title = f"{self.split} · how the metrics order {len(self.systems)} systems"
        headings = ("metric", "direction", "best to worst")
        rankings = Table("rankings", title, tuple(table.Column(h, words=True) for h in headings), tuple(rows))
        matrix = [_matrix(self)] if 2 < len(self.rows) <= _MATRIX else []
        return [rankings, *matrix, *_pairs_of(self), *_listed(self)]


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
        reports, more: saved reports with per-query values; NAME=FILE names a system. In Python also ``Report``
            objects, one by one or as a list, or a mapping from names to them.
        metrics: names and suites, separated by commas; by default all that the reports share. A list of them works too.
        pair: two metrics, whose queries are listed; by default those that agree least.
        direction: ``i2t``, ``t2i``, ``i2i`` or ``t2t``, of the pair; by default the first direction that has both.
        top: how many queries to list.
        most: how many pairs of metrics a table shows.
        ci: level of the intervals in percent; 0 for none.
        resamples: resamples an interval is made of.
        seed: fixes what is drawn at random.
        force: compare even if the evaluation settings differ.
        threads: threads of the kernels; never changes a result.

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
    how = Resampling(float(ci), resamples, seed) if ci else None
    if direction is not None:
        check_word("direction", direction, tuple(SIDE))
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
    systems: Sequence[System], keys: Sequence[Key], rows: Sequence[Row], how: Resampling | None, threads: int | None
) -> list[Pair]:
    """Every two metrics, with tau between their rankings of the systems."""
    better = np.array([_sign(key) for key in keys])
    values = better * np.array([r.values for r in rows]).T  # (system, metric)
    preferred = agreement.orders(values)
    taus, ends = agreement.tau_b(preferred), np.full((len(keys), len(keys), 2), np.nan)
    if how is not None:
        ends = agreement.tau_intervals(better * _samples(systems, keys, how, threads), how.level / 100)
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
        sums = [{needed.index(part): key[0].weight for part in parts_of(key, system)} for key in keys]
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
    at = places(split.columns.ids, queries)
    return [None if split.columns.texts is None or i < 0 else split.columns.texts[i] for i in at.tolist()]


def order(row: Row, systems: Sequence[str]) -> list[list[str]]:
    """Systems from best to worst by a metric; those of equal value are one entry."""
    distinct = sorted(set(row.values), reverse=row.metric.higher_is_better)
    return [[s for s, v in zip(systems, row.values, strict=True) if v == value] for value in distinct]


def _names(study: Agreement) -> list[str]:
    """The metrics with their directions."""
    return [name(r.metric, r.direction) for r in study.rows]


def _matrix(study: Agreement) -> Table:
    by = {(p.first, p.second): Value(p.tau, "tau") for p in study.pairs}
    names = _names(study)
    rows = tuple(
        (row, *(by[min(i, j), max(i, j)] if i != j else "" for j in range(len(names)))) for i, row in enumerate(names)
    )
    columns = (table.Column("", words=True), *map(table.Column, names))
    return Table("", "tau between the rankings", columns, rows)


def _pairs_of(study: Agreement) -> list[Table]:
    """The pairs of metrics; of more than ``most`` those with the smallest tau, without pairs that agree fully."""
    names, rows = _names(study), []
    least = sorted(study.pairs, key=lambda p: (2.0 if p.tau is None else p.tau, p.interval or (0.0, 0.0)))
    for p in least:
        counts = {"concordant": p.concordant, "discordant": p.discordant, "tied": p.tied}
        tau = Value(p.tau, "tau", p.interval, facts=counts)
        rows.append((names[p.first], names[p.second], tau, " / ".join(map(str, counts.values()))))
    full = sum(p.tau == 1 for p in least)
    shown = len(rows)
    if len(rows) > study.most:
        shown = min(study.most, sum(p.tau is not None and p.tau < 1 for p in least))
    hidden = frozenset(range(shown, len(rows)))
    title = f"the {shown} of {len(rows):,} pairs of metrics that agree least" if hidden else "pairs of metrics"
    note = (
        f"tau: Kendall's tau-b between the rankings of the systems, 1 the same order, -1 the reverse, {UNDEFINED} "
        "undefined because a metric ties all systems."
    )
    if same := sum(least[i].tau == least[shown - 1].tau for i in hidden) if shown else 0:
        note = f"{count_of(same, 'further pair has', 'further pairs have')} the last tau of this table. {note}"
    if hidden and full:
        note = f"{count_of(full, 'pair orders', 'pairs order')} the systems in the same way (tau 1.00). {note}"
    note += "" if study.how is None else f" {interval_words(study.how)}."
    columns = (
        table.Column("metric", "first", words=True),
        table.Column("metric", "second", words=True),
        table.Column("tau", ends=True),
        table.Column("pairs of systems: alike / opposite / tied", ""),
    )
    found = Table("pairs", title, columns, tuple(rows), hidden=hidden, notes=(note,))
    return [found] if shown else [replace(found, shown=False), sentences(note)]


def _listed(study: Agreement) -> list[Table]:
    if study.listed is None:
        return []
    first, second = (_names(study)[i] for i in study.listed)
    if not study.disagreements:
        both = f"{first} and {second}"
        return [sentences(f"{both} order no two systems in opposite ways on any of {study.queries:,} queries.")]
    captions = any(d.caption for d in study.disagreements)
    rows = []
    for d in study.disagreements:
        words = (d.query, Text(_short(d.caption or ""), d.caption)) if captions else (d.query,)
        values = {system: list(pair) for system, pair in zip(study.systems, d.values, strict=True)}
        facts = {"disagreement": d.amount, "values": values}
        shown = [f"{_value(a)} / {_value(b)}" for a, b in d.values]
        rows.append((*words, Text(shown[0], facts), *shown[1:]))
    heading = [table.Column("query", words=True), *[table.Column("caption", words=True)] * captions]
    columns = (*heading, table.Column(study.systems[0]), *(table.Column(s, "") for s in study.systems[1:]))
    note = (
        f"Values of a query: {first} / {second}. On {study.discordant:,} of {study.queries:,} queries they "
        "order some pair of systems in opposite ways."
    )
    title = f"queries on which {first} and {second} disagree most"
    fields = {"metrics": [first, second]}
    return [Table("disagreements", title, columns, tuple(rows), fields, notes=(note,))]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _value(value: float) -> str:
    return fixed(value, 0 if float(value).is_integer() else 3, form=",")
