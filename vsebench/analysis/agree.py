"""Whether metrics agree on the order of systems, and the queries on which two of them disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..errors import UsageError, VsebenchError, count_of
from ..evaluation.assemble import Key, interval, label, population
from ..files.ids import places
from ..metrics import Metric, parse
from ..metrics.suites import words
from ..options import check_word, public, spell
from ..results.model import SIDE, UNDEFINED, Resampling, fixed, interval_words
from ..results.render import Result
from ..results.table import Column, Table, Text, Value, sentences, way
from ..stats import bootstrap
from ..stats import rank_agreement as agreement
from ..stats.columns import prepare
from ..types import Direction, Float, Ids
from .one_table import units_of_keys
from .systems import Names, OneReport, Reports, System, column_of, comparable, load_systems, parts_of, row_number_note

_SEARCHED = 50  # pairs of metrics compared by query to choose the default pair
_MATRIX = 8  # metrics up to which all pairs are printed as a matrix
_TEXT = 60  # characters of a caption in a table
MAX_PAIRS = 15  # pairs of metrics that a table shows
Pairs = Mapping[tuple[int, int], Value]  # tau of every two metrics, by their indices; None if one ties all systems


@public
def agree(
    reports: Reports,
    *more: OneReport,
    metrics: Names | None = None,
    pair: Names | None = None,
    direction: Direction | None = None,
    top: int = 10,
    most: int = MAX_PAIRS,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    force: bool = False,
    threads: int | None = None,
) -> Result:
    """Measure how far metrics agree on the order of systems: Kendall's tau-b with intervals, and disputed queries.

    Args:
        reports, more: saved reports; NAME=FILE names a system. In Python also ``Report`` objects, one by one or as a
            list, or a mapping from names to them.
        metrics: metrics and suites; by default all that the reports share. A list of them works too.
        pair: list the queries on which these two metrics disagree; by default the two that agree least.
        direction: direction of the pair: i2t, t2i, i2i or t2t; by default the first that has both metrics.
        top: number of queries to list.
        most: number of pairs of metrics in the table.
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        force: compare even if the evaluation settings differ.
        threads: number of threads; never changes a result.

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
    keys, _, warnings = comparable(systems, metrics, force)
    found = agreement_of(systems, keys, how, pair=pair, direction=direction, top=top, most=most, threads=threads)
    return replace(found, warnings=warnings)


def agreement_of(
    systems: Sequence[System],
    keys: Sequence[Key],
    how: Resampling | None,
    *,
    pair: Names | None = None,
    direction: Direction | None = None,
    top: int = 10,
    most: int = MAX_PAIRS,
    threads: int | None = None,
) -> Result:
    """How far some metrics of systems agree, see ``agree``; ``how`` is the resampling of the intervals.

    The tables are ``rankings``, ``pairs`` (tau of every two metrics; the ``most`` lowest are shown) and
    ``disagreements``.
    """
    if len(keys) < 2:
        raise UsageError(f"{label(keys[0])} is the only metric", fix="give at least two metrics")
    pairs = _pairs(systems, keys, how, threads)
    chosen = _named(pair, direction, keys) if pair is not None else _least_agreeing(systems, keys, pairs, direction)
    queries, discordant, listed = (0, 0, []) if chosen is None else _disagreements(systems, keys, chosen, top)
    split, names = systems[0].report.split, tuple(s.name for s in systems)
    rows = tuple((Text(str(m), str(m)), way(d), _order(systems, (m, d))) for m, d in keys)
    columns = tuple(Column(text, words=True) for text in ("metric", "direction", "best to worst"))
    rankings = Table("rankings", f"{split} · how the metrics order {len(systems)} systems", columns, rows)
    matrix = [_matrix(keys, pairs)] if 2 < len(keys) <= _MATRIX else []
    return Result(
        kind="agreement", title=f"Agreement of metrics on {split}", main="pairs",
        tables=(rankings, *matrix, *_table_of_pairs(keys, pairs, how, most), *listed), systems=names,
        settings={
            "split": split, "systems": list(names), "how": None if how is None else asdict(how), "queries": queries,
            "discordant": discordant,
        },
        notes=row_number_note(systems),
    )  # fmt: skip


