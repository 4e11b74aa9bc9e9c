"""The site and the tables of the READMEs as files, and whether those on disk are current.

Bytes depend on the entries only: no time, no version and no machine is in them.
"""

from __future__ import annotations

import os
from importlib.resources import files as resources
from pathlib import Path

from ..errors import BadInput, UsageError
from ..files.atomic import refused, write_atomically, write_folder
from ..results.grid import Grid, cells
from ..results.markdown import markdown
from .benchmarks import described, file_of
from .columns import SCHEMA, csv_text, json_text
from .schema import LEVELS
from .store import Board
from .tables import Table, counted, tables_of
from .views import pages

SITE = "site"  # the folder, which belongs to the builder: it is replaced as one
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


def changes(board: Board, folder: Path) -> dict[Path, bytes | None]:
    """What a build would change: file -> its new content, None for one that does not belong to the site.

    Raises:
        UsageError: the folder of the site is a link, or no build made it.
    """
    root, built = folder / SITE, build(board)
    if root.is_symlink():
        what = f"is a link (to {root.readlink()}), and nothing is written through links"
        raise UsageError(what, where=root, fix="remove the link")
    there = [path for path in root.rglob("*") if path.is_symlink() or not path.is_dir()]
    if there and SCHEMA.encode() not in _read(root / "leaderboard.json")[:100]:
        fix = "move it away: the folder of the site belongs to the builder"
        raise UsageError("would be replaced by the site, and no build made it", where=root, fix=fix)
    wanted = {root / name: data for name, data in built.items()}
    found: dict[Path, bytes | None] = {path: None for path in sorted(there) if path not in wanted}
    wanted |= readmes(board, folder)
    return found | {path: data for path, data in wanted.items() if path.is_symlink() or _read(path) != data}


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def write(board: Board, folder: Path) -> None:
    """Replace the folder of the site, and write the READMEs; raises DiskError."""
    try:
        with write_folder(folder / SITE) as new:
            for name, data in build(board).items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(data)
    except OSError as error:
        raise refused(folder / SITE, error) from error
    for path, data in readmes(board, folder).items():
        with write_atomically(path) as stream:
            stream.write(data)
