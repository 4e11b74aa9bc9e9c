"""Several evaluated systems in one table: systems as rows, metrics as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .charts import Panel, curves
from .format import UNDEFINED, UNITS, best_of, best_two, printed
from .grid import Cell, Grid
from .model import Result
from .render import Drawn, json_text
from .report import Report
from .schema import JOINT_SCHEMA
from .wide import Column, further, main, title, wide


@dataclass(frozen=True, repr=False)
class Joint(Drawn):
    """The values of several systems, which were measured alike.

    Attributes:
        split: name of the test set.
        systems: names, one a row.
        reports: one a system.
        columns: metric and direction (None for a sum over both) of every column, those of a direction together.
        named: the columns were named: the one table in LaTeX has them all.
        details: LaTeX also has a table for each set of judgements or gains.
        notes: what was decided, for every system.
        warnings: what may be wrong, for every system and with the comparison.
    """

    heading: ClassVar = "Systems on {split}"
    split: str
    systems: tuple[str, ...]
    reports: tuple[Report, ...]
    columns: tuple[Column, ...]
    named: bool = False
    details: bool = False
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def grids(self) -> list[Grid]:
        """One table for each set of judgements or gains, with directions above the metrics; the best value in bold."""
        views = list(dict.fromkeys(metric.view for metric, _ in self.columns))
        tables = [self._table([c for c in self.columns if c[0].view == view]) for view in views]
        return [*tables[:-1], replace(tables[-1], notes=(UNITS,), marks=best_of(len(self.systems)))]

    def _for_paper(self) -> list[Grid]:
        """One table of the columns that were named, or of the first view; with ``details`` also those of all views."""
        shown = main(self.columns, self.named)
        notes = (UNITS, *further(self.columns, shown))
        one = replace(self._table(shown), notes=notes, marks=best_of(len(self.systems)))
        return [one, *(self.grids() if self.details else ())]

    def panels(self) -> list[Panel]:
        """Curves over k of all systems, of the columns of the table."""
        of = [{(str(r.metric), r.direction): r for r in report.results} for report in self.reports]
        shared = [(m, d) for m, d in self.columns if all((str(m), d) in own for own in of)]
        points = {(m, d): [(own[str(m), d].value, own[str(m), d].interval) for own in of] for m, d in shared}
        return curves(points)

    def records(self) -> list[dict[str, Any]]:
        """One a system: its name, and the value of every column (``i2t R@1``), None where it was not measured."""
        found = [{_key(c): r for c, r in self._results(report)} for report in self.reports]
        return [
            {"system": name, **{key: None if r is None else r.value for key, r in own.items()}}
            for name, own in zip(self.systems, found, strict=True)
        ]

    def to_dict(self, per_query: bool = True) -> dict[str, Any]:
        """The document of schema ``vsebench/joint/1``: the columns of the table and the reports of all systems.

        Args:
            per_query: with per-query values, which ``vsebench compare`` needs; it reads such a document as the reports.
        """
        return {
            "schema": JOINT_SCHEMA,
            "split": self.split,
            "columns": [_key(column) for column in self.columns],
            "warnings": list(self.warnings),
            "systems": [
                {"name": name, "report": report.to_dict(per_query)}
                for name, report in zip(self.systems, self.reports, strict=True)
            ],
        }

    def to_json(self, per_query: bool = True) -> str:
        """The document as indented JSON text; ``per_query`` as in ``to_dict``."""
        return json_text(self.to_dict(per_query))

    def per_query(self) -> Any:
        """The per-query values of all systems as a ``pandas.DataFrame``, as those of a report, with their names."""
        import pandas as pd

        frames = {name: report.per_query() for name, report in zip(self.systems, self.reports, strict=True)}
        for name, frame in frames.items():
            frame.insert(0, "system", name)
        return pd.concat(frames.values(), ignore_index=True)

    def _results(self, report: Report) -> list[tuple[Column, Result | None]]:
        known = {(str(r.metric), r.direction): r for r in report.results}
        return [((metric, d), known.get((str(metric), d))) for metric, d in self.columns]

    def _table(self, columns: Sequence[Column]) -> Grid:
        values = [[r for c, r in self._results(report) if c in columns] for report in self.reports]
        best = [
            best_two([r and r.value for r in column], metric.higher_is_better)
            for column, (metric, _) in zip(zip(*values, strict=True), columns, strict=True)
        ]
        rows = [[_cell(r, b) for r, b in zip(row, best, strict=True)] for row in values]
        return wide(title(self.split, columns), self.systems, columns, rows)


def _key(column: Column) -> str:
    metric, direction = column
    return str(metric) if direction is None else f"{direction} {metric}"


def _cell(result: Result | None, best: tuple[float | None, float | None]) -> Cell:
    if result is None:
        return Cell(UNDEFINED)
    first, second = best
    return Cell(printed(result.value, result.unit), best=result.value == first, second=result.value == second)
