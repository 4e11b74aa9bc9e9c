"""``vsebench leaderboard``: entries of leaderboards, their check, and the site that is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import GATE_NOT_MET
from .terminal import Json, NoProgress, Quiet, Terminal, command

if TYPE_CHECKING:
    from ..leaderboard.store import Fault

app = typer.Typer(
    help="Leaderboards: add an entry, validate all of them, build the site, show changes, export.",
    no_args_is_help=True,
)

Folder = Annotated[Path, typer.Option(help="The folder of the leaderboards.")]
HERE = Path("leaderboards")


@app.command("add")
@command
def add(
    result: Annotated[Path, typer.Argument(help="A report of vsebench eval FILE -o RESULT.json.")],
    name: Annotated[str, typer.Option(help="Name of the model.")],
    setting: Annotated[str, typer.Option(help="What distinguishes it from others of this name.")] = "",
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
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Write the entry of a saved report with its per-query values, from which `validate` computes every number."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..leaderboard import submit
    from ..leaderboard.store import ENTRIES

    entry = submit.add(
        result, name, setting=setting, url=url, description=description, notes=note or (), reproduce=reproduce or (),
        metrics=metrics, id=entry_id, folder=folder, replace_old=replace,
    )  # fmt: skip
    files = [str(folder / ENTRIES / f"{entry.id}.json")]
    files += [str(folder / ENTRIES / entry.per_query.name)] if entry.per_query is not None else []
    if terminal.json:
        terminal.emit({"id": entry.id, "benchmark": entry.benchmark, "values": len(entry.values), "files": files})
        return
    for file in files:
        terminal.say(file)
    terminal.note(f"· {len(entry.values)} numbers on {entry.benchmark}; next: vsebench leaderboard build")


@app.command("validate")
@command
def validate(
    entry: Annotated[
        str | None, typer.Argument(help="The id of an entry, to compute only its numbers again; by default all.")
    ] = None,
    folder: Folder = HERE,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Check every file of the leaderboards, and compute every number again that has per-query values.

    Exit code 1 with a fault: each is printed with its file, the value and what to do.
    """
    terminal = Terminal(as_json, quiet, no_progress)
    from ..leaderboard.check import check
    from ..registry import unknown

    board, faults = check(folder, entry)
    if entry is not None and entry not in board.files and not faults:
        raise unknown("entry", entry, board.files)
    levels: dict[str, int] = {}
    for found in board.entries:
        levels[found.level] = levels.get(found.level, 0) + 1
    if terminal.json:
        shown = [{"file": f.file, "what": f.what, "fix": f.fix} for f in faults]
        terminal.emit({"entries": len(board.entries), "levels": levels, "faults": shown})
    else:
        _show(terminal, faults)
        counts = ", ".join(f"{number} {level}" for level, number in levels.items())
        terminal.note(f"· {len(board.entries)} entries ({counts}), {len(faults)} faults")
        if not faults:
            terminal.say("all entries are valid")
    if faults:
        raise typer.Exit(GATE_NOT_MET)


def _show(terminal: Terminal, faults: list[Fault]) -> None:
    for fault in faults:
        terminal.say(f"{fault.file}: {fault.what}")
        terminal.say(f"  fix: {fault.fix}")