def _values_of(systems: Sequence[System], key: Key) -> list[float]:
    return [s.results[key].value for s in systems]


def _order(systems: Sequence[System], key: Key) -> str:
    """The systems from best to worst by a metric; equal values are joined by ``=``."""
    values = _values_of(systems, key)
    distinct = sorted(set(values), reverse=key[0].higher_is_better)
    equal = ([s.name for s, v in zip(systems, values, strict=True) if v == value] for value in distinct)
    return " > ".join(map(" = ".join, equal))


def _pairs(systems: Sequence[System], keys: Sequence[Key], how: Resampling | None, threads: int | None) -> Pairs:
    """Kendall's tau-b between the rankings of the systems by every two metrics, and the numbers of pairs of systems
    that both order in the same way, in opposite ways, or that one of them ties.
    """
    better = np.array([_sign(key) for key in keys])
    values = better * np.array([_values_of(systems, key) for key in keys]).T  # (system, metric)
    preferred = agreement.orders(values)
    taus, ends = agreement.tau_b(preferred), np.full((len(keys), len(keys), 2), np.nan)
    if how is not None:
        ends = agreement.tau_intervals(better * _samples(systems, keys, how, threads), how.level / 100)
    pairs = {}
    for i in range(len(keys)):
        for j in range(i + 1, len(keys)):
            product = preferred[:, i] * preferred[:, j]
            counts = {"concordant": int((product > 0).sum()), "discordant": int((product < 0).sum())}
            counts["tied"] = len(product) - sum(counts.values())
            tau = None if np.isnan(taus[i, j]) else float(taus[i, j])
            pairs[i, j] = Value(tau, "tau", None if tau is None else interval(ends[i, j]), facts=counts)
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
            f"{spell('pair')} is '{pair}'", fix=f"give two metrics, as in {spell('pair', 'R@1,eccv:mAP@R')}"
        )
    directions = dict.fromkeys(d for _, d in keys if d is not None) if direction is None else (direction,)
    for d in directions:
        if all((metric, d) in keys for metric in metrics):
            return keys.index((metrics[0], d)), keys.index((metrics[1], d))
    sums = [metric for metric in metrics if (metric, None) in keys]
    if sums:
        raise UsageError(
            f"{sums[0]} is a sum and has no per-query values", fix="give two metrics with per-query values"
        )
    both = f"{metrics[0]} and {metrics[1]}"
    raise UsageError(f"no direction has both {both}", fix="give two metrics of one direction")


def _metric(word: str, shared: set[Metric]) -> Metric:
    """The metric of a name; a name without a view finds the only view in the reports."""
    metric = parse(word)
    same = [m for m in shared if m.name == metric.name]
    return same[0] if metric not in shared and ":" not in word and len(same) == 1 else metric


