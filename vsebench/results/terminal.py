"""Tables -> terminal, with rich."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import Printed, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

GAP = 3  # columns between two columns of a table
BEST, SECOND, SIGNIFICANT = "^", "_", "*"  # behind a number: bold and underlined are lost without a terminal
MIN_WIDTH = 4  # width of a column of words, and of any column of a terminal that is too narrow for the numbers
MAX_UNFOLDED = 16  # columns of a word that is not folded


def text(tables: Sequence[Table]) -> str:
    """The tables as plain text, as wide as the terminal, or 120 columns without one."""
    from rich.console import Console

    stream = io.StringIO()
    width = shutil.get_terminal_size((120, 24)).columns
    show(tables, Console(file=stream, width=width, color_system=None, force_terminal=False, force_jupyter=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))


def show(tables: Sequence[Table], console: Console) -> None:
    """Print every table with its title and notes; asides are below their numbers in a narrow terminal.

    Args:
        tables: what to print.
        console: where; rich leaves out colour when it is not a terminal or NO_COLOR is set.
    """
    from rich.text import Text

    beside = all(sum(_natural(t, True)) + GAP * len(t.columns) - 1 <= console.width for t in tables if t.cells)
    above = False
    for table in tables:
        if above and table.title:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        for part in _parts(table, console.width) if table.cells else ():
            drawn = _table(part, console.width, beside)
            if part.spans:
                console.print(_groups(part, [column.width or 0 for column in drawn.columns]))
                drawn.show_edge = False
            console.print(drawn)
            if part.spans:
                console.print()
        notes = table.sentences(_sign(table), SECOND)
        for note in notes:
            console.print(Text(note), style="dim")
        if table.literal:
            console.print(Text(table.literal), style="dim", soft_wrap=True)
        for warning in table.warnings:
            console.print(Text(f"warning: {warning}"), style="yellow")
        above = bool(notes)


def _parts(table: Table, width: int) -> list[Table]:
    """The table, or the parts of one that is too wide: the columns of words that lead it, and the numbers that fit."""
    least = _least(table)
    lead = next((i for i, column in enumerate(table.columns) if not column.words), len(least))
    if sum(least) + GAP * (len(least) - 1) <= width or lead in (0, len(least)):
        return [table]
    first, parts, room = list(range(lead)), [list[int]()], width - sum(least[:lead]) - GAP * lead
    left = room
    for i in range(lead, len(least)):
        if parts[-1] and least[i] > left:
            parts.append([])
            left = room
        parts[-1].append(i)
        left -= least[i] + GAP
    return [table.part([*first, *numbers]) for numbers in parts]


def _least(table: Table) -> list[int]:
    """The widths of the columns where headings and words are folded between words only; long names are folded, too."""
    found = []
    for column, text, cells in zip(table.columns, _texts(table), zip(*table.cells, strict=True), strict=True):
        names = [len(word) for cell in cells for word in cell.text.split(" ")] if column.words else [text]
        found.append(max(min(max(names), MAX_UNFOLDED) if column.words else text, *map(len, column.heading.split(" "))))
    return found


def _natural(table: Table, beside: bool) -> list[int]:
    """The widths of the columns where nothing is folded."""
    columns = zip(table.columns, _texts(table), _longest(table, "aside"), strict=True)
    widths = [
        max(len(column.heading), text + (aside and aside + 1) if beside else max(text, aside))
        for column, text, aside in columns
    ]
    for text, first, stop in table.spans:
        room = sum(widths[first:stop]) + GAP * (stop - first - 1)
        widths[first] += max(0, len(text) - room)
    return widths


def _texts(table: Table) -> list[int]:
    """The widths of the columns without asides and headings."""
    longest = zip(_longest(table, "text"), _starred(table), _longest(table, "mark"), strict=True)
    return [t + star + (m and m + 1) for t, star, m in longest]


def _starred(table: Table) -> list[bool]:
    """The columns that leave room for the sign of the best and the second."""
    return [any(cell.best or cell.second for cell in column) for column in zip(*table.cells, strict=True)]


def _longest(table: Table, part: str) -> list[int]:
    return [max(len(getattr(cell, part)) for cell in column) for column in zip(*table.cells, strict=True)]


def _fitted(natural: list[int], least: list[int], room: int) -> list[int]:
    """Widths that add up to ``room``: the widest column is narrowed first, below ``least`` only when all are there."""
    widths = list(natural)
    for floor in (least, [MIN_WIDTH] * len(least)):
        while sum(widths) > room:
            spare = [i for i, width in enumerate(widths) if width > floor[i]]
            if not spare:
                break
            widths[max(spare, key=lambda i: widths[i])] -= 1
    return widths


def _table(table: Table, width: int, beside: bool) -> Drawn:
    """A rich table at most ``width`` wide; asides are beside their numbers or below them."""
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    least = _least(table)
    widths = _fitted(_natural(table, beside), least, width - GAP * len(least) + 1)
    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, n in zip(table.columns, widths, strict=True):
        drawn.add_column(Text(column.heading), justify="left" if column.words else "right", overflow="fold", width=n)
    marks = _longest(table, "mark")
    asides = _longest(table, "aside") if beside else [0] * len(marks)
    starred = _starred(table)
    for row in table.cells:
        pairs = zip(row, starred, strict=True)
        signs = [(_sign(table) if x.best else SECOND if x.second else " ") * room for x, room in pairs]
        drawn.add_row(*(_cell(*parts) for parts in zip(row, signs, marks, asides, strict=True)))
    return drawn


def _sign(table: Table) -> str:
    """What is behind the bold numbers of a table: the best values, or significant differences."""
    return BEST if table.best else SIGNIFICANT


def _groups(table: Table, widths: list[int]) -> Text:
    """The line of groups, each centred over its columns."""
    from rich.text import Text

    line = ""
    for text, first, stop in table.spans:
        start = sum(widths[:first]) + GAP * first
        room = sum(widths[first:stop]) + GAP * (stop - first - 1)
        line = line.ljust(start) + text[:room].center(room)
    return Text("\n" + line.rstrip(), no_wrap=True)


def _cell(cell: Printed, sign: str, mark: int, aside: int) -> Text:
    """The text with its mark and aside, filled up to the widths of their column so that digits align.

    Args:
        cell: what to draw.
        sign: of the best, the second or a significant difference; a space if others in the column have one.
        mark: width of the longest mark of the column.
        aside: width of the longest aside, 0 to put asides on a second line.
    """
    from rich.text import Text

    drawn = Text(cell.text)
    if cell.best or cell.second:
        drawn.stylize("bold" if cell.best else "underline", 0, len(cell.text))
    drawn.append(sign)
    if mark:
        drawn.append(f" {cell.mark:<{mark}}", style="dim")
    if cell.aside:
        drawn.append(f" {cell.aside:<{aside}}" if aside else f"\n{cell.aside}", style="dim")
    elif aside and cell.text:
        drawn.append(" " * (aside + 1))
    return drawn
