"""Grids -> LaTeX, for the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from .grid import Cell, Grid

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "→": r"$\to$", "↓": r"$\downarrow$", "−": "$-$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "τ": r"$\tau$",
    "·": r"$\cdot$", "–": "--", "—": "---", "\u00a0": "~", '"': "''",
}  # fmt: skip


def latex(grids: Sequence[Grid]) -> str:
    """One ``tabular`` a grid; titles and notes are comments, so that a caption can be written around it."""
    return "\n".join(["% needs \\usepackage{booktabs}", *(_grid(g) for g in grids)]) + "\n"


def _grid(grid: Grid) -> str:
    columns = "l" * grid.words + "r" * (len(grid.headings) - grid.words)
    lines = [f"% {_comment(grid.title)}"] if grid.title else []
    if not grid.rows:
        return "\n".join([*lines, *(f"% {_comment(note)}" for note in grid.notes)])
    lines += [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", _line([_escaped(h) for h in grid.headings]), "\\midrule"]
    lines += [_line([_cell(c) for c in row]) for row in grid.rows]
    lines += ["\\bottomrule", "\\end{tabular}", *(f"% {_comment(note)}" for note in grid.notes)]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    text = f"\\textbf{{{text}}}" if cell.best and text else text
    mark = f"\\textsuperscript{{{_escaped(cell.mark)}}}" if cell.mark else ""
    # a bracket after \\ would be read as its argument; asides never start a line
    return f"{text}{mark} {_escaped(cell.aside)}" if cell.aside else text + mark


def _line(texts: Sequence[str]) -> str:
    # a row that starts with a bracket would be taken for an option of the \\ before it
    first = "{}" + texts[0] if texts[0].startswith("[") else texts[0]
    return " & ".join([first, *texts[1:]]) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in text if c.isprintable() or c == "\u00a0")


def _comment(text: str) -> str:
    return " ".join(text.split())
