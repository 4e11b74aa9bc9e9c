"""Correlation of relevances and models with human judgements: the coefficients and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .format import UNDEFINED, fixed
from .grid import Cell, Grid, cells, text_only
from .model import plain
from .render import Rendered, record

SCHEMA = "vsebench/correlation/1"
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
        settings: of every relevance.
        notes: what was decided.
        level: of the intervals in percent, or None without them.
        over: what the jackknife left out, one at a time.
        seed: of the samples of models.
    """

    data: str
    rows: tuple[Row, ...]
    settings: dict[str, dict[str, str]]
    notes: tuple[str, ...]
    level: float | None
    over: Over
    seed: int

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Agreement with human judgements · {DATA_TITLES[self.data]}"

    def grids(self) -> list[Grid]:
        """A table for every set of pairs, one row a relevance; and one for the sampled correlation of models."""
        tables = []
        for title, rows in self.groups().items():
            variants = {"kendall": f"-{rows[0].tau}"}
            headings = ("relevance", *(text + variants.get(name, "") for name, text in COEFFICIENTS.items()))
            of_rows = (
                (Cell(label(r.relevance)), *(_cell(r.coefficients[name]) for name in COEFFICIENTS)) for r in rows
            )
            tables.append(Grid(title, headings, 1, tuple(of_rows)))
        return [*tables, *_sampled(self), text_only(*_notes(self))]

    def groups(self) -> dict[str, list[Row]]:
        """The rows of every set of pairs, by its title."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            judged = "" if row.points == row.pairs else f", {row.points:,} judgements"
            subset = "" if row.subset == "all" else f" · {row.subset}"
            title = f"{DATA_TITLES[self.data]} {row.task}{subset} · {row.pairs:,} pairs{judged}"
            found.setdefault(title, []).append(row)
        return found

    def records(self) -> list[dict[str, Any]]:
        """One a coefficient: task, subset, relevance, coefficient, value, low, high, pairs, points."""
        found = []
        for row in self.rows:
            names, counts = plain(row, "task", "subset", "relevance"), plain(row, "pairs", "points")
            for name, coefficient in row.coefficients.items():
                found.append(
                    record({**names, "coefficient": name, **plain(coefficient, "value", "interval"), **counts})
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/correlation/1``: fractions, None where a correlation is undefined."""
        intervals: dict[str, Any] | None = None
        if self.level is not None:
            intervals = {"method": "jackknife, Fisher z", "confidence": self.level / 100, "over": self.over}
        return {
            "schema": SCHEMA,
            "data": self.data,
            "intervals": intervals,
            **plain(self, "settings", "notes"),
            "rows": [_document(row) for row in self.rows],
        }


def label(relevance: str) -> str:
    """The name in tables and figures: of a file only its last part."""
    return ":".join(part.rpartition("/")[2] or part for part in relevance.split(":"))


def interval_note(study: Study) -> str:
    """How the intervals were made; the empty text without any."""
    return "" if study.level is None else f"{study.level:g} % jackknife over {study.over} on Fisher's z scale"


def _cell(found: Coefficient) -> Cell:
    if found.value is None:
        return Cell(UNDEFINED)
    ends = found.interval
    return Cell(fixed(found.value, 4), aside="" if ends is None else f"[{fixed(ends[0], 4)}, {fixed(ends[1], 4)}]")


def _sampled(study: Study) -> list[Grid]:
    found: dict[str, dict[str, Sampled]] = {}
    for row in study.rows:
        if row.sampled is not None:
            found.setdefault(row.relevance, {})[row.task] = row.sampled
    if not found:
        return []
    tasks = list(dict.fromkeys(task for of in found.values() for task in of))
    rows = []
    for model, of in found.items():
        mean = sum(s.mean for s in of.values()) / len(of)
        values = (f"{fixed(of[t].mean, 4)} ± {fixed(of[t].deviation, 4)}" for t in tasks)
        rows.append(cells(label(model), *values, fixed(mean, 4)))
    return [Grid("CxC correlation · sampled Spearman ρ", ("model", *tasks, "mean"), 1, tuple(rows))]


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


def _document(row: Row) -> dict[str, Any]:
    document = plain(row, "task", "subset", "relevance", "pairs", "points")
    document |= {name: plain(row.coefficients[name], "value", "interval") for name in COEFFICIENTS}
    document["kendall"]["variant"] = row.tau
    sampled = row.sampled and {"mean": row.sampled.mean, "sd": row.sampled.deviation}
    return {**document, "sampled_spearman": sampled and {**sampled, **plain(row.sampled, "queries", "samples")}}
