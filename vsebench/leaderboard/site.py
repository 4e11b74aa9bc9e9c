"""The site and the table of the README as files, and whether those on disk are current.

Bytes depend on the entries only: no time, no version and no machine is in them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import BadInput, UsageError
from ..files.atomic import refused, write_atomically, write_folder
from ..results.html import TABLES, environment
from ..results.html import tables as html_tables
from ..results.markdown import markdown
from ..results.render import Rendered
from ..results.table import Column, Table, grids
from .benchmarks import page_of
from .pages import by_benchmark, overview, pages
from .schema import Entry
from .store import Board
from .tables import tables_of

SITE = "site"  # the folder, which belongs to the builder: it is replaced as one
PAGES = (  # of the bar above every page
    ("index.html", "Leaderboards"), ("claims.html", "Claims"), ("about.html", "How to read"),
    ("leaderboard.csv", "CSV"), ("leaderboard.json", "JSON"),
)  # fmt: skip
BEGIN = "<!-- leaderboards: made by vsebench leaderboard build -->"
END = "<!-- end of leaderboards -->"


@dataclass(frozen=True, repr=False)
class Numbers(Rendered):
    """All numbers as records: ``leaderboard.csv`` and ``leaderboard.json``."""

    kind: ClassVar = "leaderboard"
    heading: ClassVar = "Leaderboards"
    main: ClassVar = "numbers"
    entries: tuple[Entry, ...]

    def tables(self) -> list[Table]:
        """A number a row, with the entry that it is of."""
        names = ("id", "level", "model", "setting", "image_input", "benchmark", "metric", "direction", "value")
        behind = ("paper", "table", "row", "signature")
        rows = [
            (e.id, e.level, e.model.name, e.model.setting, e.model.image_input, page_of(e.benchmark, metric), metric,
             direction or "", value, e.paper, e.table, e.row, e.signature)
            for e in self.entries for (metric, direction), value in e.values.items()
        ]  # fmt: skip
        columns = (Column(name, words=name != "value", ends=name == "value") for name in (*names, *behind))
        return [Table(self.main, columns=tuple(columns), rows=tuple(rows))]


def build(board: Board) -> dict[str, bytes]:
    """Every file of the site: path below it -> content.

    Raises:
        MissingPackage: jinja2 is not installed.
        BadInput: two test sets have one page.
    """
    made = environment("vsebench.results", "the site of leaderboards")
    from markupsafe import Markup  # a dependency of jinja2

    template = made.get_template("board.html")
    texts = {
        page.path: template.render(
            page=page, title=f"{page.title[:80]} - vsebench leaderboards", root="../" * page.path.count("/"),
            pages=PAGES, tables=lambda shown: Markup(html_tables(grids(shown))),
        )
        for page in pages(board, tables_of(board))
    }  # fmt: skip
    style = made.get_template("style.css").render()
    numbers = Numbers(board.entries)
    texts |= {"leaderboard.csv": numbers.to_csv(), "leaderboard.json": _by_line(numbers.to_dict())}
    texts |= {"static/style.css": TABLES + style, "static/board.js": made.get_template("board.js").render()}
    return {name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}


def _by_line(document: dict[str, Any]) -> str:
    """A document as JSON in ASCII, a record a line."""
    tables = document.pop("tables")
    head = json.dumps(document, separators=(",", ":")).removesuffix("}")
    lines = {name: ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) for name, rows in tables.items()}
    return f'{head},"tables":{{' + ",".join(f'"{name}":[\n{rows}\n]' for name, rows in lines.items()) + "}}\n"


def readme(board: Board, folder: Path) -> dict[Path, bytes]:
    """The README of the folder with its table between the marks; nothing where it has none."""
    path = folder / "README.md"
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except ValueError:
        raise BadInput("is no UTF-8 text", where=path, fix="save it as UTF-8") from None
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        return {}
    before, _, rest = text.partition(BEGIN)
    table = markdown(grids([overview(by_benchmark(tables_of(board)), f"{SITE}/")]))
    return {path: f"{before}{BEGIN}\n\n{table}\n{END}{rest.partition(END)[2]}".encode()}


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
    if there and b'"vsebench/leaderboard/' not in _read(root / "leaderboard.json")[:100]:
        fix = "move it away: the folder of the site belongs to the builder"
        raise UsageError("would be replaced by the site, and no build made it", where=root, fix=fix)
    wanted = {root / name: data for name, data in built.items()}
    found: dict[Path, bytes | None] = {path: None for path in sorted(there) if path not in wanted}
    wanted |= readme(board, folder)
    return found | {path: data for path, data in wanted.items() if path.is_symlink() or _read(path) != data}


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def write(board: Board, folder: Path) -> None:
    """Replace the folder of the site, and write the README; raises DiskError."""
    try:
        with write_folder(folder / SITE) as new:
            for name, data in build(board).items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(data)
    except OSError as error:
        raise refused(folder / SITE, error) from error
    for path, data in readme(board, folder).items():
        with write_atomically(path) as stream:
            stream.write(data)
