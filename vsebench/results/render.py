"""Results: tables with notes, warnings and settings, from which all formats are made."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError, csv_cell, printable
from . import charts, html, latex, markdown, terminal
from .table import Table, records, remarks, visible

# Endings of files, and the format that is written to them.
ENDINGS = {".json": "json", ".tex": "latex", ".md": "markdown", ".html": "html", ".csv": "csv"}


def json_text(document: dict[str, Any]) -> str:
    """Indented JSON; control characters are JSON escapes, also those that JSON would allow, and lone surrogates."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if text.replace("\n", "").isprintable():  # there are no newlines within strings
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result:
    """What an analysis found: tables, with notes, warnings, settings and charts. ``print`` and notebooks show it.

    Attributes:
        kind: of its JSON document, as in the schema ``vsebench/slices/2``.
        title: of its page.
        tables: what it shows; all formats are made of them.
        main: the name of the tables for ``to_frame`` and CSV.
        settings: what its JSON document has beside tables, notes and warnings, as plain values.
        panels: its charts.
        systems: the names of what the charts compare.
        page: makes its HTML, if that has more than the tables.
        reports: those that its JSON document holds, by name, so that it can be read in their place.
        notes: what was decided.
        warnings: what may be wrong.
    """

    kind: str
    title: str
    tables: Sequence[Table]
    main: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    panels: Sequence[charts.Panel] = field(default_factory=tuple)
    systems: tuple[str, ...] = ()
    page: Callable[[], str] | None = field(default=None, repr=False)
    reports: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(self.title))

    def _complete(self) -> list[Table]:
        """The tables, with notes and warnings below: what every format has. Commands print the remarks on stderr."""
        return visible([*self.tables, *remarks(self.notes, self.warnings)])

    def __str__(self) -> str:
        """The tables as in a terminal, without colours."""
        return terminal.text(self._complete())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html.fragment(self._complete())

    def records(self, table: str | None = None) -> list[dict[str, Any]]:
        """The records of the tables of a name, by default of those that say most: fractions as fractions."""
        return records(self.tables).get(table or self.main, [])

    def to_frame(self, table: str | None = None) -> Any:
        """A ``pandas.DataFrame``, one row a record, see ``records``."""
        import pandas as pd

        return pd.DataFrame.from_records(self.records(table))

    def to_latex(self) -> str:
        """One ``tabular`` a table, for the package booktabs."""
        return latex.latex(self._complete())

    def to_markdown(self) -> str:
        """GitHub-flavoured tables."""
        return markdown.markdown(self._complete())

    def to_html(self) -> str:
        """A complete page that needs no other file."""
        return html.page(self.title, self._complete()) if self.page is None else self.page()

    def to_csv(self) -> str:
        """The records as comma-separated values below a line of names, unrounded: fractions as fractions."""
        rows = self.records()
        stream = io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: csv_cell(value) for key, value in row.items()} for row in rows)
        return stream.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values: settings, notes, warnings, and the records of every table by its name."""
        return {
            "schema": f"vsebench/{self.kind}/2",
            **self.settings,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "tables": records(self.tables),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, atomically, in the format of its ending: .json, .tex, .md, .html or .csv.

        Raises:
            UsageError: another ending.
        """
        from ..files.atomic import write_atomically

        path = Path(path)
        if path.suffix.lower() not in ENDINGS:
            fix = f"end the name in {', '.join(ENDINGS)}"
            raise UsageError(f"unknown format '{path.suffix}'", where=path, fix=fix)
        with write_atomically(path, "w") as stream:
            text: str = getattr(self, f"to_{ENDINGS[path.suffix.lower()]}")()
            stream.write(text.rstrip("\n") + "\n")

    def plot(self) -> Any:
        """The charts as one: curves over k, with the intervals of what was measured, or slices.

        Returns:
            An ``altair`` chart, which a notebook shows and ``.save("chart.svg")`` writes.

        Raises:
            UsageError: there is nothing to draw.
            MissingPackage: altair is not installed (``pip install 'vsebench[report]'``).

        Example:
            >>> import numpy as np
            >>> import vsebench as vb
            >>> rng = np.random.default_rng(0)
            >>> images = rng.standard_normal((30, 8))
            >>> report = vb.evaluate(images, images + rng.standard_normal((30, 8)), captions_per_image=1)
            >>> report.plot().to_dict()["title"]["text"]
            'R@k'
        """
        return charts.plot(self.panels, self.systems)

    def figures(self, folder: str | os.PathLike[str], kind: str = "svg") -> list[Path]:
        """Write every chart to a separate svg, png or pdf file, see ``charts.write``; returns the files."""
        return charts.write(self.panels, self.systems, Path(folder), kind)

    def document(self, per_query: bool = True) -> dict[str, Any]:
        """The JSON document as plain values; ``per_query``: the reports in it have their per-query values."""
        systems = [{"name": name, "report": report.document(per_query)} for name, report in self.reports.items()]
        return self.to_dict() | ({"systems": systems} if systems else {})

    def to_json(self, per_query: bool = True) -> str:
        """The document as indented JSON text; ``per_query`` as for ``document``."""
        return json_text(self.document(per_query))

    def per_query(self) -> Any:
        """The per-query values of its reports as a ``pandas.DataFrame``, with their names.

        Raises:
            UsageError: it has no reports.
        """
        import pandas as pd

        if not self.reports:
            raise UsageError("has no per-query values", fix="call per_query() of a report")
        frames = [report.per_query() for report in self.reports.values()]
        for name, frame in zip(self.reports, frames, strict=True):
            frame.insert(0, "system", name)
        return pd.concat(frames, ignore_index=True)
