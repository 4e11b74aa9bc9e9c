"""Grids: tables of text. Results decide the text of a cell, renderers its look in their format.

Text from outside (ids, names) is cleaned here, for all renderers (``errors.printable``).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import printable


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: as printed.
        mark: a superscript behind the text.
        aside: what belongs to the text and may be dim or on a second line, such as an interval.
        best: to be set in bold.
        second: to be underlined.
    """

    text: str
    mark: str = ""
    aside: str = ""
    best: bool = False
    second: bool = False

    def __post_init__(self) -> None:
        for name in ("text", "mark", "aside"):
            object.__setattr__(self, name, printable(getattr(self, name)))


@dataclass(frozen=True)
class Grid:
    """One table.

    Attributes:
        title: above the table.
        headings: one a column.
        words: one a column, whether it holds words; the others hold numbers and are set to the right.
        rows: cells, as many as headings.
        notes: sentences below the table.
        literal: a line below the notes that no renderer wraps, such as a signature.
        groups: one a column, what stands above its heading; neighbours with one group share it. Empty without groups.
        marks: what cells are that are ``best`` and ``second``, or empty texts; a renderer says how it marks them.
        warnings: what may be wrong, below the notes.
    """

    title: str
    headings: tuple[str, ...]
    words: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    literal: str = ""
    groups: tuple[str, ...] = ()
    marks: tuple[str, str] = ("", "")
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("title", "literal"):
            object.__setattr__(self, name, printable(getattr(self, name)))
        for name in ("headings", "notes", "warnings"):
            object.__setattr__(self, name, tuple(map(printable, getattr(self, name))))


@dataclass(frozen=True)
class Kind:
    """What a column of a grid contains.

    Attributes:
        words: words instead of numbers.
        mark: the longest mark of its numbers.
        aside: some of its numbers have asides.
    """

    words: bool
    mark: str = ""
    aside: bool = False


def kinds_of(grid: Grid) -> list[Kind]:
    """One a column: what renderers that align numbers digit by digit must leave room for."""
    kinds = []
    for i, words in enumerate(grid.words):
        column = [row[i] for row in grid.rows]
        mark = max((c.mark for c in column), key=len, default="")
        kinds.append(Kind(True) if words else Kind(False, mark, any(c.aside for c in column)))
    return kinds


def spans(grid: Grid) -> list[tuple[str, int, int]]:
    """Every group with its first column and the one behind its last; columns without a group are left out."""
    found: list[tuple[str, int, int]] = []
    for i, group in enumerate(grid.groups):
        if found and found[-1][0] == group and found[-1][2] == i:
            found[-1] = (group, found[-1][1], i + 1)
        elif group:
            found.append((group, i, i + 1))
    return found


def flat_headings(grid: Grid) -> list[str]:
    """The headings with their groups in front, for formats without cells above others."""
    groups = grid.groups or [""] * len(grid.headings)
    return [f"{group} {heading}".strip() for group, heading in zip(groups, grid.headings, strict=True)]


def sentences(grid: Grid, bold: str = "in bold", underlined: str = "underlined") -> tuple[str, ...]:
    """The notes of a grid, and one on its marks: ``Best in bold, second best underlined.``

    Args:
        grid: the table.
        bold, underlined: how its format marks the best and the second.
    """
    marks = [f"{what} {how}" for what, how in zip(grid.marks, (bold, underlined), strict=True) if what]
    words = ", ".join(marks)
    return (*grid.notes, *([f"{words[0].upper()}{words[1:]}."] if words else []))


def cells(*texts: str) -> tuple[Cell, ...]:
    """Plain cells."""
    return tuple(Cell(t) for t in texts)
