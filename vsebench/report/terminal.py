"""Table -> terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .grid import Grid
from .model import Report
from .table import interval_words, sections

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDE = 96  # columns from which on intervals stand beside their values


def show(report: Report, console: Console) -> None:
    """Print a report: one table for each set of judgements, then the signature.

    Args:
        report: what to print.
        console: where; rich leaves out colour when it is not a terminal or NO_COLOR is set.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = sections(report)
    if not found:
        console.print("nothing to show: no metric that was asked for has a value")
        console.print(report.signature, style="dim", soft_wrap=True, highlight=False)
        return
    for section in found:
        table = Table(
            title=section.title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False
        )
        table.add_column("metric", overflow="fold")
        for heading in (*section.headings, "sum"):
            # A number is never cut short; on a narrow terminal the headings fold.
            table.add_column(heading, justify="right", overflow="fold", min_width=6)
        table.add_column("queries", justify="right", style="dim")
        has_sum = any(row[3] for row in section.rows)
        if not has_sum:
            table.columns.pop(3)
        widths = [max(map(len, ends)) if console.width >= WIDE else 0 for ends in zip(*section.intervals, strict=True)]
        for (name, *values, n), intervals in zip(section.rows, section.intervals, strict=True):
            cells = [cell(v, ends, wide) for v, ends, wide in zip(values, intervals, widths, strict=True)]
            table.add_row(Text(name), *(cells if has_sum else cells[:2]), n)
        console.print(table)
    words = "Fractions are printed times 100, ranks as ranks (↓ lower is better)."
    if report.intervals is not None and any(r.interval for r in report.results):
        words += f" {interval_words(report.intervals)}."
    console.print(words, style="dim")
    console.print(report.signature, style="dim", soft_wrap=True, highlight=False)


def cell(value: str, ends: str, width: int) -> Text:
    """A value and its interval side by side, the interval filled up to ``width``; below each other when that is 0."""
    from rich.text import Text

    if not ends:
        return Text(value + " " * (width + 1 if value and width else 0))
    return Text.assemble(value, (f" {ends:<{width}}" if width else f"\n{ends}", "dim"))


def show_grid(grid: Grid, console: Console) -> None:
    """Print a grid and its notes; the aside of a cell goes below it on a narrow terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if grid.title:
        console.print(Text(grid.title, style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    marks, asides, natural = [], [], 0
    for i, heading in enumerate(grid.headings):
        column = [row[i] for row in grid.rows]
        marks.append(max((len(c.mark) for c in column), default=0))
        asides.append(max((len(c.aside) for c in column), default=0))
        beside = max((len(c.text) for c in column), default=0) + marks[-1] + asides[-1] + bool(marks[-1] or asides[-1])
        natural += max(len(heading), beside) + 3
        table.add_column(Text(heading), justify="left" if i < grid.words else "right", overflow="fold", min_width=4)
    if natural > console.width:
        asides = [0] * len(asides)
    for row in grid.rows:
        drawn = []
        for c, mark, aside in zip(row, marks, asides, strict=True):
            text = cell(c.text, c.aside, aside) if not mark else Text(c.text)
            if c.best:
                text.stylize("bold", 0, len(c.text))
            if mark:
                text.append(f" {c.mark:<{mark}}", style="dim")
            drawn.append(text)
        table.add_row(*drawn)
    if grid.rows:
        console.print(table)
    for note in grid.notes:
        console.print(Text(note), style="dim")
