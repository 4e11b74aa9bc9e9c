"""Malformed and hostile inputs: the documented exit code, one message, and nothing left behind.

The table of inputs is in ``tests/hostile``; nothing binary is stored, every file is made by the test.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.commands import cli
from tests.hostile import (
    command_cases,
    container_cases,
    fuzz_cases,
    good,
    id_cases,
    run_cases,
    vector_cases,
)
from tests.hostile.damage import MARKER, Bomb
from tests.hostile.good import Case
from tests.messages import Pinned
from vsebench.errors import EXIT_CODES

TABLES = (vector_cases, id_cases, container_cases, run_cases, command_cases, fuzz_cases)
CASES = [case for table in TABLES for case in table.CASES]


def hashes(folder: Path) -> dict[str, str]:
    """Every path below a folder, with a hash of the content of a regular file."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        if p.is_file()
        else str(p.lstat().st_mode)
        for p in sorted(folder.rglob("*"))
    }


def with_outputs(args: list[str], out: Path) -> list[str]:
    """The command with every output it can write, unless the case is about one of them."""
    if args[0] != "eval" or {"--output", "--per-query", "--save-run"} & set(args):
        return args
    more = ["--output", str(out / "r.json"), "--per-query", str(out / "q.csv")]
    return [*args, *more, *([] if "--run" in args else ["--save-run", str(out / "top.json")])]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty folder for inputs and one for outputs; an empty cache."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    out.mkdir()
    return given, out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hostile_input(case: Case, folders: tuple[Path, Path], pinned: Pinned) -> None:
    for package in case.needs:
        pytest.importorskip(package)
    given, out = folders
    args = with_outputs(list(case.make(given)), out)
    before = hashes(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = cli(*args, code=case.code)
    message = done.err.replace(f"{given}/", "").replace(str(given), "{}")
    assert hashes(given) == before, "an input was changed or a file was left beside it"
    assert "Traceback" not in done.out + done.err
    pinned(message or "nothing")
    if case.code:
        assert message.count("error: ") == message.count("\n  fix: ") == 1
        assert message.count("\n") == 2, "one message: what, and what to do"
        assert done.out == "" or args[0] == "inspect"
        assert list(out.iterdir()) == [] and not (given.parent / "cache").exists()
    else:
        assert "error" not in message and done.out
        assert not [p.name for p in out.iterdir() if p.name.endswith(".tmp")]


def test_the_table_is_large_and_names_are_unique() -> None:
    assert len(CASES) >= 200
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.code for case in CASES} <= set(EXIT_CODES)


def test_no_pickle_was_run(folders: tuple[Path, Path]) -> None:
    given, _ = folders
    pickle.loads(pickle.dumps(Bomb(given)))
    assert (given / MARKER).is_dir(), "the marker works, so its absence above shows that no pickle was run"


def test_a_name_with_nul_is_refused() -> None:
    done = cli("eval", "a\0.npz", code=None)  # by the command line itself or by the reader
    assert done.code in (2, 3) and done.out == ""
    assert "error: " in done.err and "Traceback" not in done.err


def test_a_name_in_no_encoding_survives_as_json(folders: tuple[Path, Path]) -> None:
    file = good.npz(folders[0], os.fsdecode(b"\xff\n[bold].npz"))[1]
    assert '"\\udcff\\n[bold].npz"' in cli("inspect", file, "--json").out


def test_the_older_file_stays_until_the_new_one_is_whole(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    """What a kill leaves is what is there while the file is written; an interrupt leaves nothing."""
    given, out = folders
    (out / "q.csv").write_text("older")
    seen: list[str] = []

    def to_csv(self: Any, stream: Any, **options: Any) -> None:
        stream.write(b"metric,direc")
        stream.flush()
        assert (out / "q.csv").read_text() == "older"
        seen.extend(p.name for p in out.iterdir() if p.name != "q.csv")
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("pandas.DataFrame.to_csv", to_csv)
    done = cli(*good.npz(given), "--metrics", "R@1", "--per-query", out / "q.csv", code=130)
    assert len(seen) == 1 and seen[0].startswith(".q.csv.") and seen[0].endswith(".tmp"), "one hidden temporary file"
    assert [p.name for p in out.iterdir()] == ["q.csv"] and (out / "q.csv").read_text() == "older" and done.out == ""
    pinned(done.err)
