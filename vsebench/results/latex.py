"""Tables -> LaTeX, for the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .table import Printed, Table

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "→": r"$\to$", "↓": r"$\downarrow$", "−": "$-$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "τ": r"$\tau$",
    "ρ": r"$\rho$", "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "λ": r"$\lambda$", "μ": r"$\mu$",
    "σ": r"$\sigma$", "·": r"$\cdot$", "|": r"\textbar{}", "–": "--", "—": "---", "\u00a0": "~", '"': "''",
}  # fmt: skip


def latex(tables: Sequence[Table]) -> str:
    """One ``tabular`` a table; titles and notes are comments, so that a caption can be written around it."""
    return "\n".join(["% needs \\usepackage{booktabs}", *map(_table, tables)]) + "\n"


def _table(table: Table) -> str:
    """Numbers flush right, and asides in a separate column, so that digits align."""
    lines = [f"% {_comment(table.title)}"] if table.title else []
    comments = [f"% {_comment(text)}" for text in (*table.sentences(), *filter(None, [table.literal]))]
    comments += [f"% {_comment(f'warning: {text}')}" for text in table.warnings]
    if not table.cells:
        return "\n".join([*lines, *comments])
    kinds = [
        "l" if column.words else "r@{ }l" if aside else "r"
        for column, (_, aside) in zip(table.columns, table.room, strict=True)
    ]
    headings = [
        f"\\multicolumn{{2}}{{c}}{{{_escaped(column.heading)}}}" if aside else _escaped(column.heading)
        for column, (_, aside) in zip(table.columns, table.room, strict=True)
    ]
    lines += [f"\\begin{{tabular}}{{{''.join(kinds)}}}", "\\toprule", *_groups(table), _line(headings), "\\midrule"]
    for row in table.cells:
        cells = zip(row, table.columns, table.room, strict=True)
        lines.append(_line([_cell(cell, column.words, *room) for cell, column, room in cells]))
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *comments])


def _groups(table: Table) -> list[str]:
    """The line of groups above the headings, with rules below them; an aside takes a separate column."""
    starts = [0]
    for _, aside in table.room:
        starts.append(starts[-1] + 1 + aside)
    above, rules, at = [], [], 0
    for text, first, stop in table.spans:
        above += [""] * (first - at)
        above.append(f"\\multicolumn{{{starts[stop] - starts[first]}}}{{c}}{{{_escaped(text)}}}")
        rules.append(f"\\cmidrule(lr){{{starts[first] + 1}-{starts[stop]}}}")
        at = stop
    above += [""] * (len(table.columns) - at)
    return [_line(above), " ".join(rules)] if rules else []


def _cell(cell: Printed, words: bool, longest: str, asides: bool) -> str:
    escaped = _escaped if words else _number
    text = escaped(cell.text)
    text = f"\\textbf{{{text}}}" if cell.best and text else text
    text = f"\\underline{{{text}}}" if cell.second and text else text
    mark = _raised(cell.mark) if cell.mark else ""
    if words:
        return f"{text}{mark} {escaped(cell.aside)}" if cell.aside else text + mark
    rest = longest[len(cell.mark) :]  # every number leaves room for the longest mark of its column
    text += mark + (f"\\hphantom{{{_raised(rest)}}}" if rest and text else "")
    return f"{text} & {escaped(cell.aside)}" if asides else text


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


def _comment(text: str) -> str:
    return " ".join(text.split())
