"""Tables of several systems: a row a system, a column a metric and direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import count_of
from ..options import spell
from ..relevance.sources import heading
from ..types import Direction
from .format import ARROWS, best_of
from .grid import Cell, Grid
from .model import MetricName

Column = tuple[MetricName, Direction | None]
CellsOf = Callable[[Column], Sequence[Cell]]


def wide(split: str, systems: Sequence[str], columns: Sequence[Column], cells_of: CellsOf, **more: Any) -> Grid:
    """A table with directions above the metrics, and their set of judgements or gains where there are several.

    Args:
        split: in the title, with the set of judgements or gains of the columns if they have one in common.
        systems: names, one a row.
        columns: metrics and directions; neighbours of one direction share a heading.
        cells_of: the cells of a column, one a system.
        more: of the grid.
    """
    views = {m.view: heading(m.view) for m, _ in columns}
    above = []
    for metric, direction in columns:
        view = views[metric.view] if len(views) > 1 and metric.view != "gt" else ""
        above.append(", ".join(filter(None, (view, "" if direction is None else ARROWS[direction]))))
    headings = (metric.name + ("" if metric.higher_is_better else " ↓") for metric, _ in columns)
    values = zip(*map(cells_of, columns), strict=True)
    rows = tuple((Cell(name), *row) for name, row in zip(systems, values, strict=True))
    title = f"{split} · {next(iter(views.values()))}" if len(views) == 1 else split
    return Grid(title, ("system", *headings), 1, rows, groups=("", *above), **more)


def of_paper(
    split: str, systems: Sequence[str], columns: Sequence[Column], named: bool, note: str, cells_of: CellsOf
) -> Grid:
    """The one table of a paper: all columns where they were named, otherwise those of the first view, with a note."""
    shown = [c for c in columns if named or c[0].view == columns[0][0].view]
    notes = [note]
    if left := len(columns) - len(shown):
        counted = count_of(left, "further column is", "further columns are")
        chooses = f"{spell('metrics')} chooses its columns, {spell('details', True)} adds tables"
        notes.append(f"{counted} not in this table: {chooses}.")
    return wide(split, systems, shown, cells_of, notes=tuple(notes), marks=best_of(len(systems)))
