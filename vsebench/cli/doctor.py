"""``vsebench doctor``: shows the checks of the installation (``health``) and what to do about faults."""

from __future__ import annotations

from dataclasses import asdict

import typer

from ..errors import GATE_NOT_MET
from .command import command
from .terminal import Terminal, listing

MARKS = {"ok": "ok", "absent": "--", "fault": "!!"}


@command
def run(terminal: Terminal) -> None:
    """Report what is installed and whether it works; exit code 1 when there is a fault."""
    from . import health

    findings = health.examine()
    rows = [(MARKS[f.state], f.name, f.detail, f.fix or "") for f in findings]
    document = {"schema": "vsebench/doctor/1", "findings": [asdict(f) for f in findings]}
    terminal.answer(document, listing(("", "what", "found", "what to do"), rows))
    if any(f.state == "fault" for f in findings):
        raise typer.Exit(GATE_NOT_MET)
