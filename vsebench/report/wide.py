"""Tables of several systems: a row a system, a column a metric and direction."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import count_of
from ..options import spell
from ..relevance.judgements.table import JUDGEMENTS
from ..types import Direction
from .format import ARROWS
from .grid import Cell, Grid
from .model import MetricName

Column = tuple[MetricName, Direction | None]


def wide(title: str, systems: Sequence[str], columns: Sequence[Column], values: Sequence[Sequence[Cell]]) -> Grid:
    """A table with directions above the metrics, and their set of judgements or gains where there are several.

    Args:
        title: above it.
        systems: names, one a row.
        columns: metrics and directions; neighbours of one direction share a heading.
        values: one row a system, one cell a column.
    """
    several = len({metric.view for metric, _ in columns}) > 1
    above = [_above(column, several) for column in columns]
    headings = (metric.name + ("" if metric.higher_is_better else " ↓") for metric, _ in columns)
    rows = tuple((Cell(name), *row) for name, row in zip(systems, values, strict=True))
    return Grid(title, ("system", *headings), 1, rows, groups=("", *above))


def _above(column: Column, several: bool) -> str:
    metric, direction = column
    view = _view(metric.view) if several and metric.view != "gt" else ""
    return ", ".join(filter(None, (view, "" if direction is None else ARROWS[direction])))


def _view(view: str) -> str:
    return JUDGEMENTS[view].heading if view in JUDGEMENTS else view


def title(split: str, columns: Sequence[Column]) -> str:
    """The split, and the set of judgements or gains of the columns if they have one in common."""
    views = {metric.view for metric, _ in columns}
    return f"{split} · {_view(views.pop())}" if len(views) == 1 else split


def main(columns: Sequence[Column], named: bool) -> list[Column]:
    """The columns of the one table of a paper: all that were named, otherwise those of the first view."""
    return [c for c in columns if named or c[0].view == columns[0][0].view]


def further(columns: Sequence[Column], shown: Sequence[Column]) -> tuple[str, ...]:
    """No or one note about columns that are not in the table of a paper."""
    if not (left := len(columns) - len(shown)):
        return ()
    counted = count_of(left, "further column is", "further columns are")
    return (
        f"{counted} not in this table: {spell('metrics')} chooses its columns, {spell('details', True)} adds tables.",
    )
