"""``vsebench doctor``: shows the checks of the installation (``health``) and what to do about faults."""

from __future__ import annotations

import typer

from ..errors import GATE_NOT_MET
from .command import command
from .terminal import Terminal, cells

MARKS = {"ok": ("ok", "green"), "absent": ("--", "dim"), "fault": ("!!", "red")}


@command
def run(terminal: Terminal) -> None:
    """Report what is installed and whether it works; exit code 1 when there is a fault."""
    from . import health

    findings = health.examine()
    if terminal.json:
        terminal.emit({"schema": "vsebench/doctor/1", "findings": [f.to_json() for f in findings]})
    else:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("", "what", "found", "what to do"):
            table.add_column(heading, overflow="fold")  # names of files are never cut
        for f in findings:
            mark, style = MARKS[f.state]
            table.add_row(*cells(Text(mark, style), f.name, f.detail, f.fix or ""))
        terminal.out.print(table)
    if any(f.state == "fault" for f in findings):
        raise typer.Exit(GATE_NOT_MET)
