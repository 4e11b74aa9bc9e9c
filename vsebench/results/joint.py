"""Several evaluated systems in one table: systems as rows, metrics as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

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


class Language(NamedTuple):
    """What a report is of: a system (empty where there is one), and a language of its test set."""

    system: str
    language: str


class Mean(NamedTuple):
    """The mean of a system over languages: the places of the reports, the one that its row is behind, and
    the number of languages of the test set."""

    system: str
    of: tuple[int, ...]
    behind: int
    languages: int  # of the test set

    @property
    def label(self) -> str:
        """The name of its row, which says where languages of the test set are missing."""
        return MEAN if len(self.of) == self.languages else f"{MEAN} ({len(self.of)} of {self.languages})"


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
        languages: of every report, where the rows are languages of one test set; those of a system are together.
        means: of these, one a system, each language with one vote; of several systems the best mean is bold.
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
    languages: tuple[Language, ...] = ()
    means: tuple[Mean, ...] = ()

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
        """One a row: its system, and the value of every column (``i2t R@1``), None where it was not measured.

        Of languages ``system`` is the language, and of several systems ``language`` is; the last one is their mean.
        """
        found = {_key(column): self._values(column) for column in self.columns}
        return [
            {**self._identity(row), **{key: of[at] for key, of in found.items()}} for at, row in enumerate(self._rows)
        ]

    def _identity(self, row: int | Mean) -> dict[str, str]:
        if not self.languages:
            return {"system": self.systems[row]}  # type: ignore[index]
        system, language = (row.system, MEAN) if isinstance(row, Mean) else self.languages[row]
        return {"system": system, "language": language} if system else {"system": language}

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
            **({"mean": self._mean_values()} if self.means else {}),
            "systems": [
                {"name": name, "report": report.document(per_query)}
                for name, report in zip(self.systems, self.reports, strict=True)
            ],
        }

    def _mean_values(self) -> dict[str, Any]:
        """The mean of every column; of several systems for each."""
        found = {
            m.system: {_key(column): self._mean(self._results(column), m) for column in self.columns}
            for m in self.means
        }
        return found.get("", found)

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
    def _rows(self) -> list[int | Mean]:
        """The place of a report, or a mean, a row."""
        behind = {mean.behind: mean for mean in self.means}
        return [row for at in range(len(self.reports)) for row in (at, behind.get(at)) if row is not None]

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
        names = [
            " · ".join(filter(None, (row.system, row.label)) if isinstance(row, Mean) else self._identity(row).values())
            for row in self._rows
        ]
        if len(set(self._corrections)) < 2:
            return tuple(names)
        how = ["" if isinstance(row, Mean) else self._corrections[row] for row in self._rows]
        return tuple(f"{name} ({words})" if words else name for name, words in zip(names, how, strict=True))

    @property
    def _marks(self) -> tuple[str, str]:
        return best_of(len(self.means if self.languages else self.systems))

    def _named(self, table: Grid) -> Grid:
        if not self.languages:
            return table
        heading = "system · language" if self.languages[0].system else "language"
        return replace(table, headings=(heading, *table.headings[1:]))

    def _mean(self, found: Sequence[Result | None], mean: Mean) -> float | None:
        """The mean of a column, None where a language has no value."""
        known = [result.value for at in mean.of if (result := found[at]) is not None and result.value is not None]
        return math.fsum(known) / len(mean.of) if len(known) == len(mean.of) else None

    def _values(self, column: Column) -> list[float | None]:
        """One a row."""
        found = self._results(column)
        alone = [None if r is None else r.value for r in found]
        return [self._mean(found, row) if isinstance(row, Mean) else alone[row] for row in self._rows]

    def _cells(self, column: Column) -> list[Cell]:
        found, unit = self._values(column), column[0].unit
        compared = [isinstance(row, Mean) or not self.languages for row in self._rows]
        ranked = [value for value, one in zip(found, compared, strict=True) if one]
        first, second = best_two(ranked, column[0].higher_is_better)
        return [
            Cell(UNDEFINED)
            if value is None
            else Cell(printed(value, unit), best=one and value == first, second=one and value == second)
            for value, one in zip(found, compared, strict=True)
        ]


def _key(column: Column) -> str:
    metric, direction = column
    return str(metric) if direction is None else f"{direction} {metric}"
