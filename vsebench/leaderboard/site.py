"""The site and the tables of the READMEs as files, and whether those on disk are current.

Bytes depend on the entries only: no time, no version and no machine is in them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

from ..errors import BadInput, DiskError, UsageError
from ..files.atomic import write_atomically
from ..results.grid import Grid, cells
from ..results.markdown import markdown
from .benchmarks import described, file_of
from .columns import csv_text, json_text
from .schema import LEVELS
from .store import Board
from .tables import Table, counted, tables_of
from .views import pages

SITE = "site"
LISTED, LIST_SCHEMA = "build.json", "vsebench/site/1"  # the names of the files of a site
STATIC = ("site.css", "site.js", "dataTables.min.js", "dataTables.LICENSE.txt")
BEGIN = "<!-- leaderboards: made by vsebench leaderboard build -->"
END = "<!-- end of leaderboards -->"


def build(board: Board) -> dict[str, bytes]:
    """Every file of the site: path below it -> content; raises as ``views.pages``."""
    texts = pages(board, tables_of(board))
    texts |= {"leaderboard.csv": csv_text(board.entries), "leaderboard.json": json_text(board.entries)}
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
        inside = overview(tables_of(board), f"{here.name}/" if path.parent != folder else "")
        found[path] = f"{before}{BEGIN}\n\n{inside}\n{END}{after}".encode()
    return found


def overview(tables: tuple[Table, ...], root: str) -> str:
    """The test sets with the number of entries of every level, as Markdown; links begin with ``root``."""
    rows, links = [], {}
    for name in dict.fromkeys(t.group.benchmark for t in tables):
        title = described(name).title
        counts = counted([t for t in tables if t.group.benchmark == name])
        rows.append(cells(title, *(str(n or "-") for n in counts)))
        links[f"| {title} |"] = f"| [{title}]({root}site/{file_of(name)}) |"
    text = markdown([Grid("", ("test set", *LEVELS), 1, tuple(rows))])
    for plain, linked in links.items():
        text = text.replace(plain, linked, 1)
    return text


@dataclass(frozen=True)
class Changes:
    """What a build would change.

    Attributes:
        files: path -> new content, None for a page of the build before that no longer belongs to the site. What is
            removed comes first, then the list of the files, then the files: whenever a build is killed, the next one
            knows what is its own.
        kept: files and links in the folder of the site that no build made; they are left as they are.
    """

    files: dict[Path, bytes | None]
    kept: tuple[Path, ...]


def changes(board: Board, folder: Path) -> Changes:
    """The files that a build would change.

    Raises:
        UsageError: a file that no build made, or a link, is in the place of one of the site.
    """
    built = build(board)
    built = {LISTED: listing(built), **built}
    root = folder / SITE
    own = {LISTED, *_listed(root)}
    there = _files(root)
    written: dict[Path, bytes | None] = {}
    for name, data in built.items():
        path = root / name
        _refuse_link(root, name)
        if path.is_file() and path.read_bytes() == data:
            continue
        if name in there and (name not in own or (name == LISTED and not _listed(root))):
            fix = "move it out of this folder; if an older version of vsebench built this site, remove the folder first"
            raise UsageError("would be replaced by a page of the site, and no build made it", where=path, fix=fix)
        written[path] = data
    others = [name for name in there if name not in built]
    ours = [name for name in others if name in own and not (root / name).is_symlink()]
    gone: dict[Path, bytes | None] = {root / name: None for name in ours}
    kept = tuple(root / name for name in others if name not in ours)
    written |= {path: data for path, data in readmes(board, folder).items() if path.read_bytes() != data}
    return Changes(gone | written, kept)


def listing(built: Mapping[str, bytes]) -> bytes:
    """The file ``LISTED``: the names of all files of the site, by which the next build knows them."""
    lines = ",\n".join(f" {json.dumps(name)}" for name in sorted(built))
    return f'{{"schema": "{LIST_SCHEMA}", "files": [\n{lines}\n]}}\n'.encode()


def _listed(root: Path) -> list[str]:
    """The files that the build before wrote; none where there was no build."""
    path = root / LISTED
    if path.is_symlink() or not path.is_file():
        return []
    try:
        found = json.loads(path.read_bytes())
        return list(map(str, found["files"])) if found["schema"] == LIST_SCHEMA else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _files(root: Path) -> list[str]:
    """Everything below the folder of the site that is no folder, without following links, by its name there."""
    found = []
    for here, folders, names in os.walk(root):
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        found += [(Path(here) / name).relative_to(root).as_posix() for name in (*names, *links)]
    return sorted(found)


def _refuse_link(root: Path, name: str) -> None:
    """Refuse to write through a link: the folder of the site, or one below it; raises UsageError."""
    for part in (root / name, *(root / name).parents):
        if part.is_symlink():
            what = f"is a link (to {part.readlink()}), and nothing is written through links of the site"
            raise UsageError(what, where=part, fix="remove the link")
        if part == root:
            return


def write(found: Changes) -> None:
    """Write or remove the files of ``changes``; raises DiskError."""
    for path, data in found.files.items():
        if data is not None:
            with write_atomically(path, parents=True) as stream:
                stream.write(data)
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise DiskError(f"cannot be removed: {error.strerror}", where=path, fix="check its permissions") from None
