"""Several evaluated systems in one table: systems as rows, metrics as columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .charts import Panel, curves
from .format import UNDEFINED, UNITS, best_of, best_two, printed
from .grid import Cell, Grid
from .model import Result
from .render import Drawn, json_text
from .report import Report
from .schema import JOINT_SCHEMA
from .table import corrected
from .wide import Column, of_paper, wide

MEAN = "macro mean"  # of the languages of a test set


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
        languages: the rows are the languages of one test set, and not systems; the last row is their mean, each with
            one vote, and nothing is bold.
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
    languages: bool = False

    def grids(self) -> list[Grid]:
        """One table for each set of judgements or gains, with directions above the metrics; the best value in bold."""
        views = list(dict.fromkeys(metric.view for metric, _ in self.columns))
        tables = [
            self._named(wide(self._title, self._labels, [c for c in self.columns if c[0].view == view], self._cells))
            for view in views
        ]
        return [*tables[:-1], replace(tables[-1], notes=(UNITS,), marks=self._marks)]

    def _for_paper(self) -> list[Grid]:
        """One table of the columns that were named, or of the first view; with ``details`` also those of all views."""
        one = of_paper(self._title, self._labels, self.columns, self.named, UNITS, self._cells)
        return [replace(self._named(one), marks=self._marks), *(self.grids() if self.details else ())]

    def panels(self) -> list[Panel]:
        """Curves over k of all systems, of the columns of the table."""
        found = {column: self._results(column) for column in self.columns}
        return curves({c: [(r.value, r.interval) for r in of if r] for c, of in found.items() if all(of)})

    def records(self) -> list[dict[str, Any]]:
        """One a system: its name, and the value of every column (``i2t R@1``), None where it was not measured.

        Of languages, the last one is their mean.
        """
        found = {_key(column): self._values(column) for column in self.columns}
        return [{"system": name, **{key: of[i] for key, of in found.items()}} for i, name in enumerate(self._rows)]

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
            **({"mean": {_key(column): self._values(column)[-1] for column in self.columns}} if self.languages else {}),
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

    def _results(self, column: Column) -> list[Result | None]:
        """One a system, None where the column was not measured."""
        wanted = str(column[0]), column[1]
        return [next((r for r in of.results if (str(r.metric), r.direction) == wanted), None) for of in self.reports]

    @property
    def _rows(self) -> tuple[str, ...]:
        return (*self.systems, MEAN) if self.languages else self.systems

    @property
    def _corrections(self) -> list[str]:
        """How the scores of every system are corrected; an empty text where they are not."""
        return [", ".join(corrected(report.signature)) for report in self.reports]

    @property
    def _title(self) -> str:
        same = set(self._corrections)
        return " · ".join(filter(None, (self.split, *same))) if len(same) == 1 else self.split

    @property
    def _labels(self) -> tuple[str, ...]:
        """The rows; the names of systems whose scores are corrected in different ways say how."""
        if len(set(self._corrections)) < 2:
            return self._rows
        found = zip(self.systems, self._corrections, strict=True)
        return (*(f"{name} ({how})" if how else name for name, how in found), *self._rows[len(self.systems) :])

    @property
    def _marks(self) -> tuple[str, str]:
        return ("", "") if self.languages else best_of(len(self.systems))

    def _named(self, table: Grid) -> Grid:
        return replace(table, headings=("language", *table.headings[1:])) if self.languages else table

    def _values(self, column: Column) -> list[float | None]:
        """One a row: of every system, and behind languages their mean, None where one of them has no value."""
        found = [None if r is None else r.value for r in self._results(column)]
        known = [value for value in found if value is not None]
        mean = math.fsum(known) / len(found) if len(known) == len(found) else None
        return [*found, mean] if self.languages else found

    def _cells(self, column: Column) -> list[Cell]:
        found, unit = self._values(column), column[0].unit
        first, second = (None, None) if self.languages else best_two(found, column[0].higher_is_better)
        return [
            Cell(UNDEFINED)
            if value is None
            else Cell(printed(value, unit), best=value == first, second=value == second)
            for value in found
        ]


def _key(column: Column) -> str:
    metric, direction = column
    return str(metric) if direction is None else f"{direction} {metric}"
