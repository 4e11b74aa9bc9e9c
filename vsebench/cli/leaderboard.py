"""``vsebench leaderboard``: entries of leaderboards, their check, and the site that is made of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ..errors import GATE_NOT_MET, count_of
from .command import command
from .terminal import Terminal

app = typer.Typer(
    help="Leaderboards: add an entry, validate all of them, build the site.",
    no_args_is_help=True,
)

Folder = Annotated[Path, typer.Option(help="The folder of the leaderboards.")]
HERE = Path("leaderboards")


@app.command("add")
@command
def add(
    terminal: Terminal,
    result: Annotated[Path, typer.Argument(help="A report of vsebench eval FILE -o RESULT.json.")],
    name: Annotated[str, typer.Option(help="Name of the model.")],
    setting: Annotated[str, typer.Option(help="What distinguishes it from others of this name.")] = "",
    image_input: Annotated[
        str, typer.Option(help="What it reads of an image, such as pixels, region features or object annotations.")
    ] = "",
    url: Annotated[str, typer.Option(help="Link to its code or paper.")] = "",
    description: Annotated[str, typer.Option(help="Free text.")] = "",
    note: Annotated[list[str] | None, typer.Option(help="A sentence shown with the entry; can be repeated.")] = None,
    reproduce: Annotated[
        list[str] | None,
        typer.Option(help="A command that gives the numbers again; can be repeated. By default that of the report."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Names or suites to keep, separated by commas; by default all of the report.")
    ] = None,
    entry_id: Annotated[
        str | None, typer.Option("--id", help="Of the entry and its page; by default made of name and test set.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an entry of this id.")] = False,
    folder: Folder = HERE,
) -> None:
    """Write the entry of a saved report with its per-query values, from which `validate` computes every number."""
    from ..leaderboard import submit
    from ..leaderboard.schema import ENTRIES

    entry = submit.add(
        result, name, setting=setting, image_input=image_input, url=url, description=description, notes=note or (),
        reproduce=reproduce or (), metrics=metrics, id=entry_id, folder=folder, replace=replace,
    )  # fmt: skip
    file = str(folder / ENTRIES / f"{entry.id}.json")
    for told in entry.model.notes[len(note or ()) :]:
        terminal.note(f"· {told}")
    document = {"id": entry.id, "benchmark": entry.benchmark, "values": len(entry.values), "file": file}
    terminal.answer(document, file)
    terminal.note(f"· {count_of(len(entry.values), 'number')} on {entry.benchmark}; next: vsebench leaderboard build")


@app.command("validate")
@command
def validate(
    terminal: Terminal,
    entry: Annotated[
        str | None, typer.Argument(help="The id of an entry, to compute only its numbers again; by default all.")
    ] = None,
    folder: Folder = HERE,
) -> None:
    """Check every file of the leaderboards, and compute every number again that has per-query values.

    Exit code 1 with a fault: each is printed with its file, the value and what to do.
    """
    from ..leaderboard.store import read
    from ..registry import unknown

    board = read(folder, again=entry or True)
    faults = board.faults
    if entry is not None and entry not in board.files and not faults:
        raise unknown("entry", entry, board.files)
    levels = Counter(found.level for found in board.entries)
    document = {"entries": len(board.entries), "levels": levels, "faults": [vars(fault) for fault in faults]}
    lines = [line for fault in faults for line in (f"{fault.file}: {fault.what}", f"  fix: {fault.fix}")]
    terminal.answer(document, *(lines or ["all entries are valid"]))
    counts = ", ".join(f"{number} {level}" for level, number in levels.items())
    terminal.note(f"· {count_of(len(board.entries), 'entry', 'entries')} ({counts}), {count_of(len(faults), 'fault')}")
    if faults:
        raise typer.Exit(GATE_NOT_MET)


@app.command("build")
@command
def build(
    terminal: Terminal,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 if a file would change.")] = False,
    folder: Folder = HERE,
) -> None:
    """Write the site and the table of the README: the same bytes on every machine."""
    from ..leaderboard import site, store

    board = store.read_sound(folder)
    changes = site.changes(board, folder)
    if changes and not check:
        site.write(board, folder)
    names = [path.as_posix() for path in changes]
    shown = [f"would {'be removed' if data is None else 'change'}: {path}" for path, data in changes.items()]
    lines = (shown or ["the site is current"]) if check else names
    terminal.answer({"entries": len(board.entries), "current": not names, "changed": names}, *lines)
    counts = f"{count_of(len(board.entries), 'entry', 'entries')}, {count_of(len(names), 'file')}"
    terminal.note(f"· {counts} {'out of date' if check else 'changed'}")
    if check and names:
        terminal.warn("the site is not current: run vsebench leaderboard build")
        raise typer.Exit(GATE_NOT_MET)
