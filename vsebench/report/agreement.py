"""What an agreement study is: how metrics order systems, how alike the orders are, and where they quarrel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .comparison import Row
from .grid import ARROWS, Cell, Grid, cells
from .model import Resampling
from .table import interval_words

SCHEMA = "vsebench/agreement/1"
_MATRIX = 8  # metrics up to which all pairs are printed as a matrix


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
class Quarrel:
    """A query that two metrics disagree about.

    Attributes:
        query, text: its id, and its text if that is known.
        disagreement: how far, see ``stats.agreement.quarrels``.
        values: of the two metrics, one pair a system.
    """

    query: str
    text: str | None
    disagreement: float
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Agreement:
    """How far metrics agree on a set of systems.

    Attributes:
        split, systems: what was evaluated.
        rows: metrics with the values of all systems.
        pairs: every two metrics.
        how: the resampling behind the intervals.
        quarrel_of: the two metrics (indices) whose queries are listed, or None.
        queries: queries that both have.
        discordant: queries on which they order some pair of systems in opposite ways.
        quarrels: the worst of them.
        warnings: what the reader should know.
    """

    split: str
    systems: tuple[str, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    how: Resampling
    quarrel_of: tuple[int, int] | None
    queries: int
    discordant: int
    quarrels: tuple[Quarrel, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of schema ``vsebench/agreement/1``."""
        quarrels = None
        if self.quarrel_of is not None:
            quarrels = {
                "metrics": [name(self.rows[i]) for i in self.quarrel_of],
                "queries": self.queries,
                "discordant": self.discordant,
                "worst": [
                    {
                        "query": q.query,
                        "text": q.text,
                        "disagreement": q.disagreement,
                        "values": dict(zip(self.systems, map(list, q.values), strict=True)),
                    }
                    for q in self.quarrels
                ],
            }
        return {
            "schema": SCHEMA,
            "split": self.split,
            "systems": list(self.systems),
            "intervals": {"level": self.how.level, "resamples": self.how.resamples, "seed": self.how.seed},
            "warnings": list(self.warnings),
            "metrics": [
                {
                    "metric": str(r.metric),
                    "direction": r.direction,
                    "values": dict(zip(self.systems, r.values, strict=True)),
                    "order": order(r, self.systems),
                }
                for r in self.rows
            ],
            "pairs": [
                {
                    "first": name(self.rows[p.first]),
                    "second": name(self.rows[p.second]),
                    "tau": p.tau,
                    "interval": None if p.interval is None else list(p.interval),
                    "concordant": p.concordant,
                    "discordant": p.discordant,
                    "tied": p.tied,
                }
                for p in self.pairs
            ],
            "quarrels": quarrels,
        }


def name(row: Row) -> str:
    """A metric with its direction, as in ``R@1 i2t``."""
    return str(row.metric) if row.direction is None else f"{row.metric} {row.direction}"


def order(row: Row, systems: Sequence[str]) -> list[list[str]]:
    """Systems from best to worst by a metric; those with one value share a place."""
    distinct = sorted(set(row.values), reverse=row.metric.higher_is_better)
    return [[s for s, v in zip(systems, row.values, strict=True) if v == value] for value in distinct]


def grids(study: Agreement, most: int) -> list[Grid]:
    """Rankings, tau of every two metrics (of the ``most`` least agreeing when there are many), and quarrels."""
    rankings = Grid(
        f"{study.split} · how the metrics order {len(study.systems)} systems",
        ("metric", "direction", "best to worst"),
        3,
        tuple(
            cells(
                str(r.metric), ARROWS[r.direction], " > ".join(" = ".join(place) for place in order(r, study.systems))
            )
            for r in study.rows
        ),
    )
    matrix = [_matrix(study)] if 2 < len(study.rows) <= _MATRIX else []
    return [rankings, *matrix, _least(study, most), *_quarrels(study)]


def _matrix(study: Agreement) -> Grid:
    by = {(p.first, p.second): p for p in study.pairs}
    rows = tuple(
        (
            *cells(name(r)),
            *(Cell(_tau(by[min(i, j), max(i, j)])) if i != j else Cell("") for j in range(len(study.rows))),
        )
        for i, r in enumerate(study.rows)
    )
    return Grid("tau between the rankings", ("", *(name(r) for r in study.rows)), 1, rows)


def _least(study: Agreement, most: int) -> Grid:
    shown = sorted(study.pairs, key=lambda p: 2.0 if p.tau is None else p.tau)[:most]
    rows = tuple(
        (
            *cells(name(study.rows[p.first]), name(study.rows[p.second])),
            Cell(_tau(p), aside="" if p.interval is None else "[{:.2f}, {:.2f}]".format(*p.interval)),
            *cells(f"{p.concordant} / {p.discordant} / {p.tied}"),
        )
        for p in shown
    )
    few = len(shown) < len(study.pairs)
    title = f"the {len(shown)} of {len(study.pairs):,} pairs of metrics that agree least" if few else "pairs of metrics"
    note = (
        "tau: Kendall's tau-b between the rankings of the systems, 1 the same order, -1 the reverse, — undefined "
        f"because a metric ties all systems. {interval_words(study.how)}."
    )
    return Grid(title, ("metric", "metric", "tau", "pairs of systems: alike / opposite / tied"), 2, rows, (note,))


def _tau(pair: Pair) -> str:
    return "—" if pair.tau is None else f"{pair.tau:.2f}"


def _quarrels(study: Agreement) -> list[Grid]:
    if study.quarrel_of is None:
        return []
    first, second = (study.rows[i] for i in study.quarrel_of)
    if not study.quarrels:
        pair = f"{name(first)} and {name(second)}"
        note = f"{pair} order no two systems in opposite ways on any of {study.queries:,} queries."
        return [Grid("", ("queries",), 1, (), (note,))]
    texts = any(q.text for q in study.quarrels)
    rows = tuple(
        (
            *cells(q.query, *([_short(q.text or "")] if texts else [])),
            *cells(*(f"{_value(a)} / {_value(b)}" for a, b in q.values)),
        )
        for q in study.quarrels
    )
    headings = ("query", *(["text"] if texts else []), *study.systems)
    title = f"queries on which {name(first)} and {name(second)} disagree most"
    note = (
        f"Values of a query: {name(first)} / {name(second)}. On {study.discordant:,} of {study.queries:,} queries they "
        "order some pair of systems in opposite ways."
    )
    return [Grid(title, headings, 2 if texts else 1, rows, (note,))]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"


def _value(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"
