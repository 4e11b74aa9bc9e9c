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

TOOLS = "tools"


@app.command("list")
@command
def list_entries(terminal: Terminal) -> None:
    """Show the content of the cache, and its folder."""
    from ..files import store
    from ..memory import size
    from ..relevance.spice.parser.install import tools_folder

    entries = store.entries()
    rows = []
    for name in sorted({entry.kind for entry in entries}):
        of_kind = [entry for entry in entries if entry.kind == name]
        used = max(entry.used for entry in of_kind)
        rows.append((name, len(of_kind), _content(name, len(of_kind)), sum(entry.size for entry in of_kind), used))
    fetched = tools_folder()
    tools = sum(path.stat().st_size for path in fetched.glob("[!.]*") if path.is_file()) if fetched.is_dir() else 0
    kinds = [{"kind": n, "files": f, "content": c, "bytes": b, "used": round(u)} for n, f, c, b, u in rows]
    shown = [
        (name, content, size(total), time.strftime("%Y-%m-%d %H:%M", time.localtime(used)))
        for name, _files, content, total, used in rows
    ]
    if tools:
        shown.append((TOOLS, "CoreNLP 3.6.0", size(tools), ""))
    total = f"{size(sum(row[3] for row in rows))} of at most {size(store.limit())} in {store.root()}"
    tables = [listing(("kind", "content", "size", "last used"), shown)] if shown else []
    document = {"folder": str(store.root()), "limit": store.limit(), "kinds": kinds, "tools": tools}
    terminal.answer(document, *tables, total)


@app.command("clear")
@command
def clear(
    terminal: Terminal,
    kind: Annotated[
        str | None, typer.Argument(help="A kind that list shows, or tools; by default all kinds but tools.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove the content of the cache."""
    import shutil

    from ..files import store
    from ..memory import size
    from ..registry import unknown
    from ..relevance.spice.parser.install import tools_folder

    folder = tools_folder()
    found = [path for path in folder.glob("[!.]*") if path.is_file()] if kind == TOOLS and folder.is_dir() else []
    entries = store.entries() if kind in (None, TOOLS) else store.entries(kind)
    kinds = {entry.kind for entry in store.entries()}
    if kind is not None and kind != TOOLS and kind not in kinds:
        raise unknown("kind in the cache", kind, sorted({*kinds, TOOLS}))
    sizes = [path.stat().st_size for path in found] if kind == TOOLS else [entry.size for entry in entries]
    if sizes and not yes:
        place = folder if kind == TOOLS else store.root()
        question = f"remove {count_of(len(sizes), 'file')} ({size(sum(sizes))}) from {place}"
        if terminal.json or not sys.stdin.isatty():
            raise UsageError(f"this would {question}", fix="add --yes")
        if not typer.confirm(f"{question}?", err=True):
            raise typer.Exit
    if kind == TOOLS:
        shutil.rmtree(folder, ignore_errors=True)
        removed = sizes
    else:
        removed = [entry.size for entry in store.clear(kind)]
    words = f"removed {count_of(len(removed), 'file')}, {size(sum(removed))}"
    terminal.answer({"removed": len(removed), "bytes": sum(removed)}, words)


def _content(kind: str, files: int) -> str:
    if kind != "spice":
        return count_of(files, "file")
    from ..relevance.spice import cache

    try:
        tuples = cache.stored()
    except BadInput:
        return f"{count_of(files, 'file')}, one damaged"
    broken = f", {len(tuples.broken):,} broken" if tuples.broken else ""
    return f"{count_of(len(tuples.texts), 'caption')}{broken}"
