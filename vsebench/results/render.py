"""Results: tables with notes, warnings and settings, from which all formats are made."""

from __future__ import annotations

import csv
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

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


class _Formats:
    """Every format, made of tables, notes, warnings and settings."""

    if TYPE_CHECKING:
        kind: str
        main: str

    @property
    def tables_(self) -> Sequence[Table]:
        """The tables."""
        return getattr(self, "tables")  # type: ignore[no-any-return]  # noqa: B009 (a field of one, a property of others)

    @property
    def title_(self) -> str:
        """The title of a page."""
        return str(getattr(self, "title"))  # noqa: B009

    @property
    def remarks(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The notes (what was decided) and the warnings (what may be wrong); empty where a result has none."""
        return getattr(self, "notes", ()), getattr(self, "warnings", ())

    def _settings(self) -> dict[str, Any]:
        return {}

    def _for_paper(self) -> Sequence[Table]:
        """The tables in LaTeX."""
        return self.tables_

    def _complete(self) -> list[Table]:
        """The tables, with notes and warnings below: what every format has. Commands print the remarks on stderr."""
        return visible([*self.tables_, *remarks(*self.remarks)])

    def __str__(self) -> str:
        """The tables as in a terminal, without colours."""
        return terminal.text(self._complete())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html.fragment(self._complete())

    def records(self, table: str | None = None) -> list[dict[str, Any]]:
        """The records of the tables of a name, by default of those that say most: fractions as fractions."""
        return records(self.tables_).get(table or self.main, [])

    def to_frame(self, table: str | None = None) -> Any:
        """A ``pandas.DataFrame``, one row a record, see ``records``."""
        import pandas as pd

        return pd.DataFrame.from_records(self.records(table))

    def to_latex(self) -> str:
        """One ``tabular`` a table, for the package booktabs; of several systems one in all."""
        return latex.latex(visible([*self._for_paper(), *remarks(*self.remarks)]))

    def to_markdown(self) -> str:
        """GitHub-flavoured tables."""
        return markdown.markdown(self._complete())

    def to_html(self) -> str:
        """A complete page that needs no other file."""
        made = getattr(self, "page", None)
        return html.page(self.title_, self._complete()) if made is None else str(made())

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
        notes, warnings = self.remarks
        return {
            "schema": f"vsebench/{self.kind}/2",
            **self._settings(),
            "notes": list(notes),
            "warnings": list(warnings),
            "tables": records(self.tables_),
        }

    def to_json(self) -> str:
        """The document as indented JSON text."""
        return json_text(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, atomically, in the format of its ending: .json, .tex, .md, .html or .csv.

        Raises:
            UsageError: another ending.
        """
        from ..files.atomic import write_atomically

        path = Path(path)
        if path.suffix.lower() not in ENDINGS:
            fix = f"end the name in {', '.join(ENDINGS)}"
            raise UsageError(f"no format is called '{path.suffix}'", where=path, fix=fix)
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
        return charts.plot(getattr(self, "panels", ()), getattr(self, "systems", ()) or (getattr(self, "split", ""),))

    def figures(self, folder: str | os.PathLike[str], kind: str = "svg") -> list[Path]:
        """Write every chart to a file of its own, as svg, png or pdf: ``charts.write``; the files."""
        panels, systems = getattr(self, "panels", ()), getattr(self, "systems", ())
        return charts.write(panels, systems, Path(folder), kind)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(_Formats):
    """What an analysis found: tables, with notes, warnings, settings and charts. ``print`` and notebooks show it.

    Attributes:
        kind: of its JSON document, as in the schema ``vsebench/slices/2``.
        title: of its page.
        tables: what it shows; all formats are made of them.
        main: the name of the tables whose records ``to_frame`` and CSV have.
        settings: what its JSON document has beside tables, notes and warnings, as plain values.
        paper: the tables in LaTeX, where they are others.
        panels: its charts.
        systems: the names of what the charts compare.
        page: makes its HTML, where that has more than the tables.
        notes: what was decided.
        warnings: what may be wrong.
    """

    kind: str
    title: str
    tables: Sequence[Table]
    main: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    paper: tuple[Table, ...] = ()
    panels: Sequence[charts.Panel] = ()
    systems: tuple[str, ...] = ()
    page: Callable[[], str] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def _settings(self) -> dict[str, Any]:
        return dict(self.settings)

    def _for_paper(self) -> Sequence[Table]:
        return self.paper or self.tables


class Rendered(_Formats, ABC):
    """What is printed, shown in a notebook, and written as LaTeX, Markdown, HTML, CSV, JSON or a data frame.

    Attributes:
        kind: of the document, as in the schema ``vsebench/slices/2``.
        heading: the title of a page, with attributes in braces.
        main: the name of the tables whose records data frames and CSV have.
        settings: attributes of the document beside its tables.
    """

    heading: ClassVar[str]
    settings: ClassVar[tuple[str, ...]] = ()

    @property
    def title(self) -> str:
        """The title of a page."""
        return printable(self.heading.format_map(vars(self)))

    @property
    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables."""

    def _settings(self) -> dict[str, Any]:
        return {name: _plain(getattr(self, name)) for name in self.settings}


class Drawn(Rendered):
    """A result that can be drawn as well."""

    split: str

    @property
    @abstractmethod
    def panels(self) -> list[charts.Panel]:
        """The charts."""


def _plain(value: Any) -> Any:
    """A setting as a value of JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value
