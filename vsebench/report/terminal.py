"""Table -> terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import Report
from .table import sections

if TYPE_CHECKING:
    from rich.console import Console


def show(report: Report, console: Console) -> None:
    """Print a report: one table for each set of judgements, then the signature.

    Args:
        report: what to print.
        console: where; rich leaves out colour when it is not a terminal or NO_COLOR is set.
    """
    from rich import box
    from rich.table import Table

    for section in sections(report):
        table = Table(
            title=section.title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False
        )
        table.add_column("metric", overflow="fold")
        for heading in ("image→text", "text→image", "sum"):
            # A number is never cut short; on a narrow terminal the headings fold.
            table.add_column(heading, justify="right", overflow="fold", min_width=6)
        table.add_column("queries", justify="right", style="dim")
        has_sum = any(row[3] for row in section.rows)
        if not has_sum:
            table.columns.pop(3)
        for name, i2t, t2i, both, n in section.rows:
            table.add_row(name, i2t, t2i, *([both] if has_sum else []), n)
        console.print(table)
    console.print("Fractions are printed times 100, ranks as ranks (↓ lower is better).", style="dim")
    console.print(report.signature, style="dim", soft_wrap=True, highlight=False)
