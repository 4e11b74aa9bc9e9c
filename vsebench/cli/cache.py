"""``vsebench cache``: what gains and encoders keep in the cache: list and clear."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from ..errors import BadInput, UsageError, count_of
from .command import command
from .terminal import Terminal, listing

app = typer.Typer(help="The cache: list, clear.", no_args_is_help=True)


@app.command("list")
@command
def list_entries(terminal: Terminal) -> None:
    """Show the content of the cache, and its folder."""
    from ..files import store
    from ..memory import size

    entries = store.entries()
    rows = []
    for name in sorted({entry.kind for entry in entries}):
        of_kind = [entry for entry in entries if entry.kind == name]
        written = max(entry.written for entry in of_kind)
        rows.append((name, len(of_kind), _content(name, len(of_kind)), sum(entry.size for entry in of_kind), written))
    kinds = [{"kind": n, "files": f, "content": c, "bytes": b, "written": round(w)} for n, f, c, b, w in rows]
    shown = [
        (name, content, size(total), time.strftime("%Y-%m-%d %H:%M", time.localtime(written)))
        for name, _files, content, total, written in rows
    ]
    total = f"{size(sum(row[3] for row in rows))} in {store.root()}"
    tables = [listing(("kind", "content", "size", "written"), shown)] if shown else []
    document = {"folder": str(store.root()), "kinds": kinds}
    terminal.answer(document, *tables, total)


@app.command("clear")
@command
def clear(
    terminal: Terminal,
    kind: Annotated[str | None, typer.Argument(help="A kind that list shows; by default all kinds.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove the content of the cache."""
    from ..files import store
    from ..memory import size
    from ..registry import unknown

    entries, kinds = store.entries(kind), {entry.kind for entry in store.entries()}
    if kind is not None and kinds and kind not in kinds:
        raise unknown("kind in the cache", kind, sorted(kinds))
    if entries and not yes:
        question = f"remove {count_of(len(entries), 'file')} ({size(sum(e.size for e in entries))}) from {store.root()}"
        if terminal.json or not sys.stdin.isatty():
            raise UsageError(f"this would {question}", fix="add --yes")
        if not typer.confirm(f"{question}?", err=True):
            raise typer.Exit
    removed = [entry.size for entry in store.clear(kind)]
    words = f"removed {count_of(len(removed), 'file')}, {size(sum(removed))}"
    terminal.answer({"removed": len(removed), "bytes": sum(removed)}, words)


def _content(kind: str, files: int) -> str:
    if kind != "spice":
        return count_of(files, "file")
    from ..relevance.spice.file import stored

    try:
        tuples = stored()
    except BadInput:
        return f"{count_of(files, 'file')}, one damaged"
    broken = f", {len(tuples.broken):,} broken" if tuples.broken else ""
    return f"{count_of(len(tuples.texts), 'caption')}{broken}"
