"""Correlation of relevances and models with human judgements: results, tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..results.charts import Mark, Panel, file_of
from ..results.model import UNDEFINED, fixed
from ..results.render import Result
from ..results.table import Column, Entry, Table, Text, Value, sentences

Over = Literal["images", "pairs"]
Tau = Literal["b", "c"]
COEFFICIENTS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ"}
DATA_TITLES = {"cxc": "CxC", "flickr8k": "Flickr8k"}


@dataclass(frozen=True)
class Row:
    """How one relevance or model correlates with one set of human scores.

    Attributes:
        task, subset: which scores.
        relevance: which values.
        pairs, points: how many pairs, and points (a pair with three judges is three).
        tau: variant of Kendall's coefficient.
        coefficients: ``pearson``, ``spearman`` and ``kendall``, from -1 to 1; None if a column is constant.
        sampled: of a model on all pairs of CxC, see ``human.models``.
    """

    task: str
    subset: str
    relevance: str
    pairs: int
    points: int
    tau: Tau
    coefficients: Mapping[str, Value]
    sampled: Value | None = None


def coefficient(value: float | None, interval: tuple[float, float] | None = None) -> Value:
    """A correlation with its interval."""
    return Value(value, "correlation", interval)


def study(
    data: str,
    rows: Sequence[Row],
    gains: Mapping[str, Mapping[str, str]],
    notes: Sequence[str],
    level: float | None,
    over: Over,
    seed: int,
) -> Result:
    """The correlations as tables, one for every set of pairs, and one for the sampled correlation of models.

    Args:
        data: ``cxc`` or ``flickr8k``.
        rows: the correlations.
        gains: the settings of every relevance.
        notes: decisions made in reading.
        level: of the intervals in percent, or None without them.
        over: what the jackknife left out, one at a time.
        seed: of the samples of models.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        judged = "" if row.points == row.pairs else f", {row.points:,} judgements"
        subset = "" if row.subset == "all" else f" · {row.subset}"
        groups.setdefault(f"{DATA_TITLES[data]} {row.task}{subset} · {row.pairs:,} pairs{judged}", []).append(row)
    how = "" if level is None else f"{level:g} % jackknife over {over} on Fisher's z scale"
    panels = (_panel(title, group, how) for title, group in groups.items())
    return Result(
        kind="correlation", title=f"Agreement with human judgements · {DATA_TITLES[data]}", main="coefficients",
        tables=(*(_table(*group) for group in groups.items()), *_sampled(rows), sentences(*_notes(rows, how, seed))),
        settings={"data": data, "gains": gains, "level": level, "over": over},
        panels=[panel for panel in panels if panel.marks],
        systems=tuple(name.split(" ")[0] for name in COEFFICIENTS.values()), notes=tuple(notes),
    )  # fmt: skip


def label(relevance: str) -> str:
    """The name in tables and charts: of a file only its last part."""
    return ":".join(part.rpartition("/")[2] or part for part in relevance.split(":"))


def _table(title: str, rows: Sequence[Row]) -> Table:
    tau = rows[0].tau
    columns = [Column("relevance", words=True)]
    for name, text in COEFFICIENTS.items():
        details = {"coefficient": name} | ({"variant": tau} if name == "kendall" else {})
        columns.append(Column(f"{text}-{tau}" if name == "kendall" else text, fields=details))
    lines: list[tuple[Entry, ...]] = []
    for row in rows:
        facts = {"pairs": row.pairs, "points": row.points}
        values = (replace(row.coefficients[name], facts=facts) for name in COEFFICIENTS)
        lines.append((Text(label(row.relevance), row.relevance), *values))
    return Table("coefficients", title, tuple(columns), tuple(lines), {"task": rows[0].task, "subset": rows[0].subset})


def _panel(title: str, rows: Sequence[Row], how: str) -> Panel:
    """A point with its interval for every coefficient that is defined."""
    marks = tuple(
        Mark(i, label(row.relevance), value, found.interval, how)
        for row in rows
        for i, found in enumerate(row.coefficients[name] for name in COEFFICIENTS)
        if (value := found.value) is not None
    )
    return Panel(file_of(title.partition(" pairs")[0]), title, "slices", "relevance", "correlation × 100", marks)


def _sampled(rows: Sequence[Row]) -> list[Table]:
    found: dict[str, dict[str, Value]] = {}
    for row in rows:
        if row.sampled is not None:
            found.setdefault(row.relevance, {})[row.task] = row.sampled
    if not found:
        return []
    tasks = list(dict.fromkeys(task for by_task in found.values() for task in by_task))
    lines: list[tuple[Entry, ...]] = []
    for model, by_task in found.items():
        mean = sum(s.value or 0.0 for s in by_task.values()) / len(by_task)
        lines.append((Text(label(model), model), *(by_task[t] for t in tasks), coefficient(mean)))
    columns = [Column("model", words=True), *(Column(task, fields={"task": task}) for task in (*tasks, "mean"))]
    return [Table("sampled", "CxC correlation · sampled Spearman ρ", tuple(columns), tuple(lines))]


def sampled(mean: float, deviation: float, queries: int, samples: int) -> Value:
    """Spearman's rho of a model over samples of rated pairs; a sample has half of the queries."""
    facts = {"sd": deviation, "queries": queries, "samples": samples}
    return Value(mean, "correlation", aside=f"± {fixed(deviation, 4)}", facts=facts)


def _notes(rows: Sequence[Row], how: str, seed: int) -> list[str]:
    notes = [f"Correlations are from -1 to 1.{f' Brackets: {how}.' if how else ''}"]
    one = next((row.sampled for row in rows if row.sampled), None)
    if one:
        notes.append(
            f"Sampled: mean ± standard deviation of {one.facts['samples']:,} samples, each of half of the queries with "
            f"one rated item a query (Parekh et al., 2021); seed {seed}."
        )
    if any(c.value is None for row in rows for c in row.coefficients.values()):
        notes.append(f"{UNDEFINED} undefined: one side has the same value for all of these pairs.")
    return notes
