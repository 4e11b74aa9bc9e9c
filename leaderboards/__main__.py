"""``python -m leaderboards add REPORT | validate | build``."""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

from vsebench.errors import DISK, VsebenchError, count_of

from . import site
from .entries import Board, Model, add, read
from .tables import rankings

HERE = Path(__file__).resolve().parent
ABOUT = {  # texts of an entry, which are options of ``add``
    "setting": "what distinguishes it from others of this name",
    "image-input": "image input: pixels, region features, ...",
    "url": "link to its code or paper",
    "description": "free text",
    "reproduce": "command that reproduces the numbers (default: the command of the report)",
    "id": "id of the entry and its page (default: name and test set)",
}


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0; 1 where a fault was found or a file is not current; 2 and above for errors, as ``vsebench``."""
    parser = argparse.ArgumentParser(prog="python -m leaderboards", description="Entries, their check, and the site.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("add", help="write the entry of a saved report")
    one.add_argument("result", type=Path, help="a report of vsebench eval FILE -o RESULT.json")
    one.add_argument("--name", required=True, help="name of the model")
    for name, words in ABOUT.items():
        one.add_argument(f"--{name}", default="", help=words)
    one.add_argument("--note", action="append", default=[], help="a sentence shown with the entry; can be repeated")
    one.add_argument("--replace", action="store_true", help="replace an entry of this id")
    check = commands.add_parser("validate", help="check every file, and recompute every number and interval")
    make = commands.add_parser("build", help="write README.md and leaderboard.csv, and the site")
    make.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if one of these files would change"
    )
    make.add_argument("--out", type=Path, default=Path("build/leaderboards"), help="folder of the site; it is replaced")
    make.add_argument("--repository", type=_address,
                      help="address of the files: https://github.com/OWNER/NAME/blob/main")  # fmt: skip
    for command in (one, check, make):
        command.add_argument("--folder", type=Path, default=HERE, help="folder of the leaderboards")
    given = parser.parse_args(arguments)
    try:
        if given.command == "add":
            return _add(given)
        return _told(read(given.folder, recompute=True)) if given.command == "validate" else _build(given)
    except VsebenchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"{error}\n  fix: check the folder and its permissions", file=sys.stderr)
        return DISK


def _address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"'{text}' is not a link such as https://github.com/OWNER/NAME/blob/main")
    return text.rstrip("/")


def _add(given: argparse.Namespace) -> int:
    model = Model(
        given.name, given.setting, given.image_input, given.url, given.description, tuple(given.note), given.reproduce
    )
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    entry = add(given.result, model, given.folder, given.id, given.replace, today)
    print(given.folder / "entries" / f"{entry.id}.json")
    print(f"{len(entry.numbers)} numbers on {entry.benchmark}; next: python -m leaderboards build", file=sys.stderr)
    return 0


def _told(board: Board) -> int:
    """Print the faults of a folder, and how many entries it has."""
    for fault in board.faults:
        print(fault)
    counts = ", ".join(f"{number} {level}" for level, number in Counter(e.level for e in board.entries).items())
    print(f"{len(board.entries)} entries ({counts}), {count_of(len(board.faults), 'fault')}", file=sys.stderr)
    return int(bool(board.faults))


def _build(given: argparse.Namespace) -> int:
    board = read(given.folder)
    if board.faults:
        return _told(board)
    found = rankings(board)
    wanted = site.readme(board, found) | {given.folder / site.CSV: site.numbers_csv(board)}
    changed = [path for path, data in wanted.items() if not path.is_file() or path.read_bytes() != data]
    if given.check:
        for path in changed:
            print(f"not current: {path}\n  fix: python -m leaderboards build, and commit the file")
        return int(bool(changed))
    out, start = given.out, given.out / "index.html"
    built = start.is_file() and site.MARK.encode() in start.read_bytes()
    holds = out.exists() and not built and (out.is_file() or any(out.iterdir()))
    if holds or out.is_symlink() or given.folder.resolve().is_relative_to(out.resolve()):
        print(f"{out} has other files and is not replaced\n  fix: pass another folder with --out", file=sys.stderr)
        return 2
    files = site.build(board, found, given.repository or os.path.relpath(given.folder.parent, out))
    if out.exists():
        shutil.rmtree(out)
    for path, data in [
        *((out / name, data) for name, data in files.items()),
        *((path, wanted[path]) for path in changed),
    ]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(out / "index.html")
    print(f"{len(files)} files of the site, {len(changed)} of {given.folder} changed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
