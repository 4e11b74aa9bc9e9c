"""Tables of several systems: a row a system, a column a metric and direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..errors import count_of
from ..options import spell
from ..relevance.sources import heading
from ..types import Direction
from .format import ARROWS
from .model import MetricName
from .table import Column, Entry, Table, arrow

Key = tuple[MetricName, Direction | None]
K = TypeVar("K", bound=Key)
ValuesOf = Callable[[Key], Sequence[Entry]]
DIRECTIONS = ("i2t", "t2i", "i2i", "t2t", None)  # the order of columns: those of one direction together, then sums


def in_order(keys: Iterable[K]) -> list[K]:
    """The columns of one set of judgements or gains together, in the order of their first ones, by direction."""
    keys = list(keys)
    views = list(dict.fromkeys(metric.view for metric, _ in keys))
    return sorted(keys, key=lambda key: (views.index(key[0].view), DIRECTIONS.index(key[1])))


def wide(split: str, systems: Sequence[Entry], keys: Sequence[Key], values_of: ValuesOf, **more: Any) -> Table:
    """A table with directions above the metrics, and their set of judgements or gains where there are several.

    Args:
        split: in the title, with the set of judgements or gains of the columns if they have one in common.
        systems: names, one a row.
        keys: metrics and directions, one a column; neighbours of one direction share a heading.
        values_of: the values of a column, one a system.
        more: of the table.
    """
    views = {m.view: heading(m.view) for m, _ in keys}
    columns = [Column("system", words=True)]
    for metric, direction in keys:
        view = views[metric.view] if len(views) > 1 and metric.view != "gt" else ""
        above = ", ".join(filter(None, (view, "" if direction is None else ARROWS[direction])))
        fields = {"metric": str(metric), "direction": direction}
        columns.append(Column(metric.name + arrow(metric.higher_is_better), fields=fields, group=above))
    rows = tuple((name, *row) for name, row in zip(systems, zip(*map(values_of, keys), strict=True), strict=True))
    title = f"{split} · {next(iter(views.values()))}" if len(views) == 1 else split
    return Table("values", title, tuple(columns), rows, best="column", **more)


def of_paper(
    split: str,
    systems: Sequence[Entry],
    keys: Sequence[Key],
    named: bool,
    note: str,
    values_of: ValuesOf,
    intervals: bool,
) -> Table:
    """The one table of a paper: all columns where they were named, otherwise those of the first view, with a note."""
    shown = [key for key in keys if named or key[0].view == keys[0][0].view]
    notes = [note]
    if left := len(keys) - len(shown):
        counted = count_of(left, "further column is", "further columns are")
        notes.append(f"{counted} not in this table: {spell('metrics')} chooses its columns.")
    return wide(split, systems, shown, values_of, notes=tuple(notes), brackets=intervals)
