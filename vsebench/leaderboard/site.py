"""The site and the tables of the READMEs as files, and whether those on disk are current.

Bytes depend on the entries only: no time, no version and no machine is in them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.resources import files as resources
from pathlib import Path

from ..data.atomic import remove_if_left_over, write_atomically
from ..errors import BadInput, DiskError
from . import export
from .claims_page import claims_page, verdicts
from .entry_page import entry_page
from .groups import groups
from .overview import about_page, index_page
from .pages import benchmark_page, file_of
from .store import Board
from .tables import Table, table

SITE = "site"
STATIC = ("site.css", "site.js", "dataTables.min.js", "dataTables.LICENSE.txt")
BEGIN = "<!-- leaderboards: made by vsebench leaderboard build -->"
END = "<!-- end of leaderboards -->"


def tables_of(board: Board) -> list[Table]:
    """All tables of all test sets, in their order."""
    return [table(group, board) for group in groups(board.entries)]


def build(board: Board) -> dict[str, bytes]:
    """Every file of the site: path below it -> content."""
    tables = tables_of(board)
    texts = {"index.html": index_page(board, tables, verdicts(board)), "about.html": about_page()}
    texts["claims.html"] = claims_page(board)
    for name in dict.fromkeys(t.group.benchmark for t in tables):
        if file_of(name) in texts:
            fix = "rename the test set"
            raise BadInput(f"the test set '{name}' has the page of another one, {file_of(name)}", fix=fix)
        texts[file_of(name)] = benchmark_page(name, [t for t in tables if t.group.benchmark == name])
    texts |= {f"entries/{entry.id}.html": entry_page(entry, board) for entry in board.entries}
    texts |= {"leaderboard.csv": export.csv_text(board.entries), "leaderboard.json": export.json_text(board.entries)}
    found = {name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
    static = resources("vsebench.leaderboard") / "static"
    return found | {f"static/{name}": (static / name).read_bytes() for name in STATIC}


def readmes(board: Board, folder: Path) -> dict[Path, bytes]:
    """The READMEs beside the site and above it that have the marks of a table, with it."""
    found = {}
    here = Path(os.path.abspath(folder))  # the parent of "." is ".", and it has no name  # noqa: PTH100 (links stay)
    above = folder.parent if folder.name not in ("", "..") else here.parent
    for path in (folder / "README.md", above / "README.md"):
        if not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except ValueError:
            raise BadInput("is no UTF-8 text", where=path, fix="save it as UTF-8") from None
        if text.count(BEGIN) != 1 or text.count(END) != 1:
            continue
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        inside = export.overview(board, f"{here.name}/" if path.parent != folder else "")
        found[path] = f"{before}{BEGIN}\n\n{inside}\n{END}{after}".encode()
    return found


def changes(board: Board, folder: Path) -> dict[Path, bytes | None]:
    """The files that a build would change: path -> new content, None for one that no longer belongs to the site."""
    wanted = {folder / SITE / name: data for name, data in build(board).items()} | readmes(board, folder)
    found: dict[Path, bytes | None] = {
        path: data for path, data in wanted.items() if not path.is_file() or path.read_bytes() != data
    }
    there = sorted(p for p in (folder / SITE).rglob("*") if p.is_file())
    return found | {path: None for path in there if path not in wanted}


def write(found: Mapping[Path, bytes | None]) -> None:
    """Write or remove the files of ``changes``; raises DiskError."""
    for path, data in found.items():
        if data is not None:
            with write_atomically(path, parents=True) as stream:
                stream.write(data)
            continue
        try:
            if path.suffix == ".tmp":  # of a build that was killed, or of one that runs now
                remove_if_left_over(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise DiskError(f"cannot be removed: {error.strerror}", where=path, fix="check its permissions") from None


def hashes() -> dict[str, str]:
    """The recorded sha256 of vendored files, with where they come from: ``static/vendored.json``."""
    text = (resources("vsebench.leaderboard") / "static" / "vendored.json").read_text(encoding="utf-8")
    return {name: entry["sha256"] for name, entry in json.loads(text)["files"].items()}
