"""Grids -> Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .grid import Cell, Grid, flat_headings, sentences


def markdown(grids: Sequence[Grid]) -> str:
    """GitHub-flavoured tables with their notes below."""
    return "\n".join(_grid(g) for g in grids)


def _grid(grid: Grid) -> str:
    lines = [f"### {_escaped(grid.title)}", ""] if grid.title else []
    if grid.rows:
        lines.append(_line([_escaped(h) for h in flat_headings(grid)]))
        lines.append(_line(["---" if words else "---:" for words in grid.words]))
    lines += [_line([_cell(c) for c in row]) for row in grid.rows]
    lines += [f"\n{_escaped(note)}" for note in sentences(grid)]
    lines += [f"\n{_code(grid.literal)}"] if grid.literal else []
    lines += [f"\n**warning:** {_escaped(warning)}" for warning in grid.warnings]
    return "\n".join(lines) + "\n"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    text = f"**{text}**" if cell.best and text else text
    text = f"<u>{text}</u>" if cell.second and text else text
    mark = f"<sup>{_escaped(cell.mark)}</sup>" if cell.mark else ""
    return f"{text}{mark} {_escaped(cell.aside)}" if cell.aside else text + mark


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _code(text: str) -> str:
    """Literal text, between more backticks than are in a row in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}" if fence == "`" else f"{fence} {text} {fence}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#~$&])", r"\\\1", " ".join(text.split()))
