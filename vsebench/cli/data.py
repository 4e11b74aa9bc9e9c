"""``vsebench data``: lists, builds, verifies and removes declared test sets, those of vsebench and one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import GATE_NOT_MET
from .terminal import Json, NoProgress, Quiet, Terminal, cells, command

app = typer.Typer(help="The declared test sets, and your own: list, build, verify, remove.", no_args_is_help=True)


@app.command("list")
@command
def list_splits(as_json: Json = False, quiet: Quiet = False, no_progress: NoProgress = False) -> None:
    """Show the declared splits, and data sets of your own, and whether they can be used here."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..data.splits import catalogue as splits

    rows = splits.status()
    if terminal.json:
        terminal.emit({"splits": [r.to_json() for r in rows]})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("split", "images", "captions", "available", "how to get it"):
        table.add_column(heading)
    for r in rows:
        table.add_row(*cells(r.name, f"{r.images:,}", f"{r.captions:,}", r.available, r.needs))
    terminal.out.print(table)


@app.command("build")
@command
def build(
    name: Annotated[str, typer.Argument(help="The split, or a new name for a data set of your own.")],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Captions: .jsonl, .csv, a Karpathy dataset_*.json or COCO annotations; the installed packages by "
            "default.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(help="Of your own data: the captions whose field split is this; test of a Karpathy file."),
    ] = None,
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="Of your own data: the first so many captions of every image.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build again even if it is there.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Read a split from its source, check it, and keep it in the cache.

    With a new name it declares a data set of your own, which --split and every other command then know.
    """
    terminal = Terminal(as_json, quiet, no_progress)
    from ..data.splits import catalogue as splits

    path = splits.build(name, source, part=part, captions_per_image=captions_per_image, force=force)
    if terminal.json:
        terminal.emit({"split": name, "file": str(path), "bytes": path.stat().st_size})
    else:
        terminal.say(f"{name} is in {path}")
        if (found := splits.declared(name)).order == "file":
            counts = f"{found.images:,} images, {found.captions:,} captions"
            terminal.say(f"{counts}; use it with --split {name}")


@app.command("remove")
@command
def remove(
    name: Annotated[str, typer.Argument(help="The split.")],
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Remove the file of a split from the cache; a data set of your own is then no longer known."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..data.splits import catalogue as splits

    path = splits.remove(name)
    if terminal.json:
        terminal.emit({"split": name, "removed": str(path)})
    else:
        terminal.say(f"removed {path}")


@app.command("verify")
@command
def verify(
    name: Annotated[str, typer.Argument(help="The split.")],
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Check counts, ids and judgements of a split; exit code 1 when one does not hold."""
    terminal = Terminal(as_json, quiet, no_progress)
    from ..data.splits import catalogue as splits
    from ..relevance.judgements.verify import verify_judgements

    checks = [*splits.verify(name), *verify_judgements(name)]
    if terminal.json:
        terminal.emit({"split": name, "checks": [{"check": c.name, "ok": c.ok, "detail": c.detail} for c in checks]})
    else:
        for c in checks:
            terminal.say(f"{'ok  ' if c.ok else 'FAIL'}  {c.name}: {c.detail}", style=None if c.ok else "red")
    if not all(c.ok for c in checks):
        raise typer.Exit(GATE_NOT_MET)
