"""Correlation of relevances and models with human judgements: the coefficients and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ..results.model import UNDEFINED, fixed
from ..results.render import Rendered
from ..results.table import Column, Entry, Table, Text, Value, sentences

Over = Literal["images", "pairs"]
Tau = Literal["b", "c"]
COEFFICIENTS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ"}
DATA_TITLES = {"cxc": "CxC", "flickr8k": "Flickr8k"}


@dataclass(frozen=True)
class Coefficient:
    """A correlation: its value from -1 to 1, or None where a column is constant, and (low, high) or None."""

    value: float | None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Sampled:
    """Spearman's rho of a model over samples of rated pairs, see ``human.models``.

    Attributes:
        mean, deviation: of the samples.
        queries: how many there are; a sample has half of them.
        samples: how many.
    """

    mean: float
    deviation: float
    queries: int
    samples: int


@dataclass(frozen=True)
class Row:
    """How one relevance or model correlates with one set of human scores.

    Attributes:
        task, subset: which scores.
        relevance: which values.
        pairs, points: how many pairs, and points (a pair with three judges is three).
        tau: variant of Kendall's coefficient.
        coefficients: ``pearson``, ``spearman``, ``kendall``.
        sampled: of a model on all pairs of CxC.
    """

    task: str
    subset: str
    relevance: str
    pairs: int
    points: int
    tau: Tau
    coefficients: dict[str, Coefficient]
    sampled: Sampled | None = None


@dataclass(frozen=True, repr=False)
class Study(Rendered):
    """Correlations with human judgements.

    Attributes:
        data: ``cxc`` or ``flickr8k``.
        rows: the correlations.
        gains: the settings of every relevance.
        notes: what was decided.
        level: of the intervals in percent, or None without them.
        over: what the jackknife left out, one at a time.
        seed: of the samples of models.
    """

    kind = "correlation"
    heading: ClassVar = "Agreement with human judgements"
    main = "coefficients"
    settings: ClassVar = ("data", "gains", "level", "over")
    data: str
    rows: tuple[Row, ...]
    gains: dict[str, dict[str, str]]
    notes: tuple[str, ...]
    level: float | None
    over: Over
    seed: int

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Agreement with human judgements · {DATA_TITLES[self.data]}"

    @property
    def tables(self) -> list[Table]:
        """A table for every set of pairs, one row a relevance; and one for the sampled correlation of models."""
        return [*(self._table(*group) for group in self.groups().items()), *_sampled(self), sentences(*_notes(self))]

    def _table(self, title: str, rows: Sequence[Row]) -> Table:
        tau = rows[0].tau
        columns = [Column("relevance", words=True)]
        for name, text in COEFFICIENTS.items():
            of = {"coefficient": name} | ({"variant": tau} if name == "kendall" else {})
            columns.append(Column(f"{text}-{tau}" if name == "kendall" else text, fields=of))
        lines: list[tuple[Entry, ...]] = [
            (Text(label(r.relevance), r.relevance), *(_value(r.coefficients[name], r) for name in COEFFICIENTS))
            for r in rows
        ]
        fields = {"task": rows[0].task, "subset": rows[0].subset}
        return Table("coefficients", title, tuple(columns), tuple(lines), fields)

    def groups(self) -> dict[str, list[Row]]:
        """The rows of every set of pairs, by its title."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            judged = "" if row.points == row.pairs else f", {row.points:,} judgements"
            subset = "" if row.subset == "all" else f" · {row.subset}"
            title = f"{DATA_TITLES[self.data]} {row.task}{subset} · {row.pairs:,} pairs{judged}"
            found.setdefault(title, []).append(row)
        return found


def label(relevance: str) -> str:
    """The name in tables and figures: of a file only its last part."""
    return ":".join(part.rpartition("/")[2] or part for part in relevance.split(":"))


def interval_note(study: Study) -> str:
    """How the intervals were made; the empty text without any."""
    return "" if study.level is None else f"{study.level:g} % jackknife over {study.over} on Fisher's z scale"


def _value(found: Coefficient, row: Row) -> Value:
    return Value(found.value, "correlation", found.interval, facts={"pairs": row.pairs, "points": row.points})


def _sampled(study: Study) -> list[Table]:
    found: dict[str, dict[str, Sampled]] = {}
    for row in study.rows:
        if row.sampled is not None:
            found.setdefault(row.relevance, {})[row.task] = row.sampled
    if not found:
        return []
    tasks = list(dict.fromkeys(task for of in found.values() for task in of))
    rows: list[tuple[Entry, ...]] = []
    for model, of in found.items():
        mean = sum(s.mean for s in of.values()) / len(of)
        values = (
            Value(
                of[t].mean, "correlation", aside=f"± {fixed(of[t].deviation, 4)}",
                facts={"sd": of[t].deviation, "queries": of[t].queries, "samples": of[t].samples},
            )
            for t in tasks
        )  # fmt: skip
        rows.append((Text(label(model), model), *values, Value(mean, "correlation")))
    columns = (
        Column("model", words=True),
        *(Column(task, fields={"task": task}) for task in tasks),
        Column("mean", fields={"task": "mean"}),
    )
    return [Table("sampled", "CxC correlation · sampled Spearman ρ", columns, tuple(rows))]


def _notes(study: Study) -> list[str]:
    brackets = f" Brackets: {interval_note(study)}." if study.level is not None else ""
    notes = [f"Correlations are from -1 to 1.{brackets}"]
    sampled = next((row.sampled for row in study.rows if row.sampled), None)
    if sampled:
        notes.append(
            f"Sampled: mean ± standard deviation of {sampled.samples:,} samples, each of half of the queries with one "
            f"rated item a query (Parekh et al., 2021); seed {study.seed}."
        )
    if any(c.value is None for row in study.rows for c in row.coefficients.values()):
        notes.append(f"{UNDEFINED} undefined: one side has the same value for all of these pairs.")
    return notes
