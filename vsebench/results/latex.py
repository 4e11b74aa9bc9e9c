"""Grids -> LaTeX, for the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .grid import Cell, Grid, Kind, kinds_of, sentences, spans

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "→": r"$\to$", "↓": r"$\downarrow$", "−": "$-$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "τ": r"$\tau$",
    "ρ": r"$\rho$", "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "λ": r"$\lambda$", "μ": r"$\mu$",
    "σ": r"$\sigma$", "·": r"$\cdot$", "|": r"\textbar{}", "–": "--", "—": "---", "\u00a0": "~", '"': "''",
}  # fmt: skip


def latex(grids: Sequence[Grid]) -> str:
    """One ``tabular`` a grid; titles and notes are comments, so that a caption can be written around it."""
    return "\n".join(["% needs \\usepackage{booktabs}", *(_grid(g) for g in grids)]) + "\n"


def _grid(grid: Grid) -> str:
    kinds = kinds_of(grid)
    columns = "".join(map(_column, kinds))
    headings = [
        f"\\multicolumn{{2}}{{c}}{{{_escaped(text)}}}" if kind.aside else _escaped(text)
        for text, kind in zip(grid.headings, kinds, strict=True)
    ]
    lines = [f"% {_comment(grid.title)}"] if grid.title else []
    if not grid.rows:
        return "\n".join([*lines, *_comments(grid)])
    lines += [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", *_groups(grid, kinds), _line(headings), "\\midrule"]
    lines += [_line([_cell(c, kind) for c, kind in zip(row, kinds, strict=True)]) for row in grid.rows]
    lines += ["\\bottomrule", "\\end{tabular}", *_comments(grid)]
    return "\n".join(lines)


def _groups(grid: Grid, kinds: Sequence[Kind]) -> list[str]:
    """The line of groups above the headings, with rules below them; an aside takes a column of its own."""
    starts = [0]
    for kind in kinds:
        starts.append(starts[-1] + 1 + kind.aside)
    above, rules, at = [], [], 0
    for text, first, stop in spans(grid):
        above += [""] * (first - at)
        above.append(f"\\multicolumn{{{starts[stop] - starts[first]}}}{{c}}{{{_escaped(text)}}}")
        rules.append(f"\\cmidrule(lr){{{starts[first] + 1}-{starts[stop]}}}")
        at = stop
    above += [""] * (len(kinds) - at)
    return [_line(above), " ".join(rules)] if rules else []


def _column(kind: Kind) -> str:
    """Numbers flush right, and asides in a column of their own, so that digits align."""
    return "l" if kind.words else "r@{ }l" if kind.aside else "r"


def _cell(cell: Cell, kind: Kind) -> str:
    escaped = _escaped if kind.words else _number
    text = escaped(cell.text)
    text = f"\\textbf{{{text}}}" if cell.best and text else text
    text = f"\\underline{{{text}}}" if cell.second and text else text
    mark = _raised(cell.mark) if cell.mark else ""
    if kind.words:
        return f"{text}{mark} {escaped(cell.aside)}" if cell.aside else text + mark
    rest = kind.mark[len(cell.mark) :]  # every number leaves room for the longest mark of its column
    text += mark + (f"\\hphantom{{{_raised(rest)}}}" if rest and text else "")
    return f"{text} & {escaped(cell.aside)}" if kind.aside else text


def _raised(mark: str) -> str:
    return f"\\textsuperscript{{{'$-$' if mark == '-' else _escaped(mark)}}}"


def _number(text: str) -> str:
    """Hyphens in front of digits are minus signs."""
    return "$-$".join(_escaped(part) for part in re.split(r"-(?=\d)", text))


def _line(texts: Sequence[str]) -> str:
    # a row that starts with a bracket or a star would be taken for an option of the \\ before it
    first = "{}" + texts[0] if texts[0].startswith(("[", "*")) else texts[0]
    return " & ".join([first, *texts[1:]]) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in text if c.isprintable() or c == "\u00a0")


def _comments(grid: Grid) -> list[str]:
    warnings = (f"warning: {text}" for text in grid.warnings)
    return [f"% {_comment(text)}" for text in (*sentences(grid), *filter(None, [grid.literal]), *warnings)]


def _comment(text: str) -> str:
    return " ".join(text.split())
