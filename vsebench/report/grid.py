"""Grids: tables of text that every renderer can draw. What stands in a cell is decided before, how it looks after."""

from __future__ import annotations

from dataclasses import dataclass

ARROWS = {"i2t": "image→text", "t2i": "text→image", "i2i": "image→image", "t2t": "text→text", None: "sum"}


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: as printed.
        mark: a superscript behind it.
        aside: what belongs to the text and may be dim or on a second line, such as an interval.
        best: to be set in bold.
    """

    text: str
    mark: str = ""
    aside: str = ""
    best: bool = False

    def plain(self) -> str:
        """Text and aside on one line."""
        return f"{self.text} {self.aside}" if self.aside else self.text


@dataclass(frozen=True)
class Grid:
    """One table.

    Attributes:
        title: above it.
        headings: one a column.
        words: how many columns, from the left, hold words; the others hold numbers and are set to the right.
        rows: cells, as many as headings.
        notes: sentences below it.
    """

    title: str
    headings: tuple[str, ...]
    words: int
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """What a column of a grid holds.

    Attributes:
        words: not numbers.
        mark: the longest mark of its numbers.
        aside: its numbers have asides.
    """

    words: bool
    mark: str = ""
    aside: bool = False


def kinds_of(grid: Grid) -> list[Kind]:
    """One a column: what renderers that line numbers up digit by digit must leave room for."""
    columns = [[row[i] for row in grid.rows] for i in range(len(grid.headings))]
    return [
        Kind(True)
        if i < grid.words
        else Kind(False, max((c.mark for c in column), key=len, default=""), any(c.aside for c in column))
        for i, column in enumerate(columns)
    ]


def cells(*texts: str) -> tuple[Cell, ...]:
    """Plain cells."""
    return tuple(Cell(t) for t in texts)


def probability(p: float) -> str:
    """A p-value as printed: four decimals, or one digit and an exponent when it is smaller."""
    return f"{p:.4f}" if p >= 0.00005 or p == 0 else f"{p:.0e}"
