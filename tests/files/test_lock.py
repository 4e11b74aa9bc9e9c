"""Locks between processes: refusing, waiting, and what a killed process leaves."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.messages import Pinned
from vsebench.errors import DiskError
from vsebench.files.lock import locked

posix = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked here")


def wait(path: Path, said: list[str]) -> bool:
    with locked(path, "it is used", waiting=said.append):
        return path.exists()


@posix
def test_one_process_at_a_time(tmp_path: Path, pinned: Pinned) -> None:
    path, said = tmp_path / ".lock", []
    with ThreadPoolExecutor(2) as others:
        with locked(path, "it is used"):
            with pytest.raises(DiskError) as caught, locked(path, "it is used"):
                raise AssertionError
            pinned(caught.value)
            waiting = [others.submit(wait, path, said) for _ in range(2)]
            while len(said) < 2:
                assert not any(one.done() for one in waiting)
        assert [one.result() for one in waiting] == [True, True]
    assert said == ["it is used by another process; waiting for it"] * 2
    assert list(tmp_path.iterdir()) == []


@posix
def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = "import sys, pathlib; from vsebench.files.lock import locked\nwith locked(pathlib.Path(sys.argv[1]), ''):\n"
    code += "    print('locked', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path / ".lock")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"locked\n"
    with pytest.raises(DiskError), locked(tmp_path / ".lock", "it is used"):
        raise AssertionError
    process.kill()
    process.wait()
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path / ".lock", "it is used"):
        pass
    assert list(tmp_path.iterdir()) == []
