"""``vsebench export``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import count_of
from .terminal import Terminal


def run(terminal: Terminal, report: Sequence[Path], *, to: str, path: Path = Path("export"), **about: Any) -> None:
    """Write a report in the format of another tool. Files are only written here, never uploaded.

    Args:
        report: report of vsebench eval; for mteb also one per language, or the saved table of them.
        to: ``mteb`` or model-index.
        path: folder for the files.
    """
    from ..exchange.export import FORMATS, export

    files = export(report, to, path, **about)
    for file in files.replaced:
        terminal.note(f"· {file} existed with other content and was replaced")
    names = [str(file) for file in files]
    terminal.answer({"format": to, "read_by": FORMATS[to][1], "files": names}, *names)
    terminal.note(f"· {count_of(len(files), 'file')}, read by {FORMATS[to][1]}")
