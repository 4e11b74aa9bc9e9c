"""Malformed and hostile inputs: the documented exit code, one message, and nothing left behind.

The table of inputs is in ``tests/hostile``; nothing binary is stored, every file is made by the test.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import cli
from tests.hostile import (
    command_cases,
    container_cases,
    file_cases,
    fuzz_cases,
    good,
    id_cases,
    run_cases,
    score_cases,
    vector_cases,
)
from tests.hostile.damage import MARKER, Bomb
from tests.hostile.good import Case
from tests.messages import Pinned
from vsebench.errors import EXIT_CODES

ROOT = Path(__file__).resolve().parents[2]
TABLES = (vector_cases, id_cases, file_cases, container_cases, score_cases, run_cases, command_cases, fuzz_cases)
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
    given, _ = folders
    done = process("inspect", good.npz(given, os.fsdecode(b"\xff\n[bold].npz"))[1], "--json")
    assert done.returncode == 0, done.stderr
    assert b'"\\udcff\\n[bold].npz"' in done.stdout


def process(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line of this checkout in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    shell = options.pop("shell", [])
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, "env": environment, **options}
    return subprocess.run([*shell, sys.executable, "-m", "vsebench", *args], check=False, **options)


def test_a_real_process_ends_as_documented(folders: tuple[Path, Path], pinned: Pinned) -> None:
    given, out = folders
    (given / "e.npz").write_bytes(b"\x80\x04nonsense")
    done = process("eval", str(given / "e.npz"), "-o", str(out / "r.json"))
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"\x1b" not in done.stderr
    pinned(done.stderr)
    assert list(out.iterdir()) == []


def test_output_that_cannot_be_written(folders: tuple[Path, Path]) -> None:
    given, out = folders
    args = [*good.npz(given), "--metrics", "R@1", "--json", "-q"]
    if Path("/dev/full").exists():
        # What fits into a buffer fails when it is flushed; help and version are printed outside any command.
        for few in (args, ["metrics", "R@1", "--json"], ["metrics", "R@1"], ["--version"], ["--help"]):
            with Path("/dev/full").open("wb") as full:
                done = process(*few, stdout=full)
            assert done.returncode == 6 and done.stderr.splitlines() == [
                b"error: the system refused: [Errno 28] No space left on device",
                b"  fix: check free space, permissions and where the output goes",
            ], (few, done.stderr)
    if sys.platform != "win32":
        done = process(*args, "-o", str(out / "r.json"), shell=["sh", "-c", 'exec "$@" >&-', "sh"], stdout=None)
        assert (done.returncode, done.stderr) == (0, b"") and (out / "r.json").stat().st_size > 100


@pytest.mark.parametrize("how", [["--json"], []], ids=["json", "table"])
def test_a_closed_pipe_is_no_failure(folders: tuple[Path, Path], how: list[str]) -> None:
    reader, end = os.pipe()
    os.close(reader)
    done = process("inspect", good.npz(folders[0])[1], *how, stdout=end)
    os.close(end)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr and b"BrokenPipe" not in done.stderr


@pytest.fixture
def writer(folders: tuple[Path, Path]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is in the middle of writing ``out/q.csv``, where an older file stands."""
    given, out = folders
    (out / "q.csv").write_text("older")
    ready = given / "ready"
    code = (
        "import pathlib, sys, time, pandas\n"
        "def to_csv(self, stream, **options):\n"
        "    stream.write(b'metric,direc'); stream.flush()\n"
        f"    pathlib.Path({str(ready)!r}).touch(); time.sleep(60)\n"
        "pandas.DataFrame.to_csv = to_csv\n"
        "from vsebench.cli import main\nmain()\n"
    )
    args = [sys.executable, "-c", code, *good.npz(given), "--metrics", "R@1", "--per-query", str(out / "q.csv")]
    child = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    started = time.monotonic()
    while not ready.exists() and child.poll() is None and time.monotonic() - started < 60:
        time.sleep(0.02)
    assert child.poll() is None
    yield child
    child.kill()
    child.communicate()


def test_kill_9_while_writing_leaves_the_older_file(
    folders: tuple[Path, Path], writer: subprocess.Popen[bytes]
) -> None:
    _, out = folders
    writer.kill()
    assert writer.wait(30) == -signal.SIGKILL and (out / "q.csv").read_text() == "older"
    left = [p.name for p in out.iterdir() if p.name != "q.csv"]
    assert all(name.startswith(".q.csv.") and name.endswith(".tmp") for name in left), "only a hidden temporary file"


def test_an_interrupt_while_writing_leaves_nothing(folders: tuple[Path, Path], writer: subprocess.Popen[bytes]) -> None:
    _, out = folders
    writer.send_signal(signal.SIGINT)
    stdout, stderr = writer.communicate(timeout=120)
    assert writer.returncode == 130 and stdout == b"", stderr
    assert stderr.count(b"error: interrupted; no file is half-written") == 1
    assert [p.name for p in out.iterdir()] == ["q.csv"] and (out / "q.csv").read_text() == "older"
