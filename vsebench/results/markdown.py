"""Tables -> Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .table import Printed, Table


def markdown(tables: Sequence[Table]) -> str:
    """GitHub-flavoured tables with their notes below."""
    return "\n".join(map(_table, tables))


def _table(table: Table) -> str:
    lines = [f"### {_escaped(table.title)}", ""] if table.title else []
    if table.cells:  # no cell stands above others: groups are in front of their headings
        lines.append(_line([_escaped(f"{column.group} {column.heading}".strip()) for column in table.columns]))
        lines.append(_line(["---" if column.words else "---:" for column in table.columns]))
    lines += [_line(list(map(_cell, row))) for row in table.cells]
    lines += [f"\n{_escaped(note)}" for note in table.sentences()]
    lines += [f"\n{_code(table.literal)}"] if table.literal else []
    lines += [f"\n**warning:** {_escaped(warning)}" for warning in table.warnings]
    return "\n".join(lines) + "\n"


def _cell(cell: Printed) -> str:
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
