"""``vsebench export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import count_of
from .command import command
from .terminal import Terminal


@command
def run(
    terminal: Terminal,
    report: Annotated[
        list[Path],
        typer.Argument(help="A report of vsebench eval -o FILE; for mteb also one a language, or their table."),
    ],
    to: Annotated[
        str,
        typer.Option(help="mteb or model-index.", metavar="WORD"),
    ],
    path: Annotated[Path, typer.Option("--path", "-o", help="A folder for the files.")] = Path("export"),
    model: Annotated[
        str | None, typer.Option(help="Name of the model, ORG/NAME on a hub; by default that of the file.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The test data on the Hugging Face Hub, ORG/NAME.")] = None,
    url: Annotated[str | None, typer.Option(help="Link to logs, code or a paper.")] = None,
    evaluator: Annotated[str | None, typer.Option(help="Who evaluated, a person or an organisation.")] = None,
) -> None:
    """Write a report in the format of another tool, as files; nothing is sent anywhere."""
    from ..exchange.export import FORMATS, export

    files = export(report, to, path, model=model, dataset=dataset, url=url, evaluator=evaluator)
    for file in files.replaced:
        terminal.note(f"· {file} was there with other content, and is replaced")
    names = [str(file) for file in files]
    terminal.answer({"format": to, "read_by": FORMATS[to][1], "files": names}, *names)
    terminal.note(f"· {count_of(len(files), 'file')}, read by {FORMATS[to][1]}")