def _least_agreeing(
    systems: Sequence[System], keys: Sequence[Key], pairs: Pairs, direction: Direction | None
) -> tuple[int, int] | None:
    """Of the metrics of one direction the two that agree least about systems, and then about queries.

    Pairs that cannot disagree about a query, such as R@1 and R@5, come last.
    """
    able: list[tuple[float, int, int]] = []
    for (i, j), tau in pairs.items():
        one, other = keys[i][1], keys[j][1]
        if tau.value is not None and one is not None and one == other and direction in (None, one):
            able.append((tau.value, i, j))
    ranked = []
    for value, i, j in sorted(able, key=lambda p: p[0])[:_SEARCHED]:
        queries, first, second = _values(systems, keys, (i, j))
        share = float((agreement.disagreement(first, second)[1] > 0).mean()) if len(queries) else 0.0
        ranked.append((share == 0, value, -share, i, j))
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
) -> tuple[int, int, list[Table]]:
    """Number of queries that both metrics have, number of discordant ones, and a table of the largest disagreements.

    The metrics disagree on a query if they order two systems in opposite ways; for the amount see
    ``stats.rank_agreement.disagreement``.
    """
    names = [label(keys[i]) for i in chosen]
    queries, first, second = _values(systems, keys, chosen)
    amount, opposite = agreement.disagreement(first, second) if len(queries) else (np.zeros(0), np.zeros(0))
    discordant = int((opposite > 0).sum())
    worst = [q for q in np.lexsort((np.arange(len(queries)), -amount))[:top].tolist() if amount[q] > 0]
    if not worst:
        words = f"{' and '.join(names)} never order two systems in opposite ways ({len(queries):,} queries)."
        return len(queries), discordant, [sentences(words)]
    captions = _captions(systems[0], keys[chosen[0]], queries[worst])
    known = any(captions)
    signs = np.array([_sign(keys[i]) for i in chosen])
    rows = []
    for caption, q in zip(captions, worst, strict=True):
        values: list[list[float]] = (signs * np.stack([first[:, q], second[:, q]], axis=1)).tolist()
        facts = {
            "disagreement": float(amount[q]),
            "values": {s.name: pair for s, pair in zip(systems, values, strict=True)},
        }
        shown = [" / ".join(map(_value, pair)) for pair in values]
        words_of = (Text(_short(caption or ""), caption),) if known else ()
        rows.append((str(queries[q]), *words_of, Text(shown[0], facts), *shown[1:]))
    heading = [Column("query", words=True), *[Column("caption", words=True)] * known]
    columns = (*heading, Column(systems[0].name), *(Column(s.name, "") for s in systems[1:]))
    note = (
        f"Values of a query: {' / '.join(names)}. On {discordant:,} of {len(queries):,} queries they "
        "order some pair of systems in opposite ways."
    )
    title, fields = f"queries on which {' and '.join(names)} disagree most", {"metrics": names}
    return len(queries), discordant, [Table("disagreements", title, columns, tuple(rows), fields, notes=(note,))]


def _captions(system: System, key: Key, queries: Ids) -> list[str | None]:
    """The captions with these ids; None if the queries are images or the captions are not installed."""
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


def _matrix(keys: Sequence[Key], pairs: Pairs) -> Table:
    names = list(map(label, keys))
    every: list[tuple[Any, ...]] = [
        (row, *(Value(pairs[min(i, j), max(i, j)].value, "tau") if i != j else "" for j in range(len(names))))
        for i, row in enumerate(names)
    ]
    return Table("", "tau between the rankings", (Column("", words=True), *map(Column, names)), tuple(every))


def _table_of_pairs(keys: Sequence[Key], pairs: Pairs, how: Resampling | None, most: int) -> list[Table]:
    """The pairs of metrics; of more than ``most`` those with the smallest tau, without pairs that agree fully."""
    rows = [
        (label(keys[i]), label(keys[j]), tau, " / ".join(map(str, tau.facts.values()))) for (i, j), tau in pairs.items()
    ]
    rows.sort(key=lambda row: (2.0 if row[2].value is None else row[2].value, row[2].interval or (0.0, 0.0)))
    taus = [tau.value for _, _, tau, _ in rows]
    shown = len(rows)
    if len(rows) > most:
        shown = min(most, sum(tau is not None and tau < 1 for tau in taus))
    hidden = frozenset(range(shown, len(rows)))
    title = f"the {shown} of {len(rows):,} pairs of metrics that agree least" if hidden else "pairs of metrics"
    note = (
        f"tau: Kendall's tau-b between the rankings of the systems, 1 the same order, -1 the reverse, {UNDEFINED} "
        "undefined because a metric ties all systems."
    )
    if same := taus[shown:].count(taus[shown - 1]) if shown else 0:
        note = f"{count_of(same, 'further pair has', 'further pairs have')} the last tau of this table. {note}"
    if hidden and (full := taus.count(1)):
        note = f"{count_of(full, 'pair orders', 'pairs order')} the systems in the same way (tau 1.00). {note}"
    note += "" if how is None else f" {interval_words(how, units_of_keys(keys))}."
    columns = (
        Column("metric", "first", words=True),
        Column("metric", "second", words=True),
        Column("tau", ends=True),
        Column("pairs of systems: same / opposite / tied", ""),
    )
    found = Table("pairs", title, columns, tuple(rows), hidden=hidden, notes=(note,))
    return [found] if shown else [replace(found, shown=False), sentences(note)]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _value(value: float) -> str:
    return fixed(value, 0 if float(value).is_integer() else 3, form=",")
