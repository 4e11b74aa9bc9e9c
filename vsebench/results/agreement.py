"""Agreement of metrics: how they order systems, how alike the orders are, and the queries they disagree about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .comparison import Row
from .format import ARROWS, UNDEFINED, fixed, interval_words
from .grid import Cell, Grid, cells, text_only
from .model import Resampling, plain
from .render import Rendered, record

SCHEMA = "vsebench/agreement/1"
_MATRIX = 8  # metrics up to which all pairs are printed as a matrix
_TEXT = 60  # characters of a caption in a table


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
        how: the resampling of the intervals.
        listed: the two metrics (indices) whose queries are listed, or None.
        queries: queries that both have.
        discordant: queries on which they order some pair of systems in opposite ways.
        disagreements: those with the largest amounts.
        warnings: what may be wrong.
        most: how many pairs of metrics a table shows.
        notes: what was decided.
    """

    heading: ClassVar = "Agreement of metrics on {split}"
    split: str
    systems: tuple[str, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    how: Resampling
    listed: tuple[int, int] | None
    queries: int
    discordant: int
    disagreements: tuple[Disagreement, ...]
    warnings: tuple[str, ...]
    most: int = 15
    notes: tuple[str, ...] = ()

    def grids(self) -> list[Grid]:
        """Rankings, tau of every two metrics (of the ``most`` least agreeing when there are many), disagreements."""
        rows = []
        for r in self.rows:
            ranking = " > ".join(" = ".join(equal) for equal in order(r, self.systems))
            rows.append(cells(str(r.metric), ARROWS[r.direction], ranking))
        title = f"{self.split} · how the metrics order {len(self.systems)} systems"
        rankings = Grid(title, ("metric", "direction", "best to worst"), 3, tuple(rows))
        matrix = [_matrix(self)] if 2 < len(self.rows) <= _MATRIX else []
        return [rankings, *matrix, _least(self), *_disagreements(self)]

    def records(self) -> list[dict[str, Any]]:
        """One a pair of metrics: first, second, tau, low, high, concordant, discordant, tied."""
        return [record(self._facts(p)) for p in self.pairs]

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/agreement/1``."""
        disagreements = None
        if self.listed is not None:
            disagreements = {
                "metrics": [name(self.rows[i]) for i in self.listed],
                **plain(self, "queries", "discordant"),
                "worst": [
                    {
                        **plain(d, "query", "caption"),
                        "disagreement": d.amount,
                        "values": self._named(map(list, d.values)),
                    }
                    for d in self.disagreements
                ],
            }
        return {
            "schema": SCHEMA,
            **plain(self, "split", "systems"),
            "intervals": plain(self.how, "level", "resamples", "seed"),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "metrics": [
                {**plain(r, "metric", "direction"), "values": self._named(r.values), "order": order(r, self.systems)}
                for r in self.rows
            ],
            "pairs": [self._facts(p) for p in self.pairs],
            "disagreements": disagreements,
        }

    def _facts(self, pair: Pair) -> dict[str, Any]:
        """The fields of a pair, with metrics by name."""
        facts = plain(pair, "first", "second", "tau", "interval", "concordant", "discordant", "tied")
        return {**facts, "first": name(self.rows[pair.first]), "second": name(self.rows[pair.second])}

    def _named(self, values: Iterable[Any]) -> dict[str, Any]:
        return dict(zip(self.systems, values, strict=True))


def name(row: Row) -> str:
    """A metric with its direction, as in ``R@1 i2t``."""
    return str(row.metric) if row.direction is None else f"{row.metric} {row.direction}"


def order(row: Row, systems: Sequence[str]) -> list[list[str]]:
    """Systems from best to worst by a metric; those of equal value are one entry."""
    distinct = sorted(set(row.values), reverse=row.metric.higher_is_better)
    return [[s for s, v in zip(systems, row.values, strict=True) if v == value] for value in distinct]


def _matrix(study: Agreement) -> Grid:
    by = {(p.first, p.second): p for p in study.pairs}
    names = [name(r) for r in study.rows]
    rows = tuple(
        cells(row, *(_tau(by[min(i, j), max(i, j)]) if i != j else "" for j in range(len(names))))
        for i, row in enumerate(names)
    )
    return Grid("tau between the rankings", ("", *names), 1, rows)


def _least(study: Agreement) -> Grid:
    shown = sorted(study.pairs, key=lambda p: 2.0 if p.tau is None else p.tau)[: study.most]
    rows = tuple(
        (
            *cells(name(study.rows[p.first]), name(study.rows[p.second])),
            Cell(_tau(p), aside="" if p.interval is None else f"[{', '.join(fixed(end, 2) for end in p.interval)}]"),
            *cells(f"{p.concordant} / {p.discordant} / {p.tied}"),
        )
        for p in shown
    )
    few = len(shown) < len(study.pairs)
    title = f"the {len(shown)} of {len(study.pairs):,} pairs of metrics that agree least" if few else "pairs of metrics"
    note = (
        f"tau: Kendall's tau-b between the rankings of the systems, 1 the same order, -1 the reverse, {UNDEFINED} "
        f"undefined because a metric ties all systems. {interval_words(study.how)}."
    )
    return Grid(title, ("metric", "metric", "tau", "pairs of systems: alike / opposite / tied"), 2, rows, (note,))


def _tau(pair: Pair) -> str:
    return UNDEFINED if pair.tau is None else fixed(pair.tau, 2)


def _disagreements(study: Agreement) -> list[Grid]:
    if study.listed is None:
        return []
    first, second = (name(study.rows[i]) for i in study.listed)
    if not study.disagreements:
        both = f"{first} and {second}"
        return [text_only(f"{both} order no two systems in opposite ways on any of {study.queries:,} queries.")]
    captions = any(d.caption for d in study.disagreements)
    rows = []
    for d in study.disagreements:
        words = (d.query, _short(d.caption or "")) if captions else (d.query,)
        rows.append(cells(*words, *(f"{_value(a)} / {_value(b)}" for a, b in d.values)))
    headings = ("query", *(["caption"] if captions else []), *study.systems)
    note = (
        f"Values of a query: {first} / {second}. On {study.discordant:,} of {study.queries:,} queries they "
        "order some pair of systems in opposite ways."
    )
    title = f"queries on which {first} and {second} disagree most"
    return [Grid(title, headings, 2 if captions else 1, tuple(rows), (note,))]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _value(value: float) -> str:
    return fixed(value, 0 if float(value).is_integer() else 3, form=",")
